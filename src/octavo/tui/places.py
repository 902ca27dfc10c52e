"""Every place with keys: what the user's key map may change, and what the README's tables are made of."""

from __future__ import annotations

from textual.dom import DOMNode

from octavo.tui.app import Octavo
from octavo.tui.discussing import Discussing
from octavo.tui.page.diff_view import DiffView
from octavo.tui.page.view import PageView
from octavo.tui.proposing import Proposing
from octavo.tui.screens.activity import ActivityScreen
from octavo.tui.screens.change_request import ChangeRequestScreen
from octavo.tui.screens.changes import ChangesScreen
from octavo.tui.screens.comments import CommentsScreen
from octavo.tui.screens.composer import Composer
from octavo.tui.screens.confirm import Confirm
from octavo.tui.screens.content import ContentScreen
from octavo.tui.screens.files import FilesScreen
from octavo.tui.screens.home import HomeScreen
from octavo.tui.screens.links import LinksScreen
from octavo.tui.screens.note import NoteSheet
from octavo.tui.screens.page_history import PageHistoryScreen
from octavo.tui.screens.picture import PictureScreen
from octavo.tui.screens.record import RecordSheet
from octavo.tui.screens.search import SearchScreen
from octavo.tui.screens.sign_in import SignInScreen
from octavo.tui.screens.thread import ThreadSheet
from octavo.tui.space_views import SpaceViews
from octavo.tui.widgets.lines import Lines
from octavo.tui.widgets.rows import Rows
from octavo.tui.widgets.thread import ThreadView
from octavo.tui.widgets.tree import Tree

PLACES: tuple[type[DOMNode], ...] = (
    Octavo,
    Lines,
    Rows,
    Tree,
    HomeScreen,
    ContentScreen,
    SpaceViews,
    PageView,
    RecordSheet,
    Discussing,
    FilesScreen,
    LinksScreen,
    PageHistoryScreen,
    NoteSheet,
    ThreadView,
    ThreadSheet,
    CommentsScreen,
    ChangesScreen,
    Proposing,
    ChangeRequestScreen,
    DiffView,
    PictureScreen,
    SearchScreen,
    Composer,
    Confirm,
    ActivityScreen,
    SignInScreen,
)
"""In the order a reader meets them."""
