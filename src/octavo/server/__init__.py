"""The embedded platform: the same interface, on SQLite."""
