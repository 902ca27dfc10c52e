"""Renders chunks of a diff as lines, the threads between these lines, and suggestions in comments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from operator import is_
from typing import cast

from rich.style import Style

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block
from octavo.documents.diff_nodes import changed_attributes
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import find_suggestions
from octavo.tui.render.block_slices import SliceBounds, render_failed_block, run_guarded, whole_block
from octavo.tui.render.comparison import PageComparison, block_summary, container_name
from octavo.tui.render.diff_chunks import ContextSize, DiffChunk, PageHeading
from octavo.tui.render.diff_sequence import build_diff, build_source_diff
from octavo.tui.render.diff_sides import (
    GUTTER,
    SidePair,
    SideWidths,
    add_gutter,
    assign_block,
    blank_line,
    drawable_text,
    hang_indent,
    join_sides,
    note_lines,
    note_sides,
    render_attribute_changes,
)
from octavo.tui.render.diff_text import (
    render_code_change,
    render_source_change,
    render_table_change,
    render_word_changes,
)
from octavo.tui.render.layout import lay_out, render_block
from octavo.tui.render.layout_context import MIN_BLOCK_WIDTH, LayoutContext, ViewState, render_runs
from octavo.tui.render.styled_lines import (
    Clickable,
    Line,
    StyledText,
    cells,
    crop,
    decoration,
    squeeze,
    truncate,
    width_of,
    wrap,
    wrap_text,
)
from octavo.tui.render.styles import Styles
from octavo.tui.render.text_blocks import item_marker
from octavo.tui.render.threads import WORD_CHANGES, ThreadReply, ThreadSummary, keep_quoted_lines
from octavo.tui.widgets.short_texts import plural


def estimate_height(chunk: DiffChunk) -> int:
    """Return the approximate number of lines of a chunk, without rendering it."""
    if chunk.kind == "block" and chunk.block is not None:
        first, end = chunk.block.lines
        old_lines = chunk.old.lines if chunk.old is not None else (0, 0)
        return max(1, end - first, old_lines[1] - old_lines[0]) + 1
    if chunk.kind in ("collapsed", "label", "note", "page_option", "page"):
        return 2
    if chunk.kind in ("lines", "threads"):
        return len(chunk.lines) + 4 * len(chunk.threads)
    if isinstance(chunk.entry, (model.ChangedBlock, model.MovedBlock)):
        match chunk.entry.content_change:
            case model.TableChange(rows=rows):
                return 2 * len(rows) + 2
            case model.CodeChange(lines=lines):
                return len(lines) + 2
    line_count = max([block.lines[1] - block.lines[0] for block in chunk.blocks], default=1)
    return 2 * max(1, line_count) if chunk.kind == "change" else max(1, line_count) + 1


def render_diff_chunk(context: LayoutContext, chunk: DiffChunk, side_widths: SideWidths) -> list[Line]:
    """Render a chunk of a diff. If its renderer fails, render a box with the Markdown of its block."""
    block = chunk.block or Block(chunk.kind)
    fallback = partial(
        render_failed_block, block, context.source_of, context.styles, max(side_widths.width, MIN_BLOCK_WIDTH)
    )
    return run_guarded(lambda: _render_chunk(context, chunk, side_widths), fallback)


def _render_chunk(context: LayoutContext, chunk: DiffChunk, side_widths: SideWidths) -> list[Line]:
    styles, width = context.styles, side_widths.width
    blank_lines = (
        []
        if chunk.is_tight
        else [Line([]) if chunk.kind in ("title", "collapsed", "label") else blank_line(side_widths, styles)]
    )
    match chunk.kind:
        case "threads":
            return render_threads(chunk.threads, styles, side_widths.width, GUTTER - 2)
        case "title":
            return wrap_text(chunk.text, styles.strong, width)
        case "page" if chunk.page is not None:
            return [*blank_lines, *_render_heading(chunk.page, chunk.block, styles, width)]
        case "collapsed" | "label":
            return [*blank_lines, _render_separator(chunk, styles, width)]
        case "note":
            return [*blank_lines, *assign_block(note_lines(chunk.text, styles, width), chunk.block)]
        case "lines":
            return assign_block(
                join_sides(render_source_change(chunk.lines, styles, side_widths), side_widths, styles), chunk.block
            )
        case "page_option" if chunk.page_option is not None:
            return [
                *blank_lines,
                *join_sides(
                    render_attribute_changes([chunk.page_option], "page", styles, side_widths, chunk.block),
                    side_widths,
                    styles,
                ),
            ]
        case "replacement":
            return [*blank_lines, *join_sides([_render_replacement(context, chunk, side_widths)], side_widths, styles)]
        case "change" if chunk.entry is not None:
            return [
                *blank_lines,
                *join_sides(_render_entry(context, chunk, chunk.entry, side_widths), side_widths, styles),
            ]
    return [*blank_lines, *join_sides(_render_unchanged(context, chunk, side_widths), side_widths, styles)]


_SIGN_STYLES = {"+": "success", "−": "error", "→": "warning", "~": "accent"}


def _render_heading(page: PageHeading, block: Block | None, styles: Styles, width: int) -> list[Line]:
    glyphs, clickable = styles.glyphs, Clickable("fold", f"page {page.key}")
    badges: list[StyledText] = []
    for text, style in page.badges:
        badges += [StyledText("  "), StyledText(drawable_text(styles, text), getattr(styles, style))]
    badges = truncate(badges, max(0, width - 12), glyphs.ellipsis)
    sign = (
        [StyledText(f"{drawable_text(styles, page.sign)} ", getattr(styles, _SIGN_STYLES[page.sign]))]
        if page.sign
        else []
    )
    title = [
        decoration(f"{glyphs.closed if page.is_collapsed else glyphs.opened} ", styles.muted, clickable),
        *sign,
        StyledText(drawable_text(styles, page.title), styles.strong, clickable),
        *([StyledText(f"  {drawable_text(styles, page.path)}", styles.muted)] if page.path else []),
    ]
    title = truncate(title, width - width_of(badges), glyphs.ellipsis)
    gap = StyledText(" " * (width - width_of(title) - width_of(badges)))
    row = Line([*title, gap, *badges], block)
    return [row] if page.is_collapsed else [row, Line([decoration(glyphs.horizontal * width, styles.line)], block)]


def _render_separator(chunk: DiffChunk, styles: Styles, width: int) -> Line:
    glyphs = styles.glyphs
    clickable = Clickable("fold", chunk.block.key) if chunk.block is not None and chunk.kind == "collapsed" else None
    hint = " press = to expand " if width >= 50 else " = expand "
    tail = f"{hint}{glyphs.horizontal * 2}" if clickable else ""
    available_width = width - 8 - len(tail)
    text = f" {glyphs.separator} {chunk.text}" if chunk.section_path and chunk.text else chunk.text
    if chunk.section_path and cells(_section_text(chunk.section_path, styles)) + cells(text) > available_width:
        # Leave “unchanged” out if space is short, because all collapsed blocks are unchanged.
        text = text.removesuffix(" unchanged")
    path = _section_text(chunk.section_path, styles, available_width - cells(text))
    label = truncate(
        [StyledText(path, styles.text, clickable), StyledText(text, styles.muted, clickable)],
        available_width,
        glyphs.ellipsis,
    )
    pieces = [decoration(glyphs.horizontal * 2 + " ", styles.line), *label, decoration(" ", styles.line)]
    pieces.append(decoration(glyphs.horizontal * (width - width_of(pieces) - len(tail)), styles.line))
    if tail:
        pieces += [decoration(hint, styles.muted, clickable), decoration(glyphs.horizontal * 2, styles.line)]
    return Line(pieces, chunk.block)


def _section_text(names: Sequence[str], styles: Styles, available_width: int = 1 << 30) -> str:
    separator = f" {styles.glyphs.right} "
    path = separator.join(drawable_text(styles, name) for name in names)
    for first in range(1, len(names)):
        if cells(path) <= available_width:
            break
        path = separator.join([styles.glyphs.ellipsis, *(drawable_text(styles, name) for name in names[first:])])
    return path


def _render_side(
    context: LayoutContext,
    chunk: DiffChunk,
    block: Block,
    sign: str,
    side_widths: SideWidths,
    *,
    is_old_side: bool = False,
) -> list[Line]:
    """Render the old or new version of a block as it looks on a page, with its line number and `sign` in the gutter."""
    path = chunk.old_ancestors if is_old_side else chunk.ancestors
    shown_blocks, prefix = [_parent_with_only(block, path)], _list_prefix(block, path, context.styles)
    if sign != " ":
        shown_blocks = _expand_all(shown_blocks[0])
    context.depth, context.has_heading_rules = 0, False
    context.list_depth = sum(each.kind == "list" for each in path) - any(
        each.kind == "list" != block.kind for each in shown_blocks[:1]
    )
    width = side_widths.text_width - cells(prefix)
    lines = context.render_blocks(shown_blocks, width)
    context.list_depth = 0
    if width < MIN_BLOCK_WIDTH:
        lines = [squeeze(line, width) for line in lines]
    for line in lines:
        line.block = whole_block(block)
        if sign != " ":
            line.pieces = [
                piece._replace(clickable=None)
                if piece.clickable is not None and piece.clickable.kind in ("fold", "tab")
                else piece
                for piece in line.pieces
            ]
    return add_gutter(
        hang_indent(lines, prefix, context.styles), sign, block.lines[0] + 1, context.styles, side_widths.side
    )


def _list_prefix(block: Block, path: Sequence[Block], styles: Styles) -> str:
    """Return the indentation and the bullet or number before the first block of a list item. For later blocks of the
    item, return spaces of the same width. Empty outside of lists."""
    prefix = ""
    level = 0
    for list_block, item in pairwise(path):
        if list_block.kind == "list":
            prefix = (
                " " * cells(prefix)
                + " " * (level == 0)
                + item_marker(list_block, max(0, _child_index(item, list_block)), level, styles)
                + " "
            )
            level += 1
    is_first = bool(path) and path[-1].kind in ("item", "task") and _child_index(block, path[-1]) == 0
    return prefix if is_first else " " * cells(prefix)


def _child_index(block: Block, parent: Block) -> int:
    return next((index for index, each in enumerate(parent.children) if each is whole_block(block)), -1)


def _expand_all(block: Block) -> list[Block]:
    children = [expanded_child for child in block.children for expanded_child in _expand_all(child)]
    if block.kind == "tabs":
        return [block._replace(children=(tab,)) for tab in children]
    if block.kind == "expandable":
        return [block._replace(attrs={**block.attrs, "open": True}, children=tuple(children))]
    if len(children) == len(block.children) and all(map(is_, children, block.children)):
        return [block]
    return [block._replace(children=tuple(children))]


def _render_unchanged(context: LayoutContext, chunk: DiffChunk, side_widths: SideWidths) -> list[SidePair]:
    if chunk.block is None:
        return []
    sides = [
        _clip_lines(
            _render_side(context, chunk, block, " ", side_widths, is_old_side=is_old_side),
            chunk.line_limit,
            context.styles,
            side_widths,
        )
        if block is not None
        else []
        for block, is_old_side in ((chunk.old if side_widths.is_split else None, True), (chunk.block, False))
    ]
    return [SidePair(sides[0], sides[1], is_same=True)]


def _clip_lines(lines: list[Line], line_limit: int, styles: Styles, side_widths: SideWidths) -> list[Line]:
    if not line_limit or len(lines) <= abs(line_limit) + 1:
        return lines
    block = lines[0].block
    number = block.lines[0] + 1 if block is not None and line_limit < 0 else None
    sign = add_gutter(
        [Line([decoration(styles.glyphs.ellipsis, styles.muted)], block)], " ", number, styles, side_widths.side
    )
    return [*lines[:line_limit], *sign] if line_limit > 0 else [*sign, *lines[line_limit:]]


def _render_replacement(context: LayoutContext, chunk: DiffChunk, side_widths: SideWidths) -> SidePair:

    def side(blocks: Sequence[Block], sign: str) -> list[Line]:
        lines: list[Line] = []
        for block in blocks if sign == "+" or not side_widths.only_new else ():
            lines += [Line([])] * bool(lines) + _render_side(
                context, chunk, block, sign, side_widths, is_old_side=sign == "-"
            )
        return lines

    return SidePair(side(chunk.removed, "-"), side(chunk.added, "+"))


def _parent_with_only(block: Block, path: Sequence[Block]) -> Block:
    """For an item, step, tab, update or column, return its parent with no other children. Else return `block`."""
    kinds = ("item", "task", "tab", "step", "update", "column")
    if not path or block.kind not in kinds:
        return block
    if block.kind not in ("item", "task", "step"):  # Other blocks have no numbers, so their position does not matter.
        return path[-1]._replace(children=(block,))
    index, child_count = max(0, _child_index(block, path[-1])), len(path[-1].children)
    bounds = SliceBounds(path[-1], index, None, index == 0, index == child_count - 1)
    return path[-1]._replace(children=(block,), attrs={**path[-1].attrs, "slice": bounds})


def _render_entry(
    context: LayoutContext, chunk: DiffChunk, entry: model.DiffEntry, side_widths: SideWidths
) -> list[SidePair]:
    styles = context.styles
    if chunk.slice_number > 1 and isinstance(entry, (model.ChangedBlock, model.MovedBlock)):
        return _render_parts(context, chunk, entry.old, entry.new, entry.content_change, side_widths)
    match entry:
        case model.AddedBlock() | model.RemovedBlock() if chunk.is_container_change:
            return [_render_container_change(chunk, entry, side_widths, styles)]
        case model.AddedBlock(block=block):
            return [SidePair(new=_render_side(context, chunk, block, "+", side_widths))]
        case model.RemovedBlock() | model.MovedBlock(is_arrival=False) if side_widths.only_new:
            return []
        case model.RemovedBlock(block=block):
            return [SidePair(old=_render_side(context, chunk, block, "-", side_widths, is_old_side=True))]
        case model.MovedBlock(is_arrival=False):
            prefix = f"{_move_note('to', chunk.added or (entry.new,))}: "
            pieces = truncate(
                [StyledText(prefix + block_summary(entry.old))], side_widths.text_width, styles.glyphs.ellipsis
            )
            return note_sides(
                ["".join(piece.text for piece in pieces)], styles, side_widths, entry.old, ">", is_old_side=True
            )
        case model.MovedBlock():
            text = f"{_move_note('from', chunk.removed or (entry.old,))}{', and edited' if entry.is_edited else ''}"
            if chunk.follows_move:
                text = "edited" if entry.is_edited else ""
            notes = [
                *note_sides([text] if text else [], styles, side_widths, entry.new, ">"),
                *render_attribute_changes(entry.settings, entry.new.kind, styles, side_widths, entry.new),
            ]
            if entry.content_change is None:
                return [*notes, SidePair(new=_render_side(context, chunk, entry.new, " ", side_widths))]
            return [*notes, *_render_parts(context, chunk, entry.old, entry.new, entry.content_change, side_widths)]
        case model.ChangedBlock():
            sides = _render_parts(context, chunk, entry.old, entry.new, entry.content_change, side_widths)
            invisible_changes = [each for each in entry.settings if not _is_visible(each, entry.new, sides)]
            return [
                *note_sides(
                    [f"{entry.old.kind} → {entry.new.kind}"] * (entry.old.kind != entry.new.kind),
                    styles,
                    side_widths,
                    entry.new,
                ),
                *render_attribute_changes(invisible_changes, entry.new.kind, styles, side_widths, entry.new),
                *sides,
            ]
    return []


def _is_visible(change: model.AttributeChange, block: Block, sides: Sequence[SidePair]) -> bool:
    """Return True if `sides` show the old and the new value of an image's URL or alternative text. Else False."""
    if (
        block.kind not in ("image", "figure")
        or change.name not in ("src", "alt")
        or any(pair.is_same for pair in sides)
    ):
        return False

    def shows(value: str | None, lines: Sequence[Line]) -> bool:
        rows = [
            "".join(
                each.text
                for each in crop(line.pieces, GUTTER, line.width)
                if change.name == "src" or not each.is_decoration
            )
            for line in lines
        ]
        return " ".join((value or "").split()) in " ".join(" ".join(rows).split())

    old_lines, new_lines = [line for pair in sides for line in pair.old], [line for pair in sides for line in pair.new]
    return shows(change.old, old_lines) and shows(change.new, new_lines)


