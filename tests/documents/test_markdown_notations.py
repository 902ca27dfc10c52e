"""Every construct of the platform's Markdown, in each of its notations."""

from __future__ import annotations

from textwrap import dedent

import pytest

from octavo.documents.source_reader import parse
from tests.documents.outline import outline

CASES = {
    "hint": (
        '{% hint style="warning" icon="bolt" %}\ntext\n{% endhint %}',
        "hint [style=warning icon=bolt]\n  paragraph text",
    ),
    "hint without attributes": ("{% hint %}\ntext\n{% endhint %}", "hint [style=info]\n  paragraph text"),
    "hint in single quotes": ("{% hint style='danger' %}\na\n{% endhint %}", "hint [style=danger]\n  paragraph a"),
    "hint unquoted": ("{% hint style=success %}\na\n{% endhint %}", "hint [style=success]\n  paragraph a"),
    "end tag right after a list": (
        '{% hint style="info" %}\n* item\n{% endhint %}\nafter',
        "hint [style=info]\n  list\n    item\n      paragraph item\nparagraph after",
    ),
    "tag ends a quote": ("{% hint %}\n> q\n{% endhint %}", "hint [style=info]\n  quote\n    paragraph q"),
    "tag ends html": (
        '{% columns %}\n{% column %}\n<figure><img src="a.png" alt=""></figure>\n{% endcolumn %}\n{% endcolumns %}',
        "columns\n  column\n    figure\n      image [src=a.png]",
    ),
    "html hint": (
        '<div data-gb-custom-block data-tag="hint" data-style="danger" class="hint"><p>#### Head</p><p>text</p></div>',
        "hint [style=danger]\n  paragraph <bold|Head>\n  paragraph text",
    ),
    "tabs": (
        '{% tabs %}\n{% tab title="A" icon="apple" %}\none\n{% endtab %}\n\n{% tab title="B b" %}\ntwo\n{% endtab %}\n{% endtabs %}',
        "tabs\n  tab [title=A icon=apple]\n    paragraph one\n  tab [title=B b]\n    paragraph two",
    ),
    "tabs of code": (
        '{% code-tabs %}\n{% code-tabs-item title="A" %}\n```js\na\n```\n{% endcode-tabs-item %}\n\n'
        '{% code-tabs-item title="B" %}\n```\nb\n```\n{% endcode-tabs-item %}\n{% endcode-tabs %}\n\nc',
        "tabs\n  tab [title=A]\n    code [language=js] 'a'\n  tab [title=B]\n    code 'b'\nparagraph c",
    ),
    "tab on one line": (
        '{% tabs %}{% tab title="x" %} text `{% code %}` {% endtab %}{% endtabs %}',
        "tabs\n  tab [title=x]\n    paragraph text  <code;code|{% code %}>",
    ),
    "tab without tabs": ('{% tab title="x" %}\na\n{% endtab %}', "tabs\n  tab [title=x]\n    paragraph a"),
    "tab not closed": (
        '{% tabs %}\n{% tab title="x" %}\na\n{% tab title="y" %}\nb\n{% endtabs %}',
        "tabs\n  tab [title=x]\n    paragraph a\n  tab [title=y]\n    paragraph b",
    ),
    "words between tabs": (
        '{% tabs %}\nlost\n{% tab title="x" %}\na\n{% endtab %}\nfound\n{% endtabs %}',
        "tabs\n  tab\n    paragraph lost\n  tab [title=x]\n    paragraph a\n    paragraph found",
    ),
    "stepper": (
        "{% stepper %}\n{% step %}\n### One\n\ntext\n{% endstep %}\n{% endstepper %}",
        "stepper\n  step\n    heading [level=3] One\n    paragraph text",
    ),
    "item with an image after a blank line": (
        '* a\n  *\n\n      <figure><img src="b.png" alt=""></figure>\n  *\n\n      **c**\n* d\n\n```\n*\n\n    e\n```',
        "list\n  item\n    paragraph a\n    list\n      item\n        figure\n          image [src=b.png]\n"
        "      item\n        paragraph <bold|c>\n  item\n    paragraph d\ncode '*\\n\\n    e'",
    ),
    "number with an image after a blank line": (
        '1. a\n2.\n\n    <img src="b.png" alt="">\n3. c\n4.\n\n   d',
        "list [ordered=1]\n  item\n    paragraph a\n  item\n    figure\n      image [src=b.png]\n"
        "  item\n    paragraph c\n  item\n"
        "paragraph d",
    ),
    "end tags in a list item": (
        "{% stepper %}\n{% step %}\n- a\n  {% endstep %}\n  {% endstepper %}\n\nafter",
        "stepper\n  step\n    list\n      item\n        paragraph a\nparagraph after",
    ),
    "columns over the full width": (
        '{% columns fullWidth="true" %}\n{% column %}\na\n{% endcolumn %}\n{% endcolumns %}',
        "columns [full_width=True]\n  column\n    paragraph a",
    ),
    "columns": (
        '{% columns %}\n{% column width="66.66%" valign="top" %}\na\n{% endcolumn %}\n{% column %}\nb\n{% endcolumn %}\n{% endcolumns %}',
        "columns\n  column [width=66.66 valign=top]\n    paragraph a\n  column\n    paragraph b",
    ),
    "expandable": (
        "<details open>\n\n<summary>A <strong>b</strong></summary>\n\nbody\n\n* item\n\n</details>",
        "expandable [open=True] A  <bold|b>\n  paragraph body\n  list\n    item\n      paragraph item",
    ),
    "expandable on few lines": (
        "<details>\n<summary>T</summary>\n**body**\n</details>\nafter",
        "expandable T\n  paragraph <bold|body>\nparagraph after",
    ),
    "expandable with a title over lines": (
        "<details>\n\n<summary>\n\nA *b*\n\n</summary>\n\nbody\n\n</details>",
        "expandable A  <italic|b>\n  paragraph body",
    ),
    "updates": (
        '{% updates format="full" %}\n{% update date="2026-01-02" tags="new, fix" %}\n# T\n{% endupdate %}\n{% endupdates %}',
        "updates [format=full]\n  update [date=2026-01-02 tags=('new', 'fix')]\n    heading [level=1] T",
    ),
    "prompt with curly quotes": (
        '{% prompt description="D" icon="i" defaultExpanded="full” %}\n```\nsay\n```\n{% endprompt %}',
        "prompt [description=D icon=i expanded=full]\n  code 'say'",
    ),
    "title between quotes that are entities": (
        "{% tabs %}\n{% tab title=&quot;A &amp; b&quot; icon=&quot;x&quot; %}\nc\n{% endtab %}\n{% endtabs %}",
        "tabs\n  tab [title=A & b icon=x]\n    paragraph c",
    ),
    "text after HTML on the same line": (
        '<figure><img src="a.png"></figure>See *b*\nin `c`.\n\n<div><p>d</p></div>[e](f.md)',
        "figure\n  image [src=a.png]\nparagraph See  <italic|b>  in  <code;code|c> .\nparagraph d\nparagraph <|e→f.md>",
    ),
    "blocks after HTML on the same line": (
        "<p>a</p>***\n\n<table><tr><td>b</td></tr></table>## C\n\n<details>\n<summary>D</summary>* e\n* f\n</details>",
        "paragraph a\ndivider\ntable [header_hidden=True]\n  row\n    cell b\nheading [level=2] C\n"
        "expandable D\n  list\n    item\n      paragraph e\n    item\n      paragraph f",
    ),
    "formula of several lines with text after it": (
        "$$ a\nb\n$$ is $$c$$ and\n\n$$d$$ e $$f$$\n\n$$\ng\n$$",
        "paragraph <math|a b>  is  <math|c>  and\nparagraph <math|d>  e  <math|f>\nmath 'g'",
    ),
    "blocks after a tag on the same line": (
        "{% stepper %}\n{% step %}### A\nb\n{% endstep %}\n{% step %}##C {% endstep %}\n{% endstepper %}\n\n"
        "{% hint %} d\ne {% endhint %}\n\n* f\n  {% tab %}{% hint %}* g\n  * h {% endhint %}{% endtab %}\n\n"
        "{% hint %}| i | j |\n|-|-|\n| k | l |\n{% endhint %}m",
        "stepper\n  step\n    heading [level=3] A\n    paragraph b\n  step\n    heading [level=2] C\n"
        "hint [style=info]\n  paragraph d e\nlist\n  item\n    paragraph f\n    tabs\n      tab\n"
        "        hint [style=info]\n          list\n            item\n              paragraph g\n"
        "            item\n              paragraph h\n"
        "hint [style=info]\n  table\n    row\n      cell k\n      cell l\nparagraph m",
    ),
    "divider after a row on the same line": (
        "| a | b |\n|-|-|\n| c | d |***\n\ne",
        "table\n  row\n    cell c\n    cell d\ndivider\nparagraph e",
    ),
    "prompt with one curly quote": (
        '{% prompt description="D" defaultExpanded="full” openInAIProviders="true" %}\n```\nsay\n```\n{% endprompt %}',
        "prompt [description=D expanded=full providers=True]\n  code 'say'",
    ),
    "code wrapper": (
        '{% code title="a.py" overflow="wrap" lineNumbers="true" expandable="true" %}\n```python\nx = 1\n```\n{% endcode %}',
        "code [language=python title=a.py numbers=True expandable=True wrap=True] 'x = 1'",
    ),
    "escaped underscore in a title": ('{% code title="a\\_b" %}\n```\nx\n```\n{% endcode %}', "code [title=a_b] 'x'"),
    "entity in an address": ('{% embed url="https://a.b/?x=1&#x26;y=2" %}', "embed [url=https://a.b/?x=1&y=2]"),
    "content-ref": (
        '{% content-ref url="a/b.md" %}\n[b.md](a/b.md)\n{% endcontent-ref %}',
        "content-ref [url=a/b.md] <b.md→a/b.md>".replace("<b.md", "<|b.md"),
    ),
    "legacy page-ref": ('{% page-ref page="a.md" %}\n\nx', "content-ref [url=a.md]\nparagraph x"),
    "embed with caption": (
        '{% embed url="https://a.b" %}\ncaption\n{% endembed %}',
        "embed [url=https://a.b] caption",
    ),
    "embed with caption attribute": ('{% embed url="https://a.b" caption="c" %}', "embed [url=https://a.b] c"),
    "value that ends with a backslash": (
        '{% embed url="https://a.b\\\\" caption="c \\"d\\" e" %}',
        'embed [url=https://a.b\\] c "d" e',
    ),
    "embed alone": ('{% embed url="https://a.b" %}\n\nafter', "embed [url=https://a.b]\nparagraph after"),
    "file": (
        '{% file src="x.pdf" %}\ncap\n{% endfile %}\n\n{% file src="y" caption="" %}',
        "file [src=x.pdf] cap\nfile [src=y]",
    ),
    "openapi operation": (
        '{% openapi-operation spec="pets" path="/pet" method="POST" %}\n[OpenAPI pets](https://a.b)\n{% endopenapi-operation %}',
        "openapi [variant=operation spec=pets path=/pet method=post] <|OpenAPI pets→https://a.b>",
    ),
    "openapi schemas": (
        '{% openapi-schemas spec="pets" schemas="A,B" grouped="true" %}\n{% endopenapi-schemas %}',
        "openapi [variant=schemas spec=pets schemas=('A', 'B') grouped=True]",
    ),
    "openapi webhook": (
        '{% openapi-webhook spec="pets" name="born" method="POST" %}\n[OpenAPI pets](u)\n{% endopenapi-webhook %}',
        "openapi [variant=webhook spec=pets method=post name=born] <|OpenAPI pets→u>",
    ),
    "attribute without a value": (
        '{% openapi-schemas spec="pets" schemas="A, B" grouped %}',
        "openapi [variant=schemas spec=pets schemas=('A', 'B') grouped=True]",
    ),
    "legacy openapi": (
        '{% openapi src="a.json" path="/x" method="get" %}\n[a.json](a.json)\n{% endopenapi %}',
        "openapi [variant=operation src=a.json path=/x method=get] <|a.json→a.json>",
    ),
    "swagger with src": (
        '{% swagger src="a.yaml" path="/x" method="get" expanded="true" %}\n[a](a)\n{% endswagger %}',
        "openapi [variant=operation src=a.yaml path=/x method=get expanded=True] <|a→a>",
    ),
    "all of a file": ('{% openapi src="a.json" %}\n{% endopenapi %}', "openapi [variant=file src=a.json]"),
    "inline swagger": (
        '{% swagger method="get" path="/a" baseUrl="https://h" summary="S" %}\n{% swagger-description %}\ntext\n'
        '{% endswagger-description %}\n\n{% swagger-parameter in="path" name="id" type="string" required="true" %}\n'
        "the id\n{% endswagger-parameter %}\n\n"
        '{% swagger-response status="200: OK" description="fine" %}\n```javascript\n{}\n```\n{% endswagger-response %}\n{% endswagger %}',
        "api-method [method=get path=/a summary=S host=https://h]\n  api-section [name=description]\n    paragraph text\n"
        "  api-parameter [name=id type=string required=True in=path]\n    paragraph the id\n"
        "  api-response [status=200 description=OK · fine]\n    code [language=javascript] '{}'",
    ),
    "oldest api method": (
        '{% api-method method="get" host="h" path="/p" %}\n{% api-method-summary %}\nS\n{% endapi-method-summary %}\n'
        "{% api-method-spec %}\n{% api-method-request %}\n{% api-method-path-parameters %}\n"
        '{% api-method-parameter name="id" type="string" required=false %}\nd\n{% endapi-method-parameter %}\n'
        "{% endapi-method-path-parameters %}\n{% endapi-method-request %}\n{% api-method-response %}\n"
        "{% api-method-response-example httpCode=200 %}\nok\n{% endapi-method-response-example %}\n"
        "{% endapi-method-response %}\n{% endapi-method-spec %}\n{% endapi-method %}",
        "api-method [method=get path=/p host=h]\n  api-section [name=summary]\n    paragraph S\n"
        "  api-section [name=path-parameters]\n    api-parameter [name=id type=string]\n      paragraph d\n"
        "  api-response [status=200]\n    paragraph ok",
    ),
    "include": ('{% include "../.gitbook/includes/x.md" %}', "include [target=../.gitbook/includes/x.md]"),
    "condition": (
        "{% if visitor.claims.beta %}\na\n{% else %}\nb\n{% endif %}",
        "if [expression=visitor.claims.beta]\n  paragraph a\n  else\n    paragraph b",
    ),
    "condition with the end of a tag in a text": (
        '{% if visitor.name == "a %}" %}\na\n{% endif %}',
        'if [expression=visitor.name == "a %}"]\n  paragraph a',
    ),
    "integration with quotes and blank lines": (
        '{% @mermaid/diagram content="graph TB\n A("x") --> B["y"]\n\n %% note" %}\n\nafter',
        "integration [name=mermaid/diagram arguments="
        "{'content': 'graph TB\\n A(\"x\") --> B[\"y\"]\\n\\n %% note'}]"
        ' \'graph TB\\n A("x") --> B["y"]\\n\\n %% note\'\nparagraph after',
    ),
    "tag behind a table": (
        '<table><tr><td>a</td></tr>\n</table>{% hint style="info" %}\ntext\n{% endhint %}\n\nafter',
        "table [header_hidden=True]\n  row\n    cell a\nhint [style=info]\n  paragraph text\nparagraph after",
    ),
    "expandable as a tag": (
        '{% expandable title="More of it" %}\n| a |\n|---|\n| b |\n{% endexpandable %}\nafter',
        "expandable More of it\n  table\n    row\n      cell b\nparagraph after",
    ),
    "open expandable as a tag": (
        '{% expandable expanded="true" title="More" %}\n\nx\n\n{% endexpandable %}',
        "expandable [open=True] More\n  paragraph x",
    ),
    "unknown tag": (
        '{% frob b a="1" %}\nx\n{% endfrob %}',
        "unknown [name=frob arguments={'a': '1', '': 'b'}]\n  paragraph x",
    ),
    "unknown tag around code": (
        "{%ace edit=false, lang='html'%}\n<h1>x</h1>\n\n  <p>\n{% endace %} y",
        "code [language=html] '<h1>x</h1>\\n\\n  <p>'\nparagraph y",
    ),
    "unknown tag around code in a list": (
        '* a\n  {% frob lang="sh" %}\n  b\n  {% endfrob %}\n* c',
        "list\n  item\n    paragraph a\n    code [language=sh] 'b'\n  item\n    paragraph c",
    ),
    "unknown tag around code, its end forgotten": (
        "{%ace lang='java'%}\na\n\nb {%ace lang='c'%}\n\n{%ace lang='c'%}\n<p>\n{%endace%}\n\nd",
        "code [language=java] \"a\\n\\nb {%ace lang='c'%}\"\ncode [language=c] '<p>'\nparagraph d",
    ),
    "unknown tag of a language without end": (
        '{% frob lang="sh" %}\nx',
        "unknown [name=frob arguments={'lang': 'sh'}]\nparagraph x",
    ),
    "unknown tag without end": ("{% frob %}\nx", "unknown [name=frob arguments={}]\nparagraph x"),
    "raw": ("{% raw %}\n{{ x }}\n{% endraw %}", "paragraph {{ x }}"),
    "escaped tag": ("\\{% code %\\}", "paragraph {% code %}"),
    "tag in code": ("```\n{% hint %}\n```", "code '{% hint %}'"),
    "tag after words": ("text {% endhint %} more", "paragraph text\nparagraph more"),
    "unknown tag after words": ("text {% url x %} more", "paragraph text  <expression|url x>  more"),
    "block formula": ("$$\na^2\n$$", "math 'a^2'"),
    "formula on one line": ("$$a^2$$", "math 'a^2'"),
    "formula that ends on its own line": (
        "x $$ a\nb\n$$\n\ny $$z$$\n$$\na\n$$",
        "paragraph x  <math|a b>\nparagraph y  <math|z>\nmath 'a'",
    ),
    "fence in code behind nothing": (
        "> ```md\n> \u200b```sh\n> ls\n> \u200b```\n> ```\n\n\u200b```\nx",
        "quote\n  code [language=md] '```sh\\nls\\n```'\nparagraph ``` x",
    ),
    "fence of math": ("```math\nx\n```", "math 'x'"),
    "divider": ("a\n\n***\n\nb", "paragraph a\ndivider\nparagraph b"),
    "list below a wide number": (
        "9.  a\n    * b\n10.  c\n    * d\n        * e\n    * f\n\n11.  g\n\n    h\n",
        "list [ordered=9]\n  item\n    paragraph a\n    list\n      item\n        paragraph b\n  item\n    paragraph c\n"
        "    list\n      item\n        paragraph d\n        list\n          item\n            paragraph e\n"
        "      item\n        paragraph f\n  item\n    paragraph g\n    paragraph h",
    ),
    "lists": (
        "3. a\n4. b\n   * [x] done\n   * [ ] open\n",
        "list [ordered=3]\n  item\n    paragraph a\n  item\n    paragraph b\n    list\n      task [checked=True]\n"
        "        paragraph done\n      task\n        paragraph open",
    ),
    "html list": (
        "<ul><li>a <b>b</b></li><li>c</li></ul>",
        "list\n  item\n    paragraph a  <bold|b>\n  item\n    paragraph c",
    ),
    "html list without end tags of items": (
        "<ul>\n<li>a\n<ol><li>b</ol>\n<li>c\n</ul>",
        "list\n  item\n    paragraph a\n    list [ordered=1]\n      item\n        paragraph b\n  item\n    paragraph c",
    ),
    "headings without a space": (
        "##One\ntext\n####(2) *Two* ##\n- ##3",
        "heading [level=2] One\nparagraph text\nheading [level=4] (2)  <italic|Two>\nlist\n  item\n    heading [level=2] 3",
    ),
    "signs that are no headings": ("#One #2\n#######Seven\n    ##Four", "paragraph #One #2 #######Seven ##Four"),
    "html heading": ('<h2 align="center">T</h2>', "heading [level=2] T"),
    "html heading around markdown": ('<h2 align="center">\n\nT\n\n</h2>', "heading [level=2] T"),
    "markdown in an unknown element": (
        "<frame-of>\n<Note kind={1}>\nUse `a` and [b](c.md).\n</Note>\n\n* d\n</frame-of>",
        "paragraph Use  <code;code|a>  and  <|b→c.md> .\nlist\n  item\n    paragraph d",
    ),
    "html with indented lines": (
        '<div>\n    <p align="center">\n        a <b>b</b>\n    </p>\n    <h2>T</h2>\n</div>\n\n    code',
        "paragraph [align=center] a  <bold|b>\nheading [level=2] T\ncode 'code'",
    ),
    "indented line after a comment": ("<!-- no -->\n    code", "code 'code'"),
    "aligned paragraph": ('<p align="center">a</p>', "paragraph [align=center] a"),
    "group passes its direction on": ('<div dir="rtl">\n\na\n\n</div>', "paragraph [dir=rtl] a"),
    "iframe": ('<iframe src="https://a.b"></iframe>', "embed [url=https://a.b html=iframe]"),
    "media in a paragraph, a caption and a cell": (
        '<p>a <iframe src="https://a.b"></iframe></p>\n<figure><video src="c.mp4"></video></figure>\n'
        '<table><tr><td><audio src="d.mp3"></audio></td></tr></table>',
        "paragraph a\nembed [url=https://a.b html=iframe]\nparagraph <|c.mp4→c.mp4>\n"
        "table [header_hidden=True]\n  row\n    cell <|d.mp3→d.mp3>",
    ),
    "media without a URL": ("<audio>\n<p>a</p>\n</audio>", "paragraph a"),
    "media without an end": (
        '<video src="a.mp4">\n<p>b</p>',
        "embed [url=a.mp4 html=video]\nparagraph b",
    ),
    "media tag without a closing bracket": (
        '<video width="80%" controls\n  <source src="a.mp4" type="video/mp4">\n</video>\n\n'
        '<video controls <source src="b.mp4"></video>\n\n1 <2 and <source code',
        "embed [url=a.mp4 html=video]\nembed [url=b.mp4 html=video]\nparagraph 1 <2 and <source code",
    ),
    "paragraph around an element with a similar name": (
        '<p align="center"><a href="u"><picture><img src="a.png"></picture></a> <b>c</b></p>',
        "paragraph [align=center] <image;src=a.png|→u>   <bold|c>",
    ),
    "comment without an end in a list item": (
        "- <!-- no\n- two\n\nafter",
        "list\n  item\n  item\n    paragraph two\nparagraph after",
    ),
    "comment without an end in a quote": ("> <!-- no\n\nafter -->", "quote\nparagraph after -->"),
    "comment and script": ("<!-- no -->\n\n<script>alert(1)</script>\n\na<!-- x -->b", "paragraph ab"),
    "footnote": (
        "word[^1]\n\n[^1]: the *note*",
        "paragraph word <footnote;label=1|1>\nfootnotes\n  footnote [label=1]\n    paragraph the  <italic|note>",
    ),
    "text after code in a pre": ("<pre><code>a\n</code>b</pre>", "code 'a\\nb'"),
    "two definitions of one footnote": (
        "a[^1]\n\n[^1]: b\n[^1]: c",
        "paragraph a <footnote;label=1|1>\nfootnotes\n  footnote [label=1]\n    paragraph b\n    paragraph c",
    ),
    "footnote only html refers to": (
        '<p>a <a data-footnote-ref href="#user-content-fn-1">word</a></p>\n\n[^1]: note',
        "paragraph a  <footnote;label=1,inline=True|word>\nfootnotes\n  footnote [label=1]\n    paragraph note",
    ),
    "conflict": (
        "a\n\n<<<<<<< main\n\n* x\n\n=======\n\n* y\n\n>>>>>>> #12\n\nb",
        "paragraph a\nconflict\n  side [name=main]\n    list\n      item\n        paragraph x\n"
        "  side [name=#12]\n    list\n      item\n        paragraph y\nparagraph b",
    ),
    "code behind its tag, and an end tag behind it": (
        '{% code title="a.py" %}```py\nx = 1\n\n# y\n```{% endcode %}\n\nafter',
        "code [language=py title=a.py] 'x = 1\\n\\n# y'\nparagraph after",
    ),
    "an end tag behind a fence": (
        "{% hint %}\n{% code %}\n~~~\nx\n~~~ {% endcode %} {% endhint %}\nafter\n\n```\ny\n```",
        "hint [style=info]\n  code 'x'\nparagraph after\ncode 'y'",
    ),
    "code and its tags on one line": (
        "{% code %}```npm i```{% endcode %}\n{% code %} ```\ny\n```\n{% endcode %}",
        "code 'npm i'\ncode 'y'",
    ),
    "code behind its tag in an item": (
        "1. a\n\n   {% code %}```sh\n   x\n     y\n   ```{% endcode %}\n2. b",
        "list [ordered=1]\n  item\n    paragraph a\n    code [language=sh] 'x\\n  y'\n  item\n    paragraph b",
    ),
    "a longer fence holds such ends": (
        "````\n```{% endcode %}\nx\n````\ny",
        "code '```{% endcode %}\\nx'\nparagraph y",
    ),
    "a quote that is not closed ends with its tag": (
        '{% embed url="https://a.b/#/c %}\ncap\n{% endembed %}\n\nb\n\n{% hint style="info %} {% hint style="danger" %}\nx',
        "embed [url=https://a.b/#/c] cap\nparagraph b\nhint [style=info]\n  hint [style=danger]\n    paragraph x",
    ),
    "a tag whose end lacks its sign": (
        '{% hint style="info"}\nDo `x`.\n{% endhint %}\n{% @mermaid/diagram content="graph TB\n A{"x"}\n" %}',
        "hint [style=info]\n  paragraph Do  <code;code|x> .\n"
        "integration [name=mermaid/diagram arguments={'content': 'graph TB\\n A{\"x\"}\\n'}] 'graph TB\\n A{\"x\"}\\n'",
    ),
    "blocks in a heading keep their order": (
        "<h2>\n\nTitle\n\n![](a.png)\n\n***\n\n</h2>",
        "heading [level=2] Title\nfigure\n  image [src=a.png]\ndivider",
    ),
    "half a conflict is words": ("<<<<<<< main\na", "paragraph <<<<<<< main a"),
}


