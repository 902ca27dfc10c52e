"""The blocks that threads are shown on in a diff with edited blocks."""

from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.documents.suggestions import ThreadAnchors

PAGE = """\
# Levels

At about 09:06 the water stood 3.412 m above chart datum, and the sensors agreed.

The water of the harbour is measured every six minutes.

Short one.
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Around 09:06 the water stood 3.412 m above chart dat", "At about 09:06"),
        ("The water of the port is measured each six minutes.", "The water of"),
        ("Nothing on this page says anything of this kind.", ""),
        ("Short two.", ""),
        ("", ""),
    ],
)
def test_thread_is_shown_on_the_most_similar_block(words: str, found: str) -> None:
    document = parse(PAGE)
    key = ThreadAnchors(document).most_similar_key(words)
    shown = next((block.plain() for block in document.walk() if key and block.key == key), "")
    assert shown.startswith(found)
    assert bool(key) == bool(found)
