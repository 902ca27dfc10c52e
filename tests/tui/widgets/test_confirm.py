from __future__ import annotations

import asyncio

import pytest
from textual.content import Content
from textual.events import Paste

from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, DialogField
from octavo.tui.widgets.delay import DraftDelay
from octavo.tui.widgets.short_texts import InfoRow
from octavo.tui.widgets.text_inputs import LineInput
from octavo.tui.widgets.text_widgets import InfoTable
from tests.tui.widgets.scratch import HOSTILE, Scratch, check_picture, harmless, lines, shown, until, wait_idle

INFO_ROWS = (
    InfoRow("ok", "merge rules", "5 of 5 (space rules: up to date, 1 approval)"),
    InfoRow(
        "care", "approval", "Tom W. approved rev 16, this is rev 18: 2 blocks are newer than what he has seen of it"
    ),
    InfoRow("bad", "conflicts", Content.assemble(("Webhooks", "bold"), " changed on main since the update")),
    InfoRow("asking", "links"),
)


class ConfirmApp(Scratch):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Confirmed | None] = []

    async def open(self, dialog: ConfirmDialog) -> ConfirmDialog:
        await self.push_screen(dialog, self.answers.append)
        return dialog


async def test_merge_dialog_matches_the_picture() -> None:
    app = ConfirmApp()
    async with app.run_test(size=(90, 24)) as pilot:
        await app.open(
            ConfirmDialog(
                "Merge #42 into Payments API?",
                verb="Merge",
                intro="Goes live at once on docs.acme.com. There is no un-merge.",
                info_rows=INFO_ROWS,
                after="What goes out   ~ Webhooks   + Webhook rotation",
                foot="checked 3 s ago · r check again",
            )
        )
        await pilot.pause()
        await check_picture("confirm", app)


async def test_facts_that_arrive_while_a_dialog_opens_are_visible() -> None:
    new = [InfoRow("care", "", "pages"), InfoRow("care", "", "requests"), InfoRow("care", "", "sites")]
    passes, laid_out = 0, 0
    while laid_out < 2:  # The loop ends when the info_rows arrive long after the dialog is shown.
        # Each round needs a new app, because the styles of a dialog are loaded when the first dialog is shown.
        app = ConfirmApp()
        async with app.run_test(size=(90, 24)):
            await wait_idle(app)
            app.push_screen(
                dialog := ConfirmDialog("Delete?", verb="Delete", info_rows=[InfoRow("asking", "", "Looking")])
            )
            for _ in range(passes):
                await asyncio.sleep(0)
            laid_out += any(each.size.height for each in dialog.query(InfoTable))
            dialog.update(info_rows=new)
            await wait_idle(app)
            assert "sites" in shown(app), f"the info_rows are missing after {passes} passes of the event loop"
        passes += 2
    assert passes > laid_out


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        (["y"], [Confirmed()]),
        (["y", "y"], [Confirmed()]),
        (["n"], [None]),
        (["escape"], [None]),
        (["enter"], [None]),
        (["tab", "enter"], [Confirmed()]),
        (["right", "enter"], [Confirmed()]),
        (["right", "left", "enter"], [None]),
        (["m"], []),
    ],
)
async def test_keys_confirm_or_cancel_and_cancel_has_the_focus(
    keys: list[str], answers: list[Confirmed | None]
) -> None:
    app = ConfirmApp()
    async with app.run_test() as pilot:
        await app.open(ConfirmDialog("Merge?", verb="Merge"))
        await pilot.press(*keys)
        await pilot.pause()
        assert app.answers == answers


async def test_click_on_the_button_confirms() -> None:
    app = ConfirmApp()
    async with app.run_test() as pilot:
        await app.open(ConfirmDialog("Merge?", verb="Merge"))
        await pilot.pause()
        await pilot.click("#yes")
        await pilot.pause()
        assert app.answers == [Confirmed()]


async def test_typed_word_confirms_instead_of_y() -> None:
    app = ConfirmApp()
    async with app.run_test() as pilot:
        why = "With conflicts the y key is off: type 42 to merge anyway."
        await app.open(ConfirmDialog("Merge?", verb="Merge", word="42", word_reason=why))
        await pilot.press("y", "enter")
        assert app.explained == [why]
        assert app.answers == []
        await pilot.press("backspace", *"42", "enter")
        await pilot.pause()
        assert app.answers == [Confirmed()]


