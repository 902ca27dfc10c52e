"""`pull`: a space becomes a folder. Later pulls merge the changes of both sides."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from octavo.api import content
from octavo.api.content import ReusableContent, Revision
from octavo.api.operation import Operation, RevisionRef
from octavo.documents.folders.folder import Problem
from octavo.documents.folders.layout import FolderLayout
from octavo.documents.source_reader import find_markers
from octavo.files import folder_merge
from octavo.files.folder_merge import FolderMerge, IncomingFile, PullResult, pull
from octavo.files.local_changes import LocalFiles
from octavo.files.proposal import Proposal
from octavo.files.pulled_folder import FolderInUse, NotPulled, PulledFolder, SpaceReader, TrackedFile
from tests.files.conftest import HOME, SETUP, PulledSide
from tests.server.space_editor import SpaceEditor, insert, update


async def test_first_pull_writes_pages_and_summary(docs: PulledSide) -> None:
    assert docs.files() == {
        "README.md": HOME,
        "SUMMARY.md": "# Table of contents\n\n* [Home](README.md)\n* [Setup](setup.md)\n* [Usage](usage.md)\n",
        "setup.md": SETUP,
        "usage.md": "# Usage\n\nPress a key.\n",
    }
    assert docs.status() == []
    assert (docs.top / ".octavo/.gitignore").read_text() == "*\n"


async def test_two_pulls_of_a_revision_are_equal(docs: PulledSide, folder_of: Callable[[str], PulledSide]) -> None:
    other = folder_of("other")
    await other.pull()
    assert other.files() == docs.files()
    assert (other.top / ".octavo/state.json").read_bytes() == (docs.top / ".octavo/state.json").read_bytes()


async def test_state_contains_no_text(docs: PulledSide) -> None:
    state = (docs.top / ".octavo/state.json").read_text()
    assert "Welcome" not in state
    assert json.loads(state)["files"]["setup.md"].keys() == {"id", "kind", "baseSha256"}


async def test_second_pull_without_changes_writes_nothing(docs: PulledSide) -> None:
    before = (docs.top / "setup.md").stat().st_mtime_ns
    result = await docs.pull()
    assert result.is_current
    assert (docs.top / "setup.md").stat().st_mtime_ns == before


async def test_changes_of_main_are_written(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(
        update(await editor.id("Setup"), "# Setup\n\nInstall Octavo.\n"),
        insert("# Help\n\nAsk.\n", into=await editor.id("Setup")),
        content.DeletePage(page=await editor.id("Usage")),
    )
    result = await docs.pull()
    assert (result.edited, result.deleted, result.conflicts) == (["SUMMARY.md", "setup.md"], ["usage.md"], [])
    assert (result.added, result.renamed) == (["setup/help.md"], [])
    assert docs.read("setup.md") == "# Setup\n\nInstall Octavo.\n"
    assert docs.read("setup/help.md") == "# Help\n\nAsk.\n"
    assert docs.status() == []


async def test_changes_of_both_sides_are_merged(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("start", "run")))
    docs.edit("setup.md", "Install it.", "Install it first.")
    docs.edit("usage.md", "a key", "any key")
    result = await docs.pull()
    assert (result.merged, result.conflicts) == (["setup.md"], [])
    assert docs.read("setup.md") == "# Setup\n\nInstall it first.\n\nThen run it.\n"
    assert docs.status() == ["M setup.md", "M usage.md"]


@pytest.mark.parametrize("is_renamed", [False, True])
async def test_edit_during_a_pull_is_merged(docs: PulledSide, editor: SpaceEditor, is_renamed: bool) -> None:
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("start", "run")))

    def edit(progress: str) -> None:
        if "it first" not in docs.read("setup.md"):
            docs.edit("setup.md", "Install it.", "Install it first.")
            if is_renamed:
                (docs.top / "usage.md").rename(docs.top / "keys.md")
                docs.edit("SUMMARY.md", "usage.md", "keys.md")

    result = await pull(docs.folder, docs.reader(editor.space), report=edit)
    assert result.merged == ["setup.md"]
    assert docs.read("setup.md") == "# Setup\n\nInstall it first.\n\nThen run it.\n"
    assert (docs.top / "usage.md").exists() is not is_renamed


async def test_edit_of_a_replaced_page_during_a_pull_stays(docs: PulledSide, editor: SpaceEditor) -> None:
    setup = await editor.id("Setup")
    await editor.publish(content.DeletePage(page=setup), insert("# Setup\n\nDo nothing.\n"))

    def edit(progress: str) -> None:
        docs.write("setup.md", "# Setup\n\nInstall it first.\n")

    result = await pull(docs.folder, docs.reader(editor.space), report=edit)
    assert [each.path for each in result.conflicts] == ["setup.md"]
    assert docs.read("setup.md") == "# Setup\n\nInstall it first.\n"
    assert docs.read("setup (1).md") == "# Setup\n\nDo nothing.\n"


async def test_file_that_is_still_in_conflict_is_named_by_the_next_pull(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install it.", "Install mine.")
    for theirs in ("Install theirs.", "Install theirs again."):
        text = SETUP.replace("Install it.", theirs)
        await editor.publish(update(await editor.id("Setup"), text))
        assert (await docs.pull()).conflicts == [Problem("setup.md", "1 conflict with main")]
        assert "Install mine." in docs.read("setup.md")
        assert theirs in docs.read("setup.md")


async def test_conflict_is_marked_and_the_file_is_copied(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("Install it.", "Download it.")))
    docs.edit("setup.md", "Install it.", "Compile it.")
    mine = docs.read("setup.md")
    result = await docs.pull()
    assert result.conflicts == [Problem("setup.md", "1 conflict with main")]
    marks = find_markers(docs.read("setup.md"))
    assert [(each.ours, each.theirs) for each in marks] == [("yours", "main")]
    assert "Compile it." in docs.read("setup.md")
    assert "Download it." in docs.read("setup.md")
    assert docs.read(".octavo/conflicts/setup.md") == mine
    assert docs.status() == ["! setup.md"]


async def test_front_matter_of_both_sides_is_merged_by_key(docs: PulledSide, editor: SpaceEditor) -> None:
    setup = await editor.id("Setup")
    await editor.publish(
        content.UpdatePage(page=setup, description="Start here", icon="gear"), update(setup, "Install it.\n")
    )
    docs.write("setup.md", f"---\ndescription: Begin here\nhidden: true\n---\n\n{SETUP}")
    result = await docs.pull()
    assert [each.message for each in result.conflicts] == ["1 conflict with main"]
    assert docs.read("setup.md") == (
        "---\n<<<<<<< yours\ndescription: Begin here\n=======\ndescription: Start here\n>>>>>>> main\n"
        "hidden: true\nicon: gear\n---\n\nInstall it.\n"
    )


async def test_body_that_looks_like_front_matter_stays_body(docs: PulledSide, editor: SpaceEditor) -> None:
    text = "\n---\ndescription: No field\n---\n\nWords.\n"
    await editor.publish(update(await editor.id("Setup"), text))
    await docs.pull()
    assert docs.read("setup.md").endswith(text)
    docs.edit("setup.md", "Words.", "More words.")
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert (plan.blocked, [each.text for each in plan.edits.values()]) == ([], [text.replace("Words", "More words")])


async def test_file_that_is_renamed_retitled_and_edited_keeps_its_page(docs: PulledSide) -> None:
    docs.write("SUMMARY.md", docs.read("SUMMARY.md").replace("[Setup](setup.md)", "[Begin](begin.md)"))
    (docs.top / "setup.md").rename(docs.top / "begin.md")
    (docs.top / "usage.md").rename(docs.top / "use.md")
    docs.edit("SUMMARY.md", "usage.md", "use.md")
    docs.write("begin.md", SETUP.replace("# Setup", "# Begin") + "\nEnjoy it.\n")
    assert docs.status() == ["R setup.md -> begin.md", "M SUMMARY.md", "R usage.md -> use.md"]


async def test_page_deleted_on_main_and_edited_here_stays(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(
        content.DeletePage(page=await editor.id("Setup")), content.DeletePage(page=await editor.id("Usage"))
    )
    docs.edit("setup.md", "Install", "Download")
    result = await docs.pull()
    assert [each.path for each in result.conflicts] == ["setup.md"]
    assert result.deleted == ["usage.md"]
    assert docs.status() == ["A setup.md", "M SUMMARY.md"]
    assert "(setup.md)" in docs.read("SUMMARY.md")


async def test_page_deleted_here_and_edited_on_main_comes_back(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(update(await editor.id("Setup"), "# Setup\n\nNew words.\n"))
    for path in ("setup.md", "usage.md"):
        (docs.top / path).unlink()
    docs.write("SUMMARY.md", "# Table of contents\n\n* [Home](README.md)\n")
    result = await docs.pull()
    assert [each.path for each in result.conflicts] == ["setup.md"]
    assert docs.read("setup.md") == "# Setup\n\nNew words.\n"
    assert docs.status() == ["M SUMMARY.md", "D usage.md"]
    assert docs.read("SUMMARY.md") == "# Table of contents\n\n* [Home](README.md)\n* [Setup](setup.md)\n"


async def test_order_of_both_sides_is_merged(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(insert("# Help\n\nAsk.\n", at=1))
    docs.write("SUMMARY.md", "# Table of contents\n\n* [Home](README.md)\n  * [Usage](usage.md)\n* [Setup](setup.md)\n")
    await docs.pull()
    assert docs.read("SUMMARY.md") == (
        "# Table of contents\n\n* [Home](README.md)\n  * [Usage](usage.md)\n* [Help](help.md)\n* [Setup](setup.md)\n"
    )
    assert docs.status() == ["M SUMMARY.md"]


async def test_renamed_file_keeps_its_name(docs: PulledSide, editor: SpaceEditor) -> None:
    (docs.top / "setup.md").rename(docs.top / "install.md")
    docs.edit("SUMMARY.md", "setup.md", "install.md")
    assert docs.status() == ["R setup.md -> install.md", "M SUMMARY.md"]
    await editor.publish(update(await editor.id("Setup"), "# Setup\n\nNew words.\n"))
    result = await docs.pull()
    assert (result.edited, result.conflicts) == (["install.md"], [])
    assert docs.read("install.md") == "# Setup\n\nNew words.\n"
    assert not (docs.top / "setup.md").exists()


async def test_file_moves_with_its_page(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install", "Download")
    await editor.publish(update(await editor.id("Setup"), slug="first-steps"))
    result = await docs.pull()
    assert result.renamed == [("setup.md", "first-steps.md")]
    assert "Download it." in docs.read("first-steps.md")
    assert docs.status() == ["M first-steps.md"]


async def test_merged_file_that_is_not_utf_8_is_copied(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("start", "run")))
    mine = SETUP.replace("Install it.", "Installé.").encode("latin-1")
    (docs.top / "setup.md").write_bytes(mine)
    result = await docs.pull()
    assert [each.path for each in result.conflicts] == ["setup.md"]
    assert "Then run it." in docs.read("setup.md")
    assert (docs.top / ".octavo" / "conflicts" / "setup.md").read_bytes() == mine


async def test_line_endings_of_a_file_stay(docs: PulledSide, editor: SpaceEditor) -> None:
    (docs.top / "setup.md").write_bytes(b"\xef\xbb\xbf" + SETUP.replace("\n", "\r\n").encode())
    assert docs.status() == []
    await editor.publish(update(await editor.id("Setup"), "# Setup\n\nNew.\n"))
    await docs.pull()
    assert (docs.top / "setup.md").read_bytes() == b"\xef\xbb\xbf# Setup\r\n\r\nNew.\r\n"


async def test_folder_with_files_is_adopted(folder_of: Callable[[str], PulledSide]) -> None:
    side = folder_of("docs")
    side.write("SUMMARY.md", "# Contents\n\n* [Start](README.md)\n* [Setup](setup.md)\n* [Usage](usage.md)\n")
    side.write("README.md", "---\ntags:\n  - beta\n---\n\n# Home\n\nWelcome.\n\n")
    side.write("setup.md", "# Setup\n\nMine.\n")
    before = side.files()
    result = await side.pull()
    assert result.kept == ["setup.md"]
    assert side.files() == {**before, "usage.md": "# Usage\n\nPress a key.\n"}
    assert side.status() == ["M setup.md"]


async def test_nothing_is_written_through_a_symbolic_link(docs: PulledSide, editor: SpaceEditor) -> None:
    outside = docs.top.parent / "outside"
    outside.mkdir()
    (docs.top / "usage").symlink_to(outside)
    await editor.publish(insert("# Help\n\nAsk.\n", into=await editor.id("Usage")))
    result = await docs.pull()
    assert "its path goes through a symbolic link" in result.skipped[0].message
    assert list(outside.iterdir()) == []
    (docs.top / "usage").unlink()
    assert (await docs.pull()).added == ["usage/help.md"]
    assert (await docs.pull()).is_current


async def test_named_pipes_are_not_read(docs: PulledSide) -> None:
    pipes = [docs.top / "pipe.md", docs.top / "setup.md"]
    pipes[1].unlink()
    for pipe in pipes:
        os.mkfifo(pipe)
        # A reader of the pipe would get no text, instead of waiting without end.
        threading.Thread(target=pipe.write_bytes, args=(b"",), daemon=True).start()
    assert docs.status() == ["D setup.md"]
    for pipe in pipes:
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))


async def test_moved_page_whose_new_path_is_a_symbolic_link_keeps_its_file(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    outside = docs.top.parent / "outside"
    outside.mkdir()
    (docs.top / "usage").symlink_to(outside)
    docs.edit("setup.md", "Install", "Compile")
    await editor.publish(update(await editor.id("Setup"), into=await editor.id("Usage")))
    result = await docs.pull()
    assert docs.read("setup.md") == SETUP.replace("Install", "Compile")
    assert (result.skipped, list(outside.iterdir())) == ([], [])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "octavo.files/9"}, "another version of Octavo wrote it"),
        ({"files": {"../../x": {"kind": "page", "id": "1"}}}, "it names a file that Octavo does not write"),
        ({"files": {"a.md": {"kind": "program", "id": "1"}}}, "it names a file that Octavo does not write"),
        ({"root": "/etc"}, "its root leaves the folder"),
        ({"files": []}, "no attribute"),
    ],
)
async def test_hostile_state_is_refused(docs: PulledSide, change: dict[str, object], said: str) -> None:
    path = docs.top / ".octavo/state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(NotPulled, match=said):
        PulledFolder.read(docs.top)


async def test_damaged_base_is_named(docs: PulledSide) -> None:
    docs.edit("setup.md", "it", "that")
    for path in (docs.top / ".octavo/base").glob("??/*"):
        path.write_bytes(b"x")
    with pytest.raises(NotPulled, match="it is damaged"):
        docs.status()


async def test_older_revision_can_be_pulled(
    docs: PulledSide, editor: SpaceEditor, folder_of: Callable[[str], PulledSide]
) -> None:
    first = docs.folder.revision_id
    await editor.publish(update(await editor.id("Setup"), "# Setup\n\nNew.\n"))
    old = folder_of("old")
    await old.pull(first)
    assert old.files() == docs.files()


async def test_file_of_a_page_does_not_get_the_front_matter_of_a_deleted_page(
    folder_of: Callable[[str], PulledSide], editor: SpaceEditor
) -> None:
    side = folder_of("own")
    side.write("setup.md", f"---\ntags: old\n---\n\n{SETUP}")
    side.write("SUMMARY.md", "* [Home](README.md)\n* [Setup](setup.md)\n* [Usage](usage.md)\n")
    await side.pull()
    assert side.status() == []
    await editor.publish(content.DeletePage(page=await editor.id("Setup")))
    await editor.publish(insert("# Setup\n\nOther words.\n"))
    assert (await side.pull()).conflicts == []
    assert side.read("setup.md") == "# Setup\n\nOther words.\n"


async def test_file_of_the_variables_is_deleted_with_the_last_variable(docs: PulledSide, editor: SpaceEditor) -> None:
    revision = await docs.reader(editor.space).revision()
    variables: list[dict[str, str]] = [{"version": "v2"}, {}, {"version": "v3"}, {}]

    async def send(op: Operation[Any]) -> Any:
        answer = await docs.live.send(op)
        if not isinstance(op, content.Get) or isinstance(op.at, RevisionRef):
            return answer
        return answer.model_copy(update={"id": f"r{len(variables)}", "variables": variables.pop(0)})

    async def pull_once() -> PullResult:
        folder = docs.folder
        folder.revision_id = revision.id
        return await pull(folder, SpaceReader(send, docs.client.download, editor.space))

    path = ".gitbook/vars.yaml"
    assert [(await pull_once()).added, (await pull_once()).deleted] == [[path], [path]]
    assert not (docs.top / path).exists()
    await pull_once()
    docs.write(path, "version: mine\n")
    assert (await pull_once()).conflicts == [
        Problem(path, "it was deleted on main, and you changed it. Your file stays as a new one")
    ]
    assert docs.read(path) == "version: mine\n"


async def test_table_of_contents_of_a_space_with_variables_is_merged(
    folder_of: Callable[[str], PulledSide], editor: SpaceEditor
) -> None:
    side = folder_of("variables")
    side.top.mkdir()

    async def send(op: Operation[Any]) -> Any:
        answer = await side.live.send(op)
        return answer.model_copy(update={"variables": {"version": "v2"}}) if isinstance(op, content.Get) else answer

    async def pull_once(folder: PulledFolder) -> None:
        await pull(folder, SpaceReader(send, side.client.download, editor.space))
        assert side.status() == []

    await pull_once(PulledFolder.new(side.top, "http://octavo.test", editor.space.space_id))
    home, usage = await editor.id("Home"), await editor.id("Usage")
    await editor.publish(content.UpdatePage(page=usage, into=home, at=0), insert("# Help\n\nAsk.\n"))
    await pull_once(side.folder)
    assert side.read("SUMMARY.md") == (
        "# Table of contents\n\n* [Home](README.md)\n  * [Usage](home/usage.md)\n"
        "* [Setup](setup.md)\n* [Help](help.md)\n"
    )


async def test_long_paths_are_pulled(docs: PulledSide, editor: SpaceEditor) -> None:
    parent: str | None = None
    for number in range(7):
        title = f"{number} " + "long " * 11
        await editor.publish(insert(f"# {title}\n\nWords.\n", **({"into": parent} if parent else {})))
        parent = await editor.id(title.strip())
    assert (await docs.pull()).skipped == []
    longest = max(docs.files(), key=len)
    assert (len(longest) > 350, longest.endswith(".md")) == (True, True)
    assert docs.status() == []


async def test_page_without_text_is_named_and_its_file_stays(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(update(await editor.id("Setup"), "# Setup\n\nInstall Octavo.\n"), insert("# New\n\nWords.\n"))
    unreadable = {await editor.id("Setup"), await editor.id("New")}

    async def send_without_text(op: Operation[Any]) -> Any:
        response = await docs.live.send(op)
        is_unreadable = isinstance(op, content.GetRawPage) and op.page_id in unreadable
        return response.model_copy(update={"markdown": None}) if is_unreadable else response

    reader = SpaceReader(send_without_text, docs.client.download, editor.space)
    result = await pull(docs.folder, reader)
    assert [f"{each.path}: {each.message}" for each in result.skipped] == [
        "setup.md: Skipped a page: the API does not return its text.",
        "new.md: Skipped a page: the API does not return its text.",
    ]
    assert docs.read("setup.md") == SETUP
    assert not (docs.top / "new.md").exists()
    assert docs.status() == []
    later = await docs.pull()
    assert (later.edited, later.added, later.skipped) == (["setup.md"], ["new.md"], [])
    assert (await docs.pull()).is_current


async def test_repeated_key_in_front_matter_is_not_lost(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("Install", "Download")))
    docs.write("setup.md", f"---\ntags: red\ntags: blue\n---\n\n{SETUP}\nMore.\n")
    await docs.pull()
    assert docs.read("setup.md").startswith("---\ntags: red\ntags: blue\n---\n")


async def test_own_links_lead_to_the_files_that_a_pull_moves(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("usage.md", "Press a key.", "See [setup](setup.md#a) and [home](README.md).")
    docs.write("new.md", "# New\n\nSee [usage](usage.md).\n")
    docs.edit("SUMMARY.md", "* [Setup]", "* [New](new.md)\n* [Setup]")
    home, usage = await editor.id("Home"), await editor.id("Usage")
    await editor.publish(content.UpdatePage(page=usage, into=home, at=0))
    assert (await docs.pull()).renamed == [("usage.md", "home/usage.md")]
    assert "See [setup](../setup.md#a) and [home](../README.md)." in docs.read("home/usage.md")
    assert docs.read("new.md") == "# New\n\nSee [usage](home/usage.md).\n"


def kill_while_writing(path: Path) -> None:
    """Begin to replace a file in another process, and kill that process."""
    script = f"""
