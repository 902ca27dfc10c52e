"""A library in which every text is hostile."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HOSTILE = "[@click=app.quit]x[/] \x1b]52;c;aGk=\x07"
SHOWN = "[@click=app.quit]x[/]"
"""The part of the hostile text that the screen may show."""

_TEXTS = {
    "title",
    "description",
    "subject",
    "displayName",
    "email",
    "name",
    "emoji",
    "icon",
    "preview",
    "markdown",
    "path",
}
_HASH = re.compile(r"[0-9a-f]{64}")
_PAGE = """# {0}

{0}

* {0}
* [ ] {0}

> {0}

[{0}](https://example.com/{0}) ![{0}](x.png) `{0}` <kbd>{0}</kbd>

```{0}
{0}
```

| {0} | {0} |
| --- | --- |
| {0} | {0} |

{{% hint style="{0}" %}}
{0}
{{% endhint %}}

{{% tabs %}}
{{% tab title="{0}" %}}
{0}
{{% endtab %}}
{{% endtabs %}}

$${0}$$

$$
\\frac{{{0}}}{{\\sqrt[{0}]{{x}}}}
$$

```mermaid
graph LR
  A["{0}"] --> B["%1b]52;c;aGk=%07"]
```

[](gone%1b]52;c;aGk=%07.md) [%9b31m](/files/x%1b]0;y%07) ![](%1b]0;y%07.png) note[^1]

{{% content-ref url="gone%1b]0;y%07.md" %}}
[gone%1b]0;y%07.md](gone%1b]0;y%07.md)
{{% endcontent-ref %}}

{{% openapi-operation spec="%1b{0}" path="/%1b{0}" method="{0}" %}}
[%1b](https://example.com/%1b]0;y%07.yaml)
{{% endopenapi-operation %}}

{{% include "../%1b]0;y%07.md" %}}

<figure><img src="x%1b]0;y%07.png" alt="{0}"><figcaption><p>{0}</p></figcaption></figure>

<table data-view="cards"><thead><tr><th>{0}</th><th data-card-target data-type="content-ref"></th></tr></thead>
<tbody><tr><td></td><td><a href="gone%1b]0;y%07.md">%9b</a></td></tr></tbody></table>

[^1]: {0}

"""

ROUTES: dict[str, Sequence[str]] = {
    "content": (
        *(
            "j",
            "j",
            "enter",
            ")",
            ")",
            "O",
            "O",
            "z",
            "z",
            "wait",
            "f",
            "escape",
            "\\",
            "\\",
            "/",
            "x",
            "enter",
            "n",
            "escape",
        ),
        *(
            "c",
            "type:" + HOSTILE,
            "ctrl+r",
            "ctrl+r",
            "ctrl+s",
            "wait",
            "t",
            "enter",
            "+",
            "escape",
            "c",
            "escape",
            "d",
            "escape",
        ),
        *("!", "escape", "s", "type:surge", "wait", "tab", "wait", "escape", "s", "type:" + HOSTILE, "wait", "escape"),
        *(":", "x", "escape", "?", "escape", "escape", "escape", "/", "x", "enter", "j", "enter", "u"),
    ),
    "changes": (
        *(
            "wait",
            "j",
            "/",
            "x",
            "escape",
            "escape",
            "]",
            "wait",
            "]",
            "[",
            "[",
            "@",
            "@",
            "g",
            "enter",
            "wait",
            "enter",
            "n",
        ),
        *(
            "c",
            "escape",
            "=",
            "\\",
            "wait",
            "\\",
            "t",
            "enter",
            "escape",
            "escape",
            "t",
            "escape",
            "x",
            "J",
            "wait",
            "a",
            "escape",
            "A",
            "escape",
        ),
        *(
            "m",
            "wait",
            "escape",
            "L",
            "escape",
            "X",
            "escape",
            "E",
            "escape",
            "ctrl+n",
            "escape",
            "U",
            "escape",
            "C",
            "escape",
        ),
    ),
    "comments": (
        "j",
        "enter",
        "j",
        "+",
        "escape",
        *("c", "@", "wait", "escape", "escape", "F", "escape", "S", "escape", "i", "escape"),
        "X",
        "escape",
        "e",
        "escape",
        "escape",
        "]",
        "wait",
        "]",
        "/",
        "x",
    ),
    "inbox": (
        *("j", "/", "x", "escape", "escape", "S", "escape", "F", "escape", "w", "escape", "X", "escape", "ctrl+o"),
        *("escape", "]", "]", "]", "j", "c", "escape", "f2", "escape", "d", "u", "enter", "wait"),
    ),
}
"""Keys that open every view and dialog. They do not depend on titles."""


def make_hostile(library: Path) -> None:
    """Make every text in a library hostile."""
    db = sqlite3.connect(library)
    with db:
        for path, body in db.execute("SELECT path, body FROM documents").fetchall():
            if "/folder" not in path:
                document = _poisoned(json.loads(body), pages := set[str]())
                db.execute("UPDATE documents SET body = ? WHERE path = ?", (json.dumps(document), path))
                for page in pages:
                    (text,) = db.execute("SELECT body FROM blobs WHERE hash = ?", (page,)).fetchone()
                    if HOSTILE.encode() not in text:
                        poisoned = _PAGE.format(HOSTILE).encode() + text
                        db.execute("UPDATE blobs SET body = ? WHERE hash = ?", (poisoned, page))
        db.execute("UPDATE sections SET title = ?, body = ? || body", (HOSTILE, HOSTILE + " "))
    db.close()


def _poisoned(value: Any, pages: set[str], name: str = "") -> Any:
    """Return `value` with hostile texts. Add the hashes of page texts to `pages`."""
    if isinstance(value, dict):
        return {key: _poisoned(each, pages, key) for key, each in value.items() if key != "git"}
    if isinstance(value, list):
        return [_poisoned(each, pages, name) for each in value]
    if name == "text" and isinstance(value, str) and _HASH.fullmatch(value):
        pages.add(value)
    elif (name in _TEXTS or name == "text") and isinstance(value, str):
        return HOSTILE
    return value
