"""What one wrote of pages in an earlier run and did not send: said once, when a session opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api import content
from octavo.api.errors import ApiError
from octavo.api.places import SpaceRef
from octavo.tui.writing.page_drafts import folder, unsent_pages

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell

SECONDS = 15.0


async def tell(app: Shell, session: Session) -> None:
    """Say how many pages there are, where the first of them is, and which keys lead there."""
    kept = [draft.key.split(" ")[1:3] for draft in session.drafts.with_prefix("page ")]
    if not kept and not any(folder(app).glob("page.*.md")):
        return
    last = session.state.get_fact("space")
    spaces = dict.fromkeys([*(space for space, _ in kept), *([last] if isinstance(last, str) else [])])
    named: list[str] = []
    number = 0
    for space in spaces:
        try:
            tree = await session.live.cached_or_fetch(content.ListPages(at=SpaceRef(space_id=space)))
        except ApiError:
            number += len({page for at, page in kept if at == space})  # they are there, whatever they are called
            continue
        titles = {page.id: page.title or "Untitled" for page in tree.walk()}
        unsent = unsent_pages(app, space, [*titles, *(page for at, page in kept if at == space)])
        number += len(unsent)
        known = app.workspace.space(space)
        where = f" in {known.title}" if known is not None else ""
        named += [f"{titles[page]}{where}" for page in titles if page in unsent]
    if number == 1:
        which = f"Your draft of {named[0]} has not been sent" if named else "Your draft of a page has not been sent"
        app.say(f"{which}. Press e on the page to continue.", tone="care", seconds=SECONDS)
    elif number:
        first = f", including {named[0]}" if named else ""
        said = f"You have unsent drafts of {number} pages{first}. Press 2 to see the marked pages, then press e on a page to continue."
        app.say(said, tone="care", seconds=SECONDS)