def _move_note(direction: str, blocks: Sequence[Block]) -> str:
    first, last = blocks[0].lines[0] + 1, blocks[-1].lines[1]
    if len(blocks) == 1:
        return f"moved {direction} line {first}"
    return f"{len(blocks)} blocks moved {direction} lines {first}–{last}"


def _render_container_change(
    chunk: DiffChunk, entry: model.AddedBlock | model.RemovedBlock, side_widths: SideWidths, styles: Styles
) -> SidePair:
    block, is_new = entry.block, isinstance(entry, model.AddedBlock)
    # Name the container without its children, because a heading among them is shown below.
    name = container_name(block._replace(children=())) or block.kind
    if block.kind == "step":
        path = chunk.ancestors if is_new else chunk.old_ancestors
        name = f"step {_child_index(block, path[-2]) + 1}" if len(path) > 1 else name
    settings = changed_attributes(Block(block.kind), block)
    text = ", ".join([name, *(f"{each.name} {each.new}" for each in settings if each.name != "title")])
    lines = [
        Line(part, block)
        for part in wrap([StyledText(drawable_text(styles, text), styles.strong)], side_widths.text_width)
    ]
    lines_with_gutter = add_gutter(lines, "+" if is_new else "-", block.lines[0] + 1, styles, side_widths.side)
    return SidePair(new=lines_with_gutter) if is_new else SidePair(old=lines_with_gutter)


