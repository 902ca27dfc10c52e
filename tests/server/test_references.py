"""Pages with included content inserted in its place, and with links by id."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import comments, content
from octavo.api.bodies import Markdown
from octavo.documents.source_reader import parse
from octavo.server.handlers.spaces import add_edit_revision, get_current, set_current
from octavo.server.page_texts import expand_includes
from octavo.server.rest import RequestContext
from octavo.server.store import Json, Store
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor, update

NOTE = "{% hint %}\nTake care, see [the guide](../../guide.md).\n{% endhint %}\n"


def add_reusable_content(context: RequestContext, space_id: str, **texts: str) -> None:
    """Add reusable content to a space. Each keyword is an id and its text."""
    items = [{"id": name, "title": name, "text": context.store.put_blob(text)} for name, text in texts.items()]
    here = get_current(context, space_id)
    set_current(context, space_id, add_edit_revision(context, here, reusableContents=items))


async def read_page(ask: Ask, editor: SpaceEditor, title: str, **how: Any) -> str:
    op = content.GetPage(at=editor.space, page_id=await editor.id(title), format="markdown", **how)
    return (await ask(op)).markdown or ""


async def test_included_content_is_inserted_on_request(ask: Ask, context: RequestContext) -> None:
    text = '# Home\n\n* one\n  {% include "../.gitbook/includes/note.md" %}\n\n```\n{% include "note" %}\n```\n'
    editor = await SpaceEditor.open(ask, text, "# Guide")
    add_reusable_content(context.for_user("ada"), editor.space.space_id, note=NOTE)
    assert await read_page(ask, editor, "Home") == text
    for wanted in (True, "reusable-contents"):
        whole = await read_page(ask, editor, "Home", dereferenced=wanted)
        assert [block.kind for block in parse(whole).walk()][:6] == [
            *("heading", "list", "item", "paragraph", "include", "hint")
        ]
        assert "[the guide](guide.md)" in whole
        assert '```\n{% include "note" %}\n```' in whole
    assert await read_page(ask, editor, "Home", dereferenced=False) == text


async def test_links_in_code_of_included_content_stay(ask: Ask, context: RequestContext) -> None:
    editor = await SpaceEditor.open(ask, '# Home\n\n{% include "note" %}\n')
    code = "```md\n[the guide](../../guide.md)\n```"
    add_reusable_content(context.for_user("ada"), editor.space.space_id, note=f"{code}\n\n[guide](../../guide.md)")
    assert f"{code}\n\n[guide](guide.md)" in await read_page(ask, editor, "Home", dereferenced=True)


async def test_links_to_pages_and_files_are_returned_by_id_on_request(ask: Ask) -> None:
    editor = await SpaceEditor.open(ask, "# Home", "# Guide\n\n## Part")
    guide = await editor.id("Guide")
    text = (
        "# Home\n\n[a](guide.md#part) [b](#top) [c](https://example.org/guide.md) [d](nowhere.md)\n\n"
        '{% content-ref url="guide.md" %}\n[guide.md](guide.md)\n{% endcontent-ref %}\n\n```\n[a](guide.md)\n```\n'
    )
    await editor.publish(update(await editor.id("Home"), text))
    by_id = text.replace("](guide.md#part)", f"](/pages/{guide}#part)").replace('"guide.md"', f'"/pages/{guide}"')
    by_id = by_id.replace("[guide.md](guide.md)", f"[guide.md](/pages/{guide})")
    assert await read_page(ask, editor, "Home", refs="stable") == by_id
    assert await read_page(ask, editor, "Home", refs="relative") == text


async def test_comment_on_an_included_block_is_accepted(ask: Ask, context: RequestContext) -> None:
    editor = await SpaceEditor.open(ask, '# Home\n\n{% include "note" %}\n', "# Guide")
    add_reusable_content(context.for_user("ada"), editor.space.space_id, note=NOTE)
    included = parse(await read_page(ask, editor, "Home", dereferenced=True)).blocks[1]
    body = Markdown(markdown="Which care?")
    words = included.children[0].children[0]
    asked = comments.Create(at=editor.space, body=body, page=await editor.id("Home"), node=words.key)
    target = (await ask(asked)).target
    assert target.node is not None
    assert target.page is not None
    assert (target.node.preview, target.page.outdated) == ("Take care, see the guide.", False)


@pytest.mark.parametrize("shared", [{"a": '{% include "a" %}'}, {"a": '{% include "b" %}', "b": '{% include "a" %}'}])
def test_content_that_includes_itself_is_inserted_once(shared: dict[str, str]) -> None:
    store = Store()
    items = [{"id": name, "title": name, "text": store.put_blob(text)} for name, text in shared.items()]
    revision: Json = {"reusableContents": items}
    whole = parse(expand_includes(store, '# One\n\n{% include "a" %}\n\n# Two\n', {"id": "p"}, revision))
    assert [block.kind for block in whole.blocks] == ["heading", "include", "heading"]
    assert [block.kind for block in whole.blocks[1].walk()] == ["include"] * (len(shared) + 1)
    store.close()


def test_long_included_content_is_between_tag_and_end_tag() -> None:
    store = Store()
    long = "\n\n".join(f"Paragraph {number}." for number in range(200)) + '\n\n{% include "gone" %}\n\nLast.'
    items = [{"id": "a", "title": "a", "text": store.put_blob(long)}]
    text = '{% include "none" %}\n\nBefore.\n\n> {% include "a" %}\n\nAfter.\n'
    whole = parse(expand_includes(store, text, {"id": "p"}, {"reusableContents": items}))
    assert [block.kind for block in whole.blocks] == ["include", "paragraph", "quote", "paragraph"]
    (included,) = whole.blocks[2].children
    assert (len(included.children), included.children[-1].plain()) == (202, "Last.")
    nothing = {"reusableContents": [{"id": "a", "title": "a"}]}
    assert expand_includes(store, 'Before.\n\n{% include "a" %}\n\nAfter.', {"id": "p"}, nothing).split() == [
        "Before.",
        "After.",
    ]
    store.close()


def test_content_is_included_below_other_line_separators() -> None:
    store = Store()
    revision: Json = {"reusableContents": [{"id": "a", "title": "a", "text": store.put_blob("Included.")}]}
    text = 'One\u2028two\u2028three\u2028four.\n\n{% include "a" %}\n'
    assert "Included." in expand_includes(store, text, {"id": "p"}, revision)
    store.close()


def test_file_is_included_by_path_with_links_relative_to_it() -> None:
    store = Store()
    paths = {"1": ".gitbook/includes/untitled (2).md", "2": ".gitbook/includes/more/deep.md", "3": "x/untitled (2).md"}
    texts = {
        "1": '[a](../../guide.md) {file}\n\n{% include "more/deep.md" %}',
        "2": "![b](../../assets/b.png)",
        "3": "No.",
    }
    items = [
        {"id": name, "title": "Untitled", "text": store.put_blob(texts[name]), "git": {"path": path}}
        for name, path in paths.items()
    ]
    page = {"id": "p", "git": {"path": "start/here.md"}}
    for written in ("../.gitbook/includes/untitled (2).md", "../.gitbook/includes/untitled%20(2).md"):
        whole = expand_includes(store, f'{{% include "{written}" %}}', page, {"reusableContents": items})
        assert "[a](../guide.md)" in whole
        assert "![b](../.gitbook/assets/b.png)" in whole
        assert "No." not in whole
    store.close()


def test_repeated_included_content_is_limited_to_the_page_size() -> None:
    store = Store()
    texts = {"a": "x" * 1000, **{name: f'{{% include "{below}" %}}\n' * 90 for name, below in ("ba", "cb", "dc")}}
    items = [{"id": name, "title": name, "text": store.put_blob(text)} for name, text in texts.items()]
    whole = expand_includes(store, '{% include "dc" %}', {"id": "p"}, {"reusableContents": items})
    assert len(whole) < 3 << 20
    store.close()
