from __future__ import annotations

from typing import Any

import pytest

from octavo.api import storage
from octavo.api.storage import FileToSend, SignedUrl
from octavo.server.handlers.uploads import SIZE_LIMITS, UPLOAD_LIFETIME, find_uploaded_file
from octavo.server.rest import Refusal, RequestContext
from tests.server.small_platform import ACME, Ask, Clock

DATA = b"PK\x03\x04 pages"


async def _announce(ask: Ask, size: int = len(DATA)) -> SignedUrl:
    file = FileToSend(name="pages.zip", type="application/zip", size=size)
    return await ask(storage.Upload(at=ACME, file=file, kind="import_file"))


async def _send(ask: Ask, url: str, data: bytes = DATA) -> tuple[int, str]:
    answer = await ask.http("PUT", url, user=None, content=data)
    return answer.status_code, answer.json()["error"]["message"] if answer.content else ""


async def test_file_is_uploaded_once_without_a_key(ask: Ask, context: RequestContext) -> None:
    target = await _announce(ask)
    assert ask.last.json()["object"] == "storage-signed-url"
    assert await _send(ask, target.url) == (200, "")
    kept = find_uploaded_file(context, "acme", target.key, "import_file")
    assert (kept["name"], kept["type"], context.store.blob(kept["blob"])) == ("pages.zip", "application/zip", DATA)
    status, sentence = await _send(ask, target.url)
    assert (status, sentence) == (410, "This upload URL was already used. Request a new upload URL.")


async def test_upload_url_expires_after_a_quarter_of_an_hour(ask: Ask, context: RequestContext, clock: Clock) -> None:
    target = await _announce(ask)
    clock.forward(seconds=UPLOAD_LIFETIME.total_seconds())
    status, sentence = await _send(ask, target.url)
    assert (status, sentence) == (410, "This upload URL has expired. Request a new upload URL.")
    await _announce(ask)
    assert context.store.count("/orgs/acme/uploads") == 1
    assert (await _send(ask, target.url))[0] == 404
    with pytest.raises(Refusal, match="The upload “"):
        find_uploaded_file(context, "acme", target.key, "import_file")


async def test_upload_must_match_the_announced_file(ask: Ask) -> None:
    target = await _announce(ask)
    sentence = "The body is larger than the limit of 10 bytes."
    assert await _send(ask, target.url, DATA + b"!") == (413, sentence)
    sentence = "The file has 9 bytes, but 10 bytes were announced. Upload the file again."
    assert await _send(ask, target.url, DATA[:-1]) == (400, sentence)
    assert await _send(ask, target.url, DATA) == (200, "")


async def test_font_upload_must_be_a_font(ask: Ask) -> None:
    file = FileToSend(name="a.woff2", type="font/woff2", size=len(DATA))
    target = await ask(storage.Upload(at=ACME, file=file, kind="customization_font"))
    status, sentence = await _send(ask, target.url)
    assert (status, sentence.split(":")[0]) == (400, "The file is not a WOFF2 or WOFF font. Choose another file.")


async def test_upload_url_cannot_be_guessed_or_read(ask: Ask) -> None:
    target = await _announce(ask)
    for url in (target.url + "x", target.url.replace("/acme/", "/other/"), target.url.rpartition("/")[0] + "/é"):
        assert await _send(ask, url) == (404, "This upload URL is not valid. Request a new upload URL.")
    assert (await ask.http("GET", target.url)).status_code == 405
    assert (await _send(ask, target.url))[0] == 200


@pytest.mark.parametrize(
    ("file", "kind", "sentence"),
    [
        ({}, "import_file", "file.name is required."),
        ({"name": ""}, "import_file", "file.name must have at least 1 character."),
        ({"type": "font"}, "import_file", "file.type must be a media type"),
        ({"size": 0}, "import_file", "file.size must be at least 1."),
        ({"size": SIZE_LIMITS["import_file"] + 1}, "import_file", "file.size may be at most 33554432 bytes"),
        (
            {"size": SIZE_LIMITS["customization_font"] + 1},
            "customization_font",
            "file.size may be at most 5242880 bytes",
        ),
        ({"type": "image/png"}, "customization_font", "file.type must be one of font/woff2"),
        ({"name": "x"}, "movie", "kind must be one of"),
    ],
)
async def test_invalid_announcement_is_refused(ask: Ask, file: dict[str, Any], kind: str, sentence: str) -> None:
    whole = {"name": "a.woff2", "type": "font/woff2", "size": 4, **file} if file else {"type": "a/b", "size": 1}
    answer = await ask.http("POST", "/v1/orgs/acme/storage/upload", json={"file": whole, "kind": kind})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)
