"""What a merge will not be able to decide, foreseen from what a server shows of the three revisions.

The merge itself is made, of what is shown, and its result is dropped. So what it cannot decide is what the embedded
platform will answer. Other servers may decide otherwise: for them this is where both sides changed the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

from octavo.api.content import Change, File, Page, ReusableContent, Revision
from octavo.documents.merging import revision_merge
from octavo.documents.page_trees import Json, Pages
from octavo.documents.revision_changes import changes_between

RevisionTriple: TypeAlias = tuple[Revision, Revision, Revision]
"""The common base, the primary content and the change request, in this order."""

_IGNORED_FIELDS = {"pages", "path", "urls", "href", "created_at", "updated_at", "document_id", "markdown", "document"}
"""What is not shown of a page, or follows from where and when it is shown, or from what it says."""


@dataclass(frozen=True)
class PredictedConflict:
    """What both sides changed, each in its way. `kind` is that of `tree.Conflict`."""

    kind: str
    id: str
    name: str
    """What a person calls it: a title, the name of a file."""
    text: str = ""
    """The merged paragraph of a suggestion."""


@dataclass(frozen=True)
class MergePrediction:
    """What a merge will come to."""

    conflicts: tuple[PredictedConflict, ...]
    suggestions: tuple[PredictedConflict, ...]
    """Paragraphs that will be merged by words: both sides changed different words of them."""
    pages: Pages
    """The merged page tree."""
    is_on_main: bool
    """Whether the merge changes nothing: main has every change of the change request."""


def pages_to_read(three: RevisionTriple, touched: Collection[str] | None) -> list[str]:
    """The ids of the pages whose texts have to be read, in the order of the change request.

    Where documents have ids, most is settled by them. Where a server does not say them, pages the change request did
    not change are settled: those not in `touched`. None if it is not known which it changed.
    """
    base, main, mine = ({page.id: page for page in each.walk()} for each in three)
    found = []
    for page_id in dict.fromkeys([*mine, *main]):
        sides = [side[page_id] for side in (base, main, mine) if page_id in side]
        if len(sides) < 2 or any(page.type != "document" for page in sides):
            continue
        documents = [page.document_id for page in sides]
        are_known = all(each is not None for each in documents)
        are_same = [one == other and one is not None for one, other in combinations(documents, 2)]
        is_on_both = page_id in main and page_id in mine
        is_settled = any(are_same) if is_on_both else are_known
        if not is_settled and (are_known or touched is None or page_id in touched):
            found.append(page_id)
    return found


def predict_merge(three: RevisionTriple, texts: Mapping[str, tuple[str, str, str]]) -> MergePrediction:
    """Return what a merge will come to. `texts` has the texts of all pages that are `unsettled`, in each revision.

    The text of a page that is not in a revision is never looked at.
    """
    base, main, mine = (
        _revision_content(each, {name: said[n] for name, said in texts.items()}) for n, each in enumerate(three)
    )
    outcome = revision_merge.merge_revisions(base, main, mine, "", _TextsByThemselves())
    names = {name: called for each in three for name, called in _names(each)}
    conflicts = [PredictedConflict(each.kind, each.id, names.get(each.id) or each.id) for each in outcome.conflicts]
    suggestions = [
        PredictedConflict("words", each.page, names.get(each.page) or "", each.text) for each in outcome.suggestions
    ]
    is_on_main = not conflicts and revision_merge.has_same_content(outcome.held, main)
    return MergePrediction(tuple(conflicts), tuple(suggestions), outcome.held["pages"], is_on_main)


def shows_all_changes(
    changes: Iterable[Change], three: RevisionTriple, texts: Mapping[str, tuple[str, str, str]]
) -> bool:
    """Return whether the three revisions show each of the changes that the server lists for the change request.

    A change that they do not show looks as if main had it: a file that is replaced at the same URL, reusable content
    without the id of its document, a field that Octavo does not know. `texts` are those given to `forecast`.
    """
    base, _, mine = three
    shown = {_change_key(each) for each in changes_between(base, mine)}
    shown |= {("page_edited", page) for page, (before, _, after) in texts.items() if before != after}
    # The page tree is shown as a whole, but a server may name other pages as moved for the same order.
    return all(each.type == "page_moved" or _change_key(each) in shown for each in changes)


def _change_key(change: Change) -> tuple[str, str]:
    """The type of a change, and the id of what it is about."""
    item = change.reusable_content
    named = change.page or change.file
    return change.type, named.id if named else str(item.get("id", "")) if isinstance(item, dict) else ""


class _TextsByThemselves:
    """Texts that are their own names."""

    def text(self, name: str, /) -> str:
        return name

    def put_blob(self, body: str, /) -> str:
        return body


def _names(revision: Revision) -> Iterator[tuple[str, str]]:
    yield from ((page.id, page.title or "Untitled") for page in revision.walk())
    yield from ((file.id, file.name) for file in revision.files)
    yield from ((item.id, item.title) for item in revision.reusable_contents)


def _revision_content(revision: Revision, texts: Mapping[str, str]) -> Json:
    """A revision as a merge takes it."""
    variables = revision.variables
    return {
        "pages": _pages(revision.pages, texts, set()),
        "files": [_file(each) for each in revision.files],
        "reusableContents": [_reusable(each) for each in revision.reusable_contents],
        "variables": variables if isinstance(variables, dict) else {},
    }


def _pages(pages: tuple[Page, ...], texts: Mapping[str, str], seen: set[str]) -> Pages:
    """Pages as a merge takes them, each once, whatever the server says."""
    result = []
    for page in pages:
        if page.id not in seen:
            seen.add(page.id)
            text = texts.get(page.id, page.document_id)
            result.append({**_fields(page, _IGNORED_FIELDS), **_text(text), "pages": _pages(page.pages, texts, seen)})
    return result


def _file(file: File) -> Json:
    # What follows the question mark may be a key that is new each time.
    address = (file.download_url or "").partition("?")[0]
    return {**_fields(file, {"download_url"}), "blob": address}


def _reusable(item: ReusableContent) -> Json:
    # No operation reads what it says: two documents that are not the same are taken as both changed.
    return {**_fields(item, {"document"}), **_text(item.document)}


def _fields(thing: Page | File | ReusableContent, but: set[str]) -> dict[str, Any]:
    # As JSON has them: values that both sides changed are told in words.
    return thing.model_dump(mode="json", exclude=but, exclude_unset=True, exclude_none=True) | {
        "id": thing.id,
        "type": getattr(thing, "type", ""),
        "title": getattr(thing, "title", ""),
    }


def _text(text: str | None) -> Json:
    return {"text": text} if text else {}
