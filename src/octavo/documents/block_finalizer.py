"""From drafts to blocks: what belongs together is joined, what wraps goes, and every block gets its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from octavo.documents.anchors import Anchors
from octavo.documents.blocks import NO_ATTRS, Block, Heading, Run, plain_text
from octavo.documents.inline import trim_runs
from octavo.documents.open_blocks import DraftBlock
from octavo.documents.tag_blocks import PARENTS

_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")
_OWN_ID = re.compile(r"\s*\{#([\w.:-]+)\}\s*$")
_CHILD_OF = {parent: child for child, parent in PARENTS.items()}
_CAPTIONED = frozenset({"content-ref", "openapi", "embed", "file"})
_KEY = re.compile(r"[A-Za-z0-9_-]{1,256}")
_MAX_TITLE = 2_000
"""Characters of a heading that its title has."""
_BREAKS = str.maketrans("\n\t", "  ")
_SLICE_LENGTH = 8192
"""Characters of a text whose words are told apart at a time."""


def finalize_blocks(root: DraftBlock) -> tuple[tuple[Block, ...], tuple[Heading, ...]]:
    """The blocks of a page whose tree is complete, and the headings among them."""
    sealer = BlockFinalizer()
    return tuple(sealer.take(root.children)), tuple(sealer.headings)


def _folded(draft: DraftBlock) -> DraftBlock:
    """The draft, with what is in it folded."""
    draft.children = [folded for child in draft.children for folded in _fold(child)]
    if draft.kind != "expandable":
        for child in draft.children:
            child.kind = "paragraph" if child.kind == "title" else child.kind
    return draft


def _fold(draft: DraftBlock) -> list[DraftBlock]:
    """What a draft becomes: itself, others, or nothing."""
    folder = _FOLDERS.get(draft.kind) or (_fold_series if draft.kind in _CHILD_OF else None)
    folded = _folded(draft)
    return folder(folded) if folder else [folded]


def _fold_paragraph(draft: DraftBlock) -> list[DraftBlock]:
    runs = draft.runs
    images = [run for run in runs if run.kind == "image"]
    only_images = images and all(run.kind in ("image", "break") or not run.text.strip() for run in runs)
    if only_images and not any(run.attrs.get("size") == "line" for run in images):
        return [_figure(draft, images)]
    return [draft] if runs else []


def _fold_figure(draft: DraftBlock) -> list[DraftBlock]:
    images = [run for run in draft.runs if run.kind == "image"]
    other = trim_runs([run for run in draft.runs if run.kind != "image"])
    caption = draft.children[0].runs if draft.children else ()
    rest = [DraftBlock("paragraph", runs=other, first=draft.first, last=draft.last)] if other else []
    if not images:
        loose = DraftBlock("paragraph", runs=caption, first=draft.first, last=draft.last)
        return [*rest, loose] if caption else rest
    figure = _figure(draft, images)
    figure.children[-1].runs = caption
    return [figure, *rest]


def _figure(draft: DraftBlock, images: list[Run]) -> DraftBlock:
    attrs: dict[str, Any] = {}
    for name in ("align", "frame", "full_width"):
        if name in draft.attrs:
            attrs[name] = draft.attrs[name]
    return DraftBlock("figure", attrs, [_image(run, draft) for run in images], first=draft.first, last=draft.last)


def _image(run: Run, draft: DraftBlock) -> DraftBlock:
    attrs = dict(run.attrs)
    if run.text:
        attrs["alt"] = run.text
    if run.link:
        attrs["link"] = run.link
    return DraftBlock("image", attrs, first=draft.first, last=draft.last)


def _fold_heading(draft: DraftBlock) -> list[DraftBlock]:
    rest = [child for child in draft.children if child.kind not in ("paragraph", "figure")]
    for child in draft.children:
        if child.kind == "paragraph":
            draft.runs = _joined(draft.runs, child.runs)
        elif child.kind == "figure":
            rest.append(child)
    draft.children = []
    written = not draft.exact and draft.runs and draft.runs[-1].kind == "text"
    if written and (own := _OWN_ID.search(draft.runs[-1].text)):
        draft.attrs.setdefault("id", own[1])
        last = draft.runs[-1]
        draft.runs = trim_runs([*draft.runs[:-1], last._replace(text=last.text[: own.start()])])
    return [draft, *rest] if draft.runs else rest


def _fold_group(draft: DraftBlock) -> list[DraftBlock]:
    children = draft.children
    if len(children) > 1 and all(child.kind == "figure" for child in children):
        gallery = DraftBlock("figure", first=draft.first, last=draft.last)
        gallery.children = [image for child in children for image in child.children]
        children = [gallery]
    for child in children:
        if child.kind in ("figure", "paragraph", "heading"):
            wanted = ("align", "frame", "full_width") if child.kind == "figure" else ("align", "dir")
            for name in wanted:
                if name in draft.attrs:
                    child.attrs.setdefault(name, draft.attrs[name])
    return children


def _fold_code(draft: DraftBlock) -> list[DraftBlock]:
    for child in draft.children:
        if child.kind == "code":
            child.attrs |= draft.attrs
            child.first, child.last = min(draft.first, child.first), max(draft.last, child.last)
    return draft.children


def _fold_expandable(draft: DraftBlock) -> list[DraftBlock]:
    kept: list[DraftBlock] = []
    for child in draft.children:
        if child.kind == "title" and not draft.runs:
            draft.runs = child.runs
        else:
            child.kind = "paragraph" if child.kind == "title" else child.kind
            kept.append(child)
    draft.children = kept
    return [draft]


def _fold_summary(draft: DraftBlock) -> list[DraftBlock]:
    """The title of an expandable, which takes it. Elsewhere it is a paragraph."""
    rest = []
    for child in draft.children:
        if child.kind in ("paragraph", "heading"):
            draft.runs = _joined(draft.runs, child.runs)
        else:
            rest.append(child)
    title = DraftBlock("title", runs=draft.runs, first=draft.first, last=draft.last)
    return [title, *rest] if draft.runs else rest


def _fold_captioned(draft: DraftBlock) -> list[DraftBlock]:
    rest = []
    for child in draft.children:
        if child.kind == "paragraph":
            draft.runs = _joined(draft.runs, child.runs)
        else:
            rest.append(child)
    caption = draft.attrs.pop("caption", "")
    if caption and not draft.runs:
        draft.runs = (Run(caption),)
    draft.children = rest if draft.kind == "openapi" else []
    return [draft] if draft.kind == "openapi" else [draft, *rest]


def _fold_series(draft: DraftBlock) -> list[DraftBlock]:
    """Tabs hold nothing but tabs: what stands between them goes to the one before. So do steps, columns, updates."""
    wanted = _CHILD_OF[draft.kind]
    kept: list[DraftBlock] = []
    for child in draft.children:
        if child.kind == wanted:
            kept.append(child)
        elif kept:
            kept[-1].children.append(child)
        else:
            attrs: dict[str, Any] = {"title": "", "slug": ""} if wanted == "tab" else {}
            kept.append(DraftBlock(wanted, attrs, [child], first=child.first, last=child.last))
    draft.children = kept
    return [draft]


def _fold_list(draft: DraftBlock) -> list[DraftBlock]:
    kept: list[DraftBlock] = []
    for child in draft.children:
        if child.kind in ("item", "task"):
            kept.append(child)
        else:
            kept.append(DraftBlock("item", {}, [child], first=child.first, last=child.last))
    draft.children = kept
    return [draft] if kept else []


def _fold_item(draft: DraftBlock) -> list[DraftBlock]:
    first = draft.children[0] if draft.children else None
    if first is None or draft.exact or first.kind != "paragraph" or first.runs[0].kind != "text" or first.runs[0].link:
        return [draft]
    run = first.runs[0]
    if task := _TASK.match(run.text):
        draft.kind, draft.attrs = "task", {"checked": task[1] != " "}
        first.runs = trim_runs([run._replace(text=run.text[task.end() :]), *first.runs[1:]])
        if not first.runs:
            draft.children = draft.children[1:]
    return [draft]


def _fold_conflict(draft: DraftBlock) -> list[DraftBlock]:
    sides = [child for child in draft.children if child.kind == "side"]
    rest = [child for child in draft.children if child.kind != "side"]
    draft.children = sides
    return [draft, *rest] if sides else rest


_FOLDERS: dict[str, Callable[[DraftBlock], list[DraftBlock]]] = {
    "paragraph": _fold_paragraph,
    "figure-of-runs": _fold_figure,
    "heading": _fold_heading,
    "group": _fold_group,
    "code-wrapper": _fold_code,
    "expandable": _fold_expandable,
    "summary": _fold_summary,
    "list": _fold_list,
    "item": _fold_item,
    "conflict": _fold_conflict,
    **dict.fromkeys(_CAPTIONED, _fold_captioned),
}


def _joined(first: tuple[Run, ...], second: tuple[Run, ...]) -> tuple[Run, ...]:
    return (*first, Run("\n", kind="break"), *second) if first and second else first or second


class BlockFinalizer:
    """Turns the drafts of a page, as they come, into blocks, and gives out keys and anchors."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self._given: dict[str, int] = {}
        self._anchors = Anchors()

    def take(self, drafts: Iterable[DraftBlock]) -> list[Block]:
        """The blocks that finished drafts of the top level become."""
        top = _folded(DraftBlock("document", children=list(drafts)))
        return [self._sealed(draft)[0] for draft in top.children]

    def _key(self, digest: str, own: str) -> str:
        """The key the platform gave a block, unless another block has it, or else one by its content."""
        if _KEY.fullmatch(own) and own not in self._given:
            self._given[own] = 1
            return own
        number = self._given.get(digest, 0) + 1
        self._given[digest] = number
        return digest if number == 1 else f"{digest}-{number}"

    def _sealed(self, draft: DraftBlock) -> tuple[Block, str]:
        children = [self._sealed(child) for child in draft.children]
        digest = _digest(draft, children[0][1] if children else "")
        blocks = tuple(block for block, _ in children)
        lines = _lines(draft, blocks)
        key = self._key(digest, draft.key)
        draft.attrs = {name: _single_line(value) for name, value in draft.attrs.items()}
        if draft.kind != "heading":
            attrs = draft.attrs or NO_ATTRS
            text_line = max(lines[0], draft.text_line)
            return Block(draft.kind, attrs, blocks, draft.runs, draft.text, lines, key, text_line), digest
        title = " ".join(plain_text(draft.runs)[:_MAX_TITLE].split())
        draft.attrs["id"] = self._anchors.take(title, draft.attrs.get("id"))
        heading = Block("heading", draft.attrs, runs=draft.runs, lines=lines, key=key)
        said = tuple(run for run in draft.runs if run.kind != "footnote" or run.attrs.get("inline"))
        title = " ".join(
            plain_text(said)[:_MAX_TITLE].split()
        )  # the marks of notes say nothing where the notes are not
        self.headings.append(Heading(draft.attrs["level"], title, draft.attrs["id"], heading))
        return heading, digest


