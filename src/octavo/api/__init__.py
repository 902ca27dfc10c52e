"""Models and operations of the API. Imports only pydantic and the standard library. Start in operation.py."""
