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
        try:
            sys.stdout.write(f"octavo {__version__}\n")
            sys.stdout.flush()
            return 0
        except (AttributeError, OSError):
            pass  # There is no standard output, or it takes nothing. The command line says so below.
    # Nobody plugs into our models; looking whether somebody does reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from octavo.cli import command_line, standard_streams

        if argv is None:
            standard_streams.install_main_hooks()
        code = command_line.run(given)
    except KeyboardInterrupt:
        code = 130
    if argv is None:
        _leave_the_rest(code)
    return code


def _leave_the_rest(code: int) -> None:
    """End the process here when there are threads that nobody waits for.

    Python would end them where they are, and in the middle of pydantic that is a crash (signal 6 or 11).
    """
    import threading

    if any(thread.daemon for thread in threading.enumerate()):
        import atexit
        from contextlib import suppress

        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # there is none, or nobody reads it
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
