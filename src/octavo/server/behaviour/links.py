"""Links of pages: where they lead, which are broken, and what leads to a page or file."""

from __future__ import annotations

from functools import cached_property

from octavo.api import links
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.documents import page_trees
from octavo.server.behaviour import revisions
from octavo.server.behaviour.change_requests import base_of, path_of, present_change_request
from octavo.server.behaviour.collections import present_collection
from octavo.server.behaviour.content import app_of, present_file, present_page, present_reusable
from octavo.server.behaviour.openapi_specs import present_spec
from octavo.server.behaviour.organizations import present_organization
from octavo.server.behaviour.spaces import present_space
from octavo.server.behaviour.users import present_user
from octavo.server.rest import handle, page
from octavo.server.store import Json
from octavo.server.surveying import Found, Spot, Survey, Target
from octavo.server.world import World


@handle.register
def _list_of_space(op: links.ListOfSpace, world: World) -> Json:
    return _listed(op, Showing(world, op.at), _wanted(op, Survey(world, revisions.at(world, op.at)).found()))


@handle.register
def _list_of_page(op: links.ListOfPage, world: World) -> Json:
    revision = revisions.at(world, op.at)
    page = revisions.page_of(revision, op.page_id)
    return _listed(op, Showing(world, op.at), _wanted(op, Survey(world, revision).found(page["id"])))


@handle.register
def _list_of_change_request(op: links.ListOfChangeRequest, world: World) -> Json:
    base = base_of(world.store.get(path_of(op.at)))
    before = Survey(world, revisions.get(world, op.at.space_id, base)).broken()
    found = Survey(world, revisions.at(world, op.at)).found()
    ours = [each for each in found if each.target.status == "broken" and not _was(each, before)]
    if op.broken_context == "change-request":
        found = ours
    elif op.broken_context == "space":
        found = [each for each in found if each.target.status == "broken" and each not in ours]
    answer = _listed(op, Showing(world, op.at), _wanted(op, found))
    answer["stats"]["broken"]["changeRequest"] = len([each for each in ours if each in found])
    return answer


def _was(found: Found, before: set[tuple[str, str]]) -> bool:
    """Whether a broken link was as broken before, wherever it stands."""
    return all((spot.page, found.target.name) in before for spot in found.spots)


def _wanted(op: links.ListOfSpace | links.ListOfPage | links.ListOfChangeRequest, found: list[Found]) -> list[Found]:
    return [each for each in found if op.status in (None, each.target.status)]


def _listed(
    op: links.ListOfSpace | links.ListOfPage | links.ListOfChangeRequest, showing: Showing, found: list[Found]
) -> Json:
    answer = page(op, ((each.key, each) for each in found), showing.link)
    broken = sum(each.target.status == "broken" for each in found)
    return {**answer, "stats": {"total": len(found), "broken": {"total": broken}}}


@handle.register
def _list_to_page(op: links.ListToPage, world: World) -> Json:
    revision = revisions.at(world, op.at)
    page = revisions.page_of(revision, op.page_id)
    return _leading(op, world, Survey(world, revision).leading_to("page", page["id"]))


@handle.register
def _list_to_file(op: links.ListToFile, world: World) -> Json:
    revision = revisions.at(world, op.at)
    file = revisions.file_of(revision, op.file_id)
    return _leading(op, world, Survey(world, revision).leading_to("file", file["id"]))


def _leading(op: links.ListToPage | links.ListToFile, world: World, spots: list[Spot]) -> Json:
    found = sorted((spot.page, spot.block) for spot in spots)
    showing = Showing(world, op.at)
    return page(op, ((key, Spot(*key)) for key in found), showing.spot)


class Showing:
    """Locations as they are shown, with the things they name embedded whole, each built once."""

    def __init__(self, world: World, at: SpaceRef | ChangeRequestRef) -> None:
        self._world = world
        self._at = at
        self._spaces: dict[str, Json] = {}

    def link(self, found: Found) -> Json:
        """A thing linked to, with the places that do."""
        return {
            "status": found.target.status,
            "relation": found.relation,
            "targetReference": self.target(found.target),
            "locationReferences": [self.spot(spot) for spot in found.spots],
        }

    def spot(self, spot: Spot) -> Json:
        """A place where a link stands."""
        inside: Json = {"internalLocation": {"type": "node", "node": spot.block}} if spot.block else {}
        return {"kind": "page", **self._in(self._at.space_id), "page": self._page(spot.page), **self._context, **inside}

    def target(self, target: Target) -> Json:
        """What a link leads to."""
        kind, name, world = target.kind, target.name, self._world
        match kind:
            case "page":
                inside: Json = (
                    {"internalLocation": {"type": "anchor", "anchor": target.anchor}} if target.anchor else {}
                )
                if target.space != self._at.space_id:
                    there = SpaceRef(space_id=target.space)
                    shown = Showing(world, there)._page(name)
                    return {"kind": kind, **self._in(target.space), "page": shown, **inside}
                return {"kind": kind, **self._in(target.space), "page": self._page(name), **self._context, **inside}
            case "file":
                file = next(each for each in self._revision["files"] if each["id"] == name)
                return {"kind": kind, **self._in(target.space), "file": present_file(world, file), **self._context}
            case "reusable-content":
                item = next(each for each in self._revision["reusableContents"] if each["id"] == name)
                shown = present_reusable(item)
                return {"kind": kind, **self._in(target.space), "reusableContent": shown, **self._context}
            case "space":
                return {"kind": kind, **self._in(name)}
            case "collection":
                collection = world.store.get(f"/collections/{name}")
                around = self._organization(collection["organization"])
                return {"kind": kind, "organization": around, "collection": present_collection(world, collection)}
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
        return revisions.at(self._world, self._at)

    @cached_property
    def _pages(self) -> dict[str, Json]:
        return {each["id"]: each for each in page_trees.walk(self._revision["pages"])}

    @cached_property
    def _app(self) -> str:
        return app_of(self._world, self._at)

    @cached_property
    def _context(self) -> Json:
        """Of which state the location speaks. Nothing for the primary content, which would be its whole tree again."""
        if not isinstance(self._at, ChangeRequestRef):
            return {}
        shown = present_change_request(self._world, self._world.store.get(path_of(self._at)))
        return {"versionContext": {"type": "changeRequest", "changeRequest": shown}}

    def _page(self, name: str) -> Json:
        # Without the pages below it, which would come along with every link.
        return present_page({**self._pages[name], "pages": []}, self._app)

    def _in(self, space_id: str) -> Json:
        if space_id not in self._spaces:
            space = self._world.store.get(f"/spaces/{space_id}")
            around = self._organization(space["organization"])
            self._spaces[space_id] = {"organization": around, "space": present_space(self._world, space)}
        return self._spaces[space_id]

    def _organization(self, name: str) -> Json:
        return present_organization(self._world, self._world.store.get(f"/orgs/{name}"))
