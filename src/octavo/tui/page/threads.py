"""A thread between the lines of a page, on a dotted rail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.tui.page.lines import Line, Piece, fit, width_of
from octavo.tui.page.look import PLAIN, Look
from octavo.tui.page.wrap import wrap

_MOST_LINES = 8


@dataclass(frozen=True)
class Answer:
    """A reply in a thread."""

    author: str
    age: str
    text: str


@dataclass(frozen=True)
class ThreadLine:
    """What a rail shows of a thread. `replies` counts all of them, `answers` are those to show."""

    author: str
    age: str
    text: str
    replies: int = 0
    open: bool = True
    answers: tuple[Answer, ...] = ()
    key: str = ""
    """The id of the thread."""


def thread_lines(
    threads: Sequence[tuple[ThreadLine, str]], look: Look, width: int, indent: int, block: Block | None
) -> list[Line]:
    """Threads with their places, such as `thread 1/2`, behind a rail at `indent`."""
    glyphs = look.glyphs
    rail = [Piece(" " * indent + glyphs.rail + " ", look.note, None, True)]
    inner = width - indent - 2
    out = [Line(list(rail), block)]
    for thread, place in threads:
        head = [
            Piece(f"{glyphs.dot if thread.open else glyphs.yes} ", look.note + Style(bold=True), None, True),
            Piece(thread.author, look.note + Style(bold=True)),
            Piece(
                f" {glyphs.between} {thread.age} {glyphs.between} {'open' if thread.open else 'resolved'}", look.muted
            ),
        ]
        head = fit(head, inner - len(place) - 2, glyphs.more)
        room = inner - width_of(head) - len(place)
        head += [Piece(" " * max(1, room), PLAIN, None, True), Piece(place, look.muted, None, True)]
        out.append(Line([*rail, *head], block))
        out += [Line([*rail, *line], block) for line in _words(thread.text, look, inner)]
        for answer in thread.answers:
            name = f"{glyphs.reply} {answer.author} {glyphs.between} {answer.age}  "
            first = [Piece(name, look.note), Piece(" ".join(answer.text.split()), look.text)]
            for number, line in enumerate(wrap(first, inner - 4)[:_MOST_LINES]):
                out.append(Line([*rail, Piece("  " if number == 0 else "    ", PLAIN, None, True), *line], block))
        hidden = thread.replies - len(thread.answers)
        if hidden > 0:
            words = f"  {hidden} more {'reply' if hidden == 1 else 'replies'}"
            out.append(Line([*rail, Piece(words, look.muted, None, True)], block))
        out.append(Line(list(rail), block))
    return out


def _words(text: str, look: Look, width: int) -> list[list[Piece]]:
    lines = [line for row in text.strip().split("\n") for line in wrap([Piece(row, look.text)], width)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], [Piece(look.glyphs.more, look.muted, None, True)]]
    return lines
