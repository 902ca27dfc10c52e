"""Links to outside: shown in full and confirmed before a browser opens them; and the message where there is no link."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.content import Content

from octavo.documents import links

if TYPE_CHECKING:
    from octavo.api.content import Page
    from octavo.tui.shell.shell import Shell
    from octavo.tui.terminal.browser import Browser
    from octavo.tui.widgets.confirm import Confirmed

SOON = 10.0
"""Seconds in which a program that cannot open an address says so by ending."""


def open_outside(app: Shell, url: str, *, words: str = "", trouble: str = "") -> None:
    """Show where an address outside leads, and open it when the person says so, or copy it (T6).

    `words` are those of the link. `trouble` says why it could not be opened: then it can only be copied.
    """
    from octavo.tui.terminal import browser, clipboard
    from octavo.tui.widgets.confirm import ConfirmDialog

    target = links.external_target(url)
    if not isinstance(target, links.ToUrl):
        app.say("Could not open the link: only http, https, and mailto links are supported.", tone="care")
        return
    found = browser.NoBrowser(trouble) if trouble else browser.find(target.url, os.environ)
    is_mail = target.url.startswith("mailto:")

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        if isinstance(found, browser.Browser):
            _browse(app, found, target.url)
        else:
            clipboard.copy(
                app,
                target.host if is_mail else target.url,
                "Copied the email address." if is_mail else "Copied the link.",
            )

    said = [links.host_mismatch_warning(words, target), links.punycode_warning(target.host)]
    if isinstance(found, browser.Browser):
        where = "This link opens an external website." if target.host not in links.APP_HOSTS else ""
        verb, said = "Open in browser", [where, *said]
    elif is_mail:
        verb, said = (
            "Copy address",
            ["Octavo cannot send email. Copy the address, then paste it into your email app.", *said],
        )
    else:
        verb, said = "Copy link", [f"{found.sentence} Copy the link instead.", *said]
    title = f"Email {target.host}?" if is_mail else f"Open {target.host}?"
    after = "\n".join(filter(None, said))
    app.push_screen(ConfirmDialog(title, verb=verb, intro=_address(target), after=after), decided)


def address_of_page(page: Page | None) -> str:
    """The web address of a page; empty when there is none."""
    return (page.urls.app or page.urls.published or "") if page is not None else ""


def said_without_address(app: Shell, what: str) -> str:
    """Return a sentence why a page, space or link cannot be opened in a browser."""
    if app.session.is_here:
        place = "the demo" if app.session.kind == "demo" else "this folder"
        return f"This {what} has no link: {place} is not on the web."
    return f"The server has no link for this {what}."


def open_address(app: Shell, address: str, what: str, *, words: str = "") -> None:
    """Ask whether the browser is to open an address; when there is none, say so."""
    if address:
        open_outside(app, address, words=words)
    else:
        app.say(said_without_address(app, what), tone="care")


def _address(target: links.ToUrl) -> Content:
    """An address in full, who is behind it set off."""
    before, host, rest = target.url.partition(target.host)
    return Content.assemble((before, "$octavo-muted"), (host, "bold $accent"), (rest, "$octavo-muted"))


def _browse(app: Shell, browser: Browser, url: str) -> None:
    """Start the browser. One that cannot be started, or soon ends in failure, is said, and the address offered."""

    def watch(started: subprocess.Popen[bytes]) -> None:
        try:
            code = started.wait(SOON)
        except subprocess.TimeoutExpired:
            started.wait()
            return
        if code:
            with suppress(RuntimeError):  # the app has ended meanwhile
                app.call_from_thread(
                    open_outside,
                    app,
                    url,
                    trouble=f"Could not open the link: {browser.name} exited with status {code}.",
                )

    try:
        started = browser.start(url, os.environ)
    except OSError as error:
        open_outside(app, url, trouble=f"Could not start {browser.name}: {error.strerror}.")
        return
    threading.Thread(target=watch, args=(started,), daemon=True).start()
    app.say("Opened the link in the browser.")
