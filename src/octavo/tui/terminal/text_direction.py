"""Which letters are written from right to left."""

from __future__ import annotations

import re

FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Letters of scripts that are written from right to left."""
