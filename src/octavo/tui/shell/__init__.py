"""What a view may ask of the app, without knowing the app or any other screen."""
