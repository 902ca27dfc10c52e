"""Measurements to be run by hand; pytest takes no part in them."""
