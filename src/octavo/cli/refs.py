"""REFs: how you name a space, a change request, a page or a block on the command line.

    REF = NUMBER | SPACE [("#"|"/") NUMBER] [":" PAGE] ["@" BLOCK] | URL

`parse_ref` reads a REF, and `RefResolver` finds what the REF names:

    resolver = RefResolver(session, options)
    target = await resolver.resolve("harbour-api/7:concepts/time")
    target.space.title, target.change_request, target.page, target.block, target.at, str(target.ref)
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from octavo.api.change_requests import Get as GetChangeRequest
from octavo.api.content import ListPages
from octavo.api.errors import NotFound
from octavo.api.folding import fold
from octavo.api.operation import ChangeRequestRef, OrganizationRef, SpaceRef
from octavo.api.organizations import List as ListOrganizations
from octavo.api.organizations import ListMembers, Organization
from octavo.api.safety import safe_line
from octavo.api.spaces import Space
from octavo.api.text import is_id
from octavo.api.users import Me
from octavo.cli.standard_streams import NOT_FOUND, USAGE, Failure, is_terminal, tell
from octavo.data.loaders import all_items
from octavo.data.queries import spaces_op
from octavo.data.space_names import slug, space_name
from octavo.documents.anchors import slug_of_title
from octavo.documents.page_trees import page_slug
from octavo.settings.file import did_you_mean
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.content import Page, PageTree
    from octavo.api.users import User
    from octavo.tui.core.session import Session


MAX_LENGTH = 2_048
STATE_FILE = Path(".octavo", "state.json")
"""The file in a pulled folder that contains the ID of its space."""
_MAX_STATE = 64 << 20
_REF = re.compile(
    r"(?:(?P<space>[^:@#/\s][^:@#]*?)(?:[#/](?P<number>\d{1,9}))?|#?(?P<own>\d{1,9}))"
    r"(?::(?P<page>[^@]*[^@/\s][^@]*?)?)?(?:@(?P<block>[^@\s]+))?"
)
_MAX_LISTED_SPACES = 12
_APP_PATH = re.compile(
    r"(?:/o/[^/]+)?/(?:s|spaces)/(?P<space>[^/]+)(?:/~/changes/(?P<number>\d{1,9}))?(?:/(?P<page>[^~].*))?/?"
)
_API_PATH = re.compile(
    r"/v1/spaces/(?P<space>[^/]+)(?:/change-requests/(?P<change>[^/]+))?(?:/comments/(?P<thread>[^/]+))?/?"
)


@dataclass(frozen=True)
class Ref:
    """A REF, split at its separators. `str` returns its shortest form, which can be parsed again."""

    space: str = ""
    """Title, short name or ID of a space, or the ID of a thread. Empty for the default space."""
    number: int | None = None
    """Number of a change request. None if the REF names no change request."""
    page: str = ""
    """Path, ID or title of a page. Empty if the REF names no page."""
    block: str = ""
    """Key of a block, or ID of a thread. Empty if the REF names neither."""

    @property
    def without_page(self) -> str:
        """The REF without its page and block, such as `handbook/7`."""
        return str(replace(self, page="", block=""))

    def __str__(self) -> str:
        number = "" if self.number is None else f"/{self.number}" if self.space else str(self.number)
        return f"{self.space}{number}{f':{self.page}' if self.page else ''}{f'@{self.block}' if self.block else ''}"


@dataclass(frozen=True)
class RefTarget:
    """The target of a REF: a space or a change request, and maybe a page or a block in it."""

    space: Space
    ref: Ref
    """The REF as Octavo prints it."""
    change_request: ChangeRequest | None = None
    page: Page | None = None
    block: str = ""

    @property
    def at(self) -> SpaceRef | ChangeRequestRef:
        """Reference of the change request, or of the space if the REF names no change request."""
        return self.space.ref if self.change_request is None else self.change_request.ref(self.space.ref)

    @property
    def url(self) -> str:
        """Link to the page, change request or space. Empty if the server sends none."""
        owner = self.page or self.change_request or self.space
        return owner.urls.app or ""


def revision_id(text: str) -> str:
    """Return `text` if it is valid as the ID of a revision. Raises ArgumentTypeError."""
    if not is_id(text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no id of a revision. Use an id that the server has sent.")
    return text


def parse_ref(text: str) -> Ref:
    """Parse a REF that is not a URL. Raises Failure."""
    match = _REF.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
    if match is None:
        example = "Write a REF such as 7, handbook/7 or handbook/7:guides/setup."
        raise Failure(f"Could not read the REF {safe_line(text[:60])}: it has no space and no number. {example}", USAGE)
    space, number = match["space"] or "", match["number"] or match["own"]
    if space.isdecimal() and len(space) < 10 and number is None:
        space, number = "", space
    return Ref(space.strip(), int(number) if number else None, (match["page"] or "").strip(), match["block"] or "")


def short_name(space: Space, spaces: Sequence[Space]) -> str:
    """Return a name such as `handbook` that is unique among `spaces`, which must be all spaces of the user."""
    return space_name(space.id, {each.id: each.title for each in spaces})


def check_whole_request(target: RefTarget, action: str) -> None:
    """Raise Failure if the REF of an `action` on a whole change request also names a page, a block or a thread."""
    if target.page is not None or target.block:
        name = target.ref.without_page
        raise Failure(f"Could not {action}: this is for the whole change request. Write only {name}.", USAGE)


class RefResolver:
    """Finds the spaces, change requests, pages and users that arguments name, with few requests."""

    def __init__(self, session: Session, options: argparse.Namespace, *, is_offline: bool = False) -> None:
        """If `is_offline`, only spaces in the cache are found."""
        self._is_offline = is_offline
        self.live, self._session = session.live, session
        self._default_name = options.space or os.environ.get("OCTAVO_SPACE", "")
        self._spaces: tuple[Space, ...] = ()
        self._is_fresh = False
        """True if `_spaces` came from the server and not from the cache."""

    async def organizations(self) -> tuple[Organization, ...]:
        """Return the organizations of the user. Raises ApiError."""
        if self._is_offline:
            cached = await self.live.cached(ListOrganizations())
            return cached.items if cached is not None else ()
        return (await self.live.cached_or_fetch(ListOrganizations())).items

    async def organization(self) -> Organization:
        """Return the organization last open in the app, else the first. Raises ApiError, or Failure if none exists."""
        organizations = await self.organizations()
        if not organizations:
            raise Failure("Could not find an organization: your account belongs to none.", NOT_FOUND)
        last_id = self._session.state.get_value("organization")
        return next((each for each in organizations if each.id == last_id), organizations[0])

    async def spaces(self, *, fresh: bool = False) -> tuple[Space, ...]:
        """Return the spaces of all organizations. Offline, or if not `fresh`, they may be cached. Raises ApiError."""
        if not self._spaces or (fresh and not self._is_fresh):
            found_spaces: list[Space] = []
            for each in await self.organizations():
                if not self._is_offline:
                    found_spaces += await all_items(self.live, spaces_op(each.id), is_fresh=fresh)
                elif (cached := await self.live.cached(spaces_op(each.id))) is not None:
                    found_spaces += cached.items
            self._spaces, self._is_fresh = tuple(found_spaces), fresh
        return self._spaces

    async def name_of(self, space_id: str) -> str:
        """Return the short name of a space, or its ID if the space is unknown. Raises ApiError."""
        space = await self.find_space(space_id)
        return short_name(space, await self.spaces()) if space is not None else space_id

    async def find_space(self, space_id: str) -> Space | None:
        """Return a space by ID, from the cache, else from the server. None if both lack the space. Raises ApiError."""
        for fresh in (False, True) if space_id else ():
            for each in await self.spaces(fresh=fresh):
                if each.id == space_id:
                    return each
        return None

    async def space(self, name: str) -> Space:
        """Return the space by title, short name or ID. If no space matches, accents are ignored. Raises ApiError, or
        Failure unless exactly one space has this `name`."""
        for fresh in (False, True):
            spaces = await self.spaces(fresh=fresh)
            matches = _find_spaces(name, spaces)
            if fresh and not matches and (plain_name := slug_of_title(name)):
                matches = [each for each in spaces if slug_of_title(each.title) == plain_name]
            if len(matches) > 1:
                choices = ", ".join(f"{each.title} ({each.id})" for each in matches)
                message = f"Could not choose a space: {len(matches)} spaces are called {safe_line(name)}: {choices}."
                raise Failure(message, USAGE, error="ambiguous")
            if matches:
                return matches[0]
        names = {short_name(each, self._spaces) for each in self._spaces} | {each.title for each in self._spaces}
        titles = ", ".join(each.title for each in self._spaces[:_MAX_LISTED_SPACES])
        end = "." if len(self._spaces) <= _MAX_LISTED_SPACES else ", and others. For a list, run: octavo spaces"
        hint = did_you_mean(name, names) or (f" The spaces are {titles}{end}" if titles else " You have no spaces.")
        raise Failure(f"Could not find the space {safe_line(name[:60])}.{hint}", NOT_FOUND)

    async def default_space(self) -> Space | None:
        """Return the space for a REF that names no space: `chosen_space`. On a terminal without a chosen space,
        return the last used space, and tell the user. None if no space is found. Raises ApiError or Failure."""
        name = self._default_name or _pulled_space_id()
        if name:
            return await self.space(name)
        last_space_id = self._session.state.get_value("space")
        if isinstance(last_space_id, str) and last_space_id and is_terminal(sys.stdin, sys.stdout):
            space = next((each for each in await self.spaces() if each.id == last_space_id), None)
            if space is not None:
                tell(f"Using the space you used last: {space.title}. For another one, use --space.")
            return space
        return None

    async def chosen_space(self) -> Space | None:
        """Return the space of `--space`, OCTAVO_SPACE or the pulled folder, else None. Raises ApiError or Failure."""
        name = self._default_name or _pulled_space_id()
        return await self.space(name) if name else None

    async def resolve(self, text: str) -> RefTarget:
        """Return the target of a REF or URL. Raises ApiError, or Failure unless exactly one target matches."""
        if "://" in text:
            return await self._resolve_url(text)
        ref = parse_ref(text)
        if ref.space:
            space = await self.space(ref.space)
        elif (default := await self.default_space()) is not None:
            space = default
        else:
            message = f"Could not find {safe_line(text)}: a number needs a space. Write SPACE/{ref}, or use --space."
            raise Failure(message, USAGE)
        return await self._resolve_in_space(space, ref)

    async def _resolve_in_space(self, space: Space, ref: Ref, change_request_id: str = "") -> RefTarget:
        """Return the target of `ref` in a space. `change_request_id` replaces the number in `ref`."""
        name = short_name(space, await self.spaces())
        change_request = None
        if ref.number is not None or change_request_id:
            change_request = await self._fetch_change_request(space, name, change_request_id or str(ref.number))
        ref_found = Ref(name, change_request.number if change_request else None, block=ref.block)
        target = RefTarget(space, ref_found, change_request, block=ref.block)
        if not ref.page:
            return target
        page = await self.page(target, ref.page)
        return replace(target, page=page, ref=replace(ref_found, page=page.path or page.id))

    async def _fetch_change_request(self, space: Space, space_name: str, number_or_id: str) -> ChangeRequest:
        try:
            if is_id(number_or_id):
                at = ChangeRequestRef(space_id=space.id, change_request_id=number_or_id)
                return (await self.live.fetch(GetChangeRequest(at=at))).with_space(space.ref)
        except NotFound:
            pass
        hint = f"For a list, run: octavo changes -s {space_name}"
        name = safe_line(number_or_id[:60])
        raise Failure(f"Could not find change request {name} in {space.title}. {hint}", NOT_FOUND)

    async def page(self, target: RefTarget, name: str) -> Page:
        """Return a page without text, by path, ID or title. Raises ApiError, or Failure unless exactly one matches."""
        tree = await self.page_tree(target)
        name = name.strip("/")
        page = tree.find_by_name(name)
        if page is None:
            page = _only_match(tree, name, fold) or _only_match(tree, name, _slug_path)
        if page is None:
            hint = did_you_mean(name, [each.path for each in tree.walk() if each.path])
            message = f"Could not find page {safe_line(name[:80])} in {target.space.title}."
            raise Failure(message + hint, NOT_FOUND)
        return page

    async def page_tree(self, target: RefTarget) -> PageTree:
        """Return the page tree of the space or change request. Raises ApiError."""
        return await self.live.fetch(ListPages(at=target.at))

    async def _resolve_url(self, url: str) -> RefTarget:
        """Return the target of a link to this server, without requesting the link. Raises ApiError or Failure."""
        if len(url) > MAX_LENGTH:
            raise Failure(f"Could not read the URL: it is longer than {MAX_LENGTH} characters.", USAGE)
        try:
            parts = urlsplit(url)
            origin = f"{parts.scheme}://{parts.netloc}"
        except ValueError:
            raise Failure(f"Could not read the URL {safe_line(url[:80])}.", USAGE) from None
        spaces = await self.spaces()
        if origin not in {_origin(each) for space in spaces for each in (space.urls.app, space.urls.location) if each}:
            message = f"Could not open {safe_line(url[:80])}: it is not a link to this server. Only links to Octavo's server work."
            raise Failure(message, USAGE)
        path = unquote(parts.path)
        if (path_match := _APP_PATH.fullmatch(path)) or (path_match := _API_PATH.fullmatch(path)):
            groups = path_match.groupdict("")
            space = await self.space(groups["space"])
            number = int(groups["number"]) if groups.get("number") else None
            block = groups.get("thread") or parts.fragment
            ref = Ref(space.id, number, groups.get("page", "").removeprefix("pages/").rstrip("/"), block)
            return await self._resolve_in_space(space, ref, groups.get("change", ""))
        return await self._target_from_server(url)

    async def _target_from_server(self, url: str) -> RefTarget:
        from octavo.api.urls import GetContent  # lazy: needed only for unusual URLs

        content = await self.live.fetch(GetContent(url=url))
        if content.space is None:
            raise Failure(f"Could not open {safe_line(url[:80])}: it leads to no space.", NOT_FOUND)
        name = short_name(content.space, await self.spaces())
        change, page = content.change_request, content.page
        ref = Ref(name, change.number if change else None, (page.path or page.id) if page else "")
        return RefTarget(content.space, ref, change.with_space(content.space.ref) if change else None, page)

    async def user(self, name: str) -> User:
        """Return the user with the ID, name, first name or email address `name`, or for `@me` the current user. Raises
        ApiError, and Failure if no user or several users match."""
        if name == "@me":
            return await self.live.cached_or_fetch(Me())
        folded_name = fold(name.removeprefix("@"))
        users: list[User] = []
        for each in await self.organizations():
            members = await all_items(
                self.live, ListMembers(at=OrganizationRef(organization_id=each.id), limit=1000), is_fresh=False
            )
            users += [member.user for member in members]
        matches = {each.id: each for each in users if folded_name in _names_of_user(each)}
        if len(matches) == 1:
            return next(iter(matches.values()))
        if matches:
            user_names = ", ".join(f"{each.name} ({each.id})" for each in matches.values())
            message = f"Could not choose a user: {len(matches)} users are called {safe_line(name)}: {user_names}."
            raise Failure(message, USAGE, error="ambiguous")
        hint = did_you_mean(folded_name, {own for each in users for own in _names_of_user(each)})
        raise Failure(
            f"Could not find the user {safe_line(name[:60])}.{hint or ' Use a name, an email address or @me.'}",
            NOT_FOUND,
        )


def _names_of_user(user: User) -> set[str]:
    names = [user.id, user.display_name, user.email or "", *user.display_name.split()[:1]]
    return {fold(each) for each in names if each}


def _find_spaces(name: str, spaces: Sequence[Space]) -> list[Space]:
    if spaces_with_id := [each for each in spaces if each.id == name]:
        return spaces_with_id
    folded_name = fold(name)
    return [each for each in spaces if folded_name in (fold(each.id), fold(each.title), slug(each.title))]


def _only_match(tree: PageTree, name: str, key: Callable[[str], str]) -> Page | None:
    """Return the page whose title or path has the same `key` as `name`. None unless exactly one page matches."""
    pages = [each for each in tree.walk() if key(name) in (key(each.title), key(each.path or ""))]
    return pages[0] if len(pages) == 1 else None


def _slug_path(name: str) -> str:
    return "/".join(page_slug(step) for step in name.split("/") if step)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _pulled_space_id() -> str:
    try:
        working_folder = Path.cwd()
        for folder in (working_folder, *working_folder.parents):
            file = folder / STATE_FILE
            if file.is_file() and file.stat().st_size <= _MAX_STATE:
                state = parse_json(file.read_bytes())
                name = state.get("space") if isinstance(state, dict) else ""
                return name if isinstance(name, str) else ""
    except (OSError, ValueError):  # For example, the working directory was deleted.
        return ""
    return ""
