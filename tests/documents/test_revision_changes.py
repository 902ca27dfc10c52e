"""Differences between two revisions."""

from __future__ import annotations

from octavo.api.content import Change, File, Page, ReusableContent, Revision
from octavo.documents.merging.revision_merge import predict_merge
from octavo.documents.page_trees import EMPTY_REVISION, changed_pages, changes_between, revision_differences
from tests.documents.test_revision_merge import document, revision


def test_all_content_of_the_first_revision_is_new() -> None:
    first = revision(document("a", document("b")))
    assert [(each["type"], each["page"]["id"]) for each in revision_differences(EMPTY_REVISION, first, str)] == [
        ("page_created", "a"),
        ("page_created", "b"),
    ]
    assert revision_differences(first, first, str) == []


def test_place_of_a_moved_page_names_parents_of_equal_titles_by_path() -> None:
    parents = [{"id": name, "title": "API", "path": f"{name}/api"} for name in ("v1", "v2")]
    move = {"type": "page_moved", "page": {"id": "a"}, "parent": dict(zip(("before", "after"), parents, strict=True))}
    ((setting,),) = [entry.settings for entry in changed_pages([Change.model_validate(move)])]
    assert (setting.name, setting.old, setting.new) == ("place", "API (/v1/api)", "API (/v2/api)")


def test_files_variables_and_reusable_content_are_compared() -> None:
    before = {
        **EMPTY_REVISION,
        "files": [{"id": "f1", "name": "a.png", "blob": "1", "size": 1}, {"id": "f2", "name": "b.png", "blob": "2"}],
        "reusableContents": [{"id": "r1", "title": "Note", "text": "a" * 64}],
        "variables": {"version": "1", "beta": True},
    }
    after = {
        **EMPTY_REVISION,
        "files": [{"id": "f1", "name": "a.png", "blob": "9", "size": 2}, {"id": "f3", "name": "c.png", "blob": "3"}],
        "reusableContents": [{"id": "r1", "title": "Note", "text": "b" * 64}],
        "variables": {"version": "2"},
    }
    changes = revision_differences(before, after, lambda file: f"/{file['blob']}")
    assert [(each["type"], (each.get("file") or {}).get("id")) for each in changes] == [
        ("file_edited", "f1"),
        ("file_created", "f3"),
        ("file_deleted", "f2"),
        ("reusable_content_edited", None),
        ("variables_edited", None),
    ]
    assert changes[0]["attributes"] == {
        "downloadURL": {"before": "/1", "after": "/9"},
        "size": {"before": 1, "after": 2},
    }
    assert changes[3]["attributes"] == {"document": {"before": "a" * 20, "after": "b" * 20}}
    assert changes[4]["variables"] == {"version": {"before": "1", "after": "2"}, "beta": {"before": True}}


def test_pages_below_a_generated_page_are_compared() -> None:
    before, after = (
        Revision(id=name, pages=(Page(id="g", type="computed", pages=tuple(pages)),))
        for name, pages in {
            "r1": [Page(id="a", document_id="1")],
            "r2": [Page(id="a", document_id="2"), Page(id="b")],
        }.items()
    )
    changes = [(each.type, each.page.id if each.page is not None else "") for each in changes_between(before, after)]
    assert changes == [("page_edited", "a"), ("page_created", "b")]
    assert not predict_merge((before, before, after), {}).is_on_main


def test_items_without_a_name_are_compared() -> None:
    before = Revision(
        id="r1",
        pages=(Page(id="p", title="", hidden=False),),
        files=(File(id="f", name=""),),
        reusable_contents=(ReusableContent(id="c", title="", document="a"),),
    )
    after = Revision(
        id="r2",
        pages=(Page(id="p", title="", hidden=True), Page(id="q", title="")),
        files=(File(id="f", name="", size=2), File(id="g")),
        reusable_contents=(ReusableContent(id="c", title="", document="b"), ReusableContent(id="d")),
    )
    assert [(change.type, change.attributes) for change in changes_between(before, after)] == [
        ("page_edited", {"hidden": {"after": True}}),
        ("page_created", None),
        ("file_edited", {"size": {"after": 2}}),
        ("file_created", None),
        ("reusable_content_edited", {"document": {"before": "a", "after": "b"}}),
        ("reusable_content_created", None),
    ]
    assert changes_between(before, before) == changes_between(after, after) == ()
