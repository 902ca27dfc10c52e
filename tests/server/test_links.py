"""Link targets, broken links, links that a change request breaks, and backlinks."""

from __future__ import annotations

from base64 import b64encode

from octavo.api import change_requests, content, links, openapi, spaces
from octavo.api.links import Link, Location
from octavo.api.operation import ListPage
from octavo.server.handlers.spaces import get_current
from octavo.server.rest import RequestContext
from tests.server.small_platform import ACME, Ask, check_refused, replace_pages, space_with
from tests.server.space_editor import SpaceEditor, update

PETS = '{"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": {}}'


def name_of(location: Location | None) -> str:
    """Return a description of a location: its kind and its name."""
    assert location is not None
    inside = f"#{location.internal_location.anchor}" if location.internal_location else ""
    match location.kind:
        case "page" if location.page:
            return f"page {location.page.title}{inside}"
        case "file" if location.file:
            return f"file {location.file.name}"
        case "space" if location.space:
            return f"space {location.space.title}"
        case "openapi" if location.openapi_spec:
            return f"openapi {location.openapi_spec.slug}"
        case _:
            return f"url {location.url}"


def summary_of(page: ListPage[Link]) -> list[tuple[str, str, int]]:
    """Return the status, the target and the number of occurrences of each link."""
    return [(each.status, name_of(each.target_reference), len(each.location_references)) for each in page.items]


async def test_links_are_resolved_to_pages_headings_and_urls(ask: Ask) -> None:
    guide = "# Guide\n\n[a](setup.md) [b](/pages/setup#first-run) [c](#guide) [d](https://a.example/x) [e](mailto:a@b.example)"
    space = await space_with(ask, guide=guide, setup="# Setup\n\n## First run\n\n[back](guide.md)")
    found = await ask(links.ListOfSpace(at=space.ref))
    assert summary_of(found) == [
        ("ok", "page Guide", 1),
        ("ok", "page Guide#guide", 1),
        ("ok", "page Setup", 1),
        ("ok", "page Setup#first-run", 1),
        ("ok", "url https://a.example/x", 1),
        ("ok", "url mailto:a@b.example", 1),
    ]
    assert found.stats is not None
    assert (found.stats.total, found.stats.broken.total, found.stats.broken.change_request) == (6, 0, None)
    at = found.items[0].location_references[0]
    assert (at.kind, at.page and at.page.id, at.space and at.space.id) == ("page", "setup", space.id)
    assert at.organization is not None
    assert at.organization.id == "acme"
    assert at.internal_location is not None
    assert (at.internal_location.type, bool(at.internal_location.node)) == ("node", True)


async def test_links_to_missing_targets_are_broken(ask: Ask) -> None:
    space = await space_with(ask, one="[a](gone.md) [b](two.md#nowhere) [c](/files/none)", two="[d](gone.md)")
    found = await ask(links.ListOfSpace(at=space.ref))
    assert summary_of(found) == [
        ("broken", "url /files/none", 1),
        ("broken", "url gone.md", 2),
        ("broken", "url two.md#nowhere", 1),
    ]
    assert found.stats is not None
    assert found.stats.broken.total == 3


async def test_link_to_a_heading_of_missing_reusable_content_is_broken(ask: Ask) -> None:
    space = await space_with(ask, one="[a](two.md#shared)", two='{% include "../.gitbook/includes/note.md" %}')
    broken = (await ask(links.ListOfSpace(at=space.ref, status="broken"))).items
    assert [(each.relation, name_of(each.target_reference)) for each in broken] == [
        ("dependsOn", "url ../.gitbook/includes/note.md"),
        ("reference", "url two.md#shared"),
    ]


async def test_links_to_the_app_have_targets_in_the_app(ask: Ask, context: RequestContext) -> None:
    other = await space_with(ask, "Other", there="# There")
    here = f"{context.origin}/o/acme/s"
    page = f"[a]({here}/{other.id}) [b]({here}/{other.id}/there) [c]({here}/{other.id}/gone) [d]({here}/nothing)"
    space = await space_with(ask, one=f"{page} [e](/s/{other.id}/there)")
    assert summary_of(await ask(links.ListOfSpace(at=space.ref))) == [
        ("broken", f"url {here}/{other.id}/gone", 1),
        ("broken", f"url {here}/nothing", 1),
        ("in-app", "page There", 1),
        ("in-app", "space Other", 1),
        ("ok", "page There", 1),
    ]
    found = await ask(links.ListOfSpace(at=space.ref, status="in-app"))
    assert found.count == 2
    assert {
        each.target_reference.space.id for each in found.items if each.target_reference and each.target_reference.space
    } == {other.id}


