"""The models and operations of the API, and functions for text and errors that all packages use. Imports only pydantic
and the standard library. Start in operation.py."""
