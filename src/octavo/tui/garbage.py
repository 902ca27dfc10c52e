"""Looks for garbage a little at a time. To look through all there is takes a tenth of a second, and Python does it in
the middle of a key press.
"""

from __future__ import annotations

import gc
from typing import Any

_YOUNG, _OLD, _ALL = 2_000, 2, 2_000
"""Objects more than at the last look, such looks between two at what is older, and those between two at everything."""


def keep_looks_short() -> None:
    """What there is now, and what lives through a look from now on, is not looked at again for a long time."""
    if _look not in gc.callbacks:
        gc.callbacks.append(_look)
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLD, _ALL)
    gc.enable()


def _look(phase: str, info: dict[str, Any]) -> None:
    if phase == "start" and info["generation"] == 2:
        gc.unfreeze()
    elif phase == "stop" and info["generation"] >= 1:
        gc.freeze()
