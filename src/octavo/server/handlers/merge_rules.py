"""Checks merge rules, which are conditions that a space or organization sets for merging a change request.

Rules that need features the embedded platform lacks (agent reviews, expressions) count as met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from octavo.api.bodies import document_text
from octavo.server.handlers.members import present_user
from octavo.server.store import Json
from octavo.server.world import Refusal, World


def refuse_malformed(rules: Json, *, kinds: tuple[str, ...]) -> None:
    """Raise Refusal if merge rules do not have the documented form. `kinds` are the allowed types."""
    kind = rules.get("type")
    if kind not in kinds:
        raise Refusal(400, f"mergeRules.type must be one of {', '.join(kinds)}.")
    if kind != "rules":
        return
    if not isinstance(rules.get("rules"), list):
        raise Refusal(400, "mergeRules.rules must be a list.")
    for number, rule in enumerate(rules["rules"]):
        if not (isinstance(rule, dict) and isinstance(rule.get("rule"), str)):
            raise Refusal(400, f"mergeRules.rules[{number}] must be an object with a rule.")
        users = rule.get("users", [])
        if not (isinstance(users, list) and all(isinstance(user, str) for user in users)):
            raise Refusal(400, f"mergeRules.rules[{number}].users must be a list of user IDs.")


def refuse_unless_met(world: World, space: Json, change_request: Json, *, outdated: bool) -> None:
    """Raise Refusal for the first merge rule that a change request does not meet."""
    rules = _rules(world, space)
    if any(rule.get("rule") == "allow_bypass" and world.caller in rule.get("users", ()) for rule in rules):
        return
    attempt = _MergeAttempt(world, change_request, outdated)
    for rule in rules:
        for missing in attempt.missing(rule):
            raise Refusal(409, f"Merge rule {rule['rule']} is not met: {missing}")


def _rules(world: World, space: Json) -> list[Json]:
    rules = space.get("mergeRules") or {"type": "inherit"}
    if rules.get("type") == "inherit":
        rules = world.store.get(f"/orgs/{space['organization']}").get("mergeRules") or {}
    return rules.get("rules", []) if rules.get("type") == "rules" else []


@dataclass(frozen=True)
class _MergeAttempt:
    """Change request to be merged by the caller."""

    world: World
    change_request: Json
    outdated: bool

    def missing(self, rule: Json) -> Iterator[str]:
        """Yield the reasons why a rule is not met, with the next step. Yields nothing if the rule is met."""
        reviews, users = self._reviews(), rule.get("users", [])
        approving = [review["reviewer"] for review in reviews if review["status"] == "approved"]
        match rule.get("rule"):
            case "require_at_least_one_review" if not reviews:
                yield "the change request has no review. Request a review."
            case "require_at_least_one_approved_review" if not approving:
                yield "the change request has no approval. Request a review."
            case "require_all_reviews_approved" if len(approving) < len(reviews):
                rejecting = [review["reviewer"] for review in reviews if review["status"] != "approved"]
                yield f"{self._names(rejecting)} requested changes. Make the changes, then request a review again."
            case "require_specific_reviewers" if absent := [user for user in users if user not in approving]:
                yield f"{self._names(absent)} must approve the change request. Request their review."
            case "require_one_of_specific_reviewers" if not set(users) & set(approving):
                yield f"one of these reviewers must approve the change request: {self._names(users)}. Request a review."
            case "require_up_to_date_change_request" if self.outdated:
                yield "the change request is outdated. Update the change request from main first."
            case "require_change_request_subject" if not self.change_request["subject"].strip():
                yield "the change request has no subject. Add a subject."
            case "require_change_request_description" if not document_text(
                self.change_request.get("description")
            ).strip():
                yield "the change request has no description. Add a description."
            case "require_author_to_merge" if self.world.caller != self.change_request["createdBy"]:
                yield f"only the author, {self._names([self.change_request['createdBy']])}, can merge the change request."

    def _reviews(self) -> list[Json]:
        path = f"/spaces/{self.change_request['space']}/change-requests/{self.change_request['id']}/reviews"
        return [document for document in self.world.store.all(path) if not document["outdated"]]

    def _names(self, users: list[str]) -> str:
        return " and ".join(present_user(self.world, user)["displayName"] for user in users)
