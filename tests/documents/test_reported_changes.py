"""The lines by which a diff reports each kind of change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

import pytest

from octavo.documents.diff import diff
from octavo.documents.diff_model import AddedBlock, RemovedBlock, RestructuredBlocks, UnchangedBlocks
from octavo.documents.source_reader import parse
from tests.documents.diff_lines import lines
from tests.documents.rebuilt_pages import check_rebuilt_pages, moves_without_effect

ROWS = "| Name | What it does |\n| --- | --- |\n| list | shows all of them |\n| get | shows one of them |\n| put | changes one |\n"
ONE, TWO, THREE = ROWS.splitlines(keepends=True)[2:]
HEAD = ROWS.removesuffix(ONE + TWO + THREE)
SENTENCE = "A paragraph that is long enough to be known again where it goes."
CODE = "```python\ndef main():\n    for each in items:\n        print(each)\n        time.sleep(10)\n```"

FUNCTION = "Scroll down to function {} and enter the address."
SPOTS = ("The boats on the long pier", "The lamps on the harbour wall", "The pilots of the lake")
OTHER = "Another text, with quite other words, that says nothing of the kind."
MAKE = "```sh\nmake install --all\n```"
TIDES = """\
### Tides

#### Spring

1. **High**: the water comes up to the wall.
2. **Low**: the water leaves the mud.

#### Neap

1. **Half**: the water comes up to the steps.
"""
PART = f"{SENTENCE}\n\n{MAKE}"
STEPPER = "{% stepper %}\n{% step %}\n### A\n\nINSIDE\n{% endstep %}\n{% endstepper %}"
TWO_TABS = """\
{{% tabs %}}
{{% tab title="{first}" %}}
Run it as {one} owner of this harbour, {when}.
{{% endtab %}}

{{% tab title="{second}" %}}
Run it as {other} owner of this harbour, {when}.
{{% endtab %}}
{{% endtabs %}}
"""
WAIT, LAMPS = "The boats wait at the gate until the water rises", "The lamps are lit at the wall and burn all night"
REPEATED_ITEM = (
    f"* Rules:\n  * {WAIT}\n  * {LAMPS}\n  * {WAIT}\n\n    ![map](map.png)\n\n  * {SENTENCE}\n\n    ![all](all.png)\n"
)
CONTAINERS = {
    "hint": '{% hint style="info" %}\nINSIDE\n{% endhint %}',
    "expandable": "<details>\n\n<summary>More</summary>\n\nINSIDE\n\n</details>",
    "step": STEPPER,
    "tab": '{% tabs %}\n{% tab title="A" %}\nINSIDE\n{% endtab %}\n{% endtabs %}',
}
NAMES_OF_CONTAINERS = {"hint": "a hint", "expandable": "an expandable “More”", "step": "a step", "tab": "a tab"}


def indented(text: str) -> str:
    """Return the text indented as a part of a list item."""
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))


def section(level: int, name: str, about: str) -> str:
    """Return a section that is similar to its neighbors."""
    example = f'```json\n{{"type": "{name}"}}\n```'
    table = f"| Field | Meaning |\n| --- | --- |\n| type | always {name} |\n| {name[:4]} | what is in it |\n"
    return f"{'#' * level} {name}\n\nSent when {about}.\n\n{example}\n\n{table}\n---\n\n"


def typed(name: str, prefix: str, *fields: str) -> str:
    """Return a section whose subsections are similar to those of its neighbors."""
    described = "".join(f"#### `{prefix}{field}` → `String`\n\n`ENABLED`\n\n" for field in fields)
    return f"## {name}\n\n### Constructors\n\n#### `{prefix}{name}()`\n\n---\n\n### Properties\n\n{described}---\n\n"


STEPS = f"1. {{}}\n\n{indented(MAKE)}\n\n2. {{}}"
ENGLISH = ("Build the gate with it:", "Open the gate and look whether the water comes.")
JAPANESE = ("門を作ります：", "門を開けて、水が来るかどうかを見てください。")
INFO = '{{% hint style="info" %}}\n{}\n{{% endhint %}}'
FIGURE = '<figure><img src="{}.png" alt=""><figcaption><p>{}</p></figcaption></figure>'
PICTURES = [FIGURE.format(name, "") for name in ("list", "leave", "Boats of today", "Boat")]
OPERATION_TAG = '{{% openapi-operation spec="{}" path="/boats{}" method="{}" %}}\n{{% endopenapi-operation %}}\n\n'
IOS_TAB = '{{% tab title="{}" %}}\n'
OPEN_GATE = "+ (void) openGate: (nonnull NSDictionary<NSString*, NSString*>*) names;"
MOVE_BOATS = '[Harbour moveBoats:@{@"first" : @"Anna", @"second": @"Bertha", @"port": @"Wick"}];'
BERTH, MAST, OARS = (
    ("berth-free", "the berth is free"),
    ("mast-down", "the mast is down"),
    ("oars-lost", "oars are lost"),
)
RETURNS = "Return values:\n\n| Name | Type |\n| --- | --- |\n"

OWNER = "| Owner | string |\n"
FIELDS = f"| Field | Type |\n| --- | --- |\n| Name | string |\n{OWNER}| Length | string |\n| Flag | string |\n"
PIER_TABLE = "#### Parameters\n\n| Name | Meaning |\n| --- | --- |\n| `String` | Name of the pier to search |\n"
MOVES_BOATS = "Moves each boat of a pier to the next free berth, in the order of the book of the harbour office."

TWO_ROWS = (
    f"{HEAD}| retries | how often it is tried again |\n| default of retries | three times, then it gives up |\n{THREE}"
)
ONE_ROW = (
    "| Name | What it does | Default |\n| --- | --- | --- |\n"
    f"| retries | how often it is tried again | three times, then it gives up |\n{THREE.rstrip()}|\n"
)
NAMES = ("ABI", "HTTP", "Contract", "Wallet")
PLACES = ("get-token-balances.md", "follow-all-users.md")
LINKS = "\n".join(f'{{% content-ref url="{each}" %}}\n[{each}]({each})\n{{% endcontent-ref %}}\n' for each in PLACES)
CARDS = (
    '<table data-view="cards"><thead><tr><th></th><th data-hidden data-card-target data-type="content-ref"></th></tr></thead>'
    + "".join(f'<tr><td>Card {at}</td><td><a href="{each}">{each}</a></td></tr>' for at, each in enumerate(PLACES))
    + "</table>"
)
OPERATION = """\
{% swagger method="post" path="/boats/{name}" baseUrl="https://api.test" summary="Add a boat" %}
{% swagger-description %}
Puts a boat into the harbour, where it stays until it is taken out again.
{% endswagger-description %}

{% swagger-parameter in="path" name="name" type="string" required="true" %}
What the boat is called
{% endswagger-parameter %}

{% swagger-parameter in="query" name="berth" type="integer" %}
Where it shall lie
{% endswagger-parameter %}

{% swagger-response status="201: Created" description="The boat is there" %}
```json
{"berth": 7}
```
{% endswagger-response %}
{% endswagger %}
"""
WRITTEN_OUT = """\
## Add a boat

<mark style="color:green;">`POST`</mark> `https://api.test/boats/{name}`

Puts a boat into the harbour, where it stays until it is taken out again.

#### Path Parameters

| Name                                   | Type   | Description             |
| -------------------------------------- | ------ | ----------------------- |
| name<mark style="color:red;">\\*</mark> | string | What the boat is called |

#### Query Parameters

| Name  | Type    | Description          |
| ----- | ------- | -------------------- |
| berth | integer | Where it should lie |

{% tabs %}
{% tab title="201: Created The boat is there" %}
```json
{"berth": 7}
```
{% endtab %}
{% endtabs %}
"""
OLDER_TAGS = """\
{% api-method method="post" host="https://api.test" path="/boats/{name}" %}
{% api-method-summary %}
Add a boat
{% endapi-method-summary %}

{% api-method-description %}
Puts a boat into the harbour, where it stays until it is taken out again.
{% endapi-method-description %}

{% api-method-spec %}
{% api-method-request %}
{% api-method-path-parameters %}
{% api-method-parameter name="name" type="string" required=true %}
What the boat is called
{% endapi-method-parameter %}
{% endapi-method-path-parameters %}

{% api-method-query-parameters %}
{% api-method-parameter name="berth" type="integer" %}
Where it should lie
{% endapi-method-parameter %}
{% endapi-method-query-parameters %}
{% endapi-method-request %}

{% api-method-response %}
{% api-method-response-example httpCode=201 %}
{% api-method-response-example-description %}
Created · The boat is there
{% endapi-method-response-example-description %}

