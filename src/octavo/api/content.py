"""Pages, files and revisions of a space or a change request."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, Field

from octavo.api.bodies import Format
from octavo.api.operation import (
    ChangeRequestRef,
    ContentRef,
    Listing,
    Model,
    Operation,
    RevisionRef,
    SpaceRef,
    Tagged,
    Urls,
)
from octavo.api.text import Id, KnownValues, Moment, Number, RawJson, RawText, SafeAddress, SafeJson, SafeLine, SafeText


class Git(Model):
    """Location of content in a Git repository, and its last commit."""

    oid: SafeLine = ""
    path: SafeAddress | None = None
    message: SafeLine | None = None
    created_by_platform: bool | None = Field(
        None,
        validation_alias=AliasChoices("createdByPlatform", "createdByGitBook"),
        serialization_alias="createdByPlatform",
    )
    url: SafeAddress | None = None
    ref: SafeLine | None = None


class Page(Model):
    """A page in a page tree. Groups have no text. Links have a target."""

    id: Id
    type: Annotated[SafeLine, KnownValues("document", "group", "link", "computed")] = "document"
    kind: SafeLine | None = None
    title: SafeLine = ""
    emoji: SafeLine | None = None
    icon: SafeLine | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    description: SafeText | None = None
    slug: SafeLine | None = None
    path: SafeAddress | None = None
    link_title: SafeLine | None = None
    """A short title for navigation. Newer servers only."""
    pages: "tuple[Page, ...]" = ()
    document_id: SafeLine | None = None
    markdown: SafeText | None = None
    document: SafeJson | None = None
    target: SafeJson | None = None
    href: SafeAddress | None = None
    hidden: bool = False
    no_index: bool = False
    no_robots_index: bool = False
    layout: SafeJson | None = None
    cover: SafeJson | None = None
    variables: SafeJson | None = None
    computed: SafeJson | None = None
    git: Git | None = None
    urls: Urls = Field(default_factory=Urls)

    def walk(self) -> "Iterator[Page]":
        """Yield this page and all pages below it, in the order of the page tree."""
        yield self
        for page in self.pages:
            yield from page.walk()


class PageTree(Model):
    """The pages at the root of a page tree."""

    pages: tuple[Page, ...]

    def walk(self) -> Iterator[Page]:
        """Yield all pages, in the order of the page tree."""
        for page in self.pages:
            yield from page.walk()

    def find(self, page_id: str) -> Page | None:
        """Return the page with an ID. None if there is no such page."""
        return next((page for page in self.walk() if page.id == page_id), None)

    def find_by_name(self, name: str) -> Page | None:
        """Return the page whose ID or path is `name`. None if there is no such page."""
        return next((page for page in self.walk() if name.strip("/") in (page.id, page.path)), None)

    def path_to(self, page_id: str) -> tuple[Page, ...]:
        """Return the pages from the root to a page, with the page itself. Empty if there is no such page."""

        def path_below(pages: tuple[Page, ...]) -> tuple[Page, ...]:
            for page in pages:
                if page.id == page_id:
                    return (page,)
                if path := path_below(page.pages):
                    return (page, *path)
            return ()

        return path_below(self.pages)

    def parent_of(self, page_id: str) -> Page | None:
        """Return the page that contains the page `page_id`. None at the root, or if there is no such page."""
        trail = self.path_to(page_id)
        return trail[-2] if len(trail) > 1 else None

    def parent_id(self, page_id: str) -> str | None:
        """Return the ID of the page that contains the page `page_id`. None at the root, or if there is no such page."""
        parent = self.parent_of(page_id)
        return parent.id if parent is not None else None

    def siblings(self, page_id: str) -> tuple[Page, ...]:
        """Return the pages with the same parent as the page `page_id`, in order. The page itself is included."""
        parent = self.parent_of(page_id)
        return parent.pages if parent else self.pages


class Dimensions(Model):
    """The size of an image in pixels."""

    width: float
    height: float


class File(Model):
    """A file of a space. `size` is in bytes."""

    id: Id
    name: SafeLine = ""
    content_type: SafeLine = ""
    download_url: SafeAddress | None = Field(None, alias="downloadURL")
    size: Number = 0
    dimensions: Dimensions | None = None
    git: Git | None = None


class ReusableContent(Model):
    """Content that several pages include."""

    id: Id
    title: SafeLine = ""
    document: SafeLine | None = None
    git: Git | None = None


class Revision(PageTree):
    """The content of a space or change request at one moment. A revision never changes."""

    object: Literal["revision"] = "revision"
    id: Id
    type: Annotated[SafeLine, KnownValues("edits", "merge", "rollback", "update", "computed")] = ""
    parents: tuple[Id, ...] = ()
    files: tuple[File, ...] = ()
    reusable_contents: tuple[ReusableContent, ...] = ()
    variables: SafeJson | None = None
    created_at: Moment | None = None
    git: Git | None = None
    merged_from: SafeJson | None = None
    urls: Urls = Field(default_factory=Urls)


class PageReference(Model):
    """ID, type, title and path of a page in a change, without its content."""

    id: Id
    type: SafeLine = "document"
    title: SafeLine = ""
    path: SafeAddress | None = None


class FileReference(Model):
    """ID, name, type and URL of a file in a change."""

    id: Id
    name: SafeLine = ""
    content_type: SafeLine = ""
    download_url: SafeAddress | None = Field(None, alias="downloadURL")


class ParentChange(Model):
    """The parent of a moved page before and after the move. None stands for the root."""

    before: PageReference | None = None
    after: PageReference | None = None


class Change(Model):
    """A difference between two revisions. The type determines the fields."""

    type: Annotated[
        SafeLine,
        KnownValues(
            "page_created",
            "page_edited",
            "page_deleted",
            "page_moved",
            "file_created",
            "file_edited",
            "file_deleted",
            "variables_edited",
            "reusable_content_created",
            "reusable_content_edited",
            "reusable_content_deleted",
        ),
    ] = ""
    page: PageReference | None = None
    file: FileReference | None = None
    reusable_content: SafeJson | None = None
    variables: SafeJson | None = None
    attributes: SafeJson | None = None
    parent: ParentChange | None = None


class Changes(Model):
    """The differences between two revisions. `more` is the number of changes beyond `limit`."""

    changes: tuple[Change, ...]
    merged_from: SafeJson | None = None
    more: Number = 0

    @property
    def missing_count(self) -> int:
        """Number of changes that the server did not list, or that could not be read."""
        return self.more + self.unreadable


class ReadsContent(BaseModel, defer_build=True):
    """An operation that reads the content of a space, change request or revision."""

    at: ContentRef
    metadata: bool = True
    """Whether Git metadata is included."""
    computed: bool = True
    """Whether placeholders of generated pages are replaced by these pages."""


class Formatted(ReadsContent):
    format: Format | None = None
    """Whether the body is Markdown or a JSON document."""
    evaluated: bool | Literal["deterministic-only"] = False
    """Whether expressions and conditions are evaluated for the caller. `deterministic-only` evaluates only those whose
    value does not change from call to call."""
    refs: Literal["relative", "stable"] | None = Field(None, alias="format.markdown.refs")
    """Whether links in Markdown are paths or IDs. Newer servers only; others ignore it."""
    dereferenced: bool | Literal["reusable-contents"] | None = None
    """Whether includes are expanded. Newer servers only; others ignore it."""


class Get(ReadsContent, Operation[Revision], get="{content}"):
    """Get the current revision of the content, with its page tree and files."""


class ListPages(ReadsContent, Operation[PageTree], get="{content}/pages"):
    """List the page tree, without the text of the pages."""


class GetPage(Formatted, Operation[Page], get="{content}/page/{page_id}"):
    """Get a page with its text."""

    page_id: Id


class GetPageByPath(Formatted, Operation[Page], get="{content}/path/{page_path}"):
    """Get the page or group at a path."""

    page_path: str


class RawPage(Model):
    """The unchanged Markdown of a page, for editing. `markdown` is None if the server sends no Markdown."""

    markdown: RawText | None = None


class GetRawPage(Operation[RawPage], get="{content}/page/{page_id}", repeats_request=True):
    """Get a page for editing. Same request as `GetPage`, but the text is not sanitized for display."""

    at: ContentRef
    page_id: Id
    format: Format = "markdown"


class ListFiles(ReadsContent, Listing[File], get="{content}/files"):
    """List the files of the content."""


class GetFile(ReadsContent, Operation[File], get="{content}/files/{file_id}"):
    """Get a file."""

    file_id: Id


class GetReusableContent(
    ReadsContent, Operation[ReusableContent], get="{content}/reusable-contents/{reusable_content_id}"
):
    """Get a piece of reusable content."""

    at: SpaceRef
    reusable_content_id: Id


class ListChanges(ReadsContent, Operation[Changes], get="/changes"):
    """List the changes since the previous revision, or since the start of a change request."""

    at: ChangeRequestRef | RevisionRef
    limit: int | None = Field(None, ge=0, le=1000)
    """The largest number of changes to list. The default is 10."""


class DocumentBody(Model):
    """The text of a page in an edit, as Markdown or as a JSON document."""

    markdown: str | None = None
    document: RawJson | None = None


class PageFields(Tagged):
    """The fields of a page that an edit can change."""

    title: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    slug: Annotated[str, Field(max_length=100)] | None = None
    emoji: Annotated[str, Field(max_length=50)] | None = None
    icon: Annotated[str, Field(max_length=50)] | None = None
    description: Annotated[str, Field(max_length=1000)] | None = None
    hidden: bool | None = None
    no_index: bool | None = None
    no_robots_index: bool | None = None
    into: Id | None = None
    """The parent page. null is the top level."""
    at: Annotated[int, Field(ge=0)] | None = None
    """The position among the subpages of the new parent, counted from 0."""


class UpdatePage(PageFields):
    """Change, rename or move a page. Omitted fields stay unchanged."""

    operation: Literal["update_page"] = "update_page"
    page: Id
    document: DocumentBody | None = None


class InsertPage(PageFields):
    """Make a page. A leading heading in the markdown gives its title."""

    operation: Literal["insert_page"] = "insert_page"
    document: DocumentBody
    ref: Annotated[str, Field(max_length=128)] | None = None
    """A name for the page within this edit. Other pages can link to it as `./<ref>.md`."""


class DeletePage(Tagged):
    """Delete a page and the pages below it."""

    operation: Literal["delete_page"] = "delete_page"
    page: Id


class RevertPage(Tagged):
    """Revert a page to a revision, by default to the main revision that the change request is based on."""

    operation: Literal["revert_page"] = "revert_page"
    page: Id
    revision: Id | None = None
    block: tuple[str, ...] | None = None
    """The blocks to revert. If not set, the whole page is reverted."""


class NewFile(Model):
    """A file to add, by URL or by content."""

    name: Annotated[str, Field(min_length=1, max_length=256)]
    content_type: str | None = None
    ref: Annotated[str, Field(max_length=128)] | None = None
    url: Annotated[str, Field(max_length=2048)] | None = None
    base64: str | None = None


class InsertFiles(Tagged):
    """Add files; pages refer to them as `./<ref>` or `/files/<id>`."""

    operation: Literal["insert_files"] = "insert_files"
    files: tuple[NewFile, ...] = Field(min_length=1, max_length=20)


ContentEdit = Annotated[
    UpdatePage | InsertPage | DeletePage | RevertPage | InsertFiles, Field(discriminator="operation")
]


class Edit(Operation[SafeJson], post="{content}", success=200, query=("compat",)):
    """Edit a change request with up to 50 changes, all or none, in one new revision.

    Servers without this operation respond with 404. With `compat=False`, the response is
    `{changeRequest, changes, insertedFiles}`."""

    at: ChangeRequestRef
    changes: tuple[ContentEdit, ...] = Field(min_length=1, max_length=50)
    compat: bool = True