@pytest.mark.parametrize(("markdown", "expected"), CASES.values(), ids=CASES.keys())
def test_construct_is_parsed_to_its_outline(markdown: str, expected: str) -> None:
    assert outline(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "line", "message"),
    [
        ("{% hint %}\na", 0, "{% hint %} is not closed."),
        ("a\n\n{% endhint %}", 2, "{% endhint %} has no opening tag."),
        ('{% tab title="x" %}\na\n{% endtab %}', 0, "{% tab %} is outside {% tabs %}."),
        ("a\n\n</details>", 2, "</details> has no opening tag."),
        ('a\n\n{% hint style="x"', 2, "This tag is not closed, so it is shown as text."),
        ("{% tabs %}\n{% hint %}\n{% endtabs %}", 1, "{% hint %} is not closed before {% tabs %} ends."),
    ],
)
def test_source_errors_become_diagnostics(markdown: str, line: int, message: str) -> None:
    diagnostics = parse(markdown).diagnostics
    assert (line, message) in [(each.line, each.message) for each in diagnostics]


def test_deep_containers_become_siblings_and_keep_their_text() -> None:
    document = parse("".join(f"{{% hint %}}\nword{number}\n" for number in range(100)) + "{% endhint %}\n" * 100)
    words = "\n".join(block.plain() for block in document.blocks)
    assert all(f"word{number}" in words for number in range(100))
    assert any("too deeply" in each.message for each in document.diagnostics)
    assert not any("has no opening tag" in each.message for each in document.diagnostics)


