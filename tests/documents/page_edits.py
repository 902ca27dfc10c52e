"""Random pages and random edits of pages. Each word occurs once on a page, so that counting words finds lost and duplicated text."""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

BLOCKS = ("page", "hint", "tab", "step", "details")
"""Kinds that hold blocks of any kind."""
FUSING = ("list", "quote", "table")
"""Kinds of which two beside each other are read as one."""
EDITS = (
    *("edit", "edit", "edit", "edit", "edit", "insert", "insert", "insert", "section", "delete", "delete", "cut"),
    *("move", "move", "away", "split", "join", "wrap", "unwrap", "kind", "column", "level", "rewrite"),
)
IN_PLACE = tuple(each for each in EDITS if each not in ("away", "cut", "move", "join", "section", "column"))
"""Edits that change one block of the page only."""
_WORD = re.compile(r"\b[wmr]\d+\b")


@dataclass(eq=False)
class Node:
    """A block of a page, with its words in sentences or cells."""

    kind: str
    name: str = ""
    texts: list[list[str]] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    level: int = 0

    def walk(self, above: Node | None = None) -> Iterator[tuple[Node, Node | None]]:
        """Yield each node with the node that contains it."""
        yield self, above
        for child in self.children:
            yield from child.walk(self)


class Writer:
    """Creates nodes with new words. Words begin with the letter of their writer: `w` in the base, `m` on main, `r` in the change request."""

    def __init__(self, chance: random.Random, letter: str) -> None:
        self.chance, self._letter, self._count = chance, letter, 0

    def word(self) -> str:
        self._count += 1
        return f"{self._letter}{self._count}"

    def words(self, least: int = 4, most: int = 9) -> list[str]:
        return [self.word() for _ in range(self.chance.randint(least, most))]

    def node(self, kind: str, depth: int = 0) -> Node:
        chance = self.chance
        match kind:
            case "paragraph":
                return Node(kind, texts=[self.words() for _ in range(chance.randint(1, 4))])
            case "heading":
                return Node(kind, texts=[self.words(5, 6)], level=chance.choice([2, 2, 3]))
            case "item" | "line" | "quote":
                is_nested = kind == "item" and depth < 2 and chance.random() < 0.15
                return Node(
                    kind, texts=[self.words(5, 7)], children=[self.node("list", depth + 2)] if is_nested else []
                )
            case "list":
                return Node(kind, children=[self.node("item", depth + 1) for _ in range(chance.randint(2, 4))])
            case "code":
                return Node(kind, self.word(), children=[self.node("line") for _ in range(chance.randint(2, 5))])
            case "table":
                width = chance.randint(2, 4)
                names = [[self.word()] for _ in range(width)]
                return Node(kind, texts=names, children=[self.row(width) for _ in range(chance.randint(2, 4))])
            case "tabs" | "stepper":
                inner = "tab" if kind == "tabs" else "step"
                return Node(kind, children=[self.node(inner, depth + 1) for _ in range(chance.randint(1, 3))])
            case _:
                kinds = [chance.choice(["paragraph", "paragraph", "list", "code"]) for _ in range(chance.randint(1, 3))]
                kinds = [
                    each if each != before else "paragraph" for each, before in zip(kinds, ["", *kinds], strict=False)
                ]
                return Node(kind, self.word(), children=[self.node(each, depth + 1) for each in kinds])

    def row(self, width: int) -> Node:
        return Node("row", texts=[self.words(1, 3) for _ in range(width)])

    def page(self, size: int) -> Node:
        kinds = ["paragraph"] * 5 + ["heading"] * 3
        kinds += ["list", "code", "table", "hint", "tabs", "stepper", "details", "quote"]
        page = Node("page")
        for _ in range(size):
            kind = self.chance.choice(kinds)
            page.children.append(
                self.node("paragraph" if _joins_neighbor(page.children, len(page.children), kind) else kind)
            )
        return page


