"""Targets of links."""

from __future__ import annotations

import re
from dataclasses import astuple

import pytest

from octavo.api.content import Revision
from octavo.documents import links
from octavo.documents.anchors import anchored_blocks, is_missing_anchor, match_anchor, page_anchors
from octavo.documents.blocks import MAX_MARKS
from octavo.documents.links import (
    AnchorLink,
    BlockedLink,
    BrokenLink,
    ChangeRequestLink,
    CollectionLink,
    FileLink,
    PageLink,
    ReusableContentLink,
    SiteLink,
    SpaceIndex,
    SpaceLink,
    Target,
    UrlLink,
    UserLink,
    external_target,
    resolve,
)
from octavo.documents.page_trees import space_index_of, space_index_of_json
from octavo.documents.source_reader import parse
from tests.api.test_folding import ALIKE

PLACES = SpaceIndex(
    pages={"": "home", "guides": "g", "guides/setup": "s", "guides/setup/more": "m", "api/v1.2": "v"},
    page_ids={"home", "g", "s", "m", "v"},
    files={"logo (1).png": "f1", "f1": "f1"},
    space_id="space1",
    origins=("https://docs.example",),
)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("#top", AnchorLink("top")),
        ("more.md", PageLink("m")),
        ("setup/more.md#a%20b", PageLink("m", "a b")),
        ("../guides/README.md", PageLink("g")),
        ("../", PageLink("home")),
        ("/guides/setup", PageLink("s")),
        ("/pages/m", PageLink("m")),
        ("/pages/m#x", PageLink("m", "x")),
        ("/pages/guides/setup.md", PageLink("s")),
        ("../api/v1.2.md", PageLink("v")),
        ("/files/f1", FileLink("f1", "f1")),
        ("../../.gitbook/includes/take%20care.md", ReusableContentLink(".gitbook/includes/take care.md")),
        ("../../.gitbook/assets/logo%20(1).png", FileLink("f1", "logo (1).png")),
        ("https://a.b/c?d=e#f", UrlLink("https://a.b/c?d=e#f", "a.b")),
        ("https://\u0430pple.com/\u0430?q#f", UrlLink("https://xn--pple-43d.com/\u0430?q#f", "xn--pple-43d.com")),
        ("https://\u0430pple.com:8443/", UrlLink("https://xn--pple-43d.com:8443/", "xn--pple-43d.com")),
        ("http://[::1]:80/x", UrlLink("http://[::1]:80/x", "::1")),
        ("//a.b/c", UrlLink("https://a.b/c", "a.b")),
        ("www.a.b", UrlLink("https://www.a.b", "www.a.b")),
        ("mailto:a@b.c?subject=x", UrlLink("mailto:a@b.c?subject=x", "a@b.c")),
        ("https://app.gitbook.com/s/other/a/b#c", SpaceLink("other", "a/b", "c")),
        ("https://app.gitbook.com/o/org/s/other", SpaceLink("other")),
        ("https://app.gitbook.com/s/space1/guides/setup", PageLink("s")),
        ("https://app.gitbook.com/s/other/~/changes/12/a", ChangeRequestLink("other", 12)),
        ("/spaces/other/pages/p1", SpaceLink("other", "p1")),
        ("https://app.gitbook.com/o/org/c/shelf", CollectionLink("shelf")),
        ("https://app.gitbook.com/o/org/sites/site_1/settings", SiteLink("site_1", "org")),
        ("/collections/shelf", CollectionLink("shelf")),
        ("/users/ada", UserLink("ada")),
        ("https://docs.example/o/org/s/space1/guides/setup#x", PageLink("s", "x")),
        ("https://app.gitbook.com/account", UrlLink("https://app.gitbook.com/account", "app.gitbook.com")),
    ],
)
def test_link_has_its_target(href: str, expected: Target) -> None:
    assert resolve(href, "guides/setup", PLACES) == expected


@pytest.mark.parametrize(
    "href",
    [
        "",
        "nowhere.md",
        "/pages/nope",
        "/files/nope",
        "/broken/pages/x",
        "broken-reference",
        "http://",
        "http://[::1",
        "http://a.b:99999/",
        "http://a..b/",
        "x.com",
    ],
)
def test_link_without_a_target_is_broken_with_a_reason(href: str) -> None:
    target = resolve(href, "guides/setup", PLACES)
    assert isinstance(target, BrokenLink)
    assert target.reason.endswith(".")


