"""Pages in pieces."""

from __future__ import annotations

from octavo.documents.chunks import chunks
from octavo.documents.parse import parse


def test_chunks_read_one_by_one_as_together() -> None:
    part = "# H\n\ntext\n\n* a\n\n  b\n\n```\nx\n\ny\n```\n\n{% hint %}\n\nin\n\n{% endhint %}\n\n<details>\n\nz\n\n</details>\n\n"
    page = part * 20
    pieces = chunks(page, 60)
    assert len(pieces) > 20
    apart = [block.plain() for _, text in pieces for block in parse(text).blocks]
    assert apart == [block.plain() for block in parse(page).blocks]
    assert all(page.split("\n")[first:][0] == text.split("\n")[0] for first, text in pieces)
