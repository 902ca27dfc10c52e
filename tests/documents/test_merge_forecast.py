"""Predicted conflicts: the prediction from three revisions matches the conflicts of the merge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.api.content import Change, Page, ReusableContent, Revision
from octavo.documents import page_trees
from octavo.documents.merging import revision_merge
from octavo.documents.merging.page_merge import merge
from octavo.documents.merging.revision_merge import (
    MergePrediction,
    has_all_changes,
    pages_to_read,
    predict_merge,
)
from octavo.documents.page_trees import Json, Pages, find_duplicates, revision_differences
from octavo.server.handlers.content import present_page
from tests.documents import test_revision_merge as trees
from tests.documents.random_lines import TEXTS, edited, three_texts
from tests.documents.test_revision_merge import STORE, document, revision

OF_PAGES: dict[str, list[Any]] = {
    "emoji": ["1f600", "1f680"],
    "description": ["As it is", "As it was"],
    "hidden": [False, True],
}
OF_FILES: dict[str, list[Any]] = {"name": ["a.png", "b.png"], "blob": ["1", "2", "3"]}


@st.composite
def with_random_field(draw: st.DrawFn, before: Json, values: dict[str, list[Any]]) -> Json:
    """Generate `before` with one field set, or unchanged."""
    field = draw(st.sampled_from([None, *values]))
    return {**before, field: draw(st.sampled_from(values[field]))} if field else before


@st.composite
def with_random_texts(draw: st.DrawFn, pages: Pages, before: Pages) -> Pages:
    """Generate `pages` with the texts and fields of `before`, some of them changed."""
    old = {page["id"]: page for page in page_trees.walk(before)}
    for name in [page["id"] for page in page_trees.walk(pages) if page["type"] == "document"]:
        page = page_trees.find_page(pages, name) or {}
        was = old.get(name, {})
        text = STORE.text(was["text"]) if was.get("text") else ""
        if draw(st.booleans()):
            text = draw(edited(text) if text else TEXTS)
        fields = draw(with_random_field({field: was[field] for field in OF_PAGES if field in was}, OF_PAGES))
        bare = {field: value for field, value in page.items() if field != "text"}
        pages = page_trees.replace_page(pages, {**bare, **fields, **({"text": STORE.put_blob(text)} if text else {})})
    return pages


@st.composite
def three_revisions(draw: st.DrawFn) -> tuple[Json, Json, Json]:
    """Generate a revision and two edits of the revision: pages, texts, fields, files and variables."""
    base, main, mine = draw(trees.three_revisions())
    first = draw(with_random_texts(base["pages"], []))
    file: Json = {"id": "f1", "name": "a.png", "blob": "0"}

    def revision_with(pages: Pages, files: tuple[Json, ...]) -> Json:
        return revision(*pages, files=files, **draw(st.dictionaries(st.sampled_from(["x", "path"]), st.integers(0, 2))))

    sides = [
        revision_with(
            draw(with_random_texts(side["pages"], first)),
            draw(st.just(()) | st.tuples(with_random_field(file, OF_FILES))),
        )
        for side in (main, mine)
    ]
    return revision_with(first, (file,)), sides[0], sides[1]


def revision_from_server(side: Json, place: str, *, names_documents: bool) -> Revision:
    """Return a revision as a server returns it."""
    pages = [present_page(page, f"https://app.example/{place}") for page in side["pages"]]
    for page in page_trees.walk(pages):
        if not names_documents:
            page.pop("documentId", None)
    files = [{**file, "downloadURL": f"https://app.example/{file['blob']}?key={place}"} for file in side["files"]]
    return Revision.model_validate({"id": "r", "pages": pages, "files": files, "variables": side["variables"]})


def predict(sides: tuple[Json, Json, Json], *, names_documents: bool = True) -> MergePrediction:
    """Return the prediction, which reads only the necessary texts."""
    base, main, mine = (
        revision_from_server(side, place, names_documents=names_documents)
        for side, place in zip(sides, "bmc", strict=True)
    )
    touched = {each["page"]["id"] for each in revision_differences(sides[0], sides[2], str) if "page" in each}
    said = {
        name: (text(sides[0], name), text(sides[1], name), text(sides[2], name))
        for name in pages_to_read((base, main, mine), touched)
    }
    return predict_merge((base, main, mine), said)


def predicted_conflicts(sides: tuple[Json, Json, Json], *, names_documents: bool = True) -> set[tuple[str, str]]:
    return {(each.kind, each.id) for each in predict(sides, names_documents=names_documents).conflicts}


def text(side: Json, name: str) -> str:
    page = page_trees.find_page(side["pages"], name) or {}
    return STORE.text(page["text"]) if page.get("text") else ""


def conflicts_of_the_merge(sides: tuple[Json, Json, Json]) -> set[tuple[str, str]]:
    """Return the conflicts of the merge."""
    return {
        (each.kind, each.id)
        for each in revision_merge.merge_revisions(*sides, "#7", STORE.text, STORE.put_blob).conflicts
    }


def check_predicted_conflicts(sides: tuple[Json, Json, Json]) -> None:
    left = conflicts_of_the_merge(sides)
    assert predicted_conflicts(sides) == left
    assert predicted_conflicts(sides, names_documents=False) == left, "the same without ids of documents"


def check_predicted_main(sides: tuple[Json, Json, Json]) -> None:
    outcome = revision_merge.merge_revisions(*sides, "#7", STORE.text, STORE.put_blob)
    is_on_main = not outcome.conflicts and not revision_differences(sides[1], outcome.content, str)
    assert predict(sides).is_on_main is is_on_main
    assert predict(sides, names_documents=False).is_on_main is is_on_main, "the same without ids of documents"


@settings(max_examples=40)
@given(three_revisions())
def test_prediction_equals_conflicts_of_the_merge(sides: tuple[Json, Json, Json]) -> None:
    check_predicted_conflicts(sides)


@settings(max_examples=40)
@given(three_revisions())
def test_changed_content_is_never_predicted_as_on_main(sides: tuple[Json, Json, Json]) -> None:
    check_predicted_main(sides)


@pytest.mark.long
@settings(max_examples=2000)
@given(three_revisions())
def test_predictions_equal_random_merges(sides: tuple[Json, Json, Json]) -> None:
    check_predicted_conflicts(sides)
    check_predicted_main(sides)


@given(three_texts())
def test_conflicting_texts_are_predicted(sides: tuple[str, str, str]) -> None:
    base, main, mine = (revision(document("A", text=each)) for each in sides)
    assert (("text", "A") in predicted_conflicts((base, main, mine))) == bool(merge(*sides).conflicts)


def test_only_pages_changed_on_both_sides_are_read() -> None:
    base = [document(name, text="as it was") for name in "ABCD"]
    main = [document("A", text="here"), document("B", text="here"), base[2], document("D", text="same")]
    mine = [document("A", text="there"), base[1], document("C", text="there"), document("D", text="same")]
    sides = [revision_from_server(revision(*side), "", names_documents=True) for side in (base, main, mine)]
    assert pages_to_read((sides[0], sides[1], sides[2]), None) == ["A"]


def test_page_repeated_by_the_server_is_merged_once() -> None:
    A = document("A")
    sides = revision(A), revision(document("A", A), A), revision(document("A", title="There"), document("B", A))
    assert predicted_conflicts(sides) == set()


def test_reusable_content_that_both_changed_may_conflict() -> None:
    three_revisions = [
        Revision.model_validate(
            {"id": "r", "pages": [], "reusableContents": [{"id": "s1", "title": "Snippet", "document": each}]}
        )
        for each in ("d1", "d2", "d3")
    ]
    assert [
        each.name for each in predict_merge((three_revisions[0], three_revisions[1], three_revisions[2]), {}).conflicts
    ] == ["Snippet"]
    assert predict_merge((three_revisions[0], three_revisions[1], three_revisions[0]), {}).conflicts == ()


def tree_of(*pages: tuple[str, str, str, list[Any]]) -> tuple[Page, ...]:
    """Return pages from tuples (id, title, slug, subpages)."""
    return tuple(
        Page(id=name, type="document", title=title, slug=slug, pages=tree_of(*below))
        for name, title, slug, below in pages
    )


MAIN = tree_of(("home", "Home", "home", []), ("a", "Stores", "stores", [("b", "Yard", "yard", [])]))


@pytest.mark.parametrize(
    ("after", "found"),
    [
        pytest.param(MAIN, [], id="nothing"),
        pytest.param(
            (*MAIN, *tree_of(("n", "Stores", "stores", []))), [("n", "/stores", "/stores-2")], id="one more of a name"
        ),
        pytest.param(
            (*MAIN, *tree_of(("n", "stores ", "other", []))), [("n", "/stores", "/other")], id="only the title"
        ),
        pytest.param(
            (*MAIN, *tree_of(("n", "Other", "stores", []))), [("n", "/stores", "/stores-2")], id="only the address"
        ),
        pytest.param((*MAIN, *tree_of(("n", "Yard", "yard", []))), [], id="elsewhere"),
        pytest.param(
            (MAIN[0], *tree_of(("a", "Stores", "stores", []), ("b", "Stores", "yard", []))),
            [("b", "/stores", "/yard")],
            id="moved and renamed beside it",
        ),
    ],
)
def test_new_sibling_with_the_same_name_is_a_duplicate(
    after: tuple[Page, ...], found: list[tuple[str, str, str]]
) -> None:
    assert [(each.id, *each.paths) for each in find_duplicates(MAIN, after)] == found


def test_duplicates_on_main_are_not_reported_again() -> None:
    twice = (*MAIN, *tree_of(("n", "Stores", "stores-2", [])))
    assert find_duplicates(twice, twice) == []


def test_items_without_a_title_are_merged() -> None:
    untitled = [Page(id="a"), Page(id="b", type="group", pages=(Page(id="c"),)), Page(id="d", type="link")]
    base = Revision(id="r0", pages=(untitled[0],), reusable_contents=(ReusableContent(id="u"),))
    after = Revision(id="r1", pages=tuple(untitled), reusable_contents=(ReusableContent(id="v"),))
    assert predict_merge((base, after, base), {}).conflicts == ()
    assert [
        (each.id, each.titles) for each in find_duplicates(base.pages, predict_merge((base, base, after), {}).pages)
    ] == [("b", ("", ""))]


def test_different_git_fields_are_no_conflict() -> None:
    three_revisions = [
        Revision.model_validate({"id": "r", "pages": [{"id": "a", "title": "A", "git": {"oid": oid}}]}) for oid in "123"
    ]
    assert predict_merge((three_revisions[0], three_revisions[1], three_revisions[2]), {}).conflicts == ()


def test_flag_that_is_false_is_the_same_as_no_flag() -> None:
    sides = [revision({**document("A"), **flag}) for flag in ({}, {"hidden": False}, {"hidden": True})]
    assert conflicts_of_the_merge((sides[0], sides[1], sides[2])) == set()
    check_predicted_main((sides[0], sides[0], sides[1]))


SENTENCE = "The probe reads 10 cm at low water and 20 cm at high water.\n"


def test_paragraphs_merged_by_words_are_named_with_their_text() -> None:
    texts = SENTENCE, SENTENCE.replace("10", "12"), SENTENCE.replace("20", "21")
    sides = [revision(document("A", text=each)) for each in texts]
    three_revisions = [revision_from_server(side, "", names_documents=True) for side in sides]
    found = predict_merge((three_revisions[0], three_revisions[1], three_revisions[2]), {"A": texts})
    assert not found.conflicts
    assert [(each.id, each.text) for each in found.word_merges] == [
        ("A", "The probe reads 12 cm at low water and 21 cm at high water.")
    ]


@pytest.mark.parametrize(
    ("main", "mine", "is_on_main"),
    [
        pytest.param(
            [document("A", text="new"), document("B")], [document("A", text="new"), document("B")], True, id="edit"
        ),
        pytest.param(
            [document("A", text="new"), document("B")],
            [document("A", text="other"), document("B")],
            False,
            id="other edit",
        ),
        pytest.param([document("A", text="old")], [document("A", text="old")], True, id="deleted by both"),
        pytest.param(
            [document("B"), document("A", text="old")],
            [document("B"), document("A", text="old")],
            True,
            id="moved by both",
        ),
        pytest.param(
            [document("A", text="old"), document("B"), document("C")],
            [document("A", text="old"), document("B"), document("D")],
            False,
            id="created by both",
        ),
        pytest.param(
            [document("A", text="old", title="T"), document("B")],
            [document("A", text="new"), document("B")],
            False,
            id="apart",
        ),
    ],
)
def test_change_request_fully_on_main_is_recognized(main: list[Json], mine: list[Json], is_on_main: bool) -> None:
    sides = [revision(document("A", text="old"), document("B")), revision(*main), revision(*mine)]
    three_revisions = [revision_from_server(side, "", names_documents=True) for side in sides]
    said = {
        name: (text(sides[0], name), text(sides[1], name), text(sides[2], name))
        for name in pages_to_read((three_revisions[0], three_revisions[1], three_revisions[2]), None)
    }
    assert predict_merge((three_revisions[0], three_revisions[1], three_revisions[2]), said).is_on_main is is_on_main


@pytest.mark.parametrize("name", ["path", "createdAt", "updatedAt"])
def test_variable_may_have_the_name_of_a_field(name: str) -> None:
    base, main = revision(document("A")), revision(document("A"), document("B"))
    assert not predict((base, main, {**base, "variables": {name: "new"}})).is_on_main


FILE = {"id": "f", "name": "a.png", "downloadURL": "https://files.example/f?key=1"}


@pytest.mark.parametrize(
    ("change", "is_shown"),
    [
        pytest.param({"type": "page_edited", "page": {"id": "A"}}, True, id="a text that was read"),
        pytest.param({"type": "page_moved", "page": {"id": "B"}}, True, id="a place"),
        pytest.param({"type": "page_deleted", "page": {"id": "C"}}, True, id="a page"),
        pytest.param({"type": "page_edited", "page": {"id": "B"}}, False, id="a field that Octavo does not know"),
        pytest.param({"type": "file_edited", "file": {"id": "f"}}, False, id="a file at the same URL"),
        pytest.param({"type": "file_created", "file": {"id": "g"}}, False, id="a file that is not listed"),
        pytest.param(
            {"type": "reusable_content_edited", "reusableContent": {"id": "r"}}, False, id="reusable content without id"
        ),
        pytest.param({"type": "variables_edited"}, True, id="variables"),
        pytest.param({"type": "theme_edited"}, False, id="a change that Octavo does not know"),
    ],
)
def test_invisible_change_is_not_predicted_as_on_main(change: Json, is_shown: bool) -> None:
    shared = {"files": [FILE], "reusableContents": [{"id": "r", "title": "Foot"}]}
    pages = [{"id": name, "title": name} for name in "ABC"]
    base = Revision.model_validate({"id": "r0", "pages": pages, "variables": {"days": "7"}, **shared})
    mine = Revision.model_validate({"id": "r1", "pages": pages[1::-1], "variables": {"days": "9"}, **shared})
    said = {"A": ("old", "new", "new"), "B": ("same", "same", "same")}
    assert has_all_changes([Change.model_validate(change)], (base, base, mine), said) is is_shown