def _render_parts(
    context: LayoutContext,
    chunk: DiffChunk,
    old: Block,
    new: Block,
    change: model.ContentChange,
    side_widths: SideWidths,
) -> list[SidePair]:
    match change:
        case model.TextChange() if not change.is_rewritten:
            prefixes = (
                _list_prefix(old, chunk.old_ancestors, context.styles),
                _list_prefix(new, chunk.ancestors, context.styles),
            )
            return render_word_changes(context.styles, old, new, change, side_widths, prefixes)
        case model.CodeChange():
            return render_code_change(context, old, new, change.lines, side_widths, chunk.slice_number)
        case model.TableChange():
            return render_table_change(context, old, new, change, side_widths, chunk.slice_number)
        case model.ContainerChange(title=title):
            return (
                render_word_changes(context.styles, old, new, title, side_widths)
                if title is not None and title.kinds
                else []
            )
    if change is None and old.kind == new.kind and old.plain() == new.plain() and old.kind not in ("image", "figure"):
        return [
            SidePair(
                [] if side_widths.only_new else _render_side(context, chunk, old, " ", side_widths, is_old_side=True),
                _render_side(context, chunk, new, " ", side_widths),
                is_same=True,
            )
        ]
    removed_lines, added_lines = (
        _render_side(context, chunk, old, "-", side_widths, is_old_side=True),
        _render_side(context, chunk, new, "+", side_widths),
    )
    if [line.text[GUTTER:] for line in removed_lines] != [line.text[GUTTER:] for line in added_lines]:
        return [SidePair(removed_lines, added_lines)]
    old_lines = [] if side_widths.only_new else _render_side(context, chunk, old, "~", side_widths, is_old_side=True)
    return [SidePair(old_lines, _render_side(context, chunk, new, "~", side_widths), is_same=True)]


