"""Folders of Markdown become spaces, and later loads merge their changes."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize
from urllib.parse import quote

import pytest

from octavo.api import change_requests, comments, content, search
from octavo.api.bodies import Markdown
from octavo.api.content import DeletePage
from octavo.api.operation import RevisionRef, SpaceRef
from octavo.documents import links, page_trees
from octavo.documents.folders.folder import Folder, fingerprint
from octavo.documents.folders.table_of_contents import summary_entries
from octavo.documents.page_trees import EMPTY_REVISION, Pages, revision_differences
from octavo.server import loader
from octavo.server.handlers.spaces import (
    add_edit_revision,
    get_current,
    get_revision,
    page_text,
    set_current,
    with_stored_text,
)
from octavo.server.loader import LoadedFolder
from octavo.server.page_texts import finish_reindexing
from octavo.server.rest import RequestContext
from octavo.server.store import Json
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor, insert, update

FOLDERS = Path(__file__).parent / "folders"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "spaces"


def load(context: RequestContext, folder: Path, **options: Any) -> LoadedFolder:
    return loader.load(context, folder, organization_id="acme", author_id="ada", **options)


def pages_of(context: RequestContext, loaded: LoadedFolder) -> Pages:
    pages: Pages = get_current(context, loaded.space_id)["pages"]
    return pages


def outline(pages: Pages) -> list[str]:
    """Return a line for each page, indented by depth: a sign for its type, and its title."""
    signs = {"document": "", "group": "# ", "link": "> "}

    def lines(pages: Pages, depth: int) -> list[str]:
        return [
            line
            for page in pages
            for line in ("  " * depth + signs[page["type"]] + page["title"], *lines(page.get("pages", []), depth + 1))
        ]

    return lines(pages, 0)


def page_titled(context: RequestContext, loaded: LoadedFolder, title: str) -> Json:
    return next(page for page in page_trees.walk(pages_of(context, loaded)) if page["title"] == title)


def changes_in(context: RequestContext, loaded: LoadedFolder) -> Counter[str]:
    """Return the number of changes of each type in the revision that a load added."""
    revision = get_revision(context, loaded.space_id, loaded.revision_id)
    parents = revision["parents"]
    before = get_revision(context, loaded.space_id, parents[0]) if parents else EMPTY_REVISION
    return Counter(each["type"] for each in revision_differences(before, revision, lambda file: str(file["blob"])))


def text(context: RequestContext, loaded: LoadedFolder, title: str) -> str:
    return page_text(context, page_titled(context, loaded, title))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three pages, one of them a subpage."""
    folder = tmp_path / "docs"
    write(folder, "README.md", "# Home\n\nfirst\n\nsecond\n")
    write(folder, "guide/README.md", "# Guide\n\nHow to.\n")
    write(folder, "guide/setup.md", "# Setup\n\nInstall it.\n")
    return folder


