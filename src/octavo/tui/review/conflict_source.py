"""The conflicts of a change request: where they are found, what their sides are called, and where choices are saved."""

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
    """The conflicts of a change request, or of a merged change request whose conflicts are resolved in this one."""

    def __init__(
        self,
        app: Shell,
        change_request: ChangeRequest,
        space: SpaceRef,
        *,
        of: ChangeRequest | None = None,
        then: Callable[[ChangeRequest, tuple[str, ...]], None] = lambda change_request, pages: None,
    ) -> None:
        """`of` is the merged change request; `then` gets the change request that was written, and the pages."""
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
        return "main", "this change request" if self._of is None else f"#{self._of.number}"

    @property
    def mine(self) -> str:
        """What this side is called in a text that shows both."""
        return f"#{self.change_request.number}"

    @property
    def against(self) -> str:
        """What a page is compared with before it is saved."""
        if self._of is not None:
            return f"main before #{self._of.number} was merged"
        return "an earlier revision of main" if self.change_request.outdated else "main"

    @property
    def was_answered(self) -> bool:
        """Whether the update that made what is there now was answered with conflicts."""
        kept = self.app.session.state.get_fact(f"update {self.change_request.id}")
        made = kept.get("conflicts") if isinstance(kept, dict) else None
        return made is not None and made == self.change_request.revision

    async def found(self) -> OpenConflicts:
        """Return the conflicts. Raise ApiError."""
        live, space = self.app.session.live, self.at.space_id
        self.change_request = await live.fetch(change_requests.Get(at=self.at))
        state = self.app.session.state
        resolves = state.get_fact(f"resolves {self.change_request.id}")
        if self._of is None and isinstance(resolves, str):
            of = ChangeRequestRef(space_id=space, change_request_id=resolves)
            self._of = await live.fetch(change_requests.Get(at=of))
        source = self._of or self.change_request
        merged = self._of.revision_merged if self._of is not None else None
        place = RevisionRef(space_id=space, revision_id=merged) if merged is not None else self.at
        changed = await live.fetch(content.ListChanges(at=place, limit=1000))
        kept = state.get_fact(f"update {source.id}")
        met = await merge_revisions(live, source.ref(self.space), source, kept)
        told = remembered(kept) if self.was_answered and self._of is None else None
        settled = kept.get("settled", ()) if isinstance(kept, dict) else ()
        return await look(
            live, self.at, self.change_request.revision, changed, met, told=told, settled=frozenset(map(str, settled))
        )

    async def send(self, found: OpenConflicts, choices: Choices, close: Callable[[tuple[str, ...]], bool]) -> None:
        """Save the choices. `close` gets the pages that were written, and returns whether no conflict is left."""

        def written(pages: tuple[str, ...]) -> None:
            if close(pages):
                self._then(self.change_request, pages)

        await conflict_choices.send(self.app, self.at, self.change_request, found, choices, written)
