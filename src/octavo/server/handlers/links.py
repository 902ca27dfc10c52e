"""Finds the links on the pages of a revision, and what they lead to. Also finds the resource for a URL of the app."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

from octavo.api import links, urls
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.documents import links as page_links
from octavo.documents import page_trees
from octavo.documents.anchors import PageAnchors, is_missing_anchor, page_anchors
from octavo.documents.json_inline import reference_url
from octavo.documents.links import APP_HOSTS, PageReference, path_parts, references_in
from octavo.documents.source_reader import parse
from octavo.server.handlers.change_requests import (
    base_revision_id,
    change_request_path,
    get_by_number,
    present_change_request,
)
from octavo.server.handlers.content import app_url, present_file, present_page, present_reusable
from octavo.server.handlers.openapi_specs import present_spec
from octavo.server.handlers.organizations import can_see_user, present_organization, present_user
from octavo.server.handlers.permissions import can_see_collection, role
from octavo.server.handlers.spaces import (
    file_of,
    get_current,
    get_revision,
    get_revision_at,
    page_of,
    present_collection,
    present_space,
)
from octavo.server.page_texts import find_reusable
from octavo.server.rest import Refusal, RequestContext, handle, paginate
from octavo.server.store import Json, MissingResource

ID_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_:@.+-]{0,127}")
"""Pattern of a valid ID."""
_CACHE_LIMIT = 5000
_INCLUDE_LIMIT = 100
"""Maximum number of includes on a page that are searched for an anchor."""
_CACHE: dict[str, TextLinks] = {}
"""Links and anchors in a text, by hash of the text. Cached, because parsing is slow."""


@dataclass(frozen=True)
class TextLinks:
    """The links, includes and OpenAPI blocks in a text, and the anchors of the text, to which links can lead."""

    usages: tuple[PageReference, ...]
    anchors: PageAnchors


@dataclass(frozen=True)
class LinkTarget:
    """A link target. `status` is `ok`, `broken`, or `in-app` for a URL of the app. `key` is an ID, a slug or a URL."""

    status: str
    kind: str
    key: str
    space_id: str = ""
    """Space that contains the page, file or reusable content. Empty for other targets."""
    anchor: str = ""


@dataclass(frozen=True)
class LinkPosition:
    """The page and block that contain a link. `block_key` is empty for a link page, and for the cover of a page."""

    page_id: str
    block_key: str = ""


@dataclass
class LinkedResource:
    """A link target, and where the links to it are. `relation` is `reference` or `dependsOn`."""

    target: LinkTarget
    relation: str
    locations: list[LinkPosition] = field(default_factory=list)

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Sort key that puts broken links first, then links to the app."""
        rank = {"broken": "0", "in-app": "1"}.get(self.target.status, "2")
        return rank, self.target.kind, self.target.space_id, self.target.key, self.target.anchor, self.relation


