"""The same constructs as Markdown and as JSON documents: name, Markdown, nodes."""

from __future__ import annotations

from tests.documents.json_nodes import Node, block, colored, file, inline, item, page, paragraph, text, url, void

PAIRS: list[tuple[str, str, list[Node]]] = [
    (
        "marks",
        "a **b** *i* `c` <kbd>k</kbd> ~~s~~ x<sup>2</sup><sub>1</sub> ***both***",
        [
            paragraph(
                *("a ", text("b", "bold"), " ", text("i", "italic"), " ", text("c", "code"), " "),
                *(text("k", "keyboard"), " ", text("s", "strikethrough"), " x", text("2", "superscript")),
                *(text("1", "subscript"), " ", text("both", "bold", "italic")),
            )
        ],
    ),
    (
        "colours",
        '<mark style="color:red;background-color:$info">m</mark>',
        [paragraph(colored("m", "red", "$info"))],
    ),
    (
        "background alone",
        '<mark style="background-color:green;">m</mark>',
        [paragraph(colored("m", "default", "green"))],
    ),
    ("line break", "a\\\nb", [paragraph("a\nb")]),
    ("alignment", '<p align="center">a</p>', [block("paragraph", "a", align="center")]),
    (
        "headings",
        '# One\n\n## Two <a href="#own" id="own"></a>\n\n### Three\n\n#### Four',
        [
            block("heading-1", "One"),
            block("heading-2", "Two", id="own"),
            block("heading-3", "Three"),
            block("heading-4", "Four"),
        ],
    ),
    ("divider", "***", [void("divider")]),
    (
        "lists",
        "3. a\n4. b\n   * c\n   * d",
        [block("list-ordered", item("a"), item("b", block("list-unordered", item("c"), item("d"))), start=3)],
    ),
    (
        "tasks",
        "* [x] done\n* [ ] open",
        [block("list-tasks", item("done", checked=True), item("open", checked=False))],
    ),
    ("quote", "> a\n>\n> > b", [block("blockquote", paragraph("a"), block("blockquote", paragraph("b")))]),
    (
        "hint",
        '{% hint style="warning" icon="bolt" %}\ntext\n{% endhint %}',
        [block("hint", paragraph("text"), style="warning", icon="bolt")],
    ),
    (
        "code",
        '{% code title="a.py" overflow="wrap" lineNumbers="true" expandable="true" %}\n```python\nx = 1\n\ny\n```\n{% endcode %}',
        [
            block(
                "code",
                *(block("code-line", "x = 1"), block("code-line", ""), block("code-line", "y")),
                syntax="python",
                title="a.py",
                overflow="wrap",
                lineNumbers=True,
                expandable=True,
            )
        ],
    ),
    (
        "highlighted code",
        '<pre class="language-js"><code class="lang-js">one\n<strong>two\n</strong>three</code></pre>',
        [
            block(
                "code",
                block("code-line", "one"),
                block("code-line", "two", highlighted=True),
                block("code-line", "three"),
                syntax="js",
            )
        ],
    ),
    (
        "images",
        '<div align="left" data-with-frame="true"><figure><picture><source srcset="/files/d" '
        'media="(prefers-color-scheme: dark)"><img src="/files/a" alt="A" width="300"></picture>'
        "<figcaption><p>cap <strong>b</strong></p></figcaption></figure></div>",
        [
            block(
                "images",
                void(
                    "image",
                    {"caption": [paragraph("cap ", text("b", "bold"))]},
                    ref=file("a"),
                    refDark=file("d"),
                    alt="A",
                    width=300,
                ),
                align="start",
                withFrame=True,
            )
        ],
    ),
    (
        "drawing",
        '<img src="/files/x" alt="" class="gitbook-drawing">',
        [void("drawing", ref=file("x"))],
    ),
    (
        "file",
        '{% file src="/files/f1" %}\ncap\n{% endfile %}',
        [void("file", {"caption": [paragraph("cap")]}, ref=file("f1"))],
    ),
    ("embed", '{% embed url="https://a.example" %}', [void("embed", url="https://a.example")]),
    ("math", "$$\na^2\n$$", [void("math", formula="a^2")]),
    (
        "expandable",
        "<details>\n\n<summary>T <em>i</em></summary>\n\nbody\n\n</details>",
        [
            void(
                "expandable",
                {
                    "expandable-title": [paragraph("T ", text("i", "italic"))],
                    "expandable-body": [paragraph("body")],
                },
            )
        ],
    ),
    (
        "tabs",
        '{% tabs %}\n{% tab title="A b" icon="apple" %}\none\n{% endtab %}\n{% tab title="C" %}\ntwo\n{% endtab %}\n{% endtabs %}',
        [
            block(
                "tabs",
                block("tabs-item", paragraph("one"), title="A b", icon="apple"),
                block("tabs-item", paragraph("two"), title="C"),
            )
        ],
    ),
    (
        "stepper",
        '{% stepper %}\n{% step icon="bolt" %}\n### One\n\ntext\n{% endstep %}\n{% endstepper %}',
        [block("stepper", block("stepper-step", block("heading-3", "One"), paragraph("text"), icon="bolt"))],
    ),
    (
        "columns",
        '{% columns %}\n{% column width="40%" valign="middle" %}\na\n{% endcolumn %}\n{% column %}\nb\n{% endcolumn %}\n{% endcolumns %}',
        [
            block(
                "columns",
                block("column", paragraph("a"), width=40, verticalAlignment="middle"),
                block("column", paragraph("b")),
            )
        ],
    ),
    (
        "condition",
        "{% if visitor.beta %}\na\n{% endif %}",
        [block("if", paragraph("a"), expression="visitor.beta")],
    ),
    (
        "updates",
        '{% updates format="short" %}\n{% update date="2026-01-02" tags="new,fix" %}\na\n{% endupdate %}\n{% endupdates %}',
        [block("updates", block("update", paragraph("a"), date="2026-01-02", tags=["new", "fix"]), format="short")],
    ),
    (
        "prompt",
        '{% prompt description="D" icon="i" defaultExpanded="full" openInAIProviders="true" %}\n```\nsay\n```\n{% endprompt %}',
        [
            block(
                "prompt",
                block("code", block("code-line", "say")),
                description="D",
                icon="i",
                defaultExpanded="full",
                openInAIProviders=True,
            )
        ],
    ),
    (
        "openapi operation",
        '{% openapi-operation spec="pets" path="/pet" method="POST" %}\n{% endopenapi-operation %}',
        [void("openapi-operation", ref={"kind": "openapi", "spec": "pets"}, path="/pet", method="post")],
    ),
    (
        "openapi schemas",
        '{% openapi-schemas spec="pets" schemas="A,B" grouped="true" %}\n{% endopenapi-schemas %}',
        [void("openapi-schemas", ref={"kind": "openapi", "spec": "pets"}, schemas=["A", "B"], grouped=True)],
    ),
    (
        "openapi webhook",
        '{% openapi-webhook spec="pets" name="born" method="post" %}\n{% endopenapi-webhook %}',
        [void("openapi-webhook", ref={"kind": "openapi", "spec": "pets"}, name="born", method="post")],
    ),
    (
        "swagger",
        '{% swagger src="/files/s" path="/x" method="get" expanded="true" %}\n{% endswagger %}',
        [void("swagger", ref=file("s"), path="/x", method="get", expanded=True)],
    ),
    (
        "content reference",
        '{% content-ref url="/pages/p1" %}\n{% endcontent-ref %}',
        [void("content-ref", ref=page("p1"))],
    ),
    (
        "reusable content",
        '{% include "/reusable-content/r1" %}',
        [void("reusable-content", ref={"kind": "reusable-content", "reusableContent": "r1"})],
    ),
    (
        "integration",
        '{% @mermaid/diagram content="graph TB\n a --> b" %}',
        [void("integration", integration="mermaid", block="diagram", props={"content": "graph TB\n a --> b"})],
    ),
    (
        "links",
        "[to **page**](/pages/p1) [anchor](/pages/p1#x) [other](/spaces/s2/pages/p2) [file](/files/f) [out](https://a.example)",
        [
            paragraph(
                *(inline("link", "to ", text("page", "bold"), ref=page("p1")), " "),
                *(inline("link", "anchor", ref={"kind": "anchor", "page": "p1", "anchor": "x"}), " "),
                *(inline("link", "other", ref={"kind": "page", "page": "p2", "space": "s2"}), " "),
                *(inline("link", "file", ref=file("f")), " ", inline("link", "out", ref=url("https://a.example"))),
            )
        ],
    ),
    (
        "inlines",
        'a :rocket: <i class="fa-github"></i> <code class="expression">space.vars.x</code> $$x^2$$ '
        '[/pages/p1](/pages/p1 "mention") <a href="https://a.example" class="button primary" data-icon="bolt">Go</a> '
        '<button class="button secondary" data-action="search" data-query="tides">Find</button> end',
        [
            paragraph(
                *("a ", inline("emoji", code="rocket"), " ", inline("icon", icon="github"), " "),
                *(inline("expression", expression="space.vars.x"), " ", inline("inline-math", formula="x^2"), " "),
                *(inline("mention", ref=page("p1")), " "),
                *(inline("button", label="Go", kind="primary", icon="bolt", ref=url("https://a.example")), " "),
                inline("button", label="Find", kind="secondary", action={"action": "search", "query": "tides"}),
                " end",
            )
        ],
    ),
    (
        "inline image",
        'x <img src="/files/a" alt="i" data-size="line"> y',
        [paragraph("x ", inline("inline-image", ref=file("a"), alt="i", size="line"), " y")],
    ),
    (
        "image alone in a paragraph",
        "![i](/files/a)",
        [paragraph(inline("inline-image", ref=file("a"), alt="i"))],
    ),
    (
        "annotation",
        'a <a data-footnote-ref href="#user-content-fn-1">word</a> b\n\n[^1]: the *note*',
        [
            paragraph(
                "a ",
                {
                    **inline("annotation", "word"),
                    "fragments": [
                        {
                            "object": "fragment",
                            "fragment": "annotation-body",
                            "nodes": [paragraph("the ", text("note", "italic"))],
                        }
                    ],
                },
                " b",
            )
        ],
    ),
    (
        "table",
        '<table data-full-width="true"><thead><tr><th width="120">Name</th><th align="right" data-type="number">Size</th>'
        '<th data-type="checkbox">Done</th><th data-type="rating" data-max="4">Stars</th>'
        '<th data-type="select">Is<select><option value="o1" label="One" color="blue"></option></select></th>'
        '<th data-type="content-ref">See</th><th data-hidden>Id</th></tr></thead>'
        "<tbody><tr><td>a <strong>b</strong><ul><li>x</li><li>y</li></ul></td><td>3</td><td>true</td><td>2</td>"
        '<td><span data-option="o1">One</span></td><td><a href="/pages/p1">/pages/p1</a></td><td>i1</td></tr>'
        "<tr><td></td><td></td><td>false</td><td></td><td></td><td></td><td></td></tr></tbody></table>",
        [
            void(
                "table",
                {
                    "f1": [
                        paragraph("a ", text("b", "bold")),
                        block("list-unordered", item("x"), item("y")),
                    ],
                    "f2": [paragraph("i1")],
                },
                fullWidth=True,
                view={
                    "type": "grid",
                    "columns": ["n", "s", "d", "r", "c", "p"],
                    "columnWidths": {"n": 120},
                    "hideHeader": False,
                },
                definition={
                    "hidden": {"id": "hidden", "title": "Id", "type": "text"},
                    "n": {"id": "n", "title": "Name", "type": "text", "textAlignment": "left"},
                    "s": {"id": "s", "title": "Size", "type": "number", "textAlignment": "right"},
                    "d": {"id": "d", "title": "Done", "type": "checkbox"},
                    "r": {"id": "r", "title": "Stars", "type": "rating", "max": 4},
                    "c": {
                        "id": "c",
                        "title": "Is",
                        "type": "select",
                        "multiple": False,
                        "options": [{"value": "o1", "label": "One", "color": "blue"}],
                    },
                    "p": {"id": "p", "title": "See", "type": "content-ref"},
                },
                records={
                    "second": {"orderIndex": "b", "values": {"d": False}},
                    "first": {
                        "orderIndex": "a",
                        "values": {"n": "f1", "s": 3, "d": True, "r": 2, "c": ["o1"], "p": page("p1"), "hidden": "f2"},
                    },
                },
            )
        ],
    ),
    (
        "cards",
        '<table data-column-title-hidden data-view="cards" data-card-size="large"><thead><tr><th>Title</th>'
        '<th data-hidden data-card-target data-type="content-ref">To</th>'
        '<th data-hidden data-card-cover data-type="image">Cover</th></tr></thead><tbody>'
        '<tr><td><strong>One</strong></td><td><a href="/pages/p1">/pages/p1</a></td><td><a href="/files/c">/files/c</a></td></tr>'
        "</tbody></table>",
        [
            void(
                "table",
                {"f1": [paragraph(text("One", "bold"))]},
                view={
                    "type": "cards",
                    "cardSize": "large",
                    "hideColumnTitle": True,
                    "columns": ["t"],
                    "targetDefinition": "to",
                    "coverDefinition": "c",
                },
                definition={
                    "t": {"id": "t", "title": "Title", "type": "text"},
                    "to": {"id": "to", "title": "To", "type": "content-ref"},
                    "c": {"id": "c", "title": "Cover", "type": "image"},
                },
                records={"r": {"orderIndex": 0, "values": {"t": "f1", "to": page("p1"), "c": file("c")}}},
            )
        ],
    ),
]
