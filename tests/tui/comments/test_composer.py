from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

import pytest
from textual.binding import Binding, BindingType
from textual.events import AppBlur, Paste
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.users import User
from octavo.data.state_db import NotSaved
from octavo.tui.comments.autocomplete import Autocomplete, MentionCandidates, emoji_prefix
from octavo.tui.comments.composer import Composer
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.widgets.delay import DraftDelay
from octavo.tui.widgets.short_texts import safe_lines
from tests.call_counter import CallCounter
from tests.tui.widgets.scratch import HOSTILE, Scratch, check_picture, harmless, lines, shown, until


class ComposerApp(Scratch):
    """An app that opens composers and stores their results and drafts."""

    def __init__(self) -> None:
        super().__init__()
        self.save_requests: list[str] = []
        self.saved: list[str] = []
        self.save_error = ""
        self.disk = asyncio.Event()
        self.disk.set()
        self.answers: list[str | None] = []
        self.preview: Callable[[str], Widget] = lambda text: Static(safe_lines(f"as it looks: {text}"))

    async def open_composer(
        self,
        draft: str = "",
        *,
        quoted: str = "",
        title: str = "Reply",
        people: FakeMembers | None = None,
        replies: tuple[str, ...] = (),
        added_text: str = "",
    ) -> Composer:
        composer = Composer(
            title,
            FakeDraft(self, draft),
            quoted=quoted,
            added_text=added_text,
            preview=self.preview,
            editing_folder=Path("unused"),
            members=people or FakeMembers(),
            replies=replies,
        )
        await self.push_screen(composer, self.answers.append)
        return composer


class FakeDraft(DialogDraft):
    """A draft that is saved in the lists of `app`, when the disk of `app` is ready."""

    is_saved = True

    def __init__(self, app: ComposerApp, text: str) -> None:
        self._composer_app, self._text, self._has_added_markers = app, text, False

    @property
    def text(self) -> str:
        return self._text

    def merged_text(self) -> str:
        return self._text

    @property
    def why_not_saved(self) -> str:
        return self._composer_app.save_error

    def save(self, text: str) -> Awaitable[None]:
        self._composer_app.save_requests.append(text)
        return self._save(text)

    async def _save(self, text: str) -> None:
        app = self._composer_app
        await app.disk.wait()
        if app.save_error:
            raise NotSaved(app.save_error)
        app.saved.append(text)

    def save_now(self, text: str) -> None:
        self._composer_app.saved.append(text)


class FakeMembers(MentionCandidates):
    """Members to mention: one member is loaded, and another is loaded on request."""

    def __init__(self) -> None:
        self.load_error = ""
        self.people = [User(id="tom", display_name="Tom Ward")]

    def cached_people(self) -> list[User]:
        return list(self.people)

    async def load(self) -> None:
        self.people.append(User(id="zoe", display_name="Zoe M_M"))


async def test_at_sign_at_start_of_word_mentions_a_member() -> None:
    app = ComposerApp()
    async with app.run_test(size=(70, 24)) as pilot:
        composer = await app.open_composer(people=FakeMembers())
        await pilot.press(*"Hi ", "@", *"zo", "enter")
        assert composer.text == "Hi [@Zoe M\\_M](/users/zoe) "
        assert composer.text_area.text == "Hi @Zoe M_M ", "the editor must show the plain name"
        await pilot.press(*"at a", "@")
        assert app.screen is composer, "an at sign within a word belongs to an e-mail address"
        await pilot.press(*"b (", "@", "escape")
        assert composer.text.endswith("at a@b (@")
        await pilot.press("space", "@", *"nobody", "space", *"else")
        assert app.screen is composer
        assert composer.text.endswith("(@ @nobody else"), "an unknown name must stay as typed"


async def test_typed_emoji_name_opens_the_emoji_list() -> None:
    app = ComposerApp()
    async with app.run_test(size=(70, 24)) as pilot:
        composer = await app.open_composer()
        await pilot.press(*"Done :tad")
        await until(pilot, lambda: "🎉 tada" in shown(app))
        await pilot.press("enter")
        assert composer.text_area.text == "Done 🎉 "
        await pilot.press(*":hear")
        await until(pilot, lambda: "heart" in shown(app))
        await pilot.press("tab")
        assert composer.text_area.text == "Done 🎉 ❤️ "
        await pilot.press(*":+1:")
        assert composer.text_area.text == "Done 🎉 ❤️ 👍 ", "the closing colon must insert the emoji without the list"
        assert app.screen is composer


