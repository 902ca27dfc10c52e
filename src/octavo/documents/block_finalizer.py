"""The last step of the parser: turns drafts into blocks with keys and anchors. Start reading at `BlockFinalizer`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from octavo.documents.anchors import AnchorAssigner
from octavo.documents.blocks import NO_ATTRS, Block, DraftBlock, Heading, Run, plain_text
from octavo.documents.inline import trim_runs
from octavo.documents.tag_blocks import PARENTS

_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")
_OWN_ID = re.compile(r"\s*\{#([\w.:-]+)\}\s*$")
_CHILD_OF = {parent: child for child, parent in PARENTS.items()}
_CAPTIONED_KINDS = frozenset({"content-ref", "openapi", "embed", "file"})
_KEY = re.compile(r"[A-Za-z0-9_-]{1,256}")
_MAX_TITLE = 2_000
"""Maximum number of characters of a heading that are used for its title."""
_CONTROL_TO_SPACE = str.maketrans("\n\t", "  ")
_SLICE_LENGTH = 8192
"""Number of characters of a text that are normalized in one step."""


def _rewrite_children(draft: DraftBlock) -> DraftBlock:
    draft.children = [rewritten for child in draft.children for rewritten in _rewrite_draft(child)]
    if draft.kind != "expandable":
        for child in draft.children:
            child.kind = "paragraph" if child.kind == "title" else child.kind
    return draft


def _rewrite_draft(draft: DraftBlock) -> list[DraftBlock]:
    rewriter = _REWRITERS.get(draft.kind) or (_rewrite_series if draft.kind in _CHILD_OF else None)
    rewritten = _rewrite_children(draft)
    return rewriter(rewritten) if rewriter else [rewritten]


def _draft_at(
    source: DraftBlock,
    kind: str,
    attrs: dict[str, Any] | None = None,
    children: list[DraftBlock] | None = None,
    runs: tuple[Run, ...] = (),
) -> DraftBlock:
    """Return a new draft with the line numbers of `source`."""
    return DraftBlock(kind, attrs or {}, children or [], runs, "", source.first_line, source.end_line)


def _rewrite_paragraph(draft: DraftBlock) -> list[DraftBlock]:
    runs = draft.runs
    images = [run for run in runs if run.kind == "image"]
    only_images = images and all(run.kind in ("image", "break") or not run.text.strip() for run in runs)
    if only_images and not any(run.attrs.get("size") == "line" for run in images):
        return [_figure_draft(draft, images)]
    return [draft] if runs else []


def _rewrite_figure(draft: DraftBlock) -> list[DraftBlock]:
    images = [run for run in draft.runs if run.kind == "image"]
    other_runs = trim_runs([run for run in draft.runs if run.kind != "image"])
    caption = draft.children[0].runs if draft.children else ()
    texts = [_draft_at(draft, "paragraph", runs=other_runs)] if other_runs else []
    if not images:
        return [*texts, _draft_at(draft, "paragraph", runs=caption)] if caption else texts
    figure = _figure_draft(draft, images)
    figure.children[-1].runs = caption
    return [figure, *texts]


def _figure_draft(draft: DraftBlock, images: list[Run]) -> DraftBlock:
    names: tuple[str, ...] = ("align", "frame", "full_width")
    attrs = {name: draft.attrs[name] for name in names if name in draft.attrs}
    return _draft_at(draft, "figure", attrs, [_image_draft(run, draft) for run in images])


def _image_draft(run: Run, draft: DraftBlock) -> DraftBlock:
    attrs = dict(run.attrs)
    if run.text:
        attrs["alt"] = run.text
    if run.link:
        attrs["link"] = run.link
    return _draft_at(draft, "image", attrs)


def _move_paragraph_text(draft: DraftBlock, *kinds: str) -> list[DraftBlock]:
    """Move the text of child paragraphs and of children of `kinds` into `draft`. Remove and return other children."""
    other_children = []
    for child in draft.children:
        if child.kind == "paragraph" or child.kind in kinds:
            draft.runs = _join_lines(draft.runs, child.runs)
        else:
            other_children.append(child)
    draft.children = []
    return other_children


def _rewrite_heading(draft: DraftBlock) -> list[DraftBlock]:
    other_children = _move_paragraph_text(draft)
    ends_with_text = not draft.is_plain_text and draft.runs and draft.runs[-1].kind == "text"
    if ends_with_text and (id_match := _OWN_ID.search(draft.runs[-1].text)):
        draft.attrs.setdefault("id", id_match[1])
        last_run = draft.runs[-1]
        draft.runs = trim_runs([*draft.runs[:-1], last_run._replace(text=last_run.text[: id_match.start()])])
    return [draft, *other_children] if draft.runs else other_children


def _rewrite_group(draft: DraftBlock) -> list[DraftBlock]:
    children = draft.children
    if len(children) > 1 and all(child.kind == "figure" for child in children):
        children = [_draft_at(draft, "figure", children=[image for child in children for image in child.children])]
    for child in children:
        if child.kind in ("figure", "paragraph", "heading"):
            inherited_names = ("align", "frame", "full_width") if child.kind == "figure" else ("align", "dir")
            for name in inherited_names:
                if name in draft.attrs:
                    child.attrs.setdefault(name, draft.attrs[name])
    return children


def _rewrite_code(draft: DraftBlock) -> list[DraftBlock]:
    for child in draft.children:
        if child.kind == "code":
            child.attrs |= draft.attrs
            child.first_line, child.end_line = (
                min(draft.first_line, child.first_line),
                max(draft.end_line, child.end_line),
            )
    return draft.children


def _rewrite_expandable(draft: DraftBlock) -> list[DraftBlock]:
    children: list[DraftBlock] = []
    for child in draft.children:
        if child.kind == "title" and not draft.runs:
            draft.runs = child.runs
        else:
            child.kind = "paragraph" if child.kind == "title" else child.kind
            children.append(child)
    draft.children = children
    return [draft]


def _rewrite_summary(draft: DraftBlock) -> list[DraftBlock]:
    """Return a `title` draft with the text of the summary, if it has text, and then its other children."""
    other_children = _move_paragraph_text(draft, "heading")
    return [_draft_at(draft, "title", runs=draft.runs), *other_children] if draft.runs else other_children


def _rewrite_captioned(draft: DraftBlock) -> list[DraftBlock]:
    other_children = _move_paragraph_text(draft)
    caption = draft.attrs.pop("caption", "")
    if caption and not draft.runs:
        draft.runs = (Run(caption),)
    if draft.kind == "openapi":
        draft.children = other_children
        return [draft]
    return [draft, *other_children]


def _rewrite_series(draft: DraftBlock) -> list[DraftBlock]:
    """Change `draft`, a series such as tabs: put each child of another kind, such as a paragraph, into the element
    before it, or into a new first element. Return a list with only `draft`."""
    member_kind = _CHILD_OF[draft.kind]
    elements: list[DraftBlock] = []
    for child in draft.children:
        if child.kind == member_kind:
            elements.append(child)
        elif elements:
            elements[-1].children.append(child)
        else:
            attrs: dict[str, Any] = {"title": "", "slug": ""} if member_kind == "tab" else {}
            elements.append(_draft_at(child, member_kind, attrs, [child]))
    draft.children = elements
    return [draft]


def _rewrite_list(draft: DraftBlock) -> list[DraftBlock]:
    draft.children = [
        child if child.kind in ("item", "task") else _draft_at(child, "item", children=[child])
        for child in draft.children
    ]
    return [draft] if draft.children else []


def _rewrite_item(draft: DraftBlock) -> list[DraftBlock]:
    first_child = draft.children[0] if draft.children else None
    if (
        first_child is None
        or draft.is_plain_text
        or first_child.kind != "paragraph"
        or first_child.runs[0].kind != "text"
        or first_child.runs[0].link
    ):
        return [draft]
    run = first_child.runs[0]
    if task_match := _TASK.match(run.text):
        draft.kind, draft.attrs = "task", {"checked": task_match[1] != " "}
        first_child.runs = trim_runs([run._replace(text=run.text[task_match.end() :]), *first_child.runs[1:]])
        if not first_child.runs:
            draft.children = draft.children[1:]
    return [draft]


def _rewrite_conflict(draft: DraftBlock) -> list[DraftBlock]:
    sides = [child for child in draft.children if child.kind == "side"]
    other_children = [child for child in draft.children if child.kind != "side"]
    draft.children = sides
    return [draft, *other_children] if sides else other_children


_REWRITERS: dict[str, Callable[[DraftBlock], list[DraftBlock]]] = {
    "paragraph": _rewrite_paragraph,
    "figure-of-runs": _rewrite_figure,
    "heading": _rewrite_heading,
    "group": _rewrite_group,
    "code-wrapper": _rewrite_code,
    "expandable": _rewrite_expandable,
    "summary": _rewrite_summary,
    "list": _rewrite_list,
    "item": _rewrite_item,
    "conflict": _rewrite_conflict,
    **dict.fromkeys(_CAPTIONED_KINDS, _rewrite_captioned),
}


def _join_lines(first: tuple[Run, ...], second: tuple[Run, ...]) -> tuple[Run, ...]:
    return (*first, Run("\n", kind="break"), *second) if first and second else first or second


class BlockFinalizer:
    """Turns the draft blocks of a parsed page into blocks with unique keys and anchors."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self._key_counts: dict[str, int] = {}
        self._anchors = AnchorAssigner()

    def finalize(self, drafts: Iterable[DraftBlock]) -> list[Block]:
        """Return the finished blocks for `drafts`, the drafts at the top level of a page."""
        root = _rewrite_children(DraftBlock("document", children=list(drafts)))
        return [self._finalize(draft)[0] for draft in root.children]

    def _unique_key(self, digest: str, platform_key: str) -> str:
        if _KEY.fullmatch(platform_key) and platform_key not in self._key_counts:
            self._key_counts[platform_key] = 1
            return platform_key
        number = self._key_counts.get(digest, 0) + 1
        self._key_counts[digest] = number
        return digest if number == 1 else f"{digest}-{number}"

    def _finalize(self, draft: DraftBlock) -> tuple[Block, str]:
        children = [self._finalize(child) for child in draft.children]
        digest = _digest(draft, children[0][1] if children else "")
        blocks = tuple(block for block, _ in children)
        lines = _lines(draft, blocks)
        key = self._unique_key(digest, draft.key)
        draft.attrs = {name: _single_line(value) for name, value in draft.attrs.items()}
        if draft.kind != "heading":
            attrs = draft.attrs or NO_ATTRS
            text_line = max(lines[0], draft.text_line)
            return Block(draft.kind, attrs, blocks, draft.runs, draft.text, lines, key, text_line), digest
        title = " ".join(plain_text(draft.runs)[:_MAX_TITLE].split())
        draft.attrs["id"] = self._anchors.assign(title, draft.attrs.get("id"))
        heading = Block("heading", draft.attrs, runs=draft.runs, lines=lines, key=key)
        # Leave out footnote marks and images beside text, because the outline shows neither.
        text_runs = tuple(run for run in draft.runs if run.kind not in ("footnote", "image") or run.attrs.get("inline"))
        title = " ".join(plain_text(text_runs)[:_MAX_TITLE].split()) or title
        self.headings.append(Heading(draft.attrs["level"], title, draft.attrs["id"], heading))
        return heading, digest


