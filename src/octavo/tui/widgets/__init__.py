"""General widgets: lists, trees, inputs, dialogs, the key bar and themes. They do not use the API."""
