"""How a change request stands to what its space asks before it may be merged, in lines of a dialog. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from octavo.api.safety import line
from octavo.data.merge_rules import MergeCandidate, MergeRules, bypasses
from octavo.tui.widgets.text_widgets import Fact


def facts(rules: MergeRules, case: MergeCandidate) -> Iterator[Fact]:
    """How the rules stand: in a line, then one for each that is not met or cannot be told."""
    if not rules.is_known:
        yield Fact("care", "merge rules", "unknown: the server will check the rules when you merge")
        return
    asked = [rule for rule in rules.rules if rule.get("rule") != "allow_bypass"]
    if not asked:
        yield Fact("ok", "merge rules", "none set")
        return
    bypass = bypasses(rules, case.me)
    lacking = [(rule, said) for rule in asked if (said := case.missing(rule))]
    unsure = [(rule, said) for rule in asked if not case.missing(rule) and (said := case.undecided_reason(rule))]
    met = len(asked) - len(lacking) - len(unsure)
    said = f"{met} of {len(asked)} met (rules set for the {rules.of})"
    if bypass and (lacking or unsure):
        said += ", but you can bypass the rules"
    mark: Literal["ok", "care", "bad"] = "ok" if met == len(asked) else "bad" if lacking and not bypass else "care"
    yield Fact(mark, "merge rules", said)
    for rule, why in lacking:
        yield Fact("care" if bypass else "bad", "", _with_message(rule, why))
    for rule, why in unsure:
        yield Fact("care", "", _with_message(rule, why))


def _with_message(rule: Mapping[str, Any], why: str) -> str:
    message = rule.get("message")
    return f"{why} · {line(message)}" if isinstance(message, str) and message.strip() else why
