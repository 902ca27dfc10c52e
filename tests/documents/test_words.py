"""Words for the search index, and pages in pieces."""

from __future__ import annotations

from octavo.documents.chunks import chunks
from octavo.documents.parse import parse
from octavo.documents.words import plain_sections

PAGE = """---
title: T
---

Intro **bold** [link](a.md "mention").

## First & last <a href="#f" id="f"></a>

{% hint style="info" %}
In a _hint_ with snake_case.
{% endhint %}

{% tab title="Python" %}

```python
x = "# no heading"
```

| A | B |
|---|---|
| 1 | <kbd>Esc</kbd> |

### `Deep`
"""


def test_sections() -> None:
    assert plain_sections(PAGE) == [
        ("", "", "Intro bold link."),
        ("f", "First & last", 'In a hint with snake_case.\nPython\nx = "# no heading"\nA B\n1 Esc'),
        ("deep", "Deep", ""),
    ]


def test_sections_have_the_anchors_of_the_page() -> None:
    page = "# A\n\n## Dup\n\n## Dup\n\n## 1. Start\n"
    assert [anchor for anchor, _, _ in plain_sections(page)] == [each.anchor for each in parse(page).headings]


def test_chunks_read_one_by_one_as_together() -> None:
    part = "# H\n\ntext\n\n* a\n\n  b\n\n```\nx\n\ny\n```\n\n{% hint %}\n\nin\n\n{% endhint %}\n\n<details>\n\nz\n\n</details>\n\n"
    page = part * 20
    pieces = chunks(page, 60)
    assert len(pieces) > 20
    apart = [block.plain() for _, text in pieces for block in parse(text).blocks]
    assert apart == [block.plain() for block in parse(page).blocks]
    assert all(page.split("\n")[first:][0] == text.split("\n")[0] for first, text in pieces)
