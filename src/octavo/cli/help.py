"""`octavo help`: the list of help topics, and one topic as a page or as Markdown."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from difflib import get_close_matches

from octavo.cli.arguments import USAGE, Failure, commands_of, parser, write_out
from octavo.help import TOPICS, text_of


def run(options: argparse.Namespace) -> int:
    topic = options.topic.lower()
    commands = commands_of(parser(only=topic))
    if not topic:
        write_out(_list())
    elif topic in TOPICS:
        on_terminal = sys.stdout is not None and sys.stdout.isatty()
        write_out(_page(text_of(topic)) if on_terminal else text_of(topic))
    elif topic in commands:
        write_out(commands[topic].format_help())
    else:
        suggestions = get_close_matches(topic, [*TOPICS, *commands], n=1)
        hint = f"Did you mean {suggestions[0]}?" if suggestions else "For a list, run: octavo help"
        raise Failure(f"Unknown help topic {options.topic[:40]!r}. {hint}", USAGE)
    return 0


def _list() -> str:
    width = max(map(len, TOPICS))
    rows = [f"  {topic:<{width}}  {about}" for topic, about in TOPICS.items()]
    example = "To read a topic, run a command such as: octavo help keys\nTo see the options of a command, run: octavo COMMAND --help"
    return "\n".join(["Help topics:", "", *rows, "", example, ""])


def _page(markdown: str) -> str:
    """Return a topic as Octavo shows a page, in the colours and at the width of the terminal."""
    from octavo.documents.parse import parse  # lazy: the reader takes longer to load than everything else here
    from octavo.settings import read
    from octavo.tui.render.printing import print_document

    columns, colors = shutil.get_terminal_size().columns, not os.environ.get("NO_COLOR")
    return print_document(parse(markdown), columns, colors=colors, ascii=read(os.environ).ascii)
