"""Inline content of a paragraph."""

from __future__ import annotations

import sys

import pytest

from octavo.documents import emoji, front_matter
from octavo.documents.source_reader import parse
from tests.documents.outline import inline


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**b** *i* ~~s~~ `c`", "<bold|b>   <italic|i>   <strike|s>   <code;code|c>"),
        ("**練習：**也 は**O(n)**へ 甲~~「乙」~~的", "<bold|練習：> 也 は <bold|O(n)> へ 甲 <strike|「乙」> 的"),
        ("**`a`**은 漢*(b)*漢", "<code;bold+code|a> 은 漢 <italic|(b)> 漢"),
        ("a*(b)c* __(b)__漢", "a*(b)c* __(b)__漢"),
        ("一些_非正式_的 使用_x_。 a_b_c a_b_的", "一些 <italic|非正式> 的 使用 <italic|x> 。 a_b_c a_b_的"),
        ("男性_ID,30代_ID と 图_x_1.png", "男性_ID,30代_ID と 图_x_1.png"),
        ("**Note: **Text **b** *i* **Also. ** x", "<bold|Note: > Text  <bold|b>   <italic|i>   <bold|Also. >  x"),
        ("[**l: **x](u) **b: *i* **b** y: **z", "<bold|l: →u> <|x→u>  **b:  <italic|i>   <bold|b>  y: **z"),
        ("** a b **", "<bold|a b>"),
        ("** a `b`**", "<bold|a > <code;bold+code|b>"),
        ("*** a ***", "<bold+italic|a>"),
        ("** a ** b", "** a ** b"),
        ("a\n**b **\nc", "a  <bold|b >  c"),
        ("a\n** b **, c", "a ** b **, c"),
        ("** a **b** c", "** a  <bold|b>  c"),
        ("**b **– c", "<bold|b > – c"),
        ("a **b `c` **d", "a  <bold|b > <code;bold+code|c> <bold| > d"),
        ("a** b c** d", "a <bold| b c>  d"),
        ("**b **<mark>**[c]**</mark>d", "<bold|b > <bold+mark|[c]> d"),
        ("**b **c d **e** f", "<bold|b > c d  <bold|e>  f"),
        ("char **argv, **envp", "char **argv, **envp"),
        ("**/a **/b", "**/a **/b"),
        ("** **", ""),
        ("a ^[b] c^[d]", "a ^[b] c^[d]"),
        ("_a **b_ c: **d **kw: 2 ** 3", "<italic|a **b>  c: **d **kw: 2 ** 3"),
        ("<strong>b</strong><kbd>K</kbd><sub>1</sub><sup>2</sup>", "<bold|b> <kbd|K> <sub|1> <sup|2>"),
        ("a\\\nb", "a ⏎ b"),
        ("[a\\ <u>b</u>](c) \\ <kbd>d</kbd>", "<|a→c> ⏎ <underline|b→c>  ⏎ <kbd|d>"),
        ("C:\\ <name> C:\\\\ <u>d</u> e\\  <u>f</u>", "C:\\ <name> C:\\  <underline|d>  e\\   <underline|f>"),
        ("a `b\n    c  d`", "a  <code;code|b c  d>"),
        ("a<br>b", "a ⏎ b"),
        ("a <br>\n b", "a ⏎ b"),
        ("a<hr>b", "a ⏎ b"),
        ("a&#x20;\n", "a"),
        ("a&#xNAN;b `&#xNAN;` &#xNAN;_&#x69;t_", "ab  <code;code|&#xNAN;>   <italic|it>"),
        ("a\\&#xNAN;_b_", "a <italic|b>"),
        ('<a class="button primary" data-icon="globe">Public</a>', "<button;style=primary,icon=globe|Public>"),
        ("<code>as $$</code> x <code>$$ end</code>", "<code|as $$>  x  <code|$$ end>"),
        ("$$a\\_1$$ and $5", "<math|a\\_1>  and $5"),
        ("[t](a/b.md#c)", "<|t→a/b.md#c>"),
        ("[t](%6Aavascript:x)", "<|t→%6Aavascript:x>"),
        ("[t](javascript:x)", "<|t→javascript:x>"),
        ('[p.md](p.md "mention")', "<mention|p.md→p.md>"),
        ('<a data-mention href="p.md">p.md</a>', "<mention|p.md→p.md>"),
        ("see https://a.b/c_(d)_e.", "see  <|https://a.b/c_(d)_e→https://a.b/c_(d)_e> ."),
        ("(https://a.b/c)", "( <|https://a.b/c→https://a.b/c> )"),
        ("(https://a.b/c)を見る", "( <|https://a.b/c→https://a.b/c> )を見る"),
        ("http://a.b:1;http://c.d:2", "<|http://a.b:1→http://a.b:1> ; <|http://c.d:2→http://c.d:2>"),
        ("https://a.b/c?d=e,https://f.g", "<|https://a.b/c?d=e,https://f.g→https://a.b/c?d=e,https://f.g>"),
        ("<https://a.b>", "<|https://a.b→https://a.b>"),
        ("readme.md and a.com", "readme.md and a.com"),
        ("`https://a.b`", "<code;code|https://a.b>"),
        (":rocket: :nope: 10:30:45", "<emoji;code=rocket|🚀>  :nope: 10:30:45"),
        (":point_right: a:id:b :id:", "<emoji;code=point_right|👉>  a:id:b  <emoji;code=id|🆔>"),
        (
            "std::is::same :is: :+1::tada:",
            "std::is::same  <emoji;code=is|🇮🇸>   <emoji;code=+1|👍> <emoji;code=tada|🎉>",
        ),
        (":digit_one: :race\\_car:", "<emoji;code=digit_one|1️⃣>   <emoji;code=race_car|🏎️>"),
        (":man-woman-boy:", "<emoji;code=man-woman-boy|👨\u200d👩\u200d👦>"),
        (":female-doctor:", "<emoji;code=female-doctor|👩\u200d⚕️>"),
        (":large_red_square:", "<emoji;code=large_red_square|🟥>"),
        (":field_hockey_stick_and_ball:", "<emoji;code=field_hockey_stick_and_ball|🏑>"),
        (":skin-tone-2:", "<emoji;code=skin-tone-2|🏻>"),
        (":greek_small_letter_alpha:", ":greek_small_letter_alpha:"),
        (":woman_technologist_tone4:", "<emoji;code=woman_technologist_tone4|👩🏾‍💻>"),
        (":+1::skin-tone-2: **:flag-de:**", "<emoji;code=+1_tone1|👍🏻>   <emoji;bold;code=flag-de|🇩🇪>"),
        (
            ":male-teacher: :waving_hand:",
            "<emoji;code=male-teacher|👨‍🏫>   <emoji;code=waving_hand|👋>",
        ),
        ("Done:tada: urn:back:end", "Done <emoji;code=tada|🎉>  urn:back:end"),
        (
            'x <span data-gb-custom-inline data-tag="emoji" data-code="1f4a1">💡</span>',
            "x  <emoji;code=1f4a1|💡>",
        ),
        ('x <span data-gb-custom-inline data-tag="emoji" data-code="1f4a1"></span>', "x  <emoji;code=1f4a1|💡>"),
        ('x <span data-gb-custom-inline data-tag="emoji" data-code="2708">✈️</span>', "x  <emoji;code=2708|✈>"),
        ('<i class="fa-github">:github:</i> x', "<icon;name=github|>  x"),
        ('<i class="fancy">Word</i> x', "<italic|Word>  x"),
        ("x <code>:rocket:</code> :rocket:", "x  <code|:rocket:>   <emoji;code=rocket|🚀>"),
        ("see <a href=https://a.b/>it</a> x", "see  <|it→https://a.b/>  x"),
        ('x <video src="a.mp4"></video> y', "x  <|a.mp4→a.mp4>  y"),
        ('x <audio><source src="a.mp3"></audio> y', "x  <|a.mp3→a.mp3>  y"),
        (
            '<mark style="color:red;background-color:$info">m</mark>',
            "<mark;color=red,background=$info|m>",
        ),
        (
            'x <a href="u" class="button primary" data-icon="bolt">Go</a>',
            "x  <button;style=primary,icon=bolt|Go→u>",
        ),
        (
            'x <button type="button" class="button secondary" data-action="ask" data-query="q">Ask</button>',
            "x  <button;style=secondary,action=ask,query=q|Ask>",
        ),
        ('<code class="expression">space.vars.x</code>', "<expression|space.vars.x>"),
        ("Go to <dir>, see 05:14 <DIR> x", "Go to <dir>, see 05:14 <DIR> x"),
        ("The <script> tag, <style> and a <select> x", "The <script> tag, <style> and a <select> x"),
        ("In <head>, from <body> to </body>: <TITLE>", "In <head>, from <body> to </body>: <TITLE>"),
        ("an <input>, </form> or <video> *x*", "an <input>, </form> or <video>  <italic|x>"),
        ("a <script>x</script> <button>b</button> <u>c", "a   <button;style=secondary|b>   <underline|c>"),
        ("Use <token>, <your key> or <b>b</b><x-y>z</x-y>", "Use <token>, <your key> or  <bold|b> z"),
        (
            "x <img src='a.png' style={{ width: '50%' }} alt=\"i\"/> z, <b = c> and <x y={{z: 1}}>",
            "x  <image;src=a.png|i>  z, <b = c> and <x y={{z: 1}}>",
        ),
        ("a **** b", "a  b"),
        ("[a](b) __ [c](d), e __\\(_f_", "<|a→b>    <|c→d> , e ( <italic|f>"),
        ("fill in __ and __ __, [a](b)__c", "fill in __ and __ __,  <|a→b> __c"),
        ("**a **_**b**_ <u>c</u>** d**", "<bold|a > <bold+italic|b>   <underline|c> <bold| d>"),
        ("\\:smile: a\\:smile: :smile:", ":smile: a:smile:  <emoji;code=smile|😄>"),
        ("`set`` `**`it`** and ```x`` ```", "<code;code|set > <code;bold+code|it>  and  <code;code|x`` >"),
        ("**`get` ** a, ** `b` ** c", "<code;bold+code|get> <bold| >  a, **  <code;code|b>  ** c"),
        ("<u>**a**</u>** **<u>****</u> b **c**", "<bold+underline|a> <bold| >  b  <bold|c>"),
        ("card **** **** 4242 and 12****", "card **** **** 4242 and 12****"),
        ("a** ** and `b`** ** c", "a  and  <code;code|b> <bold| >  c"),
        (
            "**A **`b`** c**. D **e **`f`** ** g",
            "<bold|A > <code;code|b> <bold| c> . D  <bold|e > <code;code|f> <bold| >  g",
        ),
        ("** ** ** 4242 and \\*\\* ** `**` **", "** ** ** 4242 and ** **  <code;code|**>  **"),
        ("b** **c *** **", "b c *** **"),
        ("a ****`c` <mark>b</mark>", "a  <code;code|c>   <mark|b>"),
        ("**A (****b****)** c, **d:****e** ****f**** g", "<bold|A (b)>  c,  <bold|d:e>   <bold|f>  g"),
        ("see **\u200b a**\u200b b **\u200bc**", "see  <bold|\u200c a>  b  <bold|c>"),
        ("****d**** *****e and \\*\\*\\*\\*", "<bold|d>  *****e and ****"),
        ("x ![T&#xE5; *b* `c`](a.png)", "x  <image;src=a.png|Tå b c>"),
        ("x ![alt](a.png)", "x  <image;src=a.png|alt>"),
        ('x <img src="a.png" alt="i" data-size="line">', "x  <image;src=a.png,size=line|i>"),
        (
            'x <picture><source srcset="d.png" media="(prefers-color-scheme: dark)"><img src="a.png" alt=""></picture>',
            "x  <image;src=a.png,dark=d.png|>",
        ),
        ("\u200b&#x202e;&#27;a", "\ufffd\ufffda"),
        ("one\\\ntwo\\", "one ⏎ two"),
        ("a path\\\\", "a path\\"),
        ("see [it](u)\\", "see  <|it→u>"),
        ("the **S** o**.** Then t**,** x", "the  <bold|S>  o <bold|.>  Then t <bold|,>  x"),
        ("1**.** w **F…**o and **\\[D]**or", "1 <bold|.>  w  <bold|F…> o and  <bold|[D]> or"),
        ("from **±**2% to **±**1%", "from  <bold|±> 2% to  <bold|±> 1%"),
        ('**P-**c and "X**-D**"', '<bold|P-> c and "X <bold|-D> "'),
        ("**V ->**T~~.~~ **`c`.**d", "<bold|V ->> T <strike|.>   <code;bold+code|c> <bold|.> d"),
        ("***A**: a ***B**: b", "* <bold|A> : a * <bold|B> : b"),
        ("***a*** ***b*** **Note: **Text", "<bold+italic|a>   <bold+italic|b>   <bold|Note: > Text"),
        ("**a *b*** c **d *e*** **f: **g", "<bold|a > <bold+italic|b>  c  <bold|d > <bold+italic|e>   <bold|f: > g"),
        (
            "a ![b](/c/Shot 1.PNG) ![](../Shot (2) (1).jpg)",
            "a  <image;src=/c/Shot 1.PNG|b>   <image;src=../Shot (2) (1).jpg|>",
        ),
        ("![b](see c or d) ![b](c d.png 'e')", "![b](see c or d) ![b](c d.png 'e')"),
        ("[o**.**](u) x**:**y a**(b)c**", "<|o→u> <bold|.→u>  x <bold|:> y a <bold|(b)c>"),
        ("**Add&#x20;**x", "<bold|Add > x"),
        ("f(*a, **k) and **n", "f(*a, **k) and **n"),
        ("a ** b ** c and x**", "a ** b ** c and x**"),
        ("**a **b** c** d", "<bold|a b c>  d"),
        ("`a**.**` o**.**", "<code;code|a**.**>  o <bold|.>"),
        ('<span class="math">x \\in \\mathbb{F}_{17}</span> y', "<math|x \\in \\mathbb{F}_{17}>  y"),
        ('<span class="math big">a &#x3C; b\\_*c*</span>', "<math|a < b\\_*c*>"),
        ('<span class="maths">*b*</span>', "<italic|b>"),
        (
            'x <img src="data:image/png;base64,A/B=" alt="<svg a=&#x22;b&#x22;></svg>">',
            "x  <image;src=data:image/png;base64,A/B=|>",
        ),
        ('<a href="u">see <a href="p.md" data-mention>p.md</a> now</a>', "<|see →u> <mention|p.md→p.md> <| now→u>"),
        ('in [[p.md](p.md "mention")](p.md#a). And [x](u)', "in  <mention|p.md→p.md> . And  <|x→u>"),
        ('in [see [p](../p/ "mention") now](v)', "in see  <mention|p→../p/>  now"),
        ('[[p](u "mention") and [q](v)](w)', "[ <mention|p→u>  and  <|q→v> ](w)"),
    ],
)
def test_inline_markup_is_parsed_to_runs(markdown: str, expected: str) -> None:
    assert inline(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "anchors"),
    [
        ('## T <a href="#x" id="x"></a>', ["x"]),
        ("## T {#own.id}", ["own.id"]),
        ('<h2 id="x">T</h2>', ["x"]),
        ("# What's new?\n\n# What's new?\n\n## 1. Start", ["whats-new", "whats-new-1", "id-1.-start"]),
        ("## `connect/1`\n\n## Số tiền\n\n## 輸入", ["connect-1", "so-tien", "輸入"]),
    ],
)
def test_headings_have_anchors(markdown: str, anchors: list[str]) -> None:
    document = parse(markdown)
    assert [heading.anchor for heading in document.headings] == anchors
    assert [heading.block.attrs["id"] for heading in document.headings] == anchors
    assert not any("id=" in heading.title or "{#" in heading.title for heading in document.headings)


