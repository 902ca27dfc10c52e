"""The default installation works without the optional packages, and refused actions say what to install."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from octavo.lazy_import import EXTRAS, missing_extra_phrase
from tests import emoji_table

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
MODULES = sorted({module for each in EXTRAS.values() for module in each.modules})
WITHOUT_EXTRAS = f"""
import asyncio, sys
sys.modules.update(dict.fromkeys({MODULES}))  # as if they were not installed: an import of None fails
from octavo.api import imports, pdf, spaces
from octavo.api.errors import ApiError
from octavo.api.operation import OrganizationRef, SpaceRef
from octavo.client.client import Client
from tests.server.refusing_platform import Platform
from pydantic import SecretStr
from tests.server.small_platform import Clock, small_context

context = small_context(Clock())
context.store.add_key("key-of-mia-0123456789", "mia")

async def main():
    platform = Platform(context)
    client = Client("http://octavo.local", SecretStr("key-of-mia-0123456789"), transport=platform)
    made = await client(spaces.Create(at=OrganizationRef(organization_id="acme"), title="Pages"))
    at = SpaceRef(space_id=made.id)
    wanted = {{"pdf": pdf.Get(at=at), "import": imports.Create(at=at, source="website", url="https://example.com")}}
    for name, operation in wanted.items():
        try:
            await client(operation)
        except ApiError as error:
            print(name, error)
    await client.aclose()
    platform.close()
    context.store.close()

asyncio.run(main())
"""


def test_extras_match_the_package_metadata() -> None:
    extras = {name: each for name, each in PROJECT["optional-dependencies"].items() if name not in ("all", "test")}
    names = {name: tuple(re.match(r"[\w-]+", each)[0] for each in extra) for name, extra in extras.items()}  # type: ignore[index]  # each requirement begins with a name
    assert names == {name: each.packages for name, each in EXTRAS.items()}
    assert PROJECT["optional-dependencies"]["all"] == [f"octavo[{','.join(extras)}]"]
    default = {re.match(r"[\w-]+", each)[0] for each in PROJECT["dependencies"]}  # type: ignore[index]  # each requirement begins with a name
    assert default.isdisjoint(package for each in EXTRAS.values() for package in each.packages)


@pytest.mark.parametrize("name", ["pdf", "import"])
def test_refused_action_names_the_extra(name: str) -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert re.search(rf"^{name} Could not .*: {re.escape(missing_extra_phrase(name))}\.?$", ran.stdout, re.MULTILINE)


def test_every_module_of_the_default_commands_loads_without_extras() -> None:
    code = (
        f"import sys\nsys.modules.update(dict.fromkeys({MODULES}))\n"
        "from octavo.server.demo import library\nfrom octavo.tui.app import octavo\nfrom octavo.cli import sessions, platforms"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_table_of_emoji_names_is_current() -> None:
    assert emoji_table.FILE.read_text(encoding="utf-8") == emoji_table.table()


def test_pipx_installation_suggests_the_pipx_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/mia/.local/share/pipx/venvs/octavo")
    assert missing_extra_phrase("pdf") == "needs octavo[pdf]. Run: pipx inject octavo reportlab"
    assert missing_extra_phrase("import").endswith("pipx inject octavo beautifulsoup4 markdownify mammoth")