_MAX_LINES, _MAX_TEXT_LENGTH, _MAX_SUGGESTION_LINES = 8, 4_000, 24


def render_threads(threads: Sequence[tuple[ThreadSummary, str]], styles: Styles, width: int, indent: int) -> list[Line]:
    """Render threads to the right of a dotted line at the cell `indent`. Each thread comes with a label such as `thread
    1/2`. The lines of a thread belong to a block with the key of the thread."""
    glyphs = styles.glyphs
    rail = [decoration(" " * indent + glyphs.dotted_vertical + " ", styles.note)]
    inner_width = width - indent - 2
    lines = [Line(list(rail))]
    for thread, numbering in threads:
        block = Block("thread", {"open": thread.is_open}, text=thread.text, key=thread.key)
        if thread.sign:
            rule_name = StyledText(f"{thread.sign} {thread.author}  ", styles.warning)
            message = StyledText(" ".join(thread.text.split()), styles.muted)
            lines += [
                Line([*rail, *line], block if thread.key else None) for line in wrap([rule_name, message], inner_width)
            ]
            continue
        heading = [
            decoration(
                f"{glyphs.pen if thread.is_draft else glyphs.dot if thread.is_open or thread.is_review else glyphs.yes} ",
                styles.note + Style(bold=True),
            ),
            StyledText(thread.author, styles.note + Style(bold=True)),
            StyledText(f" {glyphs.separator} ", styles.muted),
            StyledText(thread.age, styles.note if thread.is_pending or thread.is_draft else styles.muted),
            StyledText(f" {glyphs.separator} {thread.state}", styles.muted),
        ]
        if thread.unsent:
            heading += [StyledText(f" {glyphs.separator} ", styles.muted), StyledText(thread.unsent, styles.note)]
        heading = truncate(heading, inner_width - len(numbering) - 2, glyphs.ellipsis)
        gap_width = inner_width - width_of(heading) - len(numbering)
        heading += [decoration(" " * max(1, gap_width)), decoration(numbering, styles.muted)]
        lines.append(Line([*rail, *heading], block))
        if thread.word_change:
            change = (
                f"words moved to {thread.new_page_title}" if thread.new_page_title else WORD_CHANGES[thread.word_change]
            )
            note = truncate([StyledText(change, styles.warning)], inner_width, glyphs.ellipsis)
            lines.append(Line([*rail, *note], block))
        if thread.quote:
            quoted_text = truncate(
                [StyledText(f"on “{thread.quote}”", styles.muted + Style(italic=True))], inner_width, glyphs.ellipsis
            )
            lines.append(Line([*rail, *quoted_text], block))
        lines += [Line([*rail, *line], block) for line in _message_lines([], thread, styles, inner_width)]
        hidden_count = thread.reply_count - len(thread.shown_replies)
        if hidden_count > 0:
            adjective = "earlier" if thread.shown_replies else "more"
            label = plural(hidden_count, f"{adjective} reply", f"{adjective} replies")
            lines.append(Line([*rail, decoration(f"  {label}", styles.muted)], block))
        for reply in thread.shown_replies:
            name = [StyledText(f"{glyphs.reply} {reply.author} {glyphs.separator} {reply.age}  ", styles.note)]
            for number, line in enumerate(_message_lines(name, reply, styles, inner_width - 4)):
                lines.append(Line([*rail, decoration("  " if number == 0 else "    "), *line], block))
        lines.append(Line(list(rail)))
    if threads and threads[-1][0].sign:
        lines.append(Line(list(rail)))
    return lines


