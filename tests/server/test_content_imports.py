"""Imports: websites, documents and archives become pages with working links. Hostile input is refused."""

from __future__ import annotations

import asyncio
import re
import resource
import sys
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from html import escape
from io import BytesIO
from types import FrameType
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from octavo.api import change_requests, content, imports, links, spaces
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.documents.source_reader import parse
from octavo.server import import_sources
from octavo.server.app import run_operation
from octavo.server.import_sources import ConversionFailure, convert_docx, read_html
from octavo.server.store import MissingResource
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, check_refused, space_with
from tests.server.space_editor import SpaceEditor
from tests.server.web_server import WebServer, run_web_server

HOME = """<html><head><title>The docs of Acme</title></head><body><nav><a href="elsewhere">Menu</a></nav>
<main><h1>Welcome</h1><p>Read <a href="setup/">the setup</a>, <a href="/docs/guides/first.html#step">a guide</a> and
<a href="/blog">the blog</a>, not <a href="javascript:alert(1)">this</a>.</p><pre><code class="language-sh">ls</code></pre>
<img src="logo.png" alt="Logo"></main><footer>Imprint</footer></body></html>"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with run_web_server() as web:
        yield web


@pytest.fixture
def local_ask(platform: Platform, ask: Ask) -> Ask:
    """Return requests to a platform that may fetch from this machine."""
    platform.context = replace(platform.context, allows_private_imports=True)
    return ask


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive of these files by path."""
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as packed:
        for name, body in files.items():
            packed.writestr(name, body)
    return made.getvalue()


