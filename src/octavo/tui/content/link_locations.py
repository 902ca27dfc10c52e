"""Locations of links on pages: their names, and how to open them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.content import PageTree
from octavo.api.links import Location
from octavo.tui.shell.routes import ToPage

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def target_in_page(location: Location) -> str:
    """Return the block or heading of a location. Empty if it is the whole page."""
    inside = location.internal_location
    return (inside.node or inside.anchor or "") if inside is not None else ""


def location_key(location: Location) -> str:
    """Return the key that identifies a location on a page."""
    return f"{location.page.id if location.page else ''} {target_in_page(location)}"


def page_title(location: Location) -> str:
    """Return the title of the page of a location."""
    return (location.page.title if location.page else "") or "Untitled"


def page_trails(tree: PageTree) -> dict[str, str]:
    """Return the titles of the ancestors of each page, from the root, joined by ›. Empty for pages at the root."""
    found: dict[str, str] = {}
    waiting = [(page, "") for page in tree.pages]
    while waiting:
        page, above = waiting.pop()
        found[page.id] = above
        title = page.title or "Untitled"
        waiting += [(each, f"{above} › {title}" if above else title) for each in page.pages]
    return found


def open_location(app: Shell, space_id: str, location: Location) -> None:
    """Open the page of a location at its block."""
    page = location.page
    if page is None:
        app.say("Could not open the page: the server did not return the page. Press r to refresh.", tone="care")
    elif page.type != "document":
        app.say(
            f"“{page_title(location)}” is not a page, so it cannot be opened. Edit the item in the table of contents.",
            tone="care",
        )
    else:
        app.go(ToPage(space_id, page.id, target_in_page(location)))
