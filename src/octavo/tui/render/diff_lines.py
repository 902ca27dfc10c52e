"""Changes as lines: signs in the gutter, tints, words underlined or struck out, and what changed in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from operator import is_

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block
from octavo.documents.diff_attributes import changed_attributes
from octavo.tui.render.block_slices import SliceBounds, whole_of
from octavo.tui.render.diff_code import changed_code, changed_source
from octavo.tui.render.diff_context import name_of, said_of
from octavo.tui.render.diff_sides import GUTTER, Part, SideWidths, arranged, blank
from octavo.tui.render.diff_tables import changed_table
from octavo.tui.render.diff_units import DiffUnit
from octavo.tui.render.diff_words import about, gutter, hanging, note, notes, settings, signs_of, words
from octavo.tui.render.failed_block import guarded, unset
from octavo.tui.render.layout_context import NARROWEST, LayoutContext
from octavo.tui.render.prose import mark_of
from octavo.tui.render.styled_lines import Line, Piece, Spot, cells, cut, fit, squeezed, width_of
from octavo.tui.render.styles import Styles
from octavo.tui.render.wrap import wrap


def guess(unit: DiffUnit) -> int:
    """About how many lines a unit takes, without setting it."""
    if unit.kind == "block" and unit.block is not None:
        first, end = unit.block.lines
        was = unit.old.lines if unit.old is not None else (0, 0)
        return max(1, end - first, was[1] - was[0]) + 1
    if unit.kind in ("fold", "label", "note", "setting"):
        return 2
    if unit.kind in ("lines", "threads"):
        return len(unit.lines) + 4 * len(unit.threads)
    if isinstance(unit.entry, (model.Changed, model.Moved)):
        match unit.entry.parts:
            case model.TableChange(rows=rows):
                return 2 * len(rows) + 2
            case model.CodeChange(lines=lines):
                return len(lines) + 2
    span = max([block.lines[1] - block.lines[0] for block in unit.blocks], default=1)
    return 2 * max(1, span) if unit.kind == "entry" else max(1, span) + 1


def set_diff_unit(setting: LayoutContext, unit: DiffUnit, room: SideWidths) -> list[Line]:
    """The lines of a unit, the gutter included."""
    block = unit.block or Block(unit.kind)
    instead = partial(unset, block, setting.written, setting.look, max(room.width, NARROWEST))
    return guarded(lambda: _set(setting, unit, room), instead)


def _set(setting: LayoutContext, unit: DiffUnit, room: SideWidths) -> list[Line]:
    look, width = setting.look, room.width
    space = [] if unit.tight else [Line([]) if unit.kind in ("title", "fold", "label") else blank(room, look)]
    match unit.kind:
        case "title":
            return [Line(part) for part in wrap([Piece(unit.text, look.strong)], width)]
        case "fold" | "label":
            return [*space, _across(unit, look, width)]
        case "note":
            return [*space, *about(note(unit.text, look, width), unit.block)]
        case "lines":
            return about(arranged(changed_source(unit.lines, look, room), room, look), unit.block)
        case "setting" if unit.setting is not None:
            return [*space, *arranged(settings([unit.setting], "page", look, room, unit.block), room, look)]
        case "exchange":
            return [*space, *arranged([_exchange(setting, unit, room)], room, look)]
        case "entry" if unit.entry is not None:
            return [*space, *arranged(_entry(setting, unit, unit.entry, room), room, look)]
    return [*space, *arranged(_same(setting, unit, room), room, look)]


def _across(unit: DiffUnit, look: Styles, width: int) -> Line:
    glyphs = look.glyphs
    spot = Spot("fold", unit.block.key) if unit.block is not None and unit.kind == "fold" else None
    hint = " press = to expand " if width >= 50 else " = expand "
    tail = f"{hint}{glyphs.across * 2}" if spot else ""
    room = width - 8 - len(tail)
    said = f" {glyphs.between} {unit.text}" if unit.place and unit.text else unit.text
    if unit.place and cells(_path(unit.place, look)) + cells(said) > room:
        said = said.removesuffix(" unchanged")  # which goes without saying
    path = _path(unit.place, look, room - cells(said))
    words = fit([Piece(path, look.text, spot), Piece(said, look.muted, spot)], room, glyphs.more)
    pieces = [Piece(glyphs.across * 2 + " ", look.line, None, True), *words, Piece(" ", look.line, None, True)]
    pieces.append(Piece(glyphs.across * (width - width_of(pieces) - len(tail)), look.line, None, True))
    if tail:
        pieces += [
            Piece(hint, look.muted, spot, True),
            Piece(glyphs.across * 2, look.line, None, True),
        ]
    return Line(pieces, unit.block)


def _path(place: Sequence[str], look: Styles, room: int = 1 << 30) -> str:
    """Where something lies, in a line: when there is no room for all of it, what is nearest."""
    between = f" {look.glyphs.right} "
    path = between.join(signs_of(look, name) for name in place)
    for first in range(1, len(place)):
        if cells(path) <= room:
            break
        path = between.join([look.glyphs.more, *(signs_of(look, name) for name in place[first:])])
    return path


def _sided(
    setting: LayoutContext, unit: DiffUnit, block: Block, sign: str, room: SideWidths, *, was: bool = False
) -> list[Line]:
    """A block as a page shows it, behind a sign; `was`: on the page as it was. Of what came or went, nothing is folded."""
    path = unit.was_within if was else unit.within
    whole, lead = [_in_parent(block, path)], _lead(block, path, setting.look)
    if sign != " ":
        whole = _opened(whole[0])
    setting.depth, setting.ruled = 0, False
    setting.list_depth = sum(each.kind == "list" for each in path) - any(
        each.kind == "list" != block.kind for each in whole[:1]
    )
    wide = room.words - cells(lead)
    lines = setting.flow(whole, wide)
    setting.list_depth = 0
    if wide < NARROWEST:
        lines = [squeezed(line, wide) for line in lines]
    for line in lines:
        line.block = whole_of(block)
        if sign != " ":
            line.pieces = [
                piece._replace(spot=None) if piece.spot is not None and piece.spot.kind in ("fold", "tab") else piece
                for piece in line.pieces
            ]
    return gutter(hanging(lines, lead, setting.look), sign, block.lines[0] + 1, setting.look, room.side)


def _lead(block: Block, path: Sequence[Block], look: Styles) -> str:
    """What stands before a block that lies in items of lists: its bullet or number, if it is the first in its item."""
    lead = ""
    level = 0
    for of_list, item in pairwise(path):
        if of_list.kind == "list":
            lead = (
                " " * cells(lead)
                + " " * (level == 0)
                + mark_of(of_list, max(0, _place(item, of_list)), level, look)
                + " "
            )
            level += 1
    is_first = path and path[-1].kind in ("item", "task") and _place(block, path[-1]) == 0
    return lead if is_first else " " * cells(lead)


def _place(block: Block, parent: Block) -> int:
    """Which of its parent's children a block is; -1 if it stood elsewhere."""
    return next((at for at, each in enumerate(parent.children) if each is whole_of(block)), -1)


