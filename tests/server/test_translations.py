from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from octavo.api import spaces, translations
from octavo.api.translations import Source, TranslationSettings
from tests.server.small_platform import ACME, Ask, Clock, check_refused, space_with


async def _create(ask: Ask, title: str = "Français") -> TranslationSettings:
    return await ask(translations.Create(at=ACME, title=title))


async def test_translations_are_created_read_changed_and_deleted(ask: Ask, clock: Clock) -> None:
    made = await _create(ask)
    assert (made.title, made.languages, made.permissions.edit) == ("Français", (), True)
    assert made.urls.location == f"http://octavo.test/v1/orgs/acme/translations/{made.id}"
    assert ask.last.json()["object"] == "translation-settings"
    clock.forward(hours=1)
    update = translations.Update(at=ACME, translation_settings_id=made.id, title="Deutsch")
    changed = await ask(update)
    assert changed.title == "Deutsch"
    assert (changed.created_at, changed.updated_at) == (made.created_at, clock.moment)
    assert await ask(translations.Get(at=ACME, translation_settings_id=made.id), "sam") == changed.model_copy(
        update={"permissions": translations.Permissions(view=True, edit=False)}
    )
    delete = translations.Delete(at=ACME, translation_settings_id=made.id)
    await ask(delete)
    await ask(delete)
    assert (await ask(translations.List(at=ACME))).items == ()
    sentence = await check_refused(ask(translations.Get(at=ACME, translation_settings_id=made.id)), 404)
    assert sentence == f"There is no translation “{made.id}” here, or you do not have access."
    await check_refused(ask(update), 404)


async def test_newer_shape_has_a_space_and_languages(ask: Ask) -> None:
    space = await space_with(ask)
    source = Source(space=space.id, language="en")
    made = await ask(translations.Create(at=ACME, source=source, language="pt-br"))
    assert (made.title, made.languages, made.language) == ("Handbook (pt-br)", ("pt-br",), "pt-br")
    assert made.source == {"space": space.id, "language": "en"}
    elsewhere = translations.Create(at=ACME, source=Source(space="nowhere", language="en"), language="fr")
    assert "source.space must be a space" in await check_refused(ask(elsewhere), 400)


async def test_instructions_must_be_a_json_document(ask: Ask) -> None:
    made = await _create(ask)
    sentence = "instructions must be a JSON object with object set to document."
    for method, url in (("POST", ""), ("PUT", f"/{made.id}")):
        body = {"title": "Deutsch", "instructions": {"object": "page"}}
        refused = await ask.http(method, f"/v1/orgs/acme/translations{url}", json=body)
        assert (refused.status_code, refused.json()["error"]["message"]) == (400, sentence)
        accepted = await ask.http(
            method, f"/v1/orgs/acme/translations{url}", json={**body, "instructions": {"object": "document"}}
        )
        assert accepted.json()["instructions"] == {"object": "document"}


async def test_title_of_the_space_is_used_only_if_visible(ask: Ask) -> None:
    space = await space_with(ask, "Merger with North")
    source = Source(space=space.id, language="en")
    await ask(translations.Create(at=ACME, source=source, language="fr"))
    await ask(spaces.Update(at=space.ref, default_level=None))

    titles = {user: (await ask(translations.List(at=ACME), user)).items[0].title for user in ("ada", "sam", "gil")}

    assert titles == {"ada": "Merger with North (fr)", "sam": "fr", "gil": "fr"}


async def test_list_of_translations_is_paged(ask: Ask) -> None:
    for title in ("One", "Two", "Three"):
        await _create(ask, title)
    first = await ask(translations.List(at=ACME, limit=2))
    assert first.next is not None
    rest = await ask(translations.List(at=ACME, limit=2, page=first.next.page))
    assert [each.title for each in (*first.items, *rest.items)] == ["One", "Two", "Three"]


async def test_only_creators_change_translations(ask: Ask) -> None:
    made = await ask(translations.Create(at=ACME, title="Ours"), "mia")
    for op in (
        translations.Create(at=ACME, title="Mine"),
        translations.Update(at=ACME, translation_settings_id=made.id, title="Mine"),
        translations.Delete(at=ACME, translation_settings_id=made.id),
    ):
        assert "need the Creator role" in await check_refused(ask(op, "tom"), 403)
    await check_refused(ask(translations.List(at=ACME), "eve"), 404)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "title is required, unless source and language are given."),
        ({"title": ""}, "title must have at least 1 character."),
        ({"title": "x" * 101}, "title may have at most 100 characters."),
        ({"source": {"space": "s", "language": "xx"}, "language": "fr"}, "source.language must be one of"),
    ],
)
async def test_undocumented_body_is_refused(ask: Ask, body: dict[str, Any], sentence: str) -> None:
    answer = await ask.http("POST", "/v1/orgs/acme/translations", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(sentence)


def test_empty_update_is_refused_by_the_client() -> None:
    with pytest.raises(ValidationError, match="title is required, unless instructions"):
        translations.Update(at=ACME, translation_settings_id="t")
