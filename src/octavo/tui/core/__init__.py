"""Shared base of all views: the app as views see it (`Shell`), the class `View`, routes, and the state of the session."""
