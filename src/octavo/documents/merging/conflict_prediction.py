"""Predicts the conflicts of a merge from its three revisions.

It runs the merge on this machine and discards the result. So the prediction is exact for the embedded server. Other
servers may merge differently: for them, a predicted conflict means that both sides changed the same content.
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
"""The common base, main and the change request, in this order."""

_IGNORED_FIELDS = {"pages", "path", "urls", "href", "created_at", "updated_at", "document_id", "markdown", "document"}
"""Fields of a page that are not compared, because they follow from other fields, from the time, or from the text."""


@dataclass(frozen=True)
class PredictedConflict:
    """A conflict that a merge will have. `kind` is the kind of a `RevisionConflict`."""

    kind: str
    id: str
    name: str
    """A readable name: a title, or the name of a file."""
    text: str = ""
    """For a suggested paragraph, the merged text. Empty for other conflicts."""


@dataclass(frozen=True)
class MergePrediction:
    """The expected result of a merge."""

    conflicts: tuple[PredictedConflict, ...]
    suggestions: tuple[PredictedConflict, ...]
    """Paragraphs that will be merged word by word, because each side changed different words."""
    pages: Pages
    """The merged page tree."""
    is_on_main: bool
    """True if main already has every change of the change request, so the merge changes nothing."""


def pages_to_read(revisions: RevisionTriple, touched: Collection[str] | None) -> list[str]:
    """Return the ids of the pages whose text is needed for a prediction, in the order of the change request.

    A page is left out if its document ids already determine the result, for example because two versions have the same
    id. `touched` has the ids of the pages that the change request changed, or is None if they are unknown. A page
    without document ids is needed only if it is in `touched`, or if `touched` is None.
    """
    base, main, request = ({page.id: page for page in revision.walk()} for revision in revisions)
    found = []
    for page_id in dict.fromkeys([*request, *main]):
        sides = [side[page_id] for side in (base, main, request) if page_id in side]
        if len(sides) < 2 or any(page.type != "document" for page in sides):
            continue
        documents = [page.document_id for page in sides]
        are_known = all(document is not None for document in documents)
        are_same = [one == other and one is not None for one, other in combinations(documents, 2)]
        is_on_both = page_id in main and page_id in request
        is_settled = any(are_same) if is_on_both else are_known
        if not is_settled and (are_known or touched is None or page_id in touched):
            found.append(page_id)
    return found


def predict_merge(revisions: RevisionTriple, texts: Mapping[str, tuple[str, str, str]]) -> MergePrediction:
    """Return the expected result of a merge. `texts` has the three texts of each page of `pages_to_read`.

    If a revision does not have a page, its text is ignored.
    """
    base, main, request = (
        _revision_content(each, {name: versions[n] for name, versions in texts.items()})
        for n, each in enumerate(revisions)
    )
    outcome = revision_merge.merge_revisions(base, main, request, "")
    names = {name: title for each in revisions for name, title in _ids_and_names(each)}
    conflicts = [PredictedConflict(each.kind, each.id, names.get(each.id) or each.id) for each in outcome.conflicts]
    suggestions = [
        PredictedConflict("words", each.page, names.get(each.page) or "", each.text) for each in outcome.suggestions
    ]
    is_on_main = not conflicts and revision_merge.has_same_content(outcome.content, main)
    return MergePrediction(tuple(conflicts), tuple(suggestions), outcome.content["pages"], is_on_main)


def shows_all_changes(
    changes: Iterable[Change], revisions: RevisionTriple, texts: Mapping[str, tuple[str, str, str]]
) -> bool:
    """Return whether every change that the server lists for the change request is visible in the three revisions.

    Some changes are not, such as a file replaced at the same URL, reusable content without a document id, or a field
    that Octavo does not know. Main then seems to have them already. `texts` are the texts given to `predict_merge`.
    """
    base, _, request = revisions
    shown = {_change_key(change) for change in changes_between(base, request)}
    shown |= {("page_edited", page) for page, (before, _, after) in texts.items() if before != after}
    # Page moves are always visible in the page tree, and servers may report different pages as moved.
    return all(change.type == "page_moved" or _change_key(change) in shown for change in changes)


def _change_key(change: Change) -> tuple[str, str]:
    """Return the type of a change, and the id of the changed page, file or reusable content."""
    item = change.reusable_content
    changed_item = change.page or change.file
    return change.type, changed_item.id if changed_item else str(item.get("id", "")) if isinstance(item, dict) else ""


def _ids_and_names(revision: Revision) -> Iterator[tuple[str, str]]:
    yield from ((page.id, page.title or "Untitled") for page in revision.walk())
    yield from ((file.id, file.name) for file in revision.files)
    yield from ((item.id, item.title) for item in revision.reusable_contents)


def _revision_content(revision: Revision, texts: Mapping[str, str]) -> Json:
    variables = revision.variables
    return {
        "pages": _pages(revision.pages, texts, set()),
        "files": [_file(file) for file in revision.files],
        "reusableContents": [_reusable(content) for content in revision.reusable_contents],
        "variables": variables if isinstance(variables, dict) else {},
    }


def _pages(pages: tuple[Page, ...], texts: Mapping[str, str], seen: set[str]) -> Pages:
    """Return pages in the form that a merge needs. A page that the server repeats is included once."""
    result = []
    for page in pages:
        if page.id not in seen:
            seen.add(page.id)
            text = texts.get(page.id, page.document_id)
            result.append({**_fields(page, _IGNORED_FIELDS), **_text(text), "pages": _pages(page.pages, texts, seen)})
    return result


def _file(file: File) -> Json:
    # The query can contain a signature that is new for each response.
    address = (file.download_url or "").partition("?")[0]
    return {**_fields(file, {"download_url"}), "blob": address}


def _reusable(item: ReusableContent) -> Json:
    # The text of reusable content is not loaded. So a new ID of its document counts as a change.
    return {**_fields(item, {"document"}), **_text(item.document)}


def _fields(item: Page | File | ReusableContent, excluded: set[str]) -> dict[str, Any]:
    # Values are compared as JSON, because the merge shows conflicting values as text.
    return item.model_dump(mode="json", exclude=excluded, exclude_unset=True, exclude_none=True) | {
        "id": item.id,
        "type": getattr(item, "type", ""),
        "title": getattr(item, "title", ""),
    }


def _text(text: str | None) -> Json:
    return {"text": text} if text else {}
