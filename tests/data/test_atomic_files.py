from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.tui.core.file_dialogs import NAME_BYTES, FileExists, FileNotSaved, destination, safe_name, save, save_folder


async def chunks(*parts: bytes, failing: bool = False) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
    if failing:
        raise ValueError("the line broke")


@given(st.text(max_size=400))
def test_any_name_is_a_plain_name(name: str) -> None:
    plain = safe_name(name)
    assert plain
    assert Path(plain).name == plain
    assert plain not in (".", "..")
    assert not plain.startswith((".", "-", "~"))
    assert len(plain.encode()) <= NAME_BYTES + 1
    assert safe_name(plain) == plain


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("chart.png", "chart.png"),
        ("../../.ssh/authorized_keys", "ssh_authorized_keys"),
        ("-rf", "rf"),
        ("con.txt", "_con.txt"),
        ("\x1b]52;c;x\x07.pdf", "]52;c;x_.pdf"),
        ("..", "file"),
        ("報告.pdf", "報告.pdf"),
        ("é" * 200 + ".png", "é" * 58 + ".png"),
    ],
)
def test_special_file_names_become_plain(name: str, plain: str) -> None:
    assert safe_name(name) == plain


async def test_file_is_written_completely_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    assert await save(path, chunks(b"x" * 300_000, b"y")) == 300_001
    assert path.read_bytes() == b"x" * 300_000 + b"y"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.bin"]


async def test_existing_file_is_kept_unless_replacement_is_allowed(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "a", tmp_path / "b"
    elsewhere.write_text("mine")
    path.symlink_to(elsewhere)
    with pytest.raises(FileExists, match="already exists"):
        await save(path, chunks(b"new"))
    assert elsewhere.read_text() == "mine"
    assert await save(path, chunks(b"new"), replace=True) == 3
    assert (path.is_symlink(), path.read_text(), elsewhere.read_text()) == (False, "new", "mine")


async def test_file_created_during_the_save_is_kept(tmp_path: Path) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"new"
        (tmp_path / "a").write_text("theirs")

    with pytest.raises(FileExists):
        await save(tmp_path / "a", slow())
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "theirs"


async def test_incomplete_content_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        await save(tmp_path / "a", chunks(b"half", failing=True))
    assert os.listdir(tmp_path) == []


async def test_save_to_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotSaved, match=r"Could not write .*: No such file"):
        await save(tmp_path / "no" / "a", chunks(b"new"))


def test_folder_as_destination_gets_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert destination("~", "a.md") == tmp_path / "a.md"
    assert destination(f"{tmp_path}/", "a.md") == tmp_path / "a.md"
    assert destination("~/b.md", "a.md") == tmp_path / "b.md"
    for wrong in (f"{tmp_path}/none/", f"{tmp_path}/none/b.md"):
        with pytest.raises(FileNotSaved, match="does not exist"):
            destination(wrong, "a.md")
    for wrong in ("", "a\0b"):
        with pytest.raises(FileNotSaved, match="Enter a file name"):
            destination(wrong, "a.md")


async def test_folder_is_written_completely_with_unique_plain_names(tmp_path: Path) -> None:
    async def files(*, failing: bool = False) -> AsyncIterator[tuple[tuple[str, ...], bytes]]:
        for number, steps in enumerate([("a.md",), ("A.md",), ("..", "..", "b.md"), ("a.md",)]):
            yield steps, str(number).encode()
        if failing:
            raise ValueError("the line broke")

    with pytest.raises(ValueError, match="the line broke"):
        await save_folder(tmp_path / "new", files(failing=True))
    assert os.listdir(tmp_path) == []
    assert await save_folder(tmp_path / "new", files()) == 4
    written = {str(path.relative_to(tmp_path)) for path in (tmp_path / "new").rglob("*.md")}
    assert written == {"new/a.md", "new/A-2.md", "new/file/file/b.md", "new/a-3.md"}
    with pytest.raises(FileExists):
        await save_folder(tmp_path / "new", files())


async def test_canceled_save_leaves_no_file(tmp_path: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (1 << 18)
            await asyncio.sleep(0)

    async def files() -> AsyncIterator[tuple[tuple[str, ...], bytes]]:
        async for chunk in endless():
            yield ("a.md",), chunk[:9]

    for turn in range(12):
        for work in (save(tmp_path / "file", endless()), save_folder(tmp_path / "folder", files())):
            saving = asyncio.create_task(work)
            for _ in range(turn):
                await asyncio.sleep(0)
            saving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await saving
    assert os.listdir(tmp_path) == []