@pytest.mark.parametrize(
    ("href", "scheme"),
    [
        ("javascript:alert(1)", "javascript"),
        ("JaVaScript:x", "javascript"),
        ("file:///etc/passwd", "file"),
        ("data:text/html,x", "data"),
        ("ssh://-oProxyCommand=x", "ssh"),
        ("\u200bvbscript:x", "vbscript"),
        ("hhttps://a.b", "hhttps"),
    ],
)
def test_other_schemes_are_blocked(href: str, scheme: str) -> None:
    target = resolve(href, "", PLACES)
    assert isinstance(target, BlockedLink)
    assert target.reason == f"Octavo does not open links that begin with “{scheme}:”."


@pytest.mark.parametrize("href", ["HTTPS://good.com@evil.com/", "https://good.com\\@evil.com/"])
def test_url_that_hides_its_host_is_blocked(href: str) -> None:
    target = resolve(href, "", PLACES)
    assert isinstance(target, BlockedLink)
    assert "look like a link to another site" in target.reason


def test_file_name_with_two_spaces_is_found() -> None:
    places = SpaceIndex(files={"two  spaces.png": "f2"})
    assert resolve("two  spaces.png", "", places) == FileLink("f2", "two  spaces.png")
    assert resolve("two\u200b \u200bspaces.png", "", SpaceIndex(files={"two spaces.png": "f2"})) == FileLink(
        "f2", "two spaces.png"
    )


@pytest.mark.parametrize("href", ["%6Aavascript:x", "%66ile:///etc/passwd"])
def test_encoded_scheme_is_not_decoded_to_a_url(href: str) -> None:
    assert isinstance(resolve(href, "", PLACES), BrokenLink)


def test_control_characters_are_removed_from_urls() -> None:
    target = resolve("https://a.b/\x1b]52;c;x\x07\n", "", PLACES)
    assert isinstance(target, UrlLink)
    assert target.url.isprintable()


def test_links_of_a_file_start_from_its_folder() -> None:
    assert resolve("more.md", "guides/setup/README.md", PLACES) == PageLink("m")


def test_anchors_match_by_their_letters() -> None:
    known = ["id-1.-start", "whats-new"]
    assert match_anchor("whats-new", known) == "whats-new"
    assert match_anchor("1-start", known) == "id-1.-start"
    assert match_anchor("What's-New", known) == "whats-new"
    assert match_anchor("other", known) is None


@pytest.mark.parametrize(
    ("wanted", "heading"),
    [
        *(("math-and-tex", "Math & TeX"), ("math--tex", "Math & TeX"), ("math-tex", "Math & TeX")),
        *(("setup--config", "Setup & Config!"), ("research-development", "Research and development")),
        *(("übungen", "Übungen"), ("ubungen", "Übungen"), ("U\u0308bungen", "Übungen"), ("groesse", None)),
        *(("uebungen", "Übungen"), ("coeur", "Cœur"), ("c-ur", None), ("groessen-aendern", "Größen ändern")),
        *(
            ("grossen-andern", "Größen ändern"),
            ("größen-ändern", "Größen ändern"),
            ("złoty", "Złoty"),
            ("zloty", "Złoty"),
        ),
        *(("1-first-step", "1. First step"), ("id-1-first-step", "1. First step"), ("1.-first-step", "1. First step")),
        *(
            ("whats-new", "What’s new?"),
            ("what-s-new", "What’s new?"),
            ("🚀-start", "🚀 Start"),
            ("-start", "🚀 Start"),
        ),
        *(("v12", "v1.2"), ("v1-2", "v1.2"), ("snake_case", "snake_case"), ("snake-case", "snake_case")),
        *(("same-1", "Same 2nd"), ("same-2", None), ("and", None), ("", None), ("-", None)),
        *(("rasshirennyi-rezhim", "Расширенный режим"), ("id-2.-khranilishe", "2. Хранилище"), ("rezhim", None)),
        *(("raschyoty", "Расчёты"), ("tranzakciyi", "Транзакції")),
        *(
            ("step-3.", "Step 3. 마우스모드 변경"),
            ("step-3.-마우스모드-변경", "Step 3. 마우스모드 변경"),
            ("step-3.-변경", None),
        ),
    ],
)
def test_link_finds_a_heading_by_any_form_of_its_anchor(wanted: str, heading: str | None) -> None:
    titles = ["Math & TeX", "Setup & Config!", "Research and development", "Übungen", "1. First step", "What’s new?"]
    titles += ["🚀 Start", "v1.2", "snake_case", "Same", "Same", "Cœur", "Größen ändern", "Złoty"]
    titles += ["Расширенный режим", "Расчёты", "Транзакції", "2. Хранилище", "Step 3. 마우스모드 변경"]
    page = parse("\n\n".join(f"## {title}" for title in titles))
    anchors = anchored_blocks(page)
    name = match_anchor(wanted, anchors)
    is_second = heading == "Same 2nd"
    assert (name and anchors[name].plain()) == ("Same" if is_second else heading)
    assert not is_second or anchors[name or ""] is page.blocks[10]