def test_title_of_a_heading_has_no_image_beside_text() -> None:
    document = parse('# A ![B](b.png) c\n\n## <img src="d.png" alt="D">\n\n## E[^1]\n\n## [^1]\n\n[^1]: Note')
    assert document.title == "A c"
    assert [heading.title for heading in document.headings] == ["A c", "D", "E", "1"]


def test_block_images_are_figures() -> None:
    document = parse(
        '<figure><img src="a.png" alt="A" width="300"><figcaption><p>cap <b>b</b></p></figcaption></figure>\n\n'
        "![B](<b c.png>)\n\n"
        '<div align="left" data-with-frame="true"><figure><img src="c.png" alt=""></figure> '
        '<figure><img src="d.png" alt=""></figure></div>'
    )
    one, two, gallery = document.blocks
    assert (one.children[0].attrs["src"], one.children[0].attrs["width"]) == ("a.png", "300")
    assert one.children[0].plain() == "cap b"
    assert two.children[0].attrs["src"] == "b c.png"
    assert two.children[0].attrs["alt"] == "B"
    assert [image.attrs["src"] for image in gallery.children] == ["c.png", "d.png"]
    assert gallery.attrs == {"align": "left", "frame": True}


def test_front_matter_is_read_and_not_shown() -> None:
    document = parse(
        "---\ntitle: 'It''s'\ndescription: >-\n  one\n  two\nhidden: true\ntags: [a, b]\n"
        "layout:\n  title:\n    visible: false\nmetaLinks:\n  - x\n  - y\n---\n\n# H"
    )
    assert document.title == "It's"
    assert document.metadata == {
        "title": "It's",
        "description": "one two",
        "hidden": True,
        "tags": ["a", "b"],
        "layout": {"title": {"visible": False}},
        "metaLinks": ["x", "y"],
    }
    assert [block.kind for block in document.blocks] == ["heading"]
    assert document.blocks[0].lines == (15, 16)


