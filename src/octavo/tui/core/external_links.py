"""Copies text, titles and links to the clipboard, and asks for confirmation with the full URL before the browser opens a link.
Start at `open_link`."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.content import Content

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import Model
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.documents import links
from octavo.lazy_import import lazy
from octavo.tui.core.shell import Shell
from octavo.tui.terminal import browser
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.content import Page
    from octavo.tui.widgets.confirm import Confirmed

_confirm_dialog = lazy("octavo.tui.widgets.confirm:ConfirmDialog")

BROWSER_EXIT_SECONDS = 10.0
"""A browser that exits with an error within this time, in seconds, has failed to open the link."""
COPIED_BYTES = 74_000
"""Longest text that is copied, in bytes. Terminals cut longer texts, or hang."""


def copy_text(app: Shell, text: str, message: str) -> None:
    """Copy a text to the clipboard and show `message`, or show that the text is too long."""
    if fits_clipboard(app, text):
        app.copy_to_clipboard(text)
        app.say(message)


def fits_clipboard(app: Shell, text: str) -> bool:
    """Return True if a text is short enough to be copied. If not, show a notification."""
    if len(text.encode("utf-8", "replace")) <= COPIED_BYTES:
        return True
    app.say("Could not copy: the text is too long for the terminal's clipboard.", tone="care")
    return False


def confirm_link(app: Shell, url: str, *, text: str = "", problem: str = "") -> None:
    """Show the full URL of a link and ask whether to open or copy it. `text` is the label of the link. `problem` is the
    reason why the browser could not open it: the dialog then only offers to copy the link."""
    target = links.external_target(url)
    if not isinstance(target, links.UrlLink):
        app.say("Could not open the link: only http, https, and mailto links are supported.", tone="care")
        return
    browser_or_error = browser.NoBrowser(problem) if problem else browser.find(target.url, os.environ)
    is_mail = target.url.startswith("mailto:")

    def on_answer(result: Confirmed | None) -> None:
        if result is None:
            return
        if isinstance(browser_or_error, browser.Browser):
            _start_browser(app, browser_or_error, target.url)
        else:
            copy_text(
                app,
                target.host if is_mail else target.url,
                "Copied the email address." if is_mail else "Copied the link.",
            )

    warnings = [links.host_mismatch_warning(text, target), links.punycode_warning(target.host)]
    if isinstance(browser_or_error, browser.Browser):
        notice = "This link opens an external website." if target.host not in links.APP_HOSTS else ""
        verb, warnings = "Open in browser", [notice, *warnings]
    elif is_mail:
        verb, warnings = (
            "Copy address",
            ["Octavo cannot send email. Copy the address, then paste it into your email app.", *warnings],
        )
    else:
        verb, warnings = "Copy link", [f"{browser_or_error.sentence} Copy the link instead.", *warnings]
    title = f"Email {target.host}?" if is_mail else f"Open {target.host}?"
    after = "\n".join(filter(None, warnings))
    app.push_screen(_confirm_dialog(title, verb=verb, intro=_highlight_host(target), after=after), on_answer)


def page_url(page: Page | None) -> str:
    """Return the web URL of a page. Empty if the page has no web URL."""
    return (page.urls.app or page.urls.published or "") if page is not None else ""


def missing_link_reason(app: Shell, item_kind: str) -> str:
    """Return the reason why an item has no link that a browser can open."""
    if app.session.is_embedded:
        source = "the demo" if app.session.kind == "demo" else "this folder"
        return f"This {item_kind} has no link: {source} is not on the web."
    return f"The server has no link for this {item_kind}."


def open_link(app: Shell, url: str, item_kind: str, *, text: str = "") -> None:
    """Ask whether to open a URL in the browser. If the URL is empty, show why it is missing."""
    if url:
        confirm_link(app, url, text=text)
    else:
        app.say(missing_link_reason(app, item_kind), tone="care")


def _highlight_host(target: links.UrlLink) -> Content:
    """Return a URL with its host highlighted."""
    before, host, path = target.url.partition(target.host)
    return Content.assemble((before, "$octavo-muted"), (host, "bold $accent"), (path, "$octavo-muted"))


def _start_browser(app: Shell, browser: browser.Browser, url: str) -> None:
    """Start the browser. If it fails to start or exits with an error, show the error and offer to copy the link."""

    def report_failure(started: subprocess.Popen[bytes]) -> None:
        try:
            code = started.wait(BROWSER_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            started.wait()
            return
        if code:
            with suppress(RuntimeError):  # The app has quit in the meantime.
                app.call_from_thread(
                    confirm_link,
                    app,
                    url,
                    problem=f"Could not open the link: {browser.name} exited with status {code}.",
                )

    try:
        started = browser.start(url, os.environ)
    except OSError as error:
        confirm_link(app, url, problem=f"Could not start {browser.name}: {error.strerror}.")
        return
    threading.Thread(target=report_failure, args=(started,), daemon=True).start()
    app.say("Opened the link in the browser.")


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