def text(node: Node, indent: str = "") -> str:
    """Return the node as Markdown, with a final line break."""
    said = " ".join(" ".join(each) for each in node.texts)
    blocks = "\n".join(text(each) for each in node.children) if node.kind in (*BLOCKS, "tabs", "stepper") else ""
    match node.kind:
        case "page":
            return blocks
        case "paragraph":
            return " ".join(" ".join(each) + "." for each in node.texts) + "\n"
        case "heading":
            return f"{'#' * node.level} {said}\n"
        case "quote":
            return f"> {said}\n"
        case "list":
            return "".join(text(each, indent) for each in node.children)
        case "item":
            return f"{indent}* {said}\n" + "".join(text(each, indent + "  ") for each in node.children)
        case "code":
            return f"```{node.name}\n" + "".join(text(each) for each in node.children) + "```\n"
        case "line":
            return f"    {said}\n"
        case "row":
            return f"| {' | '.join(' '.join(each) for each in node.texts)} |\n"
        case "table":
            rows = "".join(text(each) for each in node.children)
            return f"| {' | '.join(' '.join(each) for each in node.texts)} |\n|{' --- |' * len(node.texts)}\n{rows}"
        case "tabs" | "stepper":
            return f"{{% {node.kind} %}}\n{blocks}{{% end{node.kind} %}}\n"
        case "details":
            return f"<details>\n<summary>{node.name}</summary>\n\n{blocks}\n</details>\n"
    option = {"hint": "style", "tab": "title", "step": "name"}[node.kind]
    return f'{{% {node.kind} {option}="{node.name}" %}}\n{blocks}{{% end{node.kind} %}}\n'


def _joins_neighbor(siblings: list[Node], at: int, kind: str) -> bool:
    """Return True if a block at this place would be read as one block with its neighbor."""
    return kind in FUSING and any(0 <= n < len(siblings) and siblings[n].kind == kind for n in (at - 1, at))


def _joins_without(siblings: list[Node], start: int, end: int) -> bool:
    """Return True if the blocks around a range would be read as one block without the range."""
    return start > 0 and end < len(siblings) and _joins_neighbor([siblings[start - 1]], 1, siblings[end].kind)


def edit(page: Node, writer: Writer, what: str, within: Node | None = None) -> bool:
    """Edit a random node of the page, or of one node of the page. Return False if no node allows this edit."""
    nodes = [(node, above or page) for node, above in (within or page).walk() if node.kind != "page"]
    writer.chance.shuffle(nodes)
    return any(_edit_node(page, node, above, writer, what) for node, above in nodes)


