"""Random pages with unique words, and edits by two users. The expected merge is computed from the edits, not from the texts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Literal

from hypothesis import note
from hypothesis import strategies as st

Kind = Literal["root", "paragraph", "heading", "table", "row", "list", "item", "code", "line", "hint", "tabs", "tab"]
Who = Literal["main", "request"]
INSIDE: dict[Kind, tuple[Kind, ...]] = {
    "root": ("paragraph", "paragraph", "heading", "table", "list", "code", "hint", "tabs"),
    "table": ("row",),
    "list": ("item",),
    "code": ("line",),
    "hint": ("paragraph", "list", "code"),
    "tabs": ("tab",),
    "tab": ("paragraph", "table", "code"),
}
SAID: frozenset[Kind] = frozenset({"paragraph", "heading", "row", "item", "line"})
"""Kinds of parts with their own text."""
SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu"]


def words_of(name: str) -> list[str]:
    """Return random words for a part, always the same for the same name. No other part has such a sequence of words."""
    return list(_words_of(name))


@cache
def _words_of(name: str) -> tuple[str, ...]:
    chance = random.Random(name)
    return (name, *("".join(chance.sample(SYLLABLES, 3)) for _ in range(chance.randint(5, 8))))


@dataclass(eq=False)
class Part:
    """A part of a page."""

    kind: Kind
    name: str
    words: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def walk(self) -> list[Part]:
        found = [self]
        for part in self.parts:
            found += part.walk()
        return found

    def copy(self) -> Part:
        return Part(self.kind, self.name, list(self.words), [part.copy() for part in self.parts])


@dataclass
class Page:
    """Three versions of a page, and the expected result if every conflict takes the same side."""

    base: Part
    main: Part
    this: Part
    decided: dict[Who, Part]

    @property
    def texts(self) -> tuple[str, str, str]:
        return text(self.base), text(self.main), text(self.this)


def text(part: Part, depth: int = 0) -> str:
    """Return a part as Markdown of the platform."""
    said = " ".join(part.words)
    match part.kind:
        case "root":
            return "\n".join(text(each) for each in part.parts)
        case "paragraph":
            return f"{said}.\n"
        case "heading":
            return f"## {said}\n"
        case "table":
            rows = [cells(each) for each in part.parts]
            if is_html(part):
                inner = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
                return f"<table><thead><tr><th>Name</th><th>Says</th></tr></thead><tbody>{inner}</tbody></table>\n"
            lines = [f"| {' | '.join(row)} |\n" for row in rows]
            return "".join(["| Name | Says | More |\n| --- | :---: | --- |\n", *lines])
        case "row":
            return f"| {' | '.join(cells(part))} |\n"
        case "list":
            return "".join(text(each, 0) for each in part.parts)
        case "item":
            return "".join([f"{'  ' * depth}* {said}\n", *(text(each, depth + 1) for each in part.parts)])
        case "code":
            return "".join(["```text\n", *(text(each) for each in part.parts), "```\n"])
        case "line":
            return f"    {said}\n"
        case "hint":
            return '{% hint style="info" %}\n' + "\n".join(text(each) for each in part.parts) + "{% endhint %}\n"
        case "tabs":
            return "{% tabs %}\n" + "\n".join(text(each) for each in part.parts) + "{% endtabs %}\n"
        case "tab":
            inner = "\n".join(text(each) for each in part.parts)
            return f'{{% tab title="{part.name}" %}}\n{inner}{{% endtab %}}\n'


def cells(row: Part) -> list[str]:
    """Return the texts of the cells of a row."""
    return [row.words[0], " ".join(row.words[1:3]), " ".join(row.words[3:])]


def is_html(table: Part) -> bool:
    """Return whether a table is written in HTML on one line."""
    return int(table.name[1:-1]) % 3 == 0


class PageMaker:
    """Draws a page, and counts the names of its parts."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def part(self, kind: Kind, depth: int = 0) -> Part:
        self.count += 1
        name = f"n{self.count}x"
        made = Part(kind, name)
        if kind in SAID:
            made.words = words_of(name)
        inner: tuple[Kind, ...] = INSIDE.get(kind, ())
        if kind == "item" and depth < 3 and self.draw(st.integers(0, 2)) == 0:
            inner = ("item",)
        if inner:
            last: Kind | None = None
            for _ in range(self.draw(st.integers(1, 5 if kind != "item" else 2))):
                each = self.draw(st.sampled_from(inner))
                if each == last and each in ("list", "table", "code"):
                    each = "paragraph"  # Two adjacent lists would be read as one.
                made.parts.append(self.part(each, depth + 1))
                last = each
        return made


def find_part(page: Part, name: str) -> tuple[Part, Part]:
    """Return the part with this name and the part that contains it. Raises LookupError if there is none."""
    for above in page.walk():
        for each in above.parts:
            if each.name == name:
                return above, each
    raise LookupError(name)


