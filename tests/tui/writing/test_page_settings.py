from __future__ import annotations

import pytest

from octavo.api.content import Page, PageTree
from octavo.tui.writing.page_settings import as_draft, changed, fields, from_draft, refused, settings, update, wrong

PAGE = Page(id="p", title="Keys", slug="keys", description="All of them", emoji="1f511")
TREE = PageTree(pages=(PAGE, Page(id="q", title="Locks", slug="locks"), Page(id="g", type="group", title="More")))


def test_a_form_begins_with_what_the_page_has_and_sends_what_is_other() -> None:
    assert settings(PAGE) == {"slug": "keys", "description": "All of them", "emoji": "🔑", "icon": "", "hidden": ""}
    assert update(PAGE, settings(PAGE)) is None
    sent = update(PAGE, {**settings(PAGE), "emoji": " ", "icon": "key", "hidden": "yes", "description": ""})
    assert sent is not None
    assert sent.model_dump(exclude_unset=True, exclude={"page", "operation"}) == {
        "description": "",
        "emoji": None,
        "icon": "key",
        "hidden": True,
    }


def test_of_a_draft_only_what_was_changed_is_kept_so_that_what_others_change_stays() -> None:
    draft = as_draft(PAGE, {**settings(PAGE), "slug": "all-keys"})
    later = PAGE.model_copy(update={"description": "Others wrote this"})
    assert from_draft(later, draft) == {**settings(later), "slug": "all-keys"}
    assert changed(later, from_draft(later, draft)) == {"slug": "all-keys"}
    assert as_draft(PAGE, settings(PAGE)) == ""
    assert from_draft(PAGE, "not what was kept") == settings(PAGE)


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"slug": "two words"}, "slug", "letters, digits, and hyphens"),
        ({"slug": "a/b"}, "slug", "letters, digits, and hyphens"),
        ({"slug": "LOCKS"}, "slug", "“Locks” at this level already uses this slug."),
        ({"slug": "k" * 101}, "slug", "at most 100 characters. This text has 101 characters."),
        ({"description": "d" * 1001}, "description", "at most 1000"),
        ({"icon": "key"}, "icon", "an emoji or an icon"),
        ({"icon": "A Key", "emoji": ""}, "icon", "only lowercase letters"),
        ({"emoji": "key"}, "emoji", "one emoji"),
        ({"emoji": "é"}, "emoji", "one emoji"),
    ],
)
def test_what_cannot_be_is_said_of_its_field(values: dict[str, str], field: str, said: str) -> None:
    found = wrong(PAGE, TREE, {**settings(PAGE), **values})
    assert list(found) == [field]
    assert said in found[field]


@pytest.mark.parametrize("values", [{"slug": ""}, {"slug": "ключи"}, {"emoji": "🇫🇮"}, {"emoji": "1️⃣"}, {"emoji": "👩‍🚀"}, {"emoji": "1f680"}])  # fmt: skip
def test_what_can_be_is_let_be(values: dict[str, str]) -> None:
    assert wrong(PAGE, TREE, {**settings(PAGE), **values}) == {}


def test_a_page_that_is_wrong_already_may_be_changed_elsewhere() -> None:
    both = PAGE.model_copy(update={"icon": "key", "slug": "as is"})
    assert wrong(both, TREE, {**settings(both), "description": "New"}) == {}


def test_what_a_group_has_and_where_a_refusal_belongs() -> None:
    assert fields(TREE.pages[2]) == ("slug", "emoji", "icon", "hidden")
    names = fields(PAGE)
    assert refused("changes[0]: Slug is taken.", names) == {"slug": "changes[0]: Slug is taken."}
    assert refused("You may not edit this.", names) == {}
