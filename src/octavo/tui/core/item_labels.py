"""Short texts about files, revisions and offline copies of spaces. Also the tree nodes for spaces and pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from octavo.api.collections import Collection
from octavo.api.comments import Comment
from octavo.api.content import Page, PageTree
from octavo.api.spaces import Space
from octavo.data.drafts import UnsentText
from octavo.documents.blocks import Block
from octavo.documents.emoji import to_emoji
from octavo.tui.core.session import unsent_mark
from octavo.tui.widgets.short_texts import long_age, plural
from octavo.tui.widgets.tree import TreeNode

if TYPE_CHECKING:
    from octavo.api.content import File
    from octavo.data.offline_spaces import OfflineSpace

T = TypeVar("T")
_REVISION_TYPES = {
    "edits": "Edited on main",
    "merge": "Merged",
    "rollback": "Rolled back to an earlier revision",
    "update": "Updated",
    "computed": "Generated",
}
"""Labels of revisions by their type in the API."""
_FORMATS = {
    "svg+xml": "SVG",
    "jpeg": "JPEG",
    "plain": "text",
    "octet-stream": "",
    "markdown": "Markdown",
    "mpeg": "MPEG",
}


def revision_label(revision_type: str, *, is_first: bool) -> str:
    """Return what a revision did, such as `Edited on main`. `is_first` is True if it created its page or space."""
    return "Created on main" if is_first else _REVISION_TYPES.get(revision_type, revision_type or "Changed")


def format_name(file: File) -> str:
    """Return the format of a file, such as `PNG` or `PDF`. Empty if unknown."""
    kind = _mime_type(file)[1]
    ending = file.name.rpartition(".")[2][:8].upper() if "." in file.name else ""
    return _FORMATS.get(kind, kind.removeprefix("x-").upper() if len(kind) <= 6 else "") or ending


def file_kind(file: File) -> str:
    """Return the kind of a file, such as `PNG image`, `PDF` or `CSV text`."""
    family, name = _mime_type(file)[0], format_name(file)
    if family in ("image", "audio", "video", "text", "font") and name.lower() != family:
        return f"{name} {family}".strip()
    return name or family or "file"


def format_dimensions(file: File) -> str:
    """Return the dimensions of an image, such as `640 × 480`. Empty for other files."""
    sides = file.dimensions
    return f"{sides.width:.0f} × {sides.height:.0f}" if sides is not None else ""


def file_summary(file: File) -> str:
    """Return the format, dimensions and size of a file, such as `PNG, 640 × 480, 1.2 MB`. Unknown values are left
    out."""
    parts = (format_name(file), format_dimensions(file), format_size(file.size) if file.size else "")
    return ", ".join(filter(None, parts))


def format_size(size: int) -> str:
    """Return a number of bytes as text, such as `812 bytes`, `3.4 kB` or `12 MB`."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            break
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def _mime_type(file: File) -> tuple[str, str]:
    family, _, kind = file.content_type.partition(";")[0].strip().lower().partition("/")
    return family, kind


def is_first_download(space: OfflineSpace) -> bool:
    return space.state == "reading" and space.read_at is None


def download_progress(space: OfflineSpace) -> str:
    """Return the progress of downloading a space, such as `12/340`. `…` until the total is known."""
    return f"{space.downloaded + len(space.failed)}/{space.wanted}" if space.wanted else "…"


def offline_mark(space: OfflineSpace) -> str:
    """Return a short offline status for the row of a space, such as `offline` or `↓ 12/340`."""
    if space.state == "lost":
        return "offline copy only"
    if space.read_at is not None:
        return "offline"
    return f"↓ {download_progress(space)}" if space.state == "reading" else "↓ queued"