def _lines(draft: DraftBlock, blocks: tuple[Block, ...]) -> tuple[int, int]:
    """The lines of a draft, and of the blocks in it. What begins or ends with one of these shares its numbers: a page of
    a megabyte has as many of them as blocks."""
    if not blocks:
        return draft.first, max(draft.last, draft.first + 1)
    opened, (_, ended) = blocks[0].lines, blocks[-1].lines
    first = opened[0] if opened[0] == draft.first else draft.first
    last = max(ended, draft.last, first + 1)
    return opened if opened == (first, last) else (first, last)


def _single_line(value: Any) -> Any:
    """What is said of a block, with blanks where a text of it has lines and tabs."""
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(_BREAKS)
    return tuple(map(_single_line, value)) if type(value) is tuple else value


def _digest(draft: DraftBlock, first_child: str) -> str:
    """What tells a block from others: of a leaf its words, of a container its title and what it opens with."""
    attrs = draft.attrs
    own = draft.text or plain_text(draft.runs)
    if not own:
        given = (attrs.get(name) for name in ("title", "url", "src", "path", "name", "date", "target", "expression"))
        own = next((value for value in given if isinstance(value, str) and value), "")
    if not own and "columns" in attrs:
        own = " ".join(plain_text(column.title) for column in attrs["columns"])
    alone = own and not first_child and not own.isspace()
    digest = blake2b(digest_size=6)
    for piece in _normalized_text(own) if alone else (f"{draft.kind}\0", *_normalized_text(own), f"\0{first_child}"):
        digest.update(piece.encode("utf-8", "replace"))
    return digest.hexdigest()


def _normalized_text(text: str) -> Iterator[str]:
    """`text` with one space where it has white space, in pieces: a word in a list takes ten times the memory that it takes
    in the text."""
    if len(text) <= _SLICE_LENGTH:
        yield " ".join(text.split())
        return
    start = said = 0
    while start < len(text):
        end = text.find("\n", start + _SLICE_LENGTH)
        end = end if end >= 0 else len(text)
        if piece := " ".join(text[start:end].split()):
            yield f" {piece}" if said else piece
            said += 1
        start = end