def _edit_node(page: Node, node: Node, above: Node, writer: Writer, what: str) -> bool:
    chance, kind, siblings = writer.chance, node.kind, above.children
    at = next(number for number, each in enumerate(siblings) if each is node)
    is_block = above.kind in BLOCKS
    match what:
        case "edit" if kind in ("paragraph", "heading", "item", "line", "quote", "row"):
            words = chance.choice(node.texts)
            words[chance.randrange(len(words))] = writer.word()
        case "edit" if node.name:
            node.name = writer.word()
        case "insert":
            new = chance.choice(["paragraph", "paragraph", "hint", "table", "list", "code"]) if is_block else kind
            if _joins_neighbor(siblings, at + 1, new):
                return False
            siblings.insert(at + 1, writer.row(len(node.texts)) if new == "row" else writer.node(new, 3))
        case "section" if above.kind == "page":
            siblings[at + 1 : at + 1] = [writer.node(each) for each in ("heading", "paragraph", "paragraph")]
        case "delete" if len(siblings) > 1 and not _joins_without(siblings, at, at + 1):
            del siblings[at]
        case "cut" if kind == "heading" and above.kind == "page":
            rest = (n for n, each in enumerate(siblings) if n > at and 0 < each.level <= node.level)
            end = next(rest, len(siblings))
            if end - at == len(siblings) or _joins_without(siblings, at, end):
                return False
            del siblings[at:end]
        case "move" | "away" if len(siblings) > 1 and kind not in ("line", *FUSING):
            inside = {id(each) for each, _ in node.walk()}
            homes = [
                each for each, _ in page.walk() if each is not above and each.kind in BLOCKS and id(each) not in inside
            ]
            homes = [above] if what == "move" else homes
            if not (what == "move" or is_block) or not homes or _joins_without(siblings, at, at + 1):
                return False
            home = chance.choice(homes)
            if kind == "heading" and home.kind != "page":
                return False
            del siblings[at]
            home.children.insert(chance.randint(0, len(home.children)), node)
        case "split" if kind == "paragraph" and len(node.texts) > 1:
            cut = chance.randint(1, len(node.texts) - 1)
            siblings[at : at + 1] = [Node(kind, texts=node.texts[:cut]), Node(kind, texts=node.texts[cut:])]
        case "join" if kind == "paragraph" and at + 1 < len(siblings) and siblings[at + 1].kind == "paragraph":
            siblings[at : at + 2] = [Node(kind, texts=node.texts + siblings[at + 1].texts)]
        case "wrap" if is_block and kind in ("paragraph", "list", "code", "table"):
            siblings[at] = Node("hint", writer.word(), children=[node])
        case "unwrap" if kind in ("hint", "details") and not (
            _joins_neighbor(siblings, at, node.children[0].kind)
            or _joins_neighbor(siblings, at + 1, node.children[-1].kind)
        ):
            siblings[at : at + 1] = node.children
        case "kind" if kind in ("paragraph", "table"):
            if _joins_neighbor(siblings, at, "list") or _joins_neighbor(siblings, at + 1, "list"):
                return False
            rows = (
                node.texts
                if kind == "paragraph"
                else [[word for cell in row.texts for word in cell] for row in node.children]
            )
            siblings[at] = Node("list", children=[Node("item", texts=[list(row)]) for row in rows])
        case "column" if kind == "table":
            grid = [node.texts, *(row.texts for row in node.children)]
            if len(node.texts) > 2 and chance.random() < 0.5:
                column = chance.randrange(len(node.texts))
                for cells in grid:
                    del cells[column]
            else:
                column = chance.randint(1, len(node.texts))
                for cells in grid:
                    cells.insert(column, [writer.word()])
        case "level" if kind == "heading":
            node.level = 5 - node.level
        case "rewrite" if kind == "paragraph":
            node.texts = [writer.words()]
        case _:
            return False
    return True


@dataclass(frozen=True)
class ThreeTexts:
    """Three versions of a page: base, main and change request."""

    base: str
    main: str
    request: str

    def __str__(self) -> str:
        return "\n~~~~\n".join((self.base, self.main, self.request))


def edited_by_both(seed: int, size: int, edits: tuple[int, int]) -> ThreeTexts:
    """Return a page, and two versions of the page after random edits."""
    chance = random.Random(seed)
    base = Writer(chance, "w").page(size)
    sides = []
    for letter, number in zip("mr", edits, strict=True):
        side, writer = copy.deepcopy(base), Writer(chance, letter)
        for _ in range(number):
            edit(side, writer, chance.choice(EDITS))
        sides.append(text(side))
    return ThreeTexts(text(base), sides[0], sides[1])


def edited_apart(seed: int, size: int) -> tuple[ThreeTexts, str]:
    """Return a page, two versions with one edit each in distant blocks, and the page with both edits."""
    chance = random.Random(seed)
    base = Writer(chance, "w").page(size)
    first = chance.randrange(0, size - 3)
    places = [first, chance.randint(first + 3, size - 1)]
    chance.shuffle(places)
    plans = [chance.choice(IN_PLACE) for _ in places]
    results = []
    for wanted in ((0,), (1,), (0, 1)):
        side = copy.deepcopy(base)
        nodes = [side.children[place] for place in places]
        for number in wanted:
            edit(side, Writer(random.Random(f"{seed} {number}"), "mr"[number]), plans[number], nodes[number])
        results.append(text(side))
    return ThreeTexts(text(base), results[0], results[1]), results[2]


def words_in(text: str) -> Counter[str]:
    """Count the words of a page."""
    return Counter(_WORD.findall(text))
