"""Draws a diagram as text.

Input: JSON with `source` and `ascii`. Output: a line of JSON for each drawing, the widest first.
"""

from __future__ import annotations

import json
import sys

import termaid

SPACINGS = ((3, 2, None), (1, 1, None), (1, 1, 14), (1, 1, 9))
"""Spacings with which a diagram is drawn, widest first: cells between boxes, cells around labels, and maximum width of
a label (None for any width)."""
NARROW_WIDTH = 48
"""If a drawing has at most this width in cells, no narrower drawing is made."""


def main() -> None:
    request = json.load(sys.stdin)
    previous_drawing = ""
    for gap, padding, max_label_width in SPACINGS:
        drawing = termaid.render(
            request["source"], use_ascii=request["ascii"], gap=gap, padding_x=padding, max_label_width=max_label_width
        )
        if drawing != previous_drawing:
            sys.stdout.write(json.dumps(drawing) + "\n")
            sys.stdout.flush()
        if max(map(len, drawing.splitlines()), default=0) <= NARROW_WIDTH:
            return
        previous_drawing = drawing


if __name__ == "__main__":
    main()
