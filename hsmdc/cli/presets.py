"""`hsmdc presets`: what is shipped."""

from typing import Annotated

import typer


def presets(
    name: Annotated[str | None, typer.Argument(help="Show one preset's record of origin.")] = None,
) -> None:
    """List the shipped presets, or show where one comes from.

    \b
    Examples:
      hsmdc presets
      hsmdc presets nlr-colocation-10mw
    """
    from hsmdc.config import load_config, preset_names
    from hsmdc.config.node import workload_names

    if name is not None:
        config = load_config(name)
        typer.echo(f"{config.name}: {config.description}\n\n{config.provenance.strip()}")
        return
    width = max(len(preset) for preset in preset_names())
    for preset in preset_names():
        typer.echo(f"{preset:<{width}}  {load_config(preset).description}")
    typer.echo(
        f"\nnode workloads (node.mix[].workload, hsmdc node --workload): {', '.join(workload_names())}"
    )
