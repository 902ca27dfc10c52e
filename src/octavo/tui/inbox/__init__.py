"""The inbox: what needs the person, acted on in place."""
