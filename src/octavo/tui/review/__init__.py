"""Change requests: what they change, what is decided on them, and what speaks against a merge."""
