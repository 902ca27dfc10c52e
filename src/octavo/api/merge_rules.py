"""The merge rules of a space, and which of them a change request meets. Sends no requests.

The server decides whether a merge is allowed. In the app, a result of this module is only shown, and never prevents a
write. The embedded server refuses merges that the rules do not allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from octavo.api.change_requests import ChangeRequest
from octavo.api.organizations import Organization
from octavo.api.reviews import Review
from octavo.api.safety import safe_line
from octavo.api.spaces import Space

RuleState: TypeAlias = Literal["met", "unmet", "unchecked"]
"""State of a rule for a change request. Only the server can check a rule that is `unchecked`."""
_UNCHECKED = {"custom": "a custom rule", "require_agent_review": "a review by an agent"}
MERGE_RULES_WITH_USERS = frozenset({"allow_bypass", "require_specific_reviewers", "require_one_of_specific_reviewers"})
"""Names of the rules that have a list of users."""
MERGE_RULE_NAMES = MERGE_RULES_WITH_USERS | {
    *_UNCHECKED,
    "require_at_least_one_review",
    "require_at_least_one_approved_review",
    "require_all_reviews_approved",
    "require_up_to_date_change_request",
    "require_change_request_subject",
    "require_change_request_description",
    "require_author_to_merge",
}
"""Names of all rules."""


@dataclass(frozen=True)
class MergeRules:
    """The merge rules of a space. If not `is_known`, the rules are not loaded, or are written in an unknown form."""

    rules: tuple[Mapping[str, Any], ...] = ()
    source: Literal["space", "organization"] = "space"
    is_known: bool = True

    @property
    def users(self) -> tuple[str, ...]:
        """IDs of all users in the rules, without repetitions."""
        return tuple(dict.fromkeys(user for rule in self.rules for user in _users(rule)))


def inherits(space: Space) -> bool:
    """Return whether the merge rules of the organization apply to a space."""
    return _inherits(space.merge_rules)


def _inherits(space_rules: Any) -> bool:
    return _kind(space_rules) in ("", "inherit")


def rules_for(space: Space, organization: Organization | None) -> MergeRules:
    """Return the merge rules that apply to a space. `organization` is needed only if the space inherits its rules."""
    if organization is None and inherits(space):
        # Without the field, there are no rules: servers without merge rules omit it.
        return MergeRules(is_known=space.merge_rules is None)
    return parse_merge_rules(space.merge_rules, organization.merge_rules if organization is not None else None)


def parse_merge_rules(space_rules: Any, organization_rules: Any) -> MergeRules:
    """Return the merge rules that apply to a space, from the `mergeRules` of the space and of its organization."""
    return _rules(organization_rules, "organization") if _inherits(space_rules) else _rules(space_rules, "space")


def _rules(value: Any, source: Literal["space", "organization"]) -> MergeRules:
    if _kind(value) != "rules":
        return MergeRules((), source, is_known=_kind(value) in ("", "none"))
    rules = value.get("rules")
    if not isinstance(rules, list):
        return MergeRules((), source, is_known=False)
    return MergeRules(tuple(rule for rule in rules if isinstance(rule, dict)), source)


def _kind(value: Any) -> str:
    return str(value.get("type", "")) if isinstance(value, dict) else ""


def _users(rule: Mapping[str, Any]) -> tuple[str, ...]:
    users = rule.get("users")
    return tuple(user for user in users if isinstance(user, str)) if isinstance(users, list) else ()


@dataclass(frozen=True)
class MergeCandidate:
    """A change request with its current reviews, to be checked against the merge rules."""

    change_request: ChangeRequest
    reviews: Sequence[Review]
    me: str | None
    user_names: Mapping[str, str]

    def check(self, rule: Mapping[str, Any]) -> tuple[RuleState, str]:
        """Return the state of a rule for the change request. Also return a phrase that says what is missing or not
        checked. Empty if the rule is met."""
        request, users, unmet = self.change_request, _users(rule), ""
        approving = [review.reviewer.id for review in self.reviews if review.status == "approved"]
        match rule.get("rule"):
            case "require_at_least_one_review":
                unmet = "" if self.reviews else "a review is required"
            case "require_at_least_one_approved_review":
                unmet = "" if approving else "an approval is required"
            case "require_all_reviews_approved":
                others = [review.reviewer.name for review in self.reviews if review.status != "approved"]
                unmet = f"{_join_names(others)} requested changes" if others else ""
            case "require_specific_reviewers":
                missing = [user for user in users if user not in approving]
                unmet = f"an approval by {self._names_of(missing)} is required" if missing else ""
            case "require_one_of_specific_reviewers":
                if not set(users) & set(approving):
                    by = f" by {self._names_of(users, ' or ')}" if users else ""
                    unmet = f"an approval{by} is required"
            case "require_up_to_date_change_request":
                unmet = "main has changed: update this change request first" if request.outdated else ""
            case "require_change_request_subject":
                unmet = "" if request.subject.strip() else "a subject is required"
            case "require_change_request_description":
                unmet = "" if request.description_text.strip() else "a description is required"
            case "require_author_to_merge":
                author = request.created_by.id if request.created_by is not None else None
                if author is None or self.me is None:
                    return "unchecked", "only the author can merge: the server will check this rule"
                unmet = f"only the author can merge: {self._names_of([author])}" if author != self.me else ""
            case "allow_bypass":
                pass
            case kind:
                name = _UNCHECKED.get(str(kind), safe_line(str(kind)))
                return "unchecked", f"{name}: the server will check this rule"
        return "unmet" if unmet else "met", unmet

    def _names_of(self, users: Sequence[str], last_separator: str = " and ") -> str:
        return _join_names([self.user_names.get(user, safe_line(user)) for user in users], last_separator)


def bypasses(rules: MergeRules, me: str | None) -> bool:
    """Return whether the rules let the user `me` merge without meeting them."""
    return any(rule.get("rule") == "allow_bypass" and me in _users(rule) for rule in rules.rules)


def requires_up_to_date(rules: MergeRules, me: str | None) -> bool:
    """Return whether the change request must be updated from main before the user `me` can merge it."""
    is_required = any(rule.get("rule") == "require_up_to_date_change_request" for rule in rules.rules)
    return is_required and not bypasses(rules, me)


def _join_names(names: Sequence[str], last_separator: str = " and ") -> str:
    return last_separator.join([", ".join(names[:-1]) + "," * (len(names) > 2), names[-1]] if len(names) > 1 else names)
