"""The demo library: an invented organization with real work in it."""
