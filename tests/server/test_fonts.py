from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from octavo.api import fonts, storage
from octavo.api.fonts import ChangedFace, Font, NewFace
from octavo.api.storage import FileToSend, SignedUrl
from octavo.server.handlers.uploads import UPLOAD_LIFETIME
from tests.server.small_platform import ACME, Ask, Clock, check_refused

WOFF2, WOFF = b"wOF2 thin lines", b"wOFF older lines"


async def _announce(ask: Ask, size: int = len(WOFF2), **fields: Any) -> SignedUrl:
    file = FileToSend(name=fields.pop("name", "Söhne 400.woff2"), type="font/woff2", size=size)
    return await ask(storage.Upload(at=ACME, file=file, kind=fields.pop("kind", "customization_font")))


async def _send(ask: Ask, to: SignedUrl, data: bytes = WOFF2) -> tuple[int, str]:
    """Send a file without a key. Return the status and the message of the response."""
    answer = await ask.http("PUT", to.url, user=None, content=data)
    return answer.status_code, answer.json()["error"]["message"] if answer.content else ""


async def _upload(ask: Ask, data: bytes = WOFF2, name: str = "Söhne 400.woff2") -> str:
    there = await _announce(ask, len(data), name=name)
    assert await _send(ask, there, data) == (200, "")
    return there.key


async def _create(ask: Ask, family: str = "Söhne", **keys: str) -> Font:
    faces = tuple(NewFace(weight=int(weight[1:]), storage_key=key) for weight, key in keys.items())
    return await ask(fonts.Create(at=ACME, font_family=family, font_faces=faces))


def _weights(font: Font) -> dict[float, list[str | None]]:
    return {face.weight: [source.format for source in face.sources] for face in font.font_faces}


async def test_font_is_created_from_uploads(ask: Ask) -> None:
    made = await _create(ask, w700=await _upload(ask), w400=await _upload(ask, WOFF))
    assert (made.font_family, made.custom, made.permissions.edit) == ("Söhne", True, True)
    assert _weights(made) == {400: ["woff"], 700: ["woff2"]}
    assert [face.weight for face in made.font_faces] == [400, 700]
    assert (await ask.http("GET", made.font_faces[1].sources[0].url)).content == WOFF2
    as_seen = await ask(fonts.Get(at=ACME, font_id=made.id), "sam")
    assert as_seen.permissions.edit is False
    assert as_seen.font_faces == made.font_faces


async def test_font_face_may_have_two_formats(ask: Ask) -> None:
    keys = [await _upload(ask, data) for data in (WOFF2, WOFF)]
    faces = tuple(NewFace(weight=400, storage_key=key) for key in keys)
    made = await ask(fonts.Create(at=ACME, font_family="Söhne", font_faces=faces))
    assert _weights(made) == {400: ["woff2", "woff"]}
    sentence = await check_refused(ask(fonts.Create(at=ACME, font_family="Söhne", font_faces=faces[:1] * 2)), 400)
    assert sentence == "fontFaces has two woff2 files for weight 400. Keep one of them."


async def test_font_weights_are_added_replaced_and_removed(ask: Ask) -> None:
    made = await _create(ask, w400=await _upload(ask), w700=await _upload(ask))
    faces = (
        ChangedFace(weight=400, storage_key=await _upload(ask, WOFF)),
        ChangedFace(weight=700, storage_key=None),
        ChangedFace(weight=900, storage_key=await _upload(ask)),
    )
    changed = await ask(fonts.Update(at=ACME, font_id=made.id, font_faces=faces))
    assert _weights(changed) == {400: ["woff"], 900: ["woff2"]}
    renamed = await ask(fonts.Update(at=ACME, font_id=made.id, font_family="Breit"))
    assert (renamed.font_family, renamed.font_faces) == ("Breit", changed.font_faces)
    without = (ChangedFace(weight=400, storage_key=None),)
    sentence = await check_refused(ask(fonts.Update(at=ACME, font_id=made.id, font_faces=without)), 412)
    assert sentence.startswith("“Breit” needs a file with weight 400")


