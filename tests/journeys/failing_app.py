"""Run the demo with keys that cause a crash and a hang: `python -m tests.journeys.failing_app`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from octavo.__main__ import main
from octavo.cli import platform_folders, running_app
from octavo.tui.app.octavo import Octavo

STYLES = str(Path(str(sys.modules[Octavo.__module__].__file__)).with_name("app.tcss"))


class FailingApp(Octavo):
    """The app with a key that raises an error, f12, and a key after which the screen handles no messages, f11."""

    CSS_PATH = STYLES

    BINDINGS = [("f12", "fail", "Fail"), ("f11", "hang", "Hang")]  # noqa: RUF012  # Textual declares the attribute in this way.

    def action_fail(self) -> None:
        own_key = platform_folders.demo_folder(self.settings).read_key().get_secret_value()
        local_words = "what a local variable holds"
        raise RuntimeError(f"a bug with {own_key} in its message, {len(local_words)}")

    def action_hang(self) -> None:
        self.screen.call_later(asyncio.Event().wait)


if __name__ == "__main__":
    running_app.Octavo = FailingApp  # type: ignore[attr-defined]  # The program ends as for a user.
    sys.argv[1:] = ["demo"]
    main()
