"""The command line. `main` is the entry point; each command has a file of its own."""

import sys


def main() -> None:
    """Run the command line; a user's mistake becomes one clear line and exit status 2."""
    from hsmdc.cli.app import app
    from hsmdc.errors import HsmdcError

    try:
        app()
    except HsmdcError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"error: cannot use{where}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
