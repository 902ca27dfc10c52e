"""A change request as one JSON object for programs: its pages by block, with the words before and after, and its threads."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from octavo.api.comments import Reply
from octavo.api.content import ListPages
from octavo.cli.checking import choose_rules
from octavo.cli.comparisons import PARALLEL, PageTexts, Sides, changed_items, load_texts, select_page, sides_of
from octavo.cli.failures import USAGE, Failure
from octavo.cli.output import Field
from octavo.cli.refs import References, Target
from octavo.cli.threads import FoundThread, load_replies, load_threads
from octavo.concurrency import gather_bounded
from octavo.data.proposed_notes import ProposedNote
from octavo.documents.blocks import Block, Document
from octavo.documents.checks.findings import sorted_findings
from octavo.documents.diff import BlockChange, block_changes, diff
from octavo.documents.note_places import NotePlaces
from octavo.documents.revision_changes import ChangedPage
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import block_source, find_suggestions
from octavo.lazy_import import lazy

# lazy: the linters and the downloads of URLs
_check_content = lazy("octavo.cli.checking:check_content")
_content_options = lazy("octavo.cli.checking:ContentOptions")


SCHEMA = "octavo.review/1"
"""Name and version of the format. Within a version, fields may be added, but never renamed or removed."""
MAX_SIZE = 4 << 20
"""Size in characters above which pages, and then blocks, are left out."""
FIELDS = (
    Field("schema", "string"),
    Field("change", "object"),
    Field("pages", "object[]"),
    Field("files", "object[]"),
    Field("threads", "object[]"),
    Field("findings", "object[]"),
    Field("truncated", "boolean"),
    Field("proposed", "object[]", is_extra=True),
)


@dataclass(frozen=True)
class ExportOptions:
    """Options that choose the content of an export."""

    page: str = ""
    """Path, id or title of the only page. Empty for all pages."""
    changed_only: bool = False
    """True to leave out unchanged blocks."""
    limit: int = MAX_SIZE
    against: str = "base"
    """The version to compare with, as for `sides_of`."""


async def export_review(
    references: References, target: Target, options: ExportOptions, wanted: AbstractSet[str]
) -> dict[str, Any]:
    """Return the changes of `target` with the `wanted` fields. Raises ApiError or Failure."""
    row: dict[str, Any] = {"schema": SCHEMA, "change": _change(target), "truncated": False}
    if wanted & {"pages", "files", "threads"}:
        sides = await sides_of(references.live, target, options.against)
        items = await changed_items(references.live, target, sides)
        chosen = await select_page(references, target, items, options.page)
        pages, threads = await asyncio.gather(_load_pages(references, sides, chosen), _load_threads(references, target))
        row |= exported_texts(pages, threads, options)
        row["files"] = [_file_row(each) for each in chosen if each.page is None]
    if "findings" in wanted:
        row["findings"] = await _findings(references, target, options.page)
    return row


def exported_texts(
    pages: Sequence[PageTexts],
    threads: Sequence[tuple[FoundThread, Sequence[Reply]]] = (),
    options: ExportOptions = ExportOptions(),
) -> dict[str, Any]:
    """Return the fields `pages`, `threads` and `truncated` for changed pages. Slow for long pages."""
    parsed = [_Page(each, parse(each.before), parse(each.after)) for each in pages]
    placed = _PlacedThreads(parsed, threads)
    rows = [_page_row(each, placed, changed_only=options.changed_only) for each in parsed]
    kept, is_cut = _limit_pages(rows, options.limit)
    return {"pages": kept, "threads": [placed.row(*each) for each in threads], "truncated": is_cut}


async def _findings(references: References, target: Target, page: str) -> list[dict[str, Any]]:
    """Return what the rules of `octavo check` find in the words that the change request added. Raises ApiError or
    Failure."""
    if page:
        target = replace(target, page=await references.page(target, page))
    report = await _check_content(references.live, target, _content_options(target.change_request is not None))
    rules = choose_rules((), ())
    return [each.as_json() for each in sorted_findings(report.findings) if rules.applies(each)]


def _file_row(item: ChangedPage) -> dict[str, Any]:
    return {"name": item.title, "change": PageTexts(item).change}


def check_is_change(target: Target) -> None:
    """Raise Failure if the target is not a change request."""
    if target.change_request is None:
        raise Failure(f"Could not review {target.ref}: it is not a change request. Write SPACE/NUMBER.", USAGE)


def proposed_row(note: ProposedNote, paths: Mapping[str, str]) -> dict[str, Any]:
    """Return a proposed note as it is exported. `paths` are the paths of the pages by id."""
    return {
        "id": note.id,
        "page": paths.get(note.page, note.page),
        "block": note.block or None,
        "placed": note.placed,
        "text": note.body,
        "source": note.source,
        "at": note.created_at,
    }


def _change(target: Target) -> dict[str, Any] | None:
    change = target.change_request
    if change is None:
        return None
    return {
        "ref": str(target.ref.place),
        "number": change.number,
        "id": change.id,
        "space": {"id": target.space.id, "title": target.space.title},
        "subject": change.title,
        "description": change.description_text,
        "author": change.created_by.name if change.created_by is not None else None,
        "status": change.status,
        "revision": change.revision,
        "base": change.base,
        "outdated": change.outdated,
        "url": change.urls.app,
    }


@dataclass(frozen=True)
class _Page:
    """A changed page with both versions parsed."""

    texts: PageTexts
    before: Document
    after: Document

    @property
    def id(self) -> str:
        return self.texts.item.key


async def _load_pages(references: References, sides: Sides, items: Sequence[ChangedPage]) -> list[PageTexts]:
    """Return the texts of changed pages, with the old paths of those that were moved or renamed. Raises ApiError."""
    texts = await load_texts(references.live, sides, [each for each in items if each.page is not None])
    moved = {each.item.key for each in texts if each.change in ("moved", "renamed")}
    if not moved or sides.old is None:
        return texts
    tree = await references.live.cached_or_fetch(ListPages(at=sides.old))
    old_paths = {page.id: page.path or "" for page in tree.walk() if page.id in moved}
    return [replace(each, old_path=old_paths.get(each.item.key, "")) for each in texts]


async def _load_threads(references: References, target: Target) -> list[tuple[FoundThread, Sequence[Reply]]]:
    threads = await load_threads(references, target)
    replies = await gather_bounded(lambda each: load_replies(references, each), threads, PARALLEL)
    return list(zip(threads, replies, strict=True))


class _PlacedThreads:
    """The blocks of threads on the changed pages."""

    def __init__(self, pages: Sequence[_Page], threads: Sequence[tuple[FoundThread, Sequence[Reply]]]) -> None:
        self.by_block: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        """The ids of threads by page id and block key."""
        self._places: dict[str, tuple[str | None, str]] = {}
        """Block key and how it was found, by the id of the thread."""
        by_page = {each.id: NotePlaces(each.before, each.after, each.texts.path) for each in pages}
        for thread, _ in threads:
            page, node = thread.comment.target.page, thread.comment.target.node
            self._places[thread.comment.id] = (None, "page")
            if page is None or node is None or page.id not in by_page:
                continue
            place = by_page[page.id].find(node.id, node.preview or "")
            if not isinstance(place, str):
                self._places[thread.comment.id] = (place.block.key, place.placed)
                self.by_block[page.id, place.block.key].append(thread.comment.id)

    def row(self, thread: FoundThread, replies: Sequence[Reply]) -> dict[str, Any]:
        """Return a thread as it is exported."""
        comment, (block, placed) = thread.comment, self._places[thread.comment.id]
        page, node = comment.target.page, comment.target.node
        return {
            "id": comment.id,
            "page": (page.path or page.id) if page is not None else None,
            "block": block or (node.id if node is not None else None),
            "placed": placed,
            "status": comment.status,
            "outdated": bool(page is not None and page.outdated),
            "quote": node.preview if node is not None else None,
            "comments": [_message_row(each) for each in (comment, *replies)],
        }


def _message_row(message: Any) -> dict[str, Any]:
    suggestions = find_suggestions(message.body.text)
    return {
        "id": message.id,
        "author": message.posted_by.name,
        "at": message.posted_at,
        "text": message.body.text,
        "suggestion": suggestions[0].text if suggestions else None,
    }


def _page_row(page: _Page, placed: _PlacedThreads, *, changed_only: bool) -> dict[str, Any]:
    difference = diff(page.before, page.after)
    changes = block_changes(difference) if page.texts.item.is_document else iter(())
    row: dict[str, Any] = {
        "id": page.id,
        "path": page.texts.path,
        "title": page.texts.item.title,
        "change": page.texts.change,
        "added": difference.size.added,
        "removed": difference.size.removed,
        "blocks": [_block_row(page, each, placed) for each in changes if each.change != "same" or not changed_only],
    }
    if page.texts.old_path:
        row["from"] = page.texts.old_path
    return row


def _block_row(page: _Page, change: BlockChange, placed: _PlacedThreads) -> dict[str, Any]:
    before, after = change.before, change.after
    keys = [each.key for block in (before, after) if block is not None for each in block.walk()]
    row: dict[str, Any] = {
        "block": after.key if after is not None else None,
        "blockBefore": before.key if before is not None else None,
        "kind": change.block.kind,
        "change": change.change,
        "line": change.block.lines[0] + 1,
        "before": _source(page.before, before),
        "after": _source(page.after, after),
        "threads": [each for key in dict.fromkeys(keys) for each in placed.by_block.get((page.id, key), ())],
    }
    if change.words:
        row["words"] = [list(word) for word in change.words]
    return row


def _source(document: Document, block: Block | None) -> str | None:
    return None if block is None else block_source(document.source, block)


def _limit_pages(pages: list[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the pages that fit into `limit` characters, and whether pages or blocks were left out. The first page is kept
    with as many blocks as fit."""
    kept: list[dict[str, Any]] = []
    left = limit
    for page in pages:
        size = len(json.dumps(page, ensure_ascii=False))
        if size > left:
            return (kept or [_limit_blocks(page, left)]), True
        kept.append(page)
        left -= size
    return kept, False


def _limit_blocks(page: dict[str, Any], limit: int) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    for block in page["blocks"]:
        limit -= len(json.dumps(block, ensure_ascii=False))
        if limit < 0:
            break
        blocks.append(block)
    return {**page, "blocks": blocks}
