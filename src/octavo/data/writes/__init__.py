"""Writes: rows of what Octavo knows of each kind of write, the outbox, and writes the user waits for."""
