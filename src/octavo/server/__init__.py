"""The embedded platform: serves the REST API of the documentation platform, and stores its data in SQLite."""
