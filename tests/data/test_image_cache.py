from __future__ import annotations

import os
from pathlib import Path

from octavo.data.response_cache import ImageCache


def test_images_are_cached_for_each_account(tmp_path: Path) -> None:
    mine, theirs = ImageCache(tmp_path, "me"), ImageCache(tmp_path, "they")
    mine.put("https://a.example/../../x.png", b"bytes")
    assert ImageCache(tmp_path, "me").get("https://a.example/../../x.png") == b"bytes"
    assert theirs.get("https://a.example/../../x.png") is None
    (kept,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept.stat().st_mode & 0o077 == 0
    mine.clear()
    assert mine.get("https://a.example/../../x.png") is None


def test_least_recently_used_image_is_evicted(tmp_path: Path) -> None:
    pictures = ImageCache(tmp_path, max_bytes=250)
    for number, name in enumerate(("old", "older", "new")):
        pictures.put(name, bytes(100))
        for path in tmp_path.rglob("?" * 64):
            age = path.stat().st_mtime_ns if number == 2 else 1_000_000_000 * (number + 1)
            os.utime(path, ns=(age, age)) if path.stat().st_mtime_ns > 10**15 else None
    assert pictures.get("old") is None
    assert pictures.get("older")
    assert pictures.get("new")
    pictures.put("huge", bytes(251))
    assert pictures.get("huge") is None
    assert pictures.get("new")


def test_image_cache_without_a_folder_stores_nothing(tmp_path: Path) -> None:
    ImageCache(None).put("a", b"bytes")
    assert ImageCache(None).get("a") is None
    (tmp_path / "pictures").write_text("a file in its place")
    ImageCache(tmp_path).put("a", b"bytes")
    assert ImageCache(tmp_path).get("a") is None