class RevisionLinks:
    """All links in a revision. A link to something that the caller cannot see is broken."""

    def __init__(self, context: RequestContext, revision: Json) -> None:
        self._context = context
        self._revision = revision
        self._space = context.store.get(f"/spaces/{revision['space']}")
        folder = context.store.find(f"/spaces/{revision['space']}/folder")
        self._is_folder = folder is not None
        self.pages = {page["id"]: page for page in page_trees.walk(revision["pages"])}
        self._link_targets = page_trees.space_index_of_json(revision, (folder or {}).get("root", ""))

    def list_resources(self, page_id: str | None = None) -> list[LinkedResource]:
        """Return the targets of all links in the revision, or only of the links on one page."""
        resources: dict[tuple[LinkTarget, str], LinkedResource] = {}
        for page in self.pages.values() if page_id is None else [self.pages[page_id]]:
            for relation, target, location in self._links_of_page(page):
                resources.setdefault((target, relation), LinkedResource(target, relation)).locations.append(location)
        return sorted(resources.values(), key=lambda each: each.sort_key)

    def list_locations(self, kind: str, item_id: str) -> list[LinkPosition]:
        """Return where the links to the page or file `item_id` of this space are. `kind` is `page` or `file`."""
        locations = [
            location
            for page in self.pages.values()
            for _, target, location in self._links_of_page(page)
            if (target.kind, target.key, target.space_id) == (kind, item_id, self._space["id"])
        ]
        return list(dict.fromkeys(locations))

    def list_broken(self) -> set[tuple[str, str]]:
        """Return the page ID and the key of the target for each broken link."""
        resources = self.list_resources()
        return {
            (location.page_id, resource.target.key)
            for resource in resources
            if resource.target.status == "broken"
            for location in resource.locations
        }

    def _links_of_page(self, page: Json) -> Iterator[tuple[str, LinkTarget, LinkPosition]]:
        """Yield the relation, the target and the location of each link on a page, also of link pages and covers."""
        if page["type"] == "link" and isinstance(page.get("target"), dict):
            yield "reference", self._reference_target(page["target"], page), LinkPosition(page["id"])
        cover = page.get("cover") or {}
        for reference in (cover.get("ref"), cover.get("refDark")):
            if isinstance(reference, dict):
                yield "reference", self._reference_target(reference, page), LinkPosition(page["id"])
        for usage in _text_links(self._context, page).usages:
            target = self._usage_target(usage, page)
            if usage.kind == "spec" and target.status == "broken" and self._is_folder:
                continue  # A folder may refer to a specification on GitBook, which this server does not have.
            relation = "reference" if usage.kind == "url" else "dependsOn"
            yield relation, target, LinkPosition(page["id"], usage.block_key)

    def _usage_target(self, usage: PageReference, page: Json) -> LinkTarget:
        if usage.kind == "spec":
            return self._specification_target(usage.target)
        if usage.kind == "include":
            return self._reusable_target(usage.target, page)
        return self._url_target(usage.target, page)

    def _url_target(self, href: str, page: Json) -> LinkTarget:
        """Return the target of a URL, with the status `broken` (no such target), `in-app` (URL of the app) or `ok`."""
        origin = f"{self._context.origin}/o/"
        is_in_app = href.startswith((origin, *(f"https://{host}/" for host in page_links.APP_HOSTS)))
        path = href.removeprefix(self._context.origin) if is_in_app else href
        status = "in-app" if is_in_app else "ok"
        match page_links.resolve(path, page_trees.link_base(page), self._link_targets):
            case page_links.PageLink(page_id=target_id, anchor=anchor):
                target = self._page_target(self._space["id"], target_id, anchor or "", status)
            case page_links.AnchorLink(anchor=anchor):
                target = self._page_target(self._space["id"], page["id"], anchor, status)
            case page_links.FileLink(file_id=target_id):
                target = LinkTarget(status, "file", target_id, self._space["id"])
            case page_links.SpaceLink(space_id=target_id, page=page_ref, anchor=anchor):
                target = self._other_space_target(target_id, page_ref, anchor or "", status)
                if target is None and self._is_folder:  # A folder may link to a space on GitBook.
                    target = LinkTarget(status, "url", href)
            case page_links.ChangeRequestLink(space_id=target_id, number=number):
                change_request = self._context.store.find_by(f"/spaces/{target_id}/change-requests", "number", number)
                target = self._other_space_target(target_id, None, "", status) if change_request else None
            case page_links.CollectionLink(collection_id=target_id):
                target = self._collection_target(target_id, status)
            case page_links.UserLink(user_id=target_id):
                target = self._user_target(target_id, status)
            case page_links.BrokenLink(is_outside_tree=is_outside):
                # The platform cannot check files outside the folder.
                target = LinkTarget(status, "url", href) if is_outside and self._is_folder else None
            case _:
                target = LinkTarget("ok", "url", href)
        return target or LinkTarget("broken", "url", href)

    def _reference_target(self, reference: Json, page: Json) -> LinkTarget:
        """Return the target of a JSON reference, such as the cover of `page`."""
        match reference:
            case {"kind": "openapi", "spec": str(slug)}:
                return self._specification_target(slug)
            case {"kind": "reusable-content", "reusableContent": item_id} if any(
                each["id"] == item_id for each in self._revision["reusableContents"]
            ):
                return LinkTarget("ok", "reusable-content", item_id, self._space["id"])
        return self._url_target(reference_url(reference), page)

    def _page_target(self, space_id: str, page_id: str, anchor: str, status: str) -> LinkTarget | None:
        page = self.pages.get(page_id)
        if page is None or not _has_anchor(self._context, self._revision, page, anchor):
            return None
        return LinkTarget(status, "page", page_id, space_id, anchor)

    def _other_space_target(self, space_id: str, page_ref: str | None, anchor: str, status: str) -> LinkTarget | None:
        """Return a space, or its page `page_ref`, with `status`. None if the target or anchor is missing or hidden."""
        document = self._find_document("spaces", space_id)
        if document is None or document.get("deletedAt") or role(self._context, document) is None:
            return None
        if not page_ref:
            return LinkTarget(status, "space", space_id)
        revision = get_current(self._context, space_id)
        page = page_trees.find_by_path(revision["pages"], page_ref) or page_trees.find_page(revision["pages"], page_ref)
        if page is None or not _has_anchor(self._context, revision, page, anchor):
            return None
        return LinkTarget(status, "page", page["id"], space_id, anchor)

    def _collection_target(self, collection_id: str, status: str) -> LinkTarget | None:
        collection = self._find_document("collections", collection_id)
        is_visible = collection is not None and can_see_collection(self._context, collection)
        return LinkTarget(status, "collection", collection_id) if is_visible else None

    def _user_target(self, user_id: str, status: str) -> LinkTarget | None:
        is_visible = ID_PATTERN.fullmatch(user_id) and can_see_user(self._context, user_id)
        return LinkTarget(status, "user", user_id) if is_visible else None

    def _specification_target(self, slug: str) -> LinkTarget:
        exists = self._find_document(f"orgs/{self._space['organization']}/openapi", slug)
        return LinkTarget("ok", "openapi", slug) if exists else LinkTarget("broken", "url", slug)

    def _find_document(self, collection: str, name: str) -> Json | None:
        # `name` can be any text. Only an ID is safe in a path.
        return self._context.store.find(f"/{collection}/{name}") if ID_PATTERN.fullmatch(name) else None

    def _reusable_target(self, reference: str, page: Json) -> LinkTarget:
        item = find_reusable(self._revision, reference, posixpath.dirname(page_trees.source_path(page)))
        return (
            LinkTarget("ok", "reusable-content", item["id"], self._space["id"])
            if item
            else LinkTarget("broken", "url", reference)
        )


