"""`hsmdc check`: is this configuration sound, and what does it resolve to?"""

from typing import Annotated

import typer


def check(
    config: Annotated[str, typer.Argument(help="Preset name or TOML file.")],
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print the resolved configuration as TOML.")
    ] = False,
) -> None:
    """Check a configuration and say what it means.

    \b
    Examples:
      hsmdc check site.toml
      hsmdc check nlr-colocation-10mw --resolved > site.toml
    """
    from hsmdc import laws
    from hsmdc.config import load_config, to_toml

    site = load_config(config)
    if resolved:
        typer.echo(to_toml(site), nl=False)
        return
    nodes = laws.nodes_law(site.jobs.nodes)
    held = laws.duration_law(site.jobs.duration)
    batch = laws.batch_law(site.arrivals.batch)
    floor, ceiling = site.site.nodes * site.site.idle_w * 1e-6, site.site.nodes * site.site.busy_w * 1e-6
    typer.echo(f"{site.name}: sound. {site.description}".rstrip())
    typer.echo(
        f"  {site.site.nodes} nodes, IT power {floor:.3f} MW idle to {ceiling:.3f} MW with every node busy,"
    )
    typer.echo(
        f"  clipped at {site.site.saturation * site.site.rated_mw:.3f} MW of {site.site.rated_mw:g} MW rated"
    )
    typer.echo(f"  a job: {nodes.moment():.3g} nodes (up to {nodes.value[-1]}), {held.moment() / 60:.3g} h")
    typer.echo(f"  an arrival event: {batch.moment():.3g} jobs; scheduler: {site.scheduler.policy}")
