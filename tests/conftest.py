"""Lets Textual's pilot wait for the app in steps of 5 ms instead of 20: such waits were a third of a run of the suite."""

from __future__ import annotations

from textual import _wait

_wait.SLEEP_GRANULARITY = 0.005
_wait.SLEEP_IDLE = 0.001