def write(folder: Path, name: str, markdown: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(markdown, encoding="utf-8")


def test_summary_determines_the_page_tree(context: RequestContext) -> None:
    loaded = load(context, FOLDERS / "summary")
    assert outline(pages_of(context, loaded)) == [
        "Welcome back",
        "Quick start",
        "# Guides & more",
        "  Set up",
        "    On [Linux]",
        "    日本語",
        "      Deeper, with a mark",
        "  Configuration",
        "  > Configuration: logging",
        "  > Status page",
        "  Below",
        "Changelog",
        "Never written",
        "Way out",
        "> Data sheet",
        "Words without a link",
        "  Child",
        "# Not in SUMMARY",
        "  Page 9",
        "  Page 10",
    ]
    assert changes_in(context, loaded)["page_created"] == 20
    assert [(each.path, each.message.split()[0]) for each in loaded.problems] == [
        ("../../../etc/passwd.md", "points"),
        ("missing/page.md", "does"),
    ]


def test_paths_have_no_accents_and_links_with_accents_lead_to_their_page(context: RequestContext, folder: Path) -> None:
    write(folder, "SUMMARY.md", "## Guías principales\n\n* [Über uns](über-uns.md)\n* [Расчёты](raschyoty.md)\n")
    write(folder, "über-uns.md", "# Über uns\n\n[We](/über-uns), [also we](über-uns.md)\n")
    write(folder, "raschyoty.md", "# Расчёты\n")
    loaded = load(context, folder)
    group = next(page for page in pages_of(context, loaded) if page["type"] == "group")
    about = group["pages"][0]
    assert [group["path"], *(page["path"] for page in group["pages"])] == [
        "guias-principales",
        "guias-principales/uber-uns",
        "guias-principales/raschyoty",
    ]
    assert about["git"]["path"] == "über-uns.md"
    index = page_trees.space_index_of_json(get_current(context, loaded.space_id))
    for address in ("/über-uns", "über-uns.md", "/guias-principales/uber-uns"):
        target = links.resolve(address, page_trees.link_base(about), index)
        assert isinstance(target, links.PageLink)
        assert target.page_id == about["id"]


def test_group_slug_short_title_and_page_variables_are_loaded(context: RequestContext, folder: Path) -> None:
    write(
        folder,
        "SUMMARY.md",
        '## First steps <a href="#start" id="start"></a>\n\n* [Guide](guide/README.md "In short")\n',
    )
    write(folder, "guide/README.md", "---\nvars:\n  plan: pro\n---\n\n# Guide\n")
    group = next(page for page in pages_of(context, load(context, folder)) if page["type"] == "group")
    assert (group["title"], group["slug"]) == ("First steps", "start")
    assert group["pages"][0]["linkTitle"] == "In short"
    assert group["pages"][0]["variables"] == {"plan": "pro"}


@pytest.mark.long
def test_summary_of_ten_thousand_pages_is_read_completely(folder: Path) -> None:
    pages = [f"* [Group {group}](g{group}.md)\n" + "  * [Page](page.md)\n" * 99 for group in range(100)]
    found = summary_entries(Folder(folder, folder), "# Table of contents\n\n" + "".join(pages), Path("SUMMARY.md"))
    assert [each.title for each in found] == [f"Group {group}" for group in range(100)]
    assert {len(each.children) for each in found} == {99}


def test_pages_have_the_text_of_their_files_without_front_matter(context: RequestContext) -> None:
    loaded = load(context, FOLDERS / "summary")
    page = page_titled(context, loaded, "Welcome back")
    assert (page["description"], page["icon"], page["path"]) == ("Where to begin", "door-open", "")
    assert page["layout"] == {"cover": True, "coverSize": "hero", "outline": False}
    files = {file["id"]: file for file in get_current(context, loaded.space_id)["files"]}
    assert files[page["cover"]["ref"]["file"]]["name"] == "cover (1).png"
    assert page["cover"]["yPos"] == 12.5
    assert text(context, loaded, "Welcome back").startswith("# Heading below\n")
    assert text(context, loaded, "Quick start") == "# Quick start\n\nTwo lines\nhere.\n"
    assert text(context, loaded, "Deeper, with a mark") == "# Deeper, with a mark\n"
    assert text(context, loaded, "Never written") == ""
    assert page_titled(context, loaded, "日本語")["git"]["path"] == "guides/setup/日本語.md"


def test_links_in_a_summary_have_targets(context: RequestContext) -> None:
    loaded = load(context, FOLDERS / "summary")
    logging, status, sheet = (
        page_titled(context, loaded, title)["target"]
        for title in ("Configuration: logging", "Status page", "Data sheet")
    )
    configuration = page_titled(context, loaded, "Configuration")["id"]
    assert logging == {"kind": "anchor", "anchor": "logging", "page": configuration}
    assert status == {"kind": "url", "url": "https://status.example/?a=1&b=2"}
    files = {file["id"]: file["name"] for file in get_current(context, loaded.space_id)["files"]}
    assert files[sheet["file"]] == "data sheet.txt"


def test_files_shown_by_pages_are_loaded(context: RequestContext) -> None:
    loaded = load(context, FOLDERS / "summary")
    files = get_current(context, loaded.space_id)["files"]
    assert [(file["name"], file["contentType"], file.get("dimensions")) for file in files] == [
        ("cover (1).png", "image/png", {"width": 3, "height": 2}),
        ("data sheet.txt", "text/plain", None),
        ("plan.svg", "image/svg+xml", None),
    ]
    assert context.store.blob(files[1]["blob"]) == b"data\n"


def test_hidden_files_in_the_assets_are_left_out(context: RequestContext, folder: Path) -> None:
    for name in (".gitbook/assets/.DS_Store", ".gitbook/assets/.trash/old.png", ".gitbook/assets/new.png"):
        write(folder, name, "words")
    assert [each["name"] for each in get_current(context, load(context, folder).space_id)["files"]] == ["new.png"]


def test_files_without_a_suffix_are_loaded(context: RequestContext, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "LICENSE").write_text("MIT")
    (tmp_path / "README.md").write_text("# Home\n\n[License](LICENSE) [folder](sub) [none](gone)")
    loaded = load(context, tmp_path)
    assert [file["name"] for file in get_current(context, loaded.space_id)["files"]] == ["LICENSE"]


async def test_included_content_is_loaded_in_its_place(
    ask: Ask, context: RequestContext, folder: Path, tmp_path: Path
) -> None:
    write(
        folder,
        ".gitbook/includes/untitled (1).md",
        "---\ntitle: Take care\n---\n\nWet, see [it](../../guide/setup.md).\n",
    )
    write(folder, ".gitbook/includes/unused.md", "Nobody says this.\n")
    write(folder, ".gitbook/vars.yaml", "version: v2\n")
    write(folder, "notes/.gitbook/includes/own.md", '![](own.png)\n\n{% include "own.md" %}\n')
    write(folder, "notes/.gitbook/includes/own.png", "no picture")
    (tmp_path / "outside.md").write_text("Outside.", encoding="utf-8")
    (folder / ".gitbook/includes/link.md").symlink_to(tmp_path / "outside.md")
    tag = '{{% include "{}" %}}\n\n'.format
    shown = [tag("../.gitbook/includes/untitled (1).md"), tag("../notes/.gitbook/includes/own.md")]
    hidden = [tag("../../outside.md"), tag("../.gitbook/includes/link.md"), tag("../.gitbook/includes/gone.md")]
    write(folder, "guide/setup.md", "# Setup\n\n" + "".join([*shown, *hidden]))
    loaded = load(context, folder)
    revision = get_current(context, loaded.space_id)
    assert [each["title"] for each in revision["reusableContents"]] == ["Take care", "Unused", "Own"]
    assert [each["name"] for each in revision["files"]] == ["own.png"]
    assert revision["variables"] == {"version": "v2"}
    page = page_titled(context, loaded, "Setup")
    op = content.GetPage(
        at=SpaceRef(space_id=loaded.space_id), page_id=page["id"], format="markdown", dereferenced="reusable-contents"
    )
    said = (await ask(op)).markdown or ""
    assert "Wet, see [it](setup.md).\n\n{% endinclude %}" in said
    assert "![](../notes/.gitbook/includes/own.png)" in said
    assert "Outside." not in said
    assert load(context, folder).revision_id == loaded.revision_id
    write(folder, ".gitbook/includes/untitled (1).md", "Dry.\n")
    again = load(context, folder)
    before = {each["id"] for each in revision["reusableContents"]}
    after = get_current(context, again.space_id)
    assert {each["id"] for each in after["reusableContents"]} == before
    assert "Dry." in ((await ask(op)).markdown or "")


def test_folders_determine_the_page_tree_without_a_summary(context: RequestContext) -> None:
    loaded = load(context, FOLDERS / "plain")
    assert outline(pages_of(context, loaded)) == [
        "Home page",
        "Basics",
        "  Middle",
        "  Last",
        "# 2 Advanced",
        "  Nested dir",
        "    Inside",
        "  Emoji 🎉 and ümläut",
        "Reference",
        "About us",
    ]
    assert loaded.problems == ()


def test_configuration_sets_the_root_and_the_files(context: RequestContext) -> None:
    loaded = load(context, FOLDERS / "configured")
    assert outline(pages_of(context, loaded)) == ["First", "Second"]
    assert page_titled(context, loaded, "Second")["git"]["path"] == "second.md"


def test_file_in_a_summary_is_relative_to_the_summary(context: RequestContext, folder: Path) -> None:
    write(folder, ".gitbook.yaml", "structure:\n  summary: parts/contents.md\n")
    write(folder, "parts/contents.md", "* [Home](../README.md)\n* [Data](data.pdf)\n* [Plan](../plan%20b.pdf)\n")
    write(folder, "parts/data.pdf", "data")
    write(folder, "plan b.pdf", "plan")
    revision = get_current(context, load(context, folder).space_id)
    files = {each["id"]: each["git"]["path"] for each in revision["files"]}
    links = {each["title"]: each["target"] for each in revision["pages"] if each["type"] == "link"}
    assert {title: files.get(target.get("file", "")) for title, target in links.items()} == {
        "Data": "parts/data.pdf", "Plan": "plan b.pdf"
    }  # fmt: skip


@pytest.mark.parametrize("contents", ["* [Docs](readme.md)\n* [Set up](setup.md)\n", "* [Set up](setup.md)\n"])
def test_names_in_the_root_of_the_pages_are_found_in_any_case(
    context: RequestContext, folder: Path, contents: str
) -> None:
    write(folder, ".gitbook.yaml", "root: docs\n")
    write(folder, "docs/readme.md", "# Docs\n\nWords.\n")
    write(folder, "docs/Setup.md", "# Set up\n\nSteps.\n")
    write(folder, "docs/SUMMARY.md", contents)
    loaded = load(context, folder)
    assert outline(pages_of(context, loaded)) == ["Docs", "Set up"]
    assert ("Words." in text(context, loaded, "Docs"), "Steps." in text(context, loaded, "Set up")) == (True, True)


@pytest.mark.parametrize(
    ("configuration", "titles", "problem"),
    [
        ("root: ../elsewhere", ["Home", "Guide", "  Setup"], ".gitbook.yaml"),
        ("root: nowhere", ["Home", "Guide", "  Setup"], ".gitbook.yaml"),
        ("root: guide", ["Guide", "Setup"], None),
        ("structure:\n  summary: nowhere.md", ["Home", "Guide", "  Setup"], "nowhere.md"),
        ("structure:\n  readme: guide/setup.md", ["Setup", "Guide", "Home"], None),
        ("}{ : [", ["Home", "Guide", "  Setup"], None),
    ],
)
def test_invalid_configuration_is_reported(
    context: RequestContext, folder: Path, configuration: str, titles: list[str], problem: str | None
) -> None:
    write(folder.parent / "elsewhere", "README.md", "# Secret\n")
    write(folder, ".gitbook.yaml", configuration)
    loaded = load(context, folder)
    assert outline(pages_of(context, loaded)) == titles
    assert [each.path for each in loaded.problems] == ([problem] if problem else [])


def test_new_space_has_the_name_of_its_folder(context: RequestContext, folder: Path) -> None:
    space = context.store.get(f"/spaces/{load(context, folder).space_id}")
    assert (space["title"], space["organization"]) == ("docs", "acme")


def test_files_outside_the_folder_are_not_read(context: RequestContext, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "private", "secret.md", "# Secret\n")
    (folder / "linked.md").symlink_to(tmp_path / "private" / "secret.md")
    (folder / "all").symlink_to(tmp_path / "private", target_is_directory=True)
    (folder / "round").symlink_to(folder, target_is_directory=True)
    (folder / "nowhere.md").symlink_to(tmp_path / "gone.md")
    (folder / "same.md").symlink_to(folder / "guide" / "setup.md")
    write(
        folder,
        "thief.md",
        "# Thief\n\n![x](../private/secret.md) ![y](/../private/secret.png) <img src='all/secret.md'>\n",
    )
    (tmp_path / "private" / "secret.png").write_bytes(b"png")
    loaded = load(context, folder)
    assert outline(pages_of(context, loaded)) == ["Home", "Guide", "  Setup", "Setup", "Thief"]
    assert get_current(context, loaded.space_id)["files"] == []
    assert {each.path for each in loaded.problems} == {"linked.md", "all", "nowhere.md"}


def test_summary_cannot_name_files_outside_the_folder(context: RequestContext, folder: Path, tmp_path: Path) -> None:
    write(tmp_path, "secret.md", "# Secret\n")
    (folder / "linked.md").symlink_to(tmp_path / "secret.md")
    write(folder, "SUMMARY.md", "* [Home](README.md)\n* [A](../secret.md)\n* [B](linked.md)\n* [C](%2e%2e/secret.md)\n")
    loaded = load(context, folder)
    assert outline(pages_of(context, loaded))[:4] == ["Home", "A", "B", "C"]
    said = '{% hint style="warning" %}\nlinked.md points outside the folder, so it is left out.\n{% endhint %}\n'
    assert [text(context, loaded, title) for title in "ABC"] == ["", said, ""]
    assert {each.path for each in loaded.problems} == {"../secret.md", "linked.md"}


def test_unreadable_files_are_reported_and_the_rest_loaded(context: RequestContext, folder: Path) -> None:
    (folder / "binary.md").write_bytes(b"# A\0B")
    (folder / "latin.md").write_bytes("# Größe\n".encode("latin-1"))
    (folder / "big.md").write_bytes(b"x" * 5_000_001)
    (folder / "bell\x07.md").write_bytes(b"\0")
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    loaded = load(context, folder)
    assert {each.path for each in loaded.problems} == {"binary.md", "bell␇.md", "latin.md", "big.md", "pipe.md"}
    assert text(context, loaded, "Gr\ufffd\ufffde") == "# Gr\ufffd\ufffde\n"
    assert text(context, loaded, "Home") == "# Home\n\nfirst\n\nsecond\n"


def test_page_keeps_its_text_if_its_file_is_damaged_later(context: RequestContext, folder: Path) -> None:
    write(folder, "guide/setup.md", "---\ndescription: How to\n---\n# Setup\n\nInstall it.\n")
    load(context, folder)
    for damaged in (b"# Setup\0", b"x" * 5_000_001):
        (folder / "guide/setup.md").write_bytes(damaged)
        loaded = load(context, folder)
        assert [each.path for each in loaded.problems] == ["guide/setup.md"]
        assert not loaded.has_changed
        assert text(context, loaded, "Setup") == "# Setup\n\nInstall it.\n"
        assert page_titled(context, loaded, "Setup")["description"] == "How to"


async def test_content_files_and_variables_stay_if_they_are_damaged_later(
    ask: Ask, context: RequestContext, folder: Path
) -> None:
    write(folder, "guide/setup.md", '# Setup\n\n{% include "../.gitbook/includes/wet.md" %}\n\n![](plan.png)\n')
    write(folder, ".gitbook/includes/wet.md", "---\ntitle: Take care\n---\n\nIt is wet.\n")
    write(folder, ".gitbook/vars.yaml", "version: v2\n")
    write(folder, "guide/plan.png", "a picture")
    loaded = load(context, folder)
    before = get_current(context, loaded.space_id)
    for name in (".gitbook/includes/wet.md", ".gitbook/vars.yaml", "guide/plan.png"):
        (folder / name).write_bytes(b"\0" * 5_000_001)
    again = load(context, folder)
    assert {each.path for each in again.problems} == {
        ".gitbook/includes/wet.md",
        ".gitbook/vars.yaml",
        "guide/plan.png",
    }
    assert get_current(context, again.space_id) == before
    write(folder, "guide/plan.png", "another picture")
    after = get_current(context, load(context, folder).space_id)
    assert [each["id"] for each in after["files"]] == [each["id"] for each in before["files"]]


def write_odd_names(folder: Path) -> None:
    for name in (b"\xff\xfe.md", b"\xfe\xff.md", b"a\nb\x1b[31m.md", b"\xf0\x9f\x8e\x89.md"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(f"words of {name!r}")


async def test_undecodable_file_names_are_shown_and_distinct(ask: Ask, context: RequestContext, folder: Path) -> None:
    write_odd_names(folder)
    loaded = load(context, folder)
    tree = await ask(content.ListPages(at=SpaceRef(space_id=loaded.space_id)))
    assert len({page.path for page in tree.walk()}) == 7
    again = load(context, folder)
    assert again == LoadedFolder(loaded.space_id, loaded.revision_id)


def test_second_load_without_changes_creates_no_revision(context: RequestContext, folder: Path) -> None:
    first = load(context, folder)
    before = context.store.get(f"/spaces/{first.space_id}")
    again = load(context, Path(os.path.relpath(folder)))
    assert again == LoadedFolder(first.space_id, first.revision_id)
    assert context.store.get(f"/spaces/{first.space_id}") == before


def test_changed_files_are_one_revision_and_pages_keep_their_ids(context: RequestContext, folder: Path) -> None:
    first = load(context, folder)
    before = {page["title"]: page for page in page_trees.walk(pages_of(context, first))}
    write(folder, "README.md", "# Home\n\nfirst\n\nchanged\n")
    (folder / "guide" / "setup.md").rename(folder / "install.md")
    write(folder, "new.md", "# New\n")
    again = load(context, folder)
    assert again.space_id == first.space_id
    assert changes_in(context, again) == {"page_created": 1, "page_edited": 2, "page_moved": 1}
    revision = get_current(context, first.space_id)
    assert (revision["id"], revision["parents"]) == (again.revision_id, [first.revision_id])
    after = {page["title"]: page for page in page_trees.walk(revision["pages"])}
    assert {title: page["id"] for title, page in before.items()}.items() <= {
        title: page["id"] for title, page in after.items()
    }.items()
    assert after["Setup"]["path"] == "install"
    assert outline(revision["pages"]) == ["Home", "Guide", "Setup", "New"]


def test_deleted_file_deletes_its_page(context: RequestContext, folder: Path) -> None:
    load(context, folder)
    shutil.rmtree(folder / "guide")
    again = load(context, folder)
    assert changes_in(context, again)["page_deleted"] == 2
    assert outline(pages_of(context, again)) == ["Home"]


async def test_second_load_keeps_comments_and_change_requests(ask: Ask, context: RequestContext, folder: Path) -> None:
    space = SpaceRef(space_id=load(context, folder).space_id)
    editor = SpaceEditor(ask, space)
    home = await editor.id("Home")
    await ask(comments.Create(at=space, page=home, body=Markdown(markdown="Nice.")), "zoe")
    at = await editor.propose(update(home, "# Home\n\nfirst\n\ntheir second\n"))
    write(folder, "README.md", "# Home\n\nour first\n\nsecond\n")
    load(context, folder)
    thread = (await ask(comments.List(at=space))).items[0]
    assert thread.target.page is not None
    assert (thread.target.page.id, thread.target.page.outdated) == (home, False)
    assert (await editor.get(at)).outdated
    assert (await editor.merge(at)).result == "merge"
    assert (await editor.page("Home")).markdown == "# Home\n\nour first\n\ntheir second\n"


async def test_second_load_keeps_merged_changes(ask: Ask, context: RequestContext, folder: Path) -> None:
    space = SpaceRef(space_id=load(context, folder).space_id)
    editor = SpaceEditor(ask, space)
    await editor.publish(
        update(await editor.id("Home"), "# Home\n\nmerged first\n\nsecond\n"),
        insert("# Only here"),
        DeletePage(page=await editor.id("Setup")),
    )
    merged = await ask(content.Get(at=space))
    assert load(context, folder).revision_id == merged.id
    write(folder, "README.md", "# Home\n\nfirst\n\nfolder second\n")
    write(folder, "guide/README.md", "# Guide\n\nHow to, longer.\n")
    again = load(context, folder)
    assert changes_in(context, again)["page_edited"] == 2
    assert await editor.outline() == "Home Guide Only here"
    assert (await editor.page("Home")).markdown == "# Home\n\nmerged first\n\nfolder second\n"
    assert load(context, folder) == LoadedFolder(space.space_id, again.revision_id)


async def test_changes_of_file_and_space_are_both_kept(ask: Ask, context: RequestContext, folder: Path) -> None:
    space = SpaceRef(space_id=load(context, folder).space_id)
    editor = SpaceEditor(ask, space)
    await editor.publish(update(await editor.id("Home"), "# Home\n\nfirst\n\nmerged\n"))
    write(folder, "README.md", "# Home\n\nfirst\n\nloaded\n")
    load(context, folder)
    assert (await editor.page("Home")).markdown == (
        "# Home\n\nfirst\n\n<<<<<<< main\n\nmerged\n\n=======\n\nloaded\n\n>>>>>>> folder\n"
    )


async def test_load_after_deletion_creates_a_new_space(ask: Ask, context: RequestContext, folder: Path) -> None:
    first = load(context, folder)
    context.store.update(f"/spaces/{first.space_id}", deletedAt=context.timestamp())
    again = load(context, folder)
    assert again.space_id != first.space_id
    assert changes_in(context, again)["page_created"] == 3


async def test_folder_can_be_loaded_into_an_existing_space(ask: Ask, context: RequestContext, folder: Path) -> None:
    editor = await SpaceEditor.open(ask, "# Before")
    loaded = load(context, folder, space_id=editor.space.space_id)
    assert changes_in(context, loaded)["page_created"] == 3
    assert await editor.outline() == "Before Home Guide(Setup)"
    assert load(context, folder) == LoadedFolder(editor.space.space_id, loaded.revision_id)


def test_later_summary_regroups_the_same_pages(context: RequestContext, folder: Path) -> None:
    first = load(context, folder)
    ids = {page["title"]: page["id"] for page in page_trees.walk(pages_of(context, first))}
    write(
        folder,
        "SUMMARY.md",
        "* [Home](README.md)\n\n## Part\n\n* [Setup](guide/setup.md)\n* [Guide](guide/README.md)\n",
    )
    again = load(context, folder)
    assert outline(pages_of(context, again)) == ["Home", "# Part", "  Setup", "  Guide"]
    assert {
        page["title"]: page["id"] for page in page_trees.walk(pages_of(context, again)) if page["type"] == "document"
    } == ids


@pytest.mark.parametrize("name", ["nowhere", "file.md"])
def test_loading_a_file_or_missing_folder_raises_os_error(context: RequestContext, tmp_path: Path, name: str) -> None:
    (tmp_path / "file.md").write_text("# Page")
    with pytest.raises(OSError):
        load(context, tmp_path / name)
    assert list(context.store.all("/spaces")) == []


def test_empty_folder_becomes_an_empty_space(context: RequestContext, tmp_path: Path) -> None:
    loaded = load(context, tmp_path)
    assert pages_of(context, loaded) == []
    write(tmp_path, "README.md", "# Home\n")
    assert changes_in(context, load(context, tmp_path))["page_created"] == 1


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
@pytest.mark.parametrize(("name", "count"), [("lista", 47), pytest.param("ssv", 146, marks=pytest.mark.long)])
async def test_real_folders_are_loaded_and_each_page_is_parsed(
    ask: Ask, context: RequestContext, name: str, count: int
) -> None:
    loaded = load(context, CORPUS / name)
    assert (changes_in(context, loaded)["page_created"], loaded.problems) == (count, ())
    at = RevisionRef(space_id=loaded.space_id, revision_id=loaded.revision_id)
    for page in (await ask(content.ListPages(at=at))).walk():
        if page.type == "document" and page.document_id:
            read = await ask(content.GetPage(at=at, page_id=page.id, format="document"))
            assert read.document is not None
            assert read.document["nodes"]
    assert load(context, CORPUS / name).revision_id == loaded.revision_id
    assert (await ask(change_requests.Create(at=SpaceRef(space_id=loaded.space_id)))).revision == loaded.revision_id


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
def test_names_match_files_in_other_unicode_forms_and_cases(
    context: RequestContext, tmp_path: Path, on_disk: Literal["NFC", "NFD"]
) -> None:
    written: Literal["NFC", "NFD"] = "NFD" if on_disk == "NFC" else "NFC"
    root = tmp_path / "docs"
    for path, words in {
        "SUMMARY.md": f"* [One](übung/straße.md)\n* [Two]({quote(normalize(written, 'Größe'))}.md)\n* [Three](Ｇｕｉｄｅ)\n",
        "ÜBUNG/STRASSE.md": "# One\n\n[two](../größe.md) ![](../.gitbook/assets/écran.png)\n",
        "größe.md": '# Two\n\n{% include ".gitbook/includes/nötig.md" %}\n',
        "guide.md": "# Three\n",
        ".gitbook/includes/nötig.md": "Needed.\n",
        ".gitbook/assets/écran.png": "png",
    }.items():
        place = root / normalize(on_disk, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(normalize(written, words))
    loaded = load(context, root)
    assert outline(pages_of(context, loaded)) == ["One", "Two", "Three"]
    assert not loaded.problems
    assert "/pages/" in text(context, loaded, "One") or "größe" in normalize("NFC", text(context, loaded, "One"))


def test_exact_file_name_is_preferred_over_a_similar_one(context: RequestContext, tmp_path: Path) -> None:
    for name in ("Setup.md", "setup.md", "SETUP.md"):
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "SUMMARY.md").write_text("* [a](setup.md)\n* [b](SETUP.md)\n* [c](Setup.md)\n")
    loaded = load(context, tmp_path)
    assert outline(pages_of(context, loaded)) == ["setup.md", "SETUP.md", "Setup.md"]


def _count_hits(context: RequestContext, loaded: LoadedFolder, word: str) -> int:
    return len(context.store.search([loaded.space_id], f'"{word}"', 999))


def _write_pages(folder: Path, count: int = 50) -> Path:
    for number in range(count):
        (folder / f"page-{number:02}.md").write_text(f"# Page {number}\n\nneedle{number} in hay")
    return folder


def test_loading_reports_progress_and_indexes_pages_afterwards(context: RequestContext, tmp_path: Path) -> None:
    read: list[tuple[int, int]] = []
    loaded = load(context, _write_pages(tmp_path), on_progress=lambda number, count: read.append((number, count)))
    assert read == [(number, 50) for number in range(1, 51)]
    assert len(pages_of(context, loaded)) == 50
    assert _count_hits(context, loaded, "hay") == 0
    done: list[tuple[int, int]] = []

    def on_progress(number: int, count: int) -> bool:
        done.append((number, count))
        return True

    finish_reindexing(context, loaded.space_id, on_progress)
    assert done[-1] == (50, 50)
    assert _count_hits(context, loaded, "hay") == 50
    finish_reindexing(context, loaded.space_id, on_progress)  # No page is left to index.


def test_interrupted_indexing_continues_with_later_changes(context: RequestContext, tmp_path: Path) -> None:
    loaded = load(context, _write_pages(tmp_path), on_progress=lambda number, count: None)
    finish_reindexing(context, loaded.space_id, lambda number, count: False)
    assert 0 < _count_hits(context, loaded, "hay") < 50
    (tmp_path / "page-00.md").write_text("# Page 0\n\nanother word")
    (tmp_path / "page-49.md").unlink()
    load(context, tmp_path, on_progress=lambda number, count: None)
    finish_reindexing(context, loaded.space_id, lambda number, count: True)
    assert (
        _count_hits(context, loaded, "hay"),
        _count_hits(context, loaded, "another"),
        _count_hits(context, loaded, "needle49"),
    ) == (
        48,
        1,
        0,
    )


def test_content_merged_during_indexing_is_found(context: RequestContext, tmp_path: Path) -> None:
    loaded = load(context, _write_pages(tmp_path), on_progress=lambda number, count: None)

    def on_progress(number: int, count: int) -> bool:
        if not merged:
            merged.append(number)
            main = get_current(context, loaded.space_id)
            first, *others = main["pages"]
            changed = with_stored_text(context, first, "merged words")
            after = add_edit_revision(context, main, pages=[changed, *others[:-1]])
            set_current(context, loaded.space_id, after)
        return True

    merged: list[int] = []
    finish_reindexing(context, loaded.space_id, on_progress)
    assert (_count_hits(context, loaded, "hay"), _count_hits(context, loaded, "merged")) == (48, 1)


async def test_deleted_page_that_is_still_indexed_is_not_found(
    ask: Ask, context: RequestContext, tmp_path: Path
) -> None:
    load(context, _write_pages(tmp_path))
    (tmp_path / "page-07.md").unlink()
    loaded = load(context, tmp_path, on_progress=lambda number, count: None)
    at = SpaceRef(space_id=loaded.space_id)
    assert (await ask(search.InSpace(at=at, query="needle7"))).items == ()
    assert [page.title for page in (await ask(search.InSpace(at=at, query="needle8"))).items] == ["Page 8"]


def test_folder_without_pages_is_an_empty_page_tree(context: RequestContext, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no page")
    loaded = load(context, tmp_path)
    assert pages_of(context, loaded) == []


def test_fingerprint_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    folder = _write_pages(tmp_path, 3)
    seen = {fingerprint(folder)}

    def has_changed() -> bool:
        now = fingerprint(folder)
        is_new = now not in seen
        seen.add(now)
        return is_new

    assert not has_changed()
    (folder / "page-00.md").write_text("longer than before, and other words")
    assert has_changed()
    os.utime(folder / "page-00.md", ns=(1, 1))
    assert has_changed()
    (folder / "page-00.md").rename(folder / "page-0.md")
    assert has_changed()
    (folder / "deep").mkdir()
    assert not has_changed()
    (folder / "deep" / "picture.png").write_bytes(b"x")
    assert has_changed()
    (folder / "page-01.md").unlink()
    assert has_changed()
    for ignored in (".git", "node_modules"):
        (folder / ignored).mkdir()
        (folder / ignored / "x.md").write_text("x")
    assert not has_changed()
    (folder / "loop").symlink_to(folder)
    has_changed()
    assert fingerprint(folder / "nowhere") == fingerprint(folder / "elsewhere")


@pytest.mark.parametrize("is_first", [True, False])
def test_page_is_added_once_if_two_programs_load_the_folder_at_the_same_time(
    context: RequestContext, folder: Path, is_first: bool
) -> None:
    if not is_first:
        load(context, folder)
    write(folder, "new.md", "# New\n")
    other_loaded: list[LoadedFolder] = []
    has_begun = False

    def load_too(number: int, count: int) -> None:
        nonlocal has_begun
        if not has_begun:
            has_begun = True
            other_loaded.append(load(context, folder))

    loaded = load(context, folder, on_progress=load_too)
    assert loaded.space_id == other_loaded[0].space_id
    assert [page["title"] for page in pages_of(context, loaded)].count("New") == 1


@pytest.mark.parametrize(
    ("path", "words"),
    [("start.md", "Install it."), ("start.md", "Download everything from there."), ("guide/other.md", "Install it.")],
)
def test_renamed_file_is_found_by_its_text_or_title(
    context: RequestContext, folder: Path, path: str, words: str
) -> None:
    page = page_titled(context, load(context, folder), "Setup")
    (folder / "guide/setup.md").unlink()
    write(folder, path, f"# Setup\n\n{words}\n")
    assert page_titled(context, load(context, folder), "Setup")["id"] == page["id"]


def test_page_keeps_its_id_if_its_file_is_missing_for_one_load(context: RequestContext, folder: Path) -> None:
    page = page_titled(context, load(context, folder), "Setup")
    path = folder / "guide/setup.md"
    markdown = path.read_text()
    path.unlink()
    assert "Setup" not in [each["title"] for each in pages_of(context, load(context, folder))]
    path.write_text(markdown)
    assert page_titled(context, load(context, folder), "Setup")["id"] == page["id"]
    path.rename(folder / "guide/start.md")
    assert page_titled(context, load(context, folder), "Setup")["id"] == page["id"]
    path.write_text("# Another page\n")
    assert page_titled(context, load(context, folder), "Another page")["id"] != page["id"]
    assert page_titled(context, load(context, folder), "Setup")["id"] == page["id"]
