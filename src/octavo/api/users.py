"""Users, including the owner of the API key."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from octavo.api.operation import Model, Operation, Urls
from octavo.api.safety import safe_line
from octavo.api.text import Id, Moment, Number, SafeAddress, SafeLine


class User(Model):
    """A user or agent, as part of other resources."""

    id: Id
    display_name: SafeLine = ""
    email: SafeLine | None = None
    photo_url: SafeAddress | None = Field(None, alias="photoURL")
    urls: Urls = Field(default_factory=Urls)

    @property
    def name(self) -> str:
        """The display name, else the email address, else the ID."""
        return self.display_name or self.email or safe_line(self.id)


def _unknown_author(value: Any) -> Any:
    is_unknown = value is None or (isinstance(value, dict) and value.get("id") == "")
    return User.model_construct(id="", display_name="Unknown") if is_unknown else value


Author = Annotated[User, BeforeValidator(_unknown_author), Field(default=None, validate_default=True)]
"""The author of content. “Unknown” if the server sends none."""


class Contributor(Model):
    """A user who worked on a change request or replied to a comment."""

    user: User
    count: Number = 0
    """Number of edits, comments and replies."""
    action_type: SafeLine | None = None
    updated_at: Moment | None = None


class Me(Operation[User], get="/user"):
    """Get the user who owns the API key."""


class Get(Operation[User], get="/users/{user_id}"):
    """Get a user by ID."""

    user_id: Id
