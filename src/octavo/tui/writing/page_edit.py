"""A page opened in the person's own editor, and what they wrote sent as content of a change request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import SpaceRef
from octavo.api.text import Raw
from octavo.data.state_db import NotSaved
from octavo.data.writes.content_writes import page_source
from octavo.documents.conflict_markers import find_markers
from octavo.tui.shell.dialog_draft import DialogDraft, why_not_saved
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.shell.progress import meanwhile
from octavo.tui.terminal.external_editor import FileNote, NotEdited, edit_text
from octavo.tui.widgets.wording import long_age, plural
from octavo.tui.writing import target_request
from octavo.tui.writing.line_of_block import line_of
from octavo.tui.writing.page_drafts import (
    PageDraft,
    PagePlace,
    folder,
    free_place,
    keep_base,
    page_drafts,
    take_over,
    with_own_end,
)
from octavo.tui.writing.routes import ToConflicts
from octavo.tui.writing.target_request import TargetRequest
from octavo.tui.writing.write_page import PageOutcome, write_page

if TYPE_CHECKING:
    from octavo.documents.blocks import Block
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

KEPT = "Your text is saved as a draft. Press e on the page to continue."


@dataclass(frozen=True)
class PageEdit:
    """One page that is edited: from the key to the change request."""

    app: Shell
    space: SpaceRef
    page: str
    title: str
    change_request: ChangeRequest | None = None
    """Where it is read and written. Without one, what is live is read, and the person is asked where it goes."""
    ended: Callable[[ChangeRequest | None], None] = lambda _: None
    """Called when it was sent, with the change request that has it; with None when it is a draft still, or again."""
    block: Block | None = None
    """What the editor opens at."""

    async def start(self) -> None:
        """Go on with what is not sent, or open the page. Returns when the editor was closed, or a dialog is open."""
        try:
            await take_over(self.app, self.space.space_id, self.page)
        except NotSaved as error:
            self.app.say(f"Could not open {self.title}: {error}", tone="failed")
            return
        into = self.change_request.id if self.change_request is not None else ""
        drafts = page_drafts(self.app.session.drafts, self.space.space_id, self.page, into)
        if drafts:
            with meanwhile(self.app, f"Opening {self.title}…"):
                named = [await self._named(draft.place) for draft in drafts]
            self._offer(drafts, named)
        else:
            await self._open_anew()

    async def open_with(self, change: Callable[[str], str]) -> None:
        """Open the page as it is now with a `change` made to it, which is sent when the editor changes anything more."""
        if self.change_request is not None:
            await self._read(TargetRequest(self.space, change_request=self.change_request), change)

    async def _open_anew(self) -> None:
        if self.change_request is not None:
            await self._read(TargetRequest(self.space, change_request=self.change_request))
        else:
            await target_request.choose(self.app, self.space, f"Edit {self.title}", self._read)

    # What was written before

    def _offer(self, drafts: tuple[PageDraft, ...], named: list[str]) -> None:
        """Ask what becomes of texts that are not sent."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        choices: list[Choice[Callable[[], Coroutine[Any, Any, None]]]] = []
        for draft, name in zip(drafts, named, strict=True):
            group = f"Unsent draft from {long_age(draft.saved_at)} for {name}"
            marked = len(find_markers(draft.text.text))
            if marked and draft.place.change_request:
                said = f"{plural(marked, 'conflict')} with the change request"
                choices.append(Choice(partial(self._settle_draft, draft), "Resolve conflicts", said, group=group))
            what = f"in your editor, with {plural(marked, 'conflict')} marked" if marked else "in your editor"
            choices += [
                Choice(partial(self._go_on, draft), "Continue editing", what, group=group),
                Choice(
                    partial(self._send_draft, draft),
                    "Save the draft to the server",
                    "without further edits",
                    group=group,
                ),
                Choice(partial(self._drop, draft), "Discard the draft", "you cannot undo this", group=group),
            ]
        stay = "the draft will be kept" if len(drafts) == 1 else "the drafts will be kept"
        choices.append(Choice(self._open_anew, "Start a new edit", f"from the current page ({stay})", group="Or"))

        def chosen(act: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
            if act is not None:
                self.app.background(act())

        self.app.push_screen(Picker(self.title, choices), chosen)

    async def _named(self, place: PagePlace) -> str:
        """Where a text goes, as far as that is known."""
        if not place.change_request:
            return TargetRequest(self.space).title
        try:
            found = await self.app.session.live.cached_or_fetch(change_requests.Get(at=place.into))
        except ApiError:
            return "a change request"
        return TargetRequest(self.space, change_request=found).title

    async def _go_on(self, draft: PageDraft) -> None:
        if (into := await self._into(draft.place)) is not None:
            await self._edit(draft.place, into, draft.text)

    async def _send_draft(self, draft: PageDraft) -> None:
        if (into := await self._into(draft.place)) is not None:
            self._settle_first(draft.place, into, draft.text)

    async def _drop(self, draft: PageDraft) -> None:
        from octavo.tui.widgets.confirm import ConfirmDialog

        async def drop() -> None:
            await DialogDraft(self.app, draft.place.name).save("")
            self.ended(None)

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self.app.background(drop())

        said = f"Your draft from {long_age(draft.saved_at)} will be lost. You cannot undo this. The page {self.title} itself will not change."
        self.app.push_screen(ConfirmDialog(f"Discard your draft of {self.title}?", verb="Discard", intro=said), decided)

    async def _into(self, place: PagePlace) -> TargetRequest | None:
        """Where a text goes that was written before. None when that cannot be asked, which was said."""
        new = target_request.new(self.space, f"Edit {self.title}")
        if not place.change_request:
            return new
        try:
            found = await self.app.session.live.fetch(change_requests.Get(at=place.into))
        except ApiError as error:
            self.app.say(f"Could not load the change request for this draft: {error}", tone="failed")
            return None
        if found.status not in UNDECIDED:
            self.app.say(
                f"#{found.number} is now {found.status}. Your text will be saved to a new change request.", tone="care"
            )
            return new
        return TargetRequest(self.space, change_request=found)

    # The editor

    async def _read(self, into: TargetRequest, change: Callable[[str], str] = lambda text: text) -> None:
        """Read the page as it is now, and open it."""
        try:
            with meanwhile(self.app, f"Opening {self.title}…"):
                stands = await self._head(into)
                into_id = into.change_request.id if into.change_request is not None else ""
                place = free_place(
                    self.app.session.drafts, PagePlace(self.space.space_id, self.page, stands or "", into_id)
                )
                text = await page_source(self.app.session.live, place.base, self.page) if stands else None
        except ApiError as error:
            self.app.say(f"Could not open {self.title}: {error}", tone="failed")
            return
        if text is None:
            where = into.title if into.change_request is not None else "main"
            self.app.say(f"Could not edit {self.title}: the page is not in {where}, or it has no text.", tone="care")
            return
        await self._edit(place, into, Raw(change(text.text)))

    async def _head(self, into: TargetRequest) -> str | None:
        """Where it stands now."""
        live = self.app.session.live
        if into.at is not None:
            return (await live.fetch(change_requests.Get(at=into.at))).revision
        return (await live.fetch(spaces.Get(at=self.space))).revision

    async def _edit(self, place: PagePlace, into: TargetRequest, text: Raw) -> None:
        line = await asyncio.to_thread(line_of, text.text, self.block) if self.block is not None else 1
        kept = DialogDraft(self.app, place.name)

        def keep(written: str) -> str:
            written = with_own_end(text.text, written)
            return why_not_saved(kept.save_now, written) if written.strip() and written != text.text else ""

        name = place.file_name(self.app.session)
        about = FileNote(self.title, place.name, self.app.session.state.namespace)
        result = edit_text(self.app, text.text, folder(self.app), name=name, keep=keep, note=about, line=line)
        if isinstance(result, NotEdited):
            self.app.say(result.message, tone="care", seconds=10.0)
            self.ended(None)
            return
        mine = Raw(with_own_end(text.text, result.text))
        if mine == text:
            self.app.say("You made no changes, so nothing was sent.")
            self.ended(None)
        elif not mine.text.strip():
            self.app.say(
                f"Nothing was sent, because the text of {self.title} is empty. To delete the page, select the page in the table of contents and press X.",
                tone="care",
            )
        else:
            self._settle_first(place, into, mine)

    def _settle_first(self, place: PagePlace, into: TargetRequest, mine: Raw) -> None:
        """Send it. Where conflicts are still marked in it, ask before."""
        from octavo.tui.widgets.confirm import ConfirmDialog

        number = len(find_markers(mine.text))
        if not number:
            self.send(place, into, mine)
            return

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self.send(place, into, mine)
            else:
                self.app.say(KEPT)
                self.ended(None)

        what = plural(number, "conflict")
        said = (
            f"The text still contains {what}, marked with <<<<<<<, =======, and >>>>>>>. "
            "If you send the text, readers will see both versions after the merge."
        )
        self.app.push_screen(ConfirmDialog(f"Send {self.title} with conflicts?", verb="Send", intro=said), decided)

    # Sending

    def send(self, place: PagePlace, into: TargetRequest, mine: Raw) -> None:
        """Send it in the background."""
        self.app.background(self._sent(place, into, mine))

    async def _sent(self, place: PagePlace, into: TargetRequest, mine: Raw) -> None:
        """Send it, and say what became of it. What others wrote in the same places is settled side by side."""
        with meanwhile(self.app, f"Saving {self.title} to {into.title}…"):
            written = await self._written(place, into, mine)
        self.ended(written)

    async def _written(self, place: PagePlace, into: TargetRequest, mine: Raw) -> ChangeRequest | None:
        """The change request, when it has `mine`. What became of it was said."""
        app, on_show = self.app, self.app.screen
        change_request = await target_request.started(app, into)
        if change_request is None:
            return None
        try:
            place = await self._settle(place, change_request, mine)
            outcome = await write_page(app.session.live, change_request.ref(self.space), self.page, place.base, mine)
            if outcome.kind == "conflict" and outcome.text is not None:
                place = await self._keep_both(place, outcome.text, outcome.revision)
        except NotSaved as error:
            app.say(f"Could not send {self.title}: {error}", tone="failed")
            return None
        named = f"#{change_request.number} {change_request.title}"
        if outcome.kind in ("sent", "merged", "same"):
            DialogDraft(app, place.name).drop()
            target_request.wrote(app, self.space, change_request)
            app.say(await self._said(named, place, outcome))
            return change_request
        if outcome.kind == "conflict":
            said = f"Could not send {self.title}: others changed the same text in {named}."
            if app.screen is on_show:  # who went elsewhere meanwhile is not taken away from there
                app.say(f"{said} Resolve the conflicts.", tone="care", seconds=10.0)
                self._settle_conflicts(place, TargetRequest(self.space, change_request=change_request))
            else:
                app.say(f"{said} Press e on the page to resolve the conflicts.", tone="care", seconds=15.0)
        else:
            app.say(f"{outcome.sentence} {KEPT}", tone="failed", seconds=10.0)
        return None

    async def _keep_both(self, place: PagePlace, both: Raw, revision: str) -> PagePlace:
        """Let the draft be what is to be settled, on top of what others wrote. Raises NotSaved."""
        after = replace(place, revision=revision)
        await DialogDraft(self.app, after.name).save(both.text)
        if after != place:
            keep_base(self.app, after, place.revision)
            await DialogDraft(self.app, place.name).save("")
        return after

    def _settle_conflicts(self, place: PagePlace, into: TargetRequest) -> None:
        if into.change_request is not None:
            self.app.go(ToConflicts(self, place, into, into.change_request))

    async def _settle_draft(self, draft: PageDraft) -> None:
        if (into := await self._into(draft.place)) is not None:
            self._settle_conflicts(draft.place, into)

    async def _settle(self, place: PagePlace, change_request: ChangeRequest, mine: Raw) -> PagePlace:
        """Let the draft be one for the change request that was started: the next time no other is. Raises NotSaved."""
        settled = replace(place, change_request=change_request.id)
        if settled != place:
            await DialogDraft(self.app, settled.name).save(mine.text)
            await DialogDraft(self.app, place.name).save("")
        return settled

    async def _said(self, named: str, place: PagePlace, outcome: PageOutcome) -> str:
        if outcome.kind == "same":
            return f"{named} already has this text."
        also = (
            " The page also includes the changes that others made in the meantime." if outcome.kind == "merged" else ""
        )
        try:
            there = await page_source(self.app.session.live, replace(place, revision=outcome.revision).base, self.page)
        except ApiError:
            there = outcome.text
        if there != outcome.text:
            also += " The server changed the formatting when it saved the page. Check the diff."
        return f"Saved {self.title} to {named}.{also}"
