from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import keyring
import pytest

from octavo.api import reviews, spaces
from octavo.api.operation import OrganizationRef
from octavo.server.serve import serve
from octavo.tui.app.sign_in import SignInScreen
from tests.client.keyring_backends import Memory
from tests.journeys.stage import MARA, Stage
from tests.server.refusing_platform import Platform

KEY = "gb_api_key-of-mara-lindqvist"


@asynccontextmanager
async def serve_platform(platform: Platform) -> AsyncIterator[str]:
    """Serve the platform on a port of this computer, and yield the origin."""
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(serve(platform, 0, started.set_result))
    yield await started
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.before_release
async def test_restart_restores_the_view_and_all_writes(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart")
        await run.press("c")
        await run.type("Remember me.")
        await run.press("ctrl+s")
        await run.sent()
        await run.press("3", "/", *"refused", "enter", "a", "ctrl+s")
        await run.hear("Approved #7")
        await run.press("2", "q", "q", "q", "q")
        await run.until(lambda: run.app.return_value is not None, "quit after q")
    async with stage.play(start="content") as run:
        await run.see("› Quickstart", "THREADS  3 open", "Remember me.")
        await run.press("3", "/", *"refused", "enter", "enter")
        await run.see("✓ 2 approved", "✓ Mara Lindqvist")
        assert not run.gate.sent(reviews.Submit)


@pytest.mark.before_release
async def test_start_shows_cached_data_before_any_response(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart")
        await run.quit()
    async with stage.play(shut=True) as run:
        await run.see("Saltmarsh Instruments", "› Quickstart", "You need a terminal", "THREADS  2 open")
        assert run.gate.waiting
        assert not run.gate.passed
        run.gate.open()
        await run.see("● updated 0s")


def add_organization(platform: Platform) -> None:
    context = platform.context
    context.store.put(
        "/orgs/eastbank", {"id": "eastbank", "title": "East Bank Pilots", "createdAt": context.timestamp()}
    )
    for person, role in ((MARA, "read"), ("noor-haddad", "admin")):
        context.store.put(f"/orgs/eastbank/members/{person}", {"id": person, "role": role})


@pytest.mark.before_release
async def test_user_can_switch_between_organizations(stage: Stage) -> None:
    async with stage.play(start="inbox", change=add_organization) as run:
        await run.ask(spaces.Create(at=OrganizationRef(organization_id="eastbank"), title="Pilot book"), "noor-haddad")
        await run.press("r", "ctrl+o")
        await run.see(
            "East Bank Pilots",
            "Creator · 4 spaces · 7 open change requests",
            "Reader · 1 space · 0 open change requests",
        )
        await run.press("down", "enter")
        await run.see("◆ East Bank Pilots ▾", "Nothing needs your attention.")
        await run.press("ctrl+o")
        await run.until(
            lambda: any("East Bank Pilots" in line and "current" in line for line in run.lines),
            "open the other organization",
        )
        await run.press("escape")
        await run.press("3")
        await run.see("Changes · East Bank Pilots · open", "No open change requests.")
        await run.press("2")
        await run.see("Pilot book ▾", "Pilot book › Untitled page", "This page is empty.")
        await run.quit()
    async with stage.play() as run:
        await run.see("◆ East Bank Pilots ▾", "Pilot book")
        await run.press("ctrl+o", "up", "enter")
        await run.see("◆ Saltmarsh Instruments ▾", "Harbour API › Welcome")


async def test_organization_without_spaces_shows_no_page_of_the_previous_organization(stage: Stage) -> None:
    async with stage.play(change=add_organization) as run:
        await run.see("Harbour API › Welcome", "OUTLINE", "Three things to know")
        await run.press("ctrl+o")
        await run.see("East Bank Pilots")
        await run.press("down", "enter")
        await run.see("◆ East Bank Pilots ▾", "SPACES", "You do not have access to")
        assert not any(each in run.text for each in ("Harbour API", "Welcome", "Three things to know"))


@pytest.mark.before_release
async def test_first_run_can_open_the_demo(stage: Stage) -> None:
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        await run.see("Sign in", "Paste your API key for api.example.com", "Try the demo", "Open a folder")
        await run.press("ctrl+d")
        await run.see("Saltmarsh Instruments", "REVIEW REQUESTED", "DEMO")


async def test_demo_opens_once_if_its_key_is_pressed_again(stage: Stage) -> None:
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        await run.see("Try the demo")
        for _ in range(3):
            run.send_key("ctrl+d")
        await run.see("Saltmarsh Instruments", "To do 17", "DEMO")


@pytest.mark.before_release
async def test_first_run_signs_in_with_a_pasted_key(stage: Stage) -> None:
    async with stage.library() as platform, serve_platform(platform) as origin:
        platform.context.store.add_key(KEY, MARA)
        async with stage.show(stage.settings(), None, platform, origin=origin, size=(150, 36)) as run:
            await run.see("forget the API key when you quit", "which is common over SSH.")
            assert "f1 help" in run.keybar
            await run.press("enter")
            await run.see("Paste an API key first, or try the demo.")
            await run.type("gb_api_of-somebody-else-entirely")
            await run.press("enter")
            await run.see("This server does not know this API key.")
            await run.press("ctrl+l")
            await run.type(KEY)
            await run.see(f"{len(KEY)} characters")
            await run.press("enter")
            await run.see("✓ You are Mara Lindqvist", "✓ 1 organization: Saltmarsh Instruments.")
            await run.see("! Octavo will forget the API key when you quit.")
            assert run.text.count("which is common over SSH.") == 1
            assert KEY not in run.text
            await run.press("enter")
            await run.see("REVIEW REQUESTED", "Harbour API")
            await run.press("2")
            await run.see("Harbour API › Welcome", "@127.0.0.1:")
            await run.press("j", "j", "enter")
            await run.see("› Quickstart")
            await run.press("c")
            await run.type("Over HTTP.")
            await run.press("ctrl+s")
            await run.see("THREADS  3 open")
            await run.quit()
    files = [path for path in stage.folder.rglob("*") if path.is_file() and path != stage.database]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()], "the key must not be in any file"


class TrustedMemory(Memory):
    """Stores passwords in memory, under the name of a keyring that Octavo trusts."""

    __module__ = "keyring.backends.SecretService"


@pytest.mark.before_release
async def test_first_run_says_that_the_key_is_stored(stage: Stage) -> None:
    keyring.set_keyring(TrustedMemory())
    async with stage.library() as platform, serve_platform(platform) as origin:
        platform.context.store.add_key(KEY, MARA)
        async with stage.show(stage.settings(), None, platform, origin=origin, size=(150, 36)) as run:
            await run.see("Octavo stores the API key in")
            await run.type(KEY)
            await run.press("enter")
            await run.see("✓ Stored the API key in the system keyring.")
            await run.gone("Octavo stores the API key in")


@pytest.mark.before_release
async def test_first_run_can_open_a_folder(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    elsewhere = "".join(
        f'{{% content-ref url="{url}" %}}\n[{url}]({url})\n{{% endcontent-ref %}}\n\n'
        for url in (
            "https://app.gitbook.com/s/Ab12/tides/high",
            "/spaces/Ab12/pages/x",
            "../other/README.md",
            "gone.md",
        )
    )
    (folder / "README.md").write_text(f"# Harbour notes\n\nWhat I saw.\n\n{elsewhere}")
    (folder / "second.md").write_text("# Second\n\nMore of it.\n")
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        await run.press("ctrl+o")
        await run.type(str(folder / "nothing"))
        await run.press("enter")
        await run.see("there is no such folder.")
        await run.press("ctrl+u")
        await run.type(str(folder))
        await run.press("enter")
        await run.see("Harbour notes", "What I saw.", "Second")
        assert not isinstance(run.app.screen, SignInScreen)
        await run.until(lambda: run.text.count("not in this folder") == 3, "mark the links that lead out of the folder")
        await run.see("↗ https://app.gitbook.com/s/Ab12", "→ /spaces/Ab12", "there is no page at gone.md")
        await run.press("enter", "f", "s")
        await run.hear("This link goes to another space. Octavo has only this folder open.")
        await run.press("f", "a")
        await run.see("https://app.gitbook.com/s/Ab12/tides/high", "browser")


@pytest.mark.before_release
async def test_view_keys_do_nothing_before_sign_in(stage: Stage) -> None:
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        await run.press("tab", "tab", "1", "2", "3", "4", "!", "s")
        assert isinstance(run.app.screen, SignInScreen)
