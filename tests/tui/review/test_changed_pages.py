from __future__ import annotations

from octavo.api.comments import Comment
from octavo.api.content import Change, File, Page, Revision
from octavo.documents.diff_model import ChangeSize
from octavo.documents.merging.revision_merge import predict_merge
from octavo.documents.page_trees import WHOLE_REQUEST, changed_pages, changes_between, has_document_ids
from octavo.tui.review.changed_pages import (
    PageMarks,
    conflicting_keys,
    describe_change,
    tree_nodes,
    unchanged_pages_with_comments,
    walk_nodes,
)
from octavo.tui.widgets.tree import TreeNode


def page(name: str, *below: Page, text: str = "one", **fields: object) -> Page:
    return Page.model_validate({"id": name, "title": name.title(), "documentId": text, **fields, "pages": below})


def revision(*pages: Page, **fields: object) -> Revision:
    return Revision.model_validate({"id": "r", "pages": pages, **fields})


BEFORE = revision(
    page("start"),
    page("guides", page("first"), page("second"), page("third"), type="group"),
    page("old", page("older")),
    page("last"),
)
AFTER = revision(
    page("start"),
    page("guides", page("third", text="two"), page("new", text="three"), type="group"),
    page("last", page("first", text="two", title="The first")),
    files=(File(id="f", name="a.png", content_type="image/png"),),
    variables={"days": "9"},
)


def tree_lines(found: list[TreeNode], depth: int = 0) -> list[str]:
    lines = []
    for node in found:
        end = f" {node.right}" if str(node.right) else ""
        lines.append(f"{'  ' * depth}{node.sign!s}|{node.label}{'|dim' if node.dim else ''}{end}")
        lines += tree_lines(list(node.children), depth + 1)
    return lines


def test_changes_of_a_page_share_an_entry() -> None:
    entries = {entry.key: entry for entry in changed_pages(changes_between(BEFORE, AFTER))}
    assert entries["first"].kinds == ("moved", "renamed", "edited")
    assert [str(each) for each in entries["first"].settings] == ["place: Guides → Last", "title: First → The first"]
    assert {key: entry.sign for key, entry in entries.items()} == {
        "third": "~",
        "new": "+",
        "first": "→",
        "second": "−",
        "old": "−",
        "older": "−",
        "file f": "+",
        "variables": "~",
    }


def test_deleted_pages_keep_their_positions_in_the_tree() -> None:
    entries = changed_pages(changes_between(BEFORE, AFTER))
    marks = PageMarks(
        viewed_keys={"third"},
        changed_since_viewed={"new"},
        sizes={"first": ChangeSize(3, 2, 10, 11), "new": ChangeSize(7)},
    )
    assert tree_lines(tree_nodes(entries, (), BEFORE.pages, AFTER.pages, marks)) == [
        "|Guides|dim",
        "   −|Second",
        "  ✓~|Third|dim",
        "  •+|New +7",
        " −|Old",
        "   −|Older",
        "|Last|dim",
        "   →|The first +3 −2",
        "|other changes",
        " +|a.png",
        " ~|variables",
    ]
    whole = tree_lines(tree_nodes(entries, (), BEFORE.pages, AFTER.pages, marks, has_whole_tree=True))
    assert whole[0] == "|Start|dim", "the whole tree must contain unchanged pages"


def test_unchanged_ancestors_share_a_row() -> None:
    def tree(text: str) -> Revision:
        return revision(page("a", page("b", page("c", page("d", text=text)), page("e", page("f", text=text)))))

    entries = changed_pages(changes_between(tree("one"), tree("two")))
    assert tree_lines(tree_nodes(entries, (), (), tree("two").pages, PageMarks())) == [
        "|A › B › C|dim",
        "   ~|D",
        "|A › B › E|dim",
        "   ~|F",
    ]


def test_entries_without_page_trees_are_all_shown() -> None:
    entries = changed_pages(changes_between(BEFORE, AFTER))
    shown = [node.key for node in walk_nodes(tree_nodes(entries, (), (), (), PageMarks())) if node.kind != "section"]
    assert shown == [entry.key for entry in entries]


