"""Single sign-on with SAML providers, and the links where members sign in."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from octavo.api.operation import InOrganization, Listing, Model, Operation, Urls
from octavo.api.organizations import Role, RoleName
from octavo.api.storage import FromFile
from octavo.api.teams import Team
from octavo.api.text import Id, KnownValues, Moment, SafeAddress, SafeLine, SafeText, WebAddress

NO_SSO_URL = "about:blank"
"""Sign-in URL that the API requires as long as there is no real URL."""
Label = Annotated[str, Field(min_length=1, max_length=30)]
EntityId = Annotated[str, Field(max_length=1024)]
Certificate = Annotated[str, Field(max_length=10000), FromFile("text")]


class ServiceProvider(Model):
    """The settings of the platform that an identity provider needs."""

    acs_url: SafeAddress = Field("", alias="acsURL")
    start_url: SafeAddress = Field("", alias="startURL")
    entity_id: SafeAddress = Field("", alias="entityID")


class SamlProvider(Model):
    """A SAML provider that members sign in with. Missing settings are empty while the status is `pending`."""

    object: Literal["saml-provider"] = "saml-provider"
    id: Id
    label: SafeLine = ""
    sso_url: Annotated[SafeAddress, AfterValidator(lambda address: "" if address == NO_SSO_URL else address)] = Field(
        "", alias="ssoURL"
    )
    entity_id: SafeAddress = Field("", alias="entityID")
    certificate: SafeText = ""
    default_team: Team | None = None
    """The team that new members join."""
    default_role: RoleName | None = None
    """The role of new members. None for a guest."""
    created_at: Moment | None = None
    status: Annotated[SafeLine, KnownValues("active", "pending")] = ""
    service: ServiceProvider = Field(default_factory=ServiceProvider)
    urls: Urls = Field(default_factory=Urls)


class Login(Model):
    """A way to sign in to an organization."""

    id: Id
    label: SafeLine = ""
    start_url: SafeAddress = Field("", alias="startURL")


class Logins(Model):
    """The ways to sign in to an organization."""

    items: tuple[Login, ...] = ()


class ListProviders(InOrganization, Listing[SamlProvider], get="/saml"):
    """List the SAML providers of an organization."""


class CreateProvider(InOrganization, Operation[SamlProvider], post="/saml", nullable=("default_role",)):
    """Add a SAML provider. It stays pending until its entity ID, certificate and URL are set."""

    label: Label
    """The name that members see when they sign in."""
    entity_id: EntityId | None = Field(None, alias="entityID")
    """The entity ID from the metadata of the provider."""
    certificate: Certificate | None = None
    """The X.509 certificate of the provider."""
    sso_url: WebAddress | None = Field(None, alias="ssoURL")
    """The sign-in URL from the metadata of the provider."""
    default_team: Id | None = None
    """The team that new members join."""
    default_role: Role | None = None
    """The role of new members."""


class GetProvider(InOrganization, Operation[SamlProvider], get="/saml/{saml_provider_id}"):
    """Get a SAML provider."""

    saml_provider_id: Id


class UpdateProvider(
    InOrganization, Operation[SamlProvider], patch="/saml/{saml_provider_id}", nullable=("default_role",)
):
    """Change a SAML provider. Omitted fields stay unchanged."""

    saml_provider_id: Id
    label: Label | None = None
    entity_id: EntityId | None = Field(None, alias="entityID")
    certificate: Certificate | None = None
    sso_url: WebAddress | None = Field(None, alias="ssoURL")
    default_team: Id | None = None
    default_role: Role | None = None


class DeleteProvider(InOrganization, Operation[None], delete="/saml/{saml_provider_id}"):
    """Delete a SAML provider. Members keep their accounts and sign in another way."""

    saml_provider_id: Id


class ListLogins(InOrganization, Operation[Logins], get="/sso"):
    """List the links where members of an organization sign in."""
