"""Shared base of all views: the `Shell` protocol of the app, the `View` class, routes, and the state of the session."""