def _has_anchor(context: RequestContext, revision: Json, page: Json, anchor: str) -> bool:
    """Return whether a page, with its includes, contains `anchor`. True if parts are unknown or `anchor` is empty."""
    if not anchor or page["type"] != "document":
        return True
    anchors_of_parts, remaining_pages, seen_ids = [_text_links(context, page).anchors], [page], set[str]()
    while remaining_pages and len(seen_ids) < _INCLUDE_LIMIT:
        part = remaining_pages.pop()
        folder = posixpath.dirname(page_trees.source_path(part))
        for usage in _text_links(context, part).usages:
            item = find_reusable(revision, usage.target, folder) if usage.kind == "include" else None
            if item is not None and item["id"] not in seen_ids:
                seen_ids.add(item["id"])
                remaining_pages.append(item)
                anchors_of_parts.append(_text_links(context, item).anchors)
    return not is_missing_anchor(anchor, anchors_of_parts)


def _text_links(context: RequestContext, page: Json) -> TextLinks:
    text_hash = page.get("text")
    if not text_hash:
        return TextLinks((), PageAnchors((), True))
    links = _CACHE.get(text_hash)
    if links is None:
        document = parse(context.store.text(text_hash))
        links = TextLinks(tuple(references_in(document)), page_anchors(document))
        if len(_CACHE) >= _CACHE_LIMIT:
            _CACHE.clear()
        _CACHE[text_hash] = links
    return links


@handle.register
def _list_of_space(op: links.ListOfSpace, context: RequestContext) -> Json:
    return _present_list(op, context, RevisionLinks(context, get_revision_at(context, op.at)).list_resources())


@handle.register
def _list_of_page(op: links.ListOfPage, context: RequestContext) -> Json:
    revision = get_revision_at(context, op.at)
    page = page_of(revision, op.page_id)
    return _present_list(op, context, RevisionLinks(context, revision).list_resources(page["id"]))


@handle.register
def _list_of_change_request(op: links.ListOfChangeRequest, context: RequestContext) -> Json:
    base_id = base_revision_id(context.store.get(change_request_path(op.at)))
    links_broken_before = RevisionLinks(context, get_revision(context, op.at.space_id, base_id)).list_broken()
    resources = RevisionLinks(context, get_revision_at(context, op.at)).list_resources()
    newly_broken = [
        each for each in resources if each.target.status == "broken" and not _was_broken(each, links_broken_before)
    ]
    if op.broken_context == "change-request":
        resources = newly_broken
    elif op.broken_context == "space":
        resources = [each for each in resources if each.target.status == "broken" and each not in newly_broken]
    return _present_list(op, context, resources, newly_broken)