async def test_fonts_are_listed_and_deleted(ask: Ask) -> None:
    made = [await _create(ask, family, w400=await _upload(ask)) for family in ("One", "Two", "Three")]
    first = await ask(fonts.List(at=ACME, limit=2))
    assert first.next is not None
    rest = await ask(fonts.List(at=ACME, limit=2, page=first.next.page))
    assert (*first.items, *rest.items) == tuple(made)
    delete = fonts.Delete(at=ACME, font_id=made[0].id)
    await ask(delete)
    await ask(delete)
    sentence = await check_refused(ask(fonts.Get(at=ACME, font_id=made[0].id)), 404)
    assert sentence == f"There is no font “{made[0].id}” here, or you do not have access."
    await check_refused(ask(fonts.Update(at=ACME, font_id=made[0].id, font_family="Gone")), 404)
    elsewhere = fonts.List.model_validate({"at": {"organization_id": "nowhere"}})
    await check_refused(ask(elsewhere), 404)


async def test_only_creators_change_fonts(ask: Ask) -> None:
    made = await _create(ask, w400=await _upload(ask))
    face = NewFace(weight=400, storage_key="k")
    file = FileToSend(name="a.woff", type="font/woff", size=9)
    for op in (
        fonts.Create(at=ACME, font_family="Mine", font_faces=(face,)),
        fonts.Update(at=ACME, font_id=made.id, font_family="Mine"),
        fonts.Delete(at=ACME, font_id=made.id),
        storage.Upload(at=ACME, file=file, kind="customization_font"),
    ):
        assert "need the Creator role" in await check_refused(ask(op, "tom"), 403)
        if not isinstance(op, fonts.Delete):
            await check_refused(ask(op, "eve"), 404)


async def test_font_without_its_upload_is_refused(ask: Ask, clock: Clock) -> None:
    assert "The upload “k/../../acme”" in await check_refused(_create(ask, w400="k/../../acme"), 404)
    announced = await _announce(ask)
    assert "has no file yet" in await check_refused(_create(ask, w400=announced.key), 412)
    other = await _announce(ask, kind="import_file")
    assert "has the kind import_file" in await check_refused(_create(ask, w400=other.key), 412)
    sent = await _upload(ask)
    clock.forward(seconds=UPLOAD_LIFETIME.total_seconds())
    assert "expired" in await check_refused(_create(ask, w400=sent), 404)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"fontFaces": [{"weight": 400, "storageKey": "k"}]}, "fontFamily is required."),
        ({"fontFamily": "", "fontFaces": [{"weight": 400, "storageKey": "k"}]}, "fontFamily must have at least 1"),
        ({"fontFamily": "x" * 51, "fontFaces": [{"weight": 400, "storageKey": "k"}]}, "fontFamily may have at most 50"),
        ({"fontFamily": "x", "fontFaces": []}, "fontFaces must have at least 1 item."),
        (
            {"fontFamily": "x", "fontFaces": [{"weight": 0, "storageKey": "k"}]},
            "fontFaces[0].weight must be at least 1",
        ),
        ({"fontFamily": "x", "fontFaces": [{"weight": 1001, "storageKey": "k"}]}, "fontFaces[0].weight may be at most"),
        ({"fontFamily": "x", "fontFaces": [{"weight": 400, "storageKey": ""}]}, "fontFaces[0].storageKey must have"),
        ({"fontFamily": "x", "fontFaces": [{"weight": 400, "storageKey": "k" * 513}]}, "fontFaces[0].storageKey may"),
    ],
)
async def test_values_beyond_the_limits_of_a_font_are_refused(ask: Ask, body: dict[str, Any], sentence: str) -> None:
    answer = await ask.http("PUT", "/v1/orgs/acme/fonts", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)


def test_font_without_a_regular_face_is_refused_by_the_client() -> None:
    with pytest.raises(ValidationError, match="fontFaces must have a file with weight 400"):
        fonts.Create(at=ACME, font_family="Fett", font_faces=(NewFace(weight=700, storage_key="k"),))