@pytest.mark.parametrize(
    ("wanted", "start"),
    [
        ("answer", "paragraph one"),
        ("answer-1", "paragraph two"),
        ("answer-2", None),
        ("more", "paragraph hidden"),
        ("here", "paragraph two"),
        ("there", "paragraph last"),
        ("signature", "code class"),
        ("example", None),
        ("list-cakes", "paragraph cakes"),
        ("crowded", "code <div"),
    ],
)
def test_link_finds_a_tab_an_expandable_or_an_html_element(wanted: str, start: str | None) -> None:
    page = parse(
        '{% tabs %}\n{% tab title="Answer" %}\none\n{% endtab %}\n{% endtabs %}\n\n'
        '{% tabs %}\n{% tab title="Answer" %}\n<a id="here"></a>two\n{% endtab %}\n{% endtabs %}\n\n'
        "<details>\n<summary>More</summary>\n\nhidden\n\n</details>\n\n"
        '```\n<a id="example"></a>\n```\n\n<a name="there"></a>\n\nlast\n\n'
        '<a id="signature"></a>\n\n```\nclass\n```\n\n'
        '{% swagger method="get" path="/cakes" summary="List cakes" %}\ncakes\n{% endswagger %}\n\n'
        f'<div id="crowded">{"<b></b>" * MAX_MARKS}</div>\n'
    )
    anchors = anchored_blocks(page)
    name = match_anchor(wanted, anchors)
    found = [each for each in anchors[name].walk() if each.kind in ("paragraph", "code")] if name else []
    assert (f"{found[0].kind} {found[0].plain().split(' ')[0]}" if found else None) == start


@pytest.mark.parametrize("anchor", ["action-points", "action-points-pa-icon"])
def test_link_finds_a_heading_with_or_without_the_alternative_text_of_its_image(anchor: str) -> None:
    anchors = anchored_blocks(parse('## Action points <img src="a.png" alt=":PA Icon:">\n\n## ![More](b.png)'))
    assert anchors[match_anchor(anchor, anchors) or ""].kind == "heading"
    assert match_anchor("more", anchors) == "more"


def test_anchor_that_may_be_the_pinyin_of_a_heading_does_not_count_as_missing() -> None:
    anchors = [page_anchors(parse("## GraphQL指令注解\n\n## SDK 生成\n\n## Step 1 of many\n\n## Step 3. 변경"))]
    for anchor in ("graphql-zhi-ling-zhu-jie", "SDK-sheng-cheng"):
        assert not is_missing_anchor(anchor, anchors)
    for anchor in ("graphql-zhi", "使用", "a-b-c-d", "step-4."):
        assert is_missing_anchor(anchor, anchors)


def test_identical_anchor_wins_over_similar_anchor() -> None:
    assert match_anchor("a-and-b", ["a-b", "a-and-b"]) == "a-and-b"
    assert match_anchor("a--b", ["a-and-b", "a-b"]) == "a-b"


def test_anchor_of_a_heading_has_ascii_for_latin_letters() -> None:
    headings = parse("# Mettre en œuvre\n\n# Große Übung\n\n# Łódź\n\n# 设置").headings
    assert [each.anchor for each in headings] == ["mettre-en-oeuvre", "grosse-ubung", "lodz", "设置"]


INDEX_PAGES = links.ids_by_path(
    [
        ("home", "", "README.md"),
        ("api", "reference/api", "api/README.md"),
        ("overview", "reference/api/overview", "api/overview.md"),
        ("old", "reference/old", "old/index.md"),
        ("both", "both", "both.md"),
        ("both inside", "reference/both", "both/README.md"),
        ("twin folder", "twin", "twin/README.md"),
        ("twin file", "not-in-summary/twin", "twin.md"),
    ]
)