@st.composite
def pages(draw: st.DrawFn, *, moves: bool = True) -> Page:
    """Generate a page: one side edits, deletes, adds and moves; the other side edits. Both may edit the same part."""
    maker = PageMaker(draw)
    base = maker.part("root")
    moving_side: Who = draw(st.sampled_from(["main", "request"]))
    sides: dict[Who, Part] = {"main": base.copy(), "request": base.copy()}
    decided: dict[Who, Part] = {"main": base.copy(), "request": base.copy()}
    said = [each.name for each in base.walk() if each.kind in SAID]
    edits: dict[Who, dict[str, list[str]]] = {"main": {}, "request": {}}
    who: Who
    for who in sides:
        for name in draw(st.lists(st.sampled_from(said), max_size=4, unique=True)) if said else []:
            _, part = find_part(sides[who], name)
            at = draw(st.integers(1, len(part.words) - 1))
            part.words[at] = f"{who}{at}"
            edits[who][name] = part.words
    page = Page(base, sides["main"], sides["request"], decided)
    for each, result in decided.items():
        for name in {*edits["main"], *edits["request"]}:
            find_part(result, name)[1].words = merged_words(base, sides, name, each)
    return apply_changes(draw, maker, page, moving_side, edits, moves=moves)


def merged_words(base: Part, sides: dict[Who, Part], name: str, wanted: Who) -> list[str]:
    """Return the text of a part if its conflicts take one side. The cells of a row are separate conflicts."""
    kind = find_part(base, name)[1].kind
    before, ours, theirs = (find_part(each, name)[1].words for each in (base, sides["main"], sides["request"]))
    if kind != "row":
        return list(theirs if ours == before or (wanted == "request" and theirs != before) else ours)
    result: list[str] = []
    for cut in (slice(0, 1), slice(1, 3), slice(3, None)):
        was, here, there = before[cut], ours[cut], theirs[cut]
        result += there if here == was or (wanted == "request" and there != was) else here
    return result


def deleted_with(part: Part, base: Part, deleted: set[str]) -> set[str]:
    """Return the names of a part and of the adjacent deleted parts. Rows and items are separate."""
    run = {part.name}
    if part.kind not in ("row", "item"):
        names = [each.name for each in find_part(base, part.name)[0].parts]
        at = names.index(part.name)
        for beside in (names[:at][::-1], names[at + 1 :]):
            run |= set(takewhile(deleted.__contains__, beside))
    return run


def apply_changes(
    draw: st.DrawFn,
    maker: PageMaker,
    page: Page,
    moving_side: Who,
    edits: dict[Who, dict[str, list[str]]],
    *,
    moves: bool,
) -> Page:
    """Apply the deletions, additions and moves of a side to its text and to the expected result."""
    other: Who = "request" if moving_side == "main" else "main"
    side = page.main if moving_side == "main" else page.this
    done: dict[str, str] = {}
    deleted: set[str] = set()
    for what in draw(st.lists(st.sampled_from(["delete", "add", "move" if moves else "add"]), max_size=3)):
        every = [
            each for each in side.walk() if each.kind in SAID and each.kind != "heading" and each.name.startswith("n")
        ]
        every = [each for each in every if not each.parts]
        if not every:
            break
        part = draw(st.sampled_from(every))
        above, _ = find_part(side, part.name)
        if done.setdefault(above.name, what) != what:
            continue  # Deleting and adding at the same place counts as rewriting, which is not the subject here.
        if what == "delete":
            if len(above.parts) == 1:
                continue  # Deleting the last part also deletes its block, and an empty page makes one conflict for the whole page.
            at = above.parts.index(part)
            around = [each.kind for each in (*above.parts[max(0, at - 1) : at], *above.parts[at + 1 : at + 2])]
            if len(around) == 2 and around[0] == around[1] in ("list", "table", "code"):
                continue  # The two adjacent lists would be read as one.
            if len(run := deleted_with(part, page.base, deleted)) > 1 and not run.isdisjoint(edits[other]):
                continue  # Adjacent deleted parts are one conflict: another test checks these.
            deleted.add(part.name)
            above.parts.remove(part)
            for who, result in page.decided.items():
                if who == other and part.name in edits[other]:
                    find_part(result, part.name)[1].words = list(edits[other][part.name])
                    continue  # The other side edited the part, and its text was chosen.
                over, it = find_part(result, part.name)
                over.parts.remove(it)
        elif what == "add":
            maker.count += 1
            made = Part(part.kind, f"a{maker.count}x", words_of(f"a{maker.count}x"))
            for result in (side, *page.decided.values()):
                over, it = find_part(result, part.name)
                over.parts.insert(over.parts.index(it) + 1, made.copy())
        elif what == "move" and part.kind in ("paragraph", "item", "row"):
            sibling = draw(st.sampled_from([each for each in above.parts if each is not part] or [part]))
            if sibling is part or sibling.name not in {each.name for each in find_part(page.base, part.name)[0].parts}:
                continue
            note(f"{moving_side} moved {part.name} behind {sibling.name}")
            for result in (side, *page.decided.values()):
                over, it = find_part(result, part.name)
                over.parts.remove(it)
                over, after = find_part(result, sibling.name)
                over.parts.insert(over.parts.index(after) + 1, it)
    return page
