"""Lists the screens and widgets with commands, to check the keys in the settings, and for the help topic “keys”."""

from __future__ import annotations

from textual.dom import DOMNode

from octavo.lazy_import import load

KEYMAP_CONTEXTS: tuple[type[DOMNode], ...] = tuple(
    map(
        load,
        (
            "octavo.tui.widgets.line_list:LineList",
            "octavo.tui.widgets.row_list:RowList",
            "octavo.tui.widgets.tree:Tree",
            "octavo.tui.inbox.inbox_screen:InboxScreen",
            "octavo.tui.content.content_screen:ContentScreen",
            "octavo.tui.content.space_panes:SpacesPane",
            "octavo.tui.reader.page_view:PageView",
            "octavo.tui.reader.page_dialogs:TableRowDialog",
            "octavo.tui.content.links:FilesScreen",
            "octavo.tui.content.links:LinksScreen",
            "octavo.tui.content.page_history:PageHistoryScreen",
            "octavo.tui.review.page_blame:BlameScreen",
            "octavo.tui.reader.page_dialogs:TextDialog",
            "octavo.tui.comments.thread_view:ThreadView",
            "octavo.tui.comments.thread_dialog:ThreadDialog",
            "octavo.tui.comments.comments_screen:CommentsScreen",
            "octavo.tui.review.request_list:RequestListScreen",
            "octavo.tui.review.merge_dialog:MergeSeveralDialog",
            "octavo.tui.app.quitting:UnsavedDrafts",
            "octavo.tui.review.request_view:ChangeRequestScreen",
            "octavo.tui.reader.diff_view:DiffView",
            "octavo.tui.review.term_screen:TermScreen",
            "octavo.tui.review.conflicts:ConflictsScreen",
            "octavo.tui.reader.three_way_view:ThreeWayView",
            "octavo.tui.review.conflict_choices:MergedPreviewScreen",
            "octavo.tui.review.suggestion_preview:SuggestionPreviewScreen",
            "octavo.tui.review.update_from_main:IncomingChangesScreen",
            "octavo.tui.reader.page_dialogs:ImageScreen",
            "octavo.tui.review.request_commands:ReviewersScreen",
            "octavo.tui.content.search:SearchScreen",
            "octavo.tui.resources.resource_browser:BrowserScreen",
            "octavo.tui.comments.composer:Composer",
            "octavo.tui.comments.autocomplete:Autocomplete",
            "octavo.tui.widgets.confirm:ConfirmDialog",
            "octavo.tui.review.checked_dialog:CheckedDialog",
            "octavo.tui.resources.form:FormDialog",
            "octavo.tui.resources.site_checks:ConditionTest",
            "octavo.tui.review.review_submission:PendingCommentsScreen",
            "octavo.tui.app.activity:ActivityScreen",
            "octavo.tui.widgets.command_palette:HelpScreen",
            "octavo.tui.app.sign_in:SignInScreen",
        ),
    )
)
"""Classes with commands, in the order of the help topic “keys”. The app is not included."""
