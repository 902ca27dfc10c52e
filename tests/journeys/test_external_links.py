"""External links open in the browser or are copied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from octavo.tui.core.external_links import copy_text
from tests.journeys.stage import Stage
from tests.tui.terminal.test_browser import ADDRESS, set_up_browser


def use_local_session(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    """Set the environment of a local session, that is, without SSH."""
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.before_release
async def test_external_link_opens_in_the_browser_without_the_api_key(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_local_session(monkeypatch, set_up_browser(tmp_path))
    async with stage.play() as run:
        await run.press("G", "enter")
        await run.see("Open status.saltmarsh.example?", "Open in browser")
        await run.press("y")
        await run.hear("Opened the link in the browser.")
        await run.until(lambda: (tmp_path / "told").exists(), "start the browser")
        told = (tmp_path / "told").read_text()
        assert ADDRESS.rstrip("/") in told
        assert "secret-of-mia" not in told


async def test_failed_browser_is_reported_and_the_link_offered(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_local_session(monkeypatch, set_up_browser(tmp_path, code=3))
    async with stage.play() as run:
        await run.press("G", "enter", "y")
        await run.see("own-browser exited with status 3.", "Copy link")
        await run.press("y")
        await run.hear("Copied the link.")
        assert run.app.clipboard.startswith(ADDRESS.rstrip("/"))


@pytest.mark.before_release
async def test_text_too_long_for_the_clipboard_is_reported(stage: Stage) -> None:
    async with stage.play() as run:
        copy_text(run.app, "ü" * 37_000, "Copied it.")
        await run.hear("Copied it.")
        copy_text(run.app, "ü" * 37_001, "Copied more.")
        await run.hear("Could not copy: the text is too long for the terminal's clipboard.")
        assert run.app.clipboard == "ü" * 37_000
        assert "Copied more." not in run.said
