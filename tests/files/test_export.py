"""`export`: merged changes are written back to a folder that was opened, and no other file of the user changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from octavo.api.content import ContentEdit, DeletePage, InsertFiles, ListFiles, NewFile
from octavo.api.operation import SpaceRef
from octavo.client.client import Client
from octavo.data.live import Live
from octavo.files.folder_export import ExportChange, export_changes, write_export
from octavo.files.pulled_folder import FolderInUse, PulledFolder, SpaceReader
from octavo.server import loader
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor, insert, update

Export = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def export(platform: Platform, ask: Ask, live: Live, client: Client) -> Export:
    """Return a function that opens a folder, merges changes, and exports to the folder. It returns a line for each
    changed file, and the message about each skipped file."""

    async def open_and_export(top: Path, *changes: Callable[[SpaceEditor], Awaitable[ContentEdit]]) -> list[str]:
        loaded = loader.load(platform.context, top, organization_id="acme", author_id="ada")
        editor = SpaceEditor(ask, SpaceRef(space_id=loaded.space_id))
        if changes:
            await editor.publish(*[await change(editor) for change in changes])
        folder = PulledFolder.new(top, "octavo:folder", loaded.space_id)
        changed, skipped = await export_changes(folder, SpaceReader(live.send, client.download, editor.space))
        problems = [*skipped, *write_export(folder, changed)]
        return [f"{each.status} {each.path}" for each in changed] + [
            f"{each.path}: {each.message}" for each in problems
        ]

    return open_and_export


def text(title: str, markdown: str) -> Callable[[SpaceEditor], Awaitable[ContentEdit]]:
    """Return a change of the text of a page."""

    async def change(editor: SpaceEditor) -> ContentEdit:
        return update(await editor.id(title), markdown)

    return change


def files_in(top: Path) -> dict[str, bytes]:
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def write(top: Path, name: str, body: str | bytes) -> None:
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    (top / name).write_bytes(body.encode() if isinstance(body, str) else body)


@pytest.mark.parametrize("has_summary", [True, False])
async def test_folder_with_odd_names_is_exported_without_changes(
    tmp_path: Path, export: Export, has_summary: bool
) -> None:
    names = ("Guide.MD", "Intro.md", "intro.md", "con.md", "std::vector.md", "50% & more?.md", "ß.md")
    for name in ("README.md", *names, f"{'deep/' * 28}page.md", "/".join(["long name " * 5] * 7) + "/page.md"):
        write(tmp_path, name, f"# Page {len(name)} {name[:3].strip()}\n\n[home](/README.md) ![](/aux.png)\n")
    write(tmp_path, "aux.png", "a picture")
    (tmp_path / "linked.md").symlink_to("README.md")
    if has_summary:
        write(
            tmp_path,
            "SUMMARY.md",
            "* [Home](README.md)\n* [C](con.md)\n* [V](std%3A%3Avector.md)\n* [G](Guide.MD)\n",
        )
        write(
            tmp_path,
            "SUMMARY.md",
            f"{(tmp_path / 'SUMMARY.md').read_text()}* Words\n  * [Gone](gone/a.md)\n## More\n* Words\n",
        )
    before = files_in(tmp_path)
    assert await export(tmp_path) == []
    assert files_in(tmp_path) == before


async def test_changed_page_is_written_unless_its_name_is_reserved(tmp_path: Path, export: Export) -> None:
    for name, title in (("README.md", "Home"), ("std::vector.md", "Vector"), ("con.md", "Console")):
        write(tmp_path, name, f"# {title}\n\nOld.\n")
    assert await export(tmp_path, text("Vector", "# Vector\n\nNew.\n"), text("Console", "# Console\n\nNew.\n")) == [
        "M con.md",
        "M std::vector.md",
        "con.md: Skipped a file: its path has a name that some systems reserve.",
    ]
    assert (tmp_path / "std::vector.md").read_text() == "# Vector\n\nNew.\n"
    assert (tmp_path / "con.md").read_text() == "# Console\n\nOld.\n"


async def test_files_that_octavo_cannot_read_stay(tmp_path: Path, export: Export) -> None:
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, "huge.md", "# Huge\n" + "x" * 5_000_000)
    write(tmp_path, "binary.md", b"\0\1")
    write(tmp_path, "latin.md", "# Café\n\nOld.\n".encode("latin-1"))
    before = files_in(tmp_path)
    assert await export(tmp_path, text("Caf\ufffd", "# Caf\ufffd\n\nNew.\n")) == [
        "binary.md: Skipped a page: its file cannot be read.",
        "huge.md: Skipped a page: its file cannot be read.",
        "latin.md: Skipped a page: its file is not UTF-8, so characters would be lost.",
    ]
    assert files_in(tmp_path) == before


async def test_linked_file_is_not_replaced(tmp_path: Path, export: Export) -> None:
    write(tmp_path, "docs/README.md", "# Docs\n\nOld.\n")
    (tmp_path / "README.md").symlink_to("docs/README.md")
    write(tmp_path, "SUMMARY.md", "* [Docs](README.md)\n")
    assert "README.md: Skipped a page: its path goes through a symbolic link." in await export(
        tmp_path, text("Docs", "# Docs\n\nNew.\n")
    )
    assert (tmp_path / "docs/README.md").read_text() == "# Docs\n\nOld.\n"


@pytest.mark.parametrize("path", ["README.md", "aux.md", "new.md", "SUMMARY.md"])
async def test_file_that_is_changed_before_it_is_written_is_not_replaced(tmp_path: Path, path: str) -> None:
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, "aux.md", "# Auxiliary\n")
    write(tmp_path, "SUMMARY.md", "* [Home](README.md)\n* [Auxiliary](aux.md)\n")
    old_data = files_in(tmp_path)
    changes = [
        ExportChange("M" if name in old_data else "A", name, b"# Merged\n", old_data.get(name, b""))
        for name in ("README.md", "new.md", "SUMMARY.md")
    ]
    changes.append(ExportChange("D", "aux.md", old_data=old_data["aux.md"]))
    write(tmp_path, path, "Typed meanwhile.")
    before = files_in(tmp_path)
    with pytest.raises(FolderInUse, match=f"{path} was changed meanwhile"):
        write_export(PulledFolder.new(tmp_path, "octavo:folder", "space"), changes)
    assert files_in(tmp_path) == before


async def test_deleted_page_loses_its_file(tmp_path: Path, export: Export) -> None:
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, "aux.md", "# Auxiliary\n")
    write(tmp_path, "SUMMARY.md", "* [Home](README.md)\n* [Auxiliary](aux.md)\n")

    async def deletion(editor: SpaceEditor) -> ContentEdit:
        return DeletePage(page=await editor.id("Auxiliary"))

    assert await export(tmp_path, deletion) == ["M SUMMARY.md", "D aux.md"]
    assert sorted(files_in(tmp_path)) == ["README.md", "SUMMARY.md"]


@pytest.mark.parametrize("contents", ["summary.md", "parts/contents.md"])
async def test_table_of_contents_with_another_name_is_written(tmp_path: Path, export: Export, contents: str) -> None:
    above = "../" * contents.count("/")
    write(tmp_path, ".gitbook.yaml", f"structure:\n  summary: {contents}\n")
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, contents, f"# Table of contents\n\n* [Home]({above}README.md)\n* [Top]({above}README.md#top)\n")
    assert await export(tmp_path) == []

    async def insertion(_: SpaceEditor) -> ContentEdit:
        return insert("# More\n\nWords.\n")

    assert await export(tmp_path, insertion) == ["A more.md", f"M {contents}"]
    assert f"* [Top]({above}README.md#top)\n* [More]({above}more.md)\n" in (tmp_path / contents).read_text()


async def test_exported_changes_are_no_changes_of_the_folder(tmp_path: Path, export: Export) -> None:
    write(tmp_path, "README.md", "# Home\n\nOld.\n")
    write(tmp_path, "guide.md", "# Guide\n")
    write(tmp_path, "SUMMARY.md", "* [Home](README.md)\n* [Guide](guide.md)\n* Later\n")
    editors: list[SpaceEditor] = []

    async def new_page(editor: SpaceEditor) -> ContentEdit:
        editors.append(editor)
        return insert("# More\n\nWords.\n", into=await editor.id("Guide"))

    async def new_file(_: SpaceEditor) -> ContentEdit:
        return InsertFiles(files=(NewFile(name="lamp.png", content_type="image/png", base64="aGVsbG8="),))

    async def links(editor: SpaceEditor) -> ContentEdit:
        guide, more = await editor.id("Guide"), await editor.id("More")
        (file,) = (await editor.ask(ListFiles(at=editor.space))).items
        text = f"# Home\n\n[guide](/pages/{guide}) [more](/pages/{more}#a) ![](/files/{file.id})"
        return update(await editor.id("Home"), text, description="Where to start")

    async def later_text(editor: SpaceEditor) -> ContentEdit:
        return update(await editor.id("Later"), "# Later\n\nNow.\n")

    assert await export(tmp_path, later_text) == ["M SUMMARY.md", "A later.md"]
    more = await export(tmp_path, new_page, new_file)
    assert more == ["A .gitbook/assets/lamp.png", "M SUMMARY.md", "A guide/more.md"]
    assert await export(tmp_path, links) == ["M README.md"]
    assert "[more](guide/more.md#a) ![](.gitbook/assets/lamp.png)\n" in (tmp_path / "README.md").read_text()
    exported = files_in(tmp_path)
    assert await export(tmp_path) == []
    assert files_in(tmp_path) == exported
    assert await editors[0].outline() == "Home Guide(More) Later"
    write(tmp_path, "README.md", (tmp_path / "README.md").read_text().replace("[guide]", "[the guide]"))
    assert await export(tmp_path) == []
    assert "[the guide](guide.md) [more](guide/more.md#a)" in ((await editors[0].page("Home")).markdown or "")


async def test_exported_page_can_be_edited_and_deleted_in_the_folder(
    tmp_path: Path, export: Export, ask: Ask, platform: Platform
) -> None:
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, "a.md", "# Page\n\nOld.\n")
    assert await export(tmp_path, text("Page", "# Page\n\nNew.\n")) == ["M a.md"]
    assert await export(tmp_path) == []
    write(tmp_path, "a.md", "# Page\n\nNewer.\n")
    loaded = loader.load(platform.context, tmp_path, organization_id="acme", author_id="ada")
    editor = SpaceEditor(ask, SpaceRef(space_id=loaded.space_id))
    assert (await editor.page("Page")).markdown == "# Page\n\nNewer.\n"
    assert await export(tmp_path, text("Page", "# Page\n\nNewest.\n")) == ["M a.md"]
    assert await export(tmp_path) == []
    (tmp_path / "a.md").unlink()
    assert await export(tmp_path) == []
    assert await editor.outline() == "Home"


async def test_deleted_file_that_an_export_writes_again_stays_one_page(
    tmp_path: Path, export: Export, ask: Ask, platform: Platform
) -> None:
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, "a.md", "# Page\n\nOld.\n")
    await export(tmp_path)
    (tmp_path / "a.md").unlink()
    loaded = loader.load(platform.context, tmp_path, organization_id="acme", author_id="ada")
    write(tmp_path, "a.md", "# Page\n\nOld.\n")
    await export(tmp_path)
    editor = SpaceEditor(ask, SpaceRef(space_id=loaded.space_id))
    await editor.publish(update(await editor.id("Page"), "# Page\n\nNew.\n"))
    (tmp_path / "a.md").unlink()
    assert await export(tmp_path) == ["A SUMMARY.md", "A a.md"]
    assert await export(tmp_path) == []
    assert await editor.outline() == "Home Page"


async def test_new_first_page_is_exported_beside_the_page_that_was_first(
    tmp_path: Path, export: Export, ask: Ask, platform: Platform
) -> None:
    write(tmp_path, "README.md", "# Home\n")
    loaded = loader.load(platform.context, tmp_path, organization_id="acme", author_id="ada")
    editor = SpaceEditor(ask, SpaceRef(space_id=loaded.space_id))
    await editor.publish(insert("# Second\n", at=0))
    await editor.publish(insert("# First\n", at=0))
    assert await export(tmp_path) == ["A SUMMARY.md", "A first.md", "A second.md"]
    assert await export(tmp_path) == []
    await editor.publish(DeletePage(page=await editor.id("First")))
    assert await export(tmp_path) == ["M SUMMARY.md", "D first.md"]
    assert await export(tmp_path) == []
    assert await editor.outline() == "Second Home"


async def test_page_exported_to_the_path_of_a_deleted_page_stays_one_page(
    tmp_path: Path, export: Export, ask: Ask, platform: Platform
) -> None:
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, "a.md", "# Page\n")
    loaded = loader.load(platform.context, tmp_path, organization_id="acme", author_id="ada")
    editor = SpaceEditor(ask, SpaceRef(space_id=loaded.space_id))
    await editor.publish(DeletePage(page=await editor.id("Home")))
    assert await export(tmp_path) == ["D README.md", "A SUMMARY.md"]
    await export(tmp_path)
    await editor.publish(insert("# First\n", at=0))
    assert await export(tmp_path) == ["A README.md", "M SUMMARY.md"]
    assert await export(tmp_path) == []
    assert await editor.outline() == "First Page"


async def test_folder_of_new_pages_replaces_a_page_file(
    tmp_path: Path, export: Export, ask: Ask, platform: Platform
) -> None:
    write(tmp_path, "README.md", "# Home\n")
    write(tmp_path, "tools", "# Tools\n")
    write(tmp_path, "SUMMARY.md", "* [Home](README.md)\n* [Tools](tools)\n")
    loaded = loader.load(platform.context, tmp_path, organization_id="acme", author_id="ada")
    editor = SpaceEditor(ask, SpaceRef(space_id=loaded.space_id))
    await editor.publish(DeletePage(page=await editor.id("Tools")))
    await editor.publish(insert("# Tools\n"))
    await editor.publish(insert("# Hammer\n", into=await editor.id("Tools")))
    assert await export(tmp_path) == ["M SUMMARY.md", "D tools", "A tools/README.md", "A tools/hammer.md"]
    assert await export(tmp_path) == []
    assert await editor.outline() == "Home Tools(Hammer)"
