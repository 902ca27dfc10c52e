"""Files that links lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.api.operation import SpaceRef
from octavo.data.live import Live
from octavo.data.loaders import FILES_PER_REQUEST, find_file
from octavo.documents.links import FileLink, resolve
from octavo.documents.page_trees import space_index_of_json
from octavo.server import loader
from octavo.server.handlers.spaces import get_current
from tests.server.refusing_platform import Platform


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("../pictures/logo.png", "pictures/logo.png"),
        ("../Pictures/Logo.png", "pictures/logo.png"),
        ("../images/logo.png", None),
        ("logo.png", None),
        (".gitbook/assets/z.png", ".gitbook/assets/z.png"),
        ("../../.gitbook/assets/Z.PNG", ".gitbook/assets/z.png"),
    ],
)
async def test_file_outside_the_assets_is_found_by_its_path_only(
    live: Live, platform: Platform, tmp_path: Path, url: str, path: str | None
) -> None:
    for name in ("pictures/logo.png", ".gitbook/assets/z.png"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides/setup.md").write_text("![a](../pictures/logo.png)")
    space = loader.load(platform.context, tmp_path, organization_id="acme", author_id="ada").space_id
    full_path = url.removeprefix("../") if url.startswith("../") else f"guides/{url}"
    found = await find_file(live, SpaceRef(space_id=space), FileLink("", url.rpartition("/")[2], full_path))
    assert (found and found.git and found.git.path) == path
    target = resolve(url, "guides/setup.md", space_index_of_json(get_current(platform.context, space)))
    assert (target.file_id if isinstance(target, FileLink) else None) == (found and found.id)


async def test_file_of_a_link_is_found_among_many_files(live: Live, platform: Platform, tmp_path: Path) -> None:
    assets = tmp_path / ".gitbook/assets"
    assets.mkdir(parents=True)
    for number in range(FILES_PER_REQUEST + 1):
        (assets / f"{number}.txt").write_text("a")
    space = loader.load(platform.context, tmp_path, organization_id="acme", author_id="ada").space_id
    name = f"{FILES_PER_REQUEST}.txt"
    found = await find_file(live, SpaceRef(space_id=space), FileLink("", name, f".gitbook/assets/{name}"))
    assert found is not None
    assert found.name == name
