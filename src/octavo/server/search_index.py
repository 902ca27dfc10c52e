"""The sections of a page, as search keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from octavo.api.searchable import apart, diagram_labels, mention
from octavo.documents import trees
from octavo.documents.blocks import Block
from octavo.server.includes import expand_includes
from octavo.server.store import Json, Section
from octavo.server.world import World

PAGES_PER_BATCH = 20
"""Pages that are indexed between two answers."""
PIECE_LENGTH = 4000
"""A section of more characters is kept in several pieces: words are looked for in each, and found sooner."""


def reindex(world: World, space_id: str, old: Json | None, new: Json) -> None:
    """Let search find what `new` says in place of what `old` said. Looks only at pages that differ, or include something
    when that does."""
    for _ in _index_changed_pages(world, space_id, old, new):
        pass


def note_reindexing(world: World, space_id: str, old: Json | None) -> None:
    """Note that search shall find what the content of a space says in place of what `old` said: `finish_reindexing` does it."""
    path = f"/spaces/{space_id}/unindexed"
    if world.store.find(path) is None:
        world.store.put(path, {"id": "unindexed", "since": old["id"] if old is not None else ""})


def finish_reindexing(world: World, space_id: str, on_progress: Callable[[int, int], bool]) -> None:
    """Do what `note_reindexing` noted, some pages at a time, so that others are answered between them.

    `on_progress` hears how many pages are done, of how many, and says whether to go on.
    """
    path = f"/spaces/{space_id}/unindexed"
    while (record := world.store.find(path)) is not None:
        space = world.store.get(f"/spaces/{space_id}")
        old, new = (
            world.store.find(f"/spaces/{space_id}/revisions/{each}") for each in (record["since"], space["revision"])
        )
        assert new is not None, "a space with content must have a revision"
        pages = _index_changed_pages(world, space_id, old, new)
        count, done = len(_searchable_fields(new)), 0
        is_over = False
        while not is_over:
            with world.store.transaction():
                if world.store.get(f"/spaces/{space_id}")["revision"] != new["id"]:
                    break  # what was merged meanwhile was indexed with that: begin again with the rest
                done += len(list(islice(pages, PAGES_PER_BATCH)))
                if is_over := next(pages, None) is None:
                    world.store.delete(path)
                done += not is_over
            if not on_progress(min(done, count), count):
                return


def _index_changed_pages(world: World, space_id: str, old: Json | None, new: Json) -> Iterator[str]:
    """Index one page after the other, and yield its id."""
    before, after = _searchable_fields(old), _searchable_fields(new)
    includes_differ = old is None or old["reusableContents"] != new["reusableContents"]
    pages = {page["id"]: page for page in trees.walk(new["pages"])}
    for page_id in before.keys() - after.keys():
        world.store.unindex(space_id, page_id)
    for page_id, says in after.items():
        if (differs := before.get(page_id) != says) or includes_differ:
            name, title, description = says
            text = world.store.text(name) if name else ""
            if not differs and "include" not in text:
                continue
            whole = expand_includes(world.store, text, pages[page_id], new)
            found = split_sections(whole, title, description)
            world.store.index(space_id, page_id, [(anchor, apart(head), apart(body)) for anchor, head, body in found])
            yield page_id


def _searchable_fields(revision: Json | None) -> dict[str, tuple[str, str, str]]:
    """What search knows of each page: the hash of its text, its title and its description."""
    pages = trees.walk(revision["pages"]) if revision else ()
    return {
        each["id"]: (each.get("text", ""), each["title"], each.get("description") or "")
        for each in pages
        if each["type"] == "document"
    }


def split_sections(markdown: str, title: str, description: str) -> Iterator[Section]:
    """Anchor, heading and words of each section. The first has no anchor, and the title of the page."""
    # Parsing brings markdown-it with it: a platform that only reads has no use for that.
    from octavo.documents.parse import parse

    anchor, heading, lines = "", title, [description]
    for block in parse(markdown).walk():
        says = _block_text(block)
        if block.kind != "heading":
            lines.append(says)
        elif says != title or anchor:
            yield from ((anchor, heading, piece) for piece in _split_section(lines))
            anchor, heading, lines = block.attrs["id"], says, []
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
    """What a block says: the titles of pages it leads to in place of their addresses, and of diagrams what they show."""
    if "mermaid" in (block.attrs.get("language"), str(block.attrs.get("name")).strip("@").partition("/")[0]):
        return "\n".join(filter(None, map(diagram_labels, block.text.split("\n"))))
    if block.kind == "content-ref":
        return mention(block.attrs.get("url") or "")
    return block.text or "".join(
        mention(run.link) if run.kind == "mention" and run.link else run.text for run in block.runs
    )
