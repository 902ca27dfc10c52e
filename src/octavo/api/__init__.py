"""The vocabulary: models and operations of the interface. pydantic and the standard library only."""
