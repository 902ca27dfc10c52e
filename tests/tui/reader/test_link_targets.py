"""Links show the titles of their targets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from octavo.api.content import Page, PageTree
from octavo.api.operation import SpaceRef
from octavo.documents import links
from octavo.documents.openapi import Specification
from octavo.documents.source_reader import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.deferred import (
    AsyncCache,
    LinkContext,
    LinkTargets,
    LinkTitle,
    OperationDetailsQuery,
    OperationQuery,
    TitleQuery,
)
from octavo.tui.render.layout import (
    CopyUrlRequested,
    LinkFollowed,
    PageChunk,
    deferred_content,
    load_operation_lines,
    render_block,
    render_chunk,
    split_into_chunks,
)
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from octavo.tui.render.virtual_lines import ChunkLayout, RenderedChunks, lay_out_chunks
from tests.tui.reader.panes import PaneApp, screen

TREE = PageTree(
    pages=(
        Page(id="home", title="Welcome", path=""),
        Page(
            id="guides",
            title="Guides",
            path="guides",
            pages=(Page(id="setup", title="Set up your gauge", emoji="1f527", path="guides/set-up"),),
        ),
    )
)
FOUND = {
    "report.pdf": LinkTitle("report.pdf", location="PDF, 1.2 MB"),
    "other": LinkTitle("Opening hours", location="Handbook › hours"),
    "gone": LinkTitle(problem="The page was deleted, or you do not have access."),
}


async def find(query: TitleQuery) -> LinkTitle | None:
    match query.target:
        case links.FileLink(name=name) | links.SpaceLink(page=name):
            return FOUND.get(name or "")
    return None


def targets(page_id: str = "guides") -> LinkTargets:
    return LinkTargets(LinkContext(TREE, SpaceRef(space_id="here")), page_id, AsyncCache(find))


def view(page_id: str = "guides") -> PageView:
    pane = PageView()
    titles = AsyncCache(find)
    pane.contents.deferred = replace(
        deferred_content(),
        titles=titles,
        targets=LinkTargets(LinkContext(TREE, SpaceRef(space_id="here")), page_id, titles),
    )
    return pane


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ('[set-up.md](set-up.md "mention")', "🔧 Set up your gauge"),
        ("[set-up.md](set-up.md)", "🔧 Set up your gauge"),
        ('[a](/pages/setup "mention")', "🔧 Set up your gauge"),
        ("[/pages/setup](/pages/setup)", "🔧 Set up your gauge"),
        ("[the first steps](set-up.md)", "the first steps"),
        ("[Set](set-up.md)", "Set"),
        ('[broken-reference](broken-reference "mention")', "the link target no longer exists"),
        ("[an old page](nowhere.md)", "an old page"),
        ("[example.org](https://example.org)", "example.org"),
    ],
)
def test_bare_urls_are_named_by_their_targets(source: str, shown: str) -> None:
    assert targets().text_of(parse(source).blocks[0].runs) == shown


async def test_local_titles_are_shown_immediately_and_others_when_loaded() -> None:
    page = (
        '{% content-ref url="set-up.md" %}\n[set-up.md](set-up.md)\n{% endcontent-ref %}\n\n'
        '{% content-ref url="/broken/pages/x" %}\n[broken](/broken/pages/x)\n{% endcontent-ref %}\n\n'
        '{% content-ref url="https://app.gitbook.com/s/s2/other" %}\n[other](x)\n{% endcontent-ref %}\n\n'
        '{% content-ref url="https://app.gitbook.com/s/s2/gone" %}\n[Old rules](x)\n{% endcontent-ref %}\n\n'
        '{% file src=".gitbook/assets/report.pdf" %}\n'
    )
    app = PaneApp(view())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(page), key="p")
        first = screen(app.pane)
        assert "→ 🔧 Set up your gauge" in first
        assert "guides/set-up" in first
        assert "the page no longer exists" in first
        await app.workers.wait_for_complete()
        await pilot.pause()
        rows = screen(app.pane)
        assert "→ Opening hours" in rows
        assert "Handbook › hours" in rows
        assert "✗ Old rules" in rows
        assert "report.pdf" in rows
        assert "PDF, 1.2 MB" in rows


async def test_urls_bring_no_control_characters_into_page() -> None:
    page = (
        '{% content-ref url="a%1b.md" %}\n[a%1b.md](a%1b.md)\n{% endcontent-ref %}\n\n![](a%1b.png)\n\n'
        '{% file src=".gitbook/assets/a%1b.pdf" %}\n\n{% embed url="https://e%1b.org/%1b" %}\n\n[a%1b](a%1b.md)\n\n'
        '<table data-view="cards"><thead><tr><th></th><th data-hidden data-card-target data-type="content-ref"></th>'
        '<th data-hidden data-card-cover data-type="files"></th></tr></thead><tbody><tr><td></td>'
        '<td><a href="a%1b.md">a</a></td><td><a href="a%1b.png">a</a></td></tr></tbody></table>\n'
    )
    app = PaneApp(view())
    async with app.run_test(size=(100, 40)) as pilot:
        app.pane.show_markdown(page, key="k")
        await pilot.pause()
        shown = screen(app.pane).replace("\n", "")
        assert "a␛" in shown
        assert all(letter.isprintable() for letter in shown)


def test_links_of_parent_page_start_in_its_folder() -> None:
    assert targets("guides").resolve("set-up.md") == links.PageLink("setup")
    assert targets("setup").resolve("../") == links.PageLink("home")


async def test_links_open_in_browser_and_urls_are_copied() -> None:
    app = PaneApp(view())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse("See [it](set-up.md).\n\nNothing here."), key="p")
        await pilot.pause()
        await pilot.press("o", "Y", "right_parenthesis", "o", "Y")
        followed = [(each.href, each.in_browser, each.kind) for each in app.said if isinstance(each, LinkFollowed)]
        assert followed == [("set-up.md", True, "link"), ("", True, "page")]
        assert [(each.href, each.kind) for each in app.said if isinstance(each, CopyUrlRequested)] == [
            ("set-up.md", "link"),
            ("", "page"),
        ]


async def test_buttons_search_and_select_tabs_and_notes_open() -> None:
    page = (
        '<button data-action="search" data-query="surge">Find</button>\n\n'
        '<button data-action="select" data-query="Mac">On a Mac</button>\n\n'
        "A word[^1].\n\n[^1]: What it means.\n\n"
        '{% tabs %}\n{% tab title="Linux" %}\nUse apt.\n{% endtab %}\n{% tab title="Mac" %}\nUse brew.\n{% endtab %}\n{% endtabs %}\n'
    )
    app = PaneApp(view())
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(parse(page), key="p")
        await pilot.pause()
        assert "Use apt." in screen(app.pane)
        await pilot.press("f", "a")
        await pilot.press("f", "s")
        assert "Use brew." in screen(app.pane)
        await pilot.press("f", "d")
        followed = [(each.kind, each.href) for each in app.said if isinstance(each, LinkFollowed)]
        assert followed == [("search", "surge"), ("note", "1")]
        note = app.pane.contents.footnote("1")
        assert note is not None
        assert note.plain() == "What it means."


async def test_position_is_restored() -> None:
    page = "<details>\n<summary>More</summary>\n\nInside.\n\n</details>\n\n" + "\n\n".join(
        f"Paragraph {number}." for number in range(60)
    )
    app = PaneApp(view())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(page), key="p")
        await pilot.pause()
        await pilot.press("enter", "ctrl+d", "ctrl+d", "right_parenthesis")
        before, left = screen(app.pane), app.pane.navigation.current_position
        app.pane.show(parse("# Another"), key="q")
        await pilot.pause()
        app.pane.show(parse(page), key="p")
        app.pane.navigation.restore(left)
        await pilot.pause()
        assert screen(app.pane) == before
        await pilot.press("g")
        assert "Inside." in screen(app.pane)


async def wait_for_text(pilot: Pilot[None], pane: PageView, words: str) -> None:
    """Wait until the pane shows `words`."""
    async with asyncio.timeout(60):
        while words not in screen(pane):
            await pilot.pause(0.005)


OPERATION = '{% openapi-operation spec="pets" path="/pets" method="post" %}\n[x](y)\n{% endopenapi-operation %}\n'
PETS = Specification(
    {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://api.example"}],
        "paths": {"/pets": {"post": {"summary": "Add a pet", "description": "It is **kept**.", "responses": {}}}},
    }
)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (PETS, "Add a pet"),
        (
            Specification({"info": {"title": "Pets"}, "paths": {}}),
            "This operation is not in Pets: the operation may have been renamed",
        ),
        (Specification(error="Guests may not see it."), "Guests may not see it."),
    ],
)
async def test_operation_shows_specification_or_error(found: Specification, message: str) -> None:
    async def read(slug: str | links.Target) -> Specification | None:
        return found if slug == "pets" else None

    pane = PageView()
    pane.contents.deferred.specifications = AsyncCache(read)
    app = PaneApp(pane)
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(OPERATION), key="p")
        assert "Loading the specification pets…" in screen(app.pane)
        await wait_for_text(pilot, app.pane, message)
        assert "POST  /pets" in screen(app.pane)
        if found is PETS:
            await pilot.press("enter")
            await wait_for_text(pilot, app.pane, "It is kept.")
            await pilot.press("y")
            assert app.clipboard == "curl -X POST 'https://api.example/pets'"
            await pilot.press("enter")
            assert "It is kept." not in screen(app.pane)


async def test_expanded_webhook_without_details_does_not_look_unloaded() -> None:
    async def read(slug: str | links.Target) -> Specification | None:
        return Specification({"webhooks": {"pinged": {"post": {}}}})

    pane = PageView()
    pane.contents.deferred.specifications = AsyncCache(read)
    app = PaneApp(pane)
    block = '{% openapi-webhook spec="pets" name="pinged" method="post" %}\n{% endopenapi-webhook %}\n'
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(f"{block}\nThe end."), key="p")
        await wait_for_text(pilot, app.pane, "▸ POST  pinged")
        await pilot.press("enter")
        assert "▾ POST  pinged" in screen(app.pane)
        async with asyncio.timeout(60):
            while "│ …" in screen(app.pane):
                await pilot.pause(0.005)


def test_cache_that_is_added_during_the_layout_changes_nothing() -> None:
    deferred = deferred_content()

    def make_renderer() -> Callable[[PageChunk], list[Line]]:
        context = LayoutContext(Styles(), ViewState(), render_block, deferred=deferred)
        return lambda chunk: render_chunk(context, chunk, 60)

    chunks = list(split_into_chunks(parse("Words.\n\n```python\na = 1\n```\n").blocks))
    layout = ChunkLayout(lambda chunk: 1, make_renderer, 0, 0, deferred)
    laid: list[RenderedChunks] = []

    def lay_out() -> Iterator[None]:
        laid.append((yield from lay_out_chunks(layout, chunks, range(len(chunks)))))

    steps = lay_out()
    next(steps)
    deferred.titles = AsyncCache(find)
    assert list(steps)
    (missing,) = laid[0].missing.values()
    assert [cache for cache, _ in missing] == [deferred.tokens]


async def test_titles_appear_in_all_panes_that_share_them() -> None:
    is_open = asyncio.Event()

    async def find_slowly(query: TitleQuery) -> LinkTitle | None:
        await is_open.wait()
        return await find(query)

    page, dialog = PageView(id="page"), PageView(id="dialog")
    context = LinkContext(TREE, SpaceRef(space_id="here"))
    titles = AsyncCache(find_slowly)
    page.contents.deferred = replace(deferred_content(), titles=titles, targets=LinkTargets(context, "guides", titles))
    dialog.contents.deferred = page.contents.deferred
    app = PaneApp(page, dialog)
    file = '{% file src=".gitbook/assets/report.pdf" %}\n'
    link = '{% content-ref url="https://app.gitbook.com/s/s2/other" %}\n[other](x)\n{% endcontent-ref %}\n'
    async with app.run_test(size=(80, 40)) as pilot:
        page.show(parse(file), key="p")
        await pilot.pause()
        dialog.show(parse(f"{link}\n{file}"), key="d")
        await pilot.pause()
        is_open.set()
        await wait_for_text(pilot, dialog, "Opening hours")
        await wait_for_text(pilot, dialog, "PDF, 1.2 MB")


async def test_long_specification_is_laid_out_between_keys() -> None:
    much = {f"field{number}": {"description": "Some **bold** `code`\n\n* one\n* two"} for number in range(200)}
    body = {"content": {"a/b": {"schema": {"properties": {each: {"properties": much} for each in "abcd"}}}}}
    found = Specification({"paths": {"/pets": {"post": {"requestBody": body}}}})
    work = asyncio.create_task(
        load_operation_lines(OperationDetailsQuery(OperationQuery(found, "operation", "post", "/pets"), 76, Styles()))
    )
    passes = 0
    while not work.done():
        passes += 1
        await asyncio.sleep(0.001)
    assert passes > 10
    assert "field0" in "".join(line.text for line in await work)
    assert (await work)[-1].text == "The rest of this block is too long to show."


async def test_match_beside_a_title_that_arrives_later_is_marked() -> None:
    async def find_slowly(query: TitleQuery) -> LinkTitle | None:
        await arrived.wait()
        return await find(query)

    arrived = asyncio.Event()
    app = PaneApp(PageView())
    context = LinkContext(TREE, SpaceRef(space_id="here"))
    titles = AsyncCache(find_slowly)
    app.pane.contents.deferred = replace(
        deferred_content(), titles=titles, targets=LinkTargets(context, "guides", titles)
    )
    async with app.run_test(size=(80, 20)) as pilot:
        address = "https://app.gitbook.com/s/s2/other"
        app.pane.show(parse(f"See [{address}]({address}) for more."), key="p")
        await pilot.press("slash", *"more", "enter")
        arrived.set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "Opening hours for more." in screen(app.pane)
        marked = app.pane.viewport.text_styles.current_match.bgcolor
        strips = [app.pane.render_line(row) for row in range(3)]
        assert [text for strip in strips for text, style, _ in strip if style and style.bgcolor == marked] == ["more"]
