"""The demo library: an invented organization with realistic content."""
