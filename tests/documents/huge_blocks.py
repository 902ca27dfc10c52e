"""Pages with one huge block each, by kind of block. A naive layout of such a block stops the app for seconds."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.texts import sentence


def _lines(count: int, of: Callable[[int], str]) -> str:
    return "".join(of(each) + "\n" for each in range(count))


def _code(number: int) -> str:
    return f"    {sentence(number, 1)} = {number}  # {sentence(number, 5)}"


def _nested(opening: str, inner: str, closing: str, depth: int) -> str:
    return opening * depth + inner + closing * depth


def _fenced(text: str, language: str = "", tag: str = "") -> str:
    fence = f"```{language}\n{text}```\n"
    return f"{{% code {tag} %}}\n{fence}{{% endcode %}}\n" if tag else fence


def _formula(text: str) -> str:
    return f"$$\n{text}\n$$\n"


def _html(tag: str, inner: str, depth: int) -> str:
    return f"<{tag}>" * depth + inner + f"</{tag}>" * depth


_WORDS = "A few words that stand deep within."
_TABS = '{% tabs %}\n{% tab title="One" %}\n'
_END_TABS = "{% endtab %}\n{% endtabs %}\n"
_COLUMN = "{% columns %}\n{% column %}\n" + sentence(4, 30) + "\n{% endcolumn %}\n{% column %}\n"
_END_COLUMN = "{% endcolumn %}\n{% endcolumns %}\n"
_CARDS = '<table data-view="cards"><thead><tr><th></th><th></th></tr></thead><tbody>'
_END_TABLE = "</tbody></table>\n"
_DETAILS = "<details open>\n\n<summary>More</summary>\n\n"


_ALL = "{% hint %}\n" + _TABS + _DETAILS + "{% stepper %}\n{% step %}\n> a\n\n"
_END_ALL = "{% endstep %}\n{% endstepper %}\n</details>\n" + _END_TABS + "{% endhint %}\n"
_UPDATE = '{% update date="2026-01-01" %}\n'


def _part(number: int) -> str:
    return f"## {sentence(number, 3)}\n\n{sentence(number, 50)}\n"


def _paragraphs(count: int) -> str:
    return _lines(count, lambda at: sentence(at, 9) + "\n")


def _matrix(rows: int, columns: int) -> str:
    cells = " \\\\\n".join(
        " & ".join(f"a_{{{row},{at}}}^{{{row + at}}}" for at in range(columns)) for row in range(rows)
    )
    return _formula(f"\\begin{{pmatrix}}\n{cells}\n\\end{{pmatrix}}")


def edited(text: str, word: str = "x") -> str:
    """Return a page with `word` added to every 49th line, or every 49th word of a page with few lines. The result always differs from `text`."""
    separator = "\n" if text.count("\n") > 200 else " "
    parts = text.split(separator)
    for index in range(20, len(parts), 49):
        if parts[index].strip().isalnum() or len(parts[index].split()) > 2:
            parts[index] += f" {word}"
    found = separator.join(parts)
    if found != text:
        return found
    lines = text.split("\n")
    longest = max(range(len(lines)), key=lambda number: len(lines[number]))
    middle = len(lines[longest]) // 2
    lines[longest] = f"{lines[longest][:middle]}{word}{lines[longest][middle:]}"
    return "\n".join(lines)


HUGE: dict[str, Callable[[int], str]] = {
    # The parameter is the approximate size of the page in kilobytes.
    "code": lambda n: _fenced(_lines(22 * n, _code), "python"),
    "code that wraps": lambda n: _fenced(_lines(6 * n, lambda at: _code(at) + " " + sentence(at, 14)), "python", 'overflow="wrap"'),
    "code with numbers": lambda n: _fenced(_lines(22 * n, _code), "python", 'lineNumbers="true" title="Much"'),
    "code of short lines": lambda n: _fenced("a\n" * (190 * n), "python"),
    "code of tabs": lambda n: _fenced("\t\t\t\ta\tb\n" * (110 * n), "go"),
    "code of wide letters": lambda n: _fenced("港の水位は今どれくらいか\n" * (27 * n)),
    "code in one line": lambda n: _fenced("x = 1; " * (143 * n) + "\n", "python"),
    "code in one line that wraps": lambda n: _fenced("x = 1; " * (143 * n) + "\n", "python", 'overflow="wrap"'),
    "code in one line of tabs": lambda n: _fenced("\ta" * (500 * n) + "\n", "python"),
    "code in one wide line": lambda n: _fenced("港の水位" * (80 * n) + "\n"),
    "code that is expandable": lambda n: _fenced(_lines(22 * n, _code), "python", 'expandable="true"'),
    "code in a hint": lambda n: f"{{% hint %}}\n{_fenced(_lines(22 * n, _code), 'python')}{{% endhint %}}\n",
    "code in an item": lambda n: "* item\n\n  ```\n" + _lines(22 * n, lambda at: f"  {_code(at)}") + "  ```\n",
    "code in pre": lambda n: f"<pre><code>{_lines(22 * n, _code)}</code></pre>\n",
    "code indented": lambda n: _lines(22 * n, lambda at: f"    {_code(at)}"),
    "codes": lambda n: "```\na\n```\n\n" * (40 * n),
    "diff": lambda n: _fenced(_lines(22 * n, lambda at: f"{'+-'[at % 2]}{_code(at)}"), "diff"),
    "csv": lambda n: _fenced(_lines(30 * n, lambda at: f"{at},{sentence(at, 4)}"), "csv"),
    "paragraph": lambda n: sentence(1, 160 * n) + "\n",
    "paragraph of lines": lambda n: _lines(20 * n, lambda at: sentence(at, 7)),
    "paragraph of breaks": lambda n: _lines(20 * n, lambda at: sentence(at, 7) + "\\"),
    "word": lambda n: "w" * (1000 * n) + "\n",
    "emoji": lambda n: "😀👩‍👩‍👧" * (60 * n) + "\n",
    "flags": lambda n: "🇫🇷" * (125 * n) + "\n",
    "named emoji": lambda n: ":smile: " * (125 * n) + "\n",
    "combining": lambda n: "a" + "\u0301" * (500 * n) + "\n",
    "combined letters": lambda n: "e\u0301o\u0308\u0323 " * (140 * n) + "\n",
    "Japanese": lambda n: "港の水位は今どれくらいか" * (27 * n) + "\n",
    "Thai": lambda n: "ระดับน้ำในท่าเรือ" * (20 * n) + "\n",
    "Arabic": lambda n: "مستوى الماء في الميناء " * (24 * n) + "\n",
    "links": lambda n: " ".join(f"[{sentence(at, 1)}](page-{at}.md)" for at in range(50 * n)) + "\n",
    "bold": lambda n: "**a** _b_ " * (100 * n) + "\n",
    "code spans": lambda n: "`a` b " * (160 * n) + "\n",
    "formulas in a line": lambda n: "$$\\frac{a}{b}$$ and " * (50 * n) + "\n",
    "images in a line": lambda n: "![a](b.png) " * (80 * n) + "\n",
    "heading": lambda n: "# " + sentence(1, 160 * n) + "\n",
    "list": lambda n: _lines(100 * n, lambda at: f"* item {at}"),
    "numbered list": lambda n: _lines(100 * n, lambda at: f"{at}. item"),
    "loose list": lambda n: _lines(50 * n, lambda at: f"* item {at}\n"),
    "tasks": lambda n: _lines(100 * n, lambda at: f"* [x] task {at}"),
    "item": lambda n: "* " + sentence(1, 160 * n) + "\n",
    "quote": lambda n: _lines(20 * n, lambda at: f"> {sentence(at, 7)}\n>"),
    "footnotes": lambda n: _lines(10 * n, lambda at: f"a[^{at}]\n\n[^{at}]: {sentence(at, 3)}\n"),
    "footnotes in a line": lambda n: "".join(f"a[^{at}] " for at in range(30 * n)) + "\n\n" + "".join(f"[^{at}]: b\n\n" for at in range(30 * n)),
    "table of rows": lambda n: "| a | b | c |\n| - | - | - |\n" + _lines(10 * n, lambda at: f"| {at} | {sentence(at, 4)} | {sentence(at, 9)} |"),
    "table of columns": lambda n: "|a" * n + "|\n" + "|-" * n + "|\n" + ("|" + "|".join(str(at) for at in range(n)) + "|\n") * 20,
    "cell": lambda n: f"<table><tr><td>one</td><td>{sentence(1, 160 * n)}</td></tr></table>\n",
    "cell in markdown": lambda n: "| a | b |\n| - | - |\n| one | " + sentence(1, 160 * n) + " |\n",
    "table in HTML": lambda n: "<table>" + _lines(10 * n, lambda at: f"<tr><td>{at}</td><td>{sentence(at, 9)}</td></tr>") + "</table>\n",
    "merged cells": lambda n: "<table>" + _lines(10 * n, lambda at: f'<tr><td rowspan="2">{at}</td><td>{sentence(at, 5)}</td></tr>') + "</table>\n",
    "columns in HTML": lambda n: "<table>" + ("<tr>" + "<td>ab</td>" * n + "</tr>") * 20 + "</table>\n",
    "cards": lambda n: _CARDS + _lines(10 * n, lambda at: f"<tr><td>{sentence(at, 2)}</td><td>{sentence(at, 9)}</td></tr>") + _END_TABLE,
    "card": lambda n: f"{_CARDS}<tr><td>a</td><td>{sentence(1, 160 * n)}</td></tr>{_END_TABLE}",
    "hints in hints": lambda n: _nested("{% hint %}\n", _WORDS + "\n", "{% endhint %}\n", n),
    "hints in hints, much in each": lambda n: _nested(f'{{% hint style="info" %}}\n{sentence(3, 60)}\n\n', _WORDS + "\n", "{% endhint %}\n", n),
    "lists in lists": lambda n: _lines(min(n, 600), lambda at: "  " * at + "* a"),
    "lists in lists on a line": lambda n: "* " * n + "a\n",
    "lists in lists, much in each": lambda n: _lines(min(n, 300), lambda at: "  " * at + "* " + sentence(at, 60)),
    "quotes in quotes": lambda n: ">" * n + " a\n",
    "quotes in quotes, much in each": lambda n: _lines(min(n, 300), lambda at: ">" * (at + 1) + " " + sentence(at, 60) + "\n" + ">" * (at + 1)),
    "details in details": lambda n: _nested(_DETAILS, _WORDS + "\n\n", "</details>\n", n),
    "details in details, much in each": lambda n: _nested(_DETAILS + sentence(4, 60) + "\n\n", _WORDS + "\n\n", "</details>\n", n),
    "tabs in tabs": lambda n: _nested(_TABS, _WORDS + "\n", _END_TABS, n),
    "steps in steps": lambda n: _nested("{% stepper %}\n{% step %}\n" + sentence(4, 30) + "\n\n", _WORDS + "\n", "{% endstep %}\n{% endstepper %}\n", n),
    "columns in columns": lambda n: _nested(_COLUMN, _WORDS + "\n", _END_COLUMN, n),
    "HTML tables in tables": lambda n: _html("table", "x", 1) + "<table><tr><td>" * n + "a" + "</td></tr></table>" * n + "\n",
    "HTML lists": lambda n: "<ul><li>a" * n + "</li></ul>" * n + "\n",
    "conditions": lambda n: _nested("{% if a %}\n" + sentence(4, 30) + "\n\n", _WORDS + "\n", "{% endif %}\n", n),
    "all kinds in each other": lambda n: _nested(_ALL, _WORDS + "\n", _END_ALL, max(1, n // 5)),
    "hint": lambda n: "{% hint %}\n" + _lines(15 * n, lambda at: sentence(at, 9) + "\n") + "{% endhint %}\n",
    "details": lambda n: _DETAILS + _lines(15 * n, lambda at: sentence(at, 9) + "\n") + "</details>\n",
    "tabs": lambda n: "{% tabs %}\n" + _lines(2 * n, lambda at: f'{{% tab title="Tab {at}" %}}\n{sentence(at, 50)}\n{{% endtab %}}') + "{% endtabs %}\n",
    "steps": lambda n: "{% stepper %}\n" + _lines(2 * n, lambda at: f"{{% step %}}\n{_part(at)}{{% endstep %}}") + "{% endstepper %}\n",
    "columns": lambda n: "{% columns %}\n" + f"{{% column %}}\n{_lines(10 * n, lambda at: sentence(at, 9) + chr(10))}{{% endcolumn %}}\n" * 2 + "{% endcolumns %}\n",
    "many columns": lambda n: "{% columns %}\n" + f"{{% column %}}\n{sentence(1, 20)}\n{{% endcolumn %}}\n" * (5 * n) + "{% endcolumns %}\n",
    "updates": lambda n: "{% updates %}\n" + _lines(2 * n, lambda at: f"{_UPDATE}{_part(at)}{{% endupdate %}}") + "{% endupdates %}\n",
    "prompt": lambda n: "{% prompt description=\"Ask\" %}\n" + _lines(10 * n, lambda at: sentence(at, 9)) + "{% endprompt %}\n",
    "conflict": lambda n: f"<<<<<<< main\n{_paragraphs(10 * n)}=======\n{_paragraphs(9 * n)}>>>>>>> #1\n",
    "figures": lambda n: '<figure><img src="a.png" alt=""><figcaption><p>b</p></figcaption></figure>\n\n' * (10 * n),
    "caption": lambda n: f'<figure><img src="a.png" alt=""><figcaption><p>{sentence(1, 160 * n)}</p></figcaption></figure>\n',
    "images": lambda n: '<div><img src="a.png"> <img src="b.png"></div>\n\n' * (10 * n),
    "embed": lambda n: "{% embed url=\"https://example.com/" + "a" * (1000 * n) + "\" %}\n" + sentence(1, 50) + "\n{% endembed %}\n",
    "embeds": lambda n: '{% embed url="https://example.com/a" %}\n\n' * (20 * n),
    "unknown tag": lambda n: '{% frob a="' + "b" * (1000 * n) + '" %}\n' + sentence(1, 50) + "\n{% endfrob %}\n",
    "file": lambda n: '{% file src="a.pdf" %}\n' + sentence(1, 160 * n) + "\n{% endfile %}\n",
    "matrix": lambda n: _matrix(max(2, int((n * 20) ** 0.5)), max(2, int((n * 20) ** 0.5))),
    "matrix that may be set": lambda n: _formula("\\begin{matrix}" + "\\\\".join("&".join("a" for _ in range(30)) for _ in range(30)) + "\\end{matrix}"),
    "matrices in a row": lambda n: _formula("\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}" * 55),
    "matrices in matrices": lambda n: _formula("\\begin{pmatrix}a&" * 60 + "b" + "\\end{pmatrix}" * 60),
    "fractions": lambda n: _formula("\\frac{a}{b}+" * min(70 * n, 150) + "c"),
    "fractions in fractions": lambda n: _formula("\\frac{1}{1+" * 120 + "x" + "}" * 120),
    "braces": lambda n: _formula("{" * 900 + "x" + "}" * 900),
    "scripts in scripts": lambda n: _formula("x^{" * 400 + "y" + "}" * 400),
    "roots in roots": lambda n: _formula("\\sqrt{" * 250 + "y" + "}" * 250),
    "aligned": lambda n: _formula("\\begin{aligned}" + "a&=b\\\\" * (100 * n) + "\\end{aligned}"),
    "cases": lambda n: _formula("\\begin{cases}" + "a&b\\\\" * 240 + "\\end{cases}"),
    "array": lambda n: _formula("\\begin{array}{cc}" + "\\frac{a}{b}&b\\\\" * 100 + "\\end{array}"),
    "left and right": lambda n: _formula("\\left(" * 130 + "x" + "\\right)" * 130),
    "fraction in a row": lambda n: _formula("\\over a " * 240),
    "formula of words": lambda n: _formula("\\text{" + sentence(1, 160 * n) + "}"),
    "formula in a line": lambda n: "A $$" + "x^{2}+" * min(160 * n, 650) + "y$$ formula.\n",
    "formulas": lambda n: (_formula("\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}\\frac{a}{b}") + "\n") * (5 * n),
    "flowchart": lambda n: _fenced("graph TD\n" + _lines(min(10 * n, 300), lambda at: f"a{at} --> a{at + 1}"), "mermaid"),
    "flowchart of ways": lambda n: _fenced("graph LR\n" + _lines(180, lambda at: f"a{at % 18} --> b{at * 7 % 19}"), "mermaid"),
    "subgraphs": lambda n: _fenced("graph TD\n" + _lines(120, lambda at: f"subgraph s{at}") + "a --> b\n" + "end\n" * 120, "mermaid"),
    "sequence": lambda n: _fenced("sequenceDiagram\n" + _lines(180, lambda at: f"a{at % 9}->>b{at % 7}: {sentence(at, 2)}"), "mermaid"),
    "classes": lambda n: _fenced("classDiagram\n" + _lines(180, lambda at: f"A{at} <|-- B{at % 9}"), "mermaid"),
    "states": lambda n: _fenced("stateDiagram-v2\n" + _lines(180, lambda at: f"s{at} --> s{at + 1}"), "mermaid"),
    "entities": lambda n: _fenced("erDiagram\n" + _lines(150, lambda at: f"A{at % 30} ||--o{{ B{at % 29} : has"), "mermaid"),
    "mindmap": lambda n: _fenced("mindmap\n  root\n" + _lines(70, lambda at: "  " * (at + 2) + "a"), "mermaid"),
    "gantt": lambda n: _fenced("gantt\n  title A\n" + _lines(150, lambda at: f"  task {at} :a{at}, 2026-01-01, 30d"), "mermaid"),
    "pie": lambda n: _fenced("pie\n" + _lines(250, lambda at: f'"a{at}" : {at + 1}'), "mermaid"),
    "git graph": lambda n: _fenced("gitGraph\n" + _lines(200, lambda at: f"commit id: \"{at}\""), "mermaid"),
    "timeline": lambda n: _fenced("timeline\n" + _lines(250, lambda at: f"{at} : {sentence(at, 1)}"), "mermaid"),
    "diagram too long": lambda n: _fenced("graph TD\n" + _lines(60 * n, lambda at: f"a{at} --> a{at + 1}"), "mermaid"),
    "diagrams": lambda n: _fenced("graph TD\n" + _lines(40, lambda at: f"a{at} --> a{at + 1}"), "mermaid") * 40,
    "marked source": lambda n: "|a" * (400 * n) + "\n" + "|-" * (400 * n) + "\n",
    "front matter": lambda n: "---\n" + _lines(40 * n, lambda at: f"key{at}: {sentence(at, 2)}") + "---\n\nWords.\n",
}  # fmt: skip