def _was_broken(resource: LinkedResource, links_broken_before: set[tuple[str, str]]) -> bool:
    """Return whether all links to a resource are in `links_broken_before`, an earlier result of `list_broken`."""
    return all((location.page_id, resource.target.key) in links_broken_before for location in resource.locations)


def _present_list(
    op: links.ListOfSpace | links.ListOfPage | links.ListOfChangeRequest,
    context: RequestContext,
    resources: list[LinkedResource],
    newly_broken: list[LinkedResource] | None = None,
) -> Json:
    """Return the response for a list of links. Count `newly_broken`, the links that the change request broke."""
    matching_resources = [resource for resource in resources if op.status in (None, resource.target.status)]
    response = paginate(
        op, ((each.sort_key, each) for each in matching_resources), LinkPresenter(context, op.at).present_resource
    )
    broken_resources = [resource for resource in matching_resources if resource.target.status == "broken"]
    counts = {"total": len(broken_resources)}
    if newly_broken is not None:
        counts["changeRequest"] = sum(resource in newly_broken for resource in broken_resources)
    return {**response, "stats": {"total": len(matching_resources), "broken": counts}}


@handle.register
def _list_to_page(op: links.ListToPage, context: RequestContext) -> Json:
    revision = get_revision_at(context, op.at)
    page = page_of(revision, op.page_id)
    return _present_locations(op, context, RevisionLinks(context, revision).list_locations("page", page["id"]))


@handle.register
def _list_to_file(op: links.ListToFile, context: RequestContext) -> Json:
    revision = get_revision_at(context, op.at)
    file = file_of(revision, op.file_id)
    return _present_locations(op, context, RevisionLinks(context, revision).list_locations("file", file["id"]))


def _present_locations(
    op: links.ListToPage | links.ListToFile, context: RequestContext, locations: list[LinkPosition]
) -> Json:
    keys = sorted((location.page_id, location.block_key) for location in locations)
    return paginate(op, ((key, LinkPosition(*key)) for key in keys), LinkPresenter(context, op.at).present_location)


class LinkPresenter:
    """Converts link targets and locations to API resources. Loads each space only once."""

    def __init__(self, context: RequestContext, at: SpaceRef | ChangeRequestRef) -> None:
        self._context = context
        self._at = at
        self._spaces: dict[str, Json] = {}

    def present_resource(self, resource: LinkedResource) -> Json:
        """Convert a link target, with the locations of the links to the target, to an API resource."""
        return {
            "status": resource.target.status,
            "relation": resource.relation,
            "targetReference": self._present_target(resource.target),
            "locationReferences": [self.present_location(location) for location in resource.locations],
        }

    def present_location(self, location: LinkPosition) -> Json:
        """Convert the location of a link to an API resource."""
        key = location.block_key
        block_fields: Json = {"internalLocation": {"type": "node", "node": key}} if key else {}
        space, page = self._space_fields(self._at.space_id), self._page(location.page_id)
        return {"kind": "page", **space, "page": page, **self._version_context, **block_fields}

    def _present_target(self, target: LinkTarget) -> Json:
        kind, key, context = target.kind, target.key, self._context
        match kind:
            case "page":
                anchor_fields: Json = (
                    {"internalLocation": {"type": "anchor", "anchor": target.anchor}} if target.anchor else {}
                )
                is_in_own_space = target.space_id == self._at.space_id
                presenter = self if is_in_own_space else LinkPresenter(context, SpaceRef(space_id=target.space_id))
                space_json, page = self._space_fields(target.space_id), presenter._page(key)
                return {"kind": kind, **space_json, "page": page, **presenter._version_context, **anchor_fields}
            case "file":
                file = next(each for each in self._revision["files"] if each["id"] == key)
                space_json = self._space_fields(target.space_id)
                return {"kind": kind, **space_json, "file": present_file(context, file), **self._version_context}
            case "reusable-content":
                item = next(each for each in self._revision["reusableContents"] if each["id"] == key)
                space_json = self._space_fields(target.space_id)
                return {"kind": kind, **space_json, "reusableContent": present_reusable(item), **self._version_context}
            case "space":
                return {"kind": kind, **self._space_fields(key)}
            case "collection":
                collection = context.store.get(f"/collections/{key}")
                organization = self._organization(collection["organization"])
                return {
                    "kind": kind,
                    "organization": organization,
                    "collection": present_collection(context, collection),
                }
            case "openapi":
                organization = context.store.get(f"/spaces/{self._at.space_id}")["organization"]
                spec = present_spec(context, context.store.get(f"/orgs/{organization}/openapi/{key}"))
                return {"kind": kind, "organization": self._organization(organization), "openAPISpec": spec}
            case "user":
                return {"kind": kind, "user": present_user(context, key)}
            case _:
                return {"kind": "url", "url": key}

    @cached_property
    def _revision(self) -> Json:
        return get_revision_at(self._context, self._at)

    @cached_property
    def _pages(self) -> dict[str, Json]:
        return {page["id"]: page for page in page_trees.walk(self._revision["pages"])}

    @cached_property
    def _app(self) -> str:
        return app_url(self._context, self._at)

    @cached_property
    def _version_context(self) -> Json:
        if not isinstance(self._at, ChangeRequestRef):
            return {}
        change_request = present_change_request(self._context, self._context.store.get(change_request_path(self._at)))
        return {"versionContext": {"type": "changeRequest", "changeRequest": change_request}}

    def _page(self, page_id: str) -> Json:
        # Child pages are left out, to keep responses small.
        return present_page({**self._pages[page_id], "pages": []}, self._app)

    def _space_fields(self, space_id: str) -> Json:
        if space_id not in self._spaces:
            space = self._context.store.get(f"/spaces/{space_id}")
            organization = self._organization(space["organization"])
            self._spaces[space_id] = {"organization": organization, "space": present_space(self._context, space)}
        return self._spaces[space_id]

    def _organization(self, organization_id: str) -> Json:
        return present_organization(self._context, self._context.store.get(f"/orgs/{organization_id}"))


