"""Opens links of a page in Octavo or in the browser, and loads the titles of linked pages. Start with `follow_link`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from textual.color import Color
from textual.message import Message

from octavo.api import content, spaces
from octavo.api.content import GetPage, Page
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.operation import ChangeRequestRef, CollectionRef, ContentRef, OrganizationRef, SiteRef, SpaceRef
from octavo.api.organizations import Organization
from octavo.data.loaders import find_file, find_page, page_markdown
from octavo.documents import links
from octavo.documents.emoji import to_emoji
from octavo.documents.source_reader import parse
from octavo.lazy_import import lazy
from octavo.tui.core.external_links import confirm_link, copy_text, missing_link_reason, open_link, page_url
from octavo.tui.core.item_labels import file_summary
from octavo.tui.core.routes import ToChangeRequest, ToCollection, ToPage, ToSearch
from octavo.tui.core.shell import Shell, explained, opening
from octavo.tui.render.deferred import (
    NOT_AVAILABLE_OFFLINE,
    AsyncCache,
    LinkContext,
    LinkTargets,
    LinkTitle,
    TitleQuery,
    app_origins,
)

if TYPE_CHECKING:
    from octavo.api.content import PageTree
    from octavo.api.spaces import Space
    from octavo.data.live import Live
    from octavo.documents.blocks import Block
    from octavo.documents.openapi import Specification
    from octavo.tui.core.session import Session
    from octavo.tui.reader.page_view import PageView
    from octavo.tui.render.deferred import DeferredContent
    from octavo.tui.render.layout import CopyUrlRequested, LinkFollowed

_thumbnails = lazy("octavo.tui.reader.linked_files:thumbnails")
_load_by_slug = lazy("octavo.tui.reader.linked_files:load_by_slug")
_load_specification = lazy("octavo.tui.reader.linked_files:load_specification_from_link")
_get_change_request = lazy("octavo.api.change_requests:Get")
_get_collection = lazy("octavo.api.collections:Get")
_get_site = lazy("octavo.api.sites:Get")
_get_user = lazy("octavo.api.users:Get")
_show_image = lazy("octavo.tui.reader.page_dialogs:show_image")
_save_file = lazy("octavo.tui.core.file_dialogs:save_file")
_text_dialog = lazy("octavo.tui.reader.page_dialogs:TextDialog")


_MAX_SPECIFICATIONS = 8
"""Maximum number of OpenAPI specifications that are cached. Each may have some megabytes."""


class OpenPage(NamedTuple):
    """The page that a view shows, with its space and page tree. Needed to open links of the page."""

    shell: Shell
    view: PageView
    space: Space | None
    pages: PageTree | None
    page: Page | None


def prepare_deferred_content(open_page: OpenPage) -> None:
    """Create the caches that load the link titles, images and OpenAPI specifications of a page, and the object that
    resolves its links. Do nothing without a space, a page tree or a page."""
    shell, view, space, tree, page = open_page
    if space is None or tree is None or page is None:
        return
    deferred = view.contents.deferred
    version = (space.id, shell.session.live.specification_version)
    if deferred.specifications is None or deferred.specification_key != version:
        at = OrganizationRef(organization_id=space.organization)
        deferred.specifications = AsyncCache(
            lambda query: _specification(shell.session, at, space.ref, query), capacity=_MAX_SPECIFICATIONS
        )
        deferred.specification_key = version
    if deferred.titles is None:
        is_folder = shell.session.kind == "folder"
        deferred.titles = AsyncCache(
            lambda query: find_title(shell.session.live, query, shell.workspace.organization, is_folder=is_folder)
        )
    if shell.settings.thumbnails and deferred.thumbnails is None:
        deferred.thumbnails = _thumbnails(shell.session, Color.parse(shell.theme_variables["background"]).rgb)
    earlier_targets = deferred.targets
    context = earlier_targets.context if earlier_targets is not None else None
    if (
        context is None
        or context.tree is not tree
        or context.content_ref != space.ref
        or context.origins != app_origins(page)
    ):
        context = LinkContext(tree, space.ref, app_origins(page), shell.session.folder_root())

    def title_of_space(space_id: str) -> LinkTitle | None:
        space = shell.workspace.space(space_id)
        return LinkTitle(space.title or "Untitled", to_emoji(space.emoji), "space") if space is not None else None

    if earlier_targets is not None and earlier_targets.page_id == page.id and earlier_targets.context is context:
        return
    deferred.targets = LinkTargets(context, page.id, deferred.titles, title_of_space)
    if earlier_targets is not None and earlier_targets.page_id == page.id and earlier_targets.context.tree != tree:
        view.reset_lines()  # The visible links have old titles.


def show_new_specifications(open_page: OpenPage) -> None:
    """Load and show the OpenAPI specifications again, if they have changed since the page was shown."""
    deferred, version = open_page.view.contents.deferred, open_page.shell.session.live.specification_version
    if deferred.specifications is not None and deferred.specification_key and deferred.specification_key[1] != version:
        prepare_deferred_content(open_page)
        open_page.view.reset_lines()


def reload_deferred_content(open_page: OpenPage) -> None:
    """Load the link titles, images and OpenAPI specifications of the page again, even if loading failed before."""
    deferred = open_page.view.contents.deferred
    deferred.titles = deferred.specifications = deferred.thumbnails = deferred.targets = None
    prepare_deferred_content(open_page)
    open_page.view.reset_lines()


async def _specification(
    session: Session, at: OrganizationRef, location: SpaceRef, query: str | links.Target
) -> Specification:
    specification: Specification
    if isinstance(query, str):
        specification = await _load_by_slug(session.live, at, query)
    else:
        specification = await _load_specification(session, at, location, query)
    return specification


async def find_title(
    live: Live, query: TitleQuery, organization: Organization | None, *, is_folder: bool = False
) -> LinkTitle | None:
    """Return the title of a link target, such as a page or file. If the target is missing or the user has no access,
    only `problem` is set. With `is_folder` (a local folder is open), only `location` is set for such a target, and
    says that it is not in this folder. None if the target has no title, or if loading failed for another reason."""
    target = query.target
    try:
        match target:
            case links.SpaceLink():
                return await _title_of_space_link(live, target)
            case links.ChangeRequestLink(space_id=space, number=number):
                at = ChangeRequestRef(space_id=space, change_request_id=str(number))
                request = await live.cached_or_fetch(_get_change_request(at=at))
                title = f"#{number} {request.subject or 'Untitled'}"
                return LinkTitle(title, location=f"change request, {request.status}")
            case links.FileLink(name=name):
                file = await find_file(live, query.content_ref, target)
                if file is None and is_folder and target.path.startswith("../"):
                    return LinkTitle(location=NOT_AVAILABLE_OFFLINE)
                if file is None:
                    return LinkTitle(problem=_NO_FILE)
                return LinkTitle(file.name or name, location=file_summary(file))
            case links.CollectionLink(collection_id=collection_id):
                collection = await live.cached_or_fetch(_get_collection(at=CollectionRef(collection_id=collection_id)))
                return LinkTitle(collection.title or "Untitled", location="collection")
            case links.SiteLink(site_id=site_id, organization_id=organization_id):
                organization_id = organization_id or (organization.id if organization is not None else None)
                if organization_id is None:
                    return None
                site = await live.cached_or_fetch(
                    _get_site(at=SiteRef(organization_id=organization_id, site_id=site_id))
                )
                return LinkTitle(site.title or "Untitled", location="site")
            case links.UserLink(user_id=user_id):
                user = await live.cached_or_fetch(_get_user(user_id=user_id))
                return LinkTitle(f"@{user.display_name or user_id}", location="member")
    except (NotFound, Forbidden):
        if is_folder:
            return LinkTitle(location=NOT_AVAILABLE_OFFLINE)
        return LinkTitle(problem=f"The {_KIND_NAMES.get(type(target), 'page')} was deleted, or you do not have access.")
    except (ApiError, ValueError):
        return None  # The text of the link is shown instead of a title.
    return None


_NO_FILE = "The file does not exist."
_OUTSIDE_FOLDER = "This link leads out of this folder, so Octavo cannot open it."
_KIND_NAMES: dict[type[object], str] = {
    links.SpaceLink: "space",
    links.ChangeRequestLink: "change request",
    links.FileLink: "file",
    links.CollectionLink: "collection",
    links.SiteLink: "site",
    links.UserLink: "member",
}


async def _title_of_space_link(live: Live, target: links.SpaceLink) -> LinkTitle:
    at = SpaceRef(space_id=target.space_id)
    space = await live.cached_or_fetch(spaces.Get(at=at))
    space_title = space.title or "Untitled"
    if target.page is None:
        return LinkTitle(space_title, to_emoji(space.emoji), "space")
    page = (await live.cached_or_fetch(content.ListPages(at=at))).find_by_name(target.page)
    if page is None:
        return LinkTitle(problem=f"There is no page {target.page} in {space_title}.")
    location = f"{space_title} › {page.path}" if page.path else space_title
    return LinkTitle(page.title or "Untitled", to_emoji(page.emoji), location)


@dataclass
class PageRequested(Message):
    """Request to show another page of the same space, because the user followed a link."""

    page: str
    anchor: str


def follow_link(open_page: OpenPage, message: LinkFollowed) -> None:
    """Open the link that the user followed on a page, in Octavo if possible."""
    app = open_page.shell
    if message.kind == "page":
        open_link(app, "" if app.session.is_embedded else page_url(open_page.page), "page")
    elif not open_link_without_page(app, open_page.view, message, lambda followed: follow_link(open_page, followed)):
        _follow_target(open_page, message)


def open_link_without_page(
    app: Shell, view: PageView, message: LinkFollowed, follow: Callable[[LinkFollowed], None]
) -> bool:
    """Open a footnote, search or image in Octavo. Return False for other links, and for an image that the user opens in
    the browser. `follow` opens links of a footnote."""
    match message.kind:
        case "ask" | "search":
            app.go(ToSearch(message.href))
        case "note":
            _show_note(app, view, message.href, follow)
        case "image" if not message.in_browser:
            _show_image(app, view, message.href)
        case _:
            return False
    return True


def _follow_target(open_page: OpenPage, message: LinkFollowed) -> None:
    target, contents = _resolve(open_page, message.href), open_page.view.contents
    if message.in_browser and not isinstance(target, links.BrokenLink | links.BlockedLink | links.ReusableContentLink):
        open_link(open_page.shell, link_url(open_page, message.href), "link", text=message.text)
        return
    match target:
        case links.PageLink(page_id=page_id, anchor=anchor):
            open_page.view.post_message(PageRequested(page_id, with_hash(anchor)))
        case links.AnchorLink(anchor=anchor):
            if not open_page.view.navigation.go_to_anchor(anchor):
                open_page.view.navigation.report_missing(anchor)
        case links.ReusableContentLink(path=path) if (
            block := _find_include(contents.walk(), contents.deferred.targets, target)
        ) is not None:
            _show_text_dialog(
                open_page.shell, contents.deferred, block, partial(follow_link, open_page), f"Reusable content {path}"
            )
        case _:
            open_target(open_page.shell, target, href=message.href, text=message.text, at=_space_ref(open_page))


def _space_ref(open_page: OpenPage) -> SpaceRef | None:
    return open_page.space.ref if open_page.space is not None else None


def open_target(
    app: Shell, target: links.Target, *, href: str = "", text: str = "", at: ContentRef | None = None
) -> None:
    """Open what a link points to, or tell the user why Octavo cannot open it. `href` is the URL in the page, and `text`
    the text of the link. `at` is the space or change request whose files are linked."""
    if isinstance(target, links.BrokenLink) and target.path and at is not None:
        app.background(_open_path(app, target, href, text, at))
        return
    if _is_outside_folder(app, target):
        if "://" in href:
            confirm_link(app, href, text=text)
        elif isinstance(target, links.BrokenLink):
            app.say(_OUTSIDE_FOLDER, tone="care")
        else:
            app.say("This link goes to another space. Octavo has only this folder open.", tone="care")
        return
    match target:
        case links.SpaceLink(space_id=other, page=wanted, anchor=anchor):
            app.go(ToPage(other, wanted, with_hash(anchor)))
        case links.ChangeRequestLink(space_id=other, number=number):
            app.go(ToChangeRequest(ChangeRequestRef(space_id=other, change_request_id=str(number))))
        case links.UrlLink(url=url):
            confirm_link(app, url, text=text)
        case links.FileLink() if at is not None:
            app.background(_save_linked_file(app, at, target))
        case links.FileLink(name=name):
            app.say(f"{name} is a file in the space. Press F to list the files.", tone="care")
        case links.ReusableContentLink(path=path):
            copy_text(
                app,
                path,
                f"Copied the path {path}. If you edit this reusable content, every page that uses it will change.",
            )
        case links.CollectionLink(collection_id=name):
            app.go(ToCollection(name))
        case links.SiteLink():
            app.background(_open_site(app, target))
        case links.UserLink():
            app.say("This link goes to a member's profile. Octavo cannot show member profiles.", tone="care")
        case links.BlockedLink(reason=reason):
            app.say(reason, tone="care")
        case links.BrokenLink(reason=reason):
            app.say(f"This link is broken. {reason}", tone="care")


def _is_outside_folder(app: Shell, target: links.Target) -> bool:
    match target:
        case _ if app.session.kind != "folder":
            return False
        case links.SpaceLink(space_id=space) | links.ChangeRequestLink(space_id=space):
            return app.workspace.space(space) is None
        case links.BrokenLink(is_outside_tree=is_outside):
            return is_outside
    return isinstance(target, links.CollectionLink | links.SiteLink | links.UserLink)


class PageTarget(NamedTuple):
    """ID of a page of the open space, and `#` with an anchor on that page (or an empty text)."""

    page: str
    anchor: str


def follow_link_page(open_page: OpenPage, page: Page) -> PageTarget | None:
    """Return the page of this space that a link page leads to. If the link leads elsewhere, open its target and return
    None. If it leads to another link page, tell the user and return None."""
    target = page.target if isinstance(page.target, dict) else {}
    match target.get("kind"):
        case "page" | "anchor" if not target.get("space"):
            target_page = open_page.pages.find(str(target.get("page"))) if open_page.pages is not None else None
            if target_page is not None and target_page.type == "link":  # Link pages may point to each other in a cycle.
                open_page.shell.say(
                    f"{page.title} links to {target_page.title}, which is also a link. Octavo does not follow links to other links.",
                    tone="care",
                )
                return None
            return PageTarget(str(target.get("page")), with_hash(target.get("anchor")))
        case "page" | "anchor":
            space, anchor = str(target.get("space")), with_hash(target.get("anchor"))
            open_page.shell.go(ToPage(space, str(target.get("page")), anchor))
        case "space":
            open_page.shell.go(ToPage(str(target.get("space"))))
        case "file":
            open_target(open_page.shell, links.FileLink(str(target.get("file")), page.title), at=_space_ref(open_page))
        case "collection":
            open_target(open_page.shell, links.CollectionLink(str(target.get("collection"))))
        case _:
            confirm_link(open_page.shell, page.href or str(target.get("url") or ""), text=page.title)
    return None


def with_hash(anchor: object) -> str:
    """Return `#` and the anchor. Empty if the anchor is empty."""
    return f"#{anchor}" if anchor else ""


def copy_url(open_page: OpenPage, message: CopyUrlRequested) -> None:
    """Copy the URL of a link, or of the page, to the clipboard. If there is no URL, tell the user why."""
    if message.kind == "page":
        address, subject = "" if open_page.shell.session.is_embedded else page_url(open_page.page), "page"
    else:
        address, subject = link_url(open_page, message.href), "link"
    if address:
        notice = "Copied a link to the page." if subject == "page" else "Copied the link."
        copy_text(open_page.shell, address, notice)
    else:
        open_page.shell.say(missing_link_reason(open_page.shell, subject), tone="care")


def link_url(open_page: OpenPage, href: str) -> str:
    """Return the URL that a link leads to, or the path of the file of reusable content. Empty if there is none."""
    page, workspace = open_page.page, open_page.shell.workspace
    target = _resolve(open_page, href)
    match target:
        case links.UrlLink(url=url):
            return url
        case links.ReusableContentLink(path=path):
            return path
        case _ if _is_outside_folder(open_page.shell, target):
            return href if "://" in href else ""
        case _ if open_page.shell.session.is_embedded:
            return ""
        case links.PageLink(page_id=name, anchor=anchor):
            linked_page = open_page.pages.find(name) if open_page.pages is not None else None
            return _with_anchor(page_url(linked_page), anchor)
        case links.AnchorLink(anchor=anchor):
            return _with_anchor(page_url(page), anchor)
        case links.SpaceLink(space_id=name, page=wanted, anchor=anchor) if (space := workspace.space(name)) is not None:
            base = space.urls.app or ""
            return _with_anchor(f"{base.rstrip('/')}/{wanted}" if wanted and base else base, anchor)
        case links.BrokenLink() | links.BlockedLink():
            return ""
        case _:
            return href if href.startswith(("https://", "http://")) else ""


def _with_anchor(address: str, anchor: str | None) -> str:
    return f"{address}#{anchor}" if address and anchor else address


def _resolve(open_page: OpenPage, href: str) -> links.Target:
    targets = open_page.view.contents.deferred.targets
    return targets.resolve(href) if targets is not None else links.resolve(href, "", links.SpaceIndex(files=None))


async def _open_path(app: Shell, target: links.BrokenLink, href: str, text: str, at: ContentRef) -> None:
    """Save the file that a broken link names, such as `LICENSE`. If no file is found, explain why the link fails."""
    file = None
    with suppress(ApiError):
        file = await find_file(app.session.live, at, links.FileLink("", PurePosixPath(target.path).name, target.path))
    if file is not None:
        _save_file(app, file)
    else:
        open_target(app, target, href=href, text=text)


async def _save_linked_file(app: Shell, at: ContentRef, target: links.FileLink) -> None:
    with explained(f"Could not save {target.name}"):
        file = await find_file(app.session.live, at, target)
    if file is None and app.session.kind == "folder" and target.path.startswith("../"):
        app.say(_OUTSIDE_FOLDER, tone="care")
    elif file is None:
        app.say(f"This link is broken. There is no file {target.name} in this space.", tone="care")
    else:
        _save_file(app, file)


async def show_reusable_content(
    app: Shell,
    target: links.ReusableContentLink,
    pages: Sequence[GetPage],
    deferred: DeferredContent,
    follow: Callable[[LinkFollowed], None],
) -> None:
    """Show reusable content in a dialog, as in the first page of `pages` that includes this content. If no page
    includes the content, copy the path of its file. `follow` opens the links in the dialog."""
    for operation in pages:
        name = f"the reusable content {target.path}"
        with opening(app, f"Loading {name}…", f"Could not load {name}"):
            page = await find_page(app.session.live, operation)
            block = await asyncio.to_thread(_find_include, parse(page_markdown(page)).walk(), deferred.targets, target)
        if block is not None:
            _show_text_dialog(app, deferred, block, follow, f"Reusable content {target.path}")
            return
    open_target(app, target)


def _find_include(
    blocks: Iterable[Block], targets: LinkTargets | None, target: links.ReusableContentLink
) -> Block | None:
    includes = (block for block in blocks if block.kind == "include" and block.children)
    return next((each for each in includes if targets and targets.resolve(str(each.attrs["target"])) == target), None)


async def _open_site(app: Shell, target: links.SiteLink) -> None:
    organization = target.organization_id or (
        app.workspace.organization.id if app.workspace.organization is not None else ""
    )
    try:
        site = await app.session.live.fetch(_get_site(at=SiteRef(organization_id=organization, site_id=target.site_id)))
    except (ApiError, ValueError) as error:
        app.say(f"Could not open the site: {error}", tone="failed")
        return
    open_link(app, site.urls.published or site.urls.app or "", "site", text=site.title)


def _show_text_dialog(
    app: Shell, deferred: DeferredContent, content: Block, follow: Callable[[LinkFollowed], None], name: str = ""
) -> None:
    app.ask(_text_dialog(content, deferred, name), follow)


def _show_note(app: Shell, view: PageView, label: str, follow: Callable[[LinkFollowed], None]) -> None:
    def show(note: Block | None) -> None:
        if app.screen is not view.screen:
            return  # The user has opened another screen.
        if note is None:
            app.say(f"This page has no footnote {label}.", tone="care")
        else:
            _show_text_dialog(app, view.contents.deferred, note, follow)

    view.navigation.call_with_footnote(label, show)
