"""Run the demo with a key that causes a crash: `python -m tests.journeys.failing_app`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from octavo import settings as settings_module
from octavo.cli import platform_folders, sessions
from octavo.tui.app.octavo import Octavo

STYLES = str(Path(str(sys.modules[Octavo.__module__].__file__)).with_name("app.tcss"))


class FailingApp(Octavo):
    """The app with a key, f12, that raises an error."""

    CSS_PATH = STYLES

    BINDINGS = [("f12", "fail", "Fail")]  # noqa: RUF012  # Textual declares the attribute in this way.

    def action_fail(self) -> None:
        own_key = platform_folders.demo_folder(self.settings).read_key().get_secret_value()
        local_words = "what a local variable holds"
        raise RuntimeError(f"a bug with {own_key} in its message, {len(local_words)}")


def main() -> None:
    settings = settings_module.read(os.environ)
    app = FailingApp(
        settings, sessions.sign_in_methods(settings, "https://api.example.com"), sessions.open_demo(settings)
    )
    app.run()
    sys.exit(app.return_code or 0)


if __name__ == "__main__":
    main()
