from __future__ import annotations

from pathlib import Path

import pytest

from octavo.api.content import File
from octavo.tui.core.file_dialogs import safe_name, short_path, slug
from octavo.tui.core.item_labels import file_kind, format_size


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1340, "1.3 kB"), (12_000_000, "12 MB"), (999_600, "1.0 MB")],
)
def test_file_size_has_few_digits(size: int, words: str) -> None:
    assert format_size(size) == words


@pytest.mark.parametrize(
    ("name", "content_type", "kind"),
    [
        ("a.png", "image/png", "PNG image"),
        ("a.svg", "image/svg+xml; charset=utf-8", "SVG image"),
        ("a.pdf", "application/pdf", "PDF"),
        ("a.csv", "text/csv", "CSV text"),
        ("a.txt", "text/plain", "text"),
        ("a.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "XLSX"),
        ("a", "application/octet-stream", "application"),
        ("a", "", "file"),
    ],
)
def test_file_kind_is_one_or_two_words(name: str, content_type: str, kind: str) -> None:
    assert file_kind(File(id="f", name=name, content_type=content_type)) == kind


def test_title_becomes_a_file_name() -> None:
    assert slug("  Your first  tide table ") == "your-first-tide-table"
    assert safe_name(f"{slug('../../etc/passwd')}.md") == "etc_passwd.md"
    assert slug("") == "page"


def test_path_in_home_folder_begins_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somebody")
    assert short_path(Path("/somebody/a/b.md")) == "~/a/b.md"
    assert short_path(Path("/somebodyelse/b.md")) == "/somebodyelse/b.md"
