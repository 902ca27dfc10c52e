"""What a person reads when a request fails: the thing, the cause, the next step."""

from __future__ import annotations

from datetime import datetime

from octavo.client.policy import READS

_WITHOUT_A_WORD = {
    400: "{host} does not accept a value of the request.",
    403: "This key may not do that at {host}. Ask an administrator for the right, or sign in with another key.",
    404: "{host} has nothing there, or nothing this key may see. Refresh what is on screen.",
    409: "{host} refused: what is there has changed since. Refresh it and try again.",
    412: "{host} refused: what is there has changed since. Refresh it and try again.",
    413: "This is more than {host} takes at once. Make it shorter.",
    422: "{host} does not accept a value of the request.",
}


def next_step_after(method: str) -> str:
    """The next step after a lost answer. A write may have been done, so nobody should repeat it blindly."""
    return "Try again." if method in READS else "It may have been done all the same: look before you try again."


def too_slow(host: str, seconds: float, method: str) -> str:
    return f"{host} did not answer within {seconds:g} s. {next_step_after(method)}"


def redirected(host: str, elsewhere: str, status: int) -> str:
    """`elsewhere` is nothing when it is another place of the same host."""
    where = (
        f"to {elsewhere} ({status}), and the key stays here" if elsewhere else f"on ({status}), where we cannot follow"
    )
    return f"{host} answered by sending us {where}. Check the base URL."


def refusal(host: str, status: int, message: str, again: str = "") -> str:
    """`message` is what the server said, if anything; `again` when to come back, if it said so."""
    said = _closed(message)
    if status == 401:
        cause = f" It says: {said}" if said else ""
        return f"{host} does not accept the key: it is wrong, expired or revoked.{cause} Sign in again."
    if status == 429:
        return f"{host} was asked too often. {again or 'Wait a little, then try again.'}"
    if status >= 500:
        return f"{host} failed ({status}){': ' + said if said else '.'} Try again in a moment."
    if said:
        return said
    known = _WITHOUT_A_WORD.get(status, "{host} refused the request ({status}), and did not say why.")
    return known.format(host=host, status=status)


def try_again(moment: datetime, now: datetime) -> str:
    """When to come back."""
    here, today = moment.astimezone(), now.astimezone().date()
    return f"Try again {'' if here.date() == today else 'tomorrow '}at {here:%H:%M:%S}."


def _closed(message: str) -> str:
    """`message` with a full stop."""
    return message if not message or message[-1] in ".!?…。" else f"{message}."
