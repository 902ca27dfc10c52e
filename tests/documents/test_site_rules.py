"""Conditions on visitor claims, and redirects."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.documents.site_rules import ConditionError, chain_ends, evaluate, follow_redirects

CLAIMS: dict[str, Any] = {
    "isBeta": True,
    "plan": "pro",
    "seats": 7,
    "products": ["api", "cli"],
    "none": None,
    "unsigned": {"likes-dark": True},
}


@pytest.mark.parametrize(
    ("condition", "is_so"),
    [
        ("visitor.claims.isBeta", True),
        ("!visitor.claims.isBeta", False),
        ("visitor.claims.missing", False),
        ('visitor.claims.plan == "pro" && visitor.claims.seats > 5', True),
        ("visitor.claims.plan === 'free' || visitor.claims.seats <= 6", False),
        ("visitor.claims.plan != 'free'", True),
        ("visitor.claims.seats == true", False),
        ("visitor.claims.seats > 'a'", False),
        ("visitor.claims.products.includes('api')", True),
        ("visitor.claims.products.includes('ap')", False),
        ("visitor.claims.products.length > 1", True),
        ('visitor.claims.unsigned["likes-dark"]', True),
        ("visitor.claims.products[5]", False),
        ("visitor.claims.missing == undefined", True),
        ("visitor.claims.missing == null && visitor.claims.none == undefined", True),
        ("visitor.claims.missing != null || visitor.claims.missing === null", False),
        ("(visitor.claims.isBeta || false) && !(1 > 2)", True),
        ("visitor.claims.missing && visitor.claims.missing.plan == 'pro'", False),
        ("!visitor.claims.missing || visitor.claims.missing.plans.includes('pro')", True),
        ("(visitor.claims.missing && visitor.claims.missing.plan) || visitor.claims.isBeta", True),
        ('visitor.claims["pl\\\\"] == 1', False),
    ],
)
def test_condition_is_evaluated_with_claims(condition: str, is_so: bool) -> None:
    assert evaluate(condition, CLAIMS) is is_so


@pytest.mark.parametrize(
    ("condition", "at", "words"),
    [
        ("", 1, "condition is empty"),
        ("visitor.claims.", 16, "name of a claim is missing"),
        ("visitor.claims.a.b", 18, "is not set"),
        ("visitor.claims.isBeta && visitor.claims.a.b", 43, "is not set"),
        ("plan == 'pro'", 1, "visitor.claims.plan"),
        ("visitor.claims.plan == ", 23, "missing at the end"),
        ("visitor.claims.plan 'pro'", 21, "operator such as && or == is missing"),
        ('visitor.claims.plan == "pro', 24, "quotation mark is missing"),
        ("(visitor.claims.isBeta", 23, "“)” is missing"),
        ("visitor.claims.isBeta & true", 23, "'&'"),
        ("!" * 200 + "true", 61, "nested levels"),
        ("true " * 400, 1025, "at most 1024"),
    ],
)
def test_invalid_condition_error_has_position(condition: str, at: int, words: str) -> None:
    with pytest.raises(ConditionError, match=r"^Character \d+: ") as fault:
        evaluate(condition, CLAIMS)
    assert fault.value.position == at
    assert words in fault.value.sentence


SITE = "https://docs.example/tides"


def test_redirect_leads_to_a_url() -> None:
    chain = follow_redirects("/old", {"/old": f"{SITE}/new"}, SITE)
    assert (chain.end, chain.description) == ("leads", f"/old → {SITE}/new")
    assert follow_redirects("/nothing", {}, SITE).steps == ("/nothing",)


def test_redirect_leads_through_another() -> None:
    chain = follow_redirects("/a", {"/a": f"{SITE}/b", "/b": "https://else.example/b"}, SITE)
    assert chain.end == "leads"
    assert chain.steps == ("/a", f"{SITE}/b", "https://else.example/b")


def test_redirects_to_each_other_are_a_loop() -> None:
    targets: dict[str, str | None] = {"/a": f"{SITE}/b/", "/b": f"{SITE}/a", "/c": f"{SITE}/a", "/self": f"{SITE}/self"}
    assert {source: follow_redirects(source, targets, SITE).end for source in targets} == dict.fromkeys(targets, "loop")
    assert follow_redirects("/self", targets, SITE).steps == ("/self", f"{SITE}/self")
    assert "a loop" in follow_redirects("/a", targets, SITE).description


def test_redirects_to_a_deleted_destination_are_dead_ends() -> None:
    targets = {"/gone": None, "/by": f"{SITE}/gone"}
    assert (
        follow_redirects("/gone", targets, SITE).description
        == "/gone → a page, section, or space that is no longer on the site"
    )
    assert follow_redirects("/by", targets, SITE).end == "dead end"


def test_same_path_on_another_site_is_not_followed() -> None:
    targets: dict[str, str | None] = {"/a": "https://docs.example/other/a", "/b": "https://else.example/tides/b"}
    assert {follow_redirects(source, targets, SITE).end for source in targets} == {"leads"}


def test_invalid_url_ends_the_chain() -> None:
    assert follow_redirects("/a", {"/a": "http://[bad"}, SITE).end == "leads"


def test_sources_that_differ_in_a_slash_at_the_end_are_one_source() -> None:
    targets = {"/b": "/d/", "/d/": "/c", "/c": "/d", "/d": "https://else.example/"}
    assert chain_ends(targets, SITE) == dict.fromkeys(targets, "leads")
    for order in (targets, dict(reversed(targets.items()))):
        assert {source: follow_redirects(source, order, SITE).end for source in order} == chain_ends(order, SITE)
    assert follow_redirects("/d", {"/d/": f"{SITE}/e"}, SITE).steps == ("/d", f"{SITE}/e")


def test_ends_of_all_redirects_equal_the_end_of_each() -> None:
    targets: dict[str, str | None] = {
        "/a": f"{SITE}/b/", "/b": f"{SITE}/a", "/c": f"{SITE}/a", "/gone": None, "/by": f"{SITE}/gone", "/on": SITE, "/self/": f"{SITE}/self",
    }  # fmt: skip
    assert chain_ends(targets, SITE) == {source: follow_redirects(source, targets, SITE).end for source in targets}
    chain: dict[str, str | None] = {f"/{number}": f"/{number + 1}" for number in range(5000)}
    assert set(chain_ends(chain, SITE).values()) == {"leads"}
    assert len(follow_redirects("/0", chain, SITE).steps) == 5001
