"""What the commands share: progress, options, words for the terminal."""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

_FIGURES = (".png", ".pdf", ".svg")

Progress = Callable[[float, float], None]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what exists.")]


@contextmanager
def progress_bar(description: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A bar on standard error, silent when that is not a terminal. Yields `progress(done, total)`."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
        transient=True,
    )
    with bar:
        task = bar.add_task(description, total=None)

        def tick(done: float, total: float) -> None:
            bar.update(task, completed=done, total=total)

        yield tick


def check_distinct(output: Path, source: Path) -> None:
    """Refuse to replace the file that is read, even with --force."""
    from hsmdc.errors import InputError

    if output.exists() and source.exists() and output.samefile(source):
        raise InputError(f"{output} is the file to be read; give the output another name")


def check_output(path: Path | None, *, force: bool) -> None:
    """Refuse, before any work is done, an output that exists or a folder that cannot take it."""
    if path is None:
        return
    from hsmdc.tracefile import check_writable

    check_writable(path, force=force)


def check_figure(path: Path | None, *, force: bool) -> None:
    """Refuse, before any work is done, a figure of a kind that cannot be drawn, or one that exists."""
    if path is None:
        return
    from hsmdc.errors import InputError

    if path.suffix.lower() not in _FIGURES:
        raise InputError(f"{path}: a figure ends in {', '.join(_FIGURES)}; rename it")
    check_output(path, force=force)


def check_folder(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Make an output folder, before any work is done; refuse it where it holds one of `names` already."""
    from hsmdc.errors import InputError

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder")
    taken = [name for name in names if (folder / name).exists()]
    if taken and not force:
        raise InputError(
            f"{folder} already holds {', '.join(taken)}; use --force to overwrite, or another folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from None


def write_text(path: Path | None, text: str, *, force: bool) -> None:
    """Write a small text file whole or not at all; print it where no path is given."""
    if path is None:
        typer.echo(text, nl=False)
        return
    check_output(path, force=force)
    partial = path.with_name(path.name + ".part")
    partial.write_text(text, "utf-8")
    partial.replace(path)


def usable_cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # on Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def command_line() -> str:
    """This command as it was typed: the creation record of what it writes."""
    return "hsmdc " + shlex.join(sys.argv[1:])
