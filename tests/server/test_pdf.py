"""PDFs of a page, of a page with its subpages, and of a space. The PDFs are read with a PDF library."""

from __future__ import annotations

import sys
from base64 import b64encode
from io import BytesIO
from types import FrameType
from typing import Any

import pytest
from PIL import Image
from pypdf import PdfReader

from octavo.api import change_requests, content, pdf, spaces
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.documents.links import SpaceIndex
from octavo.server.handlers.spaces import add_edit_revision, get_current, set_current
from octavo.server.pdf_document import PdfBook
from octavo.server.rest import RequestContext
from tests.server.small_platform import Ask, Clock, check_refused, replace_pages, space_with
from tests.server.space_editor import SpaceEditor, insert, update
from tests.server.test_references import add_reusable_content

EVERYTHING = """# All of it

Some **bold**, *slanted*, ~~struck~~ and `code <b>` with [a link](https://a.example/?a=1&b="2") and [two](two.md).

## A list

1. First
2. Second
   - Below
   - [x] not a task

- [x] Done
- [ ] Open

> Quoted words

{% hint style="warning" %}
Mind the step.
{% endhint %}

{% tabs %}
{% tab title="One tab" %}
In the tab.
{% endtab %}
{% endtabs %}

```python
print("<hello>")  # a comment that is so long that it has to be broken because no sheet of paper is as wide as this one
```

{% openapi-operation spec="tides" path="/v2/levels" method="post" %}
[A file](https://a.example/tides.json)
{% endopenapi-operation %}

| Name | What |
|------|------|
| Apple | A fruit \\<para> |

$$x^2$$

---

Greek αβγ, Cyrillic мир, Chinese 世界, a rocket 🚀 and \\</para> end.
"""


async def _pdf(ask: Ask, at: SpaceRef | ChangeRequestRef, user: str = "ada", **wanted: object) -> PdfReader:
    """Download the PDF without a key, and return a reader of the PDF."""
    answer = await ask(pdf.Get.model_validate({"at": at, **wanted}), user)
    download = await ask.http("GET", answer.url, None)
    assert (download.status_code, download.headers["content-type"]) == (200, "application/pdf")
    return PdfReader(BytesIO(download.content))


def _words(reader: PdfReader) -> str:
    return " ".join(" ".join(page.extract_text() for page in reader.pages).split())


def _titles(entry: Any) -> Any:
    return [_titles(each) for each in entry] if isinstance(entry, list) else entry.title


async def test_all_kinds_of_blocks_are_printed(ask: Ask) -> None:
    space = await space_with(ask, "Handbook & more", one=EVERYTHING, two="# Two")
    reader = await _pdf(ask, space.ref)
    said = _words(reader)
    for words in (
        "All of it", "bold", "slanted", "struck", "code <b>", "A list", "1. First", "Below", "[x] Done", "[ ] Open",
        "Quoted words", "Warning", "Mind the step.", "One tab", "In the tab.", 'print("<hello>")', "as this one",
        "POST /v2/levels", "A file", "Apple", "A fruit <para>", "x^2", "世界", "</para> end.", "Handbook & more",
    ):  # fmt: skip
        assert words in said, words
    assert reader.metadata is not None
    assert reader.metadata.title == "Handbook & more"
    notes = [note.get_object() for note in reader.pages[0].annotations or ()]
    addresses = [note["/A"]["/URI"] for note in notes if "/URI" in note.get("/A", {})]
    assert addresses == ['https://a.example/?a=1&b="2"', "https://a.example/tides.json"]


async def test_code_is_printed_in_all_scripts_and_within_the_sheet(ask: Ask) -> None:
    space = await space_with(ask, one=f"# One\n\n```\n  a = 1\n\n{'世' * 100} end\n```")
    lines = [line.strip() for page in (await _pdf(ask, space.ref)).pages for line in page.extract_text().split("\n")]
    code = lines[lines.index("a = 1") + 1 :]
    assert [line for line in code if line] == ["世" * 44, "世" * 44, "世" * 12 + " end"]


async def test_outline_of_the_pdf_is_the_page_tree(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, one="# One", two="# Two", three="# Three")
    one, two, three = get_current(context, space.id)["pages"]
    group = {"id": "g", "type": "group", "title": "Group", "slug": "g", "pages": [three]}
    await replace_pages(ask, space, [{**one, "pages": [two]}, group])
    reader = await _pdf(ask, space.ref)
    assert len(reader.pages) == 4
    outline = [_titles(entry) for entry in reader.outline]
    assert outline == ["One", ["Two"], "Group", ["Three"]]


