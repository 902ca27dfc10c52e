"""Page trees: finding, placing and naming pages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents import page_trees
from octavo.documents.blocks import plain_text
from octavo.documents.page_trees import Json
from octavo.documents.source_reader import parse


def page(title: str, *below: Json, kind: str = "document", slug: str = "") -> Json:
    fields = {} if kind == "link" else {"slug": slug or page_trees.page_slug(title), "pages": list(below)}
    return {"id": title, "type": kind, "title": title, **fields}


TREE = page_trees.with_paths(
    [
        page("Home", page("Inside")),
        page("Guides", page("Setup", page("Linux")), page("Setup 2", slug="setup"), kind="group"),
        page("Elsewhere", kind="link"),
    ]
)


def test_paths_are_the_slugs_from_the_root_and_the_home_page_has_none() -> None:
    assert {each["id"]: each.get("path") for each in page_trees.walk(TREE)} == {
        "Home": "",
        "Inside": "home/inside",
        "Guides": "guides",
        "Setup": "guides/setup",
        "Linux": "guides/setup/linux",
        "Setup 2": "guides/setup-2",
        "Elsewhere": None,
    }


def test_page_is_found_by_path_and_home_page_by_slug() -> None:
    def found(path: str) -> str | None:
        at = page_trees.find_by_path(TREE, path)
        return at["id"] if at else None

    assert found("guides/setup/linux") == "Linux"
    assert found("/guides/") == "Guides"
    assert found("home") == found("") == "Home"
    assert found("nowhere") is None


def test_path_to_a_page_starts_at_the_root() -> None:
    assert [each["id"] for each in page_trees.path_to(TREE, "Linux")] == ["Guides", "Setup", "Linux"]
    assert page_trees.path_to(TREE, "Nobody") == []


def test_changed_tree_leaves_the_original_unchanged() -> None:
    before = str(TREE)
    changed = page_trees.insert_page(page_trees.remove_pages(TREE, {"Setup"}), page("New"), "Guides", 0)
    changed = page_trees.replace_page(changed, {**page("Inside"), "title": "Changed"})
    assert [each["title"] for each in page_trees.walk(changed)] == [
        "Home",
        "Changed",
        "Guides",
        "New",
        "Setup 2",
        "Elsewhere",
    ]
    assert str(TREE) == before


@given(st.text(max_size=150))
def test_slug_is_one_segment_of_a_path(title: str) -> None:
    slug = page_trees.page_slug(title)
    assert 0 < len(slug) <= page_trees.MAX_SLUG
    assert re.fullmatch(r"[\w.-]+", slug)
    assert slug == slug.strip("-.")
    assert page_trees.page_slug(slug) == slug


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Guías principales", "guias-principales"),
        ("Über uns", "uber-uns"),
        ("Großer Łódź", "grosser-lodz"),
        ("Объект к XML", "obekt-k-xml"),
        ("Расчёты", "raschyoty"),
        ("What's new & what isn’t", "whats-new-and-what-isnt"),
        ("eth_getBlock (v1.2)", "eth_getblock-v1.2"),
        ("2. Ziele", "2.-ziele"),
        ("日本語", "日本語"),
        ("---", "page"),
    ],
)
def test_slug_of_a_title_is_as_in_the_exports_of_gitbook(title: str, slug: str) -> None:
    assert page_trees.page_slug(title) == slug


@given(st.lists(st.text("ab -", max_size=3), max_size=8))
def test_slugs_are_unique_among_siblings_and_stay(titles: list[str]) -> None:
    placed = page_trees.with_paths([page(title) | {"id": str(number)} for number, title in enumerate(titles)])
    slugs = [each["slug"] for each in placed]
    assert len(set(slugs)) == len(slugs)
    assert page_trees.with_paths(placed) == placed


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("# Set up\n\nwords", "Set up"),
        ("\n\n# Set *up* `now` ##\n", "Set up now"),
        ("# A [link](x.md) and snake\\_case", "A link and snake_case"),
        ('# Top <a href="#top" id="top"></a>', "Top"),
        ('# See <a href="x">the docs</a>', "See the docs"),
        ("## Second", None),
        ("words\n\n# Late", None),
        ("#hashtag", None),
        ("", None),
    ],
)
def test_the_leading_heading_is_the_title(markdown: str, title: str | None) -> None:
    assert page_trees.leading_heading(markdown) == title


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("import X\n\n# Late", "Late"),
        ("```sh\n# comment\n```\n\n# Real", "Real"),
        ("Old style\n=========\n", "Old style"),
        ("````\n```\n# no\n````\n# Yes", "Yes"),
        ("* ```sh\n  # no\n  ```\n\n# Yes", "Yes"),
        ("Text.\n\n    ```\n\n# Yes", "Yes"),
        ("## Only second", None),
    ],
)
def test_the_first_heading_is_not_in_code(markdown: str, title: str | None) -> None:
    assert page_trees.first_heading(markdown) == title


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Co", "Zl", "Zp"]), min_size=1, max_size=40))
def test_new_title_replaces_the_leading_heading(words: str) -> None:
    title = " ".join(words.split()) or "Blank"
    retitled = page_trees.change_leading_heading("# Old\n\nwords\n", "Old", title)
    assert retitled.endswith("\n\nwords\n")
    assert page_trees.leading_heading(retitled) == title


def test_heading_with_other_text_is_unchanged() -> None:
    assert page_trees.change_leading_heading("# Other\n", "Old", "New") == "# Other\n"


@pytest.mark.parametrize(
    "text", ["$$x$$ costs $$y$$", "{% hint %} and {% endhint %}", "*a* `b` [c](d) <e> &amp; ~f~ !g"]
)
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    (paragraph,) = parse(page_trees.escape_markdown(text)).blocks
    assert plain_text(paragraph.runs) == text
