"""All screens and widgets with commands, for the key map of the settings and for the help topic “keys”."""

from __future__ import annotations

from textual.dom import DOMNode

from octavo.tui.app.activity import ActivityScreen
from octavo.tui.app.quitting import UnsavedDrafts
from octavo.tui.app.sign_in import SignInScreen
from octavo.tui.comments.autocomplete import Autocomplete
from octavo.tui.comments.comments_screen import CommentsScreen
from octavo.tui.comments.composer import Composer
from octavo.tui.comments.thread_dialog import ThreadDialog
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.content.links import FilesScreen, LinksScreen
from octavo.tui.content.page_history import PageHistoryScreen
from octavo.tui.content.search import SearchScreen
from octavo.tui.content.space_panes import SpacesPane
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_dialogs import ImageScreen, TableRowDialog, TextDialog
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.three_way_view import ThreeWayView
from octavo.tui.resources.form import FormDialog
from octavo.tui.resources.resource_browser import BrowserScreen
from octavo.tui.resources.site_checks import ConditionTest
from octavo.tui.review.checked_dialog import CheckedDialog
from octavo.tui.review.conflict_choices import MergedPreviewScreen
from octavo.tui.review.conflicts import ConflictsScreen
from octavo.tui.review.merge_dialog import MergeSeveralDialog
from octavo.tui.review.page_blame import BlameScreen
from octavo.tui.review.request_commands import ReviewersScreen
from octavo.tui.review.request_list import RequestListScreen
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.review.review_submission import PendingCommentsScreen
from octavo.tui.review.suggestion_preview import SuggestionPreviewScreen
from octavo.tui.review.term_screen import TermScreen
from octavo.tui.review.update_from_main import IncomingChanges
from octavo.tui.widgets.command_palette import HelpScreen
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import RowList
from octavo.tui.widgets.tree import Tree

KEYMAP_CONTEXTS: tuple[type[DOMNode], ...] = (
    LineList,
    RowList,
    Tree,
    InboxScreen,
    ContentScreen,
    SpacesPane,
    PageView,
    TableRowDialog,
    FilesScreen,
    LinksScreen,
    PageHistoryScreen,
    BlameScreen,
    TextDialog,
    ThreadView,
    ThreadDialog,
    CommentsScreen,
    RequestListScreen,
    MergeSeveralDialog,
    UnsavedDrafts,
    ChangeRequestScreen,
    DiffView,
    TermScreen,
    ConflictsScreen,
    ThreeWayView,
    MergedPreviewScreen,
    SuggestionPreviewScreen,
    IncomingChanges,
    ImageScreen,
    ReviewersScreen,
    SearchScreen,
    BrowserScreen,
    Composer,
    Autocomplete,
    ConfirmDialog,
    CheckedDialog,
    FormDialog,
    ConditionTest,
    PendingCommentsScreen,
    ActivityScreen,
    HelpScreen,
    SignInScreen,
)
"""Classes that have commands, in the order of the help topic “keys”. The app itself is not included."""
