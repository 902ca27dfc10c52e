"""Pages of any length: made ones, and real ones from the folder that OCTAVO_CORPUS names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

TITLE = "The first title"

_SPOKEN = (
    "harbour tide signal owner lantern crossing pilot channel record station answer bearing mooring weather chart "
    "current vessel captain notice passage ordinary measure morning evening company quarter distance before between"
)
_WORDS = _SPOKEN.split()


def made_page(size: int) -> str:
    """Return a page of about `size` characters with most kinds of blocks.

    The blocks are as short as those of real pages, whose paragraphs have 55 characters on average.
    """
    parts = [f"# {TITLE}\n"]
    length = 0
    for part in _parts():
        parts.append(part)
        length += len(part) + 1
        if length >= size:
            break
    return "\n".join(parts)


def real_page(size: int) -> str:
    """Return a page of about `size` characters from the pages in OCTAVO_CORPUS. Empty if there are none."""
    paths = sorted(Path(os.environ.get("OCTAVO_CORPUS", "/nonexistent"), "pages").glob("*.md"))
    parts = [f"# {TITLE}\n"]
    for path in cycle(paths):
        parts.append(re.sub(r"\A---\n.*?\n---\n", "", path.read_text("utf-8"), flags=re.DOTALL))
        if sum(map(len, parts)) >= size:
            return "\n\n".join(parts)
    return ""


def long_block(kind: str) -> str:
    """Return a page of one long block: a `table`, a `paragraph` or a `stepper`."""
    match kind:
        case "table":
            rows = "".join(f"| {sentence(each, 3)} | {each} | {sentence(each, 6)} |\n" for each in range(3000))
            block = f"| Name | Count | Text |\n| --- | ---: | --- |\n{rows}"
        case "paragraph":
            block = " ".join(sentence(each, 40) for each in range(3300)) + "\n"
        case _:
            steps = (
                f"{{% step %}}\n## {sentence(each, 3)}\n\n{sentence(each, 30)}\n{{% endstep %}}\n"
                for each in range(300)
            )
            block = f"{{% stepper %}}\n{''.join(steps)}{{% endstepper %}}\n"
    return f"# {TITLE}\n\n{block}"


def sentence(number: int, words: int) -> str:
    """Return so many words, which depend on `number`."""
    return " ".join(_WORDS[(number * 7 + place * (3 + number % 5)) % len(_WORDS)] for place in range(words))


def _parts() -> Iterator[str]:
    for number in count():
        words = sentence(number, 5 + number % 9)
        yield f"## Part {number}: {sentence(number, 3)}\n"
        yield f"{words}, **{sentence(number, 2)}**, `{sentence(number, 1)}` and [a link](part-{number}.md).\n"
        yield f"{sentence(number + 1, 4 + number % 13)}, and _{sentence(number, 2)}_.\n"
        match number % 8:
            case 0:
                yield "".join(f"* {sentence(number + each, 5)}\n" for each in range(6))
            case 1:
                rows = "".join(
                    f"| {sentence(number + each, 1)} | {each} | {sentence(each, 4)} |\n" for each in range(6)
                )
                yield f"| Name | Count | What it is |\n| --- | ---: | --- |\n{rows}"
            case 2:
                lines = "".join(f"    {sentence(each, 1)} = {each}\n" for each in range(8))
                yield f"```python\ndef part_{number}():\n{lines}```\n"
            case 3:
                yield f'{{% hint style="info" %}}\n{sentence(number, 12)}\n{{% endhint %}}\n'
            case 4:
                tabs = "".join(
                    f'{{% tab title="{each}" %}}\n{sentence(number, 9)}\n{{% endtab %}}\n\n' for each in ("One", "Two")
                )
                yield f"{{% tabs %}}\n{tabs}{{% endtabs %}}\n"
            case 5:
                yield f"<details>\n\n<summary>{sentence(number, 4)}</summary>\n\n{words}\n\n</details>\n"
            case 6:
                yield "".join(f"{each + 1}. {sentence(number + each, 5)}\n" for each in range(5))
            case _:
                yield f"> {sentence(number, 12)}\n"
