"""What a link on a page does: go there inside the app, ask about an address outside, or say why it leads nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.content import Page
from octavo.api.places import ChangeRequestRef
from octavo.documents import links
from octavo.tui import navigating

if TYPE_CHECKING:
    from octavo.tui.app import Octavo
    from octavo.tui.screens.content import ContentScreen


def follow(screen: ContentScreen, href: str, kind: str) -> None:
    """Follow `href` from the page on show. `kind` is link, image or file."""
    app, page = screen.octavo, screen.page
    if kind == "image" and not href.startswith(("http://", "https://")):
        app.say("Pictures of the space are not shown here: read its caption and description.", tone="care")
        return
    known = navigating.places(screen.pages, screen.space.id if screen.space else None)
    path = navigating.page_path(screen.pages, page.id) if page else ""
    match links.resolve(href, path, known):
        case links.ToPage(page=page_id, anchor=anchor):
            screen.open_page(page_id, anchor=anchor or "")
            screen.pages_tree.reveal(page_id)
        case links.ToAnchor(anchor=anchor):
            screen.view.go_to_anchor(anchor)
        case target:
            leave(app, target)


def leave(app: Octavo, target: links.Target) -> None:
    """Go where a link leads that leaves the space, or say why it leads nowhere."""
    match target:
        case links.ToSpace(space=other, page=wanted, anchor=anchor):
            app.open_space(other, wanted, anchor or "")
        case links.ToChangeRequest(space=other, number=number):
            app.show_change_request(ChangeRequestRef(space_id=other, change_request_id=str(number)))
        case links.ToUrl(url=url):
            navigating.open_outside(app, url)
        case links.ToFile(name=name):
            app.say(f"{name} is a file of this space, and is not opened here.", tone="care")
        case links.Blocked(scheme=scheme):
            app.say(f"This link begins with {scheme}:, which is never opened.", tone="care")
        case links.Broken(reason=reason):
            app.say(f"This link is broken. {reason}", tone="care")


def follow_link_page(screen: ContentScreen, page: Page) -> None:
    """Go where a page of the tree that is only a link leads."""
    target = page.target if isinstance(page.target, dict) else {}
    match target.get("kind"):
        case "page":
            screen.open_page(str(target.get("page")))
        case "space":
            screen.octavo.open_space(str(target.get("space")))
        case _:
            navigating.open_outside(screen.octavo, page.href or str(target.get("url") or ""))