async def test_included_content_is_printed_in_its_place(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, home='# Home\n\nBefore.\n\n{% include "../.gitbook/includes/note.md" %}\n\nAfter.\n')
    add_reusable_content(context.for_user("ada"), space.id, note="Take care.")
    assert "Before. Take care. After." in _words(await _pdf(ask, space.ref))


async def test_page_is_printed_with_or_without_subpages(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, one="# One", two="# Two", three="# Three")
    one, two, three = get_current(context, space.id)["pages"]
    await replace_pages(ask, space, [{**one, "pages": [two]}, three])
    assert len((await _pdf(ask, space.ref, page="one")).pages) == 2
    alone = await _pdf(ask, space.ref, page="one", only=True)
    assert len(alone.pages) == 1
    assert "One" in _words(alone)
    assert "page is required" in await check_refused(ask(pdf.Get(at=space.ref, only=True)), 400)
    assert "The page “gone”" in await check_refused(ask(pdf.Get(at=space.ref, page="gone")), 404)


async def test_change_request_is_printed_with_its_changes(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# One\n\nOld words")
    at = await editor.propose(update(await editor.id("One"), "# One\n\nNew words"))
    assert "New words" in _words(await _pdf(ask, at, "sam"))
    assert "Old words" in _words(await _pdf(ask, editor.space, "sam"))
    await check_refused(ask(pdf.Get(at=at), "eve"), 404)
    await check_refused(ask(pdf.Get(at=editor.space), "eve"), 404)
    gone = at.model_copy(update={"change_request_id": "99"})
    await check_refused(ask(pdf.Get(at=gone)), 404)


async def test_images_of_the_space_are_printed(ask: Ask) -> None:
    drawn = BytesIO()
    Image.new("RGB", (40, 20), "red").save(drawn, "PNG")
    good = content.NewFile(
        name="a.png", content_type="image/png", base64=b64encode(drawn.getvalue()).decode(), ref="a.png"
    )
    damaged = content.NewFile(
        name="b.png", content_type="image/png", base64=b64encode(drawn.getvalue()[:40]).decode(), ref="b.png"
    )
    editor = await SpaceEditor.open(ask, "# One")
    at = await editor.propose()
    page = insert("# Two\n\n![Red](./a.png)\n\n![Damaged](./b.png)\n\n![Far](https://a.example/c.png)")
    await editor.edit(at, content.InsertFiles(files=(good, damaged)), page)
    reader = await _pdf(ask, at)
    assert [(image.image.size if image.image else None) for image in reader.pages[1].images] == [(40, 20)]
    said = _words(reader)
    assert "[Damaged]" in said
    assert "[Far]" in said


async def test_pdf_url_expires_after_an_hour_and_cannot_be_forged(ask: Ask, clock: Clock) -> None:
    space = await space_with(ask, one="# One")
    url = (await ask(pdf.Get(at=space.ref))).url
    first = await ask.http("GET", url, None)
    assert (await ask.http("GET", url, None)).content == first.content
    payload, signature, name = url.rsplit("/", 3)[1:]
    forged = url.replace(signature, "0" * len(signature))
    for bad in (forged, url.replace(payload, payload[:-2] + "xx"), url.replace(signature, "é")):
        assert (await ask.http("GET", bad, None)).status_code == 404
    assert name == "handbook.pdf"
    clock.forward(hours=1, seconds=1)
    assert (await ask.http("GET", url, None)).status_code == 404
    assert "expired" in ask.last.json()["error"]["message"]


@pytest.mark.before_release
async def test_long_table_and_long_word_fit_the_paper(ask: Ask) -> None:
    rows = "\n".join(f"| {n} | {'word ' * 200} |" for n in range(40))
    page = (
        f"# Long\n\n| a | b |\n|---|---|\n{rows}\n| {'x' * 3000} | {'words ' * 3000} |\n\n{'y' * 3000}\n\n"
        + "> " * 30
        + "deep"
    )
    space = await space_with(ask, one=page)
    reader = await _pdf(ask, space.ref)
    assert len(reader.pages) > 3
    assert "deep" in _words(reader)


async def test_table_with_many_columns_is_printed_in_parts(ask: Ask) -> None:
    names = [f"c{number}" for number in range(100)]
    table = f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n| {' | '.join(f'{name}x' for name in names)} |\n"
    space = await space_with(ask, one=f"# One\n\n{table}")
    parts = [names[first : first + 20] for first in range(0, 100, 20)]
    expected = "".join("".join(part) + "".join(f"{name}x" for name in part) for part in parts)
    assert expected in _words(await _pdf(ask, space.ref)).replace(" ", "")


def test_work_for_a_long_text_grows_with_its_length() -> None:
    def count_calls(words: int) -> int:
        count = 0

        def on_event(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        page = {"id": "one", "type": "document", "title": "One", "pages": []}
        book = PdfBook("Handbook", [page], {"one": "word " * words}, SpaceIndex({}), {})
        sys.setprofile(on_event)
        try:
            book.to_bytes()
        finally:
            sys.setprofile(None)
        return count

    count_calls(1)  # Fonts are read once.
    assert count_calls(8_000) < 3 * count_calls(4_000)


async def test_checkboxes_of_a_table_are_printed_as_boxes(ask: Ask) -> None:
    head = '<thead><tr><th>Name</th><th data-type="checkbox">Done</th><th data-type="rating" data-max="5">Stars</th></tr></thead>'
    rows = "<tr><td>Boat</td><td>true</td><td>1</td></tr><tr><td>Oars</td><td>false</td><td>0</td></tr>"
    space = await space_with(ask, one=f"# One\n\n<table>{head}<tbody>{rows}</tbody></table>\n")
    assert "Boat [x] 1 Oars [ ] 0" in _words(await _pdf(ask, space.ref))


async def test_long_text_of_a_card_is_printed_to_its_end(ask: Ask) -> None:
    card = f"<tr><td>{'word ' * 2000}end.</td></tr>"
    table = f'<table data-view="cards"><thead><tr><th>Name</th></tr></thead><tbody>{card}</tbody></table>'
    space = await space_with(ask, one=f"# One\n\n{table}\n")
    assert _words(await _pdf(ask, space.ref)).endswith("word end.")


async def test_wide_picture_and_table_in_a_nested_list_fit_the_paper(ask: Ask) -> None:
    drawn = BytesIO()
    Image.new("RGB", (2000, 20), "red").save(drawn, "PNG")
    wide = content.NewFile(
        name="a.png", content_type="image/png", base64=b64encode(drawn.getvalue()).decode(), ref="a.png"
    )
    editor = await SpaceEditor.open(ask, "# One")
    at = await editor.propose()
    items = "".join(f"{'  ' * level}* {level}\n" for level in range(6))
    table = "".join(f"{' ' * 12}{line}\n" for line in ("", "| a | b |", "|---|---|", "| c | d |"))
    await editor.edit(
        at, content.InsertFiles(files=(wide,)), insert(f"# Two\n\n{items}\n{' ' * 12}![Red](./a.png)\n{table}")
    )
    sheet = (await _pdf(ask, at)).pages[1]
    ends: dict[str, float] = {}

    def measure(operator: bytes, operands: Any, matrix: list[float], _: Any) -> None:
        if operator == b"Do":
            ends["picture"] = matrix[4] + matrix[0]
        elif operator == b"l":
            ends["table"] = max(ends.get("table", 0), matrix[4] + float(operands[0]))

    sheet.extract_text(visitor_operand_before=measure)
    margin = float(sheet.mediabox.width) * 20 / 210
    assert {name: round(float(sheet.mediabox.width) - end - margin) for name, end in ends.items()} == {
        "picture": 0, "table": 0
    }  # fmt: skip


async def test_expressions_are_printed_as_their_values(ask: Ask, context: RequestContext) -> None:
    said = 'Version <code class="expression">space.vars.version</code>.\n\n{% if space.vars.version == "v1" %}\nOld.\n{% endif %}\n'
    space = await space_with(ask, one=f"# One\n\n{said}")
    ada = context.for_user("ada")
    revision = add_edit_revision(ada, get_current(ada, space.id), variables={"version": "v2"})
    set_current(ada, space.id, revision)
    words = _words(await _pdf(ask, space.ref))
    assert ("Version v2." in words, "Old." in words) == (True, False)


async def test_empty_space_has_a_pdf(ask: Ask) -> None:
    space = await space_with(ask, one="")
    await replace_pages(ask, space, [])
    assert len((await _pdf(ask, space.ref)).pages) == 1
    at = (await ask(change_requests.Create(at=space.ref))).ref(space.ref)
    assert len((await _pdf(ask, at)).pages) == 1
    url = (await ask(pdf.Get(at=space.ref))).url
    await ask(spaces.Delete(at=space.ref))
    assert (await ask.http("GET", url, None)).status_code == 404
