from __future__ import annotations

from typing import Any

import pytest

from octavo.documents.site_rules import ConditionError, evaluate

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
        ("(visitor.claims.isBeta || false) && !(1 > 2)", True),
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
