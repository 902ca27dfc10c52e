"""The merge rules of a space, as far as they can be checked without the server. Pure.

The server decides whether a merge is allowed. A result of this module is only shown, and never prevents a write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from octavo.api.change_requests import ChangeRequest
from octavo.api.organizations import Organization
from octavo.api.reviews import Review
from octavo.api.safety import safe_line
from octavo.api.spaces import Space

_UNDECIDED = {
    "custom": "a custom rule: the server will check this rule",
    "require_agent_review": "a review by an agent: the server will check this rule",
}


@dataclass(frozen=True)
class MergeRules:
    """The merge rules of a space."""

    rules: tuple[Mapping[str, Any], ...] = ()
    source: Literal["space", "organization"] = "space"
    is_known: bool = True

    @property
    def users(self) -> tuple[str, ...]:
        """Ids of the users that the rules name, each once."""
        return tuple(dict.fromkeys(user for rule in self.rules for user in _users(rule)))


def inherits(space: Space) -> bool:
    """Return True if a space inherits the merge rules of its organization."""
    return _kind(space.merge_rules) in ("", "inherit")


def rules_for(space: Space, organization: Organization | None) -> MergeRules:
    """Return the merge rules of a space. `organization` is needed only if the space inherits its rules."""
    if not inherits(space):
        return _rules(space.merge_rules, "space")
    if organization is None:
        # A server without merge rules omits the field. Then there are certainly no rules.
        return MergeRules(is_known=space.merge_rules is None)
    return _rules(organization.merge_rules, "organization")


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
    """A change request to merge, with its current reviews."""

    change_request: ChangeRequest
    reviews: Sequence[Review]
    me: str | None
    names: Mapping[str, str]
    """Names of users by id."""

    def missing(self, rule: Mapping[str, Any]) -> str:
        """Return a phrase that says what a rule still requires. Empty if the rule is met, or if Octavo cannot check
        it."""
        users = _users(rule)
        approving = [review.reviewer.id for review in self.reviews if review.status == "approved"]
        match rule.get("rule"):
            case "require_at_least_one_review" if not self.reviews:
                return "a review is required"
            case "require_at_least_one_approved_review" if not approving:
                return "an approval is required"
            case "require_all_reviews_approved" if len(approving) < len(self.reviews):
                others = [review.reviewer.name for review in self.reviews if review.status != "approved"]
                return f"{_join_names(others)} requested changes"
            case "require_specific_reviewers" if missing_users := [user for user in users if user not in approving]:
                return f"an approval by {self._names_of(missing_users)} is required"
            case "require_one_of_specific_reviewers" if not set(users) & set(approving):
                return (
                    f"an approval by {self._names_of(users, ' or ')} is required"
                    if users
                    else "an approval is required"
                )
            case "require_up_to_date_change_request" if self.change_request.outdated:
                return "main has changed: update this change request first"
            case "require_change_request_subject" if not self.change_request.subject.strip():
                return "a subject is required"
            case "require_change_request_description" if not self.change_request.description_text.strip():
                return "a description is required"
            case "require_author_to_merge" if self._author is not None and self.me not in (None, self._author):
                return f"only the author can merge: {self._names_of([self._author])}"
        return ""

    def undecided_reason(self, rule: Mapping[str, Any]) -> str:
        """Return why Octavo cannot check a rule. Empty if Octavo can check it."""
        kind = str(rule.get("rule"))
        if kind == "require_author_to_merge" and (self._author is None or self.me is None):
            return "only the author can merge: the server will check this rule"
        if kind in _KNOWN:
            return ""
        return _UNDECIDED.get(kind, f"{safe_line(kind)}: the server will check this rule")

    @property
    def _author(self) -> str | None:
        return self.change_request.created_by.id if self.change_request.created_by else None

    def _names_of(self, users: Sequence[str], last: str = " and ") -> str:
        return _join_names([self.names.get(user, safe_line(user)) for user in users], last)


def bypasses(rules: MergeRules, me: str | None) -> bool:
    """Return whether a rule lets the user `me` bypass all rules."""
    return any(rule.get("rule") == "allow_bypass" and me in _users(rule) for rule in rules.rules)


def requires_up_to_date(rules: MergeRules, me: str | None) -> bool:
    """Return whether the rules forbid the user `me` to merge an outdated change request."""
    is_required = any(rule.get("rule") == "require_up_to_date_change_request" for rule in rules.rules)
    return is_required and not bypasses(rules, me)


_KNOWN = frozenset(
    {
        "require_at_least_one_review",
        "require_at_least_one_approved_review",
        "require_all_reviews_approved",
        "require_specific_reviewers",
        "require_one_of_specific_reviewers",
        "require_up_to_date_change_request",
        "require_change_request_subject",
        "require_change_request_description",
        "require_author_to_merge",
        "allow_bypass",
    }
)


def _join_names(names: Sequence[str], last: str = " and ") -> str:
    return last.join([", ".join(names[:-1]) + "," * (len(names) > 2), names[-1]] if len(names) > 1 else names)
