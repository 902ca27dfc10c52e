"""Exports a change request as one JSON object: its changed pages, block by block, and its threads. Start at
`export_review`.

`BlockFinder` finds the block that the note of another program is about. A note names its block by key or by a quote.
The program may have read an older version of the page, in which the block had another key or text.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from octavo.api.comments import Reply
from octavo.api.content import ListPages
from octavo.api.operation import ChangeRequestRef
from octavo.cli.checking import CheckOptions, check_content, choose_rules
from octavo.cli.comparisons import ComparedVersions, PageTexts, changed_items, find_versions, items_of_page, load_texts
from octavo.cli.item_rows import FoundThread, load_replies, load_threads, message_row
from octavo.cli.output import declare_fields
from octavo.cli.refs import RefResolver, RefTarget
from octavo.cli.standard_streams import USAGE, Failure
from octavo.concurrency import gather_bounded
from octavo.data.live import Live
from octavo.data.proposed_notes import ProposedNote
from octavo.documents.blocks import Block, Document, plain_text
from octavo.documents.checks.findings import sorted_findings
from octavo.documents.diff import BlockChange, block_changes, diff, new_keys
from octavo.documents.page_trees import ChangedPage
from octavo.documents.sequences import similar_parts
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import block_source, find_suggestions

MatchKind = Literal["exact", "words", "likely"]
"""How a block was found: `exact` by its key, `words` by a quote, `likely` by similar text or an older version's key."""
Side = Literal["after", "before"]

_MIN_QUOTE_LENGTH = 4
_MIN_SIMILAR_QUOTE_LENGTH = 20
_MIN_SIMILARITY_PERCENT = 80.0
_MIN_SIMILARITY_LEAD_PERCENT = 5.0
"""Minimum lead in similarity of the most similar block over the second, in percentage points."""
_MIN_LENGTH_SHARE = 0.7
"""Minimum length of a similar block, as a share of the quote's length."""
_MAX_BLOCKS = 4_000
"""Maximum number of blocks of a page that is searched for a block similar to a quote."""


@dataclass(frozen=True, slots=True)
class FoundBlock:
    """A block that `BlockFinder` found for a note or a thread."""

    block: Block
    match_kind: MatchKind
    side: Side
    """The version that contains the block: before or after the change request."""


class BlockFinder:
    """Finds the block that a note or a thread is about, on a page with two versions."""

    def __init__(self, before: Document, after: Document, page_label: str) -> None:
        self._before, self._after = _PageVersion(before), _PageVersion(after)
        self._page_label = page_label
        self._new_keys: dict[str, dict[str, str]] = {}
        """Keys of blocks in the new version, by the Markdown of an older version, then by the key in it."""

    def find(
        self, key: str, quote: str, *, side: Side = "after", read_version: Document | None = None
    ) -> FoundBlock | str:
        """Return the block with the key `key`, else the only block with the text `quote`, else the block of the new
        version with the most similar text. If no block is found, or several with `quote`, return a phrase that says so.

        Version `side` is searched first. A key is then searched in `read_version`, the version that the note's author
        read: its block there leads to the block of the new version.
        """
        sides: tuple[tuple[Side, _PageVersion], ...] = (("after", self._after), ("before", self._before))
        if side == "before":
            sides = sides[::-1]
        if (found := self._find_by_key(key, sides, read_version)) is not None:
            return found
        for name, version in sides:
            blocks = version.with_words(quote)
            if len(blocks) > 1:
                return f"the quote is in {len(blocks)} blocks of {self._page_label}"
            if blocks:
                return FoundBlock(blocks[0], "words", name)
        if (similar := self._after.most_similar(quote)) is not None:
            return FoundBlock(similar, "likely", "after")
        missing_phrase = "the quote is not" if quote else "there is no such block"
        return f"{missing_phrase} in {self._page_label} anymore"

    def _find_by_key(
        self, key: str, sides: Sequence[tuple[Side, _PageVersion]], read_version: Document | None
    ) -> FoundBlock | None:
        first, second = sides
        if not key:
            return None
        if (block := first[1].by_key.get(key)) is not None:
            return FoundBlock(block, "exact", first[0])
        if read_version is not None and (successor := self._find_successor(read_version, key)) is not None:
            return FoundBlock(successor, "likely", "after")
        if (block := second[1].by_key.get(key)) is None:
            return None
        if second[0] == "before" and (successor := self._find_successor(self._before.document, key)) is not None:
            return FoundBlock(successor, "likely", "after")
        return FoundBlock(block, "exact", second[0])

    def _find_successor(self, document: Document, key: str) -> Block | None:
        """Return the new version of the block `key` in the older version `document`. None if the block was deleted."""
        if document.source not in self._new_keys:
            self._new_keys[document.source] = new_keys(diff(document, self._after.document))
        return self._after.by_key.get(self._new_keys[document.source].get(key, ""))


