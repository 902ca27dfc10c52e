"""Tests where a link of a site leads, and searches a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api import search
from octavo.api.errors import ApiError
from octavo.tui.resources import redirect_reading
from octavo.tui.resources.redirect_reading import Way
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.write_queue import show_progress
from octavo.tui.widgets.text_widgets import Fact
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.resources.acting import Place
    from octavo.tui.widgets.confirm import Confirmed

MOST_WORDS = 512
"""Most characters the API searches for."""
MOST_FOUND = 100
"""Spaces whose pages are listed."""


def ask_address(app: Shell, place: Place, typed: str = "", facts: tuple[Fact, ...] = ()) -> None:
    """Ask for a link and show where it leads, until the dialog is closed."""
    from octavo.tui.widgets.confirm import ConfirmDialog, Field

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_say_way(app, place, answer.text))

    field = Field("Link", typed, placeholder="/old/page", required_error="Type a link or a path on the site.")
    intro = "" if facts else "Octavo follows the redirects on the site, as a browser would."
    app.push_screen(
        ConfirmDialog("Test a link", verb="Test", cancel="Close", intro=intro, facts=facts, field=field), decided
    )


async def _say_way(app: Shell, place: Place, address: str) -> None:
    try:
        facts = said(await redirect_reading.find(app.session.live, place.known["at"], address))
    except ApiError as error:
        facts = (Fact("bad", "error", str(error)),)
    ask_address(app, place, address, facts)


def said(way: Way) -> tuple[Fact, ...]:
    """Return the steps of a link as facts."""
    first, *others = way.chain.steps
    facts = [Fact("note", "from", first), *(Fact("note", "leads to", each) for each in others)]
    match way.chain.end:
        case "loop":
            facts.append(Fact("care", "loop", "The redirects form a loop. Browsers show an error."))
        case "dead end":
            facts.append(
                Fact(
                    "bad",
                    "missing target",
                    "The redirect leads to a page, section, or space that is no longer on the site.",
                )
            )
        case "leads" if not way.begins:
            facts.append(Fact("care", "no redirect", f"No redirect starts at this path. {_there(way)}"))
        case "leads":
            facts.append(Fact("ok", "page", way.at or "outside this site, or an unknown part of the site"))
    facts.append(Fact("note", "redirects", way.counted))
    return tuple(facts)


def _there(way: Way) -> str:
    return f"Visitors see {way.at}." if way.at else "Visitors see the page at this path, if there is one."


def ask_words(app: Shell, place: Place) -> None:
    """Ask for words, list the pages of the site that contain them, and open the chosen page."""
    from octavo.tui.widgets.confirm import ConfirmDialog, Field

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_list_pages(app, place, answer.text))

    field = Field("Search words", required_error="Type the words to search for.", max_length=MOST_WORDS)
    app.push_screen(ConfirmDialog("Search the site", verb="Search", cancel="Close", field=field), decided)


async def _list_pages(app: Shell, place: Place, words: str) -> None:
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    op = search.InSite(at=place.known["at"], query=words, scope=search.All(), limit=MOST_FOUND)
    try:
        with show_progress(app, f"Searching for “{words}”…"):
            found = await app.session.live.send(op)
    except ApiError as error:
        app.say(f"Could not search the site: {error}", tone="failed")
        return
    choices = [
        Choice(
            ToPage(hit.id, page.id),
            page.title or page.path or "Untitled",
            detail=" · ".join(filter(None, (hit.title, *(each.title for each in page.sections)))),
            disabled_reason="" if app.workspace.space(hit.id) else "You do not have access to this space.",
        )
        for hit in found.items
        for page in hit.pages
    ]

    def chosen(route: ToPage | None) -> None:
        if route is not None:
            app.go(route)

    more = "first " if found.next is not None else ""
    title = f"“{words}”: {more}{plural(len(choices), 'page')}"
    app.push_screen(
        Picker(title, choices, empty="No pages contain these words. To search for other words, press esc, then t."),
        chosen,
    )
