"""Reports at the start of a session which pages have unsent drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api import content
from octavo.api.errors import ApiError
from octavo.api.places import SpaceRef
from octavo.tui.writing.page_drafts import editor_folder, pages_with_drafts

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell

NOTICE_SECONDS = 15.0


async def report_unsent_pages(app: Shell, session: Session) -> None:
    """Show how many pages have unsent drafts, name the first page, and name the keys that open it."""
    drafts = [draft.key.split(" ")[1:3] for draft in session.drafts.with_prefix("page ")]
    if not drafts and not any(editor_folder(app).glob("page.*.md")):
        return
    last_space = session.state.get_fact("space")
    spaces = dict.fromkeys([*(space for space, _ in drafts), *([last_space] if isinstance(last_space, str) else [])])
    titles_with_space: list[str] = []
    count = 0
    for space in spaces:
        try:
            tree = await session.live.cached_or_fetch(content.ListPages(at=SpaceRef(space_id=space)))
        except ApiError:
            count += len({page for at, page in drafts if at == space})  # Their titles are unknown, but they exist.
            continue
        titles = {page.id: page.title or "Untitled" for page in tree.walk()}
        unsent = pages_with_drafts(app, space, [*titles, *(page for at, page in drafts if at == space)])
        count += len(unsent)
        space_or_none = app.workspace.space(space)
        where = f" in {space_or_none.title}" if space_or_none is not None else ""
        titles_with_space += [f"{titles[page]}{where}" for page in titles if page in unsent]
    if count == 1:
        sentence = (
            f"Your draft of {titles_with_space[0]} has not been sent"
            if titles_with_space
            else "Your draft of a page has not been sent"
        )
        app.say(f"{sentence}. Press e on the page to continue.", tone="care", seconds=NOTICE_SECONDS)
    elif count:
        example = f", including {titles_with_space[0]}" if titles_with_space else ""
        message = f"You have unsent drafts of {count} pages{example}. Press 2 to see the marked pages, then press e on a page to continue."
        app.say(message, tone="care", seconds=NOTICE_SECONDS)
