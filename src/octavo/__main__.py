"""The command `octavo`, also run by `python -m octavo`."""

from __future__ import annotations

import os
import sys

from octavo import __version__


def main(argv: list[str] | None = None) -> int:
    """Run the command line, and return its exit code. If `argv` is None, use the process's arguments and exit."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["--version"]:
        # Scripts often ask for the version, so the command line is not imported for it.
        try:
            sys.stdout.write(f"octavo {__version__}\n")
            sys.stdout.flush()
            return 0
        except (AttributeError, OSError):
            pass  # standard output is missing or not writable: the command line reports the error
    # Octavo uses no pydantic plugins. The search for them would read the metadata of every package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from octavo.cli import command_line, standard_streams

        if argv is None:
            standard_streams.install_main_hooks()
        code = command_line.run(arguments)
    except KeyboardInterrupt:
        code = 130
    if argv is None:
        _exit(code)
    return code


def _exit(code: int) -> None:
    """Run the exit functions, and end the process. A normal exit would run threads in which pydantic could crash."""
    import atexit
    from contextlib import suppress

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # the stream may be missing or not writable
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