def word_document(*paragraphs: str, picture: bytes = b"") -> bytes:
    """Return a Word document whose first paragraph is a heading. With `picture`, it ends with a PNG picture."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
    body = "".join(
        f"<w:p>{style if number == 0 else ''}<w:r><w:t>{words}</w:t></w:r></w:p>"
        for number, words in enumerate(paragraphs)
    )
    if picture:
        drawing = "http://schemas.openxmlformats.org/drawingml/2006"
        body += (
            f'<w:p><w:r><w:drawing><wp:inline xmlns:wp="{drawing}/wordprocessingDrawing"><a:graphic xmlns:a="{drawing}/main">'
            f'<a:graphicData><pic:pic xmlns:pic="{drawing}/picture"><pic:blipFill><a:blip r:embed="p1" xmlns:r="http://schemas.'
            'openxmlformats.org/officeDocument/2006/relationships"/></pic:blipFill></pic:pic></a:graphicData></a:graphic>'
            "</wp:inline></w:drawing></w:r></w:p>"
        )
    kinds = "http://schemas.openxmlformats.org/package/2006"
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{kinds}/content-types"><Default Extension="xml" '
            'ContentType="application/xml"/><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{kinds}/relationships"><Relationship Id="r1" Target="word/document.xml" '
            'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{kinds}/relationships"><Relationship Id="p1" Target="p.png" '
            'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"/></Relationships>',
            "word/p.png": picture,
            "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f'<w:styles {space}><w:style w:type="paragraph" w:styleId="Heading1">'
            '<w:name w:val="heading 1"/></w:style></w:styles>',
        }
    )


def damaged(packed: bytes) -> bytes:
    """Return an archive in which the first bytes of each file are invalid."""
    for entry in ZipFile(BytesIO(packed)).infolist():
        start = entry.header_offset + 30 + len(entry.filename)
        packed = packed[:start] + b"\xff" * 4 + packed[start + 4 :]
    return packed


def with_flags(packed: bytes, flags: bytes) -> bytes:
    """Return an archive with these flags for each file: `\\1\\0` for an encrypted file, `\\0\\x08` for a name in UTF-8."""
    return re.sub(rb"(PK\x01\x02....)..", lambda match: match[1] + flags, packed, flags=re.DOTALL)


async def _import(ask: Ask, at: SpaceRef | ChangeRequestRef, url: str, source: imports.Source) -> imports.Imported:
    made = await ask(imports.Create(at=at, url=url, source=source))
    assert made.revision == (await ask(content.Get(at=at))).id
    return made


async def _broken_links(ask: Ask, at: SpaceRef) -> list[str]:
    found = await ask(links.ListOfSpace(at=at, status="broken"))
    return [each.target_reference.url or "" for each in found.items if each.target_reference]


async def test_website_becomes_a_tree_of_pages(local_ask: Ask, web: WebServer) -> None:
    url = web.put("/docs/", HOME)
    web.put(
        "/docs/setup/", "<title>Set up</title><article><header><h1>Set up</h1></header><a href='../'>Home</a></article>"
    )
    web.put(
        "/docs/guides/first.html",
        "<h1>First guide</h1><h2 id='step'>Step</h2><a href='gone'>Gone</a><a href='http://[oops'>Odd</a><a href='a.png'>p</a>",
    )
    web.put("/docs/guides/a.png", b"png", "image/png")
    editor = await SpaceEditor.open(local_ask, "# Before")
    made = await _import(local_ask, editor.space, url, "website")
    assert (made.imported_resources, made.total_resources) == (3, 5)
    assert await editor.outline() == "Before Welcome Guides(First guide) Set up"
    text = (await editor.page("Welcome")).markdown or ""
    setup, guide = await editor.id("Set up"), await editor.id("First guide")
    assert f"[the setup](/pages/{setup})" in text
    assert f"[a guide](/pages/{guide}#step)" in text
    assert f"[the blog]({web.origin}/blog)" in text
    assert f"![Logo]({web.origin}/docs/logo.png)" in text
    assert "```sh\nls\n```" in text
    for absent in ("javascript", "Menu", "Imprint"):
        assert absent not in text
    assert "not this." in text
    assert "/blog" not in web.requested_paths
    assert await _broken_links(local_ask, editor.space) == []


async def test_links_of_pages_with_a_base_lead_to_the_imported_pages(local_ask: Ask, web: WebServer) -> None:
    page = "<head><base href='{}'></head><h1>Home</h1><a href='{}'>A</a><img src='b.png' alt='B'>"
    web.put("/docs/inner/a", "<h1>Page A</h1>")
    files = {"docs/index.html": page.format("../inner/", "a.html"), "inner/a.html": "<h1>Page A</h1>"}
    for url, source in (
        (web.put("/docs/", page.format("/docs/inner/", "a")), "website"),
        (web.put("/all.zip", archive(files)), "zip"),
    ):
        editor = await SpaceEditor.open(local_ask, "# Before")
        await local_ask(imports.Create(at=editor.space, url=url, source=source))
        text = (await editor.page("Home")).markdown or ""
        assert f"[A](/pages/{await editor.id('Page A')})" in text
        assert "/inner/b.png)" in text


async def test_page_with_several_urls_is_imported_once(local_ask: Ask, web: WebServer) -> None:
    url = web.put("/docs/", "<h1>Home</h1><a href=a>A</a> <a href=a/>same</a> <a href=old>old</a> <a href=out>out</a>")
    web.put("/docs/a/", "<h1>Page A</h1><a href=../old>itself</a>")
    web.put("/login", "<h1>Sign in</h1>")
    for path, target in (("/docs/a", "/docs/a/"), ("/docs/old", "/docs/a/"), ("/docs/out", "/login")):
        web.move(path, target)
    editor = await SpaceEditor.open(local_ask, "# Before")
    made = await _import(local_ask, editor.space, url, "website")
    assert (await editor.outline(), made.imported_resources, made.total_resources) == ("Before Home Page A", 2, 2)
    link = f"(/pages/{await editor.id('Page A')})"
    text = (await editor.page("Home")).markdown or ""
    assert f"[A]{link} [same]{link} [old]{link} [out]({web.origin}/docs/out)" in text
    assert f"[itself]{link}" in ((await editor.page("Page A")).markdown or "")


@pytest.mark.before_release
async def test_page_nested_too_deeply_is_left_out_of_a_website(local_ask: Ask, web: WebServer) -> None:
    url = web.put("/", "<h1>Home</h1><a href='deep'>Deep</a>")
    web.put("/deep", "<div>" * 20_000)
    space = await space_with(local_ask, one="x")
    made = await _import(local_ask, space.ref, url, "website")
    assert (made.imported_resources, made.total_resources) == (1, 2)


async def test_page_in_too_many_folders_is_left_out_of_a_website(local_ask: Ask, web: WebServer) -> None:
    deep = "d/" * 1200
    url = web.put("/docs/", f"<h1>Home</h1><a href='{deep}'>Deep</a>")
    web.put(f"/docs/{deep}", "<h1>Deep</h1>")
    editor = await SpaceEditor.open(local_ask, "# Before")
    made = await _import(local_ask, editor.space, url, "website")
    assert (await editor.outline(), made.imported_resources, made.total_resources) == ("Before Home", 1, 2)


async def test_website_import_stops_at_the_page_limit(
    local_ask: Ask, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_sources, "PAGE_LIMIT", 3)
    url = web.put("/", "".join(f"<a href='/{n}'>{n}</a>" for n in range(5)))
    for n in range(5):
        web.put(f"/{n}", f"<h1>Page {n}</h1>")
    space = await space_with(local_ask, one="x")
    made = await _import(local_ask, space.ref, url, "website")
    assert (made.imported_resources, made.total_resources) == (3, 6)


@pytest.mark.parametrize("source", ["markdown", "html", "website"])
async def test_page_named_summary_is_no_table_of_contents(
    local_ask: Ask, web: WebServer, source: imports.Source
) -> None:
    text = "# Results\n\n- [A](https://a.example/)\n" if source == "markdown" else "<h1>Results</h1><p>Good"
    editor = await SpaceEditor.open(local_ask, "# Before")
    await _import(local_ask, editor.space, web.put("/docs/summary.html", text), source)
    assert await editor.outline() == "Before Results"


async def test_single_html_markdown_or_word_page_is_imported(local_ask: Ask, web: WebServer) -> None:
    editor = await SpaceEditor.open(local_ask, "# Before")
    at = await editor.propose()
    for url, source in (
        (web.put("/a.html", "<title>From HTML</title><p>1 < 2 <a href='b'>b</a>"), "html"),
        (web.put("/b.md", "---\ndescription: Short\n---\n\n# From markdown\n\nText"), "markdown"),
        (web.put("/c.docx", word_document("From Word", "Said in Word")), "docx"),
    ):
        made = await _import(local_ask, at, url, source)  # type: ignore[arg-type]  # each is a documented source
        assert (made.imported_resources, made.total_resources) == (1, 1)
    assert await editor.outline(at) == "Before From HTML From markdown From Word"
    assert await editor.outline() == "Before"
    assert f"[b]({web.origin}/b)" in ((await editor.page("From HTML", at)).markdown or "")
    assert (await editor.page("From markdown", at)).description == "Short"
    assert (await editor.page("From Word", at)).markdown == "# From Word\n\nSaid in Word\n"


@pytest.mark.parametrize("encoding", ["windows-1252", "shift_jis", "utf-16", "utf-8"])
async def test_html_is_read_in_the_encoding_that_it_declares(local_ask: Ask, web: WebServer, encoding: str) -> None:
    word = "日本" if encoding == "shift_jis" else "größe"
    page = f'<meta charset="{encoding}"><h1>Size</h1><p>{word}'.encode("utf-8" if encoding == "utf-16" else encoding)
    urls: dict[imports.Source, str] = {
        "html": web.put("/a.html", page),
        "website": web.put("/site/", page),
        "zip": web.put("/all.zip", archive({"a.html": page}), "application/zip"),
    }
    for source, url in urls.items():
        editor = await SpaceEditor.open(local_ask, "# Before")
        await _import(local_ask, editor.space, url, source)
        assert (await editor.page("Size")).markdown == f"# Size\n\n{word}\n", source


def test_page_with_several_articles_is_read_completely() -> None:
    page = read_html("<h1>News</h1><article>First</article><article>Second</article><footer>Imprint</footer>")
    assert page.markdown(lambda address: address).split() == ["#", "News", "First", "Second"]


def test_header_in_the_main_part_of_a_page_is_kept() -> None:
    page = read_html("<header>Menu</header><div role=main><header><h1>News</h1></header><p>Words</div>")
    assert page.markdown(lambda address: address) == "# News\n\nWords\n"


def test_blank_lines_in_code_are_kept() -> None:
    page = read_html("<h1>A</h1><pre><code>def a(): ...\n\n\ndef b(): ...</code></pre>")
    assert "```\ndef a(): ...\n\n\ndef b(): ...\n```" in page.markdown(lambda address: address)


@pytest.mark.parametrize(
    "text",
    [
        "a <b> c",
        "`code`",
        "&lt;",
        "[a](b)",
        "[a [b] c](d)",
        "[a]: b",
        "~~a~~",
        "1. a",
        "12) a",
        "2024. a",
        "{% hint %} a",
        "a :smile: b, :+1: and :white_check_mark:",
        ":smile:",
        "a $$x$$ b $$$y$$$",
        "$$\nx\n$$",
        "a^[b]",
        ">a",
        "a | b\n--- | ---",
        "a | b\n|:-|",
        "| a | b |\n| : | : |",
        "##a",
        "# a",
        "- a",
        "+ a",
        "> a",
        "a_b * c",
        "C:\\*\\a \\",
        "---",
        "==",
        "a\n- b",
    ],
)
def test_text_of_a_page_is_not_read_as_markdown(text: str) -> None:
    markdown = read_html(f"<h1>T</h1><p>{escape(text)}</p>").markdown(lambda address: address)
    (paragraph,) = parse(markdown).blocks[1:]
    assert (paragraph.kind, paragraph.plain()) == ("paragraph", text.replace("\n", " "))


def test_text_with_usual_signs_is_not_escaped() -> None:
    text = "C# & R [x]: 5 > 3, a=b - well. 2024. About ~5 | 6 (f(x)). At 12:30:45, $5 or 1:100:2 (x::y:z)!"
    page = read_html(f"<h1>T</h1><p>{escape(text)}</p>")
    assert page.markdown(lambda address: address) == f"# T\n\n{text}\n"


def test_cells_with_pipes_stay_in_their_columns() -> None:
    page = read_html("<table><tr><th>a|b</th><th>c</th></tr><tr><td>d</td><td><code>e|f</code></td></tr></table>")
    assert page.markdown(str).splitlines()[::2] == ["| a\\|b | c |", "| d | `e\\|f` |"]


def test_cells_beside_a_cell_of_several_rows_stay_in_their_columns() -> None:
    page = read_html(
        "<table><tr><th>A<th>B<th>C<tr><td rowspan=2>1<td>2<td rowspan=3>3<tr><td>4<tr><td colspan=2>5<tr><td>6<td>7</table>"
    )
    assert page.markdown(str).splitlines()[2:] == ["| 1 | 2 | 3 |", "|  | 4 |  |", "| 5 | |  |", "| 6 | 7 |"]


@pytest.mark.parametrize(
    "span", ["rowspan=65535 colspan=1000", "colspan=1000", "rowspan=0", "rowspan=-1", "rowspan=9999999999"]
)
def test_hostile_spans_of_cells_are_limited(span: str) -> None:
    page = read_html(f"<table><tr><td {span}>a{f'<tr><td {span}>b' * 1000}</table>")
    text = page.markdown(str)
    assert text.count("b") == 1000
    assert len(text) < 200_000


@pytest.mark.parametrize("tags", ["<table><tr><td>", "<div><form>"])
def test_work_for_nested_elements_grows_with_their_number(tags: str) -> None:
    def count_calls(depth: int) -> int:
        count = 0

        def on_event(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(on_event)
        try:
            with suppress(ConversionFailure):
                read_html(f"{tags * depth}<h1>A").markdown(str)
        finally:
            sys.setprofile(None)
        return count

    assert count_calls(800) < 3 * count_calls(400)


async def test_links_with_spaces_are_imported(local_ask: Ask, web: WebServer) -> None:
    editor = await SpaceEditor.open(local_ask, "# Before")
    url = web.put("/", "<h1>Home</h1><a href=' a b.html '>next</a>")
    web.put("/a%20b.html", "<h1>Next</h1>")
    await _import(local_ask, editor.space, url, "website")
    assert f"[next](/pages/{await editor.id('Next')})" in ((await editor.page("Home")).markdown or "")


def test_page_inside_a_form_is_kept() -> None:
    page = read_html("<form><h1>News</h1><p>Words <select><option>A</select></form><form>Search<input></form>")
    assert page.markdown(str) == "# News\n\nWords\n"


@pytest.mark.parametrize(
    "alt", ["a] b", "[a](b)", "a [b", "*a* `b` <c>", ":smile: $$x$$", "a\\", "{% hint %}", "a\n\nb"]
)
def test_description_of_an_image_is_not_read_as_markdown(alt: str) -> None:
    for around in ("<p>See {} here</p>", "<h2>See {} here</h2>", "<p>See !<a href='u'>{}</a> here</p>"):
        image = f"<img src='a.png' alt='{escape(alt)}'>"
        markdown = read_html(f"<h1>T</h1>{around.format(image)}").markdown(lambda address: address)
        (block,) = parse(markdown).blocks[1:]
        assert block.plain().replace(" ", "") in (f"See{''.join(alt.split())}here", f"See!{''.join(alt.split())}here")


def test_sign_before_a_link_makes_it_no_image() -> None:
    page = read_html("<h1>T</h1><p>Wow!<a href='u'>b</a> x^<a href='u'>2</a> <code>a!</code><a href='u'>c</a></p>")
    assert page.markdown(str) == "# T\n\nWow\\![b](u) x^[2](u) `a!`[c](u)\n"


def test_title_of_a_page_is_not_read_as_markdown() -> None:
    markdown = read_html("<title>:smile: [a](b) $$x$$ {% a %} C #</title><p>x</p>").markdown(str)
    assert parse(markdown).title == ":smile: [a](b) $$x$$ {% a %} C #"


def test_links_are_relative_to_the_base_of_a_page() -> None:
    page = read_html("<head><base href='/docs/'><base href='/no/'></head><a href='a'>a</a><img src='b.png' alt=b>")
    assert page.base_url("https://a.example/x/y.html") == "https://a.example/docs/"
    for base in ("javascript:alert(1)", "data:,", "//[", ""):
        page = read_html(f"<base href='{base}'><a href='a'>a</a>")
        assert page.base_url("https://a.example/x/y.html") == "https://a.example/x/y.html"


def test_description_of_an_embedded_image_is_kept() -> None:
    page = read_html("<h1>T</h1><p><img src='data:image/png;base64,AA' alt='Tide chart'> here <a href=''>and</a>")
    assert page.markdown(str) == "# T\n\nTide chart here and\n"


async def test_links_in_code_of_imported_pages_stay(local_ask: Ask, web: WebServer) -> None:
    editor = await SpaceEditor.open(local_ask, "# Before")
    text = "# A\n\n```md\n[b](b.md)\n```\n"
    await _import(local_ask, editor.space, web.put("/all.zip", archive({"a.md": text, "b.md": "# B"})), "zip")
    assert (await editor.page("A")).markdown == text


async def test_relative_links_of_a_markdown_file_become_urls(local_ask: Ask, web: WebServer) -> None:
    text = "# A\n\n![p](img/p.png) [part](#part) [mail](mailto:a@b.example) [odd](http://[x)\n\n```\n[b](b.md)\n```\n"
    editor = await SpaceEditor.open(local_ask, "# Before")
    await _import(local_ask, editor.space, web.put("/docs/a.md", text, "text/markdown"), "markdown")
    expected = text.replace("(img/p.png)", f"({web.origin}/docs/img/p.png)")
    assert (await editor.page("A")).markdown == expected


async def test_archive_becomes_a_page_tree_with_files(local_ask: Ask, web: WebServer) -> None:
    data = archive(
        {
            "docs/README.md": "# Handbook\n\n[a](guides/a.html) [c](c.docx) ![p](img/p.png)",
            "docs/guides/a.html": "<h1>A</h1><a href='b.htm'>to b</a> <a href='../img/p.png'>p</a>",
            "docs/guides/b.htm": "<h1>B</h1>",
            "docs/c.docx": word_document("C", "words"),
            "docs/img/p.png": b"\x89PNG",
            "docs/unused.bin": b"x",
            "__MACOSX/docs/._README.md": "x",
        }
    )
    editor = await SpaceEditor.open(local_ask, "# Before")
    made = await _import(local_ask, editor.space, web.put("/all.zip", data, "application/zip"), "zip")
    assert (made.imported_resources, made.total_resources) == (4, 4)
    assert await editor.outline() == "Before Handbook C Guides(A B)"
    files = (await local_ask(content.ListFiles(at=editor.space))).items
    assert [file.name for file in files] == ["p.png"]
    a = await editor.page("A")
    assert f"[to b](/pages/{await editor.id('B')})" in (a.markdown or "")
    assert f"[p](/files/{files[0].id})" in (a.markdown or "")
    assert a.git is None
    assert await _broken_links(local_ask, editor.space) == []


async def test_reusable_content_and_variables_of_an_archive_are_imported(local_ask: Ask, web: WebServer) -> None:
    data = archive(
        {
            "guide/a.md": '# A\n\n{% include "../.gitbook/includes/take-care.md" %}\n',
            ".gitbook/includes/take-care.md": "---\ntitle: Be careful\n---\n\nSee [the page](../../guide/a.md).\n",
            ".gitbook/vars.yaml": "version: v2\n",
        }
    )
    editor = await SpaceEditor.open(local_ask, "# Before")
    await _import(local_ask, editor.space, web.put("/all.zip", data), "zip")
    page = await editor.id("A")
    whole = await local_ask(content.GetPage(at=editor.space, page_id=page, format="markdown", dereferenced=True))
    assert f"See [the page](/pages/{page})." in (whole.markdown or "")
    revision = await local_ask(content.Get(at=editor.space))
    assert revision.variables == {"version": "v2"}
    assert [(each.title, each.git) for each in revision.reusable_contents] == [("Be careful", None)]


async def test_documents_in_hidden_folders_of_an_archive_are_no_pages(local_ask: Ask, web: WebServer) -> None:
    attached = word_document("Report")
    data = archive(
        {
            "a.html": "<h1>A</h1><a href='.gitbook/assets/spec.html'>spec</a>",
            "b.md": "# B\n\n[report](.gitbook/assets/report.docx)\n",
            ".gitbook/assets/spec.html": "<h1>Spec",
            ".gitbook/assets/report.docx": attached,
            ".github/issue.md": "# Issue",
            "node_modules/x/README.md": "# X",
        }
    )
    editor = await SpaceEditor.open(local_ask, "# Before")
    made = await _import(local_ask, editor.space, web.put("/all.zip", data), "zip")
    assert (await editor.outline(), made.imported_resources, made.total_resources) == ("Before A B", 2, 2)
    files = {each.name: each for each in (await local_ask(content.ListFiles(at=editor.space))).items}
    assert f"[spec](/files/{files['spec.html'].id})" in ((await editor.page("A")).markdown or "")
    assert f"[report](/files/{files['report.docx'].id})" in ((await editor.page("B")).markdown or "")
    assert (await local_ask.http("GET", files["report.docx"].download_url or "")).content == attached


async def test_table_of_contents_of_an_archive_is_not_counted_as_a_page(local_ask: Ask, web: WebServer) -> None:
    editor = await SpaceEditor.open(local_ask, "# Before")
    data = archive({"SUMMARY.md": "* [A](a.md)\n* [B](b.md)", "a.md": "# A", "b.md": "# B"})
    made = await _import(local_ask, editor.space, web.put("/all.zip", data), "zip")
    assert (await editor.outline(), made.imported_resources, made.total_resources) == ("Before A B", 2, 2)


async def test_pages_of_an_archive_with_the_same_name_are_all_imported(local_ask: Ask, web: WebServer) -> None:
    editor = await SpaceEditor.open(local_ask, "# Before")
    files: dict[str, str | bytes] = {
        "a.html": "<h1>From HTML",
        "a.md": "# From Markdown",
        "a.docx": word_document("From Word"),
    }
    made = await _import(local_ask, editor.space, web.put("/all.zip", archive(files), "application/zip"), "zip")
    assert made.imported_resources == 3
    assert sorted((await editor.outline()).split(" From ")) == ["Before", "HTML", "Markdown", "Word"]


async def test_pages_and_pictures_of_an_archive_keep_their_names(local_ask: Ask, web: WebServer) -> None:
    editor = await SpaceEditor.open(local_ask, "# Before")
    files: dict[str, str | bytes] = {
        "a.html": "<h1>From HTML",
        "b.docx": word_document("First", picture=b"1"),
        "b/b.docx": word_document("Second", picture=b"2"),
        "a.md": "# From Markdown",
        "links.md": "# Links\n\n[a](a.md) ![](.gitbook/assets/b-1.png)",
        ".gitbook/assets/b-1.png": b"0",
    }
    await _import(local_ask, editor.space, web.put("/all.zip", archive(files), "application/zip"), "zip")
    pictures = {each.id: each.download_url for each in (await local_ask(content.ListFiles(at=editor.space))).items}
    seen = []
    for title in ("Links", "First", "Second"):
        found = re.search(r"/files/([^)]+)\)", (await editor.page(title)).markdown or "")
        assert found is not None, title
        seen.append((await local_ask.http("GET", pictures[found[1]] or "")).content)
    assert seen == [b"0", b"1", b"2"]
    assert f"[a](/pages/{await editor.id('From Markdown')})" in ((await editor.page("Links")).markdown or "")


async def test_common_top_folders_may_be_deep(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask)
    url = web.put("/deep.zip", archive({f"{'a/' * 3000}page.md": "# Deep"}))
    assert (await _import(local_ask, space.ref, url, "zip")).imported_resources == 1


async def test_file_with_a_path_that_is_too_long_is_left_out(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask)
    url = web.put("/long.zip", archive({f"{'d' * 200}/" * 25 + "page.html": "<h1>Long</h1>", "short.md": "# Short"}))
    made = await _import(local_ask, space.ref, url, "zip")
    assert (made.imported_resources, made.total_resources) == (1, 2)


async def test_import_is_refused_if_a_file_cannot_be_written(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask, one="x")
    url = web.put("/all.zip", archive({"small.md": "# Small", "large.md": "x" * 100_000}))
    before = await local_ask(content.ListPages(at=space.ref))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))  # As on a full disk, no larger file can be written.
    try:
        message = await check_refused(local_ask(imports.Create(at=space.ref, url=url, source="zip")), 503)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot save anything at the moment" in message
    assert await local_ask(content.ListPages(at=space.ref)) == before


async def test_page_in_a_folder_with_the_name_of_a_file_is_not_counted(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask)
    url = web.put("/all.zip", archive({"c": "x", "c/d.md": "# D", "a.md": "# A"}))
    made = await _import(local_ask, space.ref, url, "zip")
    assert (made.imported_resources, made.total_resources) == (1, 2)


async def test_hostile_archive_cannot_leave_its_folder_or_exceed_the_limit(
    local_ask: Ask, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = await space_with(local_ask, one="x")
    evil = archive(
        {"../../evil.md": "# Evil", "/abs.md": "# Absolute", "a\\b.md": "# Windows", "c": "x", "c/d.md": "# D"}
    )
    made = await _import(local_ask, space.ref, web.put("/evil.zip", evil), "zip")
    titles = [page.title for page in (await local_ask(content.ListPages(at=space.ref))).walk()]
    assert "Evil" not in titles
    assert {"Absolute", "Windows"} <= set(titles)
    assert made.imported_resources >= 2
    monkeypatch.setattr(import_sources, "UNPACKED_LIMIT", 1000)
    bomb = web.put("/bomb.zip", archive({"a.md": "x" * 2000}))
    assert "exceeds the limit of" in await check_refused(
        local_ask(imports.Create(at=space.ref, url=bomb, source="zip")), 400
    )


@pytest.mark.before_release("html-body4-nested too deep")
@pytest.mark.parametrize(
    ("source", "body", "sentence"),
    [
        ("zip", b"no zip", "not a ZIP archive"),
        ("zip", archive({"a.txt": "x"}), "contains no Markdown, HTML, or Word pages"),
        ("docx", b"no zip", "not a Word document"),
        ("docx", archive({"a.txt": "x"}), "could not be read"),
        ("html", b"<div>" * 20_000, "nested too deep"),
        ("markdown", archive({"a.txt": "x"}), "is not text"),
        ("docx", word_document("Hello </w:t>"), "could not be read"),
        ("docx", damaged(word_document("Hello")), "could not be read"),
        ("docx", with_flags(word_document("Hello"), b"\1\0"), "could not be read"),
        ("zip", damaged(archive({"a.md": "# Hello " + "abc" * 99})), "contains no Markdown"),
        ("zip", with_flags(archive({"a.md": "# Hello"}), b"\1\0"), "contains no Markdown"),
        ("zip", with_flags(archive({"ab.md": "x"}), b"\0\x08").replace(b"ab.md", b"\xff\xfe.md"), "not a ZIP archive"),
    ],
)
async def test_unreadable_import_reports_the_cause(
    local_ask: Ask, web: WebServer, source: imports.Source, body: bytes, sentence: str
) -> None:
    space = await space_with(local_ask, one="x")
    op = imports.Create(at=space.ref, url=web.put("/x", body), source=source)
    assert sentence in await check_refused(local_ask(op), 400)
    assert (await local_ask(spaces.Get(at=space.ref))).revision == space.revision


async def test_unreadable_pages_of_an_archive_are_counted_and_others_imported(local_ask: Ask, web: WebServer) -> None:
    files: dict[str, str | bytes] = {
        "good.md": "# Good",
        "a.docx": word_document("Hello </w:t>"),
        "b.docx": damaged(word_document("Hello")),
    }
    files |= {f"{'a/' * 1500}deep.md": "# Deep"}
    editor = await SpaceEditor.open(local_ask, "# Before")
    made = await _import(local_ask, editor.space, web.put("/docs.zip", archive(files)), "zip")
    assert (made.imported_resources, made.total_resources) == (1, 4)
    assert await editor.outline() == "Before Good"


def test_code_with_fences_stays_one_block() -> None:
    code = "Write:\n```sh\nls\n```\n````\nend"
    text = read_html(f"<h1>T</h1><pre><code>{code}</code></pre><p>After</p>").markdown(lambda address: address)
    assert [(block.kind, block.text) for block in parse(text).blocks][1:] == [("code", code), ("paragraph", "")]


@pytest.mark.parametrize(
    ("page", "markdown"),
    [
        ("<title>Tides</title><h1>Tides</h1><p>High<p>Low", "# Tides\n\nHigh\n\nLow\n"),
        ("<h1>T</h1><ul><li>one<ul><li>a<li>b</ul><li>two</ul>", "# T\n\n- one\n  - a\n  - b\n- two\n"),
        (
            "<h1>T</h1><table><tr><th>a<th>b<tr><td>1<td>2</table>",
            "# T\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
        ),
    ],
)
def test_html_without_end_tags_is_imported(page: str, markdown: str) -> None:
    assert read_html(page).markdown(lambda address: address) == markdown


async def test_summary_of_an_archive_may_name_converted_files(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask)
    files = {
        "README.md": "# Home",
        "SUMMARY.md": "* [Home](README.md)\n  * [Bee](sub/b.html)\n* [Odd](http://[odd.html)\n",
        "sub/b.html": "<h1>B",
    }
    await _import(local_ask, space.ref, web.put("/a.zip", archive(files)), "zip")
    (home,) = [page for page in (await local_ask(content.ListPages(at=space.ref))).pages if page.title == "Home"]
    assert [(page.type, page.title) for page in home.pages] == [("document", "B")]


async def test_failed_fetch_of_an_import_reports_the_cause(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask, one="x")
    gone = imports.Create(at=space.ref, url=f"{web.origin}/gone", source="website")
    assert "responded with status 404. Nothing was imported" in await check_refused(local_ask(gone), 400)
    page = imports.Create(at=space.ref, url=web.put("/a.png", b"x", "image/png"), source="website")
    assert "no HTML page" in await check_refused(local_ask(page), 400)


async def test_import_from_a_private_network_is_refused(ask: Ask, web: WebServer) -> None:
    space = await space_with(ask, one="x")
    op = imports.Create(at=space.ref, url=web.put("/", "<h1>Secret</h1>"), source="website")
    assert "on a private network" in await check_refused(ask(op), 400)
    assert web.requested_paths == []


async def test_import_needs_edit_permission(local_ask: Ask, web: WebServer) -> None:
    editor = await SpaceEditor.open(local_ask, "# Before")
    url = web.put("/a.md", "# A")
    into_space = imports.Create(at=editor.space, url=url, source="markdown")
    assert "need the Creator role" in await check_refused(local_ask(into_space, "tom"), 403)
    at = await editor.propose()
    into_change_request = imports.Create(at=at, url=url, source="markdown")
    await check_refused(local_ask(into_change_request, "zoe"), 403)
    await check_refused(local_ask(into_change_request, "eve"), 404)
    assert web.requested_paths == []
    await local_ask(into_change_request, "jun")
    await editor.merge(at)
    assert "already merged" in await check_refused(local_ask(into_change_request), 409)
    await local_ask(spaces.Update(at=editor.space, edit_mode="locked"))
    assert "can only be edited in change requests" in await check_refused(local_ask(into_space), 409)
    await check_refused(local_ask(imports.Create(at=editor.space, url=url, source="markdown"), "eve"), 404)
    draft = (await local_ask(change_requests.Create(at=editor.space))).ref(editor.space)
    assert "is not supported" in await check_refused(local_ask(imports.Create(at=draft, url=url, source="notion")), 400)
    for body in ({"url": "ftp://a.example", "source": "html"}, {"url": url, "source": "fax"}, {"source": "html"}):
        await local_ask.http("POST", f"/v1/spaces/{editor.space.space_id}/content/import", json=body)
        assert local_ask.last.status_code == 400


async def test_import_into_a_space_that_is_deleted_meanwhile_changes_nothing(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask, one="x")
    op = imports.Create(at=space.ref, url=web.put("/a.md", "# A"), source="markdown")
    work = run_operation(op, local_ask.platform.context.for_user("ada"))
    downloaded = work.run()
    await local_ask(spaces.Delete(at=space.ref))
    with pytest.raises(MissingResource):
        work.finish(downloaded)
    assert (await local_ask(spaces.Restore(at=space.ref))).revision == space.revision


def test_document_that_unpacks_too_large_is_refused() -> None:
    with pytest.raises(ConversionFailure, match="larger than"):
        convert_docx(archive({"word/media/a.bin": b"\0" * 60_000_000}), "a")


def test_html_that_is_too_long_is_refused() -> None:
    with pytest.raises(ConversionFailure, match="longer than"):
        read_html("x" * 5_000_001)


@pytest.mark.before_release
async def test_simultaneous_archives_need_the_memory_of_one(local_ask: Ask, web: WebServer) -> None:
    space = await space_with(local_ask, one="x")
    url = web.put("/large.zip", archive({"a.md": "# A\n", "a.bin": bytes(40 << 20)}), "application/zip")

    async def peak(times: int) -> int:
        tracemalloc.reset_peak()
        await asyncio.gather(*(local_ask(imports.Create(at=space.ref, url=url, source="zip")) for _ in range(times)))
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        assert await peak(6) < 2 * await peak(1)
    finally:
        tracemalloc.stop()
