"""The terminal app. No other package of Octavo imports Textual."""
