from __future__ import annotations

import pytest

from octavo.api.content import Page, PageTree
from octavo.tui.editing.page_form import (
    changed_values,
    current_values,
    field_names,
    from_draft,
    page_update,
    server_errors,
    to_draft,
    value_errors,
)

PAGE = Page(id="p", title="Keys", slug="keys", description="All of them", emoji="1f511")
TREE = PageTree(pages=(PAGE, Page(id="q", title="Locks", slug="locks"), Page(id="g", type="group", title="More")))


def test_form_starts_with_the_page_and_sends_only_changes() -> None:
    assert current_values(PAGE) == {
        "slug": "keys",
        "description": "All of them",
        "emoji": "🔑",
        "icon": "",
        "hidden": "",
    }
    assert page_update(PAGE, current_values(PAGE)) is None
    sent = page_update(PAGE, {**current_values(PAGE), "emoji": " ", "icon": "key", "hidden": "yes", "description": ""})
    assert sent is not None
    assert sent.model_dump(exclude_unset=True, exclude={"page", "operation"}) == {
        "description": "",
        "emoji": None,
        "icon": "key",
        "hidden": True,
    }


def test_draft_keeps_only_the_changed_values() -> None:
    draft = to_draft(PAGE, {**current_values(PAGE), "slug": "all-keys"})
    later = PAGE.model_copy(update={"description": "Others wrote this"})
    assert from_draft(later, draft) == {**current_values(later), "slug": "all-keys"}
    assert changed_values(later, from_draft(later, draft)) == {"slug": "all-keys"}
    assert to_draft(PAGE, current_values(PAGE)) == ""
    assert from_draft(PAGE, "not what was kept") == current_values(PAGE)


@pytest.mark.parametrize(
    ("values", "field", "message"),
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
def test_invalid_value_is_reported_at_its_field(values: dict[str, str], field: str, message: str) -> None:
    found = value_errors(PAGE, TREE, {**current_values(PAGE), **values})
    assert list(found) == [field]
    assert message in found[field]


@pytest.mark.parametrize("values", [{"slug": ""}, {"slug": "ключи"}, {"emoji": "🇫🇮"}, {"emoji": "1️⃣"}, {"emoji": "👩‍🚀"}, {"emoji": "1f680"}])  # fmt: skip
def test_valid_values_have_no_errors(values: dict[str, str]) -> None:
    assert value_errors(PAGE, TREE, {**current_values(PAGE), **values}) == {}


def test_unchanged_invalid_value_is_not_reported() -> None:
    both = PAGE.model_copy(update={"icon": "key", "slug": "as is"})
    assert value_errors(both, TREE, {**current_values(both), "description": "New"}) == {}


def test_group_has_fewer_fields_and_server_error_names_its_field() -> None:
    assert field_names(TREE.pages[2]) == ("slug", "emoji", "icon", "hidden")
    names = field_names(PAGE)
    assert server_errors("changes[0]: Slug is taken.", names) == {"slug": "changes[0]: Slug is taken."}
    assert server_errors("You may not edit this.", names) == {}
