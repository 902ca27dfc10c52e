"""Where conflicts are found, what their sides are called, and where what is decided goes: those of a change request."""

from __future__ import annotations

from collections.abc import Callable

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.tui.review import conflict_choices
from octavo.tui.review.conflict_choices import Choices
from octavo.tui.review.conflict_finder import OpenConflicts, look, merge_revisions, remembered
from octavo.tui.shell.shell import Shell


class ConflictSource:
    """The conflicts of a change request, or those that a merged one left and that are decided in this one."""

    def __init__(
        self,
        app: Shell,
        change_request: ChangeRequest,
        space: SpaceRef,
        *,
        of: ChangeRequest | None = None,
        then: Callable[[ChangeRequest, tuple[str, ...]], None] = lambda change_request, pages: None,
    ) -> None:
        """`of` is the merged one; `then` gets what was written in the end, and on which pages."""
        self.app, self.change_request, self.space = app, change_request, space
        self.at: ChangeRequestRef = change_request.ref(space)
        self._of, self._then = of, then

    @property
    def name(self) -> str:
        """What choices are kept under."""
        return self.change_request.id

    @property
    def sides(self) -> tuple[str, str]:
        """What the two sides are called."""
        number = self._of.number if self._of is not None else self.change_request.number
        return "main", f"#{number}" if number else "this"

    @property
    def mine(self) -> str:
        """What this side is called in a text that shows both."""
        return f"#{self.change_request.number}"

    @property
    def against(self) -> str:
        """What a page is compared with before it is sent."""
        if self._of is not None:
            return f"main as it was before #{self._of.number} was merged"
        return "main" + (", which moved on since: U brings that in" if self.change_request.outdated else "")

    @property
    def was_answered(self) -> bool:
        """Whether the update that made what is there now was answered with conflicts."""
        kept = self.app.session.state.recall(f"update {self.change_request.id}")
        made = kept.get("conflicts") if isinstance(kept, dict) else None
        return made is not None and made == self.change_request.revision

    async def found(self) -> OpenConflicts:
        """What is in conflict. Raises ApiError."""
        live, space = self.app.session.live, self.at.space_id
        self.change_request = await live.fetch(change_requests.Get(at=self.at))
        state = self.app.session.state
        resolves = state.recall(f"resolves {self.change_request.id}")
        if self._of is None and isinstance(resolves, str):
            of = ChangeRequestRef(space_id=space, change_request_id=resolves)
            self._of = await live.fetch(change_requests.Get(at=of))
        source = self._of or self.change_request
        merged = self._of.revision_merged if self._of is not None else None
        place = RevisionRef(space_id=space, revision_id=merged) if merged is not None else self.at
        changed = await live.fetch(content.ListChanges(at=place, limit=1000))
        kept = state.recall(f"update {source.id}")
        met = await merge_revisions(live, source.ref(self.space), source, kept)
        told = remembered(kept) if self.was_answered and self._of is None else None
        settled = kept.get("settled", ()) if isinstance(kept, dict) else ()
        return await look(
            live, self.at, self.change_request.revision, changed, met, told=told, settled=frozenset(map(str, settled))
        )

    async def send(self, found: OpenConflicts, choices: Choices, close: Callable[[tuple[str, ...]], bool]) -> None:
        """Send what is decided of what was found. `close` gets the pages that were written, and says whether there is nothing
        left to decide."""

        def written(pages: tuple[str, ...]) -> None:
            if close(pages):
                self._then(self.change_request, pages)

        await conflict_choices.send(self.app, self.at, self.change_request, found, choices, written)
