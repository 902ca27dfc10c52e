"""The conflicts of a page that you wrote in an editor while others changed the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from octavo.api.errors import ApiError
from octavo.api.text import Raw
from octavo.data.state_db import NotSaved
from octavo.data.writes.content_writes import page_source
from octavo.documents.merging.marked_page import read_marked_page
from octavo.documents.merging.merged_page import MergedPage
from octavo.documents.merging.page_merge import merge
from octavo.tui.review.conflict_choices import Choices
from octavo.tui.review.conflict_finder import ConflictedPage, OpenConflicts
from octavo.tui.review.conflict_source import ConflictSource
from octavo.tui.review.conflicts import CONFLICT, ConflictsScreen
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.commands import Commands
from octavo.tui.writing.page_drafts import conflict_base
from octavo.tui.writing.routes import ToConflicts
from octavo.tui.writing.write_page import OWN_LABEL


class DraftConflicts(ConflictSource):
    """The conflicts of a draft of a page, with what others wrote."""

    sides = ("theirs", "yours")
    mine = OWN_LABEL
    against = "the version that others saved"
    was_answered = False

    def __init__(self, app: Shell, route: ToConflicts) -> None:
        super().__init__(app, route.change_request, route.edit.space)
        self._edit, self._place, self._into = route.edit, route.key, route.target

    @property
    def name(self) -> str:
        return self._place.text

    async def found(self) -> OpenConflicts:
        """What is between marks in the draft. What both come from is read, and goes missing without a connection."""
        marked = DialogDraft(self.app, self.name).text
        base = conflict_base(self.app, self._place)
        live = self.app.session.live
        try:
            before, theirs = [
                await page_source(live, place, self._place.page) if place is not None else None
                for place in (base, self._place.base_ref)
            ]
        except ApiError:
            before = theirs = None
        found = await asyncio.to_thread(_merged, marked, before, theirs)
        page = ConflictedPage(
            self._place.page, self._edit.title, found, main=theirs.text if theirs is not None else None
        )
        return OpenConflicts(self._place.revision, (page,) if page.conflicts else ())

    async def send(self, found: OpenConflicts, choices: Choices, close: Callable[[tuple[str, ...]], bool]) -> None:
        """Let the draft be what was decided, and send that as it would be from the editor."""
        (page,) = found.pages
        decided = choices.all
        text = page.text(decided, self.mine)
        try:
            await DialogDraft(self.app, self.name).save(text)
        except NotSaved as error:
            self.app.say(f"Could not save the page: {error}", tone="failed")
            return
        choices.settle(found, decided)
        close((page.page,))
        self._edit.send(self._place, self._into, Raw(text))


class OwnConflictsScreen(ConflictsScreen):
    """The conflicts of one draft of a page."""

    HELP = (
        "Someone else changed the same text while you were editing. Press m to use their version, t to use your version, "
        "b to use both versions, or e to open your editor. Press the same key again to clear the choice. "
        "Press ctrl+s to save the page. Press esc to go back and keep your choices."
    )
    CSS_PATH = "conflicts.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        CONFLICT.only("main", "this", "both")
        .with_changed("main", title="Use theirs", help="Use the version that others saved, or clear this choice")
        .with_changed("this", title="Use yours", help="Use your version, or clear this choice")
        .with_changed("both", help="Use both versions (theirs first), or clear this choice"),
    )

    def __init__(self, app: Shell, route: ToConflicts) -> None:
        super().__init__(DraftConflicts(app, route))


def _merged(marked: str, before: Raw | None, theirs: Raw | None) -> MergedPage:
    """The page of a draft with marks in it, with what both sides come from as far as that is known."""
    found = read_marked_page(marked)
    if before is None or theirs is None:
        return found
    return read_marked_page(marked, merge(before.text, theirs.text, found.text_with_choice("request")))
