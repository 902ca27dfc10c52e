"""Widgets of no subject: lists, trees, forms, dialogs, keys and themes. They know nothing of the interface."""