@pytest.mark.parametrize("value", ["null", "Null", "NULL", "~"])
def test_null_in_front_matter_is_an_empty_value(value: str) -> None:
    document = parse(f"---\ndescription: {value}\nlayout:\n  title: {value}\nicon: x\n---\n\n# H")
    assert document.metadata == parse("---\ndescription:\nlayout:\n  title:\nicon: x\n---\n\n# H").metadata
    assert parse('---\ndescription: "null"\n---\n').metadata == {"description": "null"}


def test_values_in_front_matter_may_have_several_lines() -> None:
    document = parse(
        "---\ntitle: Long\n  title\ndescription: 'It''s:\n  two\n\n  lines' # end\ntags: [a,\n  b]\n"
        "icon: x # none\nlayout:\n  width: wide\n  # later\n---\n"
    )
    assert document.metadata == {
        "title": "Long title",
        "description": "It's: two\nlines",
        "tags": ["a", "b"],
        "icon": "x",
        "layout": {"width": "wide"},
    }


def test_values_in_front_matter_may_begin_on_the_next_line() -> None:
    document = parse(
        '---\ntitle:\n  Long\n  title # end\ndescription:\n  "a: b\n  c"\nlayout:\n  # own\n  width: wide\n'
        "tags:\n  - a\n    b\n  - c\ntext: |\n  x\n    y\n\n  z\nicon:\n"
        'cover: "a\\\n  \\ b\\\n  c\\\\"\n---\n'
    )
    assert document.metadata == {
        "title": "Long title",
        "description": "a: b c",
        "layout": {"width": "wide"},
        "tags": ["a b", "c"],
        "text": "x\n  y\n\nz",
        "icon": {},
        "cover": "a bc\\",
    }


