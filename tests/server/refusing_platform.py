"""The embedded platform, which refuses requests when a test asks for it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from octavo.api.operation import Operation
from octavo.server import app
from octavo.server.rest import Refusal, RequestContext


class Platform(app.Platform):
    """The embedded platform. `refuse_next` lets it refuse requests."""

    def __init__(self, context: RequestContext) -> None:
        super().__init__(context)
        self._refusals: defaultdict[type[Operation[Any]], deque[Refusal]] = defaultdict(deque)

    def refuse_next(
        self,
        operation: type[Operation[Any]],
        status: int,
        message: str,
        *,
        times: int = 1,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse the next `times` requests for `operation` with this status and message."""
        self._refusals[operation].extend(Refusal(status, message, dict(headers or {})) for _ in range(times))

    async def run(self, op: Operation[Any], context: RequestContext) -> Any:
        if refusals := self._refusals[type(op)]:
            raise refusals.popleft()
        return await super().run(op, context)
