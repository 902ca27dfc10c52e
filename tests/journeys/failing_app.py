"""Run the demo with keys that cause a crash and a hang: `python -m tests.journeys.failing_app`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from octavo import settings as settings_module
from octavo.cli import platform_folders, sessions
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


def main() -> None:
    settings = settings_module.read(os.environ)
    app = FailingApp(
        settings, sessions.sign_in_methods(settings, "https://api.example.com"), sessions.open_demo(settings)
    )
    app.run()
    sys.exit(app.return_code or 0)


if __name__ == "__main__":
    main()
