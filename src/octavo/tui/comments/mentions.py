"""Members who can be mentioned in a comment, and the text of mentions."""

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
    from octavo.tui.core.shell import Shell

_MENTION = re.compile(r"\[(@(?:\\.|[^\]\\\n])+)\]\(/users/[^)\s]+\)")
_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>~"})


class MentionCandidates:
    """The members of the current organization, and the people who commented in the same space or change request."""

    def __init__(self, app: Shell, at: Discussion) -> None:
        self._app, self._at = app, at
        self._commenters = comments.ListCommenters(at=at, limit=1000)
        self.load_error = ""
        """Why the members could not be loaded. Empty if they were."""

    def loaded(self) -> list[User]:
        """Return the people in the cache: first those who started threads here, then other commenters, then members by
        name."""
        live = self._app.session.live
        threads = live.peek(comments.List(at=self._at, status="all", format="markdown", limit=200)).value
        people = {thread.posted_by.id: thread.posted_by for thread in (threads.items if threads else ())}
        commenters = live.peek(self._commenters).value
        members = live.peek(op).value if (op := self._members()) is not None else None
        others = sorted(members.items if members else (), key=lambda member: fold(member.user.name))
        for each in (*(commenters.items if commenters else ()), *others):
            if not each.disabled:
                people.setdefault(each.user.id, each.user)
        return [user for user in people.values() if user.id]

    async def load(self) -> None:
        """Load the commenters of this place and the members of the organization."""
        with suppress(ApiError):  # people who started threads are in the cache
            await self._app.session.live.fetch(self._commenters)
        if (op := self._members()) is not None:
            try:
                await self._app.session.live.fetch(op)
                self.load_error = ""
            except ApiError as error:
                self.load_error = str(error)

    def _members(self) -> ListMembers | None:
        organization = self._app.workspace.organization
        if organization is None:
            return None
        return ListMembers(at=OrganizationRef(organization_id=organization.id), limit=1000)


def mention_markdown(user: User) -> str:
    """Return the Markdown of a mention: a link that the platform turns into a reference to the user."""
    return f"[@{user.name.translate(_SPECIAL)}{mention_suffix(user.id)}"


class MentionText:
    """Converts mentions while a text is edited: the text area shows `@Ada`, the sent text has the link."""

    def __init__(self) -> None:
        self._set_links({})

    def to_text(self, markdown: str) -> str:
        """Return `markdown` with names instead of mention links. Unchanged if a name would be ambiguous."""
        links: dict[str, str] = {}
        for match in _MENTION.finditer(markdown):
            links.setdefault(_mention_name(match), match[0])
        self._set_links(links)
        text = _MENTION.sub(
            lambda match: name if links[name := _mention_name(match)] == match[0] else match[0], markdown
        )
        if self.to_markdown(text) == markdown:
            return text
        self._set_links({})
        return markdown

    def add(self, link: str, text: str) -> str:
        """Return the text to insert for another mention into `text`: its name, or the link if the name is ambiguous."""
        name = with_names(link)
        before = self._links
        self._set_links({name: link, **before})
        if self._links[name] == link and (name in before or name not in self._names.findall(text)):
            return name
        self._set_links(before)
        return link

    def _set_links(self, links: dict[str, str]) -> None:
        names = "|".join(map(re.escape, sorted(links, key=len, reverse=True)))
        self._links, self._names = links, re.compile(rf"(?<![\w\[])(?:{names or '(?!)'})(?!\w)")

    def to_markdown(self, text: str) -> str:
        """Return the edited `text` with links for the names of mentioned people."""
        return self._names.sub(lambda match: self._links[match[0]], text) if self._links else text


def with_names(markdown: str) -> str:
    """Return `markdown` with names instead of mention links."""
    return _MENTION.sub(_mention_name, markdown)


def _mention_name(match: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", match[1])
