"""Sends one API request, with all attempts, waits and redirects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit, urlunsplit

from octavo.api.activity import Activity
from octavo.api.errors import ApiError, BadResponse, TimedOut, Trace, rejected
from octavo.api.safety import safe_line
from octavo.client import policy, responses
from octavo.client.carrier import Answer, Carrier, Outgoing
from octavo.client.origin import host_of, triple

NO_CONTENT_STATUSES = frozenset({204, 205})
"""Statuses without a body. After a delete, both mean that the object is deleted."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
HOPS = 3
_REQUEST_IDS = ("x-request-id", "request-id", "x-correlation-id", "cf-ray")


@dataclass(frozen=True)
class ExchangeContext:
    """The origin, clock, random numbers and retry budget that exchanges use. Tests replace them."""

    origin: str
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    now: Callable[[], datetime]
    rng: Callable[[], float]
    budget: policy.Budget

    @property
    def host(self) -> str:
        return host_of(self.origin)


class _RetryNeeded(Exception):
    """Raised to send the request again after `delay` seconds."""

    def __init__(self, delay: float) -> None:
        self.delay = delay


class Exchange:
    """One request. It is sent until it succeeds or must not be retried."""

    def __init__(
        self,
        outgoing: Outgoing,
        route: str,
        deadline: float,
        context: ExchangeContext,
        *,
        cap: int,
        turn: responses.LargeTurn,
    ) -> None:
        """`cap` is the maximum size of the body in bytes. If it is 0, the body of a successful response is ignored.
        `turn` is given back before each attempt. The caller gives it back at the end."""
        self.outgoing = outgoing
        self.headers: Mapping[str, str] = {}
        """Headers of the last response."""
        self._route = route
        self._cap = cap
        self._turn = turn
        self._deadline = deadline
        self._context = context
        self._began = context.clock()
        self._attempt = 0
        self._status: int | None = None
        self._size = 0
        self._error = ""
        self._given_up = False

    async def run(self, carrier: Carrier) -> bytes | None:
        """Return the body, or None if the response has none. Raises ApiError."""
        limit = asyncio.timeout(self._deadline)
        try:
            async with limit:
                while True:
                    try:
                        return await self._attempt_once(carrier)
                    except _RetryNeeded as again:
                        await self._context.sleep(again.delay)
        except TimeoutError:
            if not limit.expired():
                raise
        raise TimedOut(policy.too_slow(self._context.host, self._deadline, self.outgoing.method))

    def failed(self, error: ApiError) -> ApiError:
        """Return `error` with the method, the route and the attempts of this request."""
        self._error = str(error)
        known = {"method": self.outgoing.method, "route": self._route, "request_id": self._request_id}
        status = {} if self._status is None else {"status": self._status}
        return error.with_trace(**known, **status, attempts=self._attempt, elapsed=self.elapsed)

    def record_cancel(self) -> None:
        """Record that the caller canceled the request."""
        self._error, self._given_up = "The API request was canceled.", True

    def activity(self) -> Activity:
        """Return the log entry of this request."""
        return Activity(
            moment=self._context.now(),
            method=self.outgoing.method,
            route=self._route,
            status=self._status,
            ms=self.elapsed * 1000,
            attempts=self._attempt,
            request_id=self._request_id,
            error=self._error,
            size=self._size,
            given_up=self._given_up,
        )

    @property
    def status(self) -> int | None:
        """Status of the last response. None if there was no response."""
        return self._status

    @property
    def elapsed(self) -> float:
        """Return the seconds since the first attempt."""
        return self._context.clock() - self._began

    @property
    def _request_id(self) -> str:
        return next((safe_line(self.headers[name])[:128] for name in _REQUEST_IDS if self.headers.get(name)), "")

    async def _attempt_once(self, carrier: Carrier) -> bytes | None:
        self._attempt += 1
        self._turn.give_back()
        self._status, self.headers = None, {}
        try:
            return await self._follow_redirects(carrier)
        except ApiError as error:
            if self._status is not None and self._status >= 400:
                raise
            decision = policy.decide_after_error(
                error,
                method=self.outgoing.method,
                attempt=self._attempt,
                elapsed=self.elapsed,
                deadline=self._deadline,
                rng=self._context.rng,
            )
            self._follow(decision)
            raise

    async def _follow_redirects(self, carrier: Carrier) -> bytes | None:
        outgoing = self.outgoing
        for _ in range(HOPS + 1):
            async with carrier.send(outgoing) as answer:
                self._status, self.headers = answer.status, answer.headers
                if answer.status in NO_CONTENT_STATUSES or (not self._cap and 200 <= answer.status < 300):
                    await responses.discard(answer)
                    return None
                if 200 <= answer.status < 300:
                    content = await responses.read_body(answer, self._cap, self._context.host, self._turn)
                    self._size = len(content)
                    return content
                if answer.status >= 400:
                    await self._raise_for_status(answer)
                target = self._redirect_target(answer, outgoing)
                await responses.discard(answer)
            outgoing = replace(outgoing, target=target)
        raise BadResponse(f"{self._context.host} sent too many redirects. Check the base URL.")

    async def _raise_for_status(self, answer: Answer) -> None:
        """Raise the error for an error status, or `_RetryNeeded` if the request must be retried."""
        now = self._context.now()
        message = await responses.error_message(answer, self._context.host)
        decision = policy.decide_after_status(
            answer.status,
            answer.headers,
            method=self.outgoing.method,
            attempt=self._attempt,
            elapsed=self.elapsed,
            deadline=self._deadline,
            now=now,
            rng=self._context.rng,
        )
        self._follow(decision)
        asked = policy.requested_wait(answer.headers, now)
        retry_at = None if asked is None else now + timedelta(seconds=min(asked, policy.MAX_RETRY_SECONDS))
        again = policy.retry_sentence(retry_at, now) if retry_at is not None else ""
        sentence = policy.refusal(self._context.host, answer.status, message, again, self.outgoing.method)
        raise rejected(sentence, Trace(status=answer.status, retry_at=retry_at))

    def _follow(self, decision: policy.Decision) -> None:
        if decision.retry and self._context.budget.take():
            raise _RetryNeeded(decision.delay)

    def _redirect_target(self, answer: Answer, outgoing: Outgoing) -> str:
        """Return the target of the redirect of a read in the same origin. Raises BadResponse for all other redirects,
        so that the token is not sent to another origin."""
        location = answer.headers.get("location", "")
        elsewhere = "an invalid URL"
        try:
            new = urljoin(self._context.origin + outgoing.target, location)
            scheme, host, port = triple(new)
            elsewhere = "" if (scheme, host, port) == triple(self._context.origin) else host
        except ValueError:
            new = ""
        parts = urlsplit(new)
        may = answer.status in REDIRECTS and outgoing.method in policy.READS and location and "@" not in parts.netloc
        if elsewhere or not may:
            raise BadResponse(policy.redirected(self._context.host, elsewhere, answer.status))
        return urlunsplit(("", "", parts.path or "/", parts.query, ""))
