from __future__ import annotations

import pytest
from textual.events import Paste

from octavo.tui.widgets.text_inputs import SecretInput, SecretLengthLabel, extract_token, why_no_token
from tests.tui.widgets.scratch import Scratch, shown, until

KEY = "gb_api_abcDEF123456"


@pytest.fixture(autouse=True)
def _no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEXTUAL_LOG", raising=False)
    monkeypatch.delenv("TEXTUAL", raising=False)


@pytest.mark.parametrize(
    "pasted",
    [
        KEY,
        f"  {KEY}\n",
        f"Bearer {KEY}",
        f"Authorization: Bearer {KEY}\r\n",
        f"'{KEY}'",
        f"bearer   {KEY}\nand another line",
        f"{KEY}\x1b",
    ],
)
async def test_token_is_extracted_from_pasted_text(pasted: str) -> None:
    field = SecretInput()
    app = Scratch(field, SecretLengthLabel(field))
    async with app.run_test() as pilot:
        field.focus()
        field.post_message(Paste(pasted))
        await until(pilot, lambda: bool(field.value))
        await pilot.pause()
        assert field.secret is not None
        assert field.secret.get_secret_value() == KEY
        assert "19 characters" in shown(app)


async def test_token_is_neither_shown_nor_copied() -> None:
    field = SecretInput()
    app = Scratch(field, SecretLengthLabel(field))
    async with app.run_test() as pilot:
        field.focus()
        await pilot.press(*KEY)
        field.select_all()
        await pilot.press("ctrl+c", "ctrl+x", "super+c")
        await pilot.pause()
        assert app.clipboard == ""
        assert field.value == KEY, "cut must not remove the key"
        assert KEY[:6] not in shown(app)
        assert "•" * len(KEY) in shown(app)
        assert KEY[:6] not in app.export_screenshot()
        assert KEY not in repr(field.secret)
        await pilot.press("ctrl+l")
        assert field.secret is None


def test_empty_text_has_no_token() -> None:
    assert extract_token("  \n ") == ""
    assert extract_token("Bearer ") == ""


@pytest.mark.parametrize(("name", "value"), [("TEXTUAL_LOG", "log.txt"), ("TEXTUAL", "debug,devtools")])
async def test_token_input_is_refused_while_keys_are_logged(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    field = SecretInput()
    app = Scratch(field, SecretLengthLabel(field))
    async with app.run_test() as pilot:
        field.focus()
        await pilot.press(*"gb")
        field.post_message(Paste(KEY))
        await pilot.pause()
        assert field.value == ""
        assert "is logged" in shown(app)


def test_token_is_refused_while_developer_tools_log_keys() -> None:
    assert why_no_token({}, frozenset({"devtools"})) is not None
    assert why_no_token({"TEXTUAL": ""}, frozenset({"headless"})) is None
