"""Going places: spaces, pages, change requests, and addresses outside, which are shown in full and asked about."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest, Get
from octavo.api.content import PageTree
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.documents import links

if TYPE_CHECKING:
    from octavo.tui.app import Octavo
    from octavo.tui.browser import Browser
    from octavo.tui.screens.confirm import Confirmed

SOON = 10.0
"""Seconds in which a program that cannot open an address says so by ending."""


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


def open_outside(app: Octavo, url: str, *, trouble: str = "") -> None:
    """Show where an address outside leads, and open it when the person says so, or copy it (T6).

    `trouble` says why it could not be opened: then it can only be copied.
    """
    from octavo.tui import browser, clipboard
    from octavo.tui.screens.confirm import Confirm

    target = links.resolve(url, "", links.Places())
    if not isinstance(target, links.ToUrl):
        app.say("This address cannot be opened: only http, https and mail addresses are.", tone="care")
        return
    found = browser.NoBrowser(trouble) if trouble else browser.find(target.url, os.environ)

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        if isinstance(found, browser.Browser):
            _browse(app, found, target.url)
        else:
            clipboard.copy(app, target.url, "Copied the address.")

    if isinstance(found, browser.Browser):
        verb, after = "Open in the browser", "This address is outside the platform."
    else:
        verb, after = "Copy the address", f"{found.sentence} Copy the address instead."
    app.push_screen(Confirm(f"Leave for {target.host}?", verb=verb, intro=target.url, after=after), decided)


def _browse(app: Octavo, browser: Browser, url: str) -> None:
    """Start the browser. One that cannot be started, or soon ends in failure, is said, and the address offered."""

    def watch(started: subprocess.Popen[bytes]) -> None:
        try:
            code = started.wait(SOON)
        except subprocess.TimeoutExpired:
            started.wait()
            return
        if code:
            with suppress(RuntimeError):  # the app has ended meanwhile
                app.call_from_thread(open_outside, app, url, trouble=f"{browser.name} could not open it ({code}).")

    try:
        started = browser.start(url, os.environ)
    except OSError as error:
        open_outside(app, url, trouble=f"{browser.name} could not be started: {error.strerror}.")
        return
    threading.Thread(target=watch, args=(started,), daemon=True).start()
    app.say("Opened in the browser.")
