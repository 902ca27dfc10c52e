"""The embedded platform: the REST API of the documentation platform, served from SQLite."""
