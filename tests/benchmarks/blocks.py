"""How long one huge block holds the keys, in the page view and in the diff view.

    .venv/bin/python tests/benchmarks/blocks.py [--only words] [--size 1000] [--edited | --whole | --merged | --written] [--milliseconds 33]

Each page of huge_blocks.py is one block, about a megabyte of it with the size of 1000, opened in an app of its own under a
pseudo terminal. There keys are pressed while it is read and then (block_app.py). The columns: the longest time the event
loop worked before it came round, until the page was shown, while it was read, while keys were pressed, and while the terminal was made wider and narrower; the
time from a key to its frame, that 95 % of the keys do not exceed, and the longest, with its key. All is processor time in milliseconds: others
may have the machine meanwhile. With `--edited` the same of the diff to a page that is a little different, with `--whole` of
the diff from an empty page, with `--merged` of the conflicts of two edits of the page, and with `--written` of the page as
who writes it looks at it. Pages beyond the limit are marked, and the exit status says whether there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.figures import prepare
from tests.benchmarks.huge_blocks import HUGE
from tests.benchmarks.terminal import Terminal

_APP = Path(__file__).with_name("block_app.py")
_LIMIT = 300.0
"""Seconds after which an app is given up."""


def main() -> int:
    """Measure, and print a row for each block."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--edited", action="store_const", const=["--edited"], dest="diff", default=[])
    parser.add_argument("--whole", action="store_const", const=["--whole"], dest="diff")
    parser.add_argument("--merged", action="store_const", const=["--merged"], dest="diff")
    parser.add_argument("--written", action="store_const", const=["--written"], dest="diff")
    parser.add_argument("--milliseconds", type=float, default=33)
    given = parser.parse_args()
    prepare()
    print(f"{'block':32}{'characters':>11}{'shown':>7}{'read':>7}{'keys':>7}{'wider':>7}{'p95':>7}{'longest':>8}")
    beyond = 0
    for name in HUGE:
        if given.only in name:
            beyond += not _shown(name, given.size, given.diff, given.milliseconds / 1000)
    return int(beyond > 0)


def _shown(name: str, size: int, diff: list[str], most: float) -> bool:
    """Whether no key has to wait for longer than `most` seconds."""
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as folder:
        Path(folder, f"{name}.md").write_text(HUGE[name](size), "utf-8")
        figures = Path(folder, "figures.json")
        with Terminal((sys.executable, str(_APP), folder, str(figures), *diff)) as app:
            app.end(_LIMIT)
        return row(name, json.loads(figures.read_text("utf-8"))[name], most)


def row(name: str, found: dict[str, Any], most: float) -> bool:
    """Print the figures of one block. Whether no key has to wait for longer than `most` seconds."""
    columns = "".join(
        f"{found[column] * 1000:7.0f}" for column in ("shown", "read", "keys", "resized", "p95", "longest")
    )
    fits = max(found["read"], found["keys"], found["resized"]) <= most
    said = "" if found["loaded"] else "  not read to its end"
    print(f"{name:32}{found['size']:11}{columns} {found['at']:8}{'' if fits else ' <--'}{said}", flush=True)
    return bool(fits)


if __name__ == "__main__":
    sys.exit(main())
