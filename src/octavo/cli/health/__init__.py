"""The checks of `octavo doctor`. Each returns `Check` values and changes nothing on the server."""
