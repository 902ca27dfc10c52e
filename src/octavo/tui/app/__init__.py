"""The app: one session on show, and the one table of where to go."""