async def test_long_text_is_not_searched_for_emoji_on_each_key() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer("a line of words\n" * 2000)
        with CallCounter(emoji_prefix) as calls:
            await pilot.press(*": :ta")
        assert calls.counts == {}
        assert composer.text.endswith("\n: :ta")


async def test_closed_emoji_list_keeps_the_typed_text() -> None:
    app = ComposerApp()
    async with app.run_test(size=(70, 24)) as pilot:
        composer = await app.open_composer()
        await pilot.press(*":tad")
        await until(pilot, lambda: "🎉 tada" in shown(app))
        await pilot.press("escape", *"pole :qx")
        await until(pilot, lambda: app.screen is composer)
        await pilot.press(*"q ok")
        assert composer.text == ":tadpole :qxq ok", "an unknown emoji name must stay as typed"
        composer.text_area.load_text("")
        await pilot.press(*"`:tad", *"` at 10:30 ")
        app.screen.post_message(Paste(":tada"))
        await pilot.pause()
        assert app.screen is composer, "a colon in code, in a word or in pasted text must not open the list"
        assert composer.text == "`:tad` at 10:30 :tada"


async def test_quick_reply_is_inserted_at_the_cursor() -> None:
    app = ComposerApp()
    async with app.run_test(size=(70, 24)) as pilot:
        composer = await app.open_composer("Yes. ", replies=("Fixed, thank you.", *HOSTILE))
        await pilot.press("ctrl+l")
        assert harmless(lines(app))
        await pilot.press("enter")
        assert composer.text == "Yes. Fixed, thank you."
        await pilot.press("ctrl+l", "escape")
        assert composer.text == "Yes. Fixed, thank you."


async def test_first_member_stays_first_when_more_members_load() -> None:
    app, crew = ComposerApp(), FakeMembers()
    crew.people.append(User(id="al", display_name="Al Wu"))
    crew.people.append(User(id="tim", display_name="Tim", email="tim@west.example"))
    async with app.run_test(size=(70, 24)) as pilot:
        await app.open_composer(people=crew)
        await pilot.press("@", "w")
        mentions = app.screen
        assert isinstance(mentions, Autocomplete)
        names = [found.choice.title for found in mentions.rows.items]
        assert names == ["Tom Ward", "Al Wu"], (
            "one letter of an e-mail address must not match, and a short name must not match more"
        )
        crew.people.insert(0, User(id="w", display_name="Walt"))
        mentions.show_choices([])
        assert mentions.rows.item is not None
        assert mentions.rows.item.choice.title == "Walt", (
            "the cursor must stay on the first row until the user moves it"
        )


async def test_composer_of_a_reply_matches_the_picture() -> None:
    app = ComposerApp()
    async with app.run_test(size=(70, 16)) as pilot:
        await app.open_composer(
            quoted="Since May it can, for Enterprise. See the plan page.\n\nIs it 24 h, or until it is revoked?",
            title="Reply to Tom Ward",
        )
        await pilot.press(*"Until")
        await until(pilot, lambda: "draft saved" in shown(app))
        await check_picture("composer", app)


@pytest.mark.parametrize("key", ["ctrl+s", "ctrl+enter"])
async def test_send_returns_the_text(key: str) -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await app.open_composer()
        await pilot.press(*"yes", "enter", *"no", key, key)
        await pilot.pause()
        assert app.answers == ["yes\nno"]
        assert app.saved[-1] == "yes\nno", "the text must stay saved as a draft until it is sent"


async def test_escape_keeps_the_draft() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await app.open_composer()
        await pilot.press(*"half a", "escape")
        await pilot.pause()
        assert app.answers == [None]
        assert app.saved[-1] == "half a"


async def test_added_text_is_kept_as_a_draft_on_close() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer("half a", added_text="from a program")
        assert composer.text == "half a\n\nfrom a program"
        await pilot.press("escape")
        await until(pilot, lambda: app.answers == [None])
        assert app.saved == ["half a\n\nfrom a program"]


