"""What a view may ask of the app, and what all views are made of. It knows no screen."""
