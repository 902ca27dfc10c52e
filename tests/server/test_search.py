from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from octavo.api import search, spaces
from octavo.api.safety import safe_text
from octavo.api.search import PageHit
from octavo.api.spaces import Space
from octavo.documents.source_reader import parse
from octavo.server.handlers.spaces import get_current, with_stored_text
from octavo.server.page_texts import searchable_sections
from octavo.server.rest import RequestContext
from octavo.server.store import Json, Store
from tests.api.test_folding import ALIKE
from tests.server.small_platform import ACME, Ask, check_refused, replace_pages, space_with
from tests.server.test_references import add_reusable_content

GUIDE = """# Guide

Where to begin.

## Install the café kit

Run the installer, then *configure* it.

```sh
# not a heading
make install
```

## Troubleshooting

Nothing works? Configure it again.
"""


async def _find(ask: Ask, space: Space, words: str, user: str = "sam") -> list[PageHit]:
    return list((await ask(search.InSpace(at=space.ref, query=words), user)).items)


async def _titles(ask: Ask, space: Space, words: str) -> list[str]:
    return [hit.title for hit in await _find(ask, space, words)]


def test_page_is_split_at_its_headings() -> None:
    found = list(searchable_sections(GUIDE, "Guide", "All about it"))
    assert [(anchor, title) for anchor, title, _ in found] == [
        ("", "Guide"),
        ("install-the-cafe-kit", "Install the café kit"),
        ("troubleshooting", "Troubleshooting"),
    ]
    assert found[0][2] == "All about it\nWhere to begin."
    assert "Run the installer, then configure it.\n# not a heading" in found[1][2]


LABELED = """
{% tabs %}
{% tab title="Winter" %}
{% code title="tides.yml" %}
```yaml
low: 1
```
{% endcode %}
{% endtab %}
{% endtabs %}

| Berth | Pilot |
|-|-|
| 3 | yes |

<figure><img src="a.png" alt="A cutter at anchor"><figcaption>At dusk</figcaption></figure>

{% openapi-operation spec="harbour" path="/berths/{id}" method="get" %}
{% endopenapi-operation %}

{% swagger method="post" path="/pilots" summary="Order a pilot" %}
{% swagger-parameter in="query" name="vessel" %}
Of the ship
{% endswagger-parameter %}
{% swagger-response status="200: OK" description="Ordered" %}
{% endswagger-response %}
{% endswagger %}
"""
"""A page with a text that stands only in an attribute, or in the header of a table."""
LABELS = {
    *("Winter", "tides.yml", "Berth", "Pilot", "A cutter at anchor", "At dusk"),
    *("/berths/{id}", "/pilots", "Order a pilot", "vessel", "Ordered"),
}


def test_text_of_attributes_and_table_headers_is_indexed() -> None:
    text = "\n".join(body for _, _, body in searchable_sections(LABELED, "", ""))
    assert {label for label in LABELS if label not in text} == set()


def test_sections_have_the_anchors_of_the_page() -> None:
    page = """# A

## Dup

## Dup

1. Item

   #### Indented

Underlined
---

<h2>Written <em>in HTML</em></h2>

```python
# no heading
```

## Own <a href="#f" id="f"></a>
"""
    anchors = dict.fromkeys(anchor for anchor, _, _ in searchable_sections(page, "A", "") if anchor)
    assert list(anchors) == [each.anchor for each in parse(page).headings][1:]
    assert list(anchors) == ["dup", "dup-1", "indented", "underlined", "written-in-html", "f"]


async def test_long_section_is_found_once(ask: Ask) -> None:
    log = "# Log\n\n" + "\n".join(f"* visit {number} to the needle" for number in range(2000))
    assert len(list(searchable_sections(log, "Log", ""))) > 5
    space = await space_with(ask, log=log)
    for words in ("needle", "visit 1999"):
        (hit,) = await _find(ask, space, words)
        assert [section.id for section in hit.sections] == [""]


async def test_section_is_found_with_anchor_title_and_text(ask: Ask) -> None:
    space = await space_with(ask, guide=GUIDE, other="# Other\n\nElsewhere.")
    (hit,) = await _find(ask, space, "configure")
    assert (hit.id, hit.title, hit.path) == ("guide", "Guide", "")
    assert {section.id for section in hit.sections} == {"install-the-cafe-kit", "troubleshooting"}
    section = next(each for each in hit.sections if each.id == "troubleshooting")
    assert (section.title, section.path) == ("Troubleshooting", "#troubleshooting")
    assert section.body == "Nothing works? Configure it again."


async def test_match_in_the_title_ranks_before_match_in_the_text(ask: Ask) -> None:
    space = await space_with(ask, first="Say merge once.", merge="# Merge\n\nHow it goes.", third="merge " + "x " * 90)
    assert (await _titles(ask, space, "merge"))[0] == "Merge"


async def test_page_title_ranks_before_section_title(ask: Ask) -> None:
    others = {f"p{number}": f"# Page {number}\n\nOf something else." for number in range(8)}
    notes = "# Notes\n\n## Merge\n\nMerge, then merge."
    space = await space_with(ask, **others, notes=notes, merge="# Merge\n\nHow it goes, and how it went.")
    assert await _titles(ask, space, "merge") == ["Merge", "Notes"]


