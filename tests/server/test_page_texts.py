"""Expressions and conditions are evaluated for a caller, with the variables of the space and the page."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.api import content
from octavo.documents.site_rules import UNDEFINED, UNKNOWN
from octavo.server.page_texts import evaluate, evaluate_text
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor

KNOWN: dict[str, dict[str, Any]] = {
    "space": {"version": "v2", "count": 3, "open": True},
    "page": {"name": "a*b <c>", "list": ["a"]},
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("space.vars.version", "v2"),
        ("space.vars.count > 2 && space.vars.open", True),
        ('space.vars.version == "v1" || !space.vars.open', False),
        ("(space.vars.count <= 2) === false", True),
        ("space.vars.other", UNKNOWN),
        ("space.vars.other || true", True),
        ("true && space.vars.other", UNKNOWN),
        ("space.vars.other && false", False),
        ("!(space.vars.other == 1)", UNKNOWN),
        ("space.vars.other.inner || space.vars.count", 3),
        ("visitor.claims.unsigned.beta", UNDEFINED),
        ("visitor.claims.list.includes('a')", UNDEFINED),
        ("1 +", UNKNOWN),
        ("", UNKNOWN),
        ("(" * 900, UNKNOWN),
        ("!" * 190 + "true", UNKNOWN),
        ("1" * 5000, UNKNOWN),
    ],
)
def test_expression_is_evaluated_or_kept(expression: str, value: Any) -> None:
    assert evaluate(expression, KNOWN, keeps_claims=False) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('At <code class="expression">space.vars.version</code>.', "At v2."),
        ('<code class="expression">page.vars.name</code>', "a&#42;b &lt;c&gt;"),
        ('<code class="expression">space.vars.gone</code>', '<code class="expression">space.vars.gone</code>'),
        ('<code class="expression">page.vars.list</code>', '<code class="expression">page.vars.list</code>'),
        ("a\n\n{% if space.vars.open %}\nyes\n{% else %}\nno\n{% endif %}\n\nb", "a\n\nyes\n\nb"),
        ("{% if !space.vars.open %}\na\n{% elif space.vars.count == 3 %}\nb\n{% endif %}", "b"),
        ("{% if visitor.claims.x %}\nhidden\n{% endif %}", ""),
        ("{% if odd thing %}\nkept\n{% endif %}", "{% if odd thing %}\nkept\n{% endif %}"),
        ("{% if space.vars.open %}\nunclosed", "{% if space.vars.open %}\nunclosed"),
        ("```\n{% if space.vars.open %}\n```\n\n{% endif %}", "```\n{% if space.vars.open %}\n```\n\n{% endif %}"),
        ("Use `{% if visitor.a %}` and `{% endif %}`.", "Use `{% if visitor.a %}` and `{% endif %}`."),
        ("\\{% if visitor.a %} a \\{% endif %}", "\\{% if visitor.a %} a \\{% endif %}"),
        ("`` ` {% if visitor.a %} `` `{% endif %}`", "`` ` {% if visitor.a %} `` `{% endif %}`"),
        ("5` {% if visitor.a %}x{% endif %}", "5` "),
        ("```npm i``` first.\n\n{% if visitor.claims.x %}\nhidden\n{% endif %}", "```npm i``` first.\n\n"),
        ("{% if space.vars.open %}{% if visitor.a %}x{% else %}y{% endif %}{% endif %}", "y"),
    ],
)
def test_true_conditions_stay_and_others_are_removed(text: str, shown: str) -> None:
    assert evaluate_text(text, KNOWN, keeps_claims=False) == shown


def test_visitor_conditions_are_kept_with_keeps_claims() -> None:
    text = '{% if visitor.claims.x %}\n<code class="expression">space.vars.count</code>\n{% endif %}'
    assert evaluate_text(text, KNOWN, keeps_claims=True) == "{% if visitor.claims.x %}\n3\n{% endif %}"


async def test_page_is_evaluated_on_request(ask: Ask) -> None:
    said = "# Home\n\nAll.\n\n{% if visitor.claims.unsigned.beta %}\nFew.\n{% endif %}\n"
    editor = await SpaceEditor.open(ask, said)
    page_id = await editor.id("Home")
    asked: list[bool | Literal["deterministic-only"]] = [False, True, "deterministic-only"]
    texts = [(await ask(content.GetPage(at=editor.space, page_id=page_id, evaluated=each))).markdown for each in asked]
    assert ["Few." in (text or "") for text in texts] == [True, False, True]
    assert all("All." in (text or "") for text in texts)


@given(st.text(st.sampled_from("{%}ifels nd\n`truev.!|&()"), max_size=80))
def test_evaluation_of_any_text_terminates(text: str) -> None:
    evaluate_text(text, KNOWN, keeps_claims=False)
