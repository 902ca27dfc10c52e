"""Merge rules of a space, as rows of the merge dialog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from octavo.api.safety import line
from octavo.data.merge_rules import MergeCandidate, MergeRules, bypasses
from octavo.tui.widgets.fact_list import Fact


def facts(rules: MergeRules, candidate: MergeCandidate) -> Iterator[Fact]:
    """Yield a row with the number of rules that are met, then a row for each rule that is not met or undecided."""
    if not rules.is_known:
        yield Fact("care", "merge rules", "unknown: the server will check the rules when you merge")
        return
    required = [rule for rule in rules.rules if rule.get("rule") != "allow_bypass"]
    if not required:
        yield Fact("ok", "merge rules", "none set")
        return
    bypass = bypasses(rules, candidate.me)
    unmet = [(rule, reason) for rule in required if (reason := candidate.missing(rule))]
    undecided = [
        (rule, reason)
        for rule in required
        if not candidate.missing(rule) and (reason := candidate.undecided_reason(rule))
    ]
    met = len(required) - len(unmet) - len(undecided)
    summary = f"{met} of {len(required)} met (rules set for the {rules.of})"
    if bypass and (unmet or undecided):
        summary += ", but you can bypass the rules"
    mark: Literal["ok", "care", "bad"] = "ok" if met == len(required) else "bad" if unmet and not bypass else "care"
    yield Fact(mark, "merge rules", summary)
    for rule, reason in unmet:
        yield Fact("care" if bypass else "bad", "", _with_message(rule, reason))
    for rule, reason in undecided:
        yield Fact("care", "", _with_message(rule, reason))


def _with_message(rule: Mapping[str, Any], reason: str) -> str:
    message = rule.get("message")
    return f"{reason} · {line(message)}" if isinstance(message, str) and message.strip() else reason
