"""The command tree. Command files import only typer at the top, so `--help` stays instant."""

import typer

from hsmdc.cli import (
    calibrate,
    check,
    demo,
    dispatch,
    ensemble,
    export,
    node,
    presets,
    resolve,
    simulate,
    validate,
)

app = typer.Typer(
    name="hsmdc",
    help="""Electrical load of AI data centres from first causes.

    \b
    Examples:
      hsmdc demo -o out
      hsmdc simulate nlr-colocation-10mw --utilization 0.6 -o year.nc
      hsmdc simulate --help
    """,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from hsmdc import __version__

        typer.echo(__version__)
        raise typer.Exit


app.command()(demo.demo)
app.command()(simulate.simulate)
app.command()(resolve.resolve)
app.command()(node.node)
app.command()(validate.validate)
app.add_typer(calibrate.app, name="calibrate")
app.command()(check.check)
app.command()(presets.presets)
app.command()(export.export)
app.command()(dispatch.dispatch)
app.command()(ensemble.ensemble)