def test_entries_with_unsupported_keys_are_no_text() -> None:
    assert front_matter.parse("redirects:\n  a/b: c\n  d e:\n    f\nroot: x\n") == {"redirects": {}, "root": "x"}


def test_comments_in_front_matter_are_left_out() -> None:
    document = parse(
        "---\nhidden: true # not ready\ntitle: \"C # D\" # quoted\nicon: # none\ndescription: C#, and 'it'\n"
        "cover: a.png#top\ntags: [a, '#b'] # two [2]\nlinks:\n  - x # first\n---\n"
    )
    assert document.metadata == {
        "hidden": True,
        "title": "C # D",
        "icon": {},
        "description": "C#, and 'it'",
        "cover": "a.png#top",
        "tags": ["a", "#b"],
        "links": ["x"],
    }


def test_escapes_in_front_matter_are_safe() -> None:
    document = parse('---\ntitle: "\\x1b[31m \\ud83d\\ude80 \\ud83d"\n---\n')
    assert document.title == document.metadata["title"] == "␛[31m 🚀 \ufffd"


def test_list_in_front_matter_may_have_commas_in_quotes() -> None:
    document = parse("---\ntags: [\"a, b\", 'c, d', it's, that's]\n---\n")
    assert document.metadata == {"tags": ["a, b", "c, d", "it's", "that's"]}


