"""Parse and render every page below a folder, and print faults as `file:line: fault`.

python -m tests.documents.checker FOLDER [--jobs 2] [--widths 80,120,200]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from octavo.documents.source_reader import parse
from tests.documents import rendered_line_checks, source_line_checks
from tests.documents.independent_reader import missing_words
from tests.documents.rendered_line_checks import Fault

WIDTHS = (80, 120, 200)


def faults(source: str, widths: Iterable[int] = WIDTHS) -> list[Fault]:
    """Return all faults of a page, without duplicates."""
    document = parse(source)
    found = [
        Fault(missing.line, f"not read: {missing.text}")
        for missing in missing_words(source, source_line_checks.tree_text(document.blocks))
    ]
    unread = {fault.what.replace("not read", "not shown") for fault in found}
    found += [Fault(0, f"out of place: {each}") for each in source_line_checks.misplaced_blocks(document)]
    found += rendered_line_checks.faults(document, tuple(widths), source)
    return sorted({fault for fault in found if fault.what not in unread})


def check(path: Path, widths: Iterable[int] = WIDTHS) -> list[Fault]:
    """Return all faults of the page in a file."""
    return faults(path.read_text("utf-8", "replace"), widths)


def check_all(folder: Path, jobs: int = 1, widths: Iterable[int] = WIDTHS) -> Iterator[tuple[Path, list[Fault]]]:
    """Yield each page below a folder with its faults. An exception is a fault, too."""
    pages = sorted(path for path in folder.rglob("*.md") if path.is_file())
    with ProcessPoolExecutor(jobs) as pool:
        checked = [pool.submit(check, path, tuple(widths)) for path in pages]
        for path, future in zip(pages, checked, strict=True):
            error = future.exception()
            yield path, [Fault(0, _describe_error(error))] if error is not None else future.result()


def _describe_error(error: BaseException) -> str:
    """Return the exception of another process and its place."""
    trace = str(error.__cause__).strip().strip('"').rstrip()
    places = [line.strip() for line in trace.split("\n") if line.strip().startswith("File ")]
    return f"{type(error).__name__}: {error} ({places[-1] if places else 'unknown place'})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    given = parser.parse_args()
    pages = wrong = 0
    for path, found in check_all(given.folder, given.jobs, [int(each) for each in given.widths.split(",")]):
        pages += 1
        wrong += bool(found)
        for fault in found:
            print(f"{path.relative_to(given.folder)}:{fault.line}: {fault.what}")
    print(f"{pages} pages, {wrong} with faults", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