def _opened(block: Block) -> list[Block]:
    """A block with all that is in it on show: expandable sections open, tabs one below the other."""
    children = [shown for child in block.children for shown in _opened(child)]
    if block.kind == "tabs":
        return [block._replace(children=(tab,)) for tab in children]
    if block.kind == "expandable":
        return [block._replace(attrs={**block.attrs, "open": True}, children=tuple(children))]
    if len(children) == len(block.children) and all(map(is_, children, block.children)):
        return [block]
    return [block._replace(children=tuple(children))]


def _same(setting: LayoutContext, unit: DiffUnit, room: SideWidths) -> list[Part]:
    """A block that is the same on both sides."""
    if unit.block is None:
        return []
    sides = [
        _clipped(_sided(setting, unit, block, " ", room, was=was), unit.clip, setting.look, room)
        if block is not None
        else []
        for block, was in ((unit.old if room.is_split else None, True), (unit.block, False))
    ]
    return [Part(sides[0], sides[1], is_same=True)]


def _clipped(lines: list[Line], clip: int, look: Styles, room: SideWidths) -> list[Line]:
    """The first or the last of some lines, and a sign where the others are."""
    if not clip or len(lines) <= abs(clip) + 1:
        return lines
    block = lines[0].block
    number = block.lines[0] + 1 if block is not None and clip < 0 else None
    sign = gutter([Line([Piece(look.glyphs.more, look.muted, None, True)], block)], " ", number, look, room.side)
    return [*lines[:clip], *sign] if clip > 0 else [*sign, *lines[clip:]]


def _exchange(setting: LayoutContext, unit: DiffUnit, room: SideWidths) -> Part:
    """Blocks that went beside those that came, each side without gaps."""

    def side(blocks: Sequence[Block], sign: str) -> list[Line]:
        lines: list[Line] = []
        for block in blocks if sign == "+" or not room.only_new else ():
            lines += [Line([])] * bool(lines) + _sided(setting, unit, block, sign, room, was=sign == "-")
        return lines

    return Part(side(unit.gone, "-"), side(unit.come, "+"))


def _in_parent(block: Block, path: Sequence[Block]) -> Block:
    """The block inside as much of its parent as it takes to show what it is, at its place there."""
    kinds = ("item", "task", "tab", "step", "update", "column")
    if not path or block.kind not in kinds:
        return block
    if block.kind not in ("item", "task", "step"):  # others have no numbers
        return path[-1]._replace(children=(block,))
    at, count = max(0, _place(block, path[-1])), len(path[-1].children)
    place = SliceBounds(path[-1], at, None, at == 0, at == count - 1)
    return path[-1]._replace(children=(block,), attrs={**path[-1].attrs, "cut": place})


