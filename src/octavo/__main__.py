"""The `octavo` command."""

from __future__ import annotations

import os
import sys

from octavo import __version__


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 refused or failed, 2 usage, 4 not signed in, 130 interrupted."""
    given = sys.argv[1:] if argv is None else argv
    if given == ["--version"]:
        # Answered before anything is imported: scripts ask for it often.
        sys.stdout.write(f"octavo {__version__}\n")
        return 0
    # Nobody plugs into our models; looking whether somebody does reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from octavo.cli.arguments import run

    if argv is None:
        from octavo.cli.last_words import guard

        guard()
    try:
        return run(given)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
