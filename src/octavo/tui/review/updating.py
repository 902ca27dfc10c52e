"""Updating a change request: what changed in the primary content comes into it, and conflicts are resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.tui.shell.permissions import UNDECIDED, KnowsPermissions

if TYPE_CHECKING:
    from octavo.tui.widgets.confirm import Confirmed


class Updating(KnowsPermissions):
    """A view with a change request in it that can be updated from the primary content, and its conflicts resolved."""

    CONTEXT: ClassVar[str] = "change requests"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("U", "update_main", "Update", show=False, tooltip="See what changed in the primary content and may conflict, then bring it in", id="change.update"),
        Binding("R", "resolve", "Resolve", show=False, tooltip="Decide what an update or a merge could not, conflict by conflict", id="change.resolve"),
    ]  # fmt: skip

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "update_main":
            return self.not_allowed("edit", *UNDECIDED)
        if action == "resolve":
            return self.not_allowed("edit", *UNDECIDED, "merged")
        return super().why_not(action, parameters)

    def action_update_main(self) -> None:
        from octavo.tui.review.update_dialog import UpdateDialog

        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        if not change_request.outdated:
            self.shell.say(f"#{change_request.number} is up to date with the primary content.")
            return
        app, on_show = self.shell, self

        def resolve() -> None:
            if app.screen is on_show:  # who went elsewhere meanwhile is not taken away from there: R resolves
                on_show.open_conflicts(change_request)

        self.app.push_screen(UpdateDialog(app, change_request.ref(space), change_request, resolve))

    def action_resolve(self) -> None:
        change_request, space = self.change_request, self.space_ref
        if change_request is None or space is None:
            return
        if change_request.status != "merged":
            self.open_conflicts(change_request)
            return
        self.background(self._resolve_merged(change_request))

    def open_conflicts(self, change_request: ChangeRequest, of: ChangeRequest | None = None) -> None:
        """Show what is in conflict in `change_request`, which may be there to settle the conflicts `of` a merged one."""
        from octavo.tui.review.conflicts import ConflictsScreen

        if (space := self.space_ref) is not None:
            self.app.push_screen(ConflictsScreen(change_request, space, of=of))

    async def _resolve_merged(self, merged: ChangeRequest) -> None:
        """Start a change request for the conflicts a merge left in the primary content, if it left any."""
        from octavo.tui.review.conflict_finder import look
        from octavo.tui.widgets.confirm import Confirm

        space, live = self.space_ref, self.live
        if space is None or merged.revision_merged is None:
            self.shell.say(f"The server does not say what the merge of #{merged.number} made.", tone="care")
            return
        made = RevisionRef(space_id=space.space_id, revision_id=merged.revision_merged)
        try:
            if (begun := await self._begun(merged, space)) is not None:
                self.open_conflicts(begun, merged)
                return
            changed = await live.known(content.ListChanges(at=made, limit=1000))
            found = await look(live, space, None, changed, None)
        except ApiError as error:
            self.shell.say(f"Couldn't look for conflicts of #{merged.number}: {error}", tone="failed")
            return
        if not found.pages:
            self.shell.say(f"#{merged.number} left no conflict on a page of the primary content.")
            return
        subject = f"Resolve the conflicts of #{merged.number}"
        pages = ", ".join(page.title for page in found.pages[:3])
        more = f" and {len(found.pages) - 3} more" if len(found.pages) > 3 else ""

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self.background(self._start(subject, merged))

        said = f"Both sides are marked in what readers see on {pages}{more}. They are decided in a change request of their own."
        self.app.push_screen(Confirm(f"{subject}?", verb="Start", intro=said), decided)

    async def _begun(self, merged: ChangeRequest, space: SpaceRef) -> ChangeRequest | None:
        """The change request that was started here for the conflicts of a merged one, while it is worked on."""
        name = self.shell.session.state.recall(f"resolved in {merged.id}")
        if not isinstance(name, str):
            return None
        at = ChangeRequestRef(space_id=space.space_id, change_request_id=name)
        try:
            begun: ChangeRequest = await self.live.fetch(change_requests.Get(at=at))
        except NotFound:
            return None
        return begun if begun.status in UNDECIDED else None

    async def _start(self, subject: str, merged: ChangeRequest) -> None:
        from octavo.data.deciding import create

        space = self.space_ref
        if space is None:
            return
        sent = await create(self.live, space, subject)
        if sent.kind != "done" or sent.answer is None:
            self.shell.say(sent.sentence, tone="failed")
            return
        state = self.shell.session.state
        state.remember(f"resolved in {merged.id}", sent.answer.id)
        state.remember(f"resolves {sent.answer.id}", merged.id)
        self.shell.say(f"Started #{sent.answer.number} {sent.answer.title}")
        if self.app.screen is self:
            self.open_conflicts(sent.answer, merged)