async def test_all_words_must_match_and_the_last_as_a_prefix(ask: Ask) -> None:
    space = await space_with(ask, guide=GUIDE)
    assert await _titles(ask, space, "run conf") == ["Guide"]
    assert await _titles(ask, space, "conf run") == []
    assert await _titles(ask, space, "run nothing") == []
    assert await _titles(ask, space, "INSTALLER") == ["Guide"]
    assert await _titles(ask, space, "cafe") == ["Guide"]


@pytest.mark.parametrize(
    "typed",
    [
        *('"', "*", "AND", "NOT run", "run OR nothing", "title:guide", "run*", "(run", "^run", "{a b}: c", "NEAR(a b)"),
        *("run -installer", 'run" OR "x', "\x00run", "'; DROP TABLE words; --", "\u200b", "run" * 170, "+ run", ""),
    ],
)
async def test_typed_text_is_never_query_syntax(ask: Ask, typed: str) -> None:
    space = await space_with(ask, guide=GUIDE)
    await _find(ask, space, typed)
    assert await _titles(ask, space, "installer") == ["Guide"]


async def test_query_operators_are_plain_words(ask: Ask) -> None:
    space = await space_with(ask, one="salt or pepper", two="salt")
    assert await _titles(ask, space, "salt OR pepper") == ["One"]
    assert await _titles(ask, space, "NOT salt") == []


@pytest.mark.parametrize("typed", ["软件", "安装软件", "装", "セット", "日本"])
async def test_text_without_spaces_is_found(ask: Ask, typed: str) -> None:
    space = await space_with(ask, cjk="# 指南\n\n如何安装软件。日本語のセットアップ。", other="# Other")
    (hit,) = await _find(ask, space, typed)
    assert hit.sections[0].body == "如何安装软件。日本語のセットアップ。"
    assert hit.title == "Cjk"


@pytest.mark.parametrize(
    ("text", "typed", "shown"),
    [
        ("First call getStationId here.", "station", "getStationId"),
        ("First call getStationId here.", "first station", "getStationId"),
        ("First call getStationId here.", "stationid", "getStationId"),
        ("First call get_station_id here.", "station", "get_station_id"),
        (f"{'word ' * 200} call HTTPServer {'word ' * 200}", "server", "HTTPServer"),
        ("In C++ and C#.", "c++", "C++ and C#"),
        ("In C++ and C#.", "c# and", "C++ and C#"),
        ("In C++17.", "c++ 17", "C++17"),
    ],
)
async def test_parts_of_words_and_signs_are_found(ask: Ask, text: str, typed: str, shown: str) -> None:
    space = await space_with(ask, one=f"# One\n\n{text}", two="# Two\n\nVitamin c, substation, observer.")
    (hit,) = await _find(ask, space, typed)
    assert hit.title == "One"
    assert shown in hit.sections[0].body
    assert len(hit.sections[0].body) < 300


async def test_text_that_looks_like_parts_is_not_found(ask: Ask) -> None:
    space = await space_with(ask, one="# One\n\nVitamin c and URLs of a substation.")
    for typed in ("c++", "c#", "station", "ls x"):
        assert await _titles(ask, space, typed) == []


async def test_mentions_show_titles_and_diagrams_show_labels(ask: Ask) -> None:
    page = (
        '# One\n\nSee [two.md](two.md "mention") and [gone.md](gone.md "mention") at low tide.\n\n'
        '{% content-ref url="two.md" %}\n[two.md](two.md)\n{% endcontent-ref %}\n\n'
        "```mermaid\nflowchart LR\n  A[Open the sluice] --> B\n```\n"
    )
    space = await space_with(ask, one=page, two="# Two\n\nElsewhere.")
    (hit,) = await _find(ask, space, "tide")
    assert hit.sections[0].body == "See Two and gone at low tide.\nTwo\nOpen the sluice"
    assert await _titles(ask, space, "sluice") == ["One"]
    assert await _titles(ask, space, "flowchart") == []


async def test_query_has_at_most_512_characters(ask: Ask) -> None:
    space = await space_with(ask)
    answer = await ask.http("GET", f"/v1/spaces/{space.id}/search?query={'x' * 513}")
    assert answer.json()["error"]["message"] == "query may have at most 512 characters."
    missing = await ask.http("GET", f"/v1/spaces/{space.id}/search")
    assert (missing.status_code, missing.json()["error"]["message"]) == (400, "query is required.")


async def test_results_are_paged(ask: Ask) -> None:
    space = await space_with(ask, **{f"page{number}": "needle" for number in range(5)})
    op = search.InSpace(at=space.ref, query="needle", limit=2)
    seen: list[str] = []
    while True:
        answer = await ask(op)
        assert answer.count == 5
        seen += [hit.id for hit in answer.items]
        if answer.next is None:
            break
        op = op.model_copy(update={"page": answer.next.page})
    assert sorted(seen) == [f"page{number}" for number in range(5)]


