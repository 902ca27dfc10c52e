"""Comment threads: their views, actions, filters, and positions on pages."""
