"""The command line. `main` is the entry point; each command has a file of its own."""

import sys


def main() -> None:
    """Run the command line; a user's mistake becomes one clear line and exit status 2."""
    from hsmdc.errors import HsmdcError

    try:
        from hsmdc.cli.app import app

        app()
    except HsmdcError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"error: cannot use{where}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError as error:
        print(f"error: not enough memory: {error}; simulate a shorter span", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # while importing; later typer itself turns it into status 130
        print("interrupted", file=sys.stderr)
        sys.exit(130)