class _PageVersion:
    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def by_key(self) -> dict[str, Block]:
        return {block.key: block for block in self.document.walk()}

    def with_words(self, quote: str) -> list[Block]:
        """Return the blocks that have the quote in their own text, outside their children. Else return the smallest
        blocks with the quote in their Markdown. Empty if the quote is too short."""
        normalized_quote = _normalize(quote)
        if len(normalized_quote) < _MIN_QUOTE_LENGTH:
            return []
        return [block for block, text in self._leaves if normalized_quote in text] or list(
            self._smallest_blocks_with(self.document.blocks, normalized_quote)
        )

    def _smallest_blocks_with(self, blocks: Sequence[Block], words: str) -> Iterator[Block]:
        for block in blocks:
            if words in _normalize(block_source(self.document.source, block)):
                inner_blocks = list(self._smallest_blocks_with(block.children, words))
                # All cells of a row have the same line, so the row is found instead of its cells.
                is_row = len(inner_blocks) > 1 and all(each.lines == block.lines for each in inner_blocks)
                yield from inner_blocks if inner_blocks and not is_row else (block,)

    def most_similar(self, quote: str) -> Block | None:
        """Return the block that is most similar to a quote. None if it is not similar enough, or if another block is
        about as similar. Also None for a short quote, and if the page has too many blocks."""
        normalized_quote = _normalize(quote)
        if len(normalized_quote) < _MIN_SIMILAR_QUOTE_LENGTH or len(self._leaves) > _MAX_BLOCKS:
            return None
        candidates = [leaf for leaf in self._leaves if len(leaf[1]) >= len(normalized_quote) * _MIN_LENGTH_SHARE]
        texts = [text for _, text in candidates]
        matches = similar_parts(normalized_quote, texts, _MIN_SIMILARITY_PERCENT, limit=2)
        if not matches or (len(matches) == 2 and matches[0][0] - matches[1][0] < _MIN_SIMILARITY_LEAD_PERCENT):
            return None
        return candidates[matches[0][1]][0]

    @cached_property
    def _leaves(self) -> list[tuple[Block, str]]:
        """The blocks that have text outside their children, each with this text."""
        return [
            (block, _normalize(block.text or plain_text(block.runs)))
            for block in self.document.walk()
            if block.runs or block.text
        ]


def _normalize(text: str) -> str:
    return " ".join(text.split())


SCHEMA = "octavo.review/1"
"""Name and version of the JSON format. Within a version, fields may be added, but never renamed or removed."""
MAX_SIZE = 4 << 20
"""Maximum total length of the exported pages as JSON, in characters."""
FIELDS = declare_fields(
    "schema string, change object, pages object[], files object[], threads object[], findings object[], "
    "truncated boolean",
    extra="proposed object[]",
)


@dataclass(frozen=True)
class ExportOptions:
    """Choices for the export of a change request."""

    page: str = ""
    """Path, ID or title of the page to export. Empty for all changed pages."""
    changed_only: bool = False
    """True to leave out unchanged blocks."""
    against: str = "base"
    """The version with which the change request is compared: `base`, `main`, `my-review` or a revision ID."""
    is_limited: bool = True
    """True to leave out pages and blocks after `MAX_SIZE` characters."""


