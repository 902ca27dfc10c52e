"""Links in pages, their targets, broken links, and the resources that app URLs refer to."""

from __future__ import annotations

from functools import cached_property
from urllib.parse import urlsplit

from octavo.api import links, urls
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.documents import page_trees
from octavo.documents.links import APP_HOSTS, path_steps
from octavo.server.handlers import revisions
from octavo.server.handlers.change_requests import base_of, change_request_path, present_change_request
from octavo.server.handlers.content import app_url, present_file, present_page, present_reusable
from octavo.server.handlers.members import present_user
from octavo.server.handlers.openapi_specs import present_spec
from octavo.server.handlers.organizations import present_organization
from octavo.server.handlers.permissions import can_see_collection, role
from octavo.server.handlers.spaces import present_collection, present_space
from octavo.server.link_survey import ID_PATTERN, LinkedResource, LinkLocation, LinkSurvey, LinkTarget
from octavo.server.rest import handle, paginate
from octavo.server.store import Json, MissingResource
from octavo.server.world import Refusal, World


@handle.register
def _list_of_space(op: links.ListOfSpace, world: World) -> Json:
    return _present_list(
        op,
        LinkPresenter(world, op.at),
        _filter_status(op, LinkSurvey(world, revisions.get_at(world, op.at)).list_resources()),
    )


@handle.register
def _list_of_page(op: links.ListOfPage, world: World) -> Json:
    revision = revisions.get_at(world, op.at)
    page = revisions.page_of(revision, op.page_id)
    return _present_list(
        op, LinkPresenter(world, op.at), _filter_status(op, LinkSurvey(world, revision).list_resources(page["id"]))
    )


@handle.register
def _list_of_change_request(op: links.ListOfChangeRequest, world: World) -> Json:
    base = base_of(world.store.get(change_request_path(op.at)))
    before = LinkSurvey(world, revisions.get(world, op.at.space_id, base)).list_broken()
    resources = LinkSurvey(world, revisions.get_at(world, op.at)).list_resources()
    ours = [
        resource for resource in resources if resource.target.status == "broken" and not _was_broken(resource, before)
    ]
    if op.broken_context == "change-request":
        resources = ours
    elif op.broken_context == "space":
        resources = [resource for resource in resources if resource.target.status == "broken" and resource not in ours]
    response = _present_list(op, LinkPresenter(world, op.at), _filter_status(op, resources))
    response["stats"]["broken"]["changeRequest"] = len([link for link in ours if link in resources])
    return response


def _was_broken(resources: LinkedResource, before: set[tuple[str, str]]) -> bool:
    """Return whether a broken target is an old problem: every page that links to it now already had this broken link
    before the change request."""
    return all((location.page, resources.target.name) in before for location in resources.locations)


def _filter_status(
    op: links.ListOfSpace | links.ListOfPage | links.ListOfChangeRequest, resources: list[LinkedResource]
) -> list[LinkedResource]:
    return [resource for resource in resources if op.status in (None, resource.target.status)]


def _present_list(
    op: links.ListOfSpace | links.ListOfPage | links.ListOfChangeRequest,
    showing: LinkPresenter,
    resources: list[LinkedResource],
) -> Json:
    response = paginate(op, ((resource.sort_key, resource) for resource in resources), showing.link)
    broken = sum(resource.target.status == "broken" for resource in resources)
    return {**response, "stats": {"total": len(resources), "broken": {"total": broken}}}


@handle.register
def _list_to_page(op: links.ListToPage, world: World) -> Json:
    revision = revisions.get_at(world, op.at)
    page = revisions.page_of(revision, op.page_id)
    return _present_places(op, world, LinkSurvey(world, revision).list_locations("page", page["id"]))


@handle.register
def _list_to_file(op: links.ListToFile, world: World) -> Json:
    revision = revisions.get_at(world, op.at)
    file = revisions.file_of(revision, op.file_id)
    return _present_places(op, world, LinkSurvey(world, revision).list_locations("file", file["id"]))


def _present_places(op: links.ListToPage | links.ListToFile, world: World, locations: list[LinkLocation]) -> Json:
    resources = sorted((location.page, location.block) for location in locations)
    showing = LinkPresenter(world, op.at)
    return paginate(op, ((key, LinkLocation(*key)) for key in resources), showing.location)


