"""The items that custom commands act on: the item under the cursor, and those that contain it. Start at `find_targets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from textual.dom import DOMNode

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Page
from octavo.api.places import Discussion, SpaceRef
from octavo.api.spaces import Space
from octavo.data.inbox_events import event_of_row
from octavo.data.space_names import space_name
from octavo.documents.blocks import Block
from octavo.settings.programs import CommandPlace
from octavo.tui.comments import thread_actions
from octavo.tui.comments.comments_screen import CommentsScreen
from octavo.tui.comments.thread_commands import ThreadTarget
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.content.navigation import SpacesPane
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import View
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.review.page_blame import BlameScreen
from octavo.tui.review.request_list import ChangesScreen
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.widgets.row_list import RowList
from octavo.tui.widgets.tree import Tree

_PANES = (ContentScreen, SpacesPane, PageView, Tree, ChangeRequestScreen, DiffView)
_LISTS = (InboxScreen, CommentsScreen, ChangesScreen, ThreadView, RowList)
VIEWS: Mapping[CommandPlace, tuple[type[DOMNode], ...]] = MappingProxyType(
    {
        "block": (ContentScreen, PageView, ChangeRequestScreen, DiffView),
        "thread": (*_PANES, InboxScreen, CommentsScreen, ThreadView, RowList),
        "page": _PANES,
        "change": (ChangeRequestScreen, DiffView, Tree, BlameScreen, InboxScreen, ChangesScreen, ThreadView, RowList),
        "inbox": (InboxScreen, ThreadView, RowList),
        "space": (*_PANES, *_LISTS),
    }
)
"""The screens and widgets that can have such an item under the cursor."""


@dataclass(frozen=True)
class CommandTarget:
    """An item that a custom command acts on. The texts come from the server and are sanitized."""

    kind: str
    ref: str
    """The REF for the command line, such as `handbook/7`. Empty if it is unknown."""
    title: str
    space: str
    url: str
    text: str = ""
    """The words of a block or thread."""
    path: str = ""
    """The path of the page. Empty if the item is not on a page."""
    block: str = ""
    """The key of the block. Empty if the item is not on a block."""
    open_comment: Callable[[str], None] | None = None
    """Opens the editor for a comment on the item, with a text to add. None if the item cannot have comments."""

    @property
    def facts(self) -> dict[str, Any]:
        """The target as a JSON object: the fields that hooks get, and the fields `path` and `block`."""
        names = ("kind", "ref", "title", "text", "space", "url", "path", "block")
        return {name: getattr(self, name) for name in names}


def find_targets(view: View) -> dict[CommandPlace, CommandTarget]:
    """Return the item under the cursor of a view and the items that contain it, by their kinds. Empty if there is none."""
    models = view.selected_items
    change_request = next((each for each in models if isinstance(each, ChangeRequest)), None)
    space = next((each for each in models if isinstance(each, Space)), None)
    targets: dict[CommandPlace, CommandTarget] = {}
    if (thread := _selected_thread(view)) is not None:
        targets["thread"] = _thread_target(view.shell, thread, change_request)
    if isinstance(view, InboxScreen):
        targets |= _inbox_target(view, change_request, targets.get("thread"))
    elif isinstance(view, ContentScreen):
        targets |= _page_targets(view, space)
    elif isinstance(view, ChangeRequestScreen):
        targets |= _changed_page_targets(view)
    if change_request is not None:
        targets["change"] = _change_target(view.shell, change_request, view)
    if space is not None:
        targets["space"] = _space_target(view.shell, space)
    return targets


def _selected_thread(view: View) -> ThreadTarget | None:
    """Return the thread that has the focus, else the thread of the selected row or block. None if there is none."""
    ancestors = view.focused.ancestors_with_self if view.focused is not None else ()
    if focused := next((each for each in ancestors if isinstance(each, ThreadView)), None):
        return focused.thread_target
    if isinstance(view, (CommentsScreen, InboxScreen)):
        return view.thread_target
    if isinstance(view, (ContentScreen, ChangeRequestScreen)):
        return view.page_discussion.selected_thread
    return None


def _thread_target(app: Shell, thread: ThreadTarget, change_request: ChangeRequest | None) -> CommandTarget:
    at, comment = thread.at, thread.thread
    page, node = comment.target.page, comment.target.node
    space = _name_of(app, at.space_id)
    is_known = isinstance(at, SpaceRef) or (change_request is not None and bool(space))
    place = space if isinstance(at, SpaceRef) or change_request is None else f"{space}/{change_request.number}"
    return CommandTarget(
        "thread",
        f"{place}@{comment.id}" if is_known and place else comment.id,
        thread_actions.thread_label(comment),
        space,
        thread.url,
        comment.body.text,
        (page.path or "") if page is not None else "",
        node.id if node is not None else "",
        lambda text: thread_actions.reply(app, at, comment, added_text=text),
    )


def _inbox_target(
    view: InboxScreen, change_request: ChangeRequest | None, thread: CommandTarget | None
) -> dict[CommandPlace, CommandTarget]:
    row = view.rows.item
    if row is None:
        return {}
    app = view.shell
    event = event_of_row(row, change_request, app.workspace.space_titles)
    change = _change_target(app, change_request, view) if change_request is not None else None
    item = thread or change
    comment = item.open_comment if item is not None else None
    found = CommandTarget(event.kind, event.ref, event.title, event.space, event.url, event.text, open_comment=comment)
    return {"inbox": found}


def _page_targets(view: ContentScreen, space: Space | None) -> dict[CommandPlace, CommandTarget]:
    page = next((each for each in view.selected_items if isinstance(each, Page)), None)
    if page is None or space is None:
        return {}
    block = None if view.target.is_tree_focused else view.target.selected_block
    place, url = _name_of(view.shell, space.id), page.urls.app or ""
    return _page_and_block(view.shell, space.ref, place, (page.id, page.title, page.path or ""), block, url)


def _changed_page_targets(view: ChangeRequestScreen) -> dict[CommandPlace, CommandTarget]:
    selected = view.selected_change
    page = selected.change.page if selected is not None else None
    if selected is None or page is None:
        return {}
    block = None if view.page_diff.is_old_version else selected.block
    change_request = selected.comparison.change_request
    place = _change_ref(view.shell, view.at.space_id, change_request)
    facts = (page.id, page.title, page.path or "")
    return _page_and_block(view.shell, view.at, place, facts, block, change_request.urls.app or "")


def _page_and_block(
    app: Shell, at: Discussion, place: str, page: tuple[str, str, str], block: Block | None, url: str
) -> dict[CommandPlace, CommandTarget]:
    """Return the targets for a page, given as its id, title and path, and for its selected block."""
    id, title, path = page
    space = _name_of(app, at.space_id)
    ref = f"{place}:{path or id}" if place else ""
    on_page = partial(_open_comment, app, at, id, None, title, title)
    targets: dict[CommandPlace, CommandTarget] = {
        "page": CommandTarget("page", ref, title, space, url, "", path, open_comment=on_page)
    }
    if block is not None and block.kind not in ("thread", "fold"):
        text = block.plain()
        on_block = partial(_open_comment, app, at, id, block.key, title, text)
        block_ref = f"{ref}@{block.key}" if ref else ""
        targets["block"] = CommandTarget("block", block_ref, title, space, url, text, path, block.key, on_block)
    return targets


def _change_target(app: Shell, change_request: ChangeRequest, view: View) -> CommandTarget:
    space_id = change_request.space or (view.at.space_id if isinstance(view, ChangeRequestScreen) else "")
    title = change_request.title
    comment = None
    if space_id:
        at = change_request.ref(SpaceRef(space_id=space_id))
        comment = partial(_open_comment, app, at, None, None, f"#{change_request.number}", title)
    return CommandTarget(
        "change",
        _change_ref(app, space_id, change_request),
        title,
        _name_of(app, space_id),
        change_request.urls.app or "",
        open_comment=comment,
    )


def _space_target(app: Shell, space: Space) -> CommandTarget:
    name, title = _name_of(app, space.id), space.title
    comment = partial(_open_comment, app, space.ref, None, None, title, title)
    return CommandTarget("space", name, title, name, space.urls.app or "", open_comment=comment)


def _open_comment(
    app: Shell, at: Discussion, page: str | None, block: str | None, title: str, excerpt: str, text: str
) -> None:
    thread_actions.start_thread(app, at, page=page, node=block, title=title, excerpt=excerpt, added_text=text)


def _name_of(app: Shell, space_id: str) -> str:
    titles = app.workspace.space_titles
    return space_name(space_id, titles) if space_id in titles else ""


def _change_ref(app: Shell, space_id: str, change_request: ChangeRequest) -> str:
    name = _name_of(app, space_id)
    return f"{name}/{change_request.number}" if name else ""