@handle.register
def _get_content(op: urls.GetContent, context: RequestContext) -> Json:
    segments = _app_path_segments(op.url, context)
    match segments:
        case [_, resource_id, *_] if not ID_PATTERN.fullmatch(resource_id):
            raise MissingResource(f"/spaces/{resource_id}")
        case ["c", collection_id, *_]:
            collection = context.store.get(f"/collections/{collection_id}")
            if not can_see_collection(context, collection):
                raise MissingResource(f"/collections/{collection_id}")
            return {"collection": present_collection(context, collection)}
        case ["s", space_id, "~", "changes", number, *page_segments]:
            return _present_space_url(context, space_id, number, page_segments)
        case ["s", space_id, "~", "revisions", _, *page_segments] | ["s", space_id, *page_segments]:
            return _present_space_url(context, space_id, None, page_segments)
    raise Refusal(404, "This link does not lead to a space or collection on this server.")


def _app_path_segments(url: str, context: RequestContext) -> list[str]:
    """Return the path segments of a URL of the app. The organization is left out, and `spaces` becomes `s`. Raises
    Refusal for another URL."""
    for origin in (context.origin, *(f"https://{host}" for host in APP_HOSTS)):
        if url.startswith(f"{origin}/"):
            parts = path_parts(urlsplit(url).path)
            parts = parts[2:] if parts[:1] == ["o"] else parts
            return ["s" if part == "spaces" and index == 0 else part for index, part in enumerate(parts)]
    raise Refusal(400, f"url must be a link to this server: it must begin with {context.origin}/.")


def _present_space_url(context: RequestContext, space_id: str, number: str | None, segments: list[str]) -> Json:
    space = context.store.get(f"/spaces/{space_id}")
    if space.get("deletedAt") or role(context, space) is None:
        raise MissingResource(f"/spaces/{space_id}")
    response: Json = {"space": present_space(context, space)}
    at: SpaceRef | ChangeRequestRef = SpaceRef(space_id=space_id)
    if number is not None:
        change_request = get_by_number(context, space_id, number)
        at = ChangeRequestRef(space_id=space_id, change_request_id=change_request["id"])
        response["changeRequest"] = present_change_request(context, change_request)
    segments = segments[1:] if segments[:1] == ["pages"] else segments
    if segments and segments[0] != "~":
        pages = get_revision_at(context, at)["pages"]
        page = page_trees.find_by_path(pages, "/".join(segments)) or page_trees.find_page(pages, "/".join(segments))
        if page is None:
            where = "/".join(segments)[:300]
            raise Refusal(404, f"There is no page at “{where}”. The page may have been moved or deleted.")
        response["page"] = present_page(page, app_url(context, at))
    return response
