"""`octavo pull`, `status` and `restore` as processes, on the demo."""

from __future__ import annotations

import json
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from octavo.__main__ import main
from octavo.files.pulled_folder import FolderInUse, PulledFolder
from tests.cli.command_process import CommandLine
from tests.cli.conftest import RecordedTerminal
from tests.cli.dropping_proxy import DroppingProxy
from tests.cli.test_writing import sign_in_as
from tests.journeys.conftest import library

__all__ = ["library"]


@pytest.fixture(scope="module")
def demo(library: Path, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home")).with_demo(library)


@pytest.fixture(scope="module")
def docs(demo: CommandLine) -> Path:
    """Return the pulled folder of the handbook of the demo."""
    ran = demo.run("pull", "handbook", "docs", "--demo", cwd=demo.folder)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"Pulled 18 files of Handbook into {demo.folder / 'docs'}.\n"
    return demo.folder / "docs"


def test_pulled_space_is_listed_edited_and_restored(demo: CommandLine, docs: Path) -> None:
    assert "\n# How we work\n" in (docs / "README.md").read_text()
    assert demo.run("status", cwd=docs).out == ""
    (docs / "running/severity.md").write_bytes(b"# How bad is it?\r\n\r\nVery.\r\n")
    (docs / "people/privacy.md").unlink()
    assert (
        demo.run("status", cwd=docs / "running").out
        == "D\tpeople/privacy.md\tdeleted\nM\trunning/severity.md\tedited\n"
    )
    rows = demo.run("status", "--json", "path,status", cwd=docs).json
    assert rows == [{"path": "people/privacy.md", "status": "D"}, {"path": "running/severity.md", "status": "M"}]
    ran = demo.run("restore", "severity.md", "../people/privacy.md", cwd=docs / "running")
    assert ran.out == (
        "Restored running/severity.md. Your version is in .octavo/conflicts/running/severity.md.\n"
        "Restored people/privacy.md.\n"
    )
    assert demo.run("status", cwd=docs).out == ""
    assert (docs / ".octavo/conflicts/running/severity.md").read_bytes() == b"# How bad is it?\r\n\r\nVery.\r\n"
    restored = (docs / "running/severity.md").read_bytes()
    assert restored.count(b"\r\n") == restored.count(b"\n") > 0


def test_renamed_file_is_restored_under_its_old_name(demo: CommandLine, docs: Path) -> None:
    page, image = docs / "people/privacy.md", docs / ".gitbook/assets/lamp.png"
    before = page.read_bytes(), image.read_bytes()
    page.rename(docs / "people/secrets.md")
    image.rename(docs / ".gitbook/assets/light.png")
    summary = (docs / "SUMMARY.md").read_text()
    (docs / "SUMMARY.md").write_text(summary.replace("people/privacy.md", "people/secrets.md"))
    ran = demo.run("restore", "people/privacy.md", ".gitbook/assets/light.png", "SUMMARY.md", cwd=docs)
    assert ran.out == (
        "Restored people/privacy.md.\nRestored .gitbook/assets/lamp.png.\n"
        "Restored SUMMARY.md. Your version is in .octavo/conflicts/SUMMARY.md.\n"
    )
    assert (page.read_bytes(), image.read_bytes()) == before
    assert demo.run("status", cwd=docs).out == ""


def test_restored_table_of_contents_leaves_the_variables(demo: CommandLine, tmp_path: Path) -> None:
    assert demo.run("pull", "harbour-api", "docs", "--demo", cwd=tmp_path).code == 0
    variables = tmp_path / "docs/.gitbook/vars.yaml"
    before = variables.read_bytes()
    assert demo.run("status", cwd=tmp_path / "docs").out == ""
    assert demo.run("restore", "SUMMARY.md", cwd=tmp_path / "docs").out == "SUMMARY.md has no changes.\n"
    assert variables.read_bytes() == before


def test_files_are_restored_after_the_reader_of_the_output_has_ended(demo: CommandLine, docs: Path) -> None:
    names = ("README.md", "people/privacy.md")
    for name in names:
        (docs / name).unlink()
    assert demo.run_with_closed_pipe("restore", *names, cwd=docs).code == 0
    assert demo.run("status", cwd=docs).out == ""


def test_control_characters_of_a_raw_diff_are_symbols_on_a_terminal(
    demo: CommandLine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (docs / "README.md").read_text()
    (docs / "README.md").write_text(f"{text}\nNew \x1b]0;title\x07\u202e words.\n")
    assert "\x1b]0;title\x07\u202e words." in demo.run("diff", "--raw", cwd=docs).out
    monkeypatch.chdir(docs)
    with RecordedTerminal() as shown:
        assert main(["diff", "--raw"]) == 0
    (docs / "README.md").write_text(text)
    assert "New ␛]0;title␇\ufffd words." in shown.text
    assert not set(shown.text) & {"\x1b", "\x07", "\u202e"}


def test_deleted_image_is_restored_from_the_server(demo: CommandLine, docs: Path) -> None:
    image = (docs / ".gitbook/assets/lamp.png").read_bytes()
    (docs / ".gitbook/assets/lamp.png").unlink()
    assert demo.run("restore", ".gitbook/assets/lamp.png", "--demo", cwd=docs).code == 0
    assert (docs / ".gitbook/assets/lamp.png").read_bytes() == image


def test_edit_of_an_image_during_its_download_is_kept(demo: CommandLine, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    image = docs / ".gitbook/assets/lamp.png"
    with sign_in_as(demo) as home:
        proxy = EditingProxy(home.environ["OCTAVO_BASE_URL"], image)
        with proxy.running():
            through = {"OCTAVO_BASE_URL": proxy.origin}
            pulled = home.run("pull", "handbook", "docs", cwd=tmp_path, environ=through)
            assert (pulled.code, pulled.err) == (0, "")
            original = image.read_bytes()
            image.write_bytes(b"edited before")
            proxy.folder = PulledFolder.read(docs)
            ran = home.run("restore", ".gitbook/assets/lamp.png", cwd=docs, environ=through)
    assert (ran.code, ran.err) == (0, "")
    assert image.read_bytes() == original
    assert (docs / ".octavo/conflicts/.gitbook/assets/lamp.png").read_bytes() == b"edited meanwhile"
    assert proxy.locked == {True}


class EditingProxy(DroppingProxy):
    """A proxy that edits an image of `folder` before it forwards a request."""

    def __init__(self, upstream: str, image: Path) -> None:
        super().__init__(upstream)
        self.folder: PulledFolder | None = None
        self.image = image
        self.locked: set[bool] = set()
        """Whether the folder was locked when the image was edited."""

    def forward(self, request: BaseHTTPRequestHandler) -> None:
        if self.folder is not None:
            self.image.write_bytes(b"edited meanwhile")
            try:
                with self.folder.locked():
                    self.locked.add(False)
            except FolderInUse:
                self.locked.add(True)
        super().forward(request)


def test_pull_names_reusable_content_that_it_cannot_write(demo: CommandLine) -> None:
    source = demo.folder / "source"
    (source / ".gitbook/includes").mkdir(parents=True)
    (source / ".gitbook/includes/note.md").write_text("---\ntitle: Note\n---\n\nRead this first.\n")
    (source / "README.md").write_text('# Home\n\n{% include ".gitbook/includes/note.md" %}\n')
    ran = demo.run("pull", "source", "pulled", "--folder", "source", cwd=demo.folder)
    assert ran.code == 0
    assert ran.err == (
        "octavo: .gitbook/includes/note.md: Skipped reusable content: the API does not return its text.\n"
    )
    pulled = demo.run("pull", "source", "copy", "--folder", "source", "--json", "skipped", cwd=demo.folder).json
    assert [each["path"] for each in pulled["skipped"]] == [".gitbook/includes/note.md"]


def test_pull_without_any_page_fails(demo: CommandLine) -> None:
    source = demo.folder / "names"
    source.mkdir()
    (source / "con.md").write_text("# Connections\n")
    command = ("pull", "names", "copy of names", "--folder", "names")
    for _ in range(2):
        ran = demo.run(*command, cwd=demo.folder)
        assert ran.code == 1
        assert ran.err == "octavo: con.md: Skipped a page: its path has a name that some systems reserve.\n"
    (source / "links.md").write_text("# Links\n")
    assert demo.run(*command, cwd=demo.folder).code == 0


def test_first_pull_that_was_killed_can_be_repeated(demo: CommandLine) -> None:
    begun = demo.folder / "begun"
    (begun / ".octavo").mkdir(parents=True)
    (begun / ".octavo/lock").touch()
    (begun / ".octavo-99999999-abc.part").write_text("# How we")
    (begun / "running").mkdir()
    assert demo.run("pull", "handbook", "begun", "--demo", cwd=demo.folder).code == 0
    assert demo.run("status", cwd=begun).out == ""
    assert not list(begun.rglob("*.part"))


def test_pull_without_changes_says_so(demo: CommandLine, docs: Path) -> None:
    assert demo.run("pull", "--demo", cwd=docs).out == "Already up to date.\n"
    assert demo.run("pull", "--demo", "-q", ".isCurrent", cwd=docs).out == "true\n"
    state = json.loads((docs / ".octavo/state.json").read_text())
    assert demo.run("pull", "--demo", "-q", ".revision", cwd=docs).out == f"{state['revision']}\n"


def test_unresolved_table_of_contents_is_not_merged(demo: CommandLine, docs: Path) -> None:
    summary = docs / "SUMMARY.md"
    before = summary.read_text()
    unresolved = f"{before}\n<<<<<<< HEAD\n* [Mine](mine.md)\n\n=======\n* [Theirs](theirs.md)\n\n>>>>>>> feature\n"
    summary.write_text(unresolved)
    ran = demo.run("pull", "--demo", cwd=docs)
    assert (ran.code, summary.read_text()) == (6, unresolved)
    assert "Could not pull: SUMMARY.md has conflict markers." in ran.err
    summary.write_text(before)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("pull", "handbok", "new", "--demo"), 3, "Could not find the space handbok. Did you mean handbook?"),
        (("pull", "harbour-api", "docs", "--demo"), 2, "docs: it has another space. Choose another folder."),
        (("pull", "handbook/7", "new", "--demo"), 2, "only a whole space can be pulled"),
        (("pull", "handbook", "config", "--demo"), 2, "it has other files. Choose a new folder"),
        (("pull",), 2, "Not a pulled folder. Run: octavo pull SPACE DIR"),
        (("propose", "-m", "x", "--into", "handbook/2", "--demo"), 2, "-m and --draft belong to a new"),
        (("propose", "-m", "x", "--into", "", "--demo"), 2, "argument --into: the value is empty"),
        (("status",), 2, "Not a pulled folder. Run: octavo pull SPACE DIR"),
        (("restore", "x.md"), 2, "Not a pulled folder"),
    ],
)
def test_wrong_arguments_are_named_with_the_next_step(
    demo: CommandLine, docs: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (demo.folder / "config").mkdir(exist_ok=True)
    (demo.folder / "config/x").touch()
    ran = demo.run(*arguments, cwd=demo.folder)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


@pytest.mark.parametrize("file", [(), ("README.md",)], ids=["folder", "file"])
def test_files_are_not_compared_with_another_version(demo: CommandLine, docs: Path, file: tuple[str, ...]) -> None:
    ran = demo.run("diff", *file, "--against", "main", cwd=docs)
    assert (ran.code, ran.out) == (2, "")
    assert "Could not use --against: files are compared with the last pull." in ran.err


def test_unknown_file_is_not_restored(demo: CommandLine, docs: Path) -> None:
    ran = demo.run("restore", "running/sevrity.md", cwd=docs)
    assert (ran.code, ran.err) == (
        3,
        "octavo: Could not restore running/sevrity.md: it was not in the last pull. Did you mean running/severity.md?\n",
    )
    assert "is not in the pulled folder" in demo.run("restore", "/etc/passwd", cwd=docs).err


def test_folder_of_another_server_is_refused(demo: CommandLine, docs: Path) -> None:
    ran = demo.run("pull", "--folder", str(docs), cwd=docs)
    assert ran.code == 2
    assert "This folder was pulled from octavo:demo, not from octavo:folder. Use --demo." in ran.err


def test_diff_names_the_old_path_of_a_renamed_file(demo: CommandLine, docs: Path) -> None:
    page, summary = (docs / "people/first-week.md").rename(docs / "people/first-days.md"), docs / "SUMMARY.md"
    page.write_text(page.read_text() + "\nAsk for a key.\n")
    unlisted = demo.run("diff", "people/first-days.md", cwd=docs).out
    assert unlisted.startswith("+ people/first-days.md  Your first week  +177 −0\n")
    summary.write_text(summary.read_text().replace("first-week.md", "first-days.md"))
    told = demo.run("diff", "people/first-days.md", cwd=docs).out
    assert told.startswith("→ people/first-days.md  Your first week  +4 −0\n  moved from people/first-week.md\n")
    assert demo.run("restore", "people/first-week.md", "SUMMARY.md", cwd=docs).code == 0


def test_raw_diff_renames_files(demo: CommandLine, docs: Path) -> None:
    names = ("people/first-week.md", "people/privacy.md", ".gitbook/assets/lamp.png", "SUMMARY.md")
    summary = docs / "SUMMARY.md"
    summary.write_text(summary.read_text().replace("first-week.md", "first-days.md").replace("privacy", "secrets"))
    page = (docs / names[0]).rename(docs / "people/first-days.md")
    page.write_text(page.read_text() + "\nAsk for a key.\n")
    (docs / names[1]).rename(docs / "people/secrets.md")
    (docs / names[2]).rename(docs / ".gitbook/assets/light.png")
    before = {path: path.read_bytes() for path in docs.rglob("*") if path.is_file() and ".octavo" not in path.parts}
    patch = demo.run("diff", "--raw", cwd=docs).out
    assert demo.run("restore", *names, cwd=docs).code == 0
    assert demo.run("status", cwd=docs).out == ""
    subprocess.run(["patch", "-p1"], input=patch, cwd=docs, text=True, check=True, capture_output=True)
    after = {path: path.read_bytes() for path in docs.rglob("*") if path.is_file() and ".octavo" not in path.parts}
    assert demo.run("restore", *names, cwd=docs).code == 0
    assert after == before


def test_diff_tells_that_only_empty_lines_differ(demo: CommandLine, docs: Path) -> None:
    path = docs / "people/first-week.md"
    text = path.read_text()
    path.write_text(text.replace("\n\n", "\n\n\n", 1))
    told = demo.run("diff", cwd=docs).out
    path.write_text(text)
    assert told.splitlines()[1:] == ["  … only empty lines differ"]


def test_changed_images_of_a_folder_are_differences(demo: CommandLine, docs: Path) -> None:
    lamp, new = docs / ".gitbook/assets/lamp.png", docs / ".gitbook/assets/new.png"
    before = lamp.read_bytes()
    lamp.write_bytes(b"other")
    new.write_bytes(b"new")
    ran = demo.run("diff", "--name-only", "--exit-code", cwd=docs)
    files = demo.run("diff", "--json", "files,pages", cwd=docs).json
    text = demo.run("diff", ".gitbook/assets/new.png", cwd=docs).out
    lamp.write_bytes(before)
    new.unlink()
    assert (ran.code, ran.out) == (1, ".gitbook/assets/lamp.png\n.gitbook/assets/new.png\n")
    changes = [(".gitbook/assets/lamp.png", "edited"), (".gitbook/assets/new.png", "added")]
    assert files == {"files": [{"name": name, "change": change} for name, change in changes], "pages": []}
    assert text == "+ .gitbook/assets/new.png  .gitbook/assets/new.png  added\n"


def test_changes_of_a_folder_are_compared_and_proposed(demo: CommandLine, docs: Path) -> None:
    path = docs / "people/first-week.md"
    path.write_text(path.read_text() + "\nAsk for a key.\n")
    assert "  {+Ask for a key.+}\n" in demo.run("diff", cwd=docs).out
    raw = demo.run("diff", "first-week.md", "--raw", cwd=docs / "people").out
    assert raw.startswith("--- a/people/first-week.md\n+++ b/people/first-week.md\n")
    assert demo.run("diff", "--exit-code", "--name-only", cwd=docs).out == "people/first-week.md\n"
    listed = demo.run("diff", "--json", cwd=docs).json
    assert (listed["change"], listed["pages"][0]["path"]) == (None, "people/first-week.md")
    assert [each["after"] for each in listed["pages"][0]["blocks"]] == ["Ask for a key."]
    assert demo.run("propose", "--demo", cwd=docs).err.endswith("Write: octavo propose -m SUBJECT\n")
    planned = demo.run("propose", "--demo", "--dry-run", cwd=docs)
    assert (planned.code, planned.out) == (0, "M people/first-week.md\n")
    ran = demo.run("propose", "--demo", "-m", "Name the key", cwd=docs)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Proposed handbook/3: 1 page edited. ")
    assert demo.run("show", "handbook/3", "--demo", "--json", "subject,status").json == {
        "subject": "Name the key",
        "status": "open",
    }
    assert demo.run("propose", "--demo", cwd=docs).out == "No changes to propose that handbook/3 does not have.\n"


def test_change_that_the_api_does_not_support_ends_with_six(demo: CommandLine, docs: Path) -> None:
    path = docs / "people/privacy.md"
    before = path.read_text()
    path.write_text(before.replace("---\n", "---\ntags:\n  - new\n", 1))
    ran = demo.run("propose", "--demo", "-m", "Tags", "--dry-run", cwd=docs)
    path.write_text(before)
    assert ran.code == 6
    assert "octavo: Cannot be proposed: people/privacy.md tags\n" in ran.err


def test_reader_may_not_propose(demo: CommandLine, docs: Path) -> None:
    path = docs / "running/on-call.md"
    before = path.read_text()
    path.write_text(before + "\nMore.\n")
    ran = demo.run("propose", "--demo", "--read-only", "-m", "x", cwd=docs)
    path.write_text(before)
    assert ran.code == 5, ran.err


def test_merged_changes_are_written_back_to_a_folder(demo: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    link = '* [Site](https://site.example "Our site")\n'
    (folder / "SUMMARY.md").write_text(f"# Contents\n\n* [Home](README.md)\n* [Setup](setup.md)\n{link}")
    (folder / "README.md").write_text("---\ntags:\n  - new\n---\n\n# Home\n\nWelcome.\n")
    (folder / "setup.md").write_text("# Setup\n\nInstall it.\n")
    assert demo.run("export", str(folder)).out == ""
    assert demo.run("pull", "pages", "copy", "--folder", str(folder), cwd=tmp_path).code == 0
    copy = tmp_path / "copy"
    (copy / "setup.md").write_text("# Setup\n\nDownload it.\n")
    (copy / "more.md").write_text("# More\n\nText.\n")
    (copy / "SUMMARY.md").write_text((copy / "SUMMARY.md").read_text() + "* [More](more.md)\n")
    proposed = demo.run("propose", "--folder", str(folder), "-m", "More", "-q", ".number", cwd=copy)
    assert (proposed.code, proposed.out) == (0, "1\n"), proposed.err
    space = demo.run("api", "GET", "/v1/user", "--folder", str(folder))
    assert space.code == 0, space.err
    spaces = demo.run("changes", "--folder", str(folder), "--json", "space,id").json
    at = (f"spaceId={spaces[0]['space']['id']}", f"changeRequestId={spaces[0]['id']}")
    assert demo.run("api", "change_requests.Merge", *at, "--folder", str(folder)).code == 0
    before = {path.name: path.read_text() for path in folder.iterdir()}
    listed = demo.run("export", str(folder))
    assert listed.out == "M\tSUMMARY.md\tedited\nA\tmore.md\tnew\nM\tsetup.md\tedited\n"
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    assert demo.run("export", str(folder), "--write").code == 0
    assert (folder / "setup.md").read_text() == "# Setup\n\nDownload it.\n"
    assert (folder / "more.md").read_text() == "# More\n\nText.\n"
    assert (folder / "README.md").read_text() == before["README.md"]
    assert link in (folder / "SUMMARY.md").read_text()
    assert demo.run("export", str(folder)).out == ""


def test_files_that_swapped_names_in_proposals_are_restored_together(library: Path, tmp_path: Path) -> None:
    demo, docs = CommandLine(tmp_path).with_demo(library), tmp_path / "docs"
    assert demo.run("pull", "handbook", "docs", "--demo", cwd=tmp_path).code == 0
    people, summary = docs / "people", docs / "SUMMARY.md"
    texts = {name: (people / name).read_text() for name in ("privacy.md", "first-week.md")}
    for before, after in (("privacy.md", "x.md"), ("first-week.md", "privacy.md"), ("x.md", "first-week.md")):
        (people / before).rename(people / after)
        summary.write_text(summary.read_text().replace(f"people/{before}", f"people/{after}"))
        assert demo.run("propose", "-m", "Swap", "--demo", cwd=docs).code == 0
    alone = demo.run("restore", "people/privacy.md", cwd=docs)
    assert (alone.code, alone.err) == (
        6,
        "octavo: Could not restore people/privacy.md: people/first-week.md has this name now. Restore both files.\n",
    )
    assert demo.run("restore", "people/privacy.md", "people/first-week.md", cwd=docs).code == 0
    assert {name: (people / name).read_text() for name in texts} == texts
