"""Rendering of the threads and suggestions in a diff, next to a dotted line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from rich.style import Style

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import find_suggestions
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_lines import render_diff_unit
from octavo.tui.render.diff_sequence import build_diff, build_source_diff
from octavo.tui.render.diff_sides import GUTTER, SideWidths
from octavo.tui.render.diff_units import ContextSize, DiffUnit
from octavo.tui.render.inline import render_runs
from octavo.tui.render.layout import lay_out, render_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, truncate, width_of
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.threads import WORD_CHANGES, ThreadReply, ThreadSummary, keep_quoted_lines
from octavo.tui.render.wrap import wrap

_MOST_LINES, _MOST_TEXT, _MOST_SUGGESTED = 8, 4_000, 24


def render_threads(threads: Sequence[tuple[ThreadSummary, str]], styles: Styles, width: int, indent: int) -> list[Line]:
    """Render threads with their numbers, such as `thread 1/2`, next to a dotted line at cell `indent`. Each thread is a
    block of kind `thread` with its id as key."""
    glyphs = styles.glyphs
    rail = [Piece(" " * indent + glyphs.rail + " ", styles.note, None, True)]
    inner = width - indent - 2
    out = [Line(list(rail))]
    for thread, numbering in threads:
        block = Block("thread", {"open": thread.is_open}, text=thread.text, key=thread.key)
        if thread.sign:
            rule = Piece(f"{thread.sign} {thread.author}  ", styles.warning)
            message = Piece(" ".join(thread.text.split()), styles.muted)
            out += [Line([*rail, *line], block) for line in wrap([rule, message], inner)]
            continue
        head = [
            Piece(
                f"{glyphs.pen if thread.is_draft else glyphs.dot if thread.is_open or thread.is_review else glyphs.yes} ",
                styles.note + Style(bold=True),
                None,
                True,
            ),
            Piece(thread.author, styles.note + Style(bold=True)),
            Piece(f" {glyphs.between} ", styles.muted),
            Piece(thread.age, styles.note if thread.is_pending or thread.is_draft else styles.muted),
            Piece(f" {glyphs.between} {thread.state}", styles.muted),
        ]
        if thread.unsent:
            head += [Piece(f" {glyphs.between} ", styles.muted), Piece(thread.unsent, styles.note)]
        head = truncate(head, inner - len(numbering) - 2, glyphs.more)
        room = inner - width_of(head) - len(numbering)
        head += [Piece(" " * max(1, room), PLAIN, None, True), Piece(numbering, styles.muted, None, True)]
        out.append(Line([*rail, *head], block))
        if thread.word_change:
            change = f"words moved to {thread.moved_to}" if thread.moved_to else WORD_CHANGES[thread.word_change]
            note = truncate([Piece(change, styles.warning)], inner, glyphs.more)
            out.append(Line([*rail, *note], block))
        if thread.quote:
            quoted = truncate([Piece(f"on “{thread.quote}”", styles.muted + Style(italic=True))], inner, glyphs.more)
            out.append(Line([*rail, *quoted], block))
        out += [Line([*rail, *line], block) for line in _message_lines([], thread, styles, inner)]
        hidden = thread.reply_count - len(thread.shown_replies)
        if hidden > 0:
            which = "earlier" if thread.shown_replies else "more"
            words = f"  {hidden} {which} {'reply' if hidden == 1 else 'replies'}"
            out.append(Line([*rail, Piece(words, styles.muted, None, True)], block))
        for answer in thread.shown_replies:
            name = [Piece(f"{glyphs.reply} {answer.author} {glyphs.between} {answer.age}  ", styles.note)]
            for number, line in enumerate(_message_lines(name, answer, styles, inner - 4)):
                out.append(Line([*rail, Piece("  " if number == 0 else "    ", PLAIN, None, True), *line], block))
        out.append(Line(list(rail)))
    if threads and threads[-1][0].sign:
        out.append(Line(list(rail)))
    return out


def render_diff_unit_or_threads(context: LayoutContext, unit: DiffUnit, side_widths: SideWidths) -> list[Line]:
    """Render a unit of a diff, which may be the threads on a block."""
    if unit.kind == "threads":
        return render_threads(unit.threads, context.styles, side_widths.width, GUTTER - 2)
    return render_diff_unit(context, unit, side_widths)


def _message_lines(
    name: list[Piece], message: ThreadSummary | ThreadReply, styles: Styles, width: int
) -> list[list[Piece]]:
    """Return the first rendered lines of a message, at most `_MOST_LINES`. The first line begins with `name`. A message
    with suggestions has at most `_MOST_SUGGESTED` lines."""
    text, most = message.text, _MOST_LINES
    lines: list[list[Piece]] = []
    if message.suggestion_diffs:
        most = _MOST_SUGGESTED
        lines = [name] if name else []
        lines += [
            line.pieces
            for line in lines_with_suggestions(
                text, cast("tuple[PageComparison, ...]", message.suggestion_diffs), width, styles
            )
        ]
    else:
        blocks = _blocks(text[:_MOST_TEXT])
        if name and blocks and blocks[0].kind == "paragraph":
            lines = wrap([*name, *render_runs(blocks[0].runs, styles)], width)
            blocks = blocks[1:]
        elif name:
            lines = [name]
        source = text[:_MOST_TEXT]
        more = lay_out(blocks, width, styles, source=source).lines if blocks and len(lines) < most else []
        lines += [[]] * bool(lines and more) + [line.pieces for line in more]
    if len(lines) > most or len(text) > _MOST_TEXT:
        lines = [*lines[: most - 1], [Piece(styles.glyphs.more, styles.muted, None, True)]]
    # Collapsed content of a comment is expanded in the thread view, not here.
    return [
        [p._replace(clickable=None) if p.clickable and p.clickable.kind in ("fold", "tab") else p for p in line]
        for line in lines
    ]


@lru_cache(maxsize=256)
def _blocks(text: str) -> tuple[Block, ...]:
    return parse(keep_quoted_lines(text)).blocks[:_MOST_LINES]


def lines_with_suggestions(
    text: str, compared: Sequence[PageComparison], width: int, styles: Styles, notes: Sequence[Sequence[Line]] = ()
) -> list[Line]:
    """Return the lines of a comment. `compared` has a comparison for each suggestion in `text`. `notes` has, for each
    suggestion, the lines between its label and its diff."""
    out: list[Line] = []
    written, start = text.split("\n"), 0

    def add_text_until(end: int) -> None:
        part = keep_quoted_lines("\n".join(written[start:end]))
        if part.strip():
            out.extend(lay_out(parse(part).blocks, width, styles, source=part).lines)
            out.append(Line([]))

    for number, (each, one) in enumerate(zip(find_suggestions(text), compared, strict=True)):
        add_text_until(each.lines[0])
        out.append(Line([Piece("Suggested change", styles.muted)]))
        out += [*(notes[number] if notes else ()), *_diff_lines(one, width, styles), Line([])]
        start = each.lines[1]
    add_text_until(len(written))
    return out[:-1]


def _diff_lines(compared: PageComparison, width: int, styles: Styles) -> list[Line]:
    found = (
        build_diff(compared.diff, ContextSize(), {})
        if not compared.diff.is_empty
        else build_source_diff(compared.hunks)
    )
    context = LayoutContext(styles, Folds(), render_block, available_width=width)
    room = SideWidths.for_width(width, split=False)
    lines = [
        line
        for unit in found.complete().units
        if unit.kind != "title"
        for line in render_diff_unit(context, unit, room)
    ]
    while lines and not "".join(piece.text for piece in lines[0].pieces).strip(" │┊"):
        lines.pop(0)
    return lines
