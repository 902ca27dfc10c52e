"""Pages with a term at known places, and with text that only looks like the term."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    """A place that has the term: its range in the source of the page, and the text after the rename."""

    start: int
    end: int
    replacement: str


@dataclass
class RenamedPage:
    """A page under construction, with the places of the term."""

    source: str = ""
    places: list[Place] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Append a text in which places are written as `«old»new»`."""
        for number, part in enumerate(text.split("«")):
            if not number:
                self.source += part
                continue
            old, new, rest = part.split("»", 2)
            self.places.append(Place(len(self.source), len(self.source) + len(old), new))
            self.source += old + rest

    @property
    def renamed(self) -> str:
        """The source after the rename."""
        text = self.source
        for start, end, new in reversed(self.places):
            text = text[:start] + new + text[end:]
        return text


OLD, NEW = "tide table", "flow chart"
PLACES = (
    "Read the «tide table»flow chart» before you sail.",
    "«Tide table»Flow chart» readings come first.",
    "## The «tide table»flow chart» of the harbour",
    "# «Tide Table»Flow Chart»",
    "SEE THE «TIDE TABLE»FLOW CHART» NOW.",
    "| Name | Use |\n| --- | --- |\n| «tide table»flow chart» | the «tide table»flow chart» of today |",
    "Open the **«tide** table»flow** chart» on the left.",
    "Open the tide *and* the «tide **table»flow **chart»** again.",
    "The port prints a «tide\ntable»flow\nchart» every week.",
    "> A quoted «tide\n> table»flow\n> chart» is here.",
    "- one item\n- the «tide table»flow chart»: a list\n  1. nested «tide table»flow chart»",
    "Old «tide tables»flow charts» are in the archive.",
    "See the [«tide table»flow chart»](../tide-table.md) or _«tide table»flow chart»_, or “«tide table»flow chart»”.",
    "The «tide table»flow chart»'s columns (in the «tide table»flow chart») are «tide table»flow chart».",
    '{% hint style="info" %}\nA «tide table»flow chart» in a hint.\n{% endhint %}',
    '{% tabs %}\n{% tab title="«Tide table»Flow chart»" %}\nText.\n{% endtab %}\n{% endtabs %}',
    "![a «tide table»flow chart»](tide-table.png)",
    "A «tide&nbsp;table»flow&nbsp;chart» with a fixed space, and <b>«tide table»flow chart»</b> in HTML.",
    "1. First the `octavo` command, then the «tide table»flow chart».\n2. Then sail.",
)
"""Texts with the term."""
TRAPS = (
    "A riptide table and a tide tableau, tidetable and retide tables.",
    "The tide-table and the non-tide table-like list.",
    "Run `tide table` or ``a tide table b`` first.",
    "```\ntide table\n```",
    "~~~yaml\nname: tide table\n~~~",
    "Text.\n\n    tide table\n\nMore.",
    "See https://example.com/tide table/x and <https://example.com/tide%20table>.",
    '[the docs](<https://example.com/tide table> "x") and [a](tide-table/tide.md).',
    "Write to tide@table.com or open /tide/table/index and docs/tide/table.md.",
    "<!-- the tide table -->",
    "The moon moves the tide\n\ntable and chair.",
    "- the tide\n- table",
    "| The tide | table |\n| --- | --- |\n| tide | table |",
    "## The tide\ntable and chair",
    "Nothing about the sea at all.",
    "The tide turns, and the table is set.",
    "<code>tide table</code> in HTML.",
    "[tide table]: https://example.com/tide-table",
    "$$\ntide table\n$$",
)
"""Texts that do not have the term, or have it only in code, URLs and comments."""


def renamed_pages(seed: int, count: int) -> list[RenamedPage]:
    """Return pages. About half of them have the term, and almost all have traps."""
    choose = random.Random(seed)
    pages = []
    for number in range(count):
        page = RenamedPage()
        if choose.random() < 0.2:
            page.add("---\ndescription: tide table\n---\n\n")
        page.add(f"Page {number} of the handbook.\n\n")
        texts = choose.choices(TRAPS, k=choose.randint(1, 5))
        if choose.random() < 0.5:
            texts += choose.choices(PLACES, k=choose.randint(1, 4))
        choose.shuffle(texts)
        for text in texts:
            page.add(f"{text}\n\n")
        pages.append(page)
    return pages
