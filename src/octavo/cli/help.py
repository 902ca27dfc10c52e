"""`octavo help`: prints the list of commands and topics, or one topic."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from octavo.cli.arguments import build_parser, commands_of, summaries_of
from octavo.cli.standard_streams import USAGE, Failure, write_out
from octavo.help import TOPICS, text_of
from octavo.lazy_import import lazy
from octavo.settings import read

# lazy: the parser takes longer to load than everything else here
_parse = lazy("octavo.documents.source_reader:parse")
_format_man_page = lazy("octavo.cli.man_page:format_man_page")
_document_as_text = lazy("octavo.tui.render.printing:document_as_text")

GROUPS = {
    "Read": ("inbox", "changes", "show", "diff", "search", "open"),
    "Review": ("review", "comment", "reply", "resolve", "react", "merge", "outbox"),
    "Files": ("pull", "status", "propose", "restore", "export", "check"),
    "Programs": ("api", "operations", "mcp"),
    "Account": ("auth", "config", "doctor", "log"),
    "Try": ("demo", "serve"),
    "Help": ("help", "completion"),
}
"""The commands of each group. A command that is not here is listed at the end."""


def run(options: argparse.Namespace) -> int:
    topic = options.topic.lower()
    if options.list:
        write_out("".join(f"{each}\t{about}\n" for each, about in TOPICS.items()))
        return 0
    commands = commands_of(build_parser(only=topic))
    if not topic and options.man:
        raise Failure("Could not print a manual page: name a topic. For a list, run: octavo help --list", USAGE)
    if not topic:
        write_out("\n".join(_overview(summaries_of(build_parser(only=topic)))) + "\n")
    elif topic in TOPICS:
        write_out(_format_topic(topic, as_man=options.man))
    elif topic in commands and not options.man:
        write_out(commands[topic].format_help())
    else:
        suggestions = get_close_matches(topic, [*TOPICS, *commands], n=1)
        hint = f"Did you mean {suggestions[0]}?" if suggestions else "For a list, run: octavo help"
        raise Failure(f"Unknown help topic {options.topic[:40]!r}. {hint}", USAGE)
    return 0


def _format_topic(topic: str, *, as_man: bool) -> str:
    """Return a topic as a manual page, as a page for a terminal, or as Markdown if there is no terminal."""
    if as_man:
        manual: str = _format_man_page(topic, TOPICS[topic], _parse(text_of(topic)))
        return manual
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    return _render_page(text_of(topic)) if on_terminal else text_of(topic)


def _overview(summaries: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the list of commands and topics."""
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in summaries if name not in grouped)
    width = max(map(len, (*summaries, *TOPICS)))
    for title, names in {**GROUPS, "Other commands": others}.items():
        if rows := [f"  {name:<{width}}  {summaries[name]}" for name in names if name in summaries]:
            yield from (f"{title}:", *rows, "")
    yield from ("Help topics:", *(f"  {topic:<{width}}  {about}" for topic, about in TOPICS.items()), "")
    yield "To read a topic, run a command such as: octavo help keys"
    yield "To see the options of a command, run: octavo COMMAND --help"


def _render_page(markdown: str) -> str:
    """Return a topic as Octavo shows a page, in the colors and at the width of the terminal."""
    columns, colors = shutil.get_terminal_size().columns, not os.environ.get("NO_COLOR")
    page: str = _document_as_text(_parse(markdown), columns, colors=colors, ascii=read(os.environ).ascii)
    return page
