"""Menus of the app: switch organization, switch demo user, and choose a help topic. Also the version of the server."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from octavo.api import system
from octavo.api.errors import ApiError
from octavo.api.labels import label
from octavo.api.operation import ListPage
from octavo.api.organizations import GetMember, Member, Organization
from octavo.api.places import OrganizationRef
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.data.queries import spaces_of
from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.help import TOPICS, text_of
from octavo.tui.app.accounts import reopen
from octavo.tui.core.connection import Subscriptions
from octavo.tui.core.shell import shell_of
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.chooser import Choice, Chooser, Picker
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

MOST_COUNTED = 50
"""Maximum number of organizations for which the numbers of open items are loaded."""
_PERMISSIONS = {
    "administrator": "do everything",
    "creator": "create spaces, review, and merge",
    "reviewer": "edit and review, but not merge",
    "editor": "edit and comment, but not review",
    "commenter": "read and comment",
    "reader": "read",
    "guest": "read one space only",
}
"""Permissions of each demo user, by role."""


class OrganizationMenu(Chooser[Organization | None, Organization]):
    """The menu of organizations, with your role and the numbers of open items in each."""

    def __init__(self) -> None:
        super().__init__("Switch organization")
        self._roles: dict[str, str] = {}
        self._spaces: dict[str, tuple[Space, ...]] = {}
        """Spaces by the id of their organization, as far as they are loaded."""
        self._failed: dict[str, str] = {}
        """Reason why the spaces of an organization could not be loaded, by organization id."""

    @property
    def shell(self) -> Shell:
        return shell_of(self)

    @cached_property
    def _subscriptions(self) -> Subscriptions:
        return Subscriptions(self, self.shell.workspace.connection)

    def select_initial(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        for organization in self._organizations[:MOST_COUNTED]:
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
    def _organizations(self) -> tuple[Organization, ...]:
        answer = self.shell.workspace.organizations
        return answer.value.items if answer.value is not None else ()

    def _show_spaces(self, organization: Organization, snapshot: Snapshot[ListPage[Space]]) -> None:
        if snapshot.value is not None:
            self._spaces[organization.id] = snapshot.value.items
        elif snapshot.error is not None:
            self._failed[organization.id] = f"Could not load the spaces: {snapshot.error}"
        self._show()

    def _counts(self, organization: Organization) -> str:
        """Return the numbers of spaces, change requests and threads of an organization, for display.

        Other organizations count only threads on pages, because their change requests are not loaded.
        """
        spaces, workspace = self._spaces.get(organization.id), self.shell.workspace
        if spaces is None:
            return self._failed.get(organization.id, "…")
        parts = [plural(len(spaces), "space")]
        parts.append(plural(sum(each.change_requests_open for each in spaces), "open change request"))
        if workspace.organization is None or workspace.organization.id != organization.id:
            parts.append(f"{plural(sum(each.comments for each in spaces), 'open thread')} on pages")
        elif (known := workspace.counts.get("comments")) is not None:
            parts.append(plural(known, "open thread"))
        return " · ".join(parts)

    def _show_role(self, organization: Organization, snapshot: Snapshot[Member]) -> None:
        if snapshot.value is not None:
            self._roles[organization.id] = label(snapshot.value.role or "guest")
            self._show()

    def choices(self) -> list[Choice[Organization]]:
        current = self.shell.workspace.organization
        return [
            Choice(
                each,
                each.title,
                detail=" · ".join(filter(None, (self._roles.get(each.id), self._counts(each)))),
                right="current" if current is not None and current.id == each.id else "",
                sign="◆",
            )
            for each in self._organizations
        ]

    def accept(self, choice: Choice[Organization]) -> None:
        self.dismiss(choice.value)

    def _show(self) -> None:
        if not is_whole(self):
            return
        reason = self.shell.workspace.no_organization_reason
        self._empty = f"{reason[0]}." if reason is not None else "Loading organizations…"
        self.rows.state.hint = reason[1] if reason is not None else ""
        self.show_choices(self.choices())


def choose_organization(app: Shell) -> None:
    """Show the menu of organizations, and switch to the chosen organization."""

    def switch(organization: Organization | None) -> None:
        if organization is not None:
            app.workspace.switch_organization(organization)

    app.push_screen(OrganizationMenu(), switch)


def choose_role(app: Shell) -> None:
    """Show the menu of demo users, and start the app again as the chosen user."""
    roles = app.session.demo_roles
    if roles is None:
        return
    choices = [Choice(role, role.capitalize(), right=f"can {_PERMISSIONS[role]}") for role in roles.roles]

    def switch(role: str | None) -> None:
        if role is not None and role != roles.current:
            reopen(app, lambda: (app.sign_in_methods, roles.open_session(role)))

    app.push_screen(Picker("Switch demo user", choices, initial=roles.current), switch)


def choose_topic(app: Shell) -> None:
    """Show the menu of help topics, then the chosen topic."""

    def show(topic: str | None) -> None:
        if topic is not None:
            blocks = parse(text_of(topic)).blocks
            app.push_screen(TextDialog(Block("note", children=blocks, key=topic), DeferredContent(), f"Help: {topic}"))

    app.push_screen(Picker("Help topics", [Choice(name, name, detail=about) for name, about in TOPICS.items()]), show)


def show_server_version(app: Shell) -> None:
    """Load the version of the server, and show it as a notification."""

    async def ask() -> None:
        try:
            service = await app.session.live.send(system.Get())
        except ApiError as error:
            app.say(f"Could not load the server version: {error}", tone="failed")
        else:
            app.say(f"Server version {service.version}{f', build {service.build}' if service.build else ''}.")

    app.background(ask())
