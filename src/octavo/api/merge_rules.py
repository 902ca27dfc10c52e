"""The merge rules of a space, and which of them a change request meets. Sends no requests.

The server decides whether a merge is allowed. The app only shows the results of this module, which never prevent a
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
"""State of a rule for a change request. If it is `unchecked`, only the server can check the rule."""
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
    """The merge rules of a space. If `is_known` is False, they are not loaded or have an unknown form."""

    rules: tuple[Mapping[str, Any], ...] = ()
    source: Literal["space", "organization"] = "space"
    is_known: bool = True

    @property
    def users(self) -> tuple[str, ...]:
        """IDs of all users in the rules, each once."""
        return tuple(dict.fromkeys(user for rule in self.rules for user in _user_ids(rule)))


def inherits(space: Space) -> bool:
    """Return whether a space uses the merge rules of its organization."""
    return _inherits(space.merge_rules)


def _inherits(space_rules: Any) -> bool:
    return _kind(space_rules) in ("", "inherit")


def rules_for(space: Space, organization: Organization | None) -> MergeRules:
    """Return the merge rules that apply to a space. If the space inherits its rules and `organization` is None, the
    result has `is_known=False`. A server without merge rules is an exception: the result is known and empty."""
    if organization is None and inherits(space):
        # Servers without merge rules omit the field, so without the field there are no rules.
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


def _user_ids(rule: Mapping[str, Any]) -> tuple[str, ...]:
    user_ids = rule.get("users")
    return tuple(user for user in user_ids if isinstance(user, str)) if isinstance(user_ids, list) else ()


@dataclass(frozen=True)
class MergeCandidate:
    """A change request and its current reviews, which can be checked against the merge rules."""

    change_request: ChangeRequest
    reviews: Sequence[Review]
    me: str | None
    user_names: Mapping[str, str]

    def check(self, rule: Mapping[str, Any]) -> tuple[RuleState, str]:
        """Return the state of a rule, and a phrase about what is missing or not checked (empty for a met rule)."""
        request, user_ids, reason = self.change_request, _user_ids(rule), ""
        approver_ids = [review.reviewer.id for review in self.reviews if review.status == "approved"]
        match rule.get("rule"):
            case "require_at_least_one_review":
                reason = "" if self.reviews else "a review is required"
            case "require_at_least_one_approved_review":
                reason = "" if approver_ids else "an approval is required"
            case "require_all_reviews_approved":
                other_names = [review.reviewer.name for review in self.reviews if review.status != "approved"]
                reason = f"{_join_names(other_names)} requested changes" if other_names else ""
            case "require_specific_reviewers":
                missing_ids = [user for user in user_ids if user not in approver_ids]
                reason = f"an approval by {self._names_of(missing_ids)} is required" if missing_ids else ""
            case "require_one_of_specific_reviewers":
                if not set(user_ids) & set(approver_ids):
                    by_phrase = f" by {self._names_of(user_ids, ' or ')}" if user_ids else ""
                    reason = f"an approval{by_phrase} is required"
            case "require_up_to_date_change_request":
                reason = "main has changed: update this change request first" if request.outdated else ""
            case "require_change_request_subject":
                reason = "" if request.subject.strip() else "a subject is required"
            case "require_change_request_description":
                reason = "" if request.description_text.strip() else "a description is required"
            case "require_author_to_merge":
                author = request.created_by.id if request.created_by is not None else None
                if author is None or self.me is None:
                    return "unchecked", "only the author can merge: the server will check this rule"
                reason = f"only the author can merge: {self._names_of([author])}" if author != self.me else ""
            case "allow_bypass":
                pass
            case kind:
                name = _UNCHECKED.get(str(kind), safe_line(str(kind)))
                return "unchecked", f"{name}: the server will check this rule"
        return "unmet" if reason else "met", reason

    def _names_of(self, user_ids: Sequence[str], last_separator: str = " and ") -> str:
        return _join_names([self.user_names.get(user_id, safe_line(user_id)) for user_id in user_ids], last_separator)


def bypasses(rules: MergeRules, me: str | None) -> bool:
    """Return whether the user `me` may merge without meeting the rules."""
    return any(rule.get("rule") == "allow_bypass" and me in _user_ids(rule) for rule in rules.rules)


def requires_up_to_date(rules: MergeRules, me: str | None) -> bool:
    """Return whether the user `me` must update the change request from main before merging it."""
    is_required = any(rule.get("rule") == "require_up_to_date_change_request" for rule in rules.rules)
    return is_required and not bypasses(rules, me)


def _join_names(names: Sequence[str], last_separator: str = " and ") -> str:
    return last_separator.join([", ".join(names[:-1]) + "," * (len(names) > 2), names[-1]] if len(names) > 1 else names)
