from __future__ import annotations

from textual.content import Content

from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.tree import FlatTree, Tree, TreeNode
from tests.tui.widgets.scratch import HOSTILE, Scratch, check_picture, harmless, lines, selected_key, shown

SPACE = (
    TreeNode(
        "start",
        "Getting started",
        (TreeNode("quick", "Quickstart"), TreeNode("auth", "Authentication", count=1)),
        "group",
    ),
    TreeNode(
        "guides",
        "Guides",
        (
            TreeNode("pay", "Accept a payment"),
            TreeNode(
                "hooks",
                "Webhooks",
                (
                    TreeNode("sign", "Signing"),
                    TreeNode("retry", "Retries", count=2),
                    TreeNode("local", "Local testing"),
                ),
                count=3,
            ),
            TreeNode("refunds", "Refunds", count=12),
        ),
        "group",
    ),
    TreeNode("api", "API reference", (TreeNode("get", "Get a payment"),), right="112"),
    TreeNode("go", "Launch", sign="🚀"),
    TreeNode("glossary", "Glossary", kind="link"),
    TreeNode("reusable", "Reusable content", kind="section"),
    TreeNode("note", "rate-limit-note"),
    TreeNode("hidden", "Hidden", kind="section"),
    TreeNode("old", "Retries (2023)", dim=True),
)


class TreeMessageRecorder(Scratch):
    def on_line_list_highlighted(self, message: LineList.Highlighted) -> None:
        self.keep(message)

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        self.keep(message)


async def test_tree_of_a_space_matches_the_picture() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        tree.go_to("retry")
        await pilot.pause()
        await check_picture("tree", app)


async def test_tree_of_many_nodes_draws_visible_nodes_only() -> None:
    rendered: list[int] = []

    class CountingTree(Tree):
        def draw_item(self, index: int, width: int) -> list[Content]:
            rendered.append(index)
            return super().draw_item(index, width)

    tree = CountingTree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(40, 20)) as pilot:
        tree.show([TreeNode(a, f"group {a}", [TreeNode((a, b), f"page {b}") for b in range(99)]) for a in range(1000)])
        await pilot.pause()
        assert set(rendered) <= set(range(20))
        rendered.clear()
        await pilot.press("G")
        assert "page 98" in shown(app)
        assert set(rendered) <= {0, *range(99_979, 100_000)}


async def test_keys_collapse_and_expand_nodes() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        tree.go_to("retry")
        await pilot.press("h")
        assert selected_key(tree) == "hooks"
        await pilot.press("left")
        assert "Retries  " not in shown(app)
        assert "▸ Webhooks" in shown(app)
        await pilot.press("l")
        assert "▾ Webhooks" in shown(app)
        await pilot.press("right")
        assert selected_key(tree) == "sign"
        await pilot.press("h", "h", "h", "-")
        assert "▸ Guides" in shown(app)
        assert "Webhooks" not in shown(app)
        await pilot.press("l", "j", "j")
        assert "▸ Webhooks" in shown(app), "nodes below a collapsed node must be collapsed too"
        await pilot.press("k", "k", "=")
        assert "Retries  " in shown(app)
        assert not any(tree.collapsed.collapsed_by_user.values())


async def test_collapsed_nodes_and_cursor_are_kept_after_a_reload() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        tree.go_to("hooks")
        await pilot.press("h", "j")
        assert selected_key(tree) == "refunds"
        tree.show([TreeNode("new", "A new page"), *SPACE])
        await pilot.pause()
        assert selected_key(tree) == "refunds"
        assert "▸ Webhooks" in shown(app)


async def test_tree_begins_collapsed_at_a_depth_and_expands_to_a_node() -> None:
    tree = Tree(collapse_depth=1)
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        await pilot.pause()
        assert "▾ Guides" in shown(app)
        assert "▸ Webhooks" in shown(app)
        assert tree.select_hidden("local")
        await pilot.pause()
        assert selected_key(tree) == "local"
        assert [node.key for node in tree.outline.path("local")] == ["guides", "hooks", "local"]
        assert not tree.select_hidden("nowhere")


async def test_enter_collapses_a_group_and_opens_a_page() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        await pilot.press("enter")
        assert "▸ Getting started" in shown(app)
        tree.go_to("hooks")
        await pilot.press("enter")
        await pilot.pause()
        assert [message.key for message in app.got_of(LineList.Opened)] == ["hooks"]


