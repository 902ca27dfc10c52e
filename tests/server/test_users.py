from __future__ import annotations

import pytest

from octavo.api import system, users
from tests.server.small_platform import Ask, Refusal


async def test_key_determines_the_caller(ask: Ask) -> None:
    me = await ask(users.Me(), "zoe")
    assert (me.id, me.display_name) == ("zoe", "Zoe Lund")


async def test_members_of_an_organization_see_each_other(ask: Ask) -> None:
    assert (await ask(users.Get(user_id="sam"), "gil")).email == "sam@acme.example"


async def test_users_without_a_common_organization_do_not_see_each_other(ask: Ask) -> None:
    with pytest.raises(Refusal) as refusal:
        await ask(users.Get(user_id="ada"), "eve")
    assert refusal.value.status == 404
    assert "user “ada”" in refusal.value.message


async def test_system_info_has_the_build(ask: Ask) -> None:
    assert (await ask(system.Get())).build.startswith("octavo-")
