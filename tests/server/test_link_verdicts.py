"""The list of links, the reader, the merge checks and `octavo check` agree on which links are broken."""

from __future__ import annotations

from pathlib import Path

from octavo.api import content, links
from octavo.api.content import PageTree
from octavo.api.operation import SpaceRef
from octavo.cli.checking import check_folder
from octavo.documents.anchors import is_missing_anchor, page_anchors
from octavo.documents.blocks import Document
from octavo.documents.links import AnchorLink, BrokenLink, PageLink, references_in
from octavo.documents.source_reader import parse
from octavo.server import loader
from octavo.server.rest import RequestContext
from octavo.tui.render.deferred import LinkContext, LinkTargets
from octavo.tui.review.merge_effects import _broken_links
from tests.server.small_platform import Ask

PAGES = {
    "SUMMARY.md": """# Summary

* [Start](README.md)

## Reference

* [API](api/README.md)
  * [Overview](api/overview.md)
  * [Pets](api/pets.md)

## Guides

* [Setup](guides/setup.md)
* [Tips](guides/tips/README.md)
""",
    "README.md": """# Start

[a](api/) [b](api) [c](api/README.md) [d](api/overview.md) [e](/reference/api) [f](guides/tips) [g](guides/) [h](nowhere.md)

## Math & TeX

[i](#math-and-tex) [j](#math--tex) [k](#start) [l](#) [m](#nothing) [n](#%C3%BCbungen) [o](api/#übungen)

## 1. First step

[p](#1-first-step) [q](#id-1-first-step) [r](guides/setup.md#setup--config) [s](guides/setup.md#shared-heading)
[y](guides/setup.md#same-1) [z](guides/setup.md#same-2)
[t](guides/setup.md#gone) [u](guides/tips/README.md#same-1) [v](guides/tips/#same-2) [w](mailto:a@b.example)
[x](https://ada@a.example/) [y](broken-reference) [z](<.gitbook/assets/two  spaces.png>)

## Übungen
""",
    "api/README.md": "# API\n\n[a](../) [b](overview.md) [c](../README.md#1-first-step) [d](../guides/setup.md#gone)\n\n## Übungen\n",
    "api/overview.md": "# Overview\n\n[a](README.md) [b](./) [c](#overview) [d](../guides/tips/README.md#Same) "
    "[e](pets.md#get-pets) [f](pets.md) [g](README.md#:~:text=API)\n",
    "api/pets.md": "# Pets\n\n[a](#get-pets) [b](gone.md)\n\n"
    '{% openapi-operation spec="pets" path="/pets" method="get" %}\n[x](https://a.example)\n{% endopenapi-operation %}\n',
    "guides/setup.md": '# Setup\n\n{% include "../.gitbook/includes/shared.md" %}\n\n## Setup & Config!\n\n## Same\n',
    "guides/tips/README.md": "# Tips\n\n## Same\n\n## Same\n\n[a](../setup.md) [b](setup.md) [c](#same-1) [d](https://app.gitbook.com/s/abc/page)\n",
    ".gitbook/assets/two  spaces.png": "an image",
    ".gitbook/includes/shared.md": "## Shared heading\n\n## Same\n\n[here](#shared-heading)\n",
}
BROKEN = {
    "Start": {
        "nowhere.md",
        "#nothing",
        "guides/setup.md#gone",
        "guides/setup.md#same-2",
        "guides/tips/#same-2",
        "broken-reference",
    },
    "API": {"../guides/setup.md#gone"},
    "Overview": set[str](),
    "Pets": {"gone.md"},
    "Setup": set[str](),
    "Tips": {"setup.md"},
}
TITLES = {
    "README.md": "Start",
    "api/README.md": "API",
    "api/pets.md": "Pets",
    "guides/setup.md": "Setup",
    "guides/tips/README.md": "Tips",
}


async def test_broken_links_are_the_same_in_list_reader_and_checks(
    ask: Ask, context: RequestContext, tmp_path: Path
) -> None:
    for path, text in PAGES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    space = loader.load(context, tmp_path, organization_id="acme", author_id="ada").space_id
    listed, followed, checked = await broken_links(ask, space)
    assert listed == {title: broken for title, broken in BROKEN.items() if broken}
    assert followed == listed
    by_folder: dict[str, set[str]] = {}
    for each in check_folder(tmp_path).findings:
        by_folder.setdefault(TITLES[each.path], set()).add(each.words or "")
    assert by_folder == listed
    # The merge checks do not know which headings the reusable content adds to Setup.
    assert checked == {
        "Start": {"#nothing", "guides/tips/#same-2", "nowhere.md", "broken-reference"},
        "Pets": {"gone.md"},
        "Tips": {"setup.md"},
    }


