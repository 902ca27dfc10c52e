"""Who can be named in a comment: everybody of the organization, as far as they are known."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.api.errors import ApiError
from octavo.api.folding import fold
from octavo.api.organizations import ListMembers
from octavo.api.places import Discussion, OrganizationRef
from octavo.api.users import User
from octavo.data.comment_text import mention_suffix

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_MENTION = re.compile(r"\[(@(?:\\.|[^\]\\\n])+)\]\(/users/[^)\s]+\)")
_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>~"})


class People:
    """The members of the organization one is in, and those who wrote in the place one writes in."""

    def __init__(self, app: Shell, at: Discussion) -> None:
        self._app, self._at = app, at
        self._commenters = comments.ListCommenters(at=at, limit=1000)
        self.trouble = ""
        """Why the members are not known, in a sentence."""

    def known(self) -> list[User]:
        """Those who are known now, also without a connection: first those who wrote here."""
        live = self._app.session.live
        threads = live.peek(comments.List(at=self._at, status="all", format="markdown", limit=200)).value
        found = {thread.posted_by.id: thread.posted_by for thread in (threads.items if threads else ())}
        commenters = live.peek(self._commenters).value
        members = live.peek(op).value if (op := self._members()) is not None else None
        others = sorted(members.items if members else (), key=lambda member: fold(member.user.name))
        for each in (*(commenters.items if commenters else ()), *others):
            if not each.disabled:
                found.setdefault(each.user.id, each.user)
        return [user for user in found.values() if user.id]

    async def ask(self) -> None:
        """Ask the server who wrote here, in replies too, and who the members are now."""
        with suppress(ApiError):  # then those who began threads come first
            await self._app.session.live.fetch(self._commenters)
        if (op := self._members()) is not None:
            try:
                await self._app.session.live.fetch(op)
                self.trouble = ""
            except ApiError as error:
                self.trouble = str(error)

    def _members(self) -> ListMembers | None:
        organization = self._app.workspace.organization
        if organization is None:
            return None
        return ListMembers(at=OrganizationRef(organization_id=organization.id), limit=1000)


def mention(user: User) -> str:
    """What names somebody in markdown: a link to the person, which the platform makes a reference to a user of."""
    return f"[@{user.name.translate(_SPECIAL)}{mention_suffix(user.id)}"


class MentionText:
    """Mentions as names while one writes: in the text one sees stands `@Ada`, in what is sent the link to her."""

    def __init__(self) -> None:
        self._know({})

    def shown(self, markdown: str) -> str:
        """A whole text with names for its mentions; as it is, when a name in it would no longer be known from words."""
        links: dict[str, str] = {}
        for found in _MENTION.finditer(markdown):
            links.setdefault(_name_in(found), found[0])
        self._know(links)
        text = _MENTION.sub(lambda found: name if links[name := _name_in(found)] == found[0] else found[0], markdown)
        if self.sent(text) == markdown:
            return text
        self._know({})
        return markdown

    def add(self, mention: str, text: str) -> str:
        """What is written into `text` for one mention more."""
        name = named(mention)
        before = self._links
        self._know({name: mention, **before})
        if self._links[name] == mention and (name in before or name not in self._names.findall(text)):
            return name
        self._know(before)
        return mention

    def _know(self, links: dict[str, str]) -> None:
        names = "|".join(map(re.escape, sorted(links, key=len, reverse=True)))
        self._links, self._names = links, re.compile(rf"(?<![\w\[])(?:{names or '(?!)'})(?!\w)")

    def sent(self, text: str) -> str:
        """A text that was `shown`, and written on, with the links to those who are named in it."""
        return self._names.sub(lambda found: self._links[found[0]], text) if self._links else text


def named(markdown: str) -> str:
    """`markdown` to be read, with names for its mentions."""
    return _MENTION.sub(_name_in, markdown)


def _name_in(found: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", found[1])
