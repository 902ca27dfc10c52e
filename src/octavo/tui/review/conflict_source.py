"""The conflicts of a change request, with the names of both sides, and the change request that gets the choices."""

from __future__ import annotations

from collections.abc import Callable

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.tui.core.shell import Shell
from octavo.tui.review import conflict_choices
from octavo.tui.review.conflict_choices import Choices
from octavo.tui.review.conflict_finder import OpenConflicts, find_conflicts, merge_revisions, stored_revisions


class ConflictSource:
    """Conflicts of a change request, or of a merged change request whose conflicts are resolved in another one."""

    def __init__(
        self,
        app: Shell,
        change_request: ChangeRequest,
        space: SpaceRef,
        *,
        merged_request: ChangeRequest | None = None,
        on_written: Callable[[ChangeRequest, tuple[str, ...]], None] = lambda change_request, pages: None,
    ) -> None:
        """`merged_request` is the merged change request. `on_written` gets the edited change request and its pages."""
        self.app, self.change_request, self.space = app, change_request, space
        self.at: ChangeRequestRef = change_request.ref(space)
        self._merged_request, self._on_written = merged_request, on_written

    @property
    def key(self) -> str:
        """Return the key under which the choices are stored."""
        return self.change_request.id

    @property
    def sides(self) -> tuple[str, str]:
        """Return the names of the two sides."""
        return "main", "this change request" if self._merged_request is None else f"#{self._merged_request.number}"

    @property
    def label(self) -> str:
        """Return the name of the change request in a text with both sides of a conflict."""
        return f"#{self.change_request.number}"

    @property
    def base_name(self) -> str:
        """Return the name of the version that a page is compared with before it is saved."""
        if self._merged_request is not None:
            return f"main before #{self._merged_request.number} was merged"
        return "an earlier revision of main" if self.change_request.outdated else "main"

    @property
    def has_server_conflicts(self) -> bool:
        """Return whether the server reported conflicts for the current revision when the change request was updated."""
        update_fact = self.app.session.state.get_fact(f"update {self.change_request.id}")
        revision = update_fact.get("conflicts") if isinstance(update_fact, dict) else None
        return revision is not None and revision == self.change_request.revision

    async def load(self) -> OpenConflicts:
        """Load and return the conflicts. Raise ApiError."""
        live, space = self.app.session.live, self.at.space_id
        self.change_request = await live.fetch(change_requests.Get(at=self.at))
        state = self.app.session.state
        resolves = state.get_fact(f"resolves {self.change_request.id}")
        if self._merged_request is None and isinstance(resolves, str):
            merged_ref = ChangeRequestRef(space_id=space, change_request_id=resolves)
            self._merged_request = await live.fetch(change_requests.Get(at=merged_ref))
        source = self._merged_request or self.change_request
        merged = self._merged_request.revision_merged if self._merged_request is not None else None
        place = RevisionRef(space_id=space, revision_id=merged) if merged is not None else self.at
        changed = await live.fetch(content.ListChanges(at=place, limit=1000))
        update_fact = state.get_fact(f"update {source.id}")
        revisions = await merge_revisions(live, source.ref(self.space), source, update_fact)
        server_revisions = (
            stored_revisions(update_fact) if self.has_server_conflicts and self._merged_request is None else None
        )
        resolved = update_fact.get("settled", ()) if isinstance(update_fact, dict) else ()
        return await find_conflicts(
            live,
            self.at,
            self.change_request.revision,
            changed,
            revisions,
            server_revisions=server_revisions,
            resolved_pages=frozenset(map(str, resolved)),
        )

    async def send(self, conflicts: OpenConflicts, choices: Choices, close: Callable[[tuple[str, ...]], bool]) -> None:
        """Save the choices. `close` gets the edited pages and returns whether all conflicts are resolved."""

        def written(pages: tuple[str, ...]) -> None:
            if close(pages):
                self._on_written(self.change_request, pages)

        await conflict_choices.save_choices(self.app, self.at, self.change_request, conflicts, choices, written)