def _message_lines(
    name: list[StyledText], message: ThreadSummary | ThreadReply, styles: Styles, width: int
) -> list[list[StyledText]]:
    text, max_lines = message.text, _MAX_LINES
    lines: list[list[StyledText]] = []
    if message.suggestion_diffs:
        comparisons = cast("tuple[PageComparison, ...]", message.suggestion_diffs)
        max_lines = _MAX_SUGGESTION_LINES
        lines = [name] if name else []
        lines += [line.pieces for line in lines_with_suggestions(text, comparisons, width, styles)]
    else:
        blocks = _comment_blocks(text[:_MAX_TEXT_LENGTH])
        if name and blocks and blocks[0].kind == "paragraph":
            lines = wrap([*name, *render_runs(blocks[0].runs, styles)], width)
            blocks = blocks[1:]
        elif name:
            lines = [name]
        source = text[:_MAX_TEXT_LENGTH]
        more = lay_out(blocks, width, styles, source=source) if blocks and len(lines) < max_lines else []
        lines += [[]] * bool(lines and more) + [line.pieces for line in more]
    if len(lines) > max_lines or len(text) > _MAX_TEXT_LENGTH:
        lines = [*lines[: max_lines - 1], [decoration(styles.glyphs.ellipsis, styles.muted)]]
    # Collapsed content can be expanded in the thread view only, so it is not clickable here.
    return [
        [
            piece._replace(clickable=None) if piece.clickable and piece.clickable.kind in ("fold", "tab") else piece
            for piece in line
        ]
        for line in lines
    ]


