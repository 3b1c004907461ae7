"""The command line: ``nn2poly convert``, ``report``, ``predict`` and the others.

This module imports nothing but the standard library, so that the command can say what is
missing when its libraries are not installed.
"""

import sys

LIBRARIES = ("annotated_doc", "click", "rich", "shellingham", "typer")


def main() -> None:
    """Run the command line and exit with its code.

    Examples
    --------
    >>> import contextlib
    >>> from unittest.mock import patch
    >>> with patch("sys.argv", ["nn2poly", "--version"]), contextlib.suppress(SystemExit):
    ...     main()
    nn2poly ...
    """
    try:
        from nn2poly.cli.app import run

        run()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        sys.exit(
            f"The command line of nn2poly needs {error.name}, which is not installed.\n"
            "  remedy: pip install 'nn2poly[cli]'"
        )