async def test_unchanged_draft_is_not_saved_again() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer("half a")
        await pilot.pause()
        assert composer.text == "half a"
        await pilot.press("escape")
        await pilot.pause()
        await app.open_composer("half a")
        await pilot.press(*" day", "escape")
        await pilot.pause()
        assert app.saved[-1] == "half a day"
        assert "half a" not in app.save_requests


async def test_draft_is_saved_when_the_app_ends_or_is_suspended() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer()
        await pilot.press(*"one")
        assert len(app.exit_callbacks) == 1
        for keep in tuple(app.exit_callbacks):
            assert callable(keep)
            keep()
        assert app.saved[-1] == "one"
        await pilot.press(*" two")
        composer.post_message(AppBlur())
        await until(pilot, lambda: app.saved[-1] == "one two")
        await pilot.press(*" three")
    assert app.saved[-1] == "one two three", "the draft must be saved when the app ends"


async def test_slow_disk_does_not_block_typing() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer()
        app.disk.clear()
        await pilot.press(*"one")
        await until(pilot, lambda: app.save_requests == ["one"])
        await pilot.press(*" two")
        await until(pilot, lambda: app.save_requests == ["one", "one two"])
        assert (composer.text, app.saved) == ("one two", [])
        assert "draft saved" not in shown(app)
        composer.post_message(AppBlur())
        await pilot.pause()
        assert len(app.save_requests) == 2, "the text must not be saved twice"
        app.disk.set()
        await until(pilot, lambda: "draft saved" in shown(app))
        assert app.saved == ["one", "one two"]


async def test_text_is_sent_after_its_draft_is_on_disk() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer()
        await pilot.press(*"yes")
        app.disk.clear()
        await pilot.press("ctrl+s", "!", "ctrl+s")
        await pilot.pause()
        assert (composer.text, app.answers) == ("yes", [])
        app.disk.set()
        await until(pilot, lambda: app.answers == ["yes"])
        assert app.saved[-1] == "yes"


async def test_keys_pressed_while_saving_go_to_the_screen_below() -> None:
    class AppWithKeys(ComposerApp):
        BINDINGS: ClassVar[list[BindingType]] = [Binding("j,d", "pressed", "Pressed")]
        pressed = 0

        def action_pressed(self) -> None:
            self.pressed += 1

    app = AppWithKeys()
    async with app.run_test() as pilot:
        await app.open_composer()
        await pilot.press(*"yes")
        app.disk.clear()
        await pilot.press("ctrl+s", "d", "j")
        await pilot.pause()
        assert app.pressed == 0
        app.disk.set()
        await until(pilot, lambda: app.pressed == 2)
        assert app.answers == ["yes"]


async def test_text_pasted_while_saving_goes_to_the_screen_below() -> None:
    class AppWithPaste(ComposerApp):
        pasted = ""

        def on_paste(self, event: Paste) -> None:
            self.pasted += event.text

    app = AppWithPaste()
    async with app.run_test() as pilot:
        composer = await app.open_composer()
        await pilot.press(*"yes")
        app.disk.clear()
        await pilot.press("ctrl+s")
        app.post_message(Paste("next"))
        await pilot.pause()
        await pilot.press("ctrl+v")
        assert (composer.text, app.pasted) == ("yes", "")
        app.disk.set()
        await until(pilot, lambda: app.answers == ["yes"])
        await until(pilot, lambda: app.pasted == "next")


async def test_shared_email_domain_finds_no_member() -> None:
    app, crew = ComposerApp(), FakeMembers()
    crew.people[:] = [User(id=name, display_name=name, email=f"{name}x@harbour.example") for name in ("Ada", "Tom")]
    async with app.run_test(size=(70, 24)) as pilot:
        await app.open_composer(people=crew)
        await pilot.press("@", *"harb")
        assert isinstance(app.screen, Autocomplete)
        assert list(app.screen.rows.items) == []
        await pilot.press(*["backspace"] * 4, *"adax")
        assert [found.choice.title for found in app.screen.rows.items] == ["Ada"]
        await pilot.press("@", *"harb")
        assert [found.choice.title for found in app.screen.rows.items] == ["Ada"], "a typed domain must match"


