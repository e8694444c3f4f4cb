"""`hsmdc node`: one busy node, moment by moment."""

from pathlib import Path
from typing import Annotated

import typer

from hsmdc.cli.common import Force, Quiet, check_figure, check_output, command_line


def node(
    config: Annotated[str, typer.Argument(help="Preset name or TOML file.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="netCDF file to write.")] = None,
    duration: Annotated[str, typer.Option(help="Length: 60s, 30min …; a whole number of steps.")] = "60s",
    step: Annotated[str, typer.Option(help="Length of a step: 1ms or more.")] = "20ms",
    workload: Annotated[
        str | None,
        typer.Option(help="pretraining, finetune-lora, checkpoint-heavy … [default: as configured]"),
    ] = None,
    sample: Annotated[str, typer.Option(help="mean over each step, or instant at its label.")] = "mean",
    phases: Annotated[bool, typer.Option("--phases", help="Begin with set-up, end with shut-down.")] = False,
    seed: Annotated[int, typer.Option(help="Master seed.")] = 0,
    figure: Annotated[Path | None, typer.Option(help="Draw it (png, pdf, svg).")] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Simulate one allocated node with its states.

    \b
    Examples:
      hsmdc node paper --figure node.png
      hsmdc node paper --workload finetune-lora --duration 30min --step 200ms --phases -o node.nc
    """
    from hsmdc.config import load_config
    from hsmdc.kernels.chain import STATES
    from hsmdc.traces import save_trace
    from hsmdc.transient import simulate_node

    check_output(output, force=force)
    check_figure(figure, force=force)
    site = load_config(config)
    data = simulate_node(
        site, duration=duration, step=step, seed=seed, workload=workload, phases=phases,
        sample=sample,  # type: ignore[arg-type]  # checked where it is used
    )  # fmt: skip
    data.attrs["history"] = command_line()
    if output is not None:
        save_trace(data, output, force=force)
    if figure is not None:
        from hsmdc.transient.figures import node_figure

        node_figure(data, figure, tdp_w=site.site.tdp_w)
    if not quiet:
        power, state = data["node_power"].values, data["state"].values
        shares = ", ".join(f"{name} {(state == i).mean():.3f}" for i, name in enumerate(STATES))
        typer.echo(
            f"{data.attrs['workload']}: {power.size} steps of {data.attrs['step_s']:g} s, mean {power.mean():.1f} W, "
            f"lowest {power.min():.1f} W, highest {power.max():.1f} W"
        )
        outside = (state < 0).mean()
        typer.echo(
            f"  share of time: {shares}" + (f", set-up and shut-down {outside:.3f}" if outside else "")
        )
        for path in (output, figure):
            if path is not None:
                typer.echo(f"  {path}")
