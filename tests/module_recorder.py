"""A terminal driver that records the imported modules when a text is first drawn.

TEXTUAL_DRIVER=tests.module_recorder:ModuleRecorder RECORD_TEXT="Welcome" RECORD_FILE=/somewhere octavo demo
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from octavo.tui.terminal.driver import TerminalDriver


class ModuleRecorder(TerminalDriver):
    """Writes the names of the modules to `RECORD_FILE`, one on each line."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._recorded = False

    def write(self, data: str) -> None:
        if not self._recorded and os.environ["RECORD_TEXT"] in data:
            self._recorded = True
            Path(os.environ["RECORD_FILE"]).write_text(
                "\n".join(sorted(sys.modules.keys() - {"httpx._main"})), encoding="utf-8"
            )
        super().write(data)
