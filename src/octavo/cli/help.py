"""`octavo help`: prints the list of commands and topics, or one topic, also as a manual page for `man`."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from octavo import __version__
from octavo.cli.arguments import build_parser, command_parsers, summaries_of
from octavo.cli.standard_streams import USAGE, Failure, is_terminal, write_out
from octavo.help import TOPICS, text_of
from octavo.lazy_import import lazy
from octavo.settings import read
from octavo.settings.file import did_you_mean

if TYPE_CHECKING:
    from octavo.documents.blocks import Block, Document, Run

# lazy: the parser takes longer to load than everything else here
_parse: Callable[..., Document] = lazy("octavo.documents.source_reader:parse")
_document_as_text: Callable[..., str] = lazy("octavo.tui.render.printing:document_as_text")

GROUPS = {
    "Read": ("inbox", "spaces", "changes", "threads", "show", "diff", "search", "open"),
    "Review": ("review", "comment", "reply", "resolve", "react", "merge", "outbox"),
    "Files": ("pull", "status", "propose", "restore", "export", "check"),
    "Programs": ("api", "operations", "mcp"),
    "Account": ("auth", "config", "doctor", "log"),
    "Try": ("demo", "serve"),
    "Help": ("help", "completion"),
}
"""The commands of each group in the list of commands. Commands without a group come last."""


def run(options: argparse.Namespace) -> int:
    topic = options.topic.lower()
    if options.list:
        write_out("".join(f"{each}\t{about}\n" for each, about in TOPICS.items()))
        return 0
    main_parser = build_parser(only=topic)
    commands = command_parsers(main_parser)
    if not topic and options.man:
        raise Failure("Could not print a manual page: name a topic. For a list, run: octavo help --list", USAGE)
    if not topic:
        write_out("\n".join(_overview(summaries_of(main_parser))) + "\n")
    elif topic in TOPICS:
        write_out(_format_topic(topic, is_man_page=options.man))
    elif topic in commands and not options.man:
        write_out(commands[topic].format_help())
    else:
        hint = did_you_mean(topic, [*TOPICS, *commands]) or " For a list, run: octavo help"
        raise Failure(f"Unknown help topic {options.topic[:40]!r}.{hint}", USAGE)
    return 0


def _format_topic(topic: str, *, is_man_page: bool) -> str:
    if is_man_page:
        return format_man_page(topic, TOPICS[topic], _parse(text_of(topic)))
    if not is_terminal(sys.stdout):
        return text_of(topic)
    columns, colors = shutil.get_terminal_size().columns, not os.environ.get("NO_COLOR")
    return _document_as_text(_parse(text_of(topic)), columns, colors=colors, ascii=read(os.environ).ascii)


def _overview(summaries: Mapping[str, str]) -> Iterator[str]:
    grouped = {name for names in GROUPS.values() for name in names}
    other_names = tuple(name for name in summaries if name not in grouped)
    width = max(map(len, (*summaries, *TOPICS)))
    for title, names in {**GROUPS, "Other commands": other_names}.items():
        if rows := [f"  {name:<{width}}  {summaries[name]}" for name in names if name in summaries]:
            yield from (f"{title}:", *rows, "")
    yield from ("Help topics:", *(f"  {topic:<{width}}  {about}" for topic, about in TOPICS.items()), "")
    yield "To read a topic, run a command such as: octavo help keys"
    yield "To see the options of a command, run: octavo COMMAND --help"


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_COMMENT = re.compile(r"\s*<!--.*-->\s*", re.DOTALL)


def format_man_page(topic: str, about: str, document: Document) -> str:
    """Return a help topic in the roff language, for `man`. `about` is the one-line summary of the topic."""
    name = f"octavo-{topic}"
    head = [
        f'.TH "{name.upper()}" "7" "" "octavo {__version__}" "Octavo"',
        ".SH NAME",
        f"{_escape_roff(name)} \\- {_escape_roff(about)}",
        ".SH DESCRIPTION",
    ]
    return "\n".join([*head, *(line for each in document.blocks for line in _roff_lines(each))]) + "\n"


def _roff_lines(block: Block) -> Iterator[str]:
    match block.kind:
        case "heading":
            if (level := block.attrs.get("level", 1)) > 1:  # `.TH` and NAME have this title already
                yield f".{'SH' if level == 2 else 'SS'} {_roff_text(block.runs)}"
        case "code":
            yield from (".PP", ".RS 4", ".nf")
            yield from (_line_of_text(_escape_roff(each)) for each in block.text.splitlines())
            yield from (".fi", ".RE")
        case "list":
            for number, item in enumerate(block.children, block.attrs.get("start", 1)):
                mark = f"{number}." if block.attrs.get("ordered") else "\\(bu"
                yield f'.IP "{mark}" 4'
                yield from _roff_item(item)
        case "table":
            yield from _roff_table(block)
        case _:
            if block.runs and not _COMMENT.fullmatch("".join(each.text for each in block.runs)):
                yield from (".PP", _line_of_text(_roff_text(block.runs)))
            for child in block.children:
                yield from _roff_lines(child)


def _roff_item(item: Block) -> Iterator[str]:
    first, *others = item.children or (item,)
    yield _line_of_text(_roff_text(first.runs))
    if others:
        yield ".RS 4"
        for each in others:
            yield from _roff_lines(each)
        yield ".RE"


def _roff_table(block: Block) -> Iterator[str]:
    """Yield roff lines for a table. Each row becomes a paragraph that is labeled with the first cell. Unless the table
    has two columns, the other cells begin with their column titles, such as `Kind: page`."""
    titles = [_roff_text(each.title) for each in block.attrs.get("columns", ())]
    for row in block.children:
        cells = [_roff_text(each.runs) for each in row.children]
        yield from (".TP", _line_of_text(cells[0] if cells else ""))
        other_cells = [(title, cell) for title, cell in zip(titles[1:], cells[1:], strict=False) if cell]
        if len(titles) == 2:
            yield from (_line_of_text(cell) for _, cell in other_cells)
        else:
            yield _line_of_text("; ".join(f"{title}: {cell}" for title, cell in other_cells))


def _roff_text(runs: Sequence[Run]) -> str:
    return "".join(map(_roff_run, runs))


def _roff_run(run: Run) -> str:
    if run.kind == "break":
        return "\n.br\n"
    text = _escape_roff(run.text)
    if run.kind == "code" or "bold" in run.marks:
        return f"\\fB{text}\\fR"
    if "italic" in run.marks:
        return f"\\fI{text}\\fR"
    return f"{text} <{_escape_roff(run.link)}>" if run.link and run.link != run.text and "://" in run.link else text


def _escape_roff(text: str) -> str:
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return _NOT_ASCII.sub(lambda found: f"\\[u{ord(found[0]):04X}]", plain)


def _line_of_text(text: str) -> str:
    """Return a line of text, escaped if it is empty or if roff would read it as a command."""
    return "\\&" + text if text.startswith((".", "'")) or not text else text
