"""Models and operations of the API, and functions for text and errors. Imports only pydantic. Start in operation.py."""
