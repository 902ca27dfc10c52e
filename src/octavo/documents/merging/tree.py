"""Three-way merge of what a revision holds: its page tree, files, reusable content and variables.

Pages are known by their ids, so a page that was renamed, moved and edited is still the same page. What only one
side did is done. Where the two sides disagree:

| one side          | the other              | result                                                              |
|-------------------|------------------------|---------------------------------------------------------------------|
| edits or moves it | deletes it             | the page stays; if the page above it is gone, where that one stood  |
| adds a page       | deletes the page above | the page stays, where the one above it stood                        |
| moves it          | moves it elsewhere     | it stands where the primary content has it                          |
| moves A below B   | moves B below A        | as in the primary content: nothing ever stands below itself         |
| reorders it       | reorders it otherwise  | the order of the primary content                                    |
| edits its text    | edits its text         | merged by `page_merge`, conflicts between markers                   |
| sets a field      | sets it otherwise      | the primary content's value; a document also says both at its top   |
| edits a file      | edits or deletes it    | the edited one, the primary content's if both edited it             |

Each of these is a conflict, and is reported. A group or link has no text to hold the value that was not taken; the
change request's revision keeps it. New pages of the change request come after new pages of the primary content that
were added at the same place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from octavo.documents.merging import page_merge
from octavo.documents.merging.arrange import PageOrder, TreeVersion, merge_page_order
from octavo.documents.merging.merged_page import MAIN_LABEL, with_markers
from octavo.documents.trees import Json, Pages, leading_heading

_OTHER_FIELDS = {"id", "type", "pages", "path", "text", "createdAt", "updatedAt"}
_ABSENT: Any = object()


class Texts(Protocol):
    """Where texts are kept under their hashes."""

    def text(self, name: str, /) -> str: ...

    def put_blob(self, body: str, /) -> str: ...


@dataclass(frozen=True)
class RevisionConflict:
    """What the two sides disagree on: `kind` is text, field, deleted, moved, order or variable."""

    kind: str
    id: str
    """The page, file or reusable content; the name of the variable."""


@dataclass(frozen=True)
class SuggestedParagraph:
    """A paragraph that was merged by words: both sides changed different words of it."""

    page: str
    text: str


@dataclass(frozen=True)
class RevisionMerge:
    """What came of a merge."""

    held: Json
    """What the merged revision holds, by name. Slugs and paths of its pages are not settled yet."""
    conflicts: tuple[RevisionConflict, ...]
    suggestions: tuple[SuggestedParagraph, ...] = ()


def merge_revisions(base: Json, main: Json, proposed: Json, name: str, texts: Texts) -> RevisionMerge:
    """The revision `main` with what `proposed` changed since `base`. `name` is the change request's, such as `#42`."""
    merging = _RevisionMerger(name, texts)
    sides = [TreeVersion.of(each["pages"]) for each in (base, main, proposed)]
    arranged = merge_page_order(*sides, edited=_is_edited)
    merging.conflicts += [RevisionConflict(kind, page) for kind, page in arranged.conflicts]
    held = {
        "pages": merging.pages(arranged, *(side.nodes for side in sides)),
        "files": merging.items(*(each["files"] for each in (base, main, proposed))),
        "reusableContents": merging.items(*(each["reusableContents"] for each in (base, main, proposed))),
        "variables": merging.fields("variable", "", *(each["variables"] for each in (base, main, proposed)))[0],
    }
    return RevisionMerge(held, tuple(dict.fromkeys(merging.conflicts)), tuple(merging.suggestions))


def has_same_content(one: Json, other: Json) -> bool:
    """Return whether two revisions hold the same. Pages without `pages` have no pages below them."""
    return bool(
        {**one, "pages": _with_page_lists(one["pages"])} == {**other, "pages": _with_page_lists(other["pages"])}
    )


def _with_page_lists(pages: Pages) -> Pages:
    return [{**page, "pages": _with_page_lists(page.get("pages", []))} for page in pages]


def _is_edited(before: Json, after: Json) -> bool:
    ignored = _OTHER_FIELDS - {"text"}
    return _without(before, ignored) != _without(after, ignored)


def _without(node: Json, ignored: Iterable[str]) -> Json:
    return {name: value for name, value in node.items() if name not in ignored}