async def export_review(
    resolver: RefResolver, target: RefTarget, options: ExportOptions, field_names: AbstractSet[str]
) -> dict[str, Any]:
    """Return a change request or space as JSON, with at least the fields `field_names`. The field
    `proposed` is never there: a caller that needs it adds it. Raises ApiError or Failure."""
    row: dict[str, Any] = {"schema": SCHEMA, "change": _change_request_row(target), "truncated": False}
    if field_names & {"pages", "files", "threads"}:
        versions = await find_versions(resolver.live, target, options.against)
        items = await changed_items(resolver.live, target, versions)
        items = await items_of_page(resolver, target, items, options.page)
        pages, threads = await asyncio.gather(
            _load_changed_pages(resolver, versions, items), _load_threads(resolver, target)
        )
        row |= export_texts(pages, threads, options)
        row["files"] = [{"name": each.title, "change": PageTexts(each).change} for each in items if each.page is None]
    if "findings" in field_names:
        row["findings"] = await _findings_on_added_words(resolver, target, options.page)
    return row


def export_texts(
    pages: Sequence[PageTexts], threads: Sequence[tuple[FoundThread, Sequence[Reply]]], options: ExportOptions
) -> dict[str, Any]:
    """Return the fields `pages`, `threads` and `truncated` of an export. Comparing long pages is slow."""
    parsed_pages = [_ParsedPage(each, parse(each.old_markdown), parse(each.new_markdown)) for each in pages]
    placed = _PlacedThreads(parsed_pages, threads)
    rows = [_page_row(each, placed, changed_only=options.changed_only) for each in parsed_pages]
    shown_rows, is_cut = _limit_pages(rows) if options.is_limited else (rows, False)
    return {"pages": shown_rows, "threads": [placed.row(*each) for each in threads], "truncated": is_cut}


async def _findings_on_added_words(resolver: RefResolver, target: RefTarget, page_name: str) -> list[dict[str, Any]]:
    if page_name:
        target = replace(target, page=await resolver.page(target, page_name))
    report = await check_content(resolver.live, target, CheckOptions(target.change_request is not None))
    rules = choose_rules((), ())
    return [each.as_json() for each in sorted_findings(report.findings) if rules.applies(each)]


def change_request_ref(target: RefTarget) -> ChangeRequestRef:
    """Return the reference of the change request that a REF names. Raises Failure if the REF names something else."""
    if target.change_request is None:
        raise Failure(f"Could not review {target.ref}: it is not a change request. Write SPACE/NUMBER.", USAGE)
    return target.change_request.ref(target.space.ref)


async def page_paths(live: Live, at: ChangeRequestRef) -> dict[str, str]:
    """Return the path (else the ID) of each page in a change request, by page ID. Raises ApiError."""
    tree = await live.cached_or_fetch(ListPages(at=at))
    return {page.id: page.path or page.id for page in tree.walk()}


def proposed_row(note: ProposedNote, paths: Mapping[str, str]) -> dict[str, Any]:
    """Return a proposed note as JSON for an export. `paths` has page paths by page ID."""
    return {
        "id": note.id,
        "page": paths.get(note.page, note.page),
        "block": note.block or None,
        "placed": note.placed,
        "text": note.body,
        "source": note.source,
        "at": note.created_at,
    }


def _change_request_row(target: RefTarget) -> dict[str, Any] | None:
    change = target.change_request
    if change is None:
        return None
    return {
        "ref": str(target.ref.without_page),
        "number": change.number,
        "id": change.id,
        "space": {"id": target.space.id, "title": target.space.title},
        "subject": change.title,
        "description": change.description_text,
        "author": change.author_name or None,
        "status": change.status,
        "revision": change.revision,
        "base": change.base,
        "outdated": change.outdated,
        "url": change.urls.app,
    }


@dataclass(frozen=True)
class _ParsedPage:
    texts: PageTexts
    before: Document
    after: Document

    @property
    def id(self) -> str:
        return self.texts.item.key


async def _load_changed_pages(
    resolver: RefResolver, versions: ComparedVersions, items: Sequence[ChangedPage]
) -> list[PageTexts]:
    texts = await load_texts(resolver.live, versions, [each for each in items if each.page is not None])
    moved_keys = {each.item.key for each in texts if each.change in ("moved", "renamed")}
    if not moved_keys or versions.old is None:
        return texts
    tree = await resolver.live.cached_or_fetch(ListPages(at=versions.old))
    old_paths = {page.id: page.path or "" for page in tree.walk() if page.id in moved_keys}
    return [replace(each, old_path=old_paths.get(each.item.key, "")) for each in texts]


