"""The search index: the sections of all pages, for full-text search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from octavo.api.folding import diagram_labels, encode_mention, to_index_text
from octavo.documents import page_trees
from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.server.store import Json, Section
from octavo.server.text_expansion import expand_includes
from octavo.server.world import World

PAGES_PER_BATCH = 20
"""Number of pages indexed in one transaction. Requests are answered between transactions."""
PIECE_LENGTH = 4000
"""Maximum length of an entry in characters. Longer sections are split into several entries, which makes search
faster."""


def reindex(world: World, space_id: str, old: Json | None, new: Json) -> None:
    """Replace the index entries of the revision `old` by those of `new`.

    Only changed pages are read, and pages with includes if reusable content changed.
    """
    for _ in _index_changed_pages(world, space_id, old, new):
        pass


def mark_for_reindexing(world: World, space_id: str, old: Json | None) -> None:
    """Mark a space for `finish_reindexing`. `old` is the revision in the index. None if the space is not indexed."""
    path = f"/spaces/{space_id}/unindexed"
    if world.store.find(path) is None:
        world.store.put(path, {"id": "unindexed", "since": old["id"] if old is not None else ""})


def finish_reindexing(world: World, space_id: str, on_progress: Callable[[int, int], bool]) -> None:
    """Index the pages of a marked space in small transactions, so that requests are answered in between.

    `on_progress` is called with the number of indexed pages and the total. Indexing stops if it returns False.
    """
    path = f"/spaces/{space_id}/unindexed"
    while (record := world.store.find(path)) is not None:
        space = world.store.get(f"/spaces/{space_id}")
        old, new = (
            world.store.find(f"/spaces/{space_id}/revisions/{each}") for each in (record["since"], space["revision"])
        )
        assert new is not None, "a space with content must have a revision"
        pages = _index_changed_pages(world, space_id, old, new)
        count, indexed_count = len(_searchable_fields(new)), 0
        is_over = False
        while not is_over:
            with world.store.transaction():
                if world.store.get(f"/spaces/{space_id}")["revision"] != new["id"]:
                    break  # A merge indexed its own changes meanwhile, so start again with the remaining pages.
                indexed_count += len(list(islice(pages, PAGES_PER_BATCH)))
                if is_over := next(pages, None) is None:
                    world.store.delete(path)
                indexed_count += not is_over
            if not on_progress(min(indexed_count, count), count):
                return


def _index_changed_pages(world: World, space_id: str, old: Json | None, new: Json) -> Iterator[str]:
    """Index each changed page and yield its ID."""
    before, after = _searchable_fields(old), _searchable_fields(new)
    includes_differ = old is None or old["reusableContents"] != new["reusableContents"]
    pages = {page["id"]: page for page in page_trees.walk(new["pages"])}
    for page_id in before.keys() - after.keys():
        world.store.unindex(space_id, page_id)
    for page_id, fields in after.items():
        if (differs := before.get(page_id) != fields) or includes_differ:
            name, title, description = fields
            text = world.store.text(name) if name else ""
            if not differs and "include" not in text:
                continue
            whole = expand_includes(world.store, text, pages[page_id], new)
            pages_found = split_sections(whole, title, description)
            world.store.index(
                space_id,
                page_id,
                [(anchor, to_index_text(head), to_index_text(body)) for anchor, head, body in pages_found],
            )
            yield page_id


def _searchable_fields(revision: Json | None) -> dict[str, tuple[str, str, str]]:
    """Return the hash of the text, the title, and the description of each page, by page ID. Search depends on these
    fields."""
    pages = page_trees.walk(revision["pages"]) if revision else ()
    return {
        page["id"]: (page.get("text", ""), page["title"], page.get("description") or "")
        for page in pages
        if page["type"] == "document"
    }


def split_sections(markdown: str, title: str, description: str) -> Iterator[Section]:
    """Yield the anchor, heading and text of each section. The first section has no anchor, and its heading is the page
    title."""
    anchor, heading, lines = "", title, [description]
    for block in parse(markdown).walk():
        fields = _block_text(block)
        if block.kind != "heading":
            lines.append(fields)
        elif fields != title or anchor:
            yield from ((anchor, heading, piece) for piece in _split_section(lines))
            anchor, heading, lines = block.attrs["id"], fields, []
    yield from ((anchor, heading, piece) for piece in _split_section(lines))


def _split_section(lines: list[str]) -> Iterator[str]:
    piece = ""
    for line in lines:
        if piece and len(piece) + len(line) > PIECE_LENGTH:
            yield piece
            piece = ""
        piece = f"{piece}\n{line}" if piece and line else piece or line
    yield piece


def _block_text(block: Block) -> str:
    """Return the searchable text of a block. It contains the titles of linked pages and the labels of diagrams."""
    if "mermaid" in (block.attrs.get("language"), str(block.attrs.get("name")).strip("@").partition("/")[0]):
        return "\n".join(filter(None, map(diagram_labels, block.text.split("\n"))))
    if block.kind == "content-ref":
        return encode_mention(block.attrs.get("url") or "")
    return block.text or "".join(
        encode_mention(run.link) if run.kind == "mention" and run.link else run.text for run in block.runs
    )