def _entry(setting: LayoutContext, unit: DiffUnit, entry: model.Entry, room: SideWidths) -> list[Part]:
    look = setting.look
    if unit.part > 1 and isinstance(entry, (model.Changed, model.Moved)):
        return _parts(setting, unit, entry.old, entry.new, entry.parts, room)
    match entry:
        case model.Added() | model.Removed() if unit.is_frame:
            return [_frame(unit, entry, room, look)]
        case model.Added(block=block):
            return [Part(new=_sided(setting, unit, block, "+", room))]
        case model.Removed() | model.Moved(arrives=False) if room.only_new:
            return []
        case model.Removed(block=block):
            return [Part(old=_sided(setting, unit, block, "-", room, was=True))]
        case model.Moved(arrives=False):
            to = f"{_moved('to', unit.come or (entry.new,))}: "
            pieces = fit([Piece(to + said_of(entry.old))], room.words, look.glyphs.more)
            return notes(["".join(piece.text for piece in pieces)], look, room, entry.old, ">", was=True)
        case model.Moved():
            said = f"{_moved('from', unit.gone or (entry.old,))}{', and edited' if entry.is_edited else ''}"
            if unit.follows:
                said = "edited" if entry.is_edited else ""
            above = [
                *notes([said] if said else [], look, room, entry.new, ">"),
                *settings(entry.settings, entry.new.kind, look, room, entry.new),
            ]
            if entry.parts is None:
                return [*above, Part(new=_sided(setting, unit, entry.new, " ", room))]
            return [*above, *_parts(setting, unit, entry.old, entry.new, entry.parts, room)]
        case model.Changed():
            sides = _parts(setting, unit, entry.old, entry.new, entry.parts, room)
            unseen = [each for each in entry.settings if not _is_on_show(each, entry.new, sides)]
            return [
                *notes(
                    [f"{entry.old.kind} → {entry.new.kind}"] * (entry.old.kind != entry.new.kind), look, room, entry.new
                ),
                *settings(unseen, entry.new.kind, look, room, entry.new),
                *sides,
            ]
    return []


def _is_on_show(change: model.AttributeChange, block: Block, sides: Sequence[Part]) -> bool:
    """Whether an image as it was and as it is show what would be said of it."""
    if (
        block.kind not in ("image", "figure")
        or change.name not in ("src", "alt")
        or any(part.is_same for part in sides)
    ):
        return False

    def shows(value: str | None, lines: Sequence[Line]) -> bool:
        rows = [
            "".join(
                each.text for each in cut(line.pieces, GUTTER, line.width) if change.name == "src" or not each.furniture
            )
            for line in lines
        ]
        return " ".join((value or "").split()) in " ".join(" ".join(rows).split())

    before, after = [line for part in sides for line in part.old], [line for part in sides for line in part.new]
    return shows(change.old, before) and shows(change.new, after)


def _moved(way: str, blocks: Sequence[Block]) -> str:
    """Where blocks that moved together are, or were."""
    first, last = blocks[0].lines[0] + 1, blocks[-1].lines[1]
    if len(blocks) == 1:
        return f"moved {way} line {first}"
    return f"{len(blocks)} blocks moved {way} lines {first}–{last}"


def _frame(unit: DiffUnit, entry: model.Added | model.Removed, room: SideWidths, look: Styles) -> Part:
    """What is said of a container that came or went around something: its name, and what is set about it."""
    block, is_new = entry.block, isinstance(entry, model.Added)
    name = name_of(block._replace(children=())) or block.kind  # a heading in it is shown below
    if block.kind == "step":
        path = unit.within if is_new else unit.was_within
        name = f"step {_place(block, path[-2]) + 1}" if len(path) > 1 else name
    given = changed_attributes(Block(block.kind), block)
    said = ", ".join([name, *(f"{each.name} {each.new}" for each in given if each.name != "title")])
    lines = [Line(part, block) for part in wrap([Piece(signs_of(look, said), look.strong)], room.words)]
    shown = gutter(lines, "+" if is_new else "-", block.lines[0] + 1, look, room.side)
    return Part(new=shown) if is_new else Part(old=shown)


def _parts(
    setting: LayoutContext, unit: DiffUnit, old: Block, new: Block, parts: model.Parts, room: SideWidths
) -> list[Part]:
    match parts:
        case model.TextChange() if not parts.is_rewritten:
            leads = (_lead(old, unit.was_within, setting.look), _lead(new, unit.within, setting.look))
            return words(setting.look, old, new, parts, room, leads)
        case model.CodeChange():
            return changed_code(setting, old, new, parts.lines, room, unit.part)
        case model.TableChange():
            return changed_table(setting, old, new, parts, room, unit.part)
        case model.ContainerChange(title=title):
            return words(setting.look, old, new, title, room) if title is not None and title.sorts else []
    if parts is None and old.kind == new.kind and old.plain() == new.plain() and old.kind not in ("image", "figure"):
        return [
            Part(
                [] if room.only_new else _sided(setting, unit, old, " ", room, was=True),
                _sided(setting, unit, new, " ", room),
                is_same=True,
            )
        ]
    before, after = _sided(setting, unit, old, "-", room, was=True), _sided(setting, unit, new, "+", room)
    if [line.text[GUTTER:] for line in before] != [line.text[GUTTER:] for line in after]:
        return [Part(before, after)]
    was = [] if room.only_new else _sided(setting, unit, old, "~", room, was=True)
    return [Part(was, _sided(setting, unit, new, "~", room), is_same=True)]