@pytest.mark.parametrize(
    ("href", "page"),
    [
        *(("api/", "api"), ("api", "api"), ("api/README.md", "api"), ("./api/README", "api"), ("/api", "api")),
        *(("reference/api", "api"), ("api/overview.md", "overview"), ("old/", "old"), ("old/index.md", "old")),
        *(
            ("both.md", "both"),
            ("both", "both"),
            ("both/README.md", "both inside"),
            ("README.md", "home"),
            ("./", "home"),
        ),
        *(("twin.md", "twin file"), ("twin/", "twin folder"), ("/twin/", "twin folder"), ("twin/.", "twin folder")),
        *(("/twin.md#a", "twin file"), ("twin/README.md", "twin folder")),
    ],
)
def test_index_page_below_a_group_is_found_by_its_folder(href: str, page: str) -> None:
    assert resolve(href, "README.md", SpaceIndex(INDEX_PAGES)) == PageLink(page, href.partition("#")[2] or None)


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("/broken/pages/x", "The page no longer exists."),
        ("https://app.gitbook.com/broken/files/x", "The file no longer exists."),
        ("/broken/spaces/s/pages/x", "The page in another space no longer exists."),
        ("/broken/openapi/pets", "The OpenAPI specification no longer exists."),
        ("broken-reference", "The link target no longer exists."),
        ("nowhere.md", "There is no page at nowhere.md."),
        ("/img/a.png", "There is no page or file at img/a.png."),
    ],
)
def test_broken_link_has_a_reason(href: str, reason: str) -> None:
    target = resolve(href, "guides/setup", PLACES)
    assert isinstance(target, BrokenLink)
    assert target.reason == reason


def test_links_to_files_are_not_broken_if_files_are_unknown() -> None:
    places = SpaceIndex(pages={"a": "a"}, page_ids={"a"}, files=None)
    assert resolve(".gitbook/assets/b%20c.png", "a", places) == FileLink("", "b c.png", ".gitbook/assets/b c.png")
    assert resolve("../.gitbook/assets/b.png", "x/y/a.md", places) == FileLink("", "b.png", "x/.gitbook/assets/b.png")
    assert resolve("/files/f9", "a", places) == FileLink("f9", "f9")
    assert resolve("data/tides.csv", "a", places) == FileLink("", "tides.csv", "data/tides.csv")
    assert isinstance(resolve("b.md", "a", places), BrokenLink)


def test_page_with_subpages_has_its_own_folder() -> None:
    places = SpaceIndex(pages={"setup": "top", "guides/setup": "below", "guides": "g"})
    assert resolve("setup.md", "guides/", places) == PageLink("below")
    assert resolve("setup.md", "guides", places) == PageLink("top")


@pytest.mark.parametrize("href", ["a%1b.md", "#a%9B", ".gitbook/assets/a%07.png", "/%1b", "a.md#%00", "/s/space/%1B"])
def test_decoded_percent_encoding_is_safe_to_show(href: str) -> None:
    target = resolve(href, "a", SpaceIndex(pages={"a": "a"}, files=None))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", "".join(map(str, astuple(target))))


def test_files_with_the_same_name_are_found_by_path() -> None:
    places = SpaceIndex(files={"a/.gitbook/assets/x.png": "1", "x.png": "1", "b/.gitbook/assets/x.png": "2"})
    found = [resolve(".gitbook/assets/x.png", page, places) for page in ("a/one.md", "b/two.md", "three.md")]
    assert found == [FileLink("1", "x.png"), FileLink("2", "x.png"), FileLink("1", "x.png")]


def test_link_outside_of_the_tree_is_no_missing_page() -> None:
    for href, is_beyond in (
        ("../../other/a.md", True),
        ("../a.md", False),
        ("/a.md", False),
        ("/broken/pages/x", False),
    ):
        target = resolve(href, "guides/page.md", SpaceIndex())
        assert isinstance(target, BrokenLink)
        assert target.is_outside_tree == is_beyond


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("../../docs/en/setup.md#one", PageLink("s", "one")),
        ("../en/setup.md", PageLink("s")),
        ("../../docs/en/", PageLink("home")),
        ("../../docs/en/.gitbook/assets/a.png", FileLink("f", "a.png")),
        ("../../docs/en/logo.svg", FileLink("l", "logo.svg")),
    ],
)
def test_path_that_leaves_the_root_and_returns_is_found(href: str, expected: Target) -> None:
    targets = SpaceIndex(
        {"": "home", "setup": "s"}, files={".gitbook/assets/a.png": "f", "logo.svg": "l"}, root="docs/en"
    )
    assert resolve(href, "start.md", targets) == expected


