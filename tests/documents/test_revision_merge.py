"""Merges of page trees: no page is lost, no page is below itself, and the result is deterministic."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from octavo.documents import page_trees
from octavo.documents.merging.revision_merge import RevisionConflict, RevisionMerge, merge_revisions
from octavo.documents.page_trees import Json, Pages
from octavo.server.store import Store

STORE = Store()


def document(name: str, *below: Json, text: str = "", **fields: object) -> Json:
    page: Json = {"id": name, "type": "document", "title": name, "slug": name, **fields, "pages": list(below)}
    return {**page, "text": STORE.put_blob(text)} if text else page


def group(name: str, *below: Json) -> Json:
    return {"id": name, "type": "group", "title": name, "slug": name, "pages": list(below)}


def link(name: str, url: str = "https://a.example") -> Json:
    return {"id": name, "type": "link", "title": name, "target": {"kind": "url", "url": url}}


def revision(*pages: Json, files: tuple[Json, ...] = (), **variables: object) -> Json:
    return {
        "pages": page_trees.with_paths(list(pages)),
        "files": list(files),
        "reusableContents": [],
        "variables": variables,
    }


def merged(base: Json, main: Json, proposed: Json) -> RevisionMerge:
    return merge_revisions(base, main, proposed, "#7", STORE.text, STORE.put_blob)


def outline(pages: Pages) -> str:
    return " ".join(page["id"] + (f"({outline(page['pages'])})" if page.get("pages") else "") for page in pages)


def text_of(outcome: RevisionMerge, name: str) -> str:
    page = page_trees.find_page(outcome.content["pages"], name)
    assert page is not None
    return STORE.text(page["text"])


@st.composite
def random_trees(draw: st.DrawFn) -> Pages:
    """Generate a tree of up to twelve pages."""
    pages: Pages = []
    for number in range(draw(st.integers(0, 12))):
        pages = with_new_page(draw, pages, f"p{number}")
    return pages


def with_new_page(draw: st.DrawFn, pages: Pages, name: str) -> Pages:
    kind = draw(st.sampled_from(["document", "document", "document", "link", "group"]))
    holders = [None, *(page["id"] for page in page_trees.walk(pages) if page["type"] != "link")]
    page = document(name) if kind == "document" else group(name) if kind == "group" else link(name)
    into = None if kind == "group" else draw(st.sampled_from(holders))
    return page_trees.insert_page(pages, page, into, draw(st.none() | st.integers(0, 3)))


@st.composite
def with_random_changes(draw: st.DrawFn, pages: Pages, who: str) -> Pages:
    """Generate the tree after up to five changes by a user."""
    for step in range(draw(st.integers(0, 5))):
        every = list(page_trees.walk(pages))
        change = draw(st.sampled_from(["add", "delete", "move", "edit", "rename"])) if every else "add"
        if change == "add":
            pages = with_new_page(draw, pages, f"{who}{step}")
            continue
        page = draw(st.sampled_from(every))
        if change == "delete":
            pages = page_trees.remove_pages(pages, {page["id"]})
        elif change == "rename":
            pages = page_trees.replace_page(pages, {**page, "title": f"{who} {step}"})
        elif change == "edit" and page["type"] == "document":
            pages = page_trees.replace_page(pages, {**page, "text": STORE.put_blob(f"{who} wrote {step}")})
        elif change == "move":
            inside = {each["id"] for each in page_trees.walk([page])}
            holders = [None, *(each["id"] for each in every if each["type"] != "link" and each["id"] not in inside)]
            into = None if page["type"] == "group" else draw(st.sampled_from(holders))
            pages = page_trees.insert_page(
                page_trees.remove_pages(pages, {page["id"]}), page, into, draw(st.integers(0, 3))
            )
    return pages


@st.composite
def three_revisions(draw: st.DrawFn) -> tuple[Json, Json, Json]:
    pages = draw(random_trees())
    base, main, proposed = pages, draw(with_random_changes(pages, "m")), draw(with_random_changes(pages, "c"))
    return revision(*base), revision(*main), revision(*proposed)


def facts(pages: Pages) -> dict[str, Json]:
    return {page["id"]: {key: value for key, value in page.items() if key not in ("pages", "path")}
            for page in page_trees.walk(pages)}  # fmt: skip


@given(three_revisions())
def test_change_of_one_side_is_taken(sides: tuple[Json, Json, Json]) -> None:
    base, main, proposed = sides
    for side, outcome in (
        (proposed, merged(base, base, proposed)),
        (main, merged(base, main, base)),
        (main, merged(base, main, main)),
    ):
        assert page_trees.with_paths(outcome.content["pages"]) == side["pages"]
        assert outcome.conflicts == ()


@given(three_revisions())
def test_merge_loses_no_added_or_edited_page(sides: tuple[Json, Json, Json]) -> None:
    base, main, proposed = sides
    there = facts(merged(base, main, proposed).content["pages"])
    before = facts(base["pages"])
    for side in (main, proposed):
        for name, page in facts(side["pages"]).items():
            if before.get(name) != page:
                assert name in there


@given(three_revisions())
def test_merge_removes_only_deleted_pages(sides: tuple[Json, Json, Json]) -> None:
    base, main, proposed = sides
    there = facts(merged(base, main, proposed).content["pages"])
    assert set(facts(main["pages"])) & set(facts(proposed["pages"])) <= set(there)
    assert set(there) <= set(facts(main["pages"])) | set(facts(proposed["pages"]))


@given(three_revisions())
def test_every_page_is_in_one_valid_position(sides: tuple[Json, Json, Json]) -> None:
    pages = merged(*sides).content["pages"]
    names = [page["id"] for page in page_trees.walk(pages)]
    assert len(names) == len(set(names))
    for page in page_trees.walk(pages):
        assert page["type"] != "link" or "pages" not in page
        assert not any(below["type"] == "group" for below in page.get("pages", ()))
    paths = [page["path"] for page in page_trees.walk(page_trees.with_paths(pages)) if "path" in page]
    assert len(paths) == len(set(paths))


@given(three_revisions())
def test_merged_text_has_the_words_of_both_sides(sides: tuple[Json, Json, Json]) -> None:
    base, main, proposed = sides
    outcome = merged(base, main, proposed)
    before = facts(base["pages"])
    for side in (main, proposed):
        for name, page in facts(side["pages"]).items():
            if page.get("text") not in (None, before.get(name, {}).get("text")):
                assert STORE.text(page["text"]) in text_of(outcome, name)


@given(three_revisions())
def test_merge_is_deterministic(sides: tuple[Json, Json, Json]) -> None:
    assert merged(*sides) == merged(*sides)


@given(three_revisions())
def test_swapped_sides_keep_the_same_pages(sides: tuple[Json, Json, Json]) -> None:
    base, main, proposed = sides
    here, there = merged(base, main, proposed), merged(base, proposed, main)
    assert set(facts(here.content["pages"])) == set(facts(there.content["pages"]))


A, B, C, D = (document(name) for name in "ABCD")


def kinds(outcome: RevisionMerge) -> Iterator[tuple[str, str]]:
    return ((each.kind, each.id) for each in outcome.conflicts)


def test_additions_moves_and_deletions_are_combined() -> None:
    outcome = merged(revision(A, B, C), revision(A, document("B", text="new"), C, document("m")), revision(C, A, B))
    assert outline(outcome.content["pages"]) == "C A B m"
    assert text_of(outcome, "B") == "new"
    assert outcome.conflicts == ()


def test_new_pages_of_the_change_request_follow_those_of_main() -> None:
    outcome = merged(revision(A, B), revision(A, document("m"), B), revision(A, document("c"), B))
    assert outline(outcome.content["pages"]) == "A m c B"
    assert outcome.conflicts == ()


def test_edited_page_survives_deletion_in_place_of_parent() -> None:
    base = revision(A, group("G", B, C), D)
    outcome = merged(base, revision(A, group("G", document("B", text="kept"), C), D), revision(A, D))
    assert outline(outcome.content["pages"]) == "A B D"
    assert list(kinds(outcome)) == [("deleted", "B")]


def test_page_added_below_a_deleted_one_moves_up() -> None:
    outcome = merged(revision(A, B), revision(A, document("B", document("m"))), revision(A))
    assert outline(outcome.content["pages"]) == "A m"
    assert list(kinds(outcome)) == [("deleted", "m")]


def test_page_moved_by_both_sides_stays_as_on_main() -> None:
    base = revision(A, B, C)
    outcome = merged(base, revision(document("A", C), B), revision(A, document("B", C)))
    assert outline(outcome.content["pages"]) == "A(C) B"
    assert list(kinds(outcome)) == [("moved", "C")]


def test_two_pages_moved_below_each_other_make_no_cycle() -> None:
    base = revision(A, B)
    outcome = merged(base, revision(document("B", A)), revision(document("A", B)))
    assert outline(outcome.content["pages"]) == "B(A)"
    assert list(kinds(outcome)) == [("moved", "B")]


def test_conflicting_order_is_taken_from_main() -> None:
    outcome = merged(revision(A, B, C, D), revision(B, C, A, D), revision(B, C, D, A))
    assert outline(outcome.content["pages"]) == "B C A D"
    assert list(kinds(outcome)) == [("order", "A")]


def test_pages_reordered_by_one_side_keep_their_new_order() -> None:
    pages = [document(name) for name in "ABCDEF"]
    a, b, c, d, e, f = pages
    outcome = merged(revision(*pages), revision(b, a, c, d, e, f), revision(a, b, c, d, f, e))
    assert outline(outcome.content["pages"]) == "B A C D F E"
    assert outcome.conflicts == ()


def test_fields_are_merged_one_by_one() -> None:
    base = revision(A)
    outcome = merged(base, revision(document("A", title="Main")), revision(document("A", emoji="1f680")))
    assert {"title": outcome.content["pages"][0]["title"], "emoji": outcome.content["pages"][0].get("emoji")} == {
        "title": "Main",
        "emoji": "1f680",
    }


def test_conflicting_field_is_shown_above_the_text() -> None:
    base = revision(document("A", text="words\n"))
    main, proposed = document("A", title="Here", text="words\n"), document("A", title="There", text="words\n")
    outcome = merged(base, revision(main), revision(proposed))
    assert outcome.content["pages"][0]["title"] == "Here"
    assert text_of(outcome, "A") == ("<<<<<<< main\n\ntitle: Here\n\n=======\n\ntitle: There\n\n>>>>>>> #7\n\nwords\n")
    assert RevisionConflict("field", "A") in outcome.conflicts


def test_conflicting_title_in_the_text_is_not_repeated() -> None:
    base = revision(document("A", text="# A\n\nwords\n"))
    main = document("A", title="Here", text="# Here\n\nwords\n")
    proposed = document("A", title="There", text="# There\n\nwords\n")
    outcome = merged(base, revision(main), revision(proposed))
    assert text_of(outcome, "A").count("<<<<<<< main") == 1
    assert text_of(outcome, "A").endswith(">>>>>>> #7\n\nwords\n")


def test_files_and_variables_are_merged_too() -> None:
    old, new = {"id": "f1", "name": "a.png", "blob": "1"}, {"id": "f1", "name": "a.png", "blob": "2"}
    added = {"id": "f2", "name": "b.png", "blob": "3"}
    outcome = merged(
        revision(files=(old,), x=1, y=1, z=1), revision(files=(new,), x=2, y=1, z=2), revision(files=(added,), x=1, y=2)
    )
    assert outcome.content["files"] == [new, added]
    assert outcome.content["variables"] == {"x": 2, "y": 2, "z": 2}
    assert list(kinds(outcome)) == [("deleted", "f1"), ("variable", "z")]