async def test_escape_while_saving_does_not_send() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await app.open_composer()
        await pilot.press(*"yes")
        app.disk.clear()
        await pilot.press("ctrl+s", "escape")
        app.disk.set()
        await until(pilot, lambda: app.saved[-1:] == ["yes"])
        await pilot.pause()
        assert app.answers == [None]


async def test_unwritable_disk_disables_sending() -> None:
    app = ComposerApp()
    async with app.run_test(size=(100, 20)) as pilot:
        composer = await app.open_composer()
        app.save_error = "Nothing is being saved: the disk is full. Free some space, then try again."
        await pilot.press(*"yes", "ctrl+s")
        assert app.explained == [app.save_error]
        composer.start_saving()
        await until(pilot, lambda: app.save_error in shown(app))
        assert (app.answers, app.saved) == ([], [])
        app.save_error = ""
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.answers == ["yes"])


async def test_failed_save_does_not_send_and_can_be_retried() -> None:
    app = ComposerApp()
    async with app.run_test(size=(100, 20)) as pilot:
        composer = await app.open_composer()
        await pilot.press(*"yes")
        app.disk.clear()
        await pilot.press("ctrl+s")
        app.save_error = "Nothing is being saved: the disk is full. Free some space, then try again."
        app.disk.set()
        await until(pilot, lambda: app.save_error in shown(app))
        assert (app.answers, composer.text) == ([], "yes")
        app.save_error = ""
        await pilot.press("!", "ctrl+s")
        await until(pilot, lambda: app.answers == ["yes!"])


async def test_text_pasted_before_a_save_fails_is_entered() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer()
        await pilot.press(*"yes")
        app.disk.clear()
        await pilot.press("ctrl+s", "d")
        app.save_error = "Could not save drafts."
        app.post_message(Paste(" pasted"))
        await pilot.pause()
        app.disk.set()
        await until(pilot, lambda: composer.text == "yes pasted")
        assert app.answers == []


async def test_empty_text_is_not_sent_and_says_why() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await app.open_composer()
        await pilot.press("space", "ctrl+s")
        assert app.explained == ["Write some text first."]
        assert app.answers == []


async def test_preview_shows_the_text_and_returns_to_editing() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer("**bold**")
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert "as it looks: **bold**" in shown(app)
        await pilot.press("escape", "!")
        await pilot.pause()
        assert composer.text == "**bold**!"
        assert "as it looks" not in shown(app)
        assert app.answers == []


async def test_editor_without_a_terminal_keeps_the_text() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = await app.open_composer("text")
        await pilot.press("ctrl+e")
        await pilot.pause()
        assert composer.text == "text"
        assert "Octavo cannot start an editor in this terminal." in shown(app)


async def test_text_that_is_being_sent_cannot_be_edited_in_the_editor() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await app.open_composer("text")
        app.disk.clear()
        await pilot.press("ctrl+s", "ctrl+e")
        await pilot.pause()
        assert "cannot start an editor" not in shown(app)
        app.disk.set()
        await until(pilot, lambda: app.answers == ["text"])


async def test_pasted_and_quoted_control_characters_are_shown_as_text() -> None:
    app = ComposerApp()
    async with app.run_test(size=(120, 30)) as pilot:
        for text in HOSTILE:
            composer = await app.open_composer(text, quoted=text, title=text)
            await pilot.pause()
            composer.text_area.post_message(Paste(text + "\nand on"))
            await until(pilot, lambda composer=composer: "and on" in composer.text)  # type: ignore[misc]  # The lambda binds the current composer.
            assert harmless(lines(app))
            assert harmless(composer.text.split("\n"))
            await pilot.press("escape")
            await pilot.pause()
        assert len(app.answers) == len(HOSTILE)


def test_drafts_are_saved_soon_after_the_last_key() -> None:
    clock = DraftDelay(Widget())
    assert clock.record_typing(10.0) == pytest.approx(0.3)
    assert clock.record_typing(10.2) == pytest.approx(0.3)
    assert clock.record_typing(10.9) == pytest.approx(0.1)
    assert clock.record_typing(11.5) == pytest.approx(0.01)
    clock.mark_saved()
    assert clock.record_typing(12.0) == pytest.approx(0.3)