```json
{"berth": 7}
```
{% endapi-method-response-example %}
{% endapi-method-response %}
{% endapi-method-spec %}
{% endapi-method %}
"""
REFERENCE = """\
{% openapi-operation spec="boats" path="/boats/{name}" method="post" %}
[OpenAPI boats](https://api.test/boats.yaml)
{% endopenapi-operation %}
"""


def _berths(shift: int, *ships: str) -> str:
    return "".join(
        f"{at}. Berth of the {ship}\n   * Number: 00000000000000000000000{at + shift}\n"
        for at, ship in enumerate(ships, 1)
    )


def _other_berth(title: str, old: int, new: int, *words: str) -> list[str]:
    number = f"Number: [-00000000000000000000000{old}][+00000000000000000000000{new}]"
    inside = ["    ~ list", "      ~ item", "        ~ paragraph", f"          {number}"]
    return ["  ~ item", f"    {title}", *(f"      {line}" for line in words), *inside]


PLACE = "https://harbour.example/"
CHANGES = {
    "a heading put into a paragraph, with the word below it": (
        f"{OTHER}\nHarbour boats are listed in groups. {3 * SENTENCE}\n",
        f"{OTHER}\n\n## Harbour boats in groups\n\nHarbour boats are listed in groups. {3 * SENTENCE}\n",
    ),
    "items of two lists turned into paragraphs": (
        f"* {SENTENCE}\n* {OTHER}\n\n## Boats\n\n* {WAIT}\n",
        f"{SENTENCE}\n\n{OTHER}\n\n{WAIT}\n",
    ),
    "an item with a new link, moved above another": (
        "".join(f"* [Quay/{name}]({PLACE}{n})\n" for n, name in enumerate(("Boats", "Nets", "Ropes"))),
        "".join(f"* [Quay/{name}]({PLACE}{n})\n" for n, name in enumerate(("Boats", "Ropes", "Nets", "Robes"), 7)),
    ),
    "an item that is mostly a link, moved above another": (
        "* [How to sell a boat](/sell)\n* [How to lend a boat](/lend)\n* [How to test a boat](/test) - soon\n",
        "* [How to sell a boat](/sell)\n* [How to test a boat](/test)\n* [How to lend a ship](/ship)\n"
        "* [How to delete a sail](/sail)\n",
    ),
    "highlighted lines and notes of code": (
        "<pre><code>one\n<strong>two\n</strong>three</code></pre>\n",
        '<pre><code><strong>one\n</strong>two\n<a data-footnote-ref href="#user-content-fn-5">three</a></code></pre>\n',
    ),
    "a row folded into a column": (TWO_ROWS, ONE_ROW),
    "a row made of a column": (ONE_ROW, TWO_ROWS),
    "numbers that make each text equal to the next": (
        "".join(f"{place}:\n\n{FUNCTION.format(n)}\n\n" for n, place in enumerate(SPOTS)),
        "".join(f"{place}:\n\n{FUNCTION.format(n)}\n\n" for n, place in enumerate(SPOTS, 1)),
    ),
    "an item moved to the list above, and a section with a similar item": (
        f"* One\n* Two\n\n## Boats\n\n* Three\n* Four\n* {WAIT}\n",
        f"* One\n* {WAIT}\n* Two\n\n## Boats\n\n* Three\n* Four\n\n## Lamps\n\n* {WAIT} again\n* Five\n",
    ),
    "a picture replaced before a new section with a picture": (
        f"# Boats\n\n{SENTENCE}\n\n![](pictures/SampleOfBoats.png)\n\n## Lamps\n",
        f"# Boats\n\n{SENTENCE}\n\n![](pictures/new_Dl6it1R1.png)\n\n## Pilots\n\n{OTHER}\n\n![](image.png)"
        "\n\n## Lamps\n",
    ),
    "a row whose end was lost": (
        "<table><tr><td>pairId</td><td>The pair of it</td></tr><tr><td>price</td><td>What it costs in the market</td></tr></table>",
        "<table><tr><td>pairId</td><td>The pair of it</td><td>price</td><td>What it costs on the market</td></tr></table>",
    ),
    "a row folded into the cell above": (
        f"{HEAD}| list | shows all of them |\n| | with their names and sizes |\n{THREE}",
        f"{HEAD}| list | <p>shows all of them</p><p>with their names and sizes</p> |\n{THREE}",
    ),
    "links made into cards": (LINKS, CARDS),
    "cards made into links": (CARDS, LINKS),
    "headings made into sections": (
        "".join(f"### {name.title()}\n\nAll about {name}.\n\n" for name in NAMES),
        "".join(f"<details>\n\n<summary>{name}</summary>\n\nAll about {name}.\n\n</details>\n\n" for name in NAMES),
    ),
    "a column less of which none has a title": (
        "| | | |\n|-|-|-|\n| From | AA | wallet of one\n| | EOA | wallet of two |\n| | CEX | wallet of three |\n",
        "| | |\n|-|-|\n| AA | wallet of one\n| EOA | wallet of all |\n| CEX | wallet of three |\n",
    ),
    "blanks at the end of lines in a cell": (
        "<table><tr><td>One:  <br>two <br>three</td></tr></table>",
        "<table><tr><td>One:<br>two<br>three</td></tr></table>",
    ),
    "an operation written out in blocks": (f"# Boats\n\n{OPERATION}", f"# Boats\n\n{WRITTEN_OUT}"),
    "blocks made into an operation": (f"# Boats\n\n{WRITTEN_OUT}", f"# Boats\n\n{OPERATION}"),
    "two operations written out in blocks": (
        OPERATION + "\n" + OPERATION.replace("post", "delete").replace("boat", "barge"),
        f"One more.\n\n{WRITTEN_OUT}\n"
        + WRITTEN_OUT.replace("POST", "DELETE").replace("boat", "barge").replace("should", "shall"),
    ),
    "an operation in older tags": (OLDER_TAGS, OPERATION),
    "an operation that a specification describes now": (OPERATION, REFERENCE),
    "a block more": ("One.\n\nThree.", "One.\n\nTwo.\n\nThree."),
    "a block less": ("One.\n\nTwo.\n\nThree.", "One.\n\nThree."),
    "words": ("The tide turns at six.", "The tide has turned at six."),
    "all words": ("The tide turns at six.", "Boats leave whenever they are full."),
    "paragraphs translated": (
        "# T\n\nThe tide turns at six.\n\nBoats leave when full.",
        "# T\n\nDie Flut kentert um sechs.\n\nVolle Boote legen ab.",
    ),
    "a short item elsewhere": ("* one\n* two\n* three", "* two\n* three\n* one"),
    "a section elsewhere and at another level": (
        f"## Tides\n\n{SENTENCE}\n\n## Boats\n\nOne.\n\nTwo.",
        f"## Boats\n\nOne.\n\nTwo.\n\n### Tides\n\n{SENTENCE}",
    ),
    "text taken out of an item": (
        f"* The harbour has a owner.\n\n{indented(TIDES)}\n## Boats",
        f"* The harbour has a owner.\n\n{TIDES.replace('### Tides', '#### Tides')}\n## Boats",
    ),
    "text taken out of an item between others": (
        f"1. One.\n2. Two.\n\n{indented(PART)}\n\n3. Three.",
        f"1. One.\n2. Two.\n\n{SENTENCE}\n\n{MAKE}\n\n3. Three.",
    ),
    "text put into an item": (
        f"1. One.\n2. Two.\n\n{SENTENCE}\n\n{MAKE}\n\n3. Three.",
        f"1. One.\n2. Two.\n\n{indented(PART)}\n\n3. Three.",
    ),
    "text taken out of an item and edited": (
        f"1. One.\n2. Two.\n\n{indented(SENTENCE)}",
        f"1. One.\n2. Two.\n\n{SENTENCE[:-1]} now.",
    ),
    "text taken out of an item, items numbered from 1 again": (
        f"1. One.\n\n{indented(SENTENCE)}\n\n2. Two.\n3. Three.",
        f"1. One.\n\n{SENTENCE}\n\n1. Two.\n2. Three.",
    ),
    "text taken out of an item below a replaced hint": (
        f"{STEPS.format(*ENGLISH)}\n\n{INFO.format('Wait for the pilot.')}\n\nEnd.",
        f"1. {ENGLISH[0]}\n\n{indented(MAKE)}\n\n{ENGLISH[1]}\n\n{INFO.format('Keep off the wall!')}\n\nEnd.",
    ),
    "list with code translated above a translated hint": (
        f"{STEPS.format(*ENGLISH)}\n\n{INFO.format(SENTENCE)}",
        f"{STEPS.format(*JAPANESE)}\n\n{INFO.format('十分に長い段落です。')}",
    ),
    "stepper with code translated above a translated hint": (
        f"{STEPPER.replace('A', ENGLISH[1]).replace('INSIDE', PART)}\n\n{INFO.format(SENTENCE)}",
        f"{STEPPER.replace('A', JAPANESE[1]).replace('INSIDE', MAKE)}\n\n{INFO.format('十分に長い段落です。')}",
    ),
    "tab with another title after a new tab": (
        f"{{% tabs %}}\n{IOS_TAB.format('iOS')}### Syntax\n\n```objectivec\n{OPEN_GATE}\n```\n{{% endtab %}}\n{{% endtabs %}}",
        f"{{% tabs %}}\n{IOS_TAB.format('iOS 3')}```swift\nstatic func openGate(at: [String: String])\n```\n{{% endtab %}}\n\n"
        f"{IOS_TAB.format('iOS 2')}```objc\n{OPEN_GATE}\n```\n\n```objc\n{MOVE_BOATS}\n```\n\n```swift\n{MOVE_BOATS.lower()}\n```\n"
        "{% endtab %}\n{% endtabs %}",
    ),
    "quote with a numbered list turned into a hint with bullets": (
        f"* One.\n\n{indented(SENTENCE)}\n\n> {OTHER}\n>\n> 1. {WAIT}\n> 2. {LAMPS}\n\nEnd.",
        f"* One.\n\n{SENTENCE}\n\n{INFO.format(f'{OTHER} Really.{chr(10) * 2}* {WAIT}{chr(10)}* {LAMPS}')}\n\nEnd.",
    ),
    "list with bullets turned into a numbered list in a new hint": (
        f"* {WAIT}\n* One more.",
        INFO.format(f"1. {WAIT}\n2. {OTHER}"),
    ),
    "numbered list put into an item with bullets": (
        f"#### Wait\n\n{SENTENCE}\n\n1. {WAIT}\n2. {OTHER} Twice.\n3. {OTHER}",
        f"* **Wait**\n\n{indented(SENTENCE)}\n\n    1. {WAIT}\n* **Go**\n\n    {LAMPS}",
    ),
    "numbered list taken out of an item with bullets": (
        f"* **Wait**\n\n{indented(SENTENCE)}\n\n    1. {WAIT}\n    2. {OTHER}\n    3. {LAMPS}",
        f"#### Wait\n\n{SENTENCE}\n\n1. {WAIT}",
    ),
    "item split below an item into which text was put": (
        f"1. {WAIT}\n\n{SENTENCE}\n\n2. Go.\n3. Ring the bell at noon.\n4. {OTHER}\n   {LAMPS}\n5. End.",
        f"1. {WAIT}\n\n{indented(SENTENCE)}\n2. Go.\n3. Ring the bell at noon, twice.\n4. {OTHER}\n\n{indented(LAMPS)}\n5. End.",
    ),
    "paragraph split inside a new hint": (
        f"{WAIT}\n\n{OTHER} {LAMPS}\n\n{SENTENCE}",
        INFO.format(f"{WAIT}\n\n{OTHER}\n\n{LAMPS}\n\n{SENTENCE}"),
    ),
    "item removed below an item whose text was taken out": (
        f"1. {WAIT}\n\n{indented(LAMPS)}\n\n2. {OTHER}\n\nEnd.",
        f"{WAIT}\n\n1. {LAMPS} Really.\n\nEnd.",
    ),
    "text put into the next item": (
        f"1. One of it.\n\n{indented(SENTENCE)}\n\n2. Two of it.",
        f"1. One of it.\n2. {SENTENCE}\n\n    Two of it.",
    ),
    "text taken out of an item and put below other text": (
        f"1. One.\n2. Two.\n\n{indented(SENTENCE)}\n\n{OTHER}\n\nEnd.",
        f"1. One.\n2. Two.\n\n{OTHER}\n\n{SENTENCE}\n\nEnd.",
    ),
    "hint added above a heading turned into an expandable section": (
        f"{LAMPS}\n\n### More\n\n{SENTENCE}\n\n{OTHER}",
        f"{LAMPS}\n\n{INFO.format('Read it.')}\n\n"
        + CONTAINERS["expandable"].replace("INSIDE", f"{SENTENCE}\n\n{OTHER}"),
    ),
    "heading moved up, and a similar heading added above a list": (
        f"{WAIT}\n\n#### Raise the bridge\n\n### Call your boats with the harbour radio",
        f"{WAIT}\n\n### Call your boats with the harbour radio\n\n{LAMPS}\n\n### Raise the bridge\n\n"
        "#### Test your boats with the harbour radio\n\n* Ring it.\n\nEnd.",
    ),
    "item moved up, and a similar item added at its old place": (
        "* name of the boat that leaves\n* order of the boats\n* startTime: set when the boat should start",
        "* name of the boat that leaves\n* startTime: set when the boat should start\n* order of the boats\n* createdBy: set when the boat was created",
    ),
    "caption added above another image with a caption": (
        f"{WAIT}\n\n{FIGURE.format('gate-1', '')}\n\n{OTHER}",
        f"{WAIT}\n\n{FIGURE.format('gate-1', 'The gate of the lock at high water')}\n\n{LAMPS}\n\n{FIGURE.format('gate-2', 'Boats')}\n\n{OTHER}",
    ),
    "two lists joined by the text between them": (
        f"1. {WAIT}\n2. {OTHER}\n\n> {SENTENCE}\n\n1. {LAMPS}\n2. {WAIT} again.",
        f"1. {WAIT}\n2. {OTHER}\n\n{indented(SENTENCE)}\n\n3. {LAMPS}\n4. {WAIT} again.",
    ),
    "two lists joined by the text between them, and an item repeated": (
        f"1. {WAIT}\n2. {OTHER}\n\n> {SENTENCE}\n\n1. {LAMPS}\n2. {WAIT} again.",
        f"1. {WAIT}\n2. {OTHER}\n\n{indented(SENTENCE)}\n\n3. {LAMPS}\n4. {WAIT} again.\n5. {LAMPS}",
    ),
    "headings of two levels renamed, one with a colon": (
        f"# Guide\n\n## Data Warehouse Migration & Validation\n\n### Migrating Staging to Data Warehouse\n\n{WAIT}",
        f"# Guide\n\n## 3. Data Warehouse\n\n### Migrating: Running it\n\n{WAIT}",
    ),
    "operations in another order, with another specification": (
        OPERATION_TAG.format("pier", "", "post") + OPERATION_TAG.format("pier", "/{id}", "delete"),
        "".join(
            OPERATION_TAG.format("wall", *each) for each in (("/{id}", "delete"), ("", "post"), ("/{id}/moves", "post"))
        ),
    ),
    "items put into an item": (
        "* one of the boats\n* two of the boats\n* three of the boats\n* four",
        "* one of the boats\n  * two of the boats\n  * three of the boats\n* four",
    ),
    "an item divided": (
        "* The boats\n  * one of the boats\n  * two of the boats\n  * three of the boats",
        "* The boats\n  * one of the boats\n* The ships\n  * two of the boats\n  * three of the boats",
    ),
    "a list divided": (
        "* one of the boats\n* two of the boats\n* three of the boats",
        "* one of the boats\n\nThen:\n\n* two of the boats\n* three of the boats",
    ),
    **{
        f"text taken out of a container: {kind}": (
            container.replace("INSIDE", f"{OTHER}\n\n{SENTENCE}") + "\n\nEnd.",
            container.replace("INSIDE", OTHER) + f"\n\n{SENTENCE}\n\nEnd.",
        )
        for kind, container in CONTAINERS.items()
    },
    **{
        f"text put into a container: {kind}": (
            container.replace("INSIDE", OTHER) + f"\n\n{SENTENCE}\n\nEnd.",
            container.replace("INSIDE", f"{OTHER}\n\n{SENTENCE}") + "\n\nEnd.",
        )
        for kind, container in CONTAINERS.items()
    },
    "sections grouped at another level": (
        "# Signals\n\n" + section(2, *BERTH) + section(2, *MAST) + section(2, *OARS),
        "# Signals\n\n## Boat\n\n" + section(3, *MAST) + section(3, *OARS) + "## Harbour\n\n" + section(3, *BERTH),
    ),
    "twins in sections that changed places": (
        f"## Linux\n\nRun it as the owner of this harbour.\n\n{MAKE}\n\n## Windows\n\nRun it as a owner of this harbour.\n\n{MAKE}",
        f"## Windows\n\nRun it as a owner of this harbour.\n\n{MAKE}\n\n## Linux\n\nRun it as the owner of the harbour.\n\n{MAKE}",
    ),
    "a short text that many sections have": (
        f"### Periods\n\nGets the periods.\n\n{RETURNS}| declare | time to declare it |\n\n### Most\n\nGets the most.\n\n{RETURNS}| most | so much |\n",
        f"#### Periods\n\nGets the periods.\n\nComes as a tuple.\n\n#### Most\n\nGets the most.\n\n{RETURNS}| most | so much |\n",
    ),
    "a section renamed below one that got a text both have": (
        "### boats\n\nGet the boats of a harbour.\n\n### tides\n\nReturn a set of tides that match the filters.\n\n"
        "Arguments:\n\n* path - the path of the harbour to look at\n\n### berths\n\nArguments:\n\n* all - of them",
        "### Api.boats\n\nGet boats for a harbour.\n\nArguments:\n\n* name - of the boat\n\n"
        "### Api.tides\n\nReturn a set of tides which match the filters.\n\n"
        "Arguments:\n\n* path - the path of the harbour to look for\n\n### berths\n\nArguments:\n\n* all - of them",
    ),
    "a heading that many sections have": (
        '{% tabs %}\n{% tab title="A" %}\n#### Java\n\n#### Example\n\nFirst.\n{% endtab %}\n\n'
        '{% tab title="B" %}\n#### Swift\n\n#### Syntax\n\nclass\n\n#### Example\n\nSecond.\n{% endtab %}\n{% endtabs %}\n\n#### Syntax\n',
        '{% tabs %}\n{% tab title="A" %}\n#### Java\n\n#### Syntax\n\npublic\n\n#### Example\n\nFirst.\n{% endtab %}\n\n'
        '{% tab title="B" %}\n#### Swift\n\n#### Example\n\nSecond.\n{% endtab %}\n{% endtabs %}\n\n#### Syntax\n',
    ),
    "tabs in another order": (
        TWO_TABS.format(first="A", one="the", second="B", other="a", when="now"),
        TWO_TABS.format(first="B", one="a", second="A", other="the", when="soon"),
    ),
    "an item that grew": (
        "* Bring the boats ashore.\n* Two.",
        f"* Bring the boats ashore.\n\n{indented(f'{OTHER} {OTHER} {OTHER}')}\n\n{indented(TIDES)}\n* Two.",
    ),
    "blocks put into a tag without a meaning": (
        f"{SENTENCE}\n\n{MAKE}\n\nEnd.",
        f"{{% code-notes %}}\n{SENTENCE}\n\n{MAKE}\n{{% endcode-notes %}}\n\nEnd.",
    ),
    "Latin words in Chinese": ("理解veLISTA和veToken模型以及費用", "理解veLISTA和veToken模型以及成本"),
    "a flag of the page that is no now": ("---\ntitle: A\n---\n\nOne.", "---\ntitle: A\nhidden: false\n---\n\nOne."),
    "white space at the end of code": (f"One.\n\n{CODE}", "One.\n\n" + CODE.replace("each)", "each)  ")),
    "only formatting": ("The tide turns at six.", "The **tide** turns at six."),
    "only a link": ("See [the guide](old.md) for more.", "See [the guide](new.md) for more."),
    "emphasized punctuation": ("* **Tide**: it turns.\n* Two.", "* **Tide:** it turns.\n* Two."),
    "emphasized punctuation and a word": ("**Tide**: it turns now.", "**Tide:** it turns soon."),
    "a clause of Chinese": (
        "我們建議使用這個功能來處理資料，因為它很快。",
        "我們不推薦用該功能去管理數據，因為它很快。",
    ),
    "a character of Chinese": ("資料表示為文件結構，很快。", "資料表示成文件結構，很快。"),
    "a level": ("## How it works\n\nWell.", "### How it works\n\nWell."),
    "a kind": ("How it works", "## How it works"),
    "a style": (
        '{% hint style="info" %}\nMind the gap.\n{% endhint %}',
        '{% hint style="danger" %}\nMind the gap.\n{% endhint %}',
    ),
    "an item": ("* one of them\n* two of them\n* three", "* one of them\n* two or them\n* three"),
    "a tick": ("- [ ] ring the bell\n- [ ] go", "- [x] ring the bell\n- [ ] go"),
    "a tab": (
        '{% tabs %}\n{% tab title="A" %}\none\n{% endtab %}\n{% endtabs %}',
        '{% tabs %}\n{% tab title="A" %}\none\n{% endtab %}\n\n{% tab title="B" %}\ntwo\n{% endtab %}\n{% endtabs %}',
    ),
    "the title of a section": (
        "<details>\n\n<summary>More of it</summary>\n\nbody\n\n</details>",
        "<details>\n\n<summary>Less of it</summary>\n\nbody\n\n</details>",
    ),
    "lines of code": (CODE, CODE.replace("10", "15").replace("    for", "    count = 0\n    for")),
    "a formula": ("$$\na + b\n$$", "$$\na + b + c\n$$"),
    "a picture": ("![](a.png)\n\nEnd.", "![A mooring buoy at low water](b.png)\n\nEnd."),
    "the words below a picture": (
        '<figure><img src="a.png" alt=""><figcaption><p>The old quay</p></figcaption></figure>',
        '<figure><img src="a.png" alt=""><figcaption><p>The new quay</p></figcaption></figure>',
    ),
    "a picture in a sentence": ("Press ![](a.png) twice to go on.", "Press ![](b.png) twice to go on."),
    "a cell": (ROWS, ROWS.replace("all of them", "each of them")),
    "a row more": (ROWS, ROWS + "| delete | takes one away |\n"),
    "a column": ("| a | b |\n|-|-|\n| one | two |\n", "| a | new | b |\n|-|-|-|\n| one | x | two |\n"),
    "the type and alignment of columns": (
        "| Name | Stars |\n|-|-|\n| one | 3 |\n",
        '<table><thead><tr><th align="right">Name</th><th data-type="rating">Stars</th></tr></thead>'
        "<tbody><tr><td>one</td><td>3</td></tr></tbody></table>",
    ),
    "a row elsewhere": (ROWS, HEAD + THREE + ONE + TWO),
    "images in the first column moved up by a row": (
        "| Icon | Boat |\n| --- | --- |\n| ![](one.png) | Anna |\n| ![](two.png) | Bertha |\n| ![](six.png) | Clara |\n",
        "| Icon | Boat |\n| --- | --- |\n| ![](two.png) | Anna |\n| ![](six.png) | Bertha |\n| ![](ten.png) | Clara |\n",
    ),
    "a row elsewhere and edited": (ROWS, HEAD + THREE.replace("changes one", "changes it") + ONE + TWO),
    "rows counted anew": (
        "| # | Fish |\n|-|-|\n| 1 | cod in the bay |\n| 2 | eel in the mud |\n",
        "| # | Fish |\n|-|-|\n| 1 | a sole man |\n| 2 | cod in the bay |\n| 3 | eel in the mud |\n",
    ),
    "a move": (f"{SENTENCE}\n\nOne.\n\nTwo.\n\nThree.", f"One.\n\nTwo.\n\nThree.\n\n{SENTENCE}"),
    "a move with another word": (
        f"{SENTENCE}\n\nOne.\n\nTwo.\n\nThree.",
        f"One.\n\nTwo.\n\nThree.\n\n{SENTENCE.replace('goes', 'went')}",
    ),
    "into a hint": (
        f"Start.\n\n{SENTENCE}\n\nEnd.",
        f"Start.\n\n{{% hint %}}\n{SENTENCE}\n{{% endhint %}}\n\nEnd.",
    ),
    "into an expandable section and edited": (
        f"Start.\n\n{SENTENCE}\n\nEnd.",
        f"Start.\n\n<details>\n\n<summary>More</summary>\n\n{SENTENCE.replace('long', 'short')}\n\n</details>\n\nEnd.",
    ),
    "a similar row added below a changed row": (
        "| Name | Use |\n| - | - |\n"
        "| Harbour light | Count the ships in the harbour, using the names and numbers of the ships. |\n",
        "| Name | Use |\n| - | - |\n"
        "| Harbour light | Count the boats that leave before the tide turns, and write down the weather. |\n"
        "| Open sea light | Count the ships on the open sea, using the names and numbers of the ships. |\n",
    ),
    "rows with nothing but an empty cell in common": (
        "| Area | Command |\n| - | - |\n| Ships | list them |\n| | tide stream, which tells of all ships |\n",
        "| Area | Command |\n| - | - |\n| Ships | list them |\n| | rename each berth |\n",
    ),
    "items whose numbers became those of their neighbors": (
        _berths(0, "red ship", "blue ship", "green ship", "ferry"),
        _berths(1, "red ship", "blue ship", "long green ship", "barge", "small ferry", "tug"),
    ),
    "a heading replaced by one with some of its letters": (
        "# Tides\n\n## Flow Campaigns\n\nWrite down the name of each boat.",
        "# Tides\n\n### Flows\n\nThe keeper of the light sleeps until the sun has gone under.\n\n### Rules",
    ),
    "a table copied to a new section, and a row less where it was": (
        f"## Berth\n\nWhere it lies.\n\n## Editable boat\n\n{FIELDS}\n## Pier\n\nLast.",
        f"## New boat\n\n{FIELDS}\n## Berth\n\nWhere it lies.\n\n## Editable boat\n\n{FIELDS.replace(OWNER, '')}\n## Pier\n\nLast.",
    ),
    "a renamed heading above another with its old text": (
        "# Tides\n\n## Tides\n\nThe tide turns at six.\n\n## Boats\n\nThey wait.",
        "# The harbour\n\n## Tides\n\nIt turns when the moon is full.\n\n## Boats\n\nThey wait.",
    ),
    "headings of the same text, each at a deeper level": (
        "# Tides\n\n## Tides\n\nThe tide turns at six.\n\n## Boats\n\nThey wait.",
        "## Tides\n\n### Tides\n\nThe tide turns at six.\n\n### Boats\n\nThey wait.",
    ),
    "a heading in place, past which others moved": (
        f"### Name of `Boat`\n\n### `next()` → `Berth`\n\n{PIER_TABLE}\n### `list(String pier)` → `Boat`\n\n"
        f"### `list(String pier, List owners)` → `Boat`\n\n### `move(Boat boat)` → `void`\n\n{MOVES_BOATS}",
        f"### `next()` → `Berth`\n\n{MOVES_BOATS} Also counts them.\n\n### `list(String pier)` → `Boat`\n\n"
        f"{PIER_TABLE}| `String` | Name of the owner to search |\n",
    ),
    "a paragraph now the caption of an image": (
        f"# Page\n\n{SENTENCE}\n\nLast.",
        f'# Page\n\n<figure><img src="a.png" alt=""><figcaption><p>{SENTENCE}</p></figcaption></figure>\n\nLast.',
    ),
    "sections with subsections in another order": (
        "# Page\n\n" + typed("Boat", "", "colors", "flags") + typed("Pier", "", "berths", "lamps"),
        "# The page\n\n" + typed("Pier", "global ", "berths", "lamps") + typed("Boat", "global ", "colors", "flags"),
    ),
    "an item less its list": (
        "* The formal way into the harbour\n  * You have been here for half a year, and know all of its lamps\n* Last\n",
        "* The winter way into the harbour\n* Last\n",
    ),
    "images taken out of the second of two equal items": (REPEATED_ITEM, REPEATED_ITEM.replace("    ![", "![")),
    "images put into the second of two equal items": (REPEATED_ITEM.replace("    ![", "!["), REPEATED_ITEM),
    "a heading moved past its changed section": (
        f"## Tides\n\n{WAIT}, says the office of tides. Its parts are as follows:\n\n* Spring:\n  * {LAMPS} in spring.\n"
        "* Neap:\n  * The water comes up to the wall in the harbour.\n\n### More\n",
        f"## All\n\n### Seas\n\n{WAIT}, says the office of seas. Its parts are as follows:\n\n* Spring:\n  * {LAMPS} in spring.\n"
        "  * The water comes up to the wall in the harbour.\n\n#### Tides\n\nThe office knows them.\n\n#### More\n",
    ),
    "a heading less its end": (
        "## Version 2 (live since the first day of May)\n\nOld.\n",
        "## Version 3\n\nAll is new.\n\n## Version 2\n\nOld.\n",
    ),
    "lists added to short items": (
        "* North\n* South\n",
        f"* North\n  * {WAIT}\n  * {LAMPS}\n* South:\n  * {SENTENCE}\n",
    ),
    "a step divided into steps": (
        "1. See the page of all boats. From the actions of the boat, choose the way out of the harbour."
        f"\n\n{PICTURES[0]}\n\n{PICTURES[1]}\n",
        f"1. See the page of all boats.\n\n{PICTURES[2]}\n\n2. From your boats, choose the one that you want to"
        f" leave, and press the button.\n\n{PICTURES[3]}\n\n3. Leave the harbour.\n",
    ),
    "a short text taken out of a list": (f"{SENTENCE}\n\n* Tides\n\n{OTHER}\n", f"{SENTENCE}\n\nTides\n\n{OTHER}\n"),
    "an item replaced by one with a list": ("* tag: name\n* End\n", f"* value: the name\n  * {SENTENCE}\n* End\n"),
    "bold text instead of a heading beside an icon": (
        '<table><tr><td><h4><i class="fa-sailboat"></i> <strong>Boats</strong></h4></td></tr></table>',
        '<table><tr><td><i class="fa-sailboat"></i> <strong>Boats</strong></td></tr></table>',
    ),
    "renumbered pictures": (
        f"1. {WAIT}\n\n![](<image (3).png>)\n\n2. {LAMPS}\n\n![](<image (4).png>)\n\n3. {SENTENCE}\n",
        f"1. {WAIT}\n\n![](<image (13).png>)\n\n2. {LAMPS}\n\n![](<image (3).png>)\n\n3. {SENTENCE}\n",
    ),
    "front matter": ("---\ntitle: A\n---\n\nx", "---\ntitle: B\nhidden: true\n---\n\nx"),
}

EXPECTED_LINES = {
    "a heading put into a paragraph, with the word below it": [
        "% paragraph → paragraph ×2, heading",
        "  = 1",
        "  ~ heading",
        "    rewritten [+Harbour boats in groups]",
        "  = 1",
    ],
    "items of two lists turned into paragraphs": [
        "% unwrapped from list ×2",
        "  = 2",
        "  - heading Boats",
        "  = 1",
    ],
    "an item with a new link, moved above another": [
        "~ list",
        "  ~ item",
        "    ~ paragraph",
        "      [lQuay/Boats]",
        "  - item Quay/Nets",
        "  ~ item",
        "    ~ paragraph",
        "      [lQuay/Ropes]",
        "  + item Quay/Nets",
        "  + item Quay/Robes",
    ],
    "an item that is mostly a link, moved above another": [
        "~ list",
        "  = 1",
        "  - item How to lend a boat",
        "  ~ item",
        "    ~ paragraph",
        "      How to test a boat[- - soon]",
        "  + item How to lend a ship",
        "  + item How to delete a sail",
    ],
    "highlighted lines and notes of code": [
        "~ code, highlighted: 2 → 1, notes: none → 5 on line 3",
        "  = one",
        "  = two",
        "  = three",
    ],
    "a row folded into a column": [
        "~ table",
        "  column + Default",
        "  % 2 rows joined into 1",
        "    ~ row",
        "      retries[-\n][-default of retries] | = | =",
        "  = 1",
    ],
    "a row made of a column": [
        "~ table",
        "  column - Default",
        "  % 1 row split into 2",
        "    ~ row",
        "      retries[+\n][+default of retries] | = | =",
        "  = 1",
    ],
    "numbers that make each text equal to the next": [
        line for n in range(3) for line in ("= 1", "~ paragraph", f"  {FUNCTION.format(f'[-{n}][+{n + 1}]')}")
    ],
    "an item moved to the list above, and a section with a similar item": [
        "~ list",
        "  = 1",
        f"  > 1 item {WAIT}",
        "  = 1",
        "= 1",
        "~ list",
        "  = 2",
        f"  < 1 item {WAIT}",
        "+ heading Lamps",
        f"+ list {WAIT} again / Five",
    ],
    "a picture replaced before a new section with a picture": [
        "= 2",
        "~ figure",
        "  ~ image, src: pictures/SampleOfBoats.png → pictures/new_Dl6it1R1.png",
        "+ heading Pilots",
        f"+ paragraph {OTHER}",
        "+ figure",
        "= 1",
    ],
    "a row whose end was lost": [
        "~ table",
        "  column + ",
        "  column + ",
        "  % 2 rows joined into 1",
        "    ~ row",
        "      = | = | = | What it costs [-in][+on] the market",
    ],
    "a row folded into the cell above": [
        "~ table",
        "  % 2 rows joined into 1",
        "    ~ row",
        "      = | =",
        "  = 1",
    ],
    "links made into cards": [
        "% content-ref ×2 → cards",
        "  ~ cards",
        "    ~ card",
        "      [+Card 0] | =",
        "    ~ card",
        "      [+Card 1] | =",
    ],
    "cards made into links": ["% cards → content-ref ×2", "  - paragraph Card 0", "  - paragraph Card 1", "  = 2"],
    "headings made into sections": [
        "% wrapped in expandable ×4",
        "  ~ expandable, heading → expandable",
        "    title [-Abi][+ABI]",
        "    = 1",
        "  ~ expandable, heading → expandable",
        "    title [-Http][+HTTP]",
        "    = 1",
        "  ~ expandable, heading → expandable",
        "    = 1",
        "  ~ expandable, heading → expandable",
        "    = 1",
    ],
    "a column less of which none has a title": [
        "~ table",
        "  column - ",
        "  ~ row",
        "    [-From] | = | =",
        "  ~ row",
        "    = | = | wallet of [-two][+all]",
        "  = 1",
    ],
    "blanks at the end of lines in a cell": ["= 1"],
    "an operation written out in blocks": [
        "= 1",
        "% same operation, now heading, paragraph, table, tabs",
        "  = 6",
        "  ~ table",
        "    ~ row",
        "      = | = | Where it [-shall][+should] lie",
        "  = 1",
    ],
    "blocks made into an operation": [
        "= 1",
        "% same operation, now in one block",
        "  = 6",
        "  ~ table",
        "    ~ row",
        "      = | = | Where it [-should][+shall] lie",
        "  = 1",
    ],
    "two operations written out in blocks": [
        "+ paragraph One more.",
        "% same operation, now heading, paragraph, table, tabs",
        "  = 6",
        "  ~ table",
        "    ~ row",
        "      = | = | Where it [-shall][+should] lie",
        "  = 1",
        "% same operation, now heading, paragraph, table, tabs",
        "  = 8",
    ],
    "an operation in older tags": [
        "% same operation, written with other tags",
        "  ~ api-method",
        "    = 2",
        "    ~ api-parameter",
        "      ~ paragraph",
        "        Where it [-should][+shall] lie",
        "    = 1",
    ],
    "an operation that a specification describes now": [
        "~ openapi, api-method → openapi, summary: Add a boat → none, host: https://api.test → none, "
        "variant: none → operation, spec: none → boats, fallback text: none → OpenAPI boats",
        "  - api-section Puts a boat into the harbour, where it stays until it is taken out again.",
        "  - api-parameter What the boat is called",
        "  - api-parameter Where it shall lie",
        '  - api-response {"berth": 7}',
    ],
    "a block more": ["= 1", "+ paragraph Two.", "= 1"],
    "a block less": ["= 1", "- paragraph Two.", "= 1"],
    "words": ["~ paragraph", "  The tide [-turns][+has turned] at six."],
    "all words": ["~ paragraph The tide turns at six. => paragraph Boats leave whenever they are full."],
    "paragraphs translated": [
        "= 1",
        "~ paragraph The tide turns at six. => paragraph Die Flut kentert um sechs.",
        "~ paragraph",
        "  rewritten [-Boats leave when full][+Volle Boote legen ab].",
    ],
    "a short item elsewhere": [
        "~ list",
        "  < 1 item one",
        "  = 2",
        "  > 1 item one",
    ],
    "a section elsewhere and at another level": [
        "< 1 heading Tides",
        f"< 2 paragraph {SENTENCE}",
        "= 3",
        "> 1 heading Tides, level: 2 → 3",
        f"> 2 paragraph {SENTENCE}",
    ],
    "text taken out of an item": [
        "= 1",
        "% heading ×3, list ×2 unwrapped from an item",
        "~ heading, level: 3 → 4",
        "= 4",
        "= 1",
    ],
    "text taken out of an item between others": [
        "= 1",
        "% paragraph, code unwrapped from an item",
        "= 2",
        "+ around list",
        "  = 1",
    ],
    "text put into an item": [
        "~ list",
        "  = 1",
        "  ~ item",
        "    = 1",
        "    % paragraph, code wrapped in an item",
        "    = 2",
        "  = 1",
    ],
    "text taken out of an item and edited": [
        "= 1",
        "% paragraph unwrapped from an item",
        "~ paragraph",
        "  A paragraph that is long enough to be known again where it goes[+ now].",
    ],
    "text taken out of an item, items numbered from 1 again": [
        "= 1",
        "% paragraph unwrapped from an item",
        "= 1",
        "+ around list",
        "  % item ×2 in a new list that starts at 1",
        "  = 2",
    ],
    "text taken out of an item below a replaced hint": [
        "= 1",
        "% paragraph unwrapped from an item",
        "= 1",
        "- hint Wait for the pilot.",
        "+ hint Keep off the wall!",
        "= 1",
    ],
    "list with code translated above a translated hint": [
        "~ list",
        "  ~ item",
        "    ~ paragraph Build the gate with it: => paragraph 門を作ります：",
        "    = 1",
        "  - item Open the gate and look whether the water comes.",
        "  + item 門を開けて、水が来るかどうかを見てください。",
        f"- hint {SENTENCE}",
        "+ hint 十分に長い段落です。",
    ],
    "stepper with code translated above a translated hint": [
        "~ stepper",
        "  ~ step",
        "    - heading Open the gate and look whether the water comes.",
        f"    - paragraph {SENTENCE}",
        "    + heading 門を開けて、水が来るかどうかを見てください。",
        "    = 1",
        f"- hint {SENTENCE}",
        "+ hint 十分に長い段落です。",
    ],
    "tab with another title after a new tab": [
        "~ tabs",
        "  % tab → tab ×2",
        "    + around tab",
        "      - heading Syntax",
        "      + code static func openGate(at: [String: String])",
        "    ~ tab, title: iOS → iOS 2",
        "      ~ code, language: objectivec → objc",
        "        = + (void) openGate: (nonnull NSDictionary<NSString*, NSString*>*) names;",
        '      + code [Harbour moveBoats:@{@"first" : @"Anna", @"second": @"Bertha", @"port": @"Wick"}];',
        '      + code [harbour moveboats:@{@"first" : @"anna", @"second": @"bertha", @"port": @"wick"}];',
    ],
    "quote with a numbered list turned into a hint with bullets": [
        "= 1",
        "% paragraph unwrapped from an item",
        "= 1",
        "+ around hint",
        "  % paragraph, item ×2 unwrapped from a quote and wrapped in a hint",
        "  ~ paragraph",
        f"    {OTHER}[+ Really.]",
        "  ~ list, ordered: yes → no",
        "    = 2",
        "= 1",
    ],
    "list with bullets turned into a numbered list in a new hint": [
        "% list → hint",
        "  + around hint",
        "    ~ list, ordered: no → yes",
        "      = 1",
        "      - paragraph One more.",
        f"      + item {OTHER}",
    ],
    "numbered list put into an item with bullets": [
        "+ around list",
        "  + around item",
        "    % paragraph ×2, item wrapped in an item",
        "    ~ paragraph, heading → paragraph",
        "      [fWait]",
        "    = 1",
        "    ~ list",
        "      = 1",
        f"      - paragraph {OTHER} Twice.",
        f"      - paragraph {OTHER}",
        f"  + item Go / {LAMPS}",
    ],
    "numbered list taken out of an item with bullets": [
        "% heading, paragraph, item unwrapped from an item",
        "~ heading, paragraph → heading",
        "  [fWait]",
        "= 1",
        "~ list",
        "  = 1",
        f"  - paragraph {OTHER}",
        f"  - paragraph {LAMPS}",
    ],
    "item split below an item into which text was put": [
        "~ list",
        "  ~ item",
        "    = 1",
        "    % paragraph wrapped in an item",
        "    = 1",
        "  = 1",
        "  ~ item",
        "    ~ paragraph",
        "      Ring the bell at noon[+, twice].",
        "  ~ item",
        "    % 1 paragraph split into 2",
        "      = 2",
        "  = 1",
    ],
    "paragraph split inside a new hint": [
        "% wrapped in a hint",
        "  + around hint",
        "    = 1",
        "    % 1 paragraph split into 2",
        "      = 2",
        "    = 1",
    ],
    "item removed below an item whose text was taken out": [
        "% paragraph unwrapped from an item",
        "= 1",
        "~ list",
        "  ~ item",
        "    ~ paragraph",
        f"      {LAMPS}[+ Really.]",
        f"  - paragraph {OTHER}",
        "= 1",
    ],
    "text put into the next item": [
        "~ list",
        "  = 1",
        "  ~ item",
        "    % paragraph moved to another item",
        "    = 2",
    ],
    "text taken out of an item and put below other text": [
        "~ list, spaced: yes → no",
        "  = 1",
        "  ~ item",
        "    = 1",
        f"    < 1 paragraph {SENTENCE}",
        "= 1",
        f"> 1 paragraph {SENTENCE}",
        "= 1",
    ],
    "hint added above a heading turned into an expandable section": [
        "= 1",
        "+ hint Read it.",
        "% wrapped in an expandable “More”",
        "  ~ expandable, heading → expandable",
        "    = 2",
    ],
    "heading moved up, and a similar heading added above a list": [
        "= 1",
        "> 1 heading Call your boats with the harbour radio",
        f"+ paragraph {LAMPS}",
        "~ heading, level: 4 → 3",
        "< 1 heading Call your boats with the harbour radio",
        "+ heading Test your boats with the harbour radio",
        "+ list Ring it.",
        "+ paragraph End.",
    ],
    "item moved up, and a similar item added at its old place": [
        "~ list",
        "  = 1",
        "  > 1 item startTime: set when the boat should start",
        "  = 1",
        "  < 1 item startTime: set when the boat should start",
        "  + item createdBy: set when the boat was created",
    ],
    "caption added above another image with a caption": [
        "= 1",
        "~ figure",
        "  ~ image",
        "    rewritten [+The gate of the lock at high water]",
        f"+ paragraph {LAMPS}",
        "+ figure Boats",
        "= 1",
    ],
    "two lists joined by the text between them": [
        "~ list",
        "  = 1",
        "  ~ item",
        "    = 1",
        "    % paragraph unwrapped from a quote and wrapped in an item",
        "    = 1",
        "  % item ×2 from another list",
        "  = 2",
    ],
    "two lists joined by the text between them, and an item repeated": [
        "~ list",
        "  = 1",
        "  ~ item",
        "    = 1",
        "    % paragraph unwrapped from a quote and wrapped in an item",
        "    = 1",
        "  ~ item",
        "    % paragraph, item from another list",
        "    = 1",
        "  = 1",
        f"  + item {LAMPS}",
    ],
    "headings of two levels renamed, one with a colon": [
        "= 1",
        "~ heading",
        "  [+3. ]Data Warehouse[- Migration & Validation]",
        "~ heading",
        "  Migrating[- Staging to Data Warehouse][+: Running it]",
        "= 1",
    ],
    "operations in another order, with another specification": [
        "- openapi",
        "~ openapi, spec: pier → wall",
        "+ openapi",
        "+ openapi",
    ],
    "items put into an item": [
        "~ list",
        "  ~ item",
        "    = 1",
        "    + around list",
        "      % item ×2 wrapped in a list",
        "      = 2",
        "  = 1",
    ],
    "an item divided": [
        "~ list",
        "  % item → item ×2",
        "    = 1",
        "    + around item",
        "      + paragraph The ships",
        "      + around list",
        "        = 2",
    ],
    "a list divided": [
        "% list → list ×2, paragraph",
        "  = 1",
        "  + paragraph Then:",
        "  + around list",
        "    = 2",
    ],
    "sections grouped at another level": [
        "= 1",
        "+ heading Boat",
        "< 1 heading berth-free",
        "< 2 paragraph Sent when the berth is free.",
        '< 3 code {"type": "berth-free"}',
        "< 4 table type / always berth-free / bert / what is in it",
        "< 5 divider",
        "~ heading, level: 2 → 3",
        "= 4",
        "~ heading, level: 2 → 3",
        "= 4",
        "+ heading Harbour",
        "> 1 heading berth-free, level: 2 → 3",
        "> 2 paragraph Sent when the berth is free.",
        '> 3 code {"type": "berth-free"}',
        "> 4 table type / always berth-free / bert / what is in it",
        "> 5 divider",
    ],
    "twins in sections that changed places": [
        "< 1 heading Linux",
        "< 2 paragraph Run it as the owner of the harbour.",
        "< 3 code make install --all",
        "= 3",
        "> 1 heading Linux",
        "> 2 paragraph Run it as the owner of the harbour.",
        "  Run it as the owner of [-this][+the] harbour.",
        "> 3 code make install --all",
    ],
    "a short text that many sections have": [
        "~ heading, level: 3 → 4",
        "= 1",
        "- paragraph Return values:",
        "- table declare / time to declare it",
        "+ paragraph Comes as a tuple.",
        "~ heading, level: 3 → 4",
        "= 3",
    ],
    "a section renamed below one that got a text both have": [
        "~ heading",
        "  [+Api.]boats",
        "~ paragraph",
        "  Get [-the ]boats [-of][+for] a harbour.",
        "+ paragraph Arguments:",
        "+ list name - of the boat",
        "~ heading",
        "  [+Api.]tides",
        "~ paragraph",
        "  Return a set of tides [-that][+which] match the filters.",
        "= 1",
        "~ list",
        "  ~ item",
        "    ~ paragraph",
        "      path - the path of the harbour to look [-at][+for]",
        "= 3",
    ],
    "a heading that many sections have": [
        "~ tabs",
        "  ~ tab",
        "    = 1",
        "    + heading Syntax",
        "    + paragraph public",
        "    = 2",
        "  ~ tab",
        "    = 1",
        "    - heading Syntax",
        "    - paragraph class",
        "    = 2",
        "= 1",
    ],
    "tabs in another order": [
        "~ tabs",
        "  > 1 tab Run it as a owner of this harbour, soon.",
        "    ~ paragraph",
        "      Run it as a owner of this harbour, [-now][+soon].",
        "  ~ tab",
        "    ~ paragraph",
        "      Run it as the owner of this harbour, [-now][+soon].",
        "  < 1 tab Run it as a owner of this harbour, soon.",
    ],
    "an item that grew": [
        "~ list, spaced: no → yes",
        "  ~ item",
        "    = 1",
        f"    + paragraph {OTHER} {OTHER} {OTHER}",
        "    + heading Tides",
        "    + heading Spring",
        "    + list High: the water comes up to the wall. / Low: the water leaves the mud.",
        "    + heading Neap",
        "    + list Half: the water comes up to the steps.",
        "  = 1",
    ],
    "blocks put into a tag without a meaning": [
        "% wrapped in code-notes",
        "  + around unknown",
        "    = 2",
        "= 1",
    ],
    "Latin words in Chinese": [
        "~ paragraph",
        "  理解veLISTA和veToken模型以及[-費用][+成本]",
    ],
    "a flag of the page that is no now": [
        "page hidden: none → no",
        "= 1",
    ],
    **{
        f"text taken out of a container: {kind}": ["= 1", f"% paragraph unwrapped from {name}", "= 1", "= 1"]
        for kind, name in NAMES_OF_CONTAINERS.items()
    },
    "text put into a container: hint": ["~ hint", "  = 1", "  % paragraph wrapped in a hint", "  = 1", "= 1"],
    "text put into a container: expandable": [
        "~ expandable",
        "  = 1",
        "  % paragraph wrapped in an expandable “More”",
        "  = 1",
        "= 1",
    ],
    "text put into a container: step": [
        "~ stepper",
        "  ~ step",
        "    = 2",
        "    % paragraph wrapped in a step",
        "    = 1",
        "= 1",
    ],
    "text put into a container: tab": [
        "~ tabs",
        "  ~ tab",
        "    = 1",
        "    % paragraph wrapped in a tab",
        "    = 1",
        "= 1",
    ],
    "white space at the end of code": [
        "= 1",
        "~ code",
        "  = def main():",
        "  =     for each in items:",
        "  ~         print(each)[+  ]",
        "  =         time.sleep(10)",
    ],
    "only formatting": ["~ paragraph", "  The [ftide] turns at six."],
    "only a link": ["~ paragraph", "  See [lthe guide] for more."],
    "emphasized punctuation": ["~ list", "  ~ item", "    ~ paragraph", "      Tide[f:] it turns.", "  = 1"],
    "emphasized punctuation and a word": ["~ paragraph", "  Tide: it turns [-now][+soon]."],
    "a clause of Chinese": [
        "~ paragraph",
        "  我們[-建議使用這個功能來處理資料][+不推薦用該功能去管理數據]，因為它很快。",
    ],
    "a character of Chinese": ["~ paragraph", "  資料表示[-為][+成]文件結構，很快。"],
    "a level": ["~ heading, level: 2 → 3", "= 1"],
    "a kind": ["~ heading, paragraph → heading"],
    "a style": ["~ hint, style: info → danger", "  = 1"],
    "an item": ["~ list", "  = 1", "  ~ item", "    ~ paragraph", "      two [-of][+or] them", "  = 1"],
    "a tick": ["~ list", "  ~ task, checked: no → yes", "    = 1", "  = 1"],
    "a tab": ["~ tabs", "  = 1", "  + tab two"],
    "the title of a section": ["~ expandable", "  title [-More][+Less] of it", "  = 1"],
    "lines of code": [
        "~ code",
        "  = def main():",
        "  +     count = 0",
        "  =     for each in items:",
        "  =         print(each)",
        "  ~         time.sleep([-10][+15])",
    ],
    "a formula": ["~ math", "  ~ a + b[+ + c]"],
    "a picture": [
        "~ figure",
        "  ~ image, src: a.png → b.png, alt: none → A mooring buoy at low water",
        "= 1",
    ],
    "the words below a picture": ["~ figure", "  ~ image", "    The [-old][+new] quay"],
    "a picture in a sentence": ["~ paragraph", "  Press [-a.png][+b.png] twice to go on."],
    "a cell": ["~ table", "  ~ row", "    = | shows [-all][+each] of them", "  = 2"],
    "a row more": ["~ table", "  = 3", "  + row delete / takes one away"],
    "a column": ["~ table", "  column + new", "  ~ row", "    = | [+x] | ="],
    "the type and alignment of columns": [
        "~ table, column “Name”, aligned: none → right, column “Stars”, type: text → rating",
        "  = 1",
    ],
    "a row elsewhere": ["~ table", "  > 1 row put / changes one", "  = 2", "  < 1 row put / changes one"],
    "images in the first column moved up by a row": [
        "~ table",
        "  ~ row",
        "    [-one.png][+two.png] | =",
        "  ~ row",
        "    [-two.png][+six.png] | =",
        "  ~ row",
        "    [-six.png][+ten.png] | =",
    ],
    "a row elsewhere and edited": [
        "~ table",
        "  > 1 row put / changes it",
        "    = | changes [-one][+it]",
        "  = 2",
        "  < 1 row put / changes it",
    ],
    "rows counted anew": [
        "~ table",
        "  + row 1 / a sole man",
        "  ~ row",
        "    [-1][+2] | =",
        "  ~ row",
        "    [-2][+3] | =",
    ],
    "a move": [
        "< 1 paragraph A paragraph that is long enough to be known again where it goes.",
        "= 3",
        "> 1 paragraph A paragraph that is long enough to be known again where it goes.",
    ],
    "a move with another word": [
        "< 1 paragraph A paragraph that is long enough to be known again where it went.",
        "= 3",
        "> 1 paragraph A paragraph that is long enough to be known again where it went.",
        "  A paragraph that is long enough to be known again where it [-goes][+went].",
    ],
    "into a hint": ["= 1", "% wrapped in a hint", "  + around hint", "    = 1", "= 1"],
    "into an expandable section and edited": [
        "= 1",
        "% wrapped in an expandable “More”",
        "  + around expandable",
        "    ~ paragraph",
        "      A paragraph that is [-long][+short] enough to be known again where it goes.",
        "= 1",
    ],
    "a similar row added below a changed row": [
        "~ table",
        "  ~ row",
        "    = | Count the [-ships in the harbour, using ][+boats that leave before ]the [-names ][+tide turns, ]and"
        " [-numbers of][+write down] the [-ships][+weather].",
        "  + row Open sea light / Count the ships on the open sea, using the names and numbers of the ships.",
    ],
    "rows with nothing but an empty cell in common": [
        "~ table",
        "  = 1",
        "  - row tide stream, which tells of all ships",
        "  + row rename each berth",
    ],
    "items whose numbers became those of their neighbors": [
        "~ list",
        *_other_berth("= 1", 1, 2),
        *_other_berth("= 1", 2, 3),
        *_other_berth("~ paragraph", 3, 4, "Berth of the [+long ]green ship"),
        "  + item Berth of the barge / Number: 000000000000000000000005",
        *_other_berth("~ paragraph", 4, 6, "Berth of the [+small ]ferry"),
        "  + item Berth of the tug / Number: 000000000000000000000007",
    ],
    "a renamed heading above another with its old text": [
        "~ heading Tides => heading The harbour",
        "= 1",
        "~ paragraph",
        "  [-The tide ][+It ]turns [-at six][+when the moon is full].",
        "= 2",
    ],
    "headings of the same text, each at a deeper level": [
        "~ heading, level: 1 → 2",
        "~ heading, level: 2 → 3",
        "= 1",
        "~ heading, level: 2 → 3",
        "= 1",
    ],
    "a heading replaced by one with some of its letters": [
        "= 1",
        "- heading Flow Campaigns",
        "- paragraph Write down the name of each boat.",
        "+ heading Flows",
        "+ paragraph The keeper of the light sleeps until the sun has gone under.",
        "+ heading Rules",
    ],
    "a table copied to a new section, and a row less where it was": [
        "+ heading New boat",
        "+ table Name / string / Owner / string / Length / string / Flag / string",
        "= 3",
        "~ table",
        "  = 1",
        "  - row Owner / string",
        "  = 2",
        "= 2",
    ],
    "a heading in place, past which others moved": [
        "- heading Name of Boat",
        "= 1",
        f"> 1 paragraph {MOVES_BOATS} Also counts them.",
        f"  {MOVES_BOATS}[+ Also counts them.]",
        "> 2 heading list(String pier) → Boat",
        "= 1",
        "~ table",
        "  = 1",
        "  + row String / Name of the owner to search",
        "< 2 heading list(String pier) → Boat",
        "- heading list(String pier, List owners) → Boat",
        "- heading move(Boat boat) → void",
        f"< 1 paragraph {MOVES_BOATS} Also counts them.",
    ],
    "a paragraph now the caption of an image": [
        "= 1",
        f"- paragraph {SENTENCE}",
        f"+ figure {SENTENCE}",
        "= 1",
    ],
    "sections with subsections in another order": [
        "~ heading",
        "  rewritten [-Page][+The page]",
        "< 1 heading Boat",
        "< 2 heading Constructors",
        "< 3 heading global Boat()",
        "< 4 divider",
        "< 5 heading Properties",
        "< 6 heading global colors → String",
        "< 7 paragraph ENABLED",
        "< 8 heading global flags → String",
        "< 9 paragraph ENABLED",
        "< 10 divider",
        "= 2",
        "~ heading",
        "  [+global ]Pier()",
        "= 2",
        "~ heading",
        "  [+global ]berths → String",
        "= 1",
        "~ heading",
        "  [+global ]lamps → String",
        "= 2",
        "> 1 heading Boat",
        "> 2 heading Constructors",
        "> 3 heading global Boat()",
        "  [+global ]Boat()",
        "> 4 divider",
        "> 5 heading Properties",
        "> 6 heading global colors → String",
        "  [+global ]colors → String",
        "> 7 paragraph ENABLED",
        "> 8 heading global flags → String",
        "  [+global ]flags → String",
        "> 9 paragraph ENABLED",
        "> 10 divider",
    ],
    "an item less its list": [
        "~ list",
        "  ~ item",
        "    ~ paragraph",
        "      The [-formal][+winter] way into the harbour",
        "    - list You have been here for half a year, and know all of its lamps",
        "  = 1",
    ],
    "images taken out of the second of two equal items": [
        "= 1",
        "% figure unwrapped from an item",
        "= 1",
        "+ around list",
        "  + around item",
        "    = 1",
        "% figure unwrapped from an item",
        "= 1",
    ],
    "images put into the second of two equal items": [
        "~ list",
        "  ~ item",
        "    = 1",
        "    ~ list",
        "      = 2",
        "      ~ item",
        "        = 1",
        "        % figure wrapped in an item",
        "        = 1",
        "      + around item",
        "        = 1",
        "        % figure wrapped in an item",
        "        = 1",
    ],
    "a heading moved past its changed section": [
        "+ heading All",
        "+ heading Seas",
        "< 1 heading Tides",
        "~ paragraph",
        "  The boats wait at the gate until the water rises, says the office of [-tides][+seas]. Its parts are as follows:",
        "~ list",
        "  % item ×2 → item",
        "    ~ item",
        "      = 1",
        "      ~ list",
        "        = 1",
        "        - paragraph Neap:",
        "        = 1",
        "> 1 heading Tides, level: 2 → 4",
        "+ paragraph The office knows them.",
        "~ heading, level: 3 → 4",
    ],
    "a heading less its end": [
        "+ heading Version 3",
        "+ paragraph All is new.",
        "~ heading",
        "  Version 2[- (live since the first day of May)]",
        "= 1",
    ],
    "lists added to short items": [
        "~ list",
        "  ~ item",
        "    = 1",
        f"    + list {WAIT} / {LAMPS}",
        "  ~ item",
        "    ~ paragraph",
        "      South[+:]",
        f"    + list {SENTENCE}",
    ],
    "a step divided into steps": [
        "~ list",
        "  ~ item",
        "    ~ paragraph",
        "      See the page of all boats.[- From the actions of the boat, choose the way out of the harbour.]",
        "~ figure",
        "  ~ image, src: list.png → Boats of today.png",
        "+ list From your boats, choose the one that you want to leave, and press the button.",
        "~ figure",
        "  ~ image, src: leave.png → Boat.png",
        "+ list Leave the harbour.",
    ],
    "a short text taken out of a list": ["= 1", "% unwrapped from a list", "  = 1", "= 1"],
    "an item replaced by one with a list": [
        "~ list",
        "  - item tag: name",
        f"  + item value: the name / {SENTENCE}",
        "  = 1",
    ],
    "bold text instead of a heading beside an icon": ["~ table", "  ~ row", "    icon[f ]Boats"],
    "renumbered pictures": [
        "= 1",
        "~ figure",
        "  ~ image, src: image (3).png → image (13).png",
        "= 1",
        "~ figure",
        "  ~ image, src: image (4).png → image (3).png",
        "= 1",
    ],
    "front matter": ["page title: A → B", "page hidden: none → yes", "= 1"],
}
"""Expected lines of each change in the signs of `diff_lines`."""


@pytest.mark.parametrize("kind", CHANGES)
def test_change_is_reported_as_expected(kind: str) -> None:
    old, new = map(parse, CHANGES[kind])
    found = diff(old, new)
    assert lines(found) == EXPECTED_LINES[kind]
    check_rebuilt_pages(found, old, new)
    assert found.size.words_after == diff(new, new).size.words_before
    assert diff(new, old).is_empty == found.is_empty


@pytest.mark.parametrize("kind", CHANGES)
def test_no_block_is_moved_to_its_own_place(kind: str) -> None:
    for old, new in (CHANGES[kind], CHANGES[kind][::-1]):
        assert moves_without_effect(diff(parse(old), parse(new))) == []


@pytest.mark.parametrize("order", ["one CODE two", "CODE one two", "one two CODE"])
def test_table_made_of_text_around_a_block_has_all_blocks_in_order(order: str) -> None:
    one, two = "Please see the page of the tides for its structure.", "The harbour office signs for every boat in it."
    apart = order.replace(" ", "\n\n").replace("CODE", "```\nopen the gate\n```")
    apart = apart.replace("one", one).replace("two", two)
    table = f"<table><tr><td>{one}</td></tr><tr><td>{two}</td></tr></table>"
    for before, after in ((table, apart), (apart, table)):
        old, new = parse(f"# Page\n\n{before}\n"), parse(f"# Page\n\n{after}\n")
        found = diff(old, new)
        check_rebuilt_pages(found, old, new)
        assert any(" → " in line for line in lines(found))


def test_text_taken_out_of_an_item_is_no_move_on_a_page_with_many_changes() -> None:
    letters = Random(1)
    note = "The lights may take up to three days to appear after their registration."

    def page(item: str) -> str:
        words = ["".join(letters.choices("abdefgiklmnoprstu", k=6)) for _ in range(7 * 30)]
        above = [" ".join(words[at : at + 7]) for at in range(0, len(words), 7)]
        return "\n\n".join([*above, f"* See the map\n* {item}\n\n# Last"])

    old, new = parse(page(f"Lamps\n{note}")), parse(page(f"Lamps\n\n{note}"))
    told = [line.strip() for line in lines(diff(old, new))]
    assert "% paragraph unwrapped from an item" in told
    assert not any(line.startswith(("<", ">")) for line in told)


@pytest.mark.parametrize("container", [*CONTAINERS.values(), "1. INSIDE", "* INSIDE"])
@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("is_edited", [False, True])
def test_shifted_container_end_is_no_move(container: str, first: int, *, is_edited: bool) -> None:
    parts = [OTHER, SENTENCE, MAKE, "The boats wait for the tide, as they did in the year before."]
    changed = [part.replace("the year", "the long year") if is_edited else part for part in parts]

    def page(within: list[str], below: list[str]) -> str:
        inside = "\n\n".join(within)
        if container.endswith(" INSIDE"):
            inside = indented(inside).lstrip()
        return "\n\n".join(["## Tides", container.replace("INSIDE", inside), *below, "## Boats", "Last."])

    inner, outer = page(parts, []), page(changed[:first], changed[first:])
    for before, after in ((inner, outer), (outer, inner)):
        old, new = parse(before), parse(after)
        found = diff(old, new)
        assert not any(line.lstrip().startswith(("<", ">")) for line in lines(found))
        check_rebuilt_pages(found, old, new)
        assert found.size.added + found.size.removed == (1 if is_edited else 0)
        assert sum("wrapped" in line for line in lines(found)) == 1


def test_move_into_a_container_of_a_replaced_section_has_both_ends() -> None:
    letters = Random(1)

    def texts(count: int) -> str:
        words = ["".join(letters.choices("abdefgiklmnoprstu", k=6)) for _ in range(7 * count)]
        return "".join(f"- {' '.join(words[at : at + 7])}.\n" for at in range(0, len(words), 7))

    below = "Says whether to work on {} chains of edges or on {} edges."
    paths, edges = (
        "**Paths** of boats{}: single paths of long chains{}",
        "**Edges** of boats{}: the edges as they were{}",
    )

    def expandable(title: str, *inside: str) -> str:
        return f"<details>\n\n<summary>{title}</summary>\n\n{chr(10).join(inside)}\n\n</details>\n\n"

    outputs = expandable("Outputs", f"- {paths.format(' (path)', '')}", f"- {edges.format(' (edge)', '')}")
    operate = (
        below.format("complete", "single"),
        "",
        f"- {paths.format('', ' only')}",
        f"- {edges.format('', ' before')}",
    )
    old = parse(f"# Page\n\n{texts(24)}\n{outputs}{below.format('whole', 'the single')}\n\n## Last\n")
    new = parse(
        f"# Page\n\n{texts(3)[2:]}\n```\n{texts(3)}```\n\n1. {texts(1)}\n{expandable('Operate on', *operate)}"
        f"{texts(24)}\n## Last\n"
    )
    found = diff(old, new)
    ends = [line.lstrip()[:3] for line in lines(found) if line.lstrip().startswith((">", "<"))]
    assert ends == ["> 1", "< 1"]
    check_rebuilt_pages(found, old, new)


def test_commands_that_became_code_are_no_replaced_section() -> None:
    commands = [f"harbour gauge read --pin {number} --window {number}0" for number in range(6)]
    before = "# Page\n\n" + "\n\n".join(commands)
    after = "# Page\n\n" + "\n\n".join(f"```\n{command}\n```" for command in commands)
    assert not any(isinstance(entry, RestructuredBlocks) for entry in diff(parse(before), parse(after)).entries)


def test_replaced_section_is_one_change() -> None:
    before = "# Page\n\nStays.\n\n## Measuring by hand\n\nHold the probe to the pin and count what the lamp says, ten times.\n\n"
    before += "* Take the mean of all of it.\n* Throw away the first one.\n\nWrite it into the log with a pencil.\n\n## Last\n\nStays too."
    before = before.replace(
        "Take the mean", "When the owner is away, ask the harbour office to sign; then take the mean"
    )
    after = "# Page\n\nStays.\n\n## Rates from the extension\n\nInstall our extension, which reads frames and estimates baud.\n\n"
    after += "### Settings\n\nChoose its sample window; larger windows give steadier figures but need memory, CPU and patience on small machines.\n\n"
    after += "```sh\nextension --window 4\n```\n\nIts panel lists every estimate.\n\n## Last\n\nStays too."
    found = diff(parse(before), parse(after))
    (section,) = (entry for entry in found.entries if not isinstance(entry, UnchangedBlocks))
    assert isinstance(section, RestructuredBlocks)
    assert section.is_replaced
    assert section.note.startswith("section replaced: ")
    assert [block.kind for block in section.old] == ["heading", "paragraph", "list", "paragraph"]
    assert [type(entry) for entry in section.entries] == [RemovedBlock] * 4 + [AddedBlock] * 6
    edited = diff(parse(before), parse(before.replace("ten times", "twice").replace("pencil", "pen")))
    assert not any(isinstance(entry, RestructuredBlocks) for entry in edited.entries)
    translated = before.replace("Write it into the log with a pencil.", "Dann alles ins Heft eintragen bitte.")
    assert not any(isinstance(entry, RestructuredBlocks) for entry in diff(parse(before), parse(translated)).entries)


TITLED = {
    "tab": '{% tabs %}\n{% tab title="First" %}\nINSIDE\n{% endtab %}\n\n{% tab title="Other" %}\nOther.\n{% endtab %}\n{% endtabs %}',
    "expandable": "<details>\n\n<summary>How long does it take?</summary>\n\nINSIDE\n\n</details>",
    "step": "{% stepper %}\n{% step %}\n## Prepare the boat\n\nINSIDE\n{% endstep %}\n\n"
    "{% step %}\n## Row\n\nRow out with the tide.\n{% endstep %}\n{% endstepper %}",
    "update": '{% updates %}\n{% update date="2024-03-01" %}\nINSIDE\n{% endupdate %}\n\n'
    '{% update date="2024-02-01" %}\nThe lamp on the pier is green.\n{% endupdate %}\n{% endupdates %}',
}
UNTITLED = {
    "hint": 'Before.\n\n{% hint style="info" %}\nINSIDE\n{% endhint %}\n\nAfter.',
    "column": "{% columns %}\n{% column %}\nINSIDE\n{% endcolumn %}\n\n{% column %}\nThe other column.\n{% endcolumn %}\n{% endcolumns %}",
}
INSIDES = (
    "",
    "Ten minutes.",
    "See the notices of the harbour office:\n\n1. tides\n2. fees\n3. the lamps of the long pier",
)


@pytest.mark.parametrize(("before", "after"), [each for each in product(INSIDES, INSIDES) if each[0] != each[1]])
@pytest.mark.parametrize("kind", TITLED)
def test_container_with_the_same_title_is_a_change(kind: str, before: str, after: str) -> None:
    old, new = (parse(TITLED[kind].replace("INSIDE", each)) for each in (before, after))
    found = diff(old, new)
    told = [line.strip() for line in lines(found)]
    assert any(line.startswith(f"~ {kind}") for line in told), told
    assert not any(line.startswith((f"- {kind}", f"+ {kind}")) for line in told)
    check_rebuilt_pages(found, old, new)


@pytest.mark.parametrize("kind", UNTITLED)
@pytest.mark.parametrize("inside", INSIDES[1:])
def test_filled_or_emptied_container_is_a_change(kind: str, inside: str) -> None:
    pages = UNTITLED[kind].replace("INSIDE", ""), UNTITLED[kind].replace("INSIDE", inside)
    for before, after in (pages, pages[::-1]):
        old, new = parse(before), parse(after)
        found = diff(old, new)
        assert any(line.strip().startswith(f"~ {kind}") for line in lines(found)), lines(found)
        check_rebuilt_pages(found, old, new)


@pytest.mark.parametrize("is_edited", [False, True])
def test_inner_tabs_keep_their_titles_without_the_outer_tabs(is_edited: bool) -> None:
    def tabs(contents: dict[str, str]) -> str:
        inner = "".join(f'{{% tab title="{title}" %}}\n{text}\n{{% endtab %}}\n\n' for title, text in contents.items())
        return f"{{% tabs %}}\n{inner}{{% endtabs %}}\n"

    def inner(first: str) -> dict[str, str]:
        boats = {name: f"```\n{first}await boats('{name}.harbour.example');\n```" for name in ("north", "south")}
        return {**boats, "local": f"{SENTENCE}\n\n```\nharbour start --all\n```"}

    first = "import { boats } from '@harbour/boats.js';\n\n"
    outer = {"all": f"Ask all boats.\n\n{tabs(inner(first))}", "test": OTHER}
    old, new = (parse(f"# T\n\n{tabs(each)}") for each in (outer, inner("" if is_edited else first)))
    found = lines(diff(old, new))
    assert not any("title:" in line or line.strip().startswith("+") for line in found), found
    assert any("unwrapped from tabs" in line for line in found)


SENTENCES = (
    "Open the wallet, enter the word that only you know, and wait.",
    "Press the icon in the top right of the window for the menu.",
    "Look for berths that are free in the book of the harbour.",
    "Copy the number of the berth into the box at the top of it.",
    "Write down how long the boat is, and how deep it goes.",
)


@pytest.mark.parametrize("form", ["Step {}.", "{}.", "Part {}"])
@pytest.mark.parametrize("gone", range(5))
def test_renumbered_headings_after_a_removal_are_changes(form: str, gone: int) -> None:
    def page(sentences: Sequence[str]) -> str:
        return (
            "# Page\n\n"
            + "".join(f"### {form.format(at)}\n\n{each}\n\n" for at, each in enumerate(sentences, 1))
            + "### Last\n\nDone.\n"
        )

    pages = page(SENTENCES), page(SENTENCES[:gone] + SENTENCES[gone + 1 :])
    for before, after in (pages, pages[::-1]):
        old, new = parse(before), parse(after)
        found = diff(old, new)
        assert not any(line.startswith((">", "<")) for line in lines(found)), lines(found)
        changed = [line for line in lines(found) if line.startswith(("+ paragraph", "- paragraph"))]
        assert len(changed) == 1
        assert changed[0].endswith(SENTENCES[gone])
        check_rebuilt_pages(found, old, new)


@pytest.mark.parametrize(
    "signature", ["`berthOf(address owner, uint256 number of the pier) → string`", "berthOf(owner, pier)"]
)
def test_heading_that_loses_its_parameters_is_changed(signature: str) -> None:
    def page(heading: str, body: str) -> str:
        return f"# Page\n\n{SENTENCE}\n\n### {heading}\n\n{body}\n\n### Last\n\nDone.\n"

    pages = page(signature, "No description"), page("berthOf", "```\nfunction berthOf(\n) external\n```")
    for before, after in (pages, pages[::-1]):
        old, new = parse(before), parse(after)
        found = diff(old, new)
        assert "~ heading" in lines(found)
        check_rebuilt_pages(found, old, new)


@pytest.mark.parametrize("start", ["", "Begin with the list of the boats.\n\n"])
def test_new_section_before_a_section_with_the_same_heading_is_added(start: str) -> None:
    def page(section: str, body: str, hour: str) -> str:
        return f"# Page\n\n{section}## Example\n\n{body}{SENTENCE}\n\n## Last\n\nThe gate is closed at {hour}.\n"

    section = f"An introduction.\n\n## Example\n\n{OTHER}\n\n## Tables\n\n"
    pages = page("", start, "eight"), page(section, "", "nine")
    for (before, after), sign in ((pages, "+"), (pages[::-1], "-")):
        old, new = parse(before), parse(after)
        found = diff(old, new)
        texts = ["paragraph An introduction.", "heading Example", f"paragraph {OTHER}", "heading Tables"]
        assert lines(found)[1:5] == [f"{sign} {text}" for text in texts]
        check_rebuilt_pages(found, old, new)
