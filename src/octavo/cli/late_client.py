"""A client that loads its modules and the API key with the first request, so that the first screen comes sooner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import SecretStr

from octavo.api.activity import READING_KEY, Activity
from octavo.api.errors import ApiError, LocalFailure, Unauthorized
from octavo.api.operation import SPECS, Operation
from octavo.api.users import User
from octavo.cli.event_log import LOG
from octavo.cli.platform_folders import PlatformFolder
from octavo.concurrency import run_in_thread
from octavo.lazy_import import load

if TYPE_CHECKING:
    from octavo.client.client import Client
    from octavo.server.app import Platform

T = TypeVar("T")


@dataclass(eq=False)
class LazyPlatform:
    """An embedded platform that is built in a thread when the first request arrives. An ASGI application."""

    build: Callable[[], Platform]
    folder: PlatformFolder
    on_close: Callable[[], None] = lambda: None
    """Function that `close` calls once, after the platform is closed."""
    _platform: Platform | None = None
    _build_task: asyncio.Future[Platform] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            platform = await self.platform()
        except OSError as error:
            raise LocalFailure(self.folder.why_not_opened(error)) from error
        await platform(scope, receive, send)

    async def platform(self) -> Platform:
        """Return the platform, which the first call builds. If the build fails, every call raises the error."""
        if self._build_task is None:
            self._build_task = asyncio.ensure_future(run_in_thread(self.build))
        self._platform = await asyncio.shield(self._build_task)
        return self._platform

    def close(self) -> None:
        """Close the platform and its database, if they were opened, and call `on_close`."""
        if self._platform is not None:
            self._platform.close()
            self._platform.context.store.close()
        self.on_close()
        self.on_close = lambda: None


class LazyClient:
    """A client that loads its modules and the API key when the first request is sent."""

    def __init__(
        self,
        origin: str,
        read_key: Callable[[Callable[[str], None]], SecretStr],
        *,
        ca_file: Path | None = None,
        platform: LazyPlatform | None = None,
        read_only_reason: str = "",
        record_user: Callable[[str], None] | None = None,
    ) -> None:
        """`read_key` and `record_user` run in a thread. `read_key` returns the API key. While the key is not there yet,
        `read_key` may call its argument with the reason. `record_user` gets the ID of the user.

        If `platform` is given, requests go to this embedded platform instead of the server. `read_only_reason` is the
        message for refused writes. Empty if writes are allowed.
        """
        self.read_only_reason = read_only_reason
        self._record_user = record_user
        self._origin, self._load_key, self._ca_file, self._platform = origin, read_key, ca_file, platform
        self._client: Client | None = None
        self._key_task: asyncio.Task[SecretStr] | None = None
        """Task that reads the API key. None before the first request."""
        self._reading_started_at = 0.0
        self._key_activity: Activity | None = None
        """Entry in `activity` about reading the API key, if this was slow or failed. None otherwise."""
        self._open = asyncio.Event()

    def open(self) -> None:
        """Start to send requests. Requests before this call wait for it."""
        self._open.set()

    async def __call__(self, op: Operation[T]) -> T:
        await self._open.wait()
        response = await (await self.client())(op)
        if self._record_user is not None:
            record_user, user = self._record_user, SPECS[type(op)].name == "users.Me" and response
            if isinstance(user, User):
                await run_in_thread(lambda: record_user(user.id))
        return response

    async def download(self, url: str, max_bytes: int) -> AsyncGenerator[bytes, None]:
        """Download a file from a URL that the server sent. Raises ApiError, also for more than `max_bytes`."""
        await self._open.wait()
        async with aclosing((await self.client()).download(url, max_bytes)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def upload(self, url: str, content: AsyncIterable[bytes], size: int, media_type: str) -> None:
        """Upload a file of `size` bytes and type `media_type` to a URL that the server sent. Raises ApiError."""
        await self._open.wait()
        await (await self.client()).upload(url, content, size, media_type)

    async def client(self) -> Client:
        """Return the client, which the first call creates. Raises Unauthorized if there is no API key, LocalFailure if
        the key cannot be read, and ValueError if the server must not get the key."""
        from octavo.client.client import Client  # lazy: loads httpx

        if self._client is None:
            if self._key_task is None or self._key_task.done():
                self._key_task = asyncio.create_task(self._read_key())
                # Otherwise, asyncio would report the error if all waiting requests are canceled.
                self._key_task.add_done_callback(lambda task: task.cancelled() or task.exception())
                self._reading_started_at = monotonic()
            try:
                key = await asyncio.shield(self._key_task)
            except ApiError as error:
                raise copy(error) from None  # Each request raises its own copy, with its own traceback.
            if self._client is None:  # Several requests wait for the key. The first to run again creates the client.
                self._client = Client(
                    self._origin,
                    key,
                    ca_file=self._ca_file,
                    transport=self._platform,
                    read_only_reason=self.read_only_reason,
                    on_activity=LOG.add_request,
                )
        return self._client

    async def _read_key(self) -> SecretStr:
        def report(sentence: str) -> None:
            ms = (monotonic() - self._reading_started_at) * 1000
            self._key_activity = Activity(
                datetime.now(UTC), READING_KEY, "the API key of this account", None, ms, 1, "", sentence, 0
            )

        try:
            return await run_in_thread(lambda: self._load_key(report))
        except load("octavo.client.credentials:StoreUnavailable") as error:  # lazy: needed only after a failure
            report(str(error))
            raise LocalFailure(str(error)) from error
        except Unauthorized as error:
            report(str(error))
            raise

    @property
    def activity(self) -> tuple[Activity, ...]:
        if self._client is not None:
            return tuple(self._client.activity)
        return () if self._key_activity is None else (self._key_activity,)

    @property
    def rate_limit_wait(self) -> float:
        return self._client.background_wait if self._client else 0.0

    @property
    def response_wait(self) -> float:
        if self._client is not None:
            return self._client.response_wait
        is_reading = self._key_task is not None and not self._key_task.done()
        return monotonic() - self._reading_started_at if is_reading else 0.0

    async def aclose(self) -> None:
        if self._key_task is not None:
            self._key_task.cancel()
        if self._client is not None:
            await self._client.aclose()
        if self._platform is not None:
            self._platform.close()
