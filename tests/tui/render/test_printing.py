"""Printed pages show what readers of the app expand, select or scroll to."""

from __future__ import annotations

import re

from octavo.documents.source_reader import parse
from octavo.tui.render.comparison import compare
from octavo.tui.render.printing import diff_as_text, document_as_text

WIDE = "moor --berth " + " ".join(f"cleat{number}" for number in range(30))
PAGE = f"""\
* Winter
  {{% tabs %}}
  {{% tab title="Ice" %}}
  <details><summary>Frost</summary>

  Salt the steps.

  </details>
  {{% endtab %}}
  {{% tab title="Thaw" %}}
  Sweep the quay.
  {{% endtab %}}
  {{% endtabs %}}

```sh
{WIDE}
```

{{% swagger method="get" path="/berths" summary="All berths" %}}
{{% swagger-response status="200" description="Found" %}}
With their cranes.
{{% endswagger-response %}}
{{% endswagger %}}
"""


def test_printed_page_has_all_words_of_hidden_and_wide_blocks() -> None:
    text = document_as_text(parse(PAGE), 60, colors=False, has_escapes=False)
    shown = [
        "Winter",
        "Ice",
        "Frost",
        "Salt the steps.",
        "Thaw",
        "Sweep the quay.",
        *WIDE.split(),
        "With their cranes.",
    ]
    places = [text.find(each) for each in shown]
    assert -1 not in places
    assert places == sorted(places)
    assert not re.search(r"more column|… │| of 2", text)
    assert max(map(len, text.split("\n"))) <= 60


def test_printed_diff_has_all_lines_of_added_code_and_names_no_keys() -> None:
    long_code = "\n".join(f"cleat {number}" for number in range(30))
    kept = "# Harbour\n\n" + "".join(f"Berth {number} is free.\n\n" for number in range(9))
    code = f'{{% code expandable="true" %}}\n```sh\n{long_code}\n```\n{{% endcode %}}\n\n```sh\n{WIDE}\n```\n'
    text = re.sub(r"\x1b\[[0-9;]*m", "", diff_as_text(compare(kept, kept + code), 60, 1, colors=True))
    assert not [each for each in (*long_code.split("\n"), *WIDE.split()) if each not in text]
    assert "unchanged" in text
    assert not re.search(r"more column|more line|expand", text)
    assert max(map(len, text.split("\n"))) <= 60
