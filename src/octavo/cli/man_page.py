"""Formats a help topic as a manual page, in the language of roff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from octavo import __version__
from octavo.documents.blocks import Block, Document, Run

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_COMMENT = re.compile(r"\s*<!--.*-->\s*", re.DOTALL)


def format_man_page(topic: str, about: str, document: Document) -> str:
    """Return a help topic as a manual page. `about` is its one-line summary."""
    name = f"octavo-{topic}"
    head = [
        f'.TH "{name.upper()}" "7" "" "octavo {__version__}" "Octavo"',
        ".SH NAME",
        f"{_escape_roff(name)} \\- {_escape_roff(about)}",
        ".SH DESCRIPTION",
    ]
    return "\n".join([*head, *(line for each in document.blocks for line in _lines(each))]) + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block.kind:
        case "heading":
            if (level := block.attrs.get("level", 1)) > 1:  # The title of the page is in its first line.
                yield f".{'SH' if level == 2 else 'SS'} {_text(block.runs)}"
        case "code":
            yield from (".PP", ".RS 4", ".nf")
            yield from (_line_of_text(_escape_roff(each)) for each in block.text.splitlines())
            yield from (".fi", ".RE")
        case "list":
            for number, item in enumerate(block.children, block.attrs.get("start", 1)):
                mark = f"{number}." if block.attrs.get("ordered") else "\\(bu"
                yield f'.IP "{mark}" 4'
                yield from _item(item)
        case "table":
            yield from _table(block)
        case _:
            if block.runs and not _COMMENT.fullmatch("".join(each.text for each in block.runs)):
                yield from (".PP", _line_of_text(_text(block.runs)))
            for child in block.children:
                yield from _lines(child)


def _item(item: Block) -> Iterator[str]:
    """Yield the lines of a list item. The first line is the text beside the mark."""
    first, *others = item.children or (item,)
    yield _line_of_text(_text(first.runs))
    if others:
        yield ".RS 4"
        for each in others:
            yield from _lines(each)
        yield ".RE"


def _table(block: Block) -> Iterator[str]:
    """Yield a paragraph for each row: the first cell, then the other cells. Several other cells are written with the
    titles of their columns."""
    titles = [_text(each.title) for each in block.attrs.get("columns", ())]
    for row in block.children:
        cells = [_text(each.runs) for each in row.children]
        yield from (".TP", _line_of_text(cells[0] if cells else ""))
        others = [(title, cell) for title, cell in zip(titles[1:], cells[1:], strict=False) if cell]
        if len(titles) == 2:
            yield from (_line_of_text(cell) for _, cell in others)
        else:
            yield _line_of_text("; ".join(f"{title}: {cell}" for title, cell in others))


def _text(runs: Sequence[Run]) -> str:
    return "".join(map(_run, runs))


def _run(run: Run) -> str:
    if run.kind == "break":
        return "\n.br\n"
    text = _escape_roff(run.text)
    if run.kind == "code" or "bold" in run.marks:
        return f"\\fB{text}\\fR"
    if "italic" in run.marks:
        return f"\\fI{text}\\fR"
    return f"{text} <{_escape_roff(run.link)}>" if run.link and run.link != run.text and "://" in run.link else text


def _escape_roff(text: str) -> str:
    """Return `text` on one line, escaped for roff."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return _NOT_ASCII.sub(lambda found: f"\\[u{ord(found[0]):04X}]", plain)


def _line_of_text(text: str) -> str:
    """Return a line of text, escaped so that roff does not read it as a command."""
    return "\\&" + text if text.startswith((".", "'")) or not text else text
