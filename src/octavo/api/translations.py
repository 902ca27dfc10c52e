"""Translations of spaces into other languages.

In the documented API, translation settings have a title and languages. On newer servers, each translation has a source
space and one target language. Both forms have the same URLs, and both are supported.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from octavo.api.operation import InOrganization, Listing, Model, Operation, Urls
from octavo.api.text import Id, KnownValues, Language, Moment, RawJson, SafeJson, SafeLine

Title = Annotated[str, Field(min_length=1, max_length=100)]


class Permissions(Model):
    """The caller's permissions for a translation."""

    view: bool = False
    edit: bool = False


class TranslationSettings(Model):
    """The languages that content is translated into. Fields of newer servers are None on older servers."""

    object: SafeLine = "translation-settings"
    id: Id
    title: SafeLine = ""
    languages: tuple[SafeLine, ...] = ()
    created_at: Moment | None = None
    updated_at: Moment | None = None
    permissions: Permissions = Field(default_factory=Permissions)
    urls: Urls = Field(default_factory=Urls)
    status: Annotated[SafeLine, KnownValues("pending", "running", "completed")] | None = None
    source: SafeJson | None = None
    language: SafeLine | None = None
    instructions: SafeJson | None = None
    result: SafeJson | None = None
    stats: SafeJson | None = None


class Source(Model):
    """The space that is translated, and the language in which the space is written."""

    space: Id = Field(title="Source space")
    language: Language = Field(title="Source language")
    """The language that the space is written in."""


class List(InOrganization, Listing[TranslationSettings], get="/translations"):
    """List the translations of an organization."""


class Create(InOrganization, Operation[TranslationSettings], post="/translations"):
    """Create a translation, with a title or (on newer servers) a source space and a language."""

    title: Title | None = None
    source: Source | None = None
    language: Language | None = Field(None, title="Target language")
    """The language to translate the space into."""
    instructions: RawJson | None = None
    """Instructions for the translator, as a JSON document."""

    @model_validator(mode="after")
    def _require_title_or_source(self) -> Self:
        if self.title is None and (self.source is None or self.language is None):
            raise ValueError("title is required, unless source and language are given")
        return self


class Get(InOrganization, Operation[TranslationSettings], get="/translations/{translation_settings_id}"):
    """Get a translation."""

    translation_settings_id: Id


class Update(InOrganization, Operation[TranslationSettings], put="/translations/{translation_settings_id}"):
    """Replace the settings of a translation: its title or (on newer servers) its instructions."""

    translation_settings_id: Id
    title: Title | None = None
    instructions: RawJson | None = None
    """Instructions for the translator, as a JSON document."""

    @model_validator(mode="after")
    def _require_changed_field(self) -> Self:
        if self.title is None and self.instructions is None:
            raise ValueError("title is required, unless instructions are given")
        return self


class Delete(InOrganization, Operation[None], delete="/translations/{translation_settings_id}"):
    """Delete a translation."""

    translation_settings_id: Id
