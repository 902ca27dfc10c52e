"""The layout of a space in a folder: paths, front matter, table of contents and links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from octavo.api.content import File, Page, Revision
from octavo.api.safety import safe_line
from octavo.documents import front_matter
from octavo.documents.folders.folder import LEAVES_FOLDER, ContentsEntry, Folder, link_urls, rewrite_links, why_unsafe
from octavo.documents.folders.layout import FolderLayout, PageFile, encode_like, format_page_file, normalize
from octavo.documents.folders.table_of_contents import summary_entries, write_summary
from octavo.documents.yaml_values import write_entry
from octavo.files.local_changes import assign_ids, structure_of


def page(page_id: str, path: str, *below: Page, **fields: Any) -> Page:
    return Page(id=page_id, title=page_id.title(), path=path, slug=path.rpartition("/")[2], pages=below, **fields)


def layout(*pages: Page, files: tuple[File, ...] = (), **fields: Any) -> FolderLayout:
    return FolderLayout.of(Revision(id="r1", pages=pages, files=files, **fields), "s1")


# Front matter


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=120))
def test_written_string_is_read_again(text: str) -> None:
    text = " ".join(text.split())
    written = "\n".join(write_entry("key", text))
    assert yaml.safe_load(written) == {"key": text}
    assert front_matter.parse(written).get("key") == text


def test_front_matter_is_not_closed_by_a_line_cut_at_its_limit() -> None:
    long = f"a: {'x' * 65_525}\n"
    assert front_matter.split_page(f"---\n{long}---\nText\n") == ("", 0)
    assert front_matter.split_page(f"---\n{long}---- is a dash\nText\n") == ("", 0)
    assert front_matter.split_page(f"---\n{long}---") == (long, 65_536)


@pytest.mark.parametrize("text", ["12:30", "1:2:3.5", "0b1", "-0x7", "0x_1", "a\tb"])
def test_string_that_looks_like_a_number_or_has_a_tab_is_quoted(text: str) -> None:
    written = "\n".join(write_entry("key", text))
    assert yaml.safe_load(written) == {"key": text}
    assert front_matter.parse(written) == {"key": text}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Short", "d: Short"),
        ("Note: a colon", "d: 'Note: a colon'"),
        ("A\u00a0hard space", 'd: "A\\_hard space"'),
        (f"{'word ' * 15}end", "d: word word word word word word word word word word word word word word word end"),
        (f"{'word ' * 16}end", f"d: >-\n  {'word ' * 15}\n  word end".replace(" \n", "\n")),
    ],
)
def test_string_is_written_as_git_sync_does(text: str, written: str) -> None:
    assert "\n".join(write_entry("d", text)) == written


def test_page_file_has_only_what_differs_from_defaults() -> None:
    shown = page("intro", "intro", layout={"cover": True, "coverSize": "hero", "title": True})
    assert format_page_file(shown, "# Intro\n") == "# Intro\n"
    hidden = shown.model_copy(update={"description": "How to start", "hidden": True, "icon": "bolt"})
    assert (
        format_page_file(hidden, "# Intro")
        == "---\ndescription: How to start\nhidden: true\nicon: bolt\n---\n\n# Intro\n"
    )


def test_layout_of_an_unknown_form_is_not_written() -> None:
    layout: dict[str, Any] = {"cover": None, "coverSize": "full", "title": [], "outline": False}
    text = format_page_file(page("intro", "intro", layout=layout), "# Intro\n")
    assert PageFile(text).metadata["layout"] == {"cover": {"size": "full"}, "outline": {"visible": False}}


def test_variables_with_unusual_names_are_read_again() -> None:
    variables = {"plan": "pro", "free plan": "a", "x:y": "b", "1": "c", "-": "d"}
    text = format_page_file(page("a", "a", variables=variables), "# A\n")
    assert PageFile(text).metadata["vars"] == yaml.safe_load(PageFile(text).front_matter_text)["vars"] == variables


def test_title_is_written_if_the_heading_differs() -> None:
    assert PageFile(format_page_file(page("intro", "intro"), "# Another\n")).title == "Intro"


def test_front_matter_with_only_a_comment_stays() -> None:
    before = "---\n# For editors\n---\n\n# Intro\n"
    assert format_page_file(page("intro", "intro"), "# Intro\n", existing=before) == before


def test_front_matter_that_cannot_be_read_keeps_its_other_lines() -> None:
    deep = "".join(f"{' ' * depth}a{depth}:\n" for depth in range(70))
    written = format_page_file(page("a", "a", description="New"), "# A\n", existing=f"---\n{deep}---\n\n# A\n")
    assert written == f"---\n{deep}description: New\n---\n\n# A\n"


def test_existing_file_keeps_its_other_lines() -> None:
    before = '---\ntags:\n  - beta\ndescription: "Old"\nlayout:\n  title:\n    visible: true\n---\n\n# Intro\n'
    same = page("intro", "intro", description="Old")
    assert format_page_file(same, "# Intro\n", existing=before) == before
    changed = page("intro", "intro", description="New", hidden=True)
    after = format_page_file(changed, "# Intro\n", existing=before)
    assert after == (
        "---\ntags:\n  - beta\ndescription: New\nhidden: true\nlayout:\n  title:\n    visible: true\n---\n\n# Intro\n"
    )


@pytest.mark.parametrize(
    "start", ["---\nicon: bolt\n---\n", "---\nicon: bolt\n---\n\n\n", "---\nicon: bolt\n...\n\n", ""]
)
def test_empty_lines_before_the_text_stay(start: str) -> None:
    existing = f"{start or chr(10)}# A\n\nOld.\n"
    icon = {"icon": "bolt"} if start else {}
    assert format_page_file(page("a", "a", **icon), "# A\n\nOld.\n\n", existing=existing) == existing
    written = format_page_file(page("a", "a", **icon), "# A\n\nNew.\n", existing=existing)
    assert written == f"{start.replace('...', '---')}# A\n\nNew.\n"


def test_line_endings_and_byte_order_mark_of_a_file_stay() -> None:
    data = "\ufeff# A\r\n\r\nb\r\n".encode()
    text = normalize(data.decode())
    assert text == "# A\n\nb\n"
    assert encode_like(text, data) == data


# Paths


def test_page_with_subpages_is_the_readme_of_a_folder() -> None:
    found = layout(page("home", ""), page("guides", "guides", page("setup", "guides/setup")))
    assert found.paths == {"home": "README.md", "guides": "guides/README.md", "setup": "guides/setup.md"}


def test_path_in_the_repository_comes_first() -> None:
    moved = page("setup", "guides/setup", git={"oid": "1", "path": "old/setup.md"})
    assert layout(moved).paths == {"setup": "old/setup.md"}


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "a/../../b.md",
        "/etc/passwd",
        "C:/x.md",
        "a\\b.md",
        "a//b.md",
        "a/\x00.md",
        ".git/hooks/pre-commit",
        ".octavo/x",
        ".gitbook/.x",
        "aux.md",
        "a/COM1",
        "nul",
        "x./a.md",
        "y .",
        "a/" * 40 + "b.md",
        "n" * 256,
    ],
)
def test_hostile_path_is_skipped_with_a_reason(path: str) -> None:
    reason = why_unsafe(path)
    assert reason
    leaves_folder = ".." in path or path.startswith(("/", "C:"))
    assert (reason == LEAVES_FOLDER) == leaves_folder, "a reason that is not true"
    file = File(id="f", name="x", git={"oid": "1", "path": path})
    found = layout(page("home", ""), files=(file,))
    assert "f" not in found.paths
    assert [each.message.partition(":")[0] for each in found.skipped] == ["Skipped a file"]


def test_paths_equal_but_for_case_or_unicode_form_are_skipped() -> None:
    found = layout(page("a", "caf\u00e9"), page("b", "cafe\u0301"), page("c", "CAF\u00c9"), page("d", "summary"))
    assert list(found.paths) == ["a"]
    assert len(found.skipped) == 3


def test_files_with_one_name_get_numbers() -> None:
    files = tuple(File(id=name, name="image.png") for name in ("f1", "f2"))
    found = layout(page("home", ""), files=files)
    assert [found.paths[name] for name in ("f1", "f2")] == [
        ".gitbook/assets/image.png",
        ".gitbook/assets/image (1).png",
    ]


# Links


def test_links_by_id_become_relative_files() -> None:
    file = File(id="f1", name="a b.png")
    found = layout(page("home", ""), page("guides", "guides", page("setup", "guides/setup")), files=(file,))
    text = "[a](/pages/home) [b](/pages/guides#top) ![c](/files/f1) [d](../) [e](https://example.com/pages/home)\n"
    assert found.text_in_folder("setup", text) == (
        "[a](../README.md) [b](README.md#top) ![c](../.gitbook/assets/a%20b.png) [d](../) "
        "[e](https://example.com/pages/home)\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        "```\n[a](x)\n```",
        "* ```sh\n  [a](x)\n  ```",
        "1. - ~~~\n     [a](x)\n     ~~~",
        "> ```\n> [a](x)\n> ```",
        "````\n```\n[a](x)\n`````",
    ],
)
def test_only_links_in_code_stay(code: str) -> None:
    text = rewrite_links(f"[a](x)\n\n{code}\n\n```[a](x)``` [`b`](x) \\`[a](x)`\n", lambda _: "y")
    assert text == f"[a](y)\n\n{code}\n\n```[a](x)``` [`b`](y) \\`[a](y)`\n"


@pytest.mark.parametrize(
    "sample",
    [
        "a\r\u2028b\n\n    [a](x)\n\tb ![a](x)\n\n    [a]: x",
        '* a\n\n      <img src="x">\n\n1.     [a](x)',
        "> a\n>\n>     [a](x)",
        r"\[a](x) b](x)",
        r"[a\](x)",
        r"!\[a](x)",
        "[a\n\nb](x)",
        r"\\\[a](x)",
        r'\<img src="x">',
        r'\{% embed url="x" %\}',
        "<!-- [a](x)\n\n```\n[a](x)\n```\n[a](x) -->",
    ],
)
def test_sample_of_a_link_stays(sample: str) -> None:
    text = f"[a](x)\n\n{sample}\n\n* [a](x)\n  * b\n\n    [a](x)\n\n\n[a](x)\n"
    assert rewrite_links(text, lambda _: "y") == f"[a](y)\n\n{sample}\n\n* [a](y)\n  * b\n\n    [a](y)\n\n\n[a](y)\n"


@pytest.mark.parametrize(
    "link",
    [
        r"\\[a](x)",
        r"\![a](x)",
        r"[\[a\] `]`](x)",
        "[![a](x)](x)",
        "[a [a](x)",
        "[a\nb](x)",
        "`<!--` [a](x) `-->`",
        "<!-- [a](x)",
        r"1 \< 2 [a](x) > 3",
        '<table>\n<tr>\n\n    <td><a href="x">a</a></td>\n\n</tr>\n</table>',
        "a\n    [a](x)",
    ],
)
def test_link_that_looks_like_a_sample_is_rewritten(link: str) -> None:
    assert rewrite_links(link, lambda _: "y") == link.replace("(x)", "(y)").replace('"x"', '"y"')


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("![a](Screen Shot (1).png)", "Screen Shot (1).png"),
        ("[![a](old name.png)](b.md)", "old name.png"),
        (r"![a](img\_1\(2\).png)", "img_1(2).png"),
        (r"![a](<img\_1 2.png>)", "img_1 2.png"),
        ('<img src="l&#x27;image &amp; co.png">', "l'image & co.png"),
        ('{% file src="l\'image.pdf" %}', "l'image.pdf"),
        ('{% page-ref page="../setup.md" %}', "../setup.md"),
        ('text\n\n[setup]: ../setup.md "Title"', "../setup.md"),
        ("* a\n\n  [setup]: <../set up.md>", "../set up.md"),
    ],
)
def test_url_of_each_form_of_link_is_found_and_rewritten(link: str, url: str) -> None:
    assert [each for each in link_urls(link) if each != "b.md"] == [url]
    rewritten = rewrite_links(link, lambda each: "/files/f1" if each == url else None)
    assert [each for each in link_urls(rewritten) if each != "b.md"] == ["/files/f1"]
    assert rewrite_links(link, str) == link
    assert not [*link_urls("[^1]: ../setup.md")]


def test_path_with_a_colon_is_no_url(tmp_path: Path) -> None:
    paths = {"vector": "std::vector.md", "colon": "how-to/a:b.md"}
    found = layout(*(Page(id=name, title=name, git={"path": path}) for name, path in paths.items()))
    assert found.text_in_folder("colon", "[v](/pages/vector)\n") == "[v](../std::vector.md)\n"
    assert found.text_in_folder("vector", "[v](/pages/vector)\n") == "[v](std%3A%3Avector.md)\n"
    read = read_summary(tmp_path, write_summary(found.entries))
    assert [each.path for each in read] == [Path(path) for path in paths.values()]


# Table of contents


def read_summary(tmp_path: Path, text: str) -> list[ContentsEntry]:
    return summary_entries(Folder(tmp_path, tmp_path), text, Path("SUMMARY.md"))


def test_summary_has_groups_links_and_short_titles(tmp_path: Path) -> None:
    entries = [
        ContentsEntry("document", "Home", Path("README.md")),
        ContentsEntry(
            "group", "Get started", slug="start", children=[ContentsEntry("document", "A [b]", Path("a b/README.md"))]
        ),
        ContentsEntry(
            "group",
            "Help",
            slug="help",
            children=[ContentsEntry("link", "Status", target="https://status.example.com")],
        ),
    ]
    entries[1].children[0].children.append(ContentsEntry("document", "Long", Path("long.md"), link_title='Say "no"'))
    text = write_summary(entries)
    assert text == (
        "# Table of contents\n\n* [Home](README.md)\n\n"
        '## Get started <a href="#start" id="start"></a>\n\n* [A \\[b\\]](<a b/README.md>)\n'
        '  * [Long](long.md "Say \\"no\\"")\n\n'
        "## Help\n\n* [Status](https://status.example.com)\n"
    )
    assert write_summary(read_summary(tmp_path, text)) == text


@pytest.mark.parametrize("title", ["Words", "1. Start", "# C", "- a", "> b", "+", "12) c", "a [b] *c*", "=="])
def test_entry_without_a_link_is_written_without_a_link(tmp_path: Path, title: str) -> None:
    entries = [
        ContentsEntry("document", title, target=title, children=[ContentsEntry("document", "Child", Path("child.md"))])
    ]
    text = write_summary(entries)
    assert "](" not in text.splitlines()[2]
    (read,) = read_summary(tmp_path, text)
    assert (read.title, read.target, [each.title for each in read.children]) == (title, title, ["Child"])


def test_groups_with_equal_titles_keep_their_own_slugs(tmp_path: Path) -> None:
    entries = [
        ContentsEntry("group", "Guides", slug=slug, children=[ContentsEntry("document", slug, Path(f"{slug}.md"))])
        for slug in ("guides", "guides-1", "other")
    ]
    read = read_summary(tmp_path, write_summary(entries))
    assert [(group.title, group.slug) for group in read] == [
        ("Guides", ""), ("Guides", "guides-1"), ("Guides", "other"),
    ]  # fmt: skip


def test_short_title_belongs_to_its_entry_only(tmp_path: Path) -> None:
    text = '* [Site](https://a.example)\n* [Our site](https://a.example "Ours")\n  * [Site](https://a.example "Mine")\n'
    assert [each.link_title for each in read_summary(tmp_path, text)] == ["", "Ours", "Mine"]


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/a b",
        "https://a.example/A_(b)",
        "https://a.example/x)",
        "https://a.example/?a=1&b=(2",
        "c d.pdf",
    ],
)
def test_target_of_a_link_and_its_short_title_are_read_again(tmp_path: Path, url: str) -> None:
    (read,) = read_summary(tmp_path, write_summary([ContentsEntry("link", "Site", target=url, link_title="Short")]))
    assert (read.title, read.target, read.link_title) == ("Site", url, "Short")


def test_links_to_a_page_and_its_heading_are_read_as_the_server_has_them(tmp_path: Path) -> None:
    (tmp_path / "a (1) 50%.md").write_text("# A\n")
    targets = {"heading": {"page": "a", "anchor": "b"}, "page": {"page": "a"}}
    links = (Page(id=name, type="link", title=name, target=target) for name, target in targets.items())
    entries = layout(page("a", "a (1) 50%"), *links).entries
    text = write_summary(entries)
    assert text == (
        "# Table of contents\n\n* [A](<a (1) 50%25.md>)\n* [heading](<a (1) 50%25.md#b>)\n* [page](<a (1) 50%25.md>)\n"
    )
    read = read_summary(tmp_path, text)
    assert write_summary(read) == text
    assign_ids(read, {"a (1) 50%.md": "a"}, entries)
    assert structure_of(read) == structure_of(entries)


@pytest.mark.parametrize(
    ("url", "path"),
    [("/", "README.md"), ("./", "README.md"), ("#a", "README.md"), ("v1.2/", "v1.2/README.md"), ("b.c", "b.c.md")],
)
def test_entry_for_a_folder_leads_to_its_index_page(tmp_path: Path, url: str, path: str) -> None:
    (tmp_path / "v1.2").mkdir()
    for name in ("README.md", "v1.2/README.md", "b.c.md"):
        (tmp_path / name).write_text("# A\n")
    assert [each.path for each in read_summary(tmp_path, f"* [A]({url})\n")] == [Path(path)]


def test_repeated_page_is_a_link_and_its_entries_stay_after_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    entries = read_summary(tmp_path, "* [A](a.md)\n  * C\n* B\n* [A](a.md)\n  * C\n")
    assert [(each.kind, each.title) for each in entries] == [
        ("document", "A"), ("document", "B"), ("link", "A"), ("document", "C"),
    ]  # fmt: skip


def test_renamed_link_is_another_structure() -> None:
    one, other = (
        [ContentsEntry("link", title, target="https://a.example", id="link")] for title in ("Site", "Our site")
    )
    assert structure_of(one) != structure_of(other)


titles = st.text(
    st.characters(exclude_categories=["C"]) | st.sampled_from(' #_*[]()&<`\\$"'), min_size=1, max_size=20
).map(lambda title: " ".join(safe_line(title).split()))
"""Titles as models have them."""


@given(st.lists(st.tuples(titles, titles), min_size=1, max_size=6))
def test_written_titles_are_read_again(tmp_path_factory: pytest.TempPathFactory, names: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("folder")
    entries = [
        ContentsEntry(
            "group", group or "G", children=[ContentsEntry("document", title, Path(f"{number}.md"), link_title=group)]
        )
        for number, (group, title) in enumerate(names)
    ]
    read = read_summary(folder, write_summary(entries))
    assert [group.title for group in read] == [group.title for group in entries]
    assert [group.children[0].link_title for group in read] == [group for group, _ in names]
    assert [group.children[0].title for group in read] == [group.children[0].title or "Untitled" for group in entries]


def test_url_that_is_named_like_its_attribute_is_rewritten() -> None:
    assert rewrite_links('<img src="src">', lambda url: f"/files/{url}") == '<img src="/files/src">'
