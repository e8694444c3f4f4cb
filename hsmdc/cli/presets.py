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
      hsmdc presets finetune-lora
    """
    from hsmdc.config import load_config, preset_names
    from hsmdc.config.node import load_workload, workload_names

    if name is not None:
        found = load_workload(name) if name in workload_names() else load_config(name)
        typer.echo(f"{found.name}: {found.description}\n\n{found.provenance.strip()}")
        return
    width = max(len(preset) for preset in [*preset_names(), *workload_names()])
    typer.echo("sites:")
    for preset in preset_names():
        typer.echo(f"  {preset:<{width}}  {load_config(preset).description}")
    typer.echo("workloads of nodes (node.mix[].workload, hsmdc node --workload):")
    for preset in workload_names():
        typer.echo(f"  {preset:<{width}}  {load_workload(preset).description}")
