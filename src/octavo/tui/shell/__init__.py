"""Base of all views: the `Shell` protocol that the app implements, `View`, routes, and the state that views share."""