async def test_links_to_invisible_spaces_are_broken(ask: Ask) -> None:
    other = await space_with(ask, "Secret", there="# There")
    await ask(spaces.Update(at=other.ref, default_level=None))
    space = await space_with(ask, one=f"[a](/s/{other.id}/there)")
    assert summary_of(await ask(links.ListOfSpace(at=space.ref)))[0][:2] == ("ok", "page There")
    assert summary_of(await ask(links.ListOfSpace(at=space.ref), "sam")) == [("broken", f"url /s/{other.id}/there", 1)]


async def test_pages_depend_on_their_openapi_specifications(ask: Ask) -> None:
    block = '{% openapi-operation spec="pets" path="/pets" method="get" %}\n[x](https://a.example)\n{% endopenapi-operation %}'
    space = await space_with(ask, one=block)
    assert summary_of(await ask(links.ListOfSpace(at=space.ref))) == [("broken", "url pets", 1)]
    await ask(openapi.Create(at=ACME, slug="pets", source=openapi.Source(text=PETS)))
    found = await ask(links.ListOfSpace(at=space.ref))
    assert [(each.status, each.relation, name_of(each.target_reference)) for each in found.items] == [
        ("ok", "dependsOn", "openapi pets")
    ]


async def test_address_of_an_integration_block_is_a_link(ask: Ask) -> None:
    blocks = '{% @demo/embed url="https://a.example/x" id="1" %}\n\n{% @demo/code src="code.py" %}'
    space = await space_with(ask, one=blocks)
    assert summary_of(await ask(links.ListOfSpace(at=space.ref))) == [("ok", "url https://a.example/x", 1)]


async def test_links_of_one_page_are_listed(ask: Ask) -> None:
    space = await space_with(ask, one="[a](two.md) [b](gone.md)", two="[c](one.md)")
    of_one = await ask(links.ListOfPage(at=space.ref, page_id="one"))
    assert summary_of(of_one) == [("broken", "url gone.md", 1), ("ok", "page Two", 1)]
    assert summary_of(await ask(links.ListOfPage(at=space.ref, page_id="one", status="ok"))) == [("ok", "page Two", 1)]
    assert "The page “gone”" in await check_refused(ask(links.ListOfPage(at=space.ref, page_id="gone")), 404)


async def test_pages_of_links_stay_consistent_while_links_change(ask: Ask) -> None:
    space = await space_with(ask, one="[a](a.md) [c](c.md) [e](e.md)")
    first = await ask(links.ListOfSpace(at=space.ref, limit=2))
    assert first.next is not None
    editor = SpaceEditor(ask, space.ref)
    await editor.publish(update("one", "[a](a.md) [b](b.md) [c](c.md) [d](d.md) [e](e.md)"))
    second = await ask(links.ListOfSpace(at=space.ref, limit=2, page=first.next.page))
    assert [name_of(each.target_reference) for each in second.items] == ["url d.md", "url e.md"]