async def test_search_finds_only_the_current_main_content(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, kept="alpha", changed="beta", gone="gamma")
    current = get_current(context, space.id)["pages"]
    changed = with_stored_text(context, current[1], "delta")
    space = await replace_pages(ask, space, [current[0], changed])
    found = {word: await _titles(ask, space, word) for word in ("alpha", "beta", "gamma", "delta")}
    assert found == {"alpha": ["Kept"], "beta": [], "gamma": [], "delta": ["Changed"]}
    assert await _titles(ask, space, "chang") == ["Changed"]


async def test_only_changed_pages_are_indexed_again(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, kept="alpha", changed="beta")
    for page in ("kept", "changed"):
        context.store.index(space.id, page, [("", "Marked", "marker")])
    kept, changed = get_current(context, space.id)["pages"]
    await replace_pages(ask, space, [{**changed, "title": "Renamed"}, kept])
    assert await _titles(ask, space, "marker") == ["Kept"]
    assert await _titles(ask, space, "beta") == ["Renamed"]


async def test_organization_search_covers_all_visible_spaces(ask: Ask, context: RequestContext) -> None:
    open_one = await space_with(ask, "Open", page="needle")
    hidden = await space_with(ask, "Hidden", page="needle in a heap")
    gone = await space_with(ask, "Gone", page="needle")
    await ask(spaces.Update(at=hidden.ref, default_level=None))
    await ask(spaces.Delete(at=gone.ref))

    async def titles(user: str) -> list[tuple[str, int]]:
        found = await ask(search.InOrganization(at=ACME, query="needle"), user)
        return sorted((hit.title, len(hit.pages)) for hit in found.items)

    assert await titles("ada") == [("Hidden", 1), ("Open", 1)]
    assert await titles("sam") == [("Open", 1)]
    assert await titles("gil") == []
    await check_refused(ask(search.InOrganization(at=ACME, query="needle"), "eve"), 404)
    await check_refused(ask(search.InSpace(at=hidden.ref, query="needle"), "sam"), 404)
    assert open_one.title == "Open"


async def test_hostile_text_is_found_unchanged(ask: Ask) -> None:
    space = await space_with(ask, page="needle [@click=app.quit]x[/] <b>")
    await ask(search.InSpace(at=space.ref, query="needle"))
    found: Json = ask.last.json()["items"][0]["sections"][0]
    assert "[@click=app.quit]x[/]" in found["body"]


async def test_pages_are_found_by_current_included_content(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask, one='# One\n\n{% include "note" %}\n', two="# Two\n\nInclude nothing.")
    assert await _titles(ask, space, "octopus") == []
    add_reusable_content(context.for_user("ada"), space.id, note="Mind the octopus.")
    assert await _titles(ask, space, "octopus") == ["One"]
    add_reusable_content(context.for_user("ada"), space.id, note="Mind the squid.")
    assert (await _titles(ask, space, "squid"), await _titles(ask, space, "octopus")) == (["One"], [])
    add_reusable_content(context.for_user("ada"), space.id)
    assert await _titles(ask, space, "squid") == []
    assert await _titles(ask, space, "nothing") == ["Two"]


@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
async def test_text_is_found_in_every_notation(ask: Ask, pair: tuple[str, str], stored: int) -> None:
    there, typed = pair[stored], pair[1 - stored]
    space = await space_with(ask, one=f"# One\n\nBefore {there} after.", two="# Two\n\nNothing.")
    assert await _titles(ask, space, typed) == ["One"]
    (hit,) = await _find(ask, space, typed)
    (section,) = hit.sections
    assert safe_text(there).split()[0] in section.body  # The result has the original letters.


async def test_index_of_an_older_version_is_searched_and_updated(tmp_path: Path) -> None:
    store = Store(tmp_path / "library.db")
    store.index("s", "p", [("", "Straße", "Maße und die ΣΟΦΟΣ in getStationId")])
    store.close()
    # The schema before case folding was introduced.
    with closing(sqlite3.connect(tmp_path / "library.db")) as old, old:
        old.execute("DROP TABLE words")
        old.execute("ALTER TABLE sections DROP COLUMN parts")
        old.execute(
            "CREATE VIRTUAL TABLE words USING fts5 (title, body, content = 'sections', content_rowid = 'id',"
            " tokenize = 'unicode61 remove_diacritics 2')"
        )
        old.execute("INSERT INTO words (rowid, title, body) SELECT id, title, body FROM sections")
        old.execute("DELETE FROM settings WHERE name = 'words'")
        old.execute("PRAGMA user_version = 1")
    store = Store(tmp_path / "library.db")
    assert [found.title for found in store.search(["s"], '"strasse" AND "σοφοσ"', 9)] == ["Straße"]
    assert [found.title for found in store.search(["s"], '"station"', 9)] == ["Straße"]
    store.unindex("s", "p")
    assert store.search(["s"], '"strasse"', 9) == []
    with closing(sqlite3.connect(tmp_path / "library.db")) as new:
        new.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    store.close()