async def test_link_out_of_the_folder_is_not_broken(ask: Ask, context: RequestContext, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Start\n\n[a](../code/main.c) [b](../license.md#terms) [c](/../d.md)\n")
    space = loader.load(context, tmp_path, organization_id="acme", author_id="ada").space_id
    listed, _, _ = await broken_links(ask, space)
    assert not listed
    assert not check_folder(tmp_path).findings


async def test_links_that_leave_the_root_and_return_have_the_same_verdicts(
    ask: Ask, context: RequestContext, tmp_path: Path
) -> None:
    texts = {
        ".gitbook.yaml": "root: ./docs/\n",
        "docs/SUMMARY.md": "# Summary\n\n* [Start](README.md)\n* [Setup](../docs/guides/setup.md)\n",
        "docs/README.md": "# Start\n\n[a](../docs/guides/setup.md) [b](../docs/guides/setup.md#one) "
        "[c](../docs/guides/setup.md#two) [d](../docs/) [e](../docs/gone.md) [f](../code/main.c)\n\n"
        "![a](../docs/.gitbook/assets/a.png) ![b](../docs/.gitbook/assets/b.png)\n",
        "docs/guides/setup.md": "---\ncover: ../../docs/.gitbook/assets/a.png\n---\n\n# Setup\n\n"
        "[a](../../docs/README.md#start) [b](../../docs/README.md#gone)\n\n## One\n",
        "docs/.gitbook/assets/a.png": "an image",
        "code/main.c": "",
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    space = loader.load(context, tmp_path, organization_id="acme", author_id="ada").space_id
    tree: PageTree = await ask(content.ListPages(at=SpaceRef(space_id=space)))
    assert [page.path for page in tree.walk()] == ["", "setup"]
    listed, followed, _ = await broken_links(ask, space, "docs")
    in_start = {"../docs/guides/setup.md#two", "../docs/gone.md"}
    missing_image = "../docs/.gitbook/assets/b.png"  # The reader looks for images only when they are opened.
    in_setup = {"../../docs/README.md#gone"}
    assert followed == {"Start": in_start, "Setup": in_setup}
    assert listed == {"Start": {*in_start, missing_image}, "Setup": in_setup}
    by_path: dict[str, set[str]] = {}
    for each in check_folder(tmp_path).findings:
        by_path.setdefault(each.path, set()).add(each.words)
    assert by_path == {"docs/README.md": {*in_start, missing_image}, "docs/guides/setup.md": in_setup}


async def broken_links(ask: Ask, space: str, folder_root: str | None = None) -> tuple[dict[str, set[str]], ...]:
    """Return the broken links of each page by title, as listed, as followed by the reader, and as found by the checks."""
    at = SpaceRef(space_id=space)
    tree: PageTree = await ask(content.ListPages(at=at, metadata=True))
    listed: dict[str, set[str]] = {}
    for link in (await ask(links.ListOfSpace(at=at, status="broken", limit=1000))).items:
        for each in link.location_references:
            assert each.page is not None
            assert link.target_reference is not None
            listed.setdefault(each.page.title or "", set()).add(link.target_reference.url or "")
    pages = [page for page in tree.walk() if page.type == "document"]
    read = {page.id: content.GetPage(at=at, page_id=page.id, format="markdown", dereferenced=True) for page in pages}
    texts = {page: (await ask(op)).markdown or "" for page, op in read.items()}
    documents = {page: parse(text) for page, text in texts.items()}
    context = LinkContext(tree, at, folder_root=folder_root)
    followed: dict[str, set[str]] = {}
    for page in pages:
        for href in broken_for_the_reader(context, page.id, documents):
            followed.setdefault(page.title or "", set()).add(href)
    checked: dict[str, set[str]] = {}
    for said in _broken_links(context, texts):
        title, _, href = said.partition(" → ")
        checked.setdefault(title, set()).add(href)
    return listed, followed, checked


def broken_for_the_reader(context: LinkContext, page_id: str, documents: dict[str, Document]) -> list[str]:
    """Return the links of a page that lead to no page, or to no heading of a page, as the reader resolves them."""
    targets, broken = LinkTargets(context, page_id), []
    for usage in references_in(documents[page_id]):
        target = targets.resolve(usage.target)
        anchor, there = "", page_id
        if usage.kind != "url":
            continue
        match target:
            case AnchorLink(anchor=anchor):
                pass
            case PageLink(page_id=there, anchor=named):
                anchor = named or ""
        if isinstance(target, BrokenLink) or (anchor and is_missing_anchor(anchor, [page_anchors(documents[there])])):
            broken.append(usage.target)
    return broken