async def test_tree_scrolls_to_the_cursor() -> None:
    tree = Tree()
    app = Scratch(tree)
    async with app.run_test(size=(40, 4)) as pilot:
        tree.show(
            [
                *(TreeNode(f"s{number}", "Empty", kind="section") for number in range(4)),
                TreeNode("a", "A"),
                TreeNode("b", "B"),
            ]
        )
        tree.focus()
        await pilot.press("G", "g")
        assert tree.region.contains_region(tree.cursor_region)
        assert tree.key == "a"


async def test_cursor_skips_sections() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        tree.go_to("glossary")
        await pilot.press("j")
        assert selected_key(tree) == "note"
        await pilot.press("k")
        assert selected_key(tree) == "glossary"


async def test_heading_keys_go_to_the_first_item_of_a_section() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        tree.go_to("note")
        await pilot.press("right_curly_bracket")
        assert selected_key(tree) == "old"
        tree.show([*SPACE, TreeNode("older", "Retries (2022)"), TreeNode("oldest", "Retries (2021)")])
        tree.go_to("older")
        await pilot.press("right_curly_bracket")
        assert selected_key(tree) == "older", "there is no next section"
        await pilot.press("left_curly_bracket")
        assert selected_key(tree) == "old"
        await pilot.press("left_curly_bracket")
        assert selected_key(tree) == "note"


async def test_filter_keeps_ancestors_and_selects_the_first_match() -> None:
    tree = Tree(collapse_depth=1)
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(40, 24)) as pilot:
        tree.show(SPACE)
        await pilot.press("/", *"retri")
        await pilot.pause()
        await check_picture("tree-filter", app)
        assert selected_key(tree) == "retry"
        await pilot.press("enter", "escape")
        await pilot.pause()
        assert selected_key(tree) == "retry", "the match must stay selected, with its ancestors expanded"
        assert "▸ API reference" not in shown(app)
        await pilot.press("/", *"nothing like it")
        await pilot.pause()
        assert "0 of 16 match" in shown(app)
        tree.select_hidden("glossary")
        assert (selected_key(tree), tree.query_text) == ("glossary", ""), "the selected node must be visible"


async def test_slash_in_a_filter_does_not_match_sections() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(40, 24)):
        tree.show(SPACE)
        tree.set_filter("/")
        assert tree.counts.summary == "16 of 16 shown"
        assert "reusable" not in tree.keys


async def test_click_on_the_arrow_collapses_the_node() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 24)) as pilot:
        tree.show(SPACE)
        await pilot.pause()
        line = next(number for number, text in enumerate(lines(app)) if "▾ Webhooks" in text)
        await pilot.click(Tree, offset=(3, line))
        assert "▸ Webhooks" in shown(app)
        await pilot.click(Tree, offset=(8, line), times=2)
        await pilot.pause()
        assert [message.key for message in app.got_of(LineList.Opened)] == ["hooks"]


async def test_deeply_nested_tree_causes_no_recursion_error() -> None:
    node = TreeNode("leaf", "leaf")
    for depth in range(3000):
        node = TreeNode(depth, f"level {depth}", (node,))
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(32, 8)) as pilot:
        tree.show([node])
        assert tree.select_hidden("leaf")
        await pilot.press("h", "k", "=", "-")
        assert FlatTree([node]).path("leaf")[-1].key == "leaf"


async def test_hostile_titles_are_shown_as_text() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(90, 30)) as pilot:
        tree.show([TreeNode(text, text, kind=text, sign="[b]", right=text) for text in HOSTILE])
        await pilot.pause()
        assert shown(app).count("[@click=app.quit]x[/]") == 2
        assert harmless(lines(app))


async def test_typed_filter_is_visible_in_a_narrow_tree() -> None:
    tree = Tree()
    app = TreeMessageRecorder(tree)
    async with app.run_test(size=(27, 12)) as pilot:
        tree.show(SPACE)
        await pilot.press("/", *"retri")
        await pilot.pause()
        assert " / retri" in shown(app)
        assert "2 of 16 shown" in shown(app)
        await pilot.press(*"es 2023")
        await pilot.pause()
        assert " / retries 2023" in shown(app)
        assert "1 shown" in shown(app)
        await pilot.press(*" and more")
        await pilot.pause()
        assert " / retries 2023 and more" in shown(app)
