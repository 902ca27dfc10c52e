"""Pasted text, from the terminal or from the clipboard of Octavo, is adapted to its field."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.events import Paste
from textual.widgets import Input

from octavo.tui.widgets.text_inputs import MAX_INPUT_LENGTH, FilterInput, LineInput, SecretInput, TextEditor
from tests.tui.widgets.scratch import Scratch, harmless, shown, wait_idle

PASTED = "one \u202e\x1b[31m\ntwo"


@pytest.mark.parametrize("kind", [LineInput, FilterInput, TextEditor])
@pytest.mark.parametrize("copied_here", [False, True])
async def test_pasted_text_is_adapted_to_the_field(kind: type[LineInput | TextEditor], copied_here: bool) -> None:
    field = kind()
    app = Scratch(field)
    async with app.run_test() as pilot:
        field.focus()
        field.insert("ab", 0) if isinstance(field, LineInput) else field.insert("ab")
        field.select_all()
        if copied_here:
            app.copy_to_clipboard(PASTED)
            await pilot.press("ctrl+v")
        else:
            field.post_message(Paste(PASTED))
        await pilot.pause()
        pasted_lines = field.value.split("\n") if isinstance(field, LineInput) else field.text.split("\n")
        assert harmless(pasted_lines)
        assert len(pasted_lines) == (1 if isinstance(field, LineInput) else 2)
        assert pasted_lines[0].startswith("one")
        assert pasted_lines[-1].endswith("two")
        await pilot.press("x")
        assert (field.value if isinstance(field, LineInput) else field.text).endswith("x")


async def test_text_from_the_external_editor_has_no_control_characters() -> None:
    field = TextEditor("typed")
    app = Scratch(field)
    async with app.run_test() as pilot:
        field.load_text(PASTED)
        await pilot.pause()
        assert harmless(shown(app).split("\n"))
        assert harmless(field.text.split("\n"))
        assert field.text.endswith("\ntwo")


async def test_paste_below_the_last_line_can_be_undone() -> None:
    field = TextEditor()
    app = Scratch(field)
    async with app.run_test(size=(40, 8)) as pilot:
        field.focus()
        app.copy_to_clipboard(text := "\n".join(f"line {number}" for number in range(40)))
        await pilot.press("ctrl+v", "ctrl+z")
        assert (field.text, field.cursor_location) == ("", (0, 0))
        await pilot.press("ctrl+y")
        assert field.text == text
        await pilot.press("ctrl+z", "x")
        assert field.text == "x"


@pytest.mark.parametrize("kind", [LineInput, FilterInput, SecretInput])
@pytest.mark.parametrize("pasted", ["w" * 300_000, "a line\n" * 40_000])
async def test_paste_of_a_megabyte_is_truncated_to_the_limit(kind: type[Input], pasted: str) -> None:
    field = kind()
    app = Scratch(field)
    async with app.run_test() as pilot:
        field.focus()
        field.post_message(Paste(pasted))
        await pilot.pause()
        one_line = " ".join(pasted[:MAX_INPUT_LENGTH].splitlines())
        assert field.value == ("a" if " " in pasted and kind is SecretInput else one_line)


@pytest.mark.parametrize("make", [LineInput, FilterInput, SecretInput, TextEditor])
@pytest.mark.parametrize("has_bar", [False, True])
async def test_input_field_can_be_painted_at_every_width(
    make: Callable[..., LineInput | FilterInput | SecretInput | TextEditor], has_bar: bool
) -> None:
    field = make(placeholder="Say why 日本", id="field")
    app = Scratch(field)
    if has_bar:
        field.styles.overflow_y = "scroll"
    async with app.run_test(size=(20, 4)) as pilot:
        for width in (6, 5, 4, 3, 2, 1, 20):
            await pilot.resize_terminal(width, 4)
            field.focus()
            for written in ("", "word 日本"):
                field.clear()
                app.post_message(Paste(written))
                await wait_idle(app)
                assert app._exception is None, width
        assert shown(app).strip()
