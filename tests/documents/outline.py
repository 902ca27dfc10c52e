"""Trees as compact text, for readable expectations."""

from __future__ import annotations

from octavo.documents.blocks import Block, Run
from octavo.documents.source_reader import parse

_QUIET = {"columns", "slug", "tight", "ordered"}


def outline(markdown: str) -> str:
    """Return the blocks of a page, one on each line, indented by depth."""
    return "\n".join(line for block in parse(markdown).blocks for line in _lines(block, 0))


def inline(markdown: str) -> str:
    """Return the runs of a page with one block."""
    (block,) = parse(markdown).blocks
    return " ".join(map(_run, block.runs))


def _lines(block: Block, depth: int) -> list[str]:
    attrs = {name: value for name, value in block.attrs.items() if name not in _QUIET and value not in (False, "")}
    if block.kind == "list":
        attrs = {"ordered": attrs["start"]} if block.attrs["ordered"] else {}
    if block.kind == "heading":
        attrs = {"level": attrs["level"]}
    shown = " ".join(f"{name}={value}" for name, value in attrs.items())
    words = repr(block.text) if block.text else " ".join(map(_run, block.runs))
    head = "  " * depth + " ".join(part for part in (block.kind, f"[{shown}]" if shown else "", words) if part)
    return [head, *(line for child in block.children for line in _lines(child, depth + 1))]


def _run(run: Run) -> str:
    if run.kind == "text" and not run.marks and run.link is None and not run.attrs:
        return run.text
    marks = "+".join(sorted(run.marks))
    attrs = ",".join(f"{name}={value}" for name, value in run.attrs.items())
    kind = "" if run.kind == "text" else run.kind
    link = f"→{run.link}" if run.link is not None else ""
    about = ";".join(part for part in (kind, marks, attrs) if part)
    text = "⏎" if run.kind == "break" else run.text
    return "⏎" if run.kind == "break" else f"<{about}|{text}{link}>"