def test_too_many_levels_are_shown_as_source() -> None:
    document = parse(">" * 200 + " deep\n\nafter")
    sources = [block for block in document.walk() if block.attrs.get("source")]
    assert "deep" in sources[0].text
    assert document.blocks[-1].plain() == "after"


def test_page_that_is_too_large_is_shown_as_source() -> None:
    document = parse("a\n" * 200_002)
    assert [block.kind for block in document.blocks] == ["code"]
    assert document.diagnostics[0].message.startswith("This page is too large")


def test_lines_point_into_the_source() -> None:
    source = dedent(
        """\
        ---
        title: T
        ---

        # Head

        {% hint style="info" %}
        one

        two
        {% endhint %}

        <table><thead><tr><th>a</th></tr></thead>
        <tbody><tr><td>b</td></tr></tbody></table>
        """
    )
    document = parse(source)
    lines = source.split("\n")
    found = {block.kind: lines[slice(*block.lines)] for block in document.walk()}
    assert found["heading"] == ["# Head"]
    assert (found["hint"][0], found["hint"][-1]) == ('{% hint style="info" %}', "{% endhint %}")
    assert found["table"][0].startswith("<table>")
    assert found["table"][-1].endswith("</table>")
    assert document.title == "T"


def test_list_starts_with_a_valid_number() -> None:
    starts = [parse(f'<ol start="{start}"><li>a</li></ol>').blocks[0].attrs["start"] for start in ("7", "9" * 5000)]
    assert starts == [7, 1]


def test_footnotes_have_the_lines_of_their_definitions() -> None:
    document = parse("[^1]: first\n[^2]: second\n[^3]: third\n\nSee[^2] and[^1].\n")
    notes = document.blocks[-1]
    assert notes.lines == (0, 3)
    assert [(note.attrs["label"], note.lines, note.children[0].lines) for note in notes.children] == [
        ("2", (1, 2), (1, 2)),
        ("1", (0, 1), (0, 1)),
        ("3", (2, 3), (2, 3)),
    ]
