"""Threads: shown, written, and found where they hang."""
