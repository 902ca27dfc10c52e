"""What a link on a page does: go there inside the app, ask about an address outside, or say why it leads nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from octavo.api.content import GetPage, Page
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, ContentRef, SiteRef
from octavo.documents import links
from octavo.tui.reader.link_names import ShowsPage
from octavo.tui.shell.external_links import confirm_link, missing_link_reason, open_link, page_url
from octavo.tui.shell.page_queries import find_page, page_markdown
from octavo.tui.shell.routes import ToChangeRequest, ToCollection, ToPage, ToSearch
from octavo.tui.terminal import clipboard

if TYPE_CHECKING:
    from octavo.api.places import SpaceRef
    from octavo.documents.blocks import Block
    from octavo.tui.reader.page_view import PageView
    from octavo.tui.render.deferred import DeferredContent
    from octavo.tui.render.link_targets import LinkTargets
    from octavo.tui.render.page_parts import CopyUrlRequested, LinkFollowed
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.tree import Tree


class FollowsLinks(ShowsPage, Protocol):
    """A view of the pages of a space that opens what its page links to."""

    @property
    def pages_tree(self) -> Tree: ...

    def open_page(self, page_id: str, *, anchor: str = "") -> None:
        """Show a page of the space, and the part of it that an anchor names."""


def follow(screen: FollowsLinks, message: LinkFollowed) -> None:
    """Follow what was opened on the page on show."""
    app = screen.shell
    if message.kind == "page":
        open_link(app, "" if app.session.is_embedded else page_url(screen.page), "page")
    elif not open_part(app, screen.view, message, lambda followed: follow(screen, followed)):
        _follow(screen, message)


def open_part(app: Shell, view: PageView, message: LinkFollowed, follow: Callable[[LinkFollowed], None]) -> bool:
    """Show a note or a picture of the page, or search for what it says. False when a link is to be followed."""
    match message.kind:
        case "ask" | "search":
            app.go(ToSearch(message.href))
        case "note":
            _show_note(app, view, message.href, follow)
        case "image" if not message.outside:
            from octavo.tui.reader.picture import look_at  # few pages are looked at so closely

            look_at(app, view, message.href)
        case _:
            return False
    return True


def _follow(screen: FollowsLinks, message: LinkFollowed) -> None:
    target = _target(screen, message.href)
    if message.outside and not isinstance(target, links.BrokenLink | links.BlockedScheme | links.ToReusableContent):
        open_link(screen.shell, address_of(screen, message.href), "link", text=message.words)
        return
    match target:
        case links.ToPage(page=page_id, anchor=anchor):
            screen.open_page(page_id, anchor=_as_link(anchor))
            screen.pages_tree.select_hidden(page_id)
        case links.ToAnchor(anchor=anchor):
            if not screen.view.place.go_to_anchor(anchor):
                screen.view.place.miss(anchor)
        case links.ToReusableContent(path=path) if (shared := screen.view.links.shared(target)) is not None:
            sources = screen.view.contents.sources
            _show_sheet(screen.shell, sources, shared, partial(follow, screen), f"Reusable content {path}")
        case _:
            leave(screen.shell, target, href=message.href, words=message.words, at=_files_of(screen))


def _files_of(screen: FollowsLinks) -> SpaceRef | None:
    return screen.space.ref if screen.space is not None else None


def leave(app: Shell, target: links.Target, *, href: str = "", words: str = "", at: ContentRef | None = None) -> None:
    """Open the target of a link that leaves the page, or say why it cannot. `href`: as it is written; `at`: where files of
    the space are."""
    if _is_not_here(app, target):
        if "://" in href:
            confirm_link(app, href, text=words)
        else:
            app.say("This link goes to another space. Octavo has only this folder open.", tone="care")
        return
    match target:
        case links.ToSpace(space=other, page=wanted, anchor=anchor):
            app.go(ToPage(other, wanted, _as_link(anchor)))
        case links.ToChangeRequest(space=other, number=number):
            app.go(ToChangeRequest(ChangeRequestRef(space_id=other, change_request_id=str(number))))
        case links.ToUrl(url=url):
            confirm_link(app, url, text=words)
        case links.ToFile() if at is not None:
            app.background(_save_file(app, at, target))
        case links.ToFile(name=name):
            app.say(f"{name} is a file in the space. Press F to list the files.", tone="care")
        case links.ToReusableContent(path=path):
            clipboard.copy(
                app,
                path,
                f"Copied the path {path}. If you edit this reusable content, every page that uses it will change.",
            )
        case links.ToCollection(collection=name):
            app.go(ToCollection(name))
        case links.ToSite():
            app.background(_open_site(app, target))
        case links.ToUser():
            app.say("This link goes to a member's profile. Octavo cannot show member profiles.", tone="care")
        case links.BlockedScheme(scheme=scheme):
            app.say(f"Octavo does not open links that begin with “{scheme}:”.", tone="care")
        case links.BrokenLink(reason=reason):
            app.say(f"This link is broken. {reason}", tone="care")


def _is_not_here(app: Shell, target: links.Target) -> bool:
    """Whether a folder is open, and a link in it leads to what is elsewhere."""
    match target:
        case _ if app.session.kind != "folder":
            return False
        case links.ToSpace(space=space) | links.ToChangeRequest(space=space):
            return app.workspace.space(space) is None
        case links.BrokenLink(is_outside_tree=is_outside):
            return is_outside
    return isinstance(target, links.ToCollection | links.ToSite | links.ToUser)


def follow_link_page(screen: FollowsLinks, page: Page) -> None:
    """Go where a page of the tree that is only a link leads."""
    target = page.target if isinstance(page.target, dict) else {}
    match target.get("kind"):
        case "page" | "anchor" if not target.get("space"):
            found = screen.pages.find(str(target.get("page"))) if screen.pages is not None else None
            if found is not None and found.type == "link":  # it may lead back
                screen.shell.say(
                    f"{page.title} links to {found.title}, which is also a link. Octavo does not follow links to other links.",
                    tone="care",
                )
                return
            screen.open_page(str(target.get("page")), anchor=_as_link(target.get("anchor")))
        case "page" | "anchor":
            space, anchor = str(target.get("space")), _as_link(target.get("anchor"))
            screen.shell.go(ToPage(space, str(target.get("page")), anchor))
        case "space":
            screen.shell.go(ToPage(str(target.get("space"))))
        case "file":
            leave(screen.shell, links.ToFile(str(target.get("file")), page.title), at=_files_of(screen))
        case "collection":
            leave(screen.shell, links.ToCollection(str(target.get("collection"))))
        case _:
            confirm_link(screen.shell, page.href or str(target.get("url") or ""), text=page.title)


def _as_link(anchor: object) -> str:
    """An anchor that a link names: when the page has no such heading, that is said (other callers name blocks)."""
    return f"#{anchor}" if anchor else ""


# Addresses


def copy_address(screen: FollowsLinks, message: CopyUrlRequested) -> None:
    """Copy where a link leads, or the address of the page on show."""
    if message.kind == "page":
        address, what = "" if screen.shell.session.is_embedded else page_url(screen.page), "page"
    else:
        address, what = address_of(screen, message.href), "link"
    if address:
        said = "Copied a link to the page." if what == "page" else "Copied the link."
        clipboard.copy(screen.shell, address, said)
    else:
        screen.shell.say(missing_link_reason(screen.shell, what), tone="care")


def address_of(screen: FollowsLinks, href: str) -> str:
    """The web address of what a link leads to; empty when there is none."""
    page, known = screen.page, screen.shell.workspace
    target = _target(screen, href)
    match target:
        case links.ToUrl(url=url):
            return url
        case links.ToReusableContent(path=path):
            return path
        case _ if _is_not_here(screen.shell, target):
            return href if "://" in href else ""
        case _ if screen.shell.session.is_embedded:
            return ""
        case links.ToPage(page=name, anchor=anchor):
            found = screen.pages.find(name) if screen.pages is not None else None
            return _with_anchor(page_url(found), anchor)
        case links.ToAnchor(anchor=anchor):
            return _with_anchor(page_url(page), anchor)
        case links.ToSpace(space=name, page=wanted, anchor=anchor) if (space := known.space(name)) is not None:
            base = space.urls.app or ""
            return _with_anchor(f"{base.rstrip('/')}/{wanted}" if wanted and base else base, anchor)
        case links.BrokenLink() | links.BlockedScheme():
            return ""
        case _:
            return href if href.startswith(("https://", "http://")) else ""


def _with_anchor(address: str, anchor: str | None) -> str:
    return f"{address}#{anchor}" if address and anchor else address


# What takes asking


def _target(screen: FollowsLinks, href: str) -> links.Target:
    targets = screen.view.contents.sources.targets
    return targets.resolve(href) if targets is not None else links.resolve(href, "", links.LinkTargets(files=None))


async def _save_file(app: Shell, at: ContentRef, target: links.ToFile) -> None:
    from octavo.tui.reader.linked_files import file_of
    from octavo.tui.shell.file_dialogs import save_file

    try:
        file = await file_of(app.session.live, at, target)
    except ApiError as error:
        app.say(f"Could not save {target.name}: {error}", tone="failed")
        return
    if file is None:
        app.say(f"This link is broken. There is no file {target.name} in this space.", tone="care")
    else:
        save_file(app, file)


async def show_shared(
    app: Shell,
    target: links.ToReusableContent,
    pages: Sequence[GetPage],
    sources: DeferredContent,
    follow: Callable[[LinkFollowed], None],
) -> None:
    """Show words that a page includes, as the first of `pages` has them; where none does, say where they are kept. For
    views of pages as they are written, in which they do not stand."""
    screen = app.screen
    for asked in pages:
        try:
            page = await find_page(app.session.live, asked)
        except ApiError as error:
            app.say(f"Could not load the reusable content {target.path}: {error}", tone="failed")
            return
        found = await asyncio.to_thread(_shared_in, page_markdown(page), sources.targets, target)
        if app.screen is not screen:
            return  # one does something else by now
        if found is not None:
            _show_sheet(app, sources, found, follow, f"Reusable content {target.path}")
            return
    leave(app, target)


def _shared_in(text: str, targets: LinkTargets | None, target: links.ToReusableContent) -> Block | None:
    """What a page includes of a file of shared words."""
    from octavo.documents.parse import parse  # the parser takes 30 ms to load, and few links lead here

    found = (block for block in parse(text).walk() if block.kind == "include" and block.children)
    return next((each for each in found if targets and targets.resolve(str(each.attrs["target"])) == target), None)


async def _open_site(app: Shell, target: links.ToSite) -> None:
    from octavo.api import sites

    organization = target.organization or (
        app.workspace.organization.id if app.workspace.organization is not None else ""
    )
    try:
        site = await app.session.live.fetch(sites.Get(at=SiteRef(organization_id=organization, site_id=target.site)))
    except (ApiError, ValueError) as error:
        app.say(f"Could not open the site: {error}", tone="failed")
        return
    open_link(app, site.urls.published or site.urls.app or "", "site", text=site.title)


def _show_sheet(
    app: Shell, sources: DeferredContent, note: Block, follow: Callable[[LinkFollowed], None], name: str = ""
) -> None:
    from octavo.tui.reader.note import NoteSheet

    def decided(followed: LinkFollowed | None) -> None:
        if followed is not None:
            follow(followed)

    app.push_screen(NoteSheet(note, sources, name), decided)


def _show_note(app: Shell, view: PageView, label: str, follow: Callable[[LinkFollowed], None]) -> None:
    def show(note: Block | None) -> None:
        if app.screen is not view.screen:
            return  # one does something else by now
        if note is None:
            app.say(f"This page has no footnote {label}.", tone="care")
        else:
            _show_sheet(app, view.contents.sources, note, follow)

    view.place.with_note(label, show)
