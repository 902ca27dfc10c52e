"""A space on the embedded platform, and folders that are pulled from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from octavo.api.operation import ContentRef, RevisionRef
from octavo.client.client import Client
from octavo.data.live import Live
from octavo.files.folder_merge import PullResult, pull
from octavo.files.local_changes import LocalFiles
from octavo.files.pulled_folder import PulledFolder, SpaceReader
from tests.data.conftest import cache, client, clock, drafts, gate, live, outbox, platform, state, user
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor

__all__ = ["cache", "client", "clock", "drafts", "gate", "live", "outbox", "platform", "state", "user"]

HOME = "# Home\n\nWelcome.\n"
SETUP = "# Setup\n\nInstall it.\n\nThen start it.\n"
USAGE = "# Usage\n\nPress a key.\n"


@dataclass
class PulledSide:
    """A folder that is pulled from a space."""

    editor: SpaceEditor
    top: Path
    live: Live
    client: Client

    @property
    def folder(self) -> PulledFolder:
        return PulledFolder.read(self.top)

    def reader(self, at: ContentRef) -> SpaceReader:
        return SpaceReader(self.live.send, self.client.download, at)

    async def pull(self, revision: str = "") -> PullResult:
        space = self.editor.space
        if not (self.top / ".octavo").exists():
            self.top.mkdir(exist_ok=True)
            folder = PulledFolder.new(self.top, "http://octavo.test", space.space_id)
        else:
            folder = self.folder
        at = RevisionRef(space_id=space.space_id, revision_id=revision) if revision else space
        return await pull(folder, self.reader(at))

    def status(self) -> list[str]:
        return [
            f"{each.status} {each.old_path} -> {each.path}" if each.old_path else f"{each.status} {each.path}"
            for each in LocalFiles.read(self.folder).changes()
        ]

    def read(self, path: str) -> str:
        return (self.top / path).read_text()

    def write(self, path: str, text: str) -> None:
        (self.top / path).parent.mkdir(parents=True, exist_ok=True)
        (self.top / path).write_text(text)

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, f"{path} has no {old!r}"
        self.write(path, text.replace(old, new, 1))

    def files(self) -> dict[str, str]:
        """Return the text of each file by path, without the folder `.octavo`."""
        return {
            path.relative_to(self.top).as_posix(): path.read_bytes().decode("utf-8", "replace")
            for path in sorted(self.top.rglob("*"))
            if path.is_file() and ".octavo" not in path.parts
        }


@pytest.fixture
def ask(platform: object) -> Ask:
    return Ask(platform)  # type: ignore[arg-type]  # the fixture `platform` is a Platform


@pytest.fixture
async def editor(ask: Ask) -> SpaceEditor:
    """A space with the pages Home, Setup and Usage."""
    return await SpaceEditor.open(ask, HOME, SETUP, USAGE)


@pytest.fixture
def folder_of(editor: SpaceEditor, tmp_path: Path, live: Live, client: Client) -> Callable[[str], PulledSide]:
    """Return a function that names a folder into which nothing is pulled yet."""
    return lambda name: PulledSide(editor, tmp_path / name, live, client)


@pytest.fixture
async def docs(folder_of: Callable[[str], PulledSide]) -> PulledSide:
    """Return a pulled folder."""
    side = folder_of("docs")
    await side.pull()
    return side
