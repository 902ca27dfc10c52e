"""Pulls and proposals of a space whose table of contents has a group and a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.api.content import Page, Revision
from octavo.documents.folders.layout import FolderLayout
from octavo.files.folder_merge import FolderMerge, IncomingFile, PullResult
from octavo.files.local_changes import LocalFiles, PagePlacement, contents_of
from octavo.files.proposal_plan import Baseline, ProposalPlan, ProposalPlanner
from octavo.files.pulled_folder import PulledFolder

NAMES = ("home", "a", "b")
LINK = "***\n\n* [Site](https://a.example)\n"


def space(home: str = "home") -> Revision:
    pages = {name: Page(id=name, title=name, path=name, slug=name) for name in NAMES}
    first = pages["home"].model_copy(update={"title": home})
    group = Page(id="group", type="group", title="Guides", path="guides", slug="guides", pages=(pages["a"], pages["b"]))
    link = Page(id="link", type="link", title="Site", href="https://a.example")
    return Revision(id=home, pages=(first, group, link))


def pull(folder: PulledFolder, revision: Revision) -> str:
    """Bring a revision into a folder, and return the table of contents of the folder."""
    layout = FolderLayout.of(revision, folder.space_id, {name: f"{name}.md" for name in NAMES})
    wanted = [
        IncomingFile(
            path := f"{name}.md",
            path,
            "page",
            name,
            f"# {layout.pages[name].title}\n",
            last_pulled=folder.files.get(path),
        )
        for name in NAMES
    ]
    FolderMerge(folder, LocalFiles.read(folder), layout, wanted, PullResult(revision.id)).apply()
    return (folder.top / "SUMMARY.md").read_text()


async def plan(top: Path, revision: Revision) -> ProposalPlan:
    async def text(page: Page) -> str:
        return f"# {page.title}\n"

    folder = PulledFolder.read(top)
    baseline = Baseline(dict(folder.files), contents_of(folder, folder.files))
    return await ProposalPlanner(
        folder, LocalFiles.read(folder), baseline, revision, revision, revision, revision, text
    ).plan()


def contents(*before: str, inside: tuple[str, ...]) -> str:
    listed, grouped = ("".join(f"* [{name}]({name}.md)\n" for name in names) for names in (before, inside))
    return f"# Table of contents\n\n{listed}\n## Guides\n\n{grouped}\n{LINK}"


def test_local_order_in_a_group_and_short_title_of_a_link_survive_pulls(tmp_path: Path) -> None:
    pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), space())
    local = contents("home", inside=("b", "a")).replace("example)", 'example "Short")')
    (tmp_path / "SUMMARY.md").write_text(local)
    for title in ("Start", "Begin"):
        assert pull(PulledFolder.read(tmp_path), space(title)) == local.replace("[home]", f"[{title}]")


def test_link_to_a_heading_survives_a_pull_of_the_table_of_contents(tmp_path: Path) -> None:
    link = Page(id="usage", type="link", title="Usage", target={"page": "a", "anchor": "usage"})
    first, second = (each.model_copy(update={"pages": (*each.pages, link)}) for each in (space(), space("Start")))
    pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), first)
    local = contents("home", inside=("b", "a")) + "* [Usage](a.md#usage)\n"
    (tmp_path / "SUMMARY.md").write_text(local)
    assert pull(PulledFolder.read(tmp_path), second) == local.replace("[home]", "[Start]")


def test_link_before_its_page_keeps_both_entries_in_pulls(tmp_path: Path) -> None:
    link = Page(id="first", type="link", title="Start here", link_title="Start", target={"page": "a"})
    revision = space().model_copy(update={"pages": (link, *space().pages)})
    written = pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), revision)
    assert written == contents("home", inside=("a", "b")).replace("* [home]", '* [Start here](a.md "Start")\n* [home]')
    assert pull(PulledFolder.read(tmp_path), revision) == written


@pytest.mark.parametrize("is_first", [True, False])
def test_lines_without_links_survive_a_pull_of_the_table_of_contents(tmp_path: Path, is_first: bool) -> None:
    if not is_first:
        pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), space())
    local = (
        "---\nowner: us\n---\n\n# Contents\n\nAsk us.\n\n- [home](home.md)\n- Soon: 1. more\n    - later\n\n## Guides\n\n"
        f"<!-- first -->\n- [a](a.md)\n    - [b](b.md)\n\n## Empty\n\n{LINK.replace('* [', '- [')}"
    )
    (tmp_path / "SUMMARY.md").write_text(local)
    if is_first:
        assert pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), space()) == local
    folder = PulledFolder.read(tmp_path)
    assert pull(folder, space("Start")) == local.replace("[home]", "[Start]")
    assert pull(PulledFolder.read(tmp_path), space("Begin")) == local.replace("[home]", "[Begin]")
    assert not (tmp_path / ".octavo/conflicts").exists()


def test_table_of_contents_whose_lines_cannot_be_kept_is_copied(tmp_path: Path) -> None:
    pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), space())
    local = contents("home", inside=("a", "b")).replace("* [home]", "Read this first:\n\n1. [home]")
    (tmp_path / "SUMMARY.md").write_text(local)
    written = pull(PulledFolder.read(tmp_path), space("Start"))
    assert written == contents("home", inside=("a", "b")).replace("[home]", "[Start]")
    assert (tmp_path / ".octavo/conflicts/SUMMARY.md").read_text() == local


def test_short_title_of_a_link_in_a_folder_before_its_first_pull_stays(tmp_path: Path) -> None:
    local = contents("home", inside=("a", "b")).replace("example)", 'example "Short")')
    (tmp_path / "SUMMARY.md").write_text(local)
    pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), space())
    assert pull(PulledFolder.read(tmp_path), space("Start")) == local.replace("[home]", "[Start]")


@pytest.mark.parametrize(
    ("local", "steps"),
    [
        (contents("home", inside=("b", "a")), [PagePlacement("a", "group", 1)]),
        (contents("home", "a", inside=("b",)), [PagePlacement("a", None, 1)]),
        (contents("a", "b", "home", inside=()), [PagePlacement("a", None, 0), PagePlacement("b", None, 1)]),
        (contents("home", inside=("a", "new", "b")), [PagePlacement("new:new.md", "group", 1, is_new=True)]),
        (contents("home", inside=("a", "b")), []),
    ],
)
async def test_moves_into_and_out_of_a_group_are_proposed(
    tmp_path: Path, local: str, steps: list[PagePlacement]
) -> None:
    pull(PulledFolder.new(tmp_path, "http://octavo.test", "docs"), space())
    (tmp_path / "new.md").write_text("# New\n")
    (tmp_path / "SUMMARY.md").write_text(local)
    found = await plan(tmp_path, space())
    assert (found.placements, found.blocked, found.deletions) == (steps, [], [])