class _RevisionMerger:
    def __init__(self, name: str, texts: Texts) -> None:
        self._name = name
        self._texts = texts
        self.conflicts: list[RevisionConflict] = []
        self.suggestions: list[SuggestedParagraph] = []

    def pages(
        self, arranged: PageOrder, base: dict[str, Json], main: dict[str, Json], proposed: dict[str, Json]
    ) -> Pages:
        def below(parent: str | None) -> Pages:
            result = []
            for page_id in arranged.children.get(parent, ()):
                page = self._node(page_id, base.get(page_id), main.get(page_id), proposed.get(page_id))
                if page["type"] in ("document", "group"):
                    page["pages"] = below(page_id)
                result.append(page)
            return result

        return below(None)

    def _node(self, node_id: str, base: Json | None, main: Json | None, proposed: Json | None) -> Json:
        """One page or item of those that have it."""
        if main is None or proposed is None:
            return _without(main or proposed or {}, {"pages"})
        if base is None:
            base = {}
        ignored = _OTHER_FIELDS
        values, lost = self.fields("field", node_id, *(_without(each, ignored) for each in (base, main, proposed)))
        same: Json = {field: main[field] for field in ("id", "type", "createdAt", "path") if field in main}
        merged = {**same, **values}
        stamps = [each["updatedAt"] for each in (main, proposed) if "updatedAt" in each]
        if stamps:
            merged["updatedAt"] = max(stamps)
        if name := self._text(node_id, base, main, proposed, lost):
            merged["text"] = name
        return merged

    def _text(self, node_id: str, base: Json, main: Json, proposed: Json, lost: Json) -> str | None:
        """The hash of the merged text, with the values that were not taken at its top."""
        before, ours, theirs = (each.get("text") for each in (base, main, proposed))
        if not lost or main.get("type") != "document":
            lost = {}
            if ours == theirs or theirs == before:
                return ours
            if ours == before:
                return theirs
        old, here, there = (self._texts.text(each) if each else "" for each in (before, ours, theirs))
        merged = page_merge.merge(old, here, there)
        if merged.conflicts:
            self.conflicts.append(RevisionConflict("text", node_id))
        by_words = (each for _, each in merged.named if each.is_suggested)
        self.suggestions += [SuggestedParagraph(node_id, each.merged_text or "") for each in by_words]
        if _has_title_heading(main, here) and _has_title_heading(proposed, there):
            lost.pop("title", None)  # The headings are in conflict then, so the text says both titles already.
        whole = self._with_fields(merged.text(request=self._name), lost)
        return self._texts.put_blob(whole) if whole else None

    def _with_fields(self, markdown: str, lost: Json) -> str:
        if not lost:
            return markdown
        ours, theirs = ("\n\n".join(f"{name}: {_shown(both[side])}" for name, both in lost.items()) for side in (0, 1))
        block = with_markers(ours, theirs, MAIN_LABEL, self._name) + "\n"
        return f"{block}\n{markdown}" if markdown else block

    def fields(self, kind: str, owner: str, base: Json, main: Json, proposed: Json) -> tuple[Json, Json]:
        """The fields of three objects merged, and (main, proposed) of those where both differ."""
        merged, lost = {}, {}
        for field in [*main, *(each for each in proposed if each not in main)]:
            before, ours, theirs = (each.get(field, _ABSENT) for each in (base, main, proposed))
            value = theirs if ours == before else ours
            if ours not in (theirs, before) and theirs != before:
                self.conflicts.append(RevisionConflict(kind, owner or field))
                lost[field] = (ours, theirs)
            if value is not _ABSENT:
                merged[field] = value
        return merged, lost

    def items(self, base: list[Json], main: list[Json], proposed: list[Json]) -> list[Json]:
        """Files or reusable contents merged, in the order of the primary content, new ones after it."""
        old, ours, theirs = ({each["id"]: each for each in items} for items in (base, main, proposed))
        result = []
        for item_id in [*ours, *(each for each in theirs if each not in ours)]:
            before, here, there = (each.get(item_id) for each in (old, ours, theirs))
            if before is not None and (here is None or there is None):
                if (here or there) == before:
                    continue
                self.conflicts.append(RevisionConflict("deleted", item_id))
            result.append(self._node(item_id, before, here, there))
        return result


def _has_title_heading(page: Json, markdown: str) -> bool:
    return leading_heading(markdown) == page.get("title")


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return ""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
