"""Runs a program of this folder with limits: `python -I __main__.py PROGRAM MEMORY SECONDS`, such as PROGRAM
`draw_diagram`.

MEMORY is in bytes. SECONDS limits the processor time, so that the program ends even if Octavo was killed.
"""

from __future__ import annotations

import resource
import runpy
import sys
from contextlib import suppress
from pathlib import Path


def main() -> None:
    program, memory, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # Some systems do not support this limit.
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    runpy.run_path(str(Path(__file__).with_name(f"{program}.py")), run_name="__main__")


if __name__ == "__main__":
    main()
