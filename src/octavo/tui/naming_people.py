"""Who can be named in a comment: everybody of the organization, as far as they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from octavo.api import comments
from octavo.api.errors import ApiError
from octavo.api.organizations import ListMembers
from octavo.api.places import Discussion, OrganizationRef
from octavo.api.users import User

if TYPE_CHECKING:
    from octavo.tui.app import Octavo

_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>~"})


class People:
    """The members of the organization one is in, and those who wrote in the place one writes in."""

    def __init__(self, app: Octavo, at: Discussion) -> None:
        self._app, self._at = app, at
        self.trouble = ""
        """Why the members are not known, in a sentence."""

    def known(self) -> list[User]:
        """Those who are known now, also without a connection: first those who wrote here."""
        live = self._app.session.live
        threads = live.peek(comments.List(at=self._at, status="all", format="markdown", limit=200)).value
        found = {thread.posted_by.id: thread.posted_by for thread in (threads.items if threads else ())}
        members = live.peek(op).value if (op := self._members()) is not None else None
        for each in sorted(members.items if members else (), key=lambda member: member.user.name.casefold()):
            if not each.disabled:
                found.setdefault(each.user.id, each.user)
        return [user for user in found.values() if user.id]

    async def ask(self) -> None:
        """Ask the server who the members are now."""
        if (op := self._members()) is not None:
            try:
                await self._app.session.live.fetch(op)
                self.trouble = ""
            except ApiError as error:
                self.trouble = str(error)

    def _members(self) -> ListMembers | None:
        organization = self._app.known.organization
        if organization is None:
            return None
        return ListMembers(at=OrganizationRef(organization_id=organization.id), limit=1000)


def mention(user: User) -> str:
    """What names somebody in markdown: a link to the person, which the platform makes a reference to a user of."""
    return f"[@{user.name.translate(_SPECIAL)}{mention_of(user.id)}"


def mention_of(person: str) -> str:
    """What a mention of a person ends with."""
    return f"](/users/{quote(person, safe=':@.+')})"
