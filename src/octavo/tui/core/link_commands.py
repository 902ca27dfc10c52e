"""Commands that copy the title or link of the selected item, or open it in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import Model
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.tui.core.external_links import confirm_link, copy_text, missing_link_reason
from octavo.tui.core.shell import Shell
from octavo.tui.widgets.commands import Command, Commands

LinkedItem = Organization | Space | ChangeRequest | Comment


_KIND_NAMES: Mapping[type[LinkedItem], str] = MappingProxyType(
    {ChangeRequest: "change request", Space: "space", Organization: "organization", Comment: "comment"}
)


def _linked_item(selected_items: Sequence[Model]) -> LinkedItem | None:
    """Return the selected item if it has a title and a link, else None."""
    first = next(iter(selected_items), None)
    return first if isinstance(first, LinkedItem) else None


def _kind_name(item: LinkedItem) -> str:
    return _KIND_NAMES[type(item)]


def _url(item: LinkedItem) -> str:
    return item.urls.app or (item.urls.published or "" if isinstance(item, Comment) else "")


def _copy_title(app: Shell, item: LinkedItem) -> None:
    if isinstance(item, Comment):
        copy_text(app, item.body.text, "Copied the comment.")
        return
    number = f"#{item.number} " if isinstance(item, ChangeRequest) else ""
    copy_text(app, f"{number}{item.title}", f"Copied the title of the {_kind_name(item)}.")


def _copy_url(app: Shell, item: LinkedItem) -> None:
    copy_text(app, _url(item), f"Copied a link to the {_kind_name(item)}.")


def _open_in_browser(app: Shell, item: LinkedItem) -> None:
    confirm_link(app, _url(item))


def _why_no_url(app: Shell, item: LinkedItem) -> str | None:
    return missing_link_reason(app, _kind_name(item)) if not _url(item) or app.session.is_embedded else None


LINK_COMMANDS: Commands[LinkedItem] = Commands(
    "thing",
    (
        Command("yank", "y", "Copy", "Copy the title, or the text of the comment", run=_copy_title, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy a link to the selected item", run=_copy_url, why_not=_why_no_url, shown=False),
        Command("open_browser", "o", "Open in browser", "Open the selected item in the browser", run=_open_in_browser, why_not=_why_no_url, shown=False),
    ),
    context="selected item",
    no_target="First, select an item that has a title and a link.",
    find=lambda view: _linked_item(view.selected_items),
)  # fmt: skip
"""Commands for the selected item of a view, if the item has a title and a link."""
