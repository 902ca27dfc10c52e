"""The terminal, the external editor and the browser, without views of Octavo. Any terminal program could use this package."""