def test_horizontal_rules_are_not_front_matter() -> None:
    document = parse("---\n\nWords without any colon\n\n---\n")
    assert "Words without any colon" in document.blocks[1].plain()


def test_outline_has_no_footnote_marks() -> None:
    found = parse("# Page\n\n## Tides[^1] and winds\n\nBoth.\n\n[^1]: Of the sea.\n").headings
    assert [heading.title for heading in found if heading.level == 2] == ["Tides and winds"]


@pytest.mark.parametrize("name", ["rocket", "digit_one", "race_car", "female_doctor", "large_red_square"])
def test_editor_emoji_names_are_found_in_its_own_table(name: str) -> None:
    """Reading the other emoji tables takes 10 ms in the middle of a page."""
    emoji.from_name.cache_clear()
    emoji._all_codes.cache_clear()

    assert emoji.from_name(name)

    assert emoji._all_codes.cache_info().currsize == 0


def test_emoji_are_found_without_the_tables_of_other_packages() -> None:
    emoji.from_name.cache_clear()
    emoji._common_names.cache_clear()
    emoji._all_codes.cache_clear()

    assert emoji.from_name("rocket") == "🚀"
    assert emoji.from_name("no_emoji_is_called_so") is None
    assert emoji.from_name("no_\ud800") is None

    assert not [name for name in sys.modules if name.startswith("pymdownx.") and name.endswith("_db")]
