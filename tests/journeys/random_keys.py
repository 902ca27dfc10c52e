"""A user who presses random keys on all screens, and who also pastes, clicks, scrolls and resizes."""

from __future__ import annotations

import asyncio
from random import Random

from textual import events
from textual.binding import ActiveBinding
from textual.screen import Screen
from textual.widgets import Input, TextArea

from tests.journeys.hostile_library import HOSTILE
from tests.journeys.stage import Run

_KEYS = (
    *("j",) * 5, *("enter",) * 7, *("k", "k", "down", "up", "left", "right", "h", "l", "tab", "shift+tab"),
    *("g", "G", "home", "end", "pageup", "pagedown", "space", "n", "p", "J", "K", "[", "]", "O", "o", "t", "y"),
)  # fmt: skip
_VIEWS = ("1", "2", "2", "3", "3", "4", "s", ":", "?", "!", "<", ">", "backspace", "q")
_TEXTS = ("tide", "a", "x y", HOSTILE, "日本", "@", "*", "```suggestion\nx\n```", "word " * 200, "\u202e", "/tmp", "")
_SIZES = ((120, 36), (80, 24), (160, 50), (40, 12), (20, 5), (10, 3), (1, 1), (300, 20), (60, 80), (99, 14))
_QUIT_KEYS = frozenset({"ctrl+q", "ctrl+z", "ctrl+c"})
"""Keys that quit or suspend the app."""
_QUIT_COMMANDS = frozenset(
    {"app.quit", "app.back", "app.suspend", "account.sign_in", "account.switch", "account.sign_out"}
)
"""Commands that quit, suspend or sign out."""
_RUN_ANYTHING = frozenset({"PaletteScreen", "HelpScreen"})
"""Screens on which enter or a click may run any command."""


class RandomUser:
    """A random user. The actions depend on the seed and on the bound keys."""

    def __init__(self, run: Run, seed: int, done: list[str], *, stay: bool = False) -> None:
        """Append each action to `done`. With `stay`, the user never quits, suspends or signs out."""
        self._run, self._random, self.done, self._stay = run, Random(seed), done, stay

    async def act(self) -> None:
        """Do one random action."""
        random, app = self._random, self._run.app
        chosen = random.random()
        if chosen < 0.03 and not self._stay:
            await self.burst()
        elif chosen < 0.40:
            await self._press(self._random_key())
        elif chosen < 0.66:
            await self._press(random.choice(_KEYS))
        elif chosen < 0.75:
            await self._press("escape")
        elif chosen < 0.81:
            await self._press(random.choice(_VIEWS))
        elif chosen < 0.85:
            await self._press(random.choice("abcdefijmruvwxzABCDEFHILMNPRSTUVWXYZ/*+-=\\()'\".,;&%$#"))
        elif chosen < 0.90:
            await self._click()
        elif chosen < 0.93:
            self._note("scroll")
            at = self._random_position()
            kind = random.choice((events.MouseScrollDown, events.MouseScrollUp))
            self._run.send_wheel(*at, kind)
        elif chosen < 0.96:
            typed = random.choice(_TEXTS)
            self._note(f"paste {typed[:20]!r}")
            app.post_message(events.Paste(typed))
        elif chosen < 0.98:
            self._resize()
            await self._run.pilot.pause()
        else:
            await asyncio.sleep(random.choice((0.01, 0.05, 0.3)))

    async def burst(self) -> None:
        """Do several actions faster than the app paints. Many clicks hit the key bar and the tabs, and some hit the
        same cell."""
        random, app = self._random, self._run.app
        keys = [*(self._bound().keys() - _QUIT_KEYS), *_KEYS, *_VIEWS, "escape", "escape"]
        keys.sort()
        at = self._random_position()
        for _ in range(random.randint(3, 16)):
            chosen = random.random()
            if chosen < 0.35:
                if random.random() < 0.6:
                    at = (random.randrange(max(1, app.size.width)), random.choice((0, max(0, app.size.height - 1))))
                self._click_at(at, random.choice((1, 1, 2, 3)))
            elif chosen < 0.45:
                self._note("wheel")
                self._run.send_wheel(*self._random_position())
            elif chosen < 0.65:
                self._resize()
            else:
                self._note(key := random.choice(keys))
                self._run.send_key(key)
            await asyncio.sleep(random.choice((0, 0, 0, 0.003, 0.01)))

    def _resize(self) -> None:
        size = self._random.choice(_SIZES) if self._random.random() < 0.5 else _SIZES[0]
        self._note(f"resize {size}")
        self._run.send_size(*size)

    def _random_key(self) -> str:
        """Return a random bound key."""
        found = sorted(self._bound().keys() - _QUIT_KEYS)
        return self._random.choice(found) if found else "enter"

    async def _press(self, key: str) -> None:
        app = self._run.app
        if (key == "q" and self._would_quit(app.screen)) or (self._stay and self._leaves_app(key)):
            key = "escape"
        self._note(key)
        await app._press_keys([key])

    def _would_quit(self, screen: Screen[object]) -> bool:
        return not isinstance(screen.focused, Input | TextArea)

    def _leaves_app(self, key: str) -> bool:
        screen = self._run.app.screen
        if key == "enter" and type(screen).__name__ in _RUN_ANYTHING:
            return True
        bound = self._bound().get(key)
        return bound is not None and bound.binding.id in _QUIT_COMMANDS

    def _bound(self) -> dict[str, ActiveBinding]:
        screen = self._run.app.screen
        # Before the screen is mounted, its children do not exist.
        return screen.active_bindings if screen.is_mounted else {}

    def _random_position(self) -> tuple[int, int]:
        size = self._run.app.size
        return self._random.randrange(max(1, size.width)), self._random.randrange(max(1, size.height))

    async def _click(self) -> None:
        if self._stay and type(self._run.app.screen).__name__ in _RUN_ANYTHING:
            return
        self._click_at(self._random_position(), self._random.choice((1, 1, 1, 2)))
        await self._run.pilot.pause()

    def _click_at(self, at: tuple[int, int], times: int) -> None:
        self._note(f"click {at} {times}")
        for _ in range(times):
            self._run.send_click(*at)

    def _note(self, what: str) -> None:
        screen = type(self._run.app.screen).__name__
        self.done.append(f"{screen}: {what}")
