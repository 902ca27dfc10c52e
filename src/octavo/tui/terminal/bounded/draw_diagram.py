"""Draws a diagram as text: from JSON with `source` and `ascii` on its input it makes lines of JSON, each the text of
one drawing, the roomiest first."""

from __future__ import annotations

import json
import sys

import termaid

ROOMS = ((3, 2, None), (1, 1, None), (1, 1, 14), (1, 1, 9))
"""Cells between boxes, cells beside a label, and the cells a label may take."""
NARROW = 48
"""A drawing of so many cells is not made narrower."""


def main() -> None:
    asked = json.load(sys.stdin)
    before = ""
    for gap, padding, label in ROOMS:
        drawing = termaid.render(
            asked["source"], use_ascii=asked["ascii"], gap=gap, padding_x=padding, max_label_width=label
        )
        if drawing != before:
            sys.stdout.write(json.dumps(drawing) + "\n")
            sys.stdout.flush()
        if max(map(len, drawing.splitlines()), default=0) <= NARROW:
            return
        before = drawing


if __name__ == "__main__":
    main()
