"""The merge rules of a space, and which of them a change request meets. Does no I/O.

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
"""State of a rule. Only the server can check a rule that is `unchecked`."""
_UNCHECKED = {"custom": "a custom rule", "require_agent_review": "a review by an agent"}


@dataclass(frozen=True)
class MergeRules:
    """The merge rules of a space. If not `is_known`, they are not loaded or have an unknown form."""

    rules: tuple[Mapping[str, Any], ...] = ()
    source: Literal["space", "organization"] = "space"
    is_known: bool = True

    @property
    def users(self) -> tuple[str, ...]:
        """Ids of the users that the rules name, each once."""
        return tuple(dict.fromkeys(user for rule in self.rules for user in _users(rule)))


def inherits(space: Space) -> bool:
    """Return True if a space inherits the merge rules of its organization."""
    return _inherits(space.merge_rules)


def _inherits(of_space: Any) -> bool:
    return _kind(of_space) in ("", "inherit")


def rules_for(space: Space, organization: Organization | None) -> MergeRules:
    """Return the merge rules of a space. `organization` is needed only if the space inherits its rules."""
    if organization is None and inherits(space):
        # Without the field, there are no rules: servers without merge rules omit it.
        return MergeRules(is_known=space.merge_rules is None)
    return rules_in(space.merge_rules, organization.merge_rules if organization is not None else None)


def rules_in(of_space: Any, of_organization: Any) -> MergeRules:
    """Return the merge rules of a space from the `mergeRules` of space and organization."""
    return _rules(of_organization, "organization") if _inherits(of_space) else _rules(of_space, "space")


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
    user_names: Mapping[str, str]

    def check(self, rule: Mapping[str, Any]) -> tuple[RuleState, str]:
        """Return the state of a rule, and a phrase that says what is missing. Empty for a rule that is met."""
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
    """Return whether a rule lets the user `me` bypass all rules."""
    return any(rule.get("rule") == "allow_bypass" and me in _users(rule) for rule in rules.rules)


def requires_up_to_date(rules: MergeRules, me: str | None) -> bool:
    """Return whether the rules forbid the user `me` to merge an outdated change request."""
    is_required = any(rule.get("rule") == "require_up_to_date_change_request" for rule in rules.rules)
    return is_required and not bypasses(rules, me)


def _join_names(names: Sequence[str], last_separator: str = " and ") -> str:
    return last_separator.join([", ".join(names[:-1]) + "," * (len(names) > 2), names[-1]] if len(names) > 1 else names)
