"""Pages to measure with: made ones of any length, and real ones from the folder that OCTAVO_CORPUS names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

from octavo.api.safety import text as safe

TITLE = "The first title"

_SPOKEN = (
    "harbour tide signal owner lantern crossing pilot channel record station answer bearing mooring weather chart "
    "current vessel captain notice passage ordinary measure morning evening company quarter distance before between"
)
_WORDS = _SPOKEN.split()


def made_page(size: int) -> str:
    """A page of about `size` characters with most of what pages hold, in parts as short as those of real pages (a paragraph
    of theirs has 55 characters), the same each time."""
    parts = [f"# {TITLE}\n"]
    length = 0
    for part in _parts():
        parts.append(part)
        length += len(part) + 1
        if length >= size:
            break
    return "\n".join(parts)


def real_page(size: int) -> str:
    """Real pages one after the other, about `size` characters, from the first again when there are no more.

    They are made safe, as pages are when they are answered. Raises FileNotFoundError without OCTAVO_CORPUS.
    """
    folder = Path(os.environ.get("OCTAVO_CORPUS", "/nonexistent"), "pages")
    if not (paths := sorted(folder.glob("*.md"))):
        raise FileNotFoundError(f"{folder} holds no pages")
    parts = [f"# {TITLE}\n"]
    for path in cycle(paths):
        text = path.read_text("utf-8")
        if text.startswith("---\n"):
            text = text.partition("\n---\n")[2]
        parts.append(text)
        if sum(map(len, parts)) >= size:
            break
    return safe("\n\n".join(parts))


def long_blocks() -> dict[str, str]:
    """Pages that are one long block each, by what it is."""
    rows = "".join(f"| {sentence(each, 3)} | {each} | {sentence(each, 6)} |\n" for each in range(3000))
    table = f"| Name | Count | What it is |\n| --- | ---: | --- |\n{rows}"
    cells = "".join(f"<tr><td>{sentence(each, 3)}</td><td>{sentence(each, 6)}</td></tr>\n" for each in range(1200))
    paragraphs = "".join(f"{sentence(each, 30)}\n\n" for each in range(1000))
    steps = (f"{{% step %}}\n## {sentence(each, 3)}\n\n{sentence(each, 30)}\n{{% endstep %}}\n" for each in range(300))
    code = "".join(f"    {sentence(each, 1)} = {each}  # {sentence(each, 5)}\n" for each in range(995))
    return {
        "list": "".join(f"* {sentence(each, 12)} **{sentence(each, 2)}**\n" for each in range(2200)),
        "loose list": "".join(f"{each}. {sentence(each, 12)}\n\n   {sentence(each, 9)}\n\n" for each in range(1200)),
        "quote": "".join(f"> {sentence(each, 30)}\n>\n" for each in range(1100)),
        "table": table,
        "table in HTML": f"<table><tbody>{cells}</tbody></table>\n",
        "table in a hint": f'{{% hint style="info" %}}\n{table[: len(table) // 2]}\n\n{{% endhint %}}\n',
        "code": f"```python\n{code}```\n",
        "paragraph": " ".join(sentence(each, 40) for each in range(3300)) + "\n",
        "word": "x" * 1_000_000 + "\n",
        "Japanese": "港の水位は今どれくらいか" * 80_000 + "\n",
        "links": " ".join(f"[{sentence(each, 2)}](page-{each}.md)" for each in range(2400)) + "\n",
        "hint": f'{{% hint style="info" %}}\n{paragraphs}{{% endhint %}}\n',
        "expandable": f"<details open>\n\n<summary>Much</summary>\n\n{paragraphs}</details>\n",
        "tabs": f'{{% tabs %}}\n{{% tab title="One" %}}\n{paragraphs}{{% endtab %}}\n{{% endtabs %}}\n',
        "steps": f"{{% stepper %}}\n{''.join(steps)}{{% endstepper %}}\n",
    }


def sentence(number: int, words: int) -> str:
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