class LinkPresenter:
    """Converts link targets and locations to API resources. Each embedded resource is converted once."""

    def __init__(self, world: World, at: SpaceRef | ChangeRequestRef) -> None:
        self._world = world
        self._at = at
        self._spaces: dict[str, Json] = {}

    def link(self, resources: LinkedResource) -> Json:
        """Return a link target with the locations of its links."""
        return {
            "status": resources.target.status,
            "relation": resources.relation,
            "targetReference": self.target(resources.target),
            "locationReferences": [self.location(location) for location in resources.locations],
        }

    def location(self, location: LinkLocation) -> Json:
        """Return the location of a link."""
        inside: Json = {"internalLocation": {"type": "node", "node": location.block}} if location.block else {}
        return {
            "kind": "page",
            **self._space_fields(self._at.space_id),
            "page": self._page(location.page),
            **self._context,
            **inside,
        }

    def target(self, target: LinkTarget) -> Json:
        """Return the target of a link."""
        kind, name, world = target.kind, target.name, self._world
        match kind:
            case "page":
                inside: Json = (
                    {"internalLocation": {"type": "anchor", "anchor": target.anchor}} if target.anchor else {}
                )
                if target.space != self._at.space_id:
                    place = SpaceRef(space_id=target.space)
                    page_json = LinkPresenter(world, place)._page(name)
                    return {"kind": kind, **self._space_fields(target.space), "page": page_json, **inside}
                return {
                    "kind": kind,
                    **self._space_fields(target.space),
                    "page": self._page(name),
                    **self._context,
                    **inside,
                }
            case "file":
                file = next(each for each in self._revision["files"] if each["id"] == name)
                return {
                    "kind": kind,
                    **self._space_fields(target.space),
                    "file": present_file(world, file),
                    **self._context,
                }
            case "reusable-content":
                item = next(each for each in self._revision["reusableContents"] if each["id"] == name)
                page_json = present_reusable(item)
                return {"kind": kind, **self._space_fields(target.space), "reusableContent": page_json, **self._context}
            case "space":
                return {"kind": kind, **self._space_fields(name)}
            case "collection":
                collection = world.store.get(f"/collections/{name}")
                organization = self._organization(collection["organization"])
                return {"kind": kind, "organization": organization, "collection": present_collection(world, collection)}
            case "openapi":
                organization = world.store.get(f"/spaces/{self._at.space_id}")["organization"]
                spec = present_spec(world, world.store.get(f"/orgs/{organization}/openapi/{name}"))
                return {"kind": kind, "organization": self._organization(organization), "openAPISpec": spec}
            case "user":
                return {"kind": kind, "user": present_user(world, name)}
            case _:
                return {"kind": "url", "url": name}

    @cached_property
    def _revision(self) -> Json:
        return revisions.get_at(self._world, self._at)

    @cached_property
    def _pages(self) -> dict[str, Json]:
        return {page["id"]: page for page in page_trees.walk(self._revision["pages"])}

    @cached_property
    def _app(self) -> str:
        return app_url(self._world, self._at)

    @cached_property
    def _context(self) -> Json:
        """Reference to the change request of a location. Empty for main content, to keep responses small."""
        if not isinstance(self._at, ChangeRequestRef):
            return {}
        page_json = present_change_request(self._world, self._world.store.get(change_request_path(self._at)))
        return {"versionContext": {"type": "changeRequest", "changeRequest": page_json}}

    def _page(self, name: str) -> Json:
        # Child pages are left out, because every link would repeat them.
        return present_page({**self._pages[name], "pages": []}, self._app)

    def _space_fields(self, space_id: str) -> Json:
        if space_id not in self._spaces:
            space = self._world.store.get(f"/spaces/{space_id}")
            organization = self._organization(space["organization"])
            self._spaces[space_id] = {"organization": organization, "space": present_space(self._world, space)}
        return self._spaces[space_id]

    def _organization(self, name: str) -> Json:
        return present_organization(self._world, self._world.store.get(f"/orgs/{name}"))


@handle.register
def _get_content(op: urls.GetContent, world: World) -> Json:
    parts = _app_path_steps(op.url, world)
    match parts:
        case [_, name, *_] if not ID_PATTERN.fullmatch(name):
            raise MissingResource(f"/spaces/{name}")
        case ["c", collection, *_]:
            return {"collection": present_collection(world, _visible_collection(world, collection))}
        case ["s", space, "~", "changes", number, *path]:
            return _present_space_url(world, space, number, path)
        case ["s", space, "~", "revisions", _, *path] | ["s", space, *path]:
            return _present_space_url(world, space, None, path)
    raise Refusal(404, "This link does not lead to a space or collection on this server.")


def _app_path_steps(url: str, world: World) -> list[str]:
    """Return the path segments of an app URL after its organization. Raises Refusal for URLs of other servers."""
    for origin in (world.origin, *(f"https://{host}" for host in APP_HOSTS)):
        if url.startswith(f"{origin}/"):
            parts = path_steps(urlsplit(url).path)
            parts = parts[2:] if parts[:1] == ["o"] else parts
            return ["s" if part == "spaces" and place == 0 else part for place, part in enumerate(parts)]
    raise Refusal(400, f"url must be a link to this server: it must begin with {world.origin}/.")


def _visible_collection(world: World, name: str) -> Json:
    collection = world.store.get(f"/collections/{name}")
    if not can_see_collection(world, collection):
        raise MissingResource(f"/collections/{name}")
    return collection


def _present_space_url(world: World, name: str, number: str | None, path: list[str]) -> Json:
    space = world.store.get(f"/spaces/{name}")
    if space.get("deletedAt") or role(world, space) is None:
        raise MissingResource(f"/spaces/{name}")
    answer: Json = {"space": present_space(world, space)}
    at: SpaceRef | ChangeRequestRef = SpaceRef(space_id=name)
    if number is not None:
        is_number = number.isdecimal() and len(number) < 10
        resources = world.store.find_by(f"/spaces/{name}/change-requests", "number", int(number)) if is_number else None
        if resources is None:
            raise MissingResource(f"/spaces/{name}/change-requests/{number}")
        at = ChangeRequestRef(space_id=name, change_request_id=resources["id"])
        answer["changeRequest"] = present_change_request(world, resources)
    path = path[1:] if path[:1] == ["pages"] else path
    if path and path[0] != "~":
        pages = revisions.get_at(world, at)["pages"]
        page = page_trees.find_by_path(pages, "/".join(path)) or page_trees.find(pages, "/".join(path))
        if page is None:
            raise MissingResource(f"/spaces/{name}/pages/{'/'.join(path)}")
        answer["page"] = present_page(page, app_url(world, at))
    return answer
