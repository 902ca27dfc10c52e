"""Pulled folders on disks that ignore case or decompose accents, such as those of macOS. Skipped on other disks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from octavo.documents.folders.folder import composed_path
from tests.files.conftest import SETUP, PulledSide
from tests.files.test_propose import propose
from tests.server.space_editor import SpaceEditor, update


@pytest.fixture
def ignores_case(tmp_path: Path) -> None:
    """Skip the test on a disk that distinguishes upper and lower case. With --basetemp, pytest uses another disk."""
    (tmp_path / "case").touch()
    if not (tmp_path / "CASE").exists():
        pytest.skip("the disk distinguishes upper and lower case")


@pytest.mark.usefixtures("ignores_case")
async def test_file_renamed_to_another_case_stays_one_page(docs: PulledSide, editor: SpaceEditor) -> None:
    (docs.top / "setup.md").rename(docs.top / "Setup.md")
    docs.edit("SUMMARY.md", "setup.md", "Setup.md")
    assert docs.status() == ["R setup.md -> Setup.md", "M SUMMARY.md"]
    plan, _ = await propose(docs)
    assert plan.is_empty
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("Install", "Download")))
    assert (await docs.pull()).edited == ["Setup.md"]
    assert docs.status() == []


@pytest.mark.usefixtures("ignores_case")
async def test_new_file_with_the_name_of_a_deleted_one_stays(docs: PulledSide) -> None:
    docs.folder.write({"Intro.md": b"old"})
    docs.folder.write({"intro.md": b"new"}, {"Intro.md"})
    assert docs.read("intro.md") == "new"


def test_decomposed_names_of_a_disk_are_composed(tmp_path: Path) -> None:
    (tmp_path / "cafe\u0301.md").touch()
    assert composed_path(tmp_path, "cafe\u0301.md") in ("cafe\u0301.md", "caf\u00e9.md")
    if not (tmp_path / "caf\u00e9.md").exists():
        os.link(tmp_path / "cafe\u0301.md", tmp_path / "caf\u00e9.md")
    assert composed_path(tmp_path, "cafe\u0301.md") == "caf\u00e9.md"
