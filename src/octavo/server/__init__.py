"""The embedded platform: a server for the documentation platform's REST API, which stores its data in SQLite."""