def test_commented_pages_have_entries() -> None:
    def thread(name: str, **target: object) -> Comment:
        return Comment.model_validate({"id": name, "status": "open", "target": target})

    threads = [thread("a", page={"id": "start"}), thread("b", page={"id": "third"}), thread("c")]
    entries = changed_pages(changes_between(BEFORE, AFTER))
    commented = unchanged_pages_with_comments(threads, entries, {"start": "Start"}, ())
    assert [(entry.key, entry.title) for entry in commented] == [
        (WHOLE_REQUEST, "General comments"),
        ("start", "Start"),
    ]


def test_unchanged_page_with_comments_has_one_row() -> None:
    entries = changed_pages(changes_between(BEFORE, AFTER))
    commented = unchanged_pages_with_comments((), entries, {}, ("last", "start", WHOLE_REQUEST))

    def keys(*, has_whole_tree: bool) -> list[object]:
        nodes = tree_nodes(entries, commented, BEFORE.pages, AFTER.pages, PageMarks(), has_whole_tree=has_whole_tree)
        return [node.key for node in walk_nodes(nodes)]

    whole, changed = keys(has_whole_tree=True), keys(has_whole_tree=False)
    assert len(whole) == len(set(whole))
    assert len(changed) == len(set(changed))
    assert {"last", "start", WHOLE_REQUEST} <= set(whole) & set(changed)


def test_more_than_a_thousand_changes_are_found_from_revisions() -> None:
    before = revision(*(page(f"p{number}") for number in range(1500)))
    after = revision(*(page(f"p{number}", text="two") for number in range(1500)))
    assert has_document_ids(before)
    assert len(changed_pages(changes_between(before, after))) == 1500
    assert not has_document_ids(revision(page("x", text="")))


def test_change_without_a_diff_is_described() -> None:
    change = {"type": "variables_edited", "variables": {"days": {"before": "7", "after": "9"}}}
    (entry,) = changed_pages([Change.model_validate(change)])
    assert describe_change(entry) == "Edited.\ndays: 7 → 9"


def test_move_below_the_same_parent_changes_the_position() -> None:
    here = {"id": "guides", "title": "Guides"}
    change = {"type": "page_moved", "page": {"id": "a", "title": "A"}, "parent": {"before": here, "after": here}}
    (entry,) = changed_pages([Change.model_validate(change)])
    assert describe_change(entry) == "Moved.\nplace: Guides → Guides, at another position"


def test_move_at_the_top_level_names_the_top_level() -> None:
    (entry,) = changed_pages(changes_between(revision(page("a"), page("b")), revision(page("b"), page("a"))))
    assert describe_change(entry) == "Moved.\nplace: the top level → the top level, at another position"


def test_each_changed_key_of_an_object_is_described() -> None:
    before = revision(
        page("start", cover={"ref": {"kind": "url", "url": "https://a.test"}, "yPos": 0}),
        page("status", type="link", target={"kind": "url", "url": "https://old.test"}),
    )
    after = revision(
        page("start", layout={"outline": False}, variables={"version": "2"}),
        page("status", type="link", target={"kind": "url", "url": "https://new.test"}),
    )
    entries = changed_pages(changes_between(before, after))
    assert [describe_change(entry).splitlines()[1:] for entry in entries] == [
        [
            "cover ref kind: url → none",
            "cover ref url: https://a.test → none",
            "cover yPos: 0 → none",
            "layout outline: none → no",
            "variables version: none → 2",
        ],
        ["target url: https://old.test → https://new.test"],
    ]


def test_every_kind_of_conflict_has_an_entry() -> None:
    def side(name: str) -> Revision:
        return revision(
            page("start", title=name),
            files=[{"id": "f", "name": "a.png", "downloadURL": f"https://files.test/{name}"}],
            reusableContents=[{"id": "r", "title": name, "document": name}],
            variables={"days": name},
        )

    base, main, mine = side("base"), side("main"), side("mine")
    keys = conflicting_keys(predict_merge((base, main, mine), {}).conflicts)
    entries = {each.key for each in changed_pages(changes_between(base, main))}
    assert entries == {"start", "file f", "reusable r", "variables"}
    assert entries <= keys