def _lines(draft: DraftBlock, blocks: tuple[Block, ...]) -> tuple[int, int]:
    """Return the first line of a draft and the line after its last line. Reuse the tuple of a child to save memory."""
    if not blocks:
        return draft.first_line, max(draft.end_line, draft.first_line + 1)
    first_lines, (_, last_line) = blocks[0].lines, blocks[-1].lines
    first = first_lines[0] if first_lines[0] == draft.first_line else draft.first_line
    last = max(last_line, draft.end_line, first + 1)
    return first_lines if first_lines == (first, last) else (first, last)


def _single_line(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(_CONTROL_TO_SPACE)
    return tuple(map(_single_line, value)) if type(value) is tuple else value


def _digest(draft: DraftBlock, first_child_digest: str) -> str:
    """Return a hash of a block's text or title. If the block has children or no text, hash kind and first child too."""
    attrs = draft.attrs
    own_text = draft.text or plain_text(draft.runs)
    if not own_text:
        title_attributes = (
            attrs.get(name) for name in ("title", "url", "src", "path", "name", "date", "target", "expression")
        )
        own_text = next((value for value in title_attributes if isinstance(value, str) and value), "")
    if not own_text and "columns" in attrs:
        own_text = " ".join(plain_text(column.title) for column in attrs["columns"])
    is_text_only = bool(own_text) and not first_child_digest and not own_text.isspace()
    digest = blake2b(digest_size=6)
    for piece in (
        _normalized_pieces(own_text)
        if is_text_only
        else (f"{draft.kind}\0", *_normalized_pieces(own_text), f"\0{first_child_digest}")
    ):
        digest.update(piece.encode("utf-8", "replace"))
    return digest.hexdigest()


def _normalized_pieces(text: str) -> Iterator[str]:
    """Yield `text` in pieces, with white space collapsed. Only a text above `_SLICE_LENGTH` has several pieces."""
    if len(text) <= _SLICE_LENGTH:
        yield " ".join(text.split())
        return
    start = count = 0
    while start < len(text):
        end = text.find("\n", start + _SLICE_LENGTH)
        end = end if end >= 0 else len(text)
        if piece := " ".join(text[start:end].split()):
            yield f" {piece}" if count else piece
            count += 1
        start = end
