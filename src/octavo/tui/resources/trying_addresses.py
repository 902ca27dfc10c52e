"""Tests where a link of a site leads, and searches a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api import search
from octavo.api.errors import ApiError
from octavo.tui.resources import redirect_reading
from octavo.tui.resources.redirect_reading import LinkTestResult
from octavo.tui.shell.progress import meanwhile
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.fact_list import Fact
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.resources.acting import CreateTarget
    from octavo.tui.widgets.confirm import Confirmed

MAX_QUERY_LENGTH = 512
"""Most characters of a query that the API accepts."""
MAX_SPACES = 100
"""Most spaces in the search results."""


def open_link_test(app: Shell, target: CreateTarget, link: str = "", facts: tuple[Fact, ...] = ()) -> None:
    """Ask for a link and show where it leads, until the dialog is closed."""
    from octavo.tui.widgets.confirm import Confirm, Field

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_show_result(app, target, answer.text))

    field = Field("Link", link, placeholder="/old/page", required="Type a link or a path on the site.")
    intro = "" if facts else "Octavo follows the redirects on the site, as a browser would."
    app.push_screen(Confirm("Test a link", verb="Test", cancel="Close", intro=intro, facts=facts, field=field), decided)


async def _show_result(app: Shell, target: CreateTarget, address: str) -> None:
    try:
        facts = result_facts(await redirect_reading.test_link(app.session.live, target.arguments["at"], address))
    except ApiError as error:
        facts = (Fact("bad", "error", str(error)),)
    open_link_test(app, target, address, facts)


def result_facts(result: LinkTestResult) -> tuple[Fact, ...]:
    """Return the steps of a link as facts."""
    first, *further_steps = result.chain.steps
    facts = [Fact("note", "from", first), *(Fact("note", "leads to", each) for each in further_steps)]
    match result.chain.end:
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
        case "leads" if not result.has_redirect:
            facts.append(Fact("care", "no redirect", f"No redirect starts at this path. {_page_at_path(result)}"))
        case "leads":
            facts.append(Fact("ok", "page", result.target or "outside this site, or an unknown part of the site"))
    facts.append(Fact("note", "redirects", result.summary))
    return tuple(facts)


def _page_at_path(result: LinkTestResult) -> str:
    return f"Visitors see {result.target}." if result.target else "Visitors see the page at this path, if there is one."


def open_site_search(app: Shell, target: CreateTarget) -> None:
    """Ask for a query, list the pages of the site that match, and open the chosen page."""
    from octavo.tui.widgets.confirm import Confirm, Field

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_show_results(app, target, answer.text[:MAX_QUERY_LENGTH]))

    field = Field("Search for", required="Type the words to search for.")
    app.push_screen(Confirm("Search the site", verb="Search", cancel="Close", field=field), decided)


async def _show_results(app: Shell, target: CreateTarget, query: str) -> None:
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    op = search.InSite(at=target.arguments["at"], query=query, scope=search.All(), limit=MAX_SPACES)
    try:
        with meanwhile(app, f"Searching for “{query}”…"):
            results = await app.session.live.send(op)
    except ApiError as error:
        app.say(f"Could not search the site: {error}", tone="failed")
        return
    choices = [
        Choice(
            ToPage(hit.id, page.id),
            page.title or page.path or "Untitled",
            detail=" · ".join(filter(None, (hit.title, *(each.title for each in page.sections)))),
            off="" if app.workspace.space(hit.id) else "You do not have access to this space.",
        )
        for hit in results.items
        for page in hit.pages
    ]

    def chosen(route: ToPage | None) -> None:
        if route is not None:
            app.go(route)

    more = "first " if results.next is not None else ""
    title = f"“{query}”: {more}{plural(len(choices), 'page')}"
    app.push_screen(
        Picker(title, choices, empty="No pages contain these words. To search for other words, press esc, then t."),
        chosen,
    )
