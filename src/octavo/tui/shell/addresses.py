"""Commands that copy the title or link of the selected thing, or open it in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import Model
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.tui.shell.shell import Shell
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands

Named = Organization | Space | ChangeRequest | Comment


_KINDS: Mapping[type[Named], str] = MappingProxyType(
    {ChangeRequest: "change request", Space: "space", Organization: "organization", Comment: "comment"}
)


def _named(things_at_hand: Sequence[Model]) -> Named | None:
    """What copying and opening are about: the first of what is at hand, where that has a name and an address."""
    first = next(iter(things_at_hand), None)
    return first if isinstance(first, Named) else None


def _kind(thing: Named) -> str:
    return _KINDS[type(thing)]


def _address(thing: Named) -> str:
    return thing.urls.app or (thing.urls.published or "" if isinstance(thing, Comment) else "")


def _copy_name(app: Shell, thing: Named) -> None:
    if isinstance(thing, Comment):
        clipboard.copy(app, thing.body.text, "Copied the comment.")
        return
    number = f"#{thing.number} " if isinstance(thing, ChangeRequest) else ""
    clipboard.copy(app, f"{number}{thing.title}", f"Copied the title of the {_kind(thing)}.")


def _copy_address(app: Shell, thing: Named) -> None:
    clipboard.copy(app, _address(thing), f"Copied a link to the {_kind(thing)}.")


def _open(app: Shell, thing: Named) -> None:
    from octavo.tui.shell.outside import open_outside

    open_outside(app, _address(thing))


def _why_no_address(app: Shell, thing: Named) -> str | None:
    from octavo.tui.shell.outside import said_without_address

    return said_without_address(app, _kind(thing)) if not _address(thing) or app.session.is_here else None


ADDRESS: Commands[Named] = Commands(
    "thing",
    (
        Command("yank", "y", "Copy", "Copy the title, or the text of the comment", run=_copy_name, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy a link to the selected item", run=_copy_address, why_not=_why_no_address, shown=False),
        Command("open_browser", "o", "Open in browser", "Open the selected item in the browser", run=_open, why_not=_why_no_address, shown=False),
    ),
    context="selected item",
    no_target="First, select an item that has a title and a link.",
    find=lambda view: _named(view.things_at_hand),
)  # fmt: skip
"""What can be done in a view with the first of the things at hand, where it has a name and an address."""