@lru_cache(maxsize=256)
def _comment_blocks(text: str) -> tuple[Block, ...]:
    return parse(keep_quoted_lines(text)).blocks[:_MAX_LINES]


def lines_with_suggestions(
    text: str, comparisons: Sequence[PageComparison], width: int, styles: Styles, notes: Sequence[Sequence[Line]] = ()
) -> list[Line]:
    """Return the lines of a comment, in which suggested changes are shown as diffs. `comparisons` has the diff of each
    suggestion. `notes` has lines to show above each diff, or is empty."""
    lines: list[Line] = []
    text_lines, start = text.split("\n"), 0

    def add_text_until(end: int) -> None:
        section = keep_quoted_lines("\n".join(text_lines[start:end]))
        if section.strip():
            lines.extend(lay_out(parse(section).blocks, width, styles, source=section))
            lines.append(Line([]))

    for number, (suggestion, comparison) in enumerate(zip(find_suggestions(text), comparisons, strict=True)):
        add_text_until(suggestion.lines[0])
        lines.append(Line([StyledText("Suggested change", styles.muted)]))
        lines += [*(notes[number] if notes else ()), *_diff_lines(comparison, width, styles), Line([])]
        start = suggestion.lines[1]
    add_text_until(len(text_lines))
    return lines[:-1]


def _diff_lines(comparison: PageComparison, width: int, styles: Styles) -> list[Line]:
    chunks = (
        build_diff(comparison.diff, ContextSize(), {})
        if not comparison.diff.is_empty
        else build_source_diff(comparison.hunks)
    )
    context = LayoutContext(styles, ViewState(), render_block, available_width=width)
    side_widths = SideWidths.for_width(width, split=False)
    lines = [
        line
        for chunk in chunks.complete().chunks
        if chunk.kind != "title"
        for line in render_diff_chunk(context, chunk, side_widths)
    ]
    while lines and not "".join(piece.text for piece in lines[0].pieces).strip(" │┊"):
        lines.pop(0)
    return lines
