"""The switcher of organizations: your role and the numbers of open items in each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from octavo.api.labels import label
from octavo.api.operation import ListPage
from octavo.api.organizations import GetMember, Member, Organization
from octavo.api.places import OrganizationRef
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.data.queries import spaces_of
from octavo.tui.shell.view import Subscriptions
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.chooser import Choice, Chooser
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

MOST_ASKED = 50
"""As many organizations say what waits in them."""


class OrganizationMenu(Chooser[Organization | None, Organization]):
    """Choose the organization that is on show. What waits in each is told as it becomes known."""

    def __init__(self) -> None:
        super().__init__("Switch organization")
        self._subscriptions = Subscriptions(self)
        self._roles: dict[str, str] = {}
        self._spaces: dict[str, tuple[Space, ...]] = {}
        """The spaces of each organization that loaded, by its id."""
        self._failed: dict[str, str] = {}
        """Why the spaces of an organization could not be loaded, by its id."""

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def select_initial(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        for organization in self._known[:MOST_ASKED]:
            at = OrganizationRef(organization_id=organization.id)
            spaces = spaces_of(organization.id)
            self._subscriptions.follow(f"spaces {at.organization_id}", spaces, partial(self._show_spaces, organization))
            if (me := self.shell.workspace.me) is not None:
                member = GetMember(at=at, user_id=me.id)
                self._subscriptions.follow(
                    f"member {at.organization_id}", member, partial(self._show_role, organization)
                )
        self._show()

    def on_unmount(self) -> None:
        self._subscriptions.stop()

    @property
    def _known(self) -> tuple[Organization, ...]:
        answer = self.shell.workspace.organizations
        return answer.value.items if answer.value is not None else ()

    def _show_spaces(self, organization: Organization, snapshot: Snapshot[ListPage[Space]]) -> None:
        if snapshot.value is not None:
            self._spaces[organization.id] = snapshot.value.items
        elif snapshot.error is not None:
            self._failed[organization.id] = f"Could not load the spaces: {snapshot.error}"
        self._show()

    def _counts(self, organization: Organization) -> str:
        """Return the numbers of an organization as shown. The current one has the same number of threads as the top bar; of
        the others only the threads on pages are counted, because their change requests are not loaded."""
        spaces, workspace = self._spaces.get(organization.id), self.shell.workspace
        if spaces is None:
            return self._failed.get(organization.id, "…")
        if workspace.organization is not None and workspace.organization.id == organization.id:
            threads = plural(workspace.counts["comments"], "open thread")
        else:
            threads = f"{plural(sum(each.comments for each in spaces), 'open thread')} on pages"
        requests = plural(sum(each.change_requests_open for each in spaces), "open change request")
        return f"{plural(len(spaces), 'space')} · {requests} · {threads}"

    def _show_role(self, organization: Organization, snapshot: Snapshot[Member]) -> None:
        if snapshot.value is not None:
            self._roles[organization.id] = label(snapshot.value.role or "guest")
            self._show()

    def choices(self) -> list[Choice[Organization]]:
        here = self.shell.workspace.organization
        return [
            Choice(
                each,
                each.title,
                detail=" · ".join(filter(None, (self._roles.get(each.id), self._counts(each)))),
                right="current" if here is not None and here.id == each.id else "",
                sign="◆",
            )
            for each in self._known
        ]

    def accept(self, choice: Choice[Organization]) -> None:
        self.dismiss(choice.value)

    def _show(self) -> None:
        if not is_whole(self):
            return
        nowhere = self.shell.workspace.nowhere
        self._empty = f"{nowhere[0]}." if nowhere is not None else "Loading organizations…"
        self.rows.state.hint = nowhere[1] if nowhere is not None else ""
        self.show_choices(self.choices())
