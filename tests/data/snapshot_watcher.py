"""A watcher that records responses, as a screen would receive them."""

from __future__ import annotations

from typing import Any

from octavo.data.live import Snapshot


class SnapshotWatcher:
    """Records all snapshots in `seen`."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, snapshot: Snapshot[Any]) -> None:
        self.seen.append(snapshot)

    @property
    def now(self) -> Any:
        return self.seen[-1]

    @property
    def texts(self) -> list[str]:
        return [each.body.text for each in self.now.value.items]