async def test_reason_for_typing_is_hidden_without_a_word_to_type() -> None:
    app = ConfirmApp()
    async with app.run_test(size=(90, 24)):
        dialog = await app.open(ConfirmDialog("Delete?", verb="Delete", word_reason="This cannot be undone."))
        await wait_idle(app)
        assert "This cannot be undone." not in shown(app)
        dialog.update(word="delete")
        await wait_idle(app)
        assert "This cannot be undone." in shown(app)


async def test_facts_change_while_the_dialog_is_open() -> None:
    app = ConfirmApp()
    checks: list[str] = []
    async with app.run_test() as pilot:
        dialog = await app.open(
            ConfirmDialog("Merge?", verb="Merge", info_rows=INFO_ROWS[:1], check_again=lambda: checks.append("again"))
        )
        await pilot.press("r")
        assert checks == ["again"]
        dialog.update(info_rows=INFO_ROWS, word="42", word_reason="Type 42.", foot="checked now")
        await pilot.pause()
        assert "conflicts" in shown(app)
        assert "checked now" in shown(app)
        await pilot.press("y")
        assert app.explained == ["Type 42."]
        dialog.update(info_rows=INFO_ROWS[:2], word="", word_reason="", blocked="It was merged by Tom W. a moment ago.")
        await pilot.press("y")
        assert app.explained[-1] == "It was merged by Tom W. a moment ago."
        dialog.update(blocked="")
        await pilot.press("y")
        await pilot.pause()
        assert app.answers == [Confirmed()]


async def test_dialog_with_a_line_field_confirms_with_enter() -> None:
    app = ConfirmApp()
    async with app.run_test() as pilot:
        await app.open(
            ConfirmDialog("Rename", verb="Rename", field=DialogField("Subject", required_error="A subject, please."))
        )
        await pilot.press("enter")
        assert app.explained == ["A subject, please."]
        await pilot.press(*"  yes, no ", "enter")
        await pilot.pause()
        assert app.answers == [Confirmed("yes, no")]


async def test_dialog_with_a_text_field_confirms_with_ctrl_s() -> None:
    app = ConfirmApp()
    async with app.run_test(size=(60, 14)) as pilot:
        await app.open(
            ConfirmDialog("Approve", verb="Approve", field=DialogField("Comment", height=4), info_rows=INFO_ROWS * 3)
        )
        await pilot.press(*"yes", "enter", *"no")
        assert "Approve  (ctrl+s)" in shown(app), "on a low screen the buttons must stay visible, and the rows scroll"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.answers == [Confirmed("yes\nno")]


async def test_hostile_facts_are_shown_as_text() -> None:
    app = ConfirmApp()
    async with app.run_test(size=(120, 40)) as pilot:
        for text in HOSTILE:
            dialog = await app.open(
                ConfirmDialog(
                    text,
                    verb=text,
                    cancel=text,
                    intro=text,
                    info_rows=[InfoRow("ok", text, text)],
                    after=text,
                    field=DialogField(text, text, placeholder=text),
                    word="x",
                    word_reason=text,
                    foot=text,
                )
            )
            await pilot.pause()
            line = dialog.query_one("#typed", LineInput)
            line.post_message(Paste(text))
            await until(pilot, lambda line=line: bool(line.value))  # type: ignore[misc]  # The lambda binds the current line.
            assert harmless(lines(app))
            if text == HOSTILE[0]:
                assert shown(app).count(text) >= 9
            await pilot.press("escape")
            await pilot.pause()
        assert app.answers == [None] * len(HOSTILE)


async def test_typed_text_is_saved_if_navigation_closes_the_dialog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DraftDelay, "SECONDS_AFTER_LAST_KEY", 3600)
    monkeypatch.setattr(DraftDelay, "MAX_SECONDS", 3600)
    saved: list[str] = []
    app = ConfirmApp()
    async with app.run_test(size=(90, 24)) as pilot:
        await app.open(ConfirmDialog("Rename?", verb="Rename", field=DialogField("Title", save_draft=saved.append)))
        await pilot.press(*"Tide")
        assert saved == []
        await app.pop_screen()
        assert saved == ["Tide"]