async def test_change_request_lists_links_it_breaks(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# One\n\n[a](two.md) [b](gone.md)", "# Two\n\n[c](one.md)")
    at = await editor.propose(content.DeletePage(page=await editor.id("Two")))
    await editor.edit(at, update(await editor.id("One"), "# One\n\n[a](two.md) [b](gone.md) [d](new.md)"))
    found = await ask(links.ListOfChangeRequest(at=at))
    assert summary_of(found) == [("broken", "url gone.md", 1), ("broken", "url new.md", 1), ("broken", "url two.md", 1)]
    assert found.stats is not None
    assert (found.stats.broken.total, found.stats.broken.change_request) == (3, 2)
    ours = await ask(links.ListOfChangeRequest(at=at, broken_context="change-request"))
    assert [name_of(each.target_reference) for each in ours.items] == ["url new.md", "url two.md"]
    theirs = await ask(links.ListOfChangeRequest(at=at, broken_context="space"))
    assert [name_of(each.target_reference) for each in theirs.items] == ["url gone.md"]
    context = ours.items[0].location_references[0].version_context
    assert context is not None
    assert context.change_request is not None
    assert context.change_request.id == (await ask(change_requests.Get(at=at))).id
    of_page = await ask(links.ListOfPage(at=at, page_id=await editor.id("One")))
    assert of_page.count == 3


async def test_backlinks_list_pages_that_link_here(ask: Ask) -> None:
    space = await space_with(ask, one="[a](two.md)\n\n[b](two.md#x)", two="# Two\n\n## x\n\n[c](two.md)", three="none")
    found = await ask(links.ListToPage(at=space.ref, page_id="two"))
    assert [each.page and each.page.id for each in found.items] == ["one", "one", "two"]
    assert len({each.internal_location.node for each in found.items if each.internal_location}) == 3
    assert (await ask(links.ListToPage(at=space.ref, page_id="three"))).items == ()
    await check_refused(ask(links.ListToPage(at=space.ref, page_id="gone")), 404)
    at = (await ask(change_requests.Create(at=space.ref, subject="More"))).ref(space.ref)
    await SpaceEditor(ask, space.ref).edit(at, update("three", "[d](two.md)"))
    assert (await ask(links.ListToPage(at=at, page_id="two"))).count == 4
    assert (await ask(links.ListToPage(at=space.ref, page_id="two"))).count == 3


async def test_backlinks_list_pages_that_use_a_file(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# One")
    data = b64encode(b"picture").decode()
    at = await editor.propose()
    file = content.NewFile(name="a.png", content_type="image/png", base64=data, ref="a.png")
    one = await editor.id("One")
    await editor.edit(at, content.InsertFiles(files=(file,)), update(one, "# One\n\n![a](./a.png)"))
    name = (await ask(content.ListFiles(at=at))).items[0].id
    found = await ask(links.ListToFile(at=at, file_id=name))
    assert [each.page and each.page.id for each in found.items] == [one]
    await check_refused(ask(links.ListToFile(at=editor.space, file_id=name)), 404)
    await editor.merge(at)
    assert (await ask(links.ListToFile(at=editor.space, file_id=name))).count == 1
    assert summary_of(await ask(links.ListOfSpace(at=editor.space))) == [("ok", "file a.png", 1)]


async def test_links_of_an_invisible_space_are_not_found(ask: Ask) -> None:
    space = await space_with(ask, one="x")
    await check_refused(ask(links.ListOfSpace(at=space.ref), "eve"), 404)
    at = (await ask(change_requests.Create(at=space.ref))).ref(space.ref)
    await check_refused(ask(links.ListOfChangeRequest(at=at), "eve"), 404)
    missing = at.model_copy(update={"change_request_id": "99"})
    await check_refused(ask(links.ListOfChangeRequest(at=missing)), 404)


async def test_link_pages_and_covers_count_as_links(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, one="# One")
    link = {"type": "link", "createdAt": "2026-03-01T09:00:00.000Z", "updatedAt": "2026-03-01T09:00:00.000Z"}
    targets = [
        {"kind": "page", "page": "one"},
        {"kind": "page", "page": "gone"},
        {"kind": "anchor", "page": "one", "anchor": "one"},
        {"kind": "url", "url": "https://a.example/"},
        {"kind": "space", "space": space.id},
        {"kind": "user", "user": "ada"},
        {"kind": "collection", "collection": "none"},
        {"kind": "reusable-content", "reusableContent": "none"},
        {"kind": "file", "file": "none"},
        {"kind": "openapi", "spec": "none"},
        {"kind": "space", "space": f"{space.id}/revisions/{space.revision}"},
        {"kind": "collection", "collection": 7},
        {"kind": "user", "user": "ada/x"},
        {"kind": "something-new"},
    ]
    pages = [{**link, "id": f"l{n}", "title": f"L{n}", "target": target} for n, target in enumerate(targets)]
    here = get_current(context, space.id)["pages"][0] | {"cover": {"ref": {"kind": "file", "file": "missing"}}}
    await replace_pages(ask, space, [here, *pages])
    found = await ask(links.ListOfSpace(at=space.ref))
    assert {name_of(each.target_reference) for each in found.items if each.status == "broken"} == {
        "url /pages/gone", "url /collections/none", "url /reusable-content/none", "url /files/none", "url none",
        f"url /spaces/{space.id}/revisions/{space.revision}", "url /collections/", "url /users/ada/x",
        "url ",
        "url /files/missing",
    }  # fmt: skip
    assert sorted(each.status for each in found.items) == ["broken"] * 10 + ["ok"] * 5
    assert {each.target_reference.kind for each in found.items if each.status == "ok" and each.target_reference} == {
        "page", "url", "space", "user",
    }  # fmt: skip