async def _load_threads(resolver: RefResolver, target: RefTarget) -> list[tuple[FoundThread, Sequence[Reply]]]:
    threads = await load_threads(resolver, target)
    replies = await gather_bounded(lambda each: load_replies(resolver, each), threads)
    return list(zip(threads, replies, strict=True))


class _PlacedThreads:
    """The exported threads, each with its block on a changed page, if the block was found."""

    def __init__(self, pages: Sequence[_ParsedPage], threads: Sequence[tuple[FoundThread, Sequence[Reply]]]) -> None:
        self.thread_ids_by_block: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._found_blocks: dict[str, tuple[str | None, str]] = {}
        """Key of the found block and its `MatchKind`, by thread ID. `(None, "page")` if no block was found."""
        finders_by_page = {each.id: BlockFinder(each.before, each.after, each.texts.path) for each in pages}
        for thread, _ in threads:
            page, node = thread.comment.target.page, thread.comment.target.node
            self._found_blocks[thread.comment.id] = (None, "page")
            if page is None or node is None or page.id not in finders_by_page:
                continue
            found_block = finders_by_page[page.id].find(node.id, node.preview or "")
            if not isinstance(found_block, str):
                self._found_blocks[thread.comment.id] = (found_block.block.key, found_block.match_kind)
                self.thread_ids_by_block[page.id, found_block.block.key].append(thread.comment.id)

    def row(self, thread: FoundThread, replies: Sequence[Reply]) -> dict[str, Any]:
        comment, (block, placed) = thread.comment, self._found_blocks[thread.comment.id]
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
    return {**message_row(message), "suggestion": suggestions[0].text if suggestions else None}


def _page_row(page: _ParsedPage, placed: _PlacedThreads, *, changed_only: bool) -> dict[str, Any]:
    difference = diff(page.before, page.after)
    changes = block_changes(difference) if page.texts.item.is_document else iter(())
    row: dict[str, Any] = {
        "id": page.id,
        "path": page.texts.path,
        "title": page.texts.item.title,
        "change": page.texts.change,
        "added": difference.size.added,
        "removed": difference.size.removed,
        "blocks": [_block_row(page, each, placed) for each in changes if each.status != "same" or not changed_only],
    }
    if page.texts.old_path:
        row["from"] = page.texts.old_path
    return row


def _block_row(page: _ParsedPage, change: BlockChange, placed: _PlacedThreads) -> dict[str, Any]:
    old_block, new_block = change.old, change.new
    keys = [each.key for block in (old_block, new_block) if block is not None for each in block.walk()]
    row: dict[str, Any] = {
        "block": new_block.key if new_block is not None else None,
        "blockBefore": old_block.key if old_block is not None else None,
        "kind": change.block.kind,
        "change": change.status,
        "line": change.block.lines[0] + 1,
        "before": _markdown_of(page.before, old_block),
        "after": _markdown_of(page.after, new_block),
        "threads": [each for key in dict.fromkeys(keys) for each in placed.thread_ids_by_block.get((page.id, key), ())],
    }
    if change.words:
        row["words"] = [list(word) for word in change.words]
    return row


def _markdown_of(document: Document, block: Block | None) -> str | None:
    return None if block is None else block_source(document.source, block)


def _limit_pages(pages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """Return the first pages, up to `MAX_SIZE` characters, and whether pages or blocks were left out."""
    kept_pages: list[dict[str, Any]] = []
    length_left = MAX_SIZE
    for page in pages:
        size = len(json.dumps(page, ensure_ascii=False))
        if size > length_left:
            return (kept_pages or [_limit_blocks(page, length_left)]), True
        kept_pages.append(page)
        length_left -= size
    return kept_pages, False


def _limit_blocks(page: dict[str, Any], limit: int) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    for block in page["blocks"]:
        limit -= len(json.dumps(block, ensure_ascii=False))
        if limit < 0:
            break
        blocks.append(block)
    return {**page, "blocks": blocks}
