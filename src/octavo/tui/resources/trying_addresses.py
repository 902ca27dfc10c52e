"""Where an address of a site leads, asked by typing it; and words looked for on a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api import search
from octavo.api.errors import ApiError
from octavo.tui.resources import redirect_reading
from octavo.tui.resources.redirect_reading import Way
from octavo.tui.shell.progress import meanwhile
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.fact_list import Fact
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.resources.acting import Place
    from octavo.tui.widgets.confirm import Confirmed

MOST_WORDS = 512
"""Letters the interface looks for at most."""
MOST_FOUND = 100
"""Spaces whose pages are listed."""


def ask_address(app: Shell, place: Place, typed: str = "", facts: tuple[Fact, ...] = ()) -> None:
    """Ask for an address and say where it leads, until that is left."""
    from octavo.tui.widgets.confirm import Confirm, Field

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_say_way(app, place, answer.text))

    field = Field("Address", typed, placeholder="/old/page", required="Type an address of the site, or a path on it.")
    intro = "" if facts else "Its redirects are followed as a browser does."
    app.push_screen(
        Confirm("Where does it lead?", verb="Follow it", cancel="Close", intro=intro, facts=facts, field=field), decided
    )


async def _say_way(app: Shell, place: Place, address: str) -> None:
    try:
        facts = said(await redirect_reading.find(app.session.live, place.known["at"], address))
    except ApiError as error:
        facts = (Fact("bad", "not known", str(error)),)
    ask_address(app, place, address, facts)


def said(way: Way) -> tuple[Fact, ...]:
    """A way, step by step."""
    first, *others = way.chain.steps
    facts = [Fact("note", "from", first), *(Fact("note", "leads to", each) for each in others)]
    match way.chain.end:
        case "loop":
            facts.append(Fact("care", "a loop", "It comes back to where it was: browsers give up on it."))
        case "dead end":
            facts.append(Fact("bad", "a dead end", "The redirect leads to what is not on the site any more."))
        case "leads" if not way.begins:
            facts.append(Fact("care", "no redirect", f"None starts there. {_there(way)}"))
        case "leads":
            facts.append(Fact("ok", "which is", way.at or "not of this site, or of no part of it that is known"))
    facts.append(Fact("note", "redirects", way.counted))
    return tuple(facts)


def _there(way: Way) -> str:
    return f"It would be {way.at}." if way.at else "Visitors find what the site has there, or nothing."


def ask_words(app: Shell, place: Place) -> None:
    """Ask what to look for on a site, list the pages that hold it, and open the one that is chosen."""
    from octavo.tui.widgets.confirm import Confirm, Field

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_list_pages(app, place, answer.text[:MOST_WORDS]))

    field = Field("Words", required="Type what to look for.")
    app.push_screen(Confirm("Search the site", verb="Search", cancel="Close", field=field), decided)


async def _list_pages(app: Shell, place: Place, words: str) -> None:
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    op = search.InSite(at=place.known["at"], query=words, scope=search.All(), limit=MOST_FOUND)
    try:
        with meanwhile(app, f"Looking for “{words}”…"):
            found = await app.session.live.send(op)
    except ApiError as error:
        app.say(f"The site was not searched: {error}", tone="failed")
        return
    choices = [
        Choice(
            ToPage(hit.id, page.id),
            page.title or page.path or "Untitled",
            detail=" · ".join(filter(None, (hit.title, *(each.title for each in page.sections)))),
            off="" if app.workspace.space(hit.id) else "It is in a space that is not among those you may see.",
        )
        for hit in found.items
        for page in hit.pages
    ]

    def chosen(route: ToPage | None) -> None:
        if route is not None:
            app.go(route)

    more = "the first " if found.next is not None else ""
    title = f"“{words}”: {more}{plural(len(choices), 'page')}"
    app.push_screen(Picker(title, choices, empty="No page of the site holds these words. t looks for others."), chosen)