import os, signal
from pathlib import Path
from octavo.files import pulled_folder
with pulled_folder._replacement(Path({str(path)!r}), b"half"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL


async def test_temporary_files_of_a_killed_pull_are_deleted(docs: PulledSide, editor: SpaceEditor) -> None:
    for path in (docs.top / "setup.md", docs.top / ".octavo/state.json"):
        kill_while_writing(path)
    leftovers = sorted(docs.top.rglob("*.part"))
    assert len(leftovers) == 2
    own, link, other = (docs.top / f".octavo-{each}.part" for each in (f"{os.getpid()}-abc", "99999-abc", "notes"))
    own.touch()
    other.touch()
    link.symlink_to(docs.top / "usage.md")
    assert docs.status() == []
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("Install", "Download")))
    await docs.pull()
    assert sorted(docs.top.rglob("*.part")) == sorted((own, link, other))


@pytest.mark.parametrize("is_tracked", [True, False])
async def test_file_that_is_changed_while_files_are_merged_is_not_replaced(
    docs: PulledSide, editor: SpaceEditor, is_tracked: bool
) -> None:
    path = "setup.md" if is_tracked else "help.md"
    docs.write("help.md", "# Help\n\nMine.\n")
    setup = await editor.id("Setup")
    await editor.publish(update(setup, SETUP.replace("Install", "Download")), insert("# Help\n\nAsk.\n"))
    revision = await docs.reader(editor.space).revision()
    layout = FolderLayout.of(revision, editor.space.space_id)
    incoming = IncomingFile(path, path, "page", setup, "# Main\n", last_pulled=docs.folder.files.get(path))
    local = LocalFiles.read(docs.folder)
    merge = FolderMerge(docs.folder, local, layout, [incoming], PullResult(revision.id))
    merge._merge_text(incoming)
    docs.write(path, "Typed while files are merged.")
    before = docs.files()
    with pytest.raises(FolderInUse, match=f"{path} was changed meanwhile"):
        merge._write()
    assert docs.files() == before


