"""Going places: spaces, pages, change requests, and addresses outside, which are shown in full and asked about."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.content import Content

from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.documents import links

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.app import Octavo
    from octavo.tui.browser import Browser
    from octavo.tui.screens.confirm import Confirmed

SOON = 10.0
"""Seconds in which a program that cannot open an address says so by ending."""


def show_change_request(app: Octavo, at: ChangeRequestRef) -> None:
    """Read a change request by its place, then show it."""

    async def show() -> None:
        from octavo.api.change_requests import Get  # the first screen does without

        open_change_request(app, await app.session.live.known(Get(at=at)), at.space)

    app.background(show())


def open_change_request(app: Octavo, change_request: ChangeRequest, space: SpaceRef) -> None:
    """Show a change request over the list of them."""
    from octavo.tui.screens.change_request import ChangeRequestScreen

    app.trail.leave()
    # At once, and not behind: the next key is already for this screen.
    with app.trail.going():
        app.switch_mode("changes")
        while len(app.screen_stack) > 1:
            app.pop_screen()
        app.push_screen(ChangeRequestScreen(change_request, space))


def open_space(app: Octavo, space_id: str, page_id: str | None = None, anchor: str = "") -> None:
    """Show a space, and a page of it."""
    from octavo.tui.screens.content import ContentScreen

    if app.known.spaces.value is not None and app.known.space(space_id) is None:
        if app.session.kind == "folder":
            app.say("This leads to another space, which is not in this folder.", tone="care")
            return
        where = app.known.organization.title if app.known.organization is not None else "this organization"
        app.say(f"{where} has no space {space_id} that you may see: it may be in another, or gone.", tone="care")
        return

    app.trail.leave()

    async def show() -> None:
        app.wanted_space = (space_id, page_id, anchor)
        if app.current_mode != "content":
            await app.switch_mode("content")
        while len(app.screen_stack) > 1:
            await app.pop_screen()
        if isinstance(app.screen, ContentScreen) and app.screen.is_mounted:
            app.screen.take_wanted()

    app.background(show())


def open_collection(app: Octavo, collection_id: str) -> None:
    """Show a collection among the spaces."""
    from octavo.tui.screens.content import ContentScreen

    app.trail.leave()

    async def show() -> None:
        if app.current_mode != "content":
            await app.switch_mode("content")
        while len(app.screen_stack) > 1:
            await app.pop_screen()
        if isinstance(app.screen, ContentScreen):
            app.screen.nav.choose("spaces", app.screen.space, focus=True)
            if not app.screen.nav.spaces.reveal(collection_id):
                app.say("That collection is not among those you may see: it may be gone.", tone="care")

    app.background(show())


def search(app: Octavo, words: str) -> None:
    """Search everywhere, for `words` to begin with."""
    from octavo.tui.screens.search import SearchScreen

    if app.known.organization is not None:
        app.push_screen(SearchScreen(app.known.organization, words))


def open_outside(app: Octavo, url: str, *, words: str = "", trouble: str = "") -> None:
    """Show where an address outside leads, and open it when the person says so, or copy it (T6).

    `words` are those of the link. `trouble` says why it could not be opened: then it can only be copied.
    """
    from octavo.tui import browser, clipboard
    from octavo.tui.screens.confirm import Confirm

    target = links.outside(url)
    if not isinstance(target, links.ToUrl):
        app.say("This address cannot be opened: only http, https and mail addresses are.", tone="care")
        return
    found = browser.NoBrowser(trouble) if trouble else browser.find(target.url, os.environ)
    is_mail = target.url.startswith("mailto:")

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        if isinstance(found, browser.Browser):
            _browse(app, found, target.url)
        else:
            clipboard.copy(app, target.host if is_mail else target.url, "Copied the address.")

    said = [links.doubt(words, target), links.other_letters(target.host)]
    if isinstance(found, browser.Browser):
        where = "This address is outside the platform." if target.host not in links.APP_HOSTS else ""
        verb, said = "Open in the browser", [where, *said]
    elif is_mail:
        verb, said = "Copy the address", ["Octavo sends no mail: copy the address to your mail program.", *said]
    else:
        verb, said = "Copy the address", [f"{found.sentence} Copy the address instead.", *said]
    title = f"Write to {target.host}?" if is_mail else f"Leave for {target.host}?"
    after = "\n".join(filter(None, said))
    app.push_screen(Confirm(title, verb=verb, intro=_address(target), after=after), decided)


def _address(target: links.ToUrl) -> Content:
    """An address in full, who is behind it set off."""
    before, host, rest = target.url.partition(target.host)
    return Content.assemble((before, "$octavo-muted"), (host, "bold $accent"), (rest, "$octavo-muted"))


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
