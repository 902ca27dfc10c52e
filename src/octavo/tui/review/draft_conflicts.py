"""The conflicts of a page that you wrote in an editor while others changed the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from octavo.api.errors import ApiError
from octavo.api.places import SpaceRef
from octavo.api.text import Raw
from octavo.data.state_db import NotSaved
from octavo.data.writes.content_writes import OWN_LABEL, page_source
from octavo.documents.merging.merged_page import MergedPage, read_marked_page
from octavo.documents.merging.page_merge import merge
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.shell import Shell
from octavo.tui.editing.page_drafts import ToConflicts, conflict_base
from octavo.tui.review.conflict_choices import Choices, ConflictSource
from octavo.tui.review.conflict_finder import ConflictedPage, OpenConflicts
from octavo.tui.review.conflicts import CONFLICT_COMMANDS, ConflictsScreen
from octavo.tui.widgets.commands import Commands


class DraftConflicts(ConflictSource):
    """Conflicts between a draft of a page and the version that others saved."""

    sides = ("theirs", "yours")
    label = OWN_LABEL
    base_name = "the version that others saved"
    has_server_conflicts = False

    def __init__(self, app: Shell, route: ToConflicts) -> None:
        super().__init__(app, route.change_request, SpaceRef(space_id=route.key.space))
        self._route, self._draft = route, route.key

    @property
    def key(self) -> str:
        return self._draft.text

    async def load(self) -> OpenConflicts:
        """Return the conflicts that are marked in the draft. Without a connection the base of the conflicts is
        unknown."""
        source = DialogDraft(self.app, self.key).text
        base = conflict_base(self.app, self._draft)
        live = self.app.session.live
        try:
            before, theirs = [
                await page_source(live, ref, self._draft.page) if ref is not None else None
                for ref in (base, self._draft.base_ref)
            ]
        except ApiError:
            before = theirs = None
        merged = await asyncio.to_thread(_read_draft, source, before, theirs)
        page = ConflictedPage(
            self._draft.page, self._route.title, merged, main=theirs.text if theirs is not None else None
        )
        return OpenConflicts(self._draft.revision, (page,) if page.conflicts else ())

    async def send(self, conflicts: OpenConflicts, choices: Choices, close: Callable[[tuple[str, ...]], bool]) -> None:
        """Apply the choices to the draft, store the draft and send it."""
        (page,) = conflicts.pages
        chosen = choices.by_name
        text = page.text(chosen, self.label)
        try:
            await DialogDraft(self.app, self.key).save(text)
        except NotSaved as error:
            self.app.say(f"Could not save the page: {error}", tone="failed")
            return
        choices.clear_saved(conflicts, chosen)
        close((page.page,))
        self._route.send(Raw(text))


class DraftConflictsScreen(ConflictsScreen):
    """View of the conflicts of a draft of a page."""

    HELP = (
        "Someone else changed the same text while you were editing. Press m to use their version, t to use your version, "
        "b to use both versions, or e to open your editor. Press the same key again to clear the choice. "
        "Press ctrl+s to save the page. Press esc to go back and keep your choices."
    )
    CSS_PATH = "conflicts.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        CONFLICT_COMMANDS.only("main", "this", "both")
        .with_changed("main", title="Use theirs", help="Use the version that others saved, or clear this choice")
        .with_changed("this", title="Use yours", help="Use your version, or clear this choice")
        .with_changed("both", help="Use both versions (theirs first), or clear this choice"),
    )

    def __init__(self, app: Shell, route: ToConflicts) -> None:
        super().__init__(DraftConflicts(app, route))


def _read_draft(source: str, before: Raw | None, theirs: Raw | None) -> MergedPage:
    """Return the page of a draft with its conflicts. The conflicts have a base if both other versions are loaded."""
    merged = read_marked_page(source)
    if before is None or theirs is None:
        return merged
    return read_marked_page(source, merge(before.text, theirs.text, merged.text_with_choice("request")))
