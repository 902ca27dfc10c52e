"""Labels for codes of the API, such as `in-collection`, `PARSE_ERROR` and `create`, and for names of fields.

Users see the label, and requests contain the code. A code without a label is shown as it is, with spaces for
underscores.
"""

from __future__ import annotations

from types import MappingProxyType

_LANGUAGES = {
    "en": "English",
    "fr": "French",
    "de": "German",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "pt-br": "Portuguese (Brazil)",
    "ru": "Russian",
    "ja": "Japanese",
    "zh": "Chinese",
    "yue": "Cantonese",
    "ko": "Korean",
    "ar": "Arabic",
    "hi": "Hindi",
    "nl": "Dutch",
    "pl": "Polish",
    "tr": "Turkish",
    "sv": "Swedish",
    "no": "Norwegian",
    "da": "Danish",
    "fi": "Finnish",
    "el": "Greek",
    "cs": "Czech",
    "hu": "Hungarian",
    "ro": "Romanian",
    "th": "Thai",
    "vi": "Vietnamese",
    "id": "Indonesian",
    "ms": "Malay",
    "he": "Hebrew",
    "uk": "Ukrainian",
    "sk": "Slovak",
    "bg": "Bulgarian",
    "hr": "Croatian",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "et": "Estonian",
    "sl": "Slovenian",
}
LABELS = MappingProxyType(
    {
        # Roles in an organization, space or team, and the default access to a space
        "admin": "Admin",
        "create": "Creator",
        "edit": "Editor",
        "review": "Reviewer",
        "comment": "Commenter",
        "read": "Reader",
        "guest": "Guest",
        "inherit": "Inherit",
        "owner": "Owner",
        "member": "Member",
        # Who sees a space or a site
        "share-link": "share link",
        "visitor-auth": "visitor authentication",
        "in-collection": "in a collection",
        # How a space is edited
        "live": "live edits",
        "locked": "change requests only",
        # The plan of a site, and the trial of an organization
        "legacy-basic": "legacy basic",
        "legacy-premium": "legacy premium",
        "notapplicable": "not applicable",
        # Results of processing a specification
        "progress": "in progress",
        "FETCH_TIMEOUT": "fetch timed out",
        "FETCH_ERROR": "could not be fetched",
        "PARSE_ERROR": "could not be parsed",
        # Parts of a site
        "site-section": "section",
        "site-section-group": "section group",
        "site-space": "space on the site",
        "site-page": "page",
        "external": "external link",
        # Reviews, links and revisions
        "changes-requested": "changes requested",
        "in-app": "in the app",
        "dependsOn": "depends on",
        "edits": "edit",
        "reusable-content": "reusable content",
        # Where imported pages, files and repositories come from
        "docx": "Word (.docx)",
        "markdown": "Markdown",
        "html": "HTML",
        "zip": "ZIP archive",
        "confluence": "Confluence",
        "notion": "Notion",
        "google-docs": "Google Docs",
        "github-wiki": "GitHub wiki",
        "github": "GitHub",
        "gitlab": "GitLab",
        "github-legacy": "GitHub (legacy)",
        "woff": "WOFF",
        "woff2": "WOFF2",
        "openapi": "OpenAPI",
        "url": "link",
        **_LANGUAGES,
    }
)


_FIELDS = MappingProxyType(
    {
        "agents_context": "AI agent context",
        "basename": "path",
        "default_level": "default access",
        "font_family": "family",
        "hostname": "host name",
        "permission": "role",
        "redundant": "duplicate",
        "site_spaces": "spaces",
    }
)
"""Labels of model fields whose name gives no readable label."""
_SPELLINGS = MappingProxyType(
    {
        "acs": "ACS",
        "ai": "AI",
        "api": "API",
        "id": "ID",
        "json": "JSON",
        "mcp": "MCP",
        "openapi": "OpenAPI",
        "pdf": "PDF",
        "saml": "SAML",
        "sso": "SSO",
        "url": "URL",
    }
)
"""Spellings of words that have capital letters in a label."""


def field_label(name: str) -> str:
    """Return the label of a model field: `joined_at` gives “joined”, and `sso_url` gives “SSO URL”."""
    name = name.removesuffix("_at").removesuffix("_feature").removeprefix("is_").removeprefix("has_")
    return _FIELDS.get(name) or " ".join(_SPELLINGS.get(each, each) for each in name.split("_"))


def heading_label(title: str) -> str:
    """Return the title of a column for use inside a sentence: `LAST SEEN` gives “last seen”, `SSO` is unchanged."""
    return " ".join(_SPELLINGS.get(each, each) for each in title.lower().split(" "))


def label(code: str) -> str:
    """Return the label of a code of the API. By default, it is the code with spaces for underscores."""
    return LABELS.get(code) or code.replace("_", " ")
