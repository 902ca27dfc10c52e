"""Error messages of failed requests. They say what failed, the cause and the next step."""

from __future__ import annotations

from datetime import datetime

from octavo.api.errors import MAY_BE_DONE
from octavo.client.policy import READS

_WITHOUT_A_WORD = {
    400: "{host} did not accept a value in the API request.",
    403: "You are not allowed to do this on {host}. Ask an admin for a role that allows it, or sign in with another API key.",
    404: "{host} could not find this, or you do not have access. Refresh the view.",
    409: "{host} refused the change, because the content has changed. Refresh, then try again.",
    412: "{host} refused the change, because the content has changed. Refresh, then try again.",
    413: "This is too large for {host}. Shorten the text, or send it in parts.",
    422: "{host} did not accept a value in the API request.",
}


def next_step_after(method: str) -> str:
    """Return the next step after a lost response. After a write, it is to check whether the change was made."""
    return "Try again." if method in READS else MAY_BE_DONE


def too_slow(host: str, seconds: float, method: str) -> str:
    return f"{host} did not respond within {seconds:g} s. {next_step_after(method)}"


def redirected(host: str, elsewhere: str, status: int) -> str:
    """Return the message for a refused redirect. `elsewhere` is the other host, or empty for the same host."""
    if elsewhere:
        return f"{host} redirects API requests to {elsewhere} ({status}). Octavo does not send your API key there. Check the base URL."
    return f"{host} redirects API requests ({status}). Octavo does not follow the redirect. Check the base URL."


def refusal(host: str, status: int, message: str, again: str = "", method: str = "GET") -> str:
    """Return the message for an error status. `message` is the message of the server, or empty. `again` says when to
    try again, or is empty."""
    said = _closed(message)
    if status == 401:
        cause = f" The server says: {said}" if said else ""
        return f"{host} did not accept your API key: it is wrong, expired, or revoked.{cause} Sign in again."
    if status == 429:
        return f"{host} received too many API requests. {again or 'Wait a moment, then try again.'}"
    if status >= 500:
        step = "Try again in a moment." if method in READS else MAY_BE_DONE
        return f"{host} reported an error ({status}){': ' + said if said else '.'} {step}"
    if said:
        return said
    known = _WITHOUT_A_WORD.get(status, "{host} refused the API request ({status}) and gave no reason.")
    return known.format(host=host, status=status)


def try_again(moment: datetime, now: datetime) -> str:
    """Return a phrase that says when to try again."""
    here, today = moment.astimezone(), now.astimezone().date()
    return f"Try again {'' if here.date() == today else 'tomorrow '}at {here:%H:%M:%S}."


def _closed(message: str) -> str:
    """Return `message` with a full stop."""
    return message if not message or message[-1] in ".!?…。" else f"{message}."
