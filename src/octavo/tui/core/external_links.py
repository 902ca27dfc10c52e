"""Copies text to the clipboard, and opens links in the web browser after a confirmation. Start at `open_link`."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual.content import Content

from octavo.documents import links
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.api.content import Page
    from octavo.tui.core.shell import Shell
    from octavo.tui.terminal.external_editor import Browser
    from octavo.tui.widgets.commands import HostApp
    from octavo.tui.widgets.confirm import Confirmed

_find_browser = lazy("octavo.tui.terminal.external_editor:find_browser")
_confirm_dialog = lazy("octavo.tui.widgets.confirm:ConfirmDialog")

BROWSER_EXIT_SECONDS = 10.0
"""A browser that exits with an error within this many seconds did not open the link."""
MAX_COPIED_BYTES = 74_000
"""Maximum size of a copied text in bytes. Terminals cut longer texts, or hang."""


def copy_text(app: HostApp[Any], text: str, message: str) -> None:
    """Copy `text` to the clipboard and show `message`. If the text is too long to copy, show an error instead."""
    if check_fits_clipboard(app, text):
        app.copy_to_clipboard(text)
        app.say(message)


def check_fits_clipboard(app: HostApp[Any], text: str) -> bool:
    """Return whether a text can be copied. If the text is too long for the clipboard, tell the user."""
    if is_too_long_to_copy(text):
        app.say("Could not copy: the text is too long for the terminal's clipboard.", tone="care")
        return False
    return True


def is_too_long_to_copy(text: str) -> bool:
    """Return True if a text is longer than `MAX_COPIED_BYTES`."""
    return len(text.encode("utf-8", "replace")) > MAX_COPIED_BYTES


def confirm_link(app: Shell, url: str, *, text: str = "", problem: str = "") -> None:
    """Show the full URL of a link, and ask whether to open the link. If `problem` says why the link cannot be opened,
    show this reason, and offer only to copy the link. `text` is the text of the link."""
    target = links.external_target(url)
    if not isinstance(target, links.UrlLink):
        app.say("Could not open the link: only http, https, and mailto links are supported.", tone="care")
        return
    browser_or_reason: Browser | str = problem or _find_browser(target.url, os.environ)
    is_mail = target.url.startswith("mailto:")

    def on_answer(result: Confirmed) -> None:
        if not isinstance(browser_or_reason, str):
            _start_browser(app, browser_or_reason, target.url)
        else:
            copy_text(
                app,
                target.host if is_mail else target.url,
                "Copied the email address." if is_mail else "Copied the link.",
            )

    warnings = [links.host_mismatch_warning(text, target), links.punycode_warning(target.host)]
    if not isinstance(browser_or_reason, str):
        notice = "This link opens an external website." if target.host not in links.APP_HOSTS else ""
        verb, warnings = "Open in browser", [notice, *warnings]
    elif is_mail:
        verb, warnings = (
            "Copy address",
            ["Octavo cannot send email. Copy the address, then paste it into your email app.", *warnings],
        )
    else:
        verb, warnings = "Copy link", [f"{browser_or_reason} Copy the link instead.", *warnings]
    title = f"Email {target.host}?" if is_mail else f"Open {target.host}?"
    warnings_text = "\n".join(filter(None, warnings))
    before, host, path = target.url.partition(target.host)
    shown_url = Content.assemble((before, "$octavo-muted"), (host, "bold $accent"), (path, "$octavo-muted"))
    app.ask(_confirm_dialog(title, verb=verb, intro=shown_url, after=warnings_text), on_answer)


def page_url(page: Page | None) -> str:
    """Return the web URL of a page. Empty if the page has no web URL."""
    return (page.urls.app or page.urls.published or "") if page is not None else ""


def missing_link_reason(app: Shell, item_kind: str) -> str:
    """Return a sentence that says why an item has no web link. `item_kind` is for example `page`."""
    if app.session.is_embedded:
        source = "the demo" if app.session.kind == "demo" else "this folder"
        return f"This {item_kind} has no link: {source} is not on the web."
    return f"The server has no link for this {item_kind}."


def open_link(app: Shell, url: str, item_kind: str, *, text: str = "") -> None:
    """Ask the user whether to open `url` in the browser. If `url` is empty, show why the `item_kind` has no link."""
    if url:
        confirm_link(app, url, text=text)
    else:
        app.say(missing_link_reason(app, item_kind), tone="care")


def _start_browser(app: Shell, browser: Browser, url: str) -> None:
    def report_failure(process: subprocess.Popen[bytes]) -> None:
        try:
            exit_code = process.wait(BROWSER_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.wait()
            return
        if exit_code:
            with suppress(RuntimeError):  # The app may have quit in the meantime.
                app.call_from_thread(
                    confirm_link,
                    app,
                    url,
                    problem=f"Could not open the link: {browser.name} exited with status {exit_code}.",
                )

    try:
        process = browser.start(url, os.environ)
    except OSError as error:
        confirm_link(app, url, problem=f"Could not start {browser.name}: {error.strerror}.")
        return
    threading.Thread(target=report_failure, args=(process,), daemon=True).start()
    app.say("Opened the link in the browser.")