def offline_summary(space: OfflineSpace) -> str:
    """Return the offline status of a space, such as `available offline, 12 MB, updated 3 minutes ago`."""
    size, age = format_size(space.bytes), long_age(space.read_at)
    updated = f"updated {age}" if age else ""
    failed = f"{plural(len(space.failed), 'item')} could not be downloaded" if space.failed else ""
    match space.state:
        case "lost":
            parts = ["offline copy of a space you can no longer access", size, updated, space.why]
        case "reading" if space.read_at is None:
            parts = [f"downloading, {download_progress(space)}", size]
        case "waiting" if space.read_at is None:
            parts = [f"waiting, {download_progress(space)} downloaded", size, space.why]
        case _:
            parts = ["available offline", size, updated, space.why]
    return ", ".join(filter(None, (*parts, failed)))


MAX_COLLECTION_DEPTH = 40


def space_nodes(
    collections: Sequence[Collection], spaces: Iterable[Space], offline_marks: Mapping[str, str] = MappingProxyType({})
) -> list[TreeNode]:
    """Return the tree nodes of collections with the spaces in them, then of spaces outside collections. `offline_marks`
    has texts for the right end of rows by space ID."""
    parents = {each.id: each.parent for each in collections}
    folders: defaultdict[str | None, list[Collection]] = defaultdict(list)
    spaces_of: defaultdict[str | None, list[Space]] = defaultdict(list)
    for collection in {each.id: each for each in collections}.values():
        is_nested = collection.parent in parents and _depth_of(collection.id, parents) <= MAX_COLLECTION_DEPTH
        folders[collection.parent if is_nested else None].append(collection)
    for space in {each.id: each for each in spaces}.values():
        spaces_of[space.parent if space.parent in parents else None].append(space)

    def children_of(parent: str | None) -> list[TreeNode]:
        nodes = [
            TreeNode(each.id, each.title or "Untitled", children_of(each.id), kind="group") for each in folders[parent]
        ]
        return nodes + [
            TreeNode(
                each.id,
                each.title or "Untitled",
                sign=to_emoji(each.emoji),
                count=each.comments,
                right=offline_marks.get(each.id, ""),
                dim=each.edit_mode == "locked",
            )
            for each in spaces_of[parent]
        ]

    return children_of(None)


def _depth_of(collection_id: str, parents: Mapping[str, str | None]) -> int:
    levels, parent = 0, parents[collection_id]
    while parent is not None and parent in parents and levels <= MAX_COLLECTION_DEPTH:
        levels, parent = levels + 1, parents[parent]
    return levels


def page_nodes(
    pages: Sequence[Page], counts: Mapping[str, int], unsent: Mapping[str, Sequence[UnsentText]] = MappingProxyType({})
) -> list[TreeNode]:
    """Return the tree nodes of `pages`. `counts` has the number of open threads by page ID. `unsent` has the drafts and
    pending comments by page ID."""
    return [
        TreeNode(
            page.id,
            page.title or "Untitled",
            page_nodes(page.pages, counts, unsent),
            kind="page" if page.type == "document" else page.type,
            count=counts.get(page.id, 0),
            sign=to_emoji(page.emoji),
            right=unsent_mark(unsent[page.id]) if page.id in unsent else "",
            short_right=unsent_mark(unsent[page.id], symbols_only=True) if page.id in unsent else "",
            dim=page.hidden,
            path=page.path or "",
        )
        for page in pages
    ]


def adjacent_page(tree: PageTree, page: Page | None, step: int) -> Page | None:
    """Return the page after `page` (`step` 1) or before it (-1) in the table of contents. None at either end. The first
    page if `page` is None."""
    pages = [each for each in tree.walk() if each.type == "document"]
    position = next((index for index, each in enumerate(pages) if page is not None and each.id == page.id), None)
    index = position + step if position is not None else 0
    return pages[index] if 0 <= index < len(pages) else None


def open_thread_counts(threads: Iterable[Comment]) -> Mapping[str, int]:
    """Return the number of open threads on each page, by page ID."""
    return Counter(each.target.page.id for each in threads if each.is_open_thread and each.target.page is not None)


def items_in_block(block: Block, items_by_block: Mapping[str, Sequence[T]]) -> list[T]:
    """Return the items, such as threads, on a block and on the blocks inside it. `items_by_block` has them by block
    key."""
    keys = dict.fromkeys(inner.key for inner in block.walk())
    return [item for key in keys for item in items_by_block.get(key, ())]
