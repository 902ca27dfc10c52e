"""Short texts about files, revisions and offline copies of spaces. Also the tree nodes for spaces and pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from octavo.api.collections import Collection
from octavo.api.comments import Comment
from octavo.api.content import File, Page, PageTree
from octavo.api.spaces import Space
from octavo.data.drafts import UnsentText
from octavo.documents.blocks import Block
from octavo.documents.emoji import to_emoji
from octavo.tui.core.session import unsent_mark
from octavo.tui.widgets.short_texts import long_age, plural
from octavo.tui.widgets.tree import TreeNode

if TYPE_CHECKING:
    from octavo.data.offline_spaces import OfflineSpace

T = TypeVar("T")
PAGE_NOT_FOUND = "This page was not found. It may have been deleted."
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
    """Return a label such as `Edited on main`. `is_first` is True if the revision created the page or the space."""
    return "Created on main" if is_first else _REVISION_TYPES.get(revision_type, revision_type or "Changed")


def format_name(file: File) -> str:
    """Return the format of a file, such as `PNG` or `PDF`. Empty if unknown."""
    subtype = _mime_type(file)[1]
    extension = file.name.rpartition(".")[2][:8].upper() if "." in file.name else ""
    return _FORMATS.get(subtype, subtype.removeprefix("x-").upper() if len(subtype) <= 6 else "") or extension


def file_kind(file: File) -> str:
    """Return the kind of a file, such as `PNG image`, `PDF` or `CSV text`."""
    main_type, format_label = _mime_type(file)[0], format_name(file)
    if main_type in ("image", "audio", "video", "text", "font") and format_label.lower() != main_type:
        return f"{format_label} {main_type}".strip()
    return format_label or main_type or "file"


def format_dimensions(file: File) -> str:
    """Return the dimensions of an image, such as `640 × 480`. Empty if the server sends no dimensions."""
    dimensions = file.dimensions
    return f"{dimensions.width:.0f} × {dimensions.height:.0f}" if dimensions is not None else ""


def file_summary(file: File) -> str:
    """Return the known format, dimensions and size of a file, such as `PNG, 640 × 480, 1.2 MB`."""
    parts = (format_name(file), format_dimensions(file), format_size(file.size) if file.size else "")
    return ", ".join(filter(None, parts))


def format_size(size: int) -> str:
    """Return a number of bytes as text, such as `812 bytes`, `3.4 kB` or `12 MB`."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    scaled_size = float(size)
    for unit in ("kB", "MB", "GB"):
        scaled_size /= 1000
        if scaled_size < 999.5 or unit == "GB":
            break
    return f"{scaled_size:.1f} {unit}" if scaled_size < 9.95 else f"{scaled_size:.0f} {unit}"


def _mime_type(file: File) -> tuple[str, str]:
    main_type, _, subtype = file.content_type.partition(";")[0].strip().lower().partition("/")
    return main_type, subtype


def is_first_download(space: OfflineSpace) -> bool:
    return space.state == "reading" and space.read_at is None


def download_progress(space: OfflineSpace) -> str:
    """Return the download progress of a space, such as `12/340`, including failures. `…` while the total is unknown."""
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
    update_text = f"updated {age}" if age else ""
    failure_text = f"{plural(len(space.failed), 'item')} could not be downloaded" if space.failed else ""
    match space.state:
        case "lost":
            parts = ["offline copy of a space you can no longer access", size, update_text, space.why]
        case "reading" if space.read_at is None:
            parts = [f"downloading, {download_progress(space)}", size]
        case "waiting" if space.read_at is None:
            parts = [f"waiting, {download_progress(space)} downloaded", size, space.why]
        case _:
            parts = ["available offline", size, update_text, space.why]
    return ", ".join(filter(None, (*parts, failure_text)))


MAX_COLLECTION_DEPTH = 40


def space_nodes(
    collections: Sequence[Collection], spaces: Iterable[Space], offline_marks: Mapping[str, str] = MappingProxyType({})
) -> list[TreeNode]:
    """Return the tree nodes of collections with the spaces in them, then of spaces outside collections. `offline_marks`
    has texts for the right end of rows by space ID."""
    parent_ids = {each.id: each.parent for each in collections}
    collections_by_parent: defaultdict[str | None, list[Collection]] = defaultdict(list)
    spaces_by_parent: defaultdict[str | None, list[Space]] = defaultdict(list)
    for collection in {each.id: each for each in collections}.values():
        is_nested = collection.parent in parent_ids and _depth_of(collection.id, parent_ids) <= MAX_COLLECTION_DEPTH
        collections_by_parent[collection.parent if is_nested else None].append(collection)
    for space in {each.id: each for each in spaces}.values():
        spaces_by_parent[space.parent if space.parent in parent_ids else None].append(space)

    def children_of(parent_id: str | None) -> list[TreeNode]:
        nodes = [
            TreeNode(each.id, each.title or "Untitled", children_of(each.id), kind="group")
            for each in collections_by_parent[parent_id]
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
            for each in spaces_by_parent[parent_id]
        ]

    return children_of(None)


def _depth_of(collection_id: str, parent_ids: Mapping[str, str | None]) -> int:
    depth, parent_id = 0, parent_ids[collection_id]
    while parent_id is not None and parent_id in parent_ids and depth <= MAX_COLLECTION_DEPTH:
        depth, parent_id = depth + 1, parent_ids[parent_id]
    return depth


def page_nodes(
    pages: Sequence[Page], counts: Mapping[str, int], unsent: Mapping[str, Sequence[UnsentText]] = MappingProxyType({})
) -> list[TreeNode]:
    """Return the tree nodes of `pages`, with numbers of open threads (`counts`) and `unsent` texts by page ID."""
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
    """Return the page after `page` (`step` 1) or before `page` (-1) in the table of contents. None after the last page
    and before the first. If `page` is None or not in `tree`, return the first page."""
    pages = [each for each in tree.walk() if each.type == "document"]
    current_index = next((index for index, each in enumerate(pages) if page is not None and each.id == page.id), None)
    index = current_index + step if current_index is not None else 0
    return pages[index] if 0 <= index < len(pages) else None


def open_thread_counts(threads: Iterable[Comment]) -> Mapping[str, int]:
    """Return the number of open threads on each page, by page ID."""
    return Counter(each.target.page.id for each in threads if each.is_open_thread and each.target.page is not None)


def items_in_block(block: Block, items_by_block: Mapping[str, Sequence[T]]) -> list[T]:
    """Return the items, such as threads, on a block and on the blocks inside it. `items_by_block` is by block key."""
    keys = dict.fromkeys(nested_block.key for nested_block in block.walk())
    return [item for key in keys for item in items_by_block.get(key, ())]