async def test_pull_that_cannot_store_a_file_changes_no_file(docs: PulledSide, editor: SpaceEditor) -> None:
    home, setup = await editor.id("Home"), await editor.id("Setup")
    await editor.publish(update(home, HOME.replace("Welcome", "Hello")), insert("# Help\n", into=setup))
    docs.edit("README.md", "Welcome", "Good day")
    docs.write("setup", "a file where the pull needs a folder")
    before = docs.files()
    with pytest.raises(OSError):
        await docs.pull()
    assert docs.files() == before
    (docs.top / "setup").unlink()
    await docs.pull()
    assert docs.read("README.md").count("<<<<<<<") == 1


async def test_file_of_reusable_content_keeps_the_accents_of_its_name(docs: PulledSide) -> None:
    path = ".gitbook/includes/fußnote.md"
    docs.write(path, "A note.\n")
    folder = docs.folder
    folder.files[path] = TrackedFile(path, "reusable", "note", pulled_path=path)
    local = LocalFiles.read(folder)
    for title, new_path in (("Fußnote", path), ("Endnote", ".gitbook/includes/endnote.md")):
        revision = Revision(id="next", pages=(), reusable_contents=(ReusableContent(id="note", title=title),))
        layout, _ = folder_merge._layout(folder, local, revision)
        assert layout.paths == {"note": new_path}
