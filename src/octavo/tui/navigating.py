"""Going places: spaces, pages, change requests, and addresses outside, which are shown in full and asked about."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest, Get
from octavo.api.content import PageTree
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.documents import links

if TYPE_CHECKING:
    from octavo.tui.app import Octavo
    from octavo.tui.screens.confirm import Confirmed


def places(tree: PageTree | None, space: str | None) -> links.Places:
    """What links on a page of this tree may lead to."""
    pages = list(tree.walk()) if tree else []
    by_path: dict[str, str] = {}
    for page in pages:
        if page.path is not None:
            by_path.setdefault(page.path, page.id)
        if page.git is not None and page.git.path:
            by_path.setdefault(page.git.path.removesuffix(".md"), page.id)
    return links.Places(pages=by_path, page_ids=frozenset(page.id for page in pages), space=space)


def page_path(tree: PageTree | None, page_id: str) -> str:
    """Where a page lies, as its relative links see it."""
    page = tree.find(page_id) if tree else None
    if page is None:
        return ""
    if page.git is not None and page.git.path:
        return page.git.path
    return page.path or ""


def show_change_request(app: Octavo, at: ChangeRequestRef) -> None:
    """Read a change request by its place, then show it."""

    async def show() -> None:
        op = Get(at=at)
        known = app.session.live.peek(op).value
        open_change_request(app, known if known is not None else await app.session.live.fetch(op), at.space)

    app.background(show())


def open_change_request(app: Octavo, change_request: ChangeRequest, space: SpaceRef) -> None:
    """Show a change request over the list of them."""
    from octavo.tui.screens.change_request import ChangeRequestScreen

    async def show() -> None:
        if app.current_mode != "changes":
            await app.switch_mode("changes")
        while len(app.screen_stack) > 1:
            await app.pop_screen()
        await app.push_screen(ChangeRequestScreen(change_request, space))

    app.background(show())


def open_space(app: Octavo, space_id: str, page_id: str | None = None, anchor: str = "") -> None:
    """Show a space, and a page of it."""
    from octavo.tui.screens.content import ContentScreen

    async def show() -> None:
        app.wanted_space = (space_id, page_id, anchor)
        if app.current_mode != "content":
            await app.switch_mode("content")
        while len(app.screen_stack) > 1:
            await app.pop_screen()
        if isinstance(app.screen, ContentScreen) and app.screen.is_mounted:
            app.screen.take_wanted()

    app.background(show())


def open_outside(app: Octavo, url: str) -> None:
    """Show where an address outside leads, and open or copy it when the person says so (T6)."""
    from octavo.tui.screens.confirm import Confirm

    target = links.resolve(url, "", links.Places())
    if not isinstance(target, links.ToUrl):
        app.say("This address cannot be opened: only http, https and mail addresses are.", tone="care")
        return
    can_open = not (os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY")) and bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.uname().sysname == "Darwin"
    )

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        if can_open:
            threading.Thread(target=_browse, args=(target.url,), daemon=True).start()
            app.say("Opened in the browser.")
        else:
            app.copy_to_clipboard(target.url)
            app.say("Copied the address: there is no browser to open here.")

    dialog = Confirm(
        f"Leave for {target.host}?",
        verb="Open in the browser" if can_open else "Copy the address",
        intro=target.url,
        after="This address is outside the platform.",
    )
    app.push_screen(dialog, decided)


def _browse(url: str) -> None:
    import webbrowser

    if url.startswith(("https://", "http://", "mailto:")):
        webbrowser.open(url)
