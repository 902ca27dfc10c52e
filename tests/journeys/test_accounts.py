"""Rejected and unreadable API keys: every view reports the problem, and the user can sign in, sign out or switch
accounts there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from octavo.api import organizations
from octavo.cli import sessions
from octavo.client import signing_in
from octavo.client.responses import Application
from octavo.tui.app.sign_in import SignInScreen
from octavo.tui.core.session import SignInState
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_app_start import KEY, serve_platform
from tests.server.refusing_platform import Platform

VIEWS = ("content", "inbox", "changes", "comments", "sites", "admin")
OTHER_KEY = "gb_api_another-key-of-somebody"


def reject_all_keys(platform: Application) -> Application:
    """Return a server that rejects every API key."""

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        body = b'{"error": {"code": 401, "message": "This key was revoked."}}'
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return refuse


@pytest.mark.before_release
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("is_known", [False, True], ids=["first time", "with cached pages"])
async def test_every_view_reports_a_rejected_key_and_what_to_press(stage: Stage, view: str, is_known: bool) -> None:
    if is_known:
        async with stage.play(start=view) as run:
            await run.see_connected()
    async with stage.play(start=view, behind=reject_all_keys) as run:
        # The rest of the sentence and the other keys may be wrapped to the next line.
        await run.see("○ API key rejected", "revoked", "r retry   f3 sign in")
        await run.press(":", *"sign in")
        await run.see("Sign in again or sign in to another account")
        await run.press("escape")


async def test_report_of_a_rejected_key_names_keys_from_the_settings(stage: Stage) -> None:
    async with stage.play(behind=reject_all_keys, keys={"account.sign_in": "ctrl+t"}) as run:
        await run.see("ctrl+t sign in")


async def test_server_failure_does_not_suggest_to_sign_in(stage: Stage) -> None:
    def stumble(platform: Platform) -> None:
        platform.refuse_next(organizations.List, 500, "The platform stumbled.", times=200)

    async with stage.play(change=stumble) as run:
        await run.see("Could not load your", "organizations", "r retry")
        assert "sign in" not in run.text


class SignedInComputer:
    """A computer that is signed in to a platform on a port. The API keys are in files."""

    def __init__(self, stage: Stage, platform: Platform, origin: str) -> None:
        self._stage, self.platform, self.origin = stage, platform, origin
        self.settings = stage.settings()
        self.sign_in_methods = sessions.sign_in_methods(self.settings, origin)
        self.home = signing_in.ProfileStore.of(self.settings.config_folder, self.settings.data_folder)

    async def add(self, name: str, person: str, key: str) -> None:
        """Sign in with an API key of a user."""
        self.platform.context.store.add_key(key, person)
        await signing_in.login(self.home, self.origin, SecretStr(key), name=name, insecure_storage=True)

    def revoke(self) -> None:
        """Delete all API keys on the server."""
        self.platform.context.store._db.execute("DELETE FROM keys")

    def key_file(self, name: str) -> Path:
        return self.settings.data_folder / "keys" / f"{name}.json"

    @asynccontextmanager
    async def play(self, opening: SignInState, start: str = "inbox") -> AsyncIterator[Run]:
        sign_in_methods, session = opening
        async with self._stage.show(
            self.settings, session, self.platform, start=start, sign_in_methods=sign_in_methods
        ) as run:
            yield run


def reopened(run: Run) -> SignInState:
    """Return the sign-in state at the next start."""
    assert run.app.open_next is not None
    return run.app.open_next()


@asynccontextmanager
async def signed_in(stage: Stage) -> AsyncIterator[SignedInComputer]:
    async with stage.library() as platform, serve_platform(platform) as origin:
        computer = SignedInComputer(stage, platform, origin)
        await computer.add("work", MARA, KEY)
        yield computer


@pytest.mark.before_release
@pytest.mark.parametrize("view", VIEWS)
async def test_unreadable_key_is_reported_beside_cached_data_in_every_view(stage: Stage, view: str) -> None:
    async with signed_in(stage) as computer:
        async with computer.play(computer.sign_in_methods.switch_account("work"), view) as run:
            await run.see_connected()
            await run.quit()
        computer.key_file("work").chmod(0o644)
        async with computer.play(computer.sign_in_methods.switch_account("work"), view) as run:
            await run.see("○ no API key")
            called = f"profile work ({computer.origin.removeprefix('http://')})"
            await run.hear(
                f"Could not read the API key of {called} from its file: {computer.key_file('work')} can be read by"
            )
            await run.later(seconds=16)  # The notification disappears after this time.
            await run.see("r retry   f3 sign in")
            await run.press("!")
            await run.see("the API key of this account", "no response")
            await run.press("escape")
            assert KEY not in run.text
            computer.key_file("work").chmod(0o600)
            await run.press("r")
            await run.see_connected()
            await run.gone("f3 sign in")
            await run.quit()


async def test_replacing_a_rejected_key_in_the_app_keeps_typed_text(stage: Stage) -> None:
    async with signed_in(stage) as computer:
        async with computer.play(computer.sign_in_methods.switch_account("work"), "content") as run:
            await run.see("Harbour API › Welcome")
            await run.quit()
        computer.revoke()
        async with computer.play(computer.sign_in_methods.switch_account("work"), "content") as run:
            await run.until(lambda: run.app.open_next is not None)
        opening = reopened(run)
        async with computer.play(opening, "content") as run:
            assert isinstance(run.app.screen, SignInScreen)
            await run.see(
                "rejected your API key: it is wrong, expired, or",
                "for work. Your drafts are saved.",
                "esc back to work@",
            )
            await run.press("escape")
            await run.hear(
                "rejected your API key: it is wrong, expired, or revoked. Sign in again to load and send changes."
            )
            await run.see("○ API key rejected", "f3 sign in")
            await run.press("2", "enter", "c")
            await run.see("Write a comment")
            await run.type("Half a sen")
            await run.press("escape", "f3")
        opening = reopened(run)
        computer.platform.context.store.add_key(OTHER_KEY, MARA)
        async with computer.play(opening) as run:
            await run.type(OTHER_KEY)
            await run.press("enter")
            await run.see("✓ You are Mara Lindqvist")
            await run.press("enter")
            await run.see_connected()
            assert computer.home.read().current == "work"
            await run.press("2")
            await run.see("Harbour API › Welcome")
            await run.press("enter", "c")
            await run.see("Half a sen")
            await run.press("escape")
            await run.quit()


async def test_key_that_was_only_checked_does_not_change_the_current_account(stage: Stage) -> None:
    async with signed_in(stage) as computer:
        async with computer.play(computer.sign_in_methods.switch_account("work"), "content") as run:
            await run.press("f3")
        opening = reopened(run)
        computer.platform.context.store.add_key(OTHER_KEY, "noor-haddad")
        async with computer.play(opening) as run:
            await run.type(OTHER_KEY)
            await run.press("enter")
            await run.see("✓ You are Noor Haddad", "Start")
            await run.press("shift+tab", "shift+tab", "ctrl+u")
            await run.type("gb_api_wrong")
            await run.press("enter")
            await run.see("did not accept your API key")
            assert "Start" not in run.text
            await run.press("escape")
            await run.see("work@127.0.0.1")
            assert computer.home.read().current == "work"
            await run.quit()


@pytest.mark.before_release
async def test_f4_switches_to_another_account(stage: Stage) -> None:
    async with signed_in(stage) as computer:
        async with computer.play(computer.sign_in_methods.switch_account("work")) as run:
            await run.press("f4")
            await run.hear("No other account is saved on this computer. Press f3 to sign in to another account.")
            await run.quit()
        await computer.add("second", "noor-haddad", OTHER_KEY)
        async with computer.play(computer.sign_in_methods.switch_account("work")) as run:
            await run.press("f4")
            await run.see("Switch account", "second", "Noor Haddad", "127.0.0.1")
            await run.press("enter")
        opening = reopened(run)
        assert computer.home.read().current == "second"
        async with computer.play(opening) as run:
            await run.see_connected()
            await run.hear("Switched to second at 127.0.0.1", "You are Noor Haddad.")
            await run.until(lambda: run.app.workspace.me is not None and run.app.workspace.me.id == "noor-haddad")
            await run.quit()


async def test_signing_out_keeps_drafts(stage: Stage) -> None:
    async with signed_in(stage) as computer:
        async with computer.play(computer.sign_in_methods.switch_account("work"), "content") as run:
            await run.see("Harbour API › Welcome")
            await run.press("j", "j", "enter")
            await run.see("From nothing to a water level")
            await run.press("c")
            await run.type("Half a sen")
            await run.see("Half a sen", "draft saved")
            await run.press("escape", ":", *"sign out", "enter")
            await run.see("Sign out of work at 127.0.0.1", "The API key and the cached pages of this account will be")
            await run.press("n")
            assert computer.key_file("work").exists()
            await run.press(":", *"sign out", "enter")
            await run.see("Sign out of work at 127.0.0.1")
            await run.press("y")
        opening = reopened(run)
        assert not computer.key_file("work").exists()
        assert computer.home.read().entries == {}
        assert not any(b"how deep is the water" in each.read_bytes() for each in files(computer.settings.cache_folder))
        async with computer.play(opening) as run:
            assert isinstance(run.app.screen, SignInScreen)
            await run.see("Signed out of work at 127.0.0.1", "1 unsent draft remains on")
            assert "esc back" not in run.keybar


@pytest.mark.before_release
async def test_sign_out_without_an_account_offers_to_sign_in(stage: Stage) -> None:
    async with stage.library() as platform:
        settings = stage.settings()
        async with stage.show(settings, sessions.open_demo(settings), platform, start="inbox") as run:
            await run.press(":", *"sign out", "enter")
            await run.see("You are not signed in. The demo and local folders do not need an account.")
            await run.press("escape", "f3")
        sign_in_methods, session = reopened(run)
        assert session is None
        assert sign_in_methods.previous_label == "DEMO"


def files(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]
