"""All screens and widgets with commands, for the key map of the settings and for the help topic “keys”."""

from __future__ import annotations

from textual.dom import DOMNode

from octavo.tui.app.activity import ActivityScreen
from octavo.tui.app.sign_in import SignInScreen
from octavo.tui.app.unsaved_drafts import UnsavedDrafts
from octavo.tui.comments.all_threads import CommentsScreen
from octavo.tui.comments.composer import Composer
from octavo.tui.comments.offers import Offers
from octavo.tui.comments.thread_sheet import ThreadSheet
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.content.content import ContentScreen
from octavo.tui.content.files import FilesScreen
from octavo.tui.content.links import LinksScreen
from octavo.tui.content.page_history import PageHistoryScreen
from octavo.tui.content.search import SearchScreen
from octavo.tui.content.spaces_pane import SpacesPane
from octavo.tui.inbox.inbox import InboxScreen
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.note import NoteSheet
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.picture import PictureScreen
from octavo.tui.reader.record import RecordSheet
from octavo.tui.reader.three_way_view import ThreeWay
from octavo.tui.resources.browser import BrowserScreen
from octavo.tui.resources.form import FormDialog
from octavo.tui.resources.trying_conditions import TryCondition
from octavo.tui.review.bulk_merge import MergeSeveralDialog
from octavo.tui.review.change_request import ChangeRequestScreen
from octavo.tui.review.change_requests import ChangesScreen
from octavo.tui.review.checked_dialog import CheckedDialog
from octavo.tui.review.conflicts import ConflictsScreen
from octavo.tui.review.held import HeldScreen
from octavo.tui.review.incoming_changes import IncomingChanges
from octavo.tui.review.merge_outcome import OutcomeScreen
from octavo.tui.review.reviewers import ReviewersScreen
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.help import HelpScreen
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
    RecordSheet,
    FilesScreen,
    LinksScreen,
    PageHistoryScreen,
    NoteSheet,
    ThreadView,
    ThreadSheet,
    CommentsScreen,
    ChangesScreen,
    MergeSeveralDialog,
    UnsavedDrafts,
    ChangeRequestScreen,
    DiffView,
    ConflictsScreen,
    ThreeWay,
    OutcomeScreen,
    IncomingChanges,
    PictureScreen,
    ReviewersScreen,
    SearchScreen,
    BrowserScreen,
    Composer,
    Offers,
    ConfirmDialog,
    CheckedDialog,
    FormDialog,
    TryCondition,
    HeldScreen,
    ActivityScreen,
    HelpScreen,
    SignInScreen,
)
"""Classes with commands besides the app, in the order of the help topic."""
