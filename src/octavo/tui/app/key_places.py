"""Every place with keys: what the user's key map may change, and what the README's tables are made of."""

from __future__ import annotations

from textual.dom import DOMNode

from octavo.tui.addressed import Addressed
from octavo.tui.arranging import Arranging
from octavo.tui.beside_thread import BesideThread
from octavo.tui.discussing import Discussing
from octavo.tui.page.diff_view import DiffView
from octavo.tui.page.three_way import ThreeWay
from octavo.tui.page.view import PageView
from octavo.tui.panes import TwoPanes
from octavo.tui.review.comparing import Comparing
from octavo.tui.review.comparing_with import ComparingWith
from octavo.tui.review.merging_several import MergeSeveralDialog
from octavo.tui.review.proposing import Proposing
from octavo.tui.review.requesting import Requesting
from octavo.tui.review.reviewing import Reviewing
from octavo.tui.review.undoing_merge import UndoingMerge
from octavo.tui.review.updating import Updating
from octavo.tui.screens.activity import ActivityScreen
from octavo.tui.screens.change_request import ChangeRequestScreen
from octavo.tui.screens.changes import ChangesScreen
from octavo.tui.screens.comments import CommentsScreen
from octavo.tui.screens.composer import Composer
from octavo.tui.screens.confirm import Confirm
from octavo.tui.screens.conflicts import ConflictsScreen
from octavo.tui.screens.content import ContentScreen
from octavo.tui.screens.files import FilesScreen
from octavo.tui.screens.held import HeldScreen
from octavo.tui.screens.home import HomeScreen
from octavo.tui.screens.links import LinksScreen
from octavo.tui.screens.note import NoteSheet
from octavo.tui.screens.outcome import OutcomeScreen
from octavo.tui.screens.page_history import PageHistoryScreen
from octavo.tui.screens.picture import PictureScreen
from octavo.tui.screens.record import RecordSheet
from octavo.tui.screens.reviewers import ReviewersScreen
from octavo.tui.screens.search import SearchScreen
from octavo.tui.screens.sign_in import SignInScreen
from octavo.tui.screens.thread import ThreadSheet
from octavo.tui.space_views import SpaceViews
from octavo.tui.travelling import Travelling
from octavo.tui.widgets.lines import Lines
from octavo.tui.widgets.navigation import Rowed
from octavo.tui.widgets.rows import Rows
from octavo.tui.widgets.thread import ThreadView
from octavo.tui.widgets.tree import Tree
from octavo.tui.writing.authoring import Authoring
from octavo.tui.writing.taking_back import TakingBack

PLACES: tuple[type[DOMNode], ...] = (
    Lines,
    Rows,
    Tree,
    Rowed,
    TwoPanes,
    Addressed,
    HomeScreen,
    ContentScreen,
    SpaceViews,
    Travelling,
    Authoring,
    Arranging,
    PageView,
    RecordSheet,
    Discussing,
    FilesScreen,
    LinksScreen,
    PageHistoryScreen,
    NoteSheet,
    ThreadView,
    ThreadSheet,
    BesideThread,
    CommentsScreen,
    ChangesScreen,
    Reviewing,
    Requesting,
    Updating,
    UndoingMerge,
    Proposing,
    MergeSeveralDialog,
    ChangeRequestScreen,
    Comparing,
    ComparingWith,
    TakingBack,
    DiffView,
    ConflictsScreen,
    ThreeWay,
    OutcomeScreen,
    PictureScreen,
    ReviewersScreen,
    SearchScreen,
    Composer,
    Confirm,
    HeldScreen,
    ActivityScreen,
    SignInScreen,
)
"""Beside the app itself, in the order a reader meets them."""