@pytest.mark.parametrize(
    "href", ["../setup/no.md", "../../en/no.md", "../../../docs/en/no.md", "../../docs/no.md", "../docs/en/no.md"]
)
def test_path_that_only_resembles_the_root_stays_outside(href: str) -> None:
    target = resolve(href, "start.md", SpaceIndex({"no": "n"}, root="docs/en"))
    assert isinstance(target, BrokenLink)
    assert target.is_outside_tree


@pytest.mark.parametrize("files", [{"files/a.yaml": "f", "id1": "g"}, None], ids=["known files", "unknown files"])
def test_folders_named_pages_and_files_are_found(files: dict[str, str] | None) -> None:
    targets = SpaceIndex({"pages/setup": "s", "home": "h"}, {"s", "h"}, files)
    assert resolve("/pages/setup.md#one", "start.md", targets) == PageLink("s", "one")
    assert resolve("/pages/h", "start.md", targets) == PageLink("h")
    by_path = FileLink("f", "a.yaml") if files else FileLink("", "a.yaml", "files/a.yaml")
    assert resolve("/files/a.yaml", "start.md", targets) == by_path
    assert resolve("/files/id1", "start.md", targets) == FileLink("g" if files else "id1", "id1")


def test_page_is_found_before_a_file_that_has_only_its_name() -> None:
    names = {"README.md": "f", ".gitbook/assets/README.md": "f"}
    targets = SpaceIndex({"guides/README": "g", "guides": "g"}, files=names)
    assert resolve("README.md", "guides/setup.md", targets) == PageLink("g")
    assert resolve("../.gitbook/assets/README.md", "guides/setup.md", targets) == FileLink("f", "README.md")
    assert resolve("README.md", "other/setup.md", targets) == FileLink("f", "README.md")


@pytest.mark.parametrize("href", ["https://app.gitbook.com/s/other/a", "www.example.org/a", "mailto:a@b.example"])
def test_browser_may_open_pages_of_the_platform(href: str) -> None:
    assert isinstance(external_target(href), UrlLink)


@pytest.mark.parametrize("href", ["", "page.md", "javascript:alert(1)", "https://", "https://a@b/c"])
def test_browser_links_need_a_host(href: str) -> None:
    assert not isinstance(external_target(href), UrlLink)


def test_url_for_a_browser_is_printable() -> None:
    target = external_target("https://a.example/設\u3000定")
    assert target == UrlLink("https://a.example/設%E3%80%80定", "a.example")


@pytest.mark.parametrize("href", ["größe.md", "gro\u0308ße.md", "GRÖSSE", "gr%C3%B6sse.md", "/Größe", "ｇröße.md"])
def test_page_is_found_without_case(href: str) -> None:
    places = SpaceIndex(pages={"größe": "p1", "Gröse": "p2"}, files={"écran.png": "f1"})
    assert resolve(href, "", places) == PageLink("p1")
    assert resolve("grose.md", "", places) == BrokenLink("grose.md", "There is no page at grose.md.", path="grose.md")
    assert resolve(".gitbook/assets/E\u0301CRAN.png", "", places) == FileLink("f1", "E\u0301CRAN.png")


def test_page_with_the_exact_path_wins() -> None:
    places = SpaceIndex(pages={"Setup": "upper", "setup": "lower"})
    assert [resolve(href, "", places) for href in ("setup", "Setup", "SETUP")] == [
        PageLink("lower"),
        PageLink("upper"),
        PageLink("upper"),
    ]


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_anchor_is_found_without_case(pair: tuple[str, str], stored: int) -> None:
    there, wanted = ("-".join(each.split()) for each in (pair[stored], pair[1 - stored]))
    assert match_anchor(wanted, ["first", there]) == there


def test_home_page_without_a_path_is_found_by_its_slug() -> None:
    home = {"id": "home", "type": "document", "title": "Tides", "slug": "tides", "path": "", "pages": []}
    pages = [home, {"id": "g", "type": "group", "title": "Guide", "slug": "guide", "path": "guide", "pages": []}]
    revision = {"space": "s", "pages": pages, "files": []}
    assert resolve("../tides.md", "guide/first", space_index_of_json(revision)) == PageLink("home")
    tree = Revision.model_validate({"object": "revision", "id": "r", **revision})
    assert resolve("../tides.md", "guide/first", space_index_of(tree, "s")) == PageLink("home")
