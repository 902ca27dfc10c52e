"""Writes a JSON document as Markdown in the syntax of the platform, with all texts and attributes that Octavo knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import chain, groupby, repeat
from typing import Any

from octavo.documents import emoji
from octavo.documents.anchors import anchor_of_title
from octavo.documents.blocks import Block, Run, TableColumn, plain_text
from octavo.documents.inline import escape_emoji_names
from octavo.documents.json_document import read_document
from octavo.documents.markdown_to_json import JSON_NAMES

_SYNTAX = re.compile(r"([\\`*_\[\]<>~$|{}]|&(?=#?\w+;))")
_BLOCK_START = re.compile(r"^(\s*)(#{1,6}(?=\s|$)|#{2,6}(?=[^#])|[-+](?=\s|$)|={3,}|-{3,}|:(?=-*(?:[\s|:]|$)))")
_FOOTNOTE_START = re.compile(r"^(\s*\[\^[^\]\s]*\])(?=:)")
_NUMBER_START = re.compile(r"^(\s*\d{1,9})([.)])(?=\s|$)")
_BAR = re.compile(r"(?<!\\)\|")
_SIGNS = {"bold": ("**", "strong"), "italic": ("_", "em"), "strike": ("~~", "del")}
_TAGS = {"kbd": "kbd", "sup": "sup", "sub": "sub", "underline": "u"}
_TABLE_ATTRIBUTES = {
    "full_width": 'data-full-width="true"',
    "header_hidden": "data-header-hidden",
    "header_sticky": "data-header-sticky",
    "search": "data-search",
    "titles_hidden": "data-column-title-hidden",
}
_CARD_ATTRIBUTES = {"target": "data-card-target", "cover": "data-card-cover", "cover-dark": "data-card-cover-dark"}
_LINE_FEED = "\x00"
"""Character for a line break in a tag value while a page is written. In lists and quotes, it becomes `&#10;`."""
_TIGHT_KINDS = frozenset({"list", "code", "quote"})
"""Kinds of blocks that need no blank line above them in an item of a tight list."""


def to_markdown(document: Any) -> str:
    """Return the Markdown for a JSON document."""
    return "\n\n".join(_blocks(read_document(document).blocks)).strip("\n").replace(_LINE_FEED, "\n")


def _blocks(blocks: Iterable[Block]) -> list[str]:
    parts: list[str] = []
    previous: Block | None = None
    adjacent_count = 0
    for block in blocks:
        is_next = previous is not None and previous.kind == block.kind == "list"
        is_alike = is_next and previous is not None and previous.attrs.get("ordered") == block.attrs.get("ordered")
        adjacent_count = adjacent_count + 1 if is_alike else 0
        text = _list(block, adjacent_count % 2) if block.kind == "list" else _block(block)
        if text.strip():
            parts.append(text)
            previous = block
    return parts


def _block(block: Block) -> str:
    if block.kind in ("paragraph", "heading"):
        return _text_block(block)
    if writer := _WRITERS.get(block.kind):
        return writer(block)
    return _children(block)


def _children(block: Block) -> str:
    return "\n\n".join(_blocks(block.children))


def _tagged(tag: str, block: Block, /, inside: str | None = None, *, closes: bool = True, **arguments: Any) -> str:
    """Return a block between platform tags. `inside` is the content, or None for the children of the block.
    `closes` is False if a block without content needs no closing tag."""
    head = "".join(f' {key}="{_value(value)}"' for key, value in arguments.items() if value is not None)
    content = _children(block) if inside is None else inside
    opening = f"{{% {tag}{head} %}}"
    return f"{opening}\n{content}\n{{% end{tag} %}}" if closes or content else opening


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else str(value)
    if isinstance(value, (tuple, list)):
        return ",".join(map(_value, value))
    text = str(value).replace("\\", "\\\\").replace("&", "&amp;").replace('"', "&quot;")
    text = text.replace("\n", _LINE_FEED)
    return text.replace("\u201c", "&ldquo;").replace("\u201d", "&rdquo;").replace("%}", "%&#125;")


def _arguments(attrs: Mapping[str, Any], *excluded: str) -> dict[str, Any]:
    return {JSON_NAMES.get(name, name): value for name, value in attrs.items() if name not in excluded and value != ""}


def _text_block(block: Block) -> str:
    attrs = block.attrs
    level = int(attrs.get("level", 0))
    heading_id = attrs.get("id")
    is_explicit = (
        bool(heading_id)
        and re.fullmatch(re.escape(anchor_of_title(plain_text(block.runs))) + r"(?:-\d{1,2})?", str(heading_id)) is None
    )
    if attrs.get("align") or attrs.get("dir"):
        attributes = {name: attrs.get(name) for name in ("align", "dir")} | {"id": heading_id if is_explicit else None}
        tag = f"h{level}" if level else "p"
        return f"<{tag}{_html_attributes(attributes)}>{_html(block.runs)}</{tag}>"
    if level:
        anchor = f' <a href="#{escape(str(heading_id))}" id="{escape(str(heading_id))}"></a>' if is_explicit else ""
        text = _inline(block.runs, "<br>")
        escaped_text = re.sub(r"#+$", r"\\\g<0>", text)  # An unescaped `#` at the end would disappear.
        return f"{'#' * level} {escaped_text}{anchor}"
    return _escape_line_starts(_inline(block.runs))


def _escape_line_starts(text: str) -> str:
    lines = (_NUMBER_START.sub(r"\1\\\2", _BLOCK_START.sub(r"\1\\\2", line)) for line in text.split("\n"))
    return "\n".join(_FOOTNOTE_START.sub(r"\1\\", line) for line in lines)


def _inline(runs: Sequence[Run], line_break: str = "\\\n") -> str:
    """Return runs as Markdown. `line_break` replaces line breaks. Formats without Markdown syntax become HTML tags."""
    markdown = ""
    runs = tuple(runs)
    for link, group in groupby(enumerate(runs), key=lambda each: _link_of(each[1])):
        linked_runs = list(group)
        group_text = ""
        for number, run in linked_runs:
            following = runs[number + 1] if number + 1 < len(runs) else Run("")
            # White space at the ends of a run stays outside its marks.
            is_plain_after = following.kind == "text" and (not following.marks or following.text[:1] == " ")
            is_link_end = number == linked_runs[-1][0] and link is not None
            group_text += _run_to_markdown(
                run,
                line_break,
                group_text or ("[" if link is not None else markdown),
                "]" if is_link_end else following.text[:1] if is_plain_after else "*",
            )
        if link is not None:  # After an unescaped exclamation mark, a link would be an image.
            markdown = re.sub(r"!$", r"\\!", markdown)
        markdown += group_text if link is None else f"[{group_text}](<{_escape_url(link)}>)"
    return markdown


def _escape(text: str) -> str:
    return escape_emoji_names(_SYNTAX.sub(r"\\\1", text))


def _link_of(run: Run) -> str | None:
    return run.link if run.kind not in ("button", "mention", "break", "footnote") else None


def _escape_url(link: str) -> str:
    return re.sub(r"[\\<>]", r"\\\g<0>", link.replace("\n", "%0A"))


def _run_to_markdown(run: Run, line_break: str, text_before: str, text_after: str) -> str:
    if run.kind == "text":
        return _with_marks(run, _escape(run.text).replace("\n", line_break), text_before, text_after)
    if run.kind == "code":
        code = f"<code>{_escape(run.text)}</code>" if text_before.endswith("`") else _code_span(run.text)
        return _with_marks(run, code, text_before, text_after, frozenset({"code"}))
    if run.kind == "break":
        return line_break
    if run.kind == "math":
        return _with_marks(run, f"$${run.text}$$", text_before, text_after)
    if run.kind == "mention":
        return _with_marks(
            run, f'[{_escape(run.text)}](<{_escape_url(run.link or "")}> "mention")', text_before, text_after
        )
    if run.kind == "footnote" and not run.attrs.get("inline"):
        return _with_marks(run, f"[^{run.attrs.get('label', '')}]", text_before, text_after)
    is_in_word = re.search(r"\w", text_before[-1:] + text_after[:1])
    if run.kind == "emoji" and emoji.from_name(code := str(run.attrs.get("code", ""))) == run.text and not is_in_word:
        return _with_marks(run, f":{code}:", text_before, text_after)
    if run.kind == "image" and set(run.attrs) <= {"src", "title"} and "\n" not in run.text:
        title = f' "{_value(run.attrs["title"])}"' if run.attrs.get("title") else ""
        return f"![{_escape(run.text)}](<{_escape_url(run.attrs.get('src', ''))}>{title})"
    return _with_marks(run, _html_run(run), text_before, text_after)


def _code_span(text: str) -> str:
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    has_tick_edge = text[:1] in ("`", " ") or text[-1:] in ("`", " ")
    return f"{ticks} {text} {ticks}" if has_tick_edge and text.strip() else f"{ticks}{text}{ticks}"


def _with_marks(
    run: Run, markdown: str, text_before: str, text_after: str, excluded: frozenset[str] = frozenset()
) -> str:
    """Return `markdown`, the text of a run, with the marks of the run around it, except `excluded`. White space at its
    ends stays outside. Signs such as `**` are used only if `text_before` and `text_after` allow it, else HTML."""
    marks = run.marks - excluded
    if not marks and not (run.kind in ("text", "code") and run.attrs):
        return markdown
    words = markdown.strip()
    if not words:
        return markdown
    head, tail = markdown[: len(markdown) - len(markdown.lstrip())], markdown[len(markdown.rstrip()) :]
    words_only = run.text.strip() if run.kind in ("text", "code") else "a"
    is_first = not (head or text_before[-1:]) or (head or text_before)[-1:] in " \n(["
    is_last = not (tail or text_after) or (tail or text_after)[:1] in " \n).,;:!?]"
    is_simple = is_first and is_last and not {words_only[:1], words_only[-1:]} & set("*_~\\")
    for mark in ("italic", "bold", "strike"):
        if mark in marks:
            sign, tag = _SIGNS[mark]
            words = f"{sign}{words}{sign}" if is_simple else f"<{tag}>{words}</{tag}>"
    return f"{head}{_html_marks(run, words, marks)}{tail}"


def _html_marks(run: Run, words: str, marks: frozenset[str]) -> str:
    for mark, tag in _TAGS.items():
        if mark in marks:
            words = f"<{tag}>{words}</{tag}>"
    has_colors = run.kind in ("text", "code", "footnote") and bool({"color", "background"} & run.attrs.keys())
    if "mark" in marks or has_colors:
        colors = {"color": run.attrs.get("color"), "background-color": run.attrs.get("background")}
        style = "".join(f"{name}:{value};" for name, value in colors.items() if value) if has_colors else ""
        words = f"<mark{_html_attributes({'style': style or None})}>{words}</mark>"
    return words


def _html(runs: Iterable[Run]) -> str:
    markdown = ""
    for link, group in groupby(runs, key=_link_of):
        inside = ""
        for run in group:
            html = "<br>" if run.kind == "break" else _html_run(run)
            for mark, (_, tag) in _SIGNS.items():
                if mark in run.marks:
                    html = f"<{tag}>{html}</{tag}>"
            inside += _html_marks(run, html, run.marks)
        markdown += inside if link is None else f'<a href="{escape(link)}">{inside}</a>'
    return markdown


def _html_run(run: Run) -> str:
    attrs, text = run.attrs, escape(run.text, quote=False)
    match run.kind:
        case "text":
            return text.replace("\n", "<br>")
        case "code":
            return f"<code>{text}</code>"
        case "math":
            return f'<span class="math">{text}</span>'
        case "icon":
            return f'<i class="fa-{escape(str(attrs.get("name", "")))}"></i>'
        case "emoji":
            code = escape(str(attrs.get("code", "")))
            if emoji.from_name(code) == run.text:  # The attribute takes code points, but no name.
                code = "-".join(f"{ord(character):x}" for character in run.text)
            return f'<span data-gb-custom-inline data-tag="emoji" data-code="{code}"></span>' if code else text
        case "expression":
            return f'<code class="expression">{text}</code>'
        case "mention":
            return f"<a data-mention{_html_attributes({'href': run.link})}>{text}</a>"
        case "image":
            return _picture(attrs, run.text)
        case "footnote" if attrs.get("inline"):
            return f'<a data-footnote-ref href="#user-content-fn-{escape(str(attrs.get("label", "")))}">{text}</a>'
        case "footnote":
            return f"<sup>{text}</sup>"
        case "button":
            attributes = {
                "href": run.link,
                "class": f"button {attrs.get('style', 'primary')}",
                "data-icon": attrs.get("icon"),
                "data-action": attrs.get("action"),
                "data-query": attrs.get("query"),
                "disabled": attrs.get("disabled") or None,
            }
            tag = "a" if run.link is not None else "button"
            return f"<{tag}{_html_attributes(attributes)}>{text}</{tag}>"
    return text


def _html_attributes(attributes: Mapping[str, Any]) -> str:
    pairs = ((name, value) for name, value in attributes.items() if value is not None and value is not False)
    return "".join(f" {name}" if value is True else f' {name}="{escape(str(value))}"' for name, value in pairs)


def _picture(attrs: Mapping[str, Any], alt: str) -> str:
    attributes = {"src": attrs.get("src", ""), "alt": alt} | {
        name: attrs.get(name) or None for name in ("width", "height", "title")
    }
    attributes |= {"data-size": attrs.get("size") or None, "class": "gitbook-drawing" if attrs.get("drawing") else None}
    image = f"<img{_html_attributes(attributes)}>"
    if not attrs.get("dark"):
        return image
    source = _html_attributes({"srcset": attrs["dark"], "media": "(prefers-color-scheme: dark)"})
    return f"<picture><source{source}>{image}</picture>"


def _list(block: Block, variant_number: int) -> str:
    """Return the Markdown of a list. `variant_number` (0 or 1) selects the bullet, to keep adjacent lists apart."""
    attrs, is_tight = block.attrs, block.attrs.get("tight", True)
    start = int(attrs.get("start", 1))
    items = []
    for number, item in enumerate(block.children, start):
        marker = f"{number}{'.)'[variant_number]} " if attrs.get("ordered") else f"{'-*'[variant_number]} "
        box = f"[{'x' if item.attrs.get('checked') else ' '}] " if item.kind == "task" else ""
        items.append(_item(item, marker, box, bool(is_tight)))
    return ("\n" if is_tight else "\n\n").join(items)


def _item(item: Block, marker: str, box: str, is_tight: bool) -> str:
    texts = _blocks(item.children)
    body = texts[0] if texts else ""
    for previous, block, text in zip(item.children, item.children[1:], texts[1:], strict=False):
        # Without a blank line, two quotes would be joined, and HTML would contain the text below.
        is_apart = previous.kind == block.kind == "quote" or previous.attrs.get("html")
        body += ("\n" if is_tight and block.kind in _TIGHT_KINDS and not is_apart else "\n\n") + text
    if item.children and item.children[0].kind != "paragraph" and box:
        body = f"\n\n{body}"
    if body and not box and not body.partition("\n")[0].strip("-* "):
        body = f"\n{body}"  # A line that has only bullets would be a divider.
    return _indent(body, f"{marker}{box}", " " * len(marker))


def _indent(text: str, first_prefix: str, further_prefix: str) -> str:
    lines = text.replace(_LINE_FEED, "&#10;").split("\n")
    prefixes = chain([first_prefix], repeat(further_prefix))
    return "\n".join(
        f"{prefix}{line}" if line else prefix.rstrip() for prefix, line in zip(prefixes, lines, strict=False)
    )


def _fence(text: str, language: str) -> str:
    sign = "~" if "`" in language else "`"
    fence = sign * max(3, 1 + max((len(run) for run in re.findall(f"{sign}+", text)), default=0))
    return "\n".join([f"{fence}{language}", *([text] if text else []), fence])


def _code(block: Block) -> str:
    attrs = block.attrs
    if attrs.get("source"):
        return block.text
    language = "".join(str(attrs.get("language") or "").split())
    if attrs.get("highlighted") or attrs.get("notes"):
        return _html_code(block, re.sub(r"[^\w+#.-]", "", language))
    fenced_code = _fence(block.text, language)
    arguments = _arguments(attrs, "language", "wrap", "highlighted", "notes")
    if "wrap" in attrs:
        arguments["overflow"] = "wrap" if attrs["wrap"] else "scroll"
    return _tagged("code", block, fenced_code, **arguments) if arguments else fenced_code


def _html_code(block: Block, language: str) -> str:
    attrs = block.attrs
    attributes: dict[str, Any] = {
        "class": f"language-{language}" if language else None,
        "data-title": attrs.get("title") or None,
    }
    attributes["data-overflow"] = ("wrap" if attrs["wrap"] else "scroll") if "wrap" in attrs else None
    for name, tag in (
        ("numbers", "data-line-numbers"),
        ("expandable", "data-expandable"),
        ("full_width", "data-full-width"),
    ):
        attributes[tag] = str(attrs[name]).lower() if name in attrs else None
    highlighted = set(attrs.get("highlighted", ()))
    lines = []
    for number, line in enumerate(block.text.split("\n")):
        html = escape(line, quote=False)
        for index, label in enumerate(label for line_number, label in attrs.get("notes", ()) if line_number == number):
            opening = f'<a data-footnote-ref href="#user-content-fn-{escape(label)}">'
            html = f"{opening}{html}</a>" if not index else f"{html}{opening}</a>"
        lines.append(f"<strong>{html}</strong>" if number in highlighted else html)
    code = f'<code class="lang-{language}">' if language else "<code>"
    text = "\n".join(lines)
    return f"<pre{_html_attributes(attributes)}>{code}{text}</code></pre>"


def _figure(block: Block) -> str:
    attrs = block.attrs
    attributes = {"align": attrs.get("align"), "data-with-frame": "true" if attrs.get("frame") else None}
    attributes["data-full-width"] = "true" if attrs.get("full_width") else None
    images = []
    for image in block.children:
        picture = _picture(image.attrs, str(image.attrs.get("alt", "")))
        if link := image.attrs.get("link"):
            picture = f'<a href="{escape(str(link))}">{picture}</a>'
        caption = f"<figcaption><p>{_html(image.runs)}</p></figcaption>" if image.runs else ""
        images.append(f"<figure>{picture}{caption}</figure>")
    written_attributes = _html_attributes(attributes)
    return (
        f"<div{written_attributes}>{' '.join(images)}</div>"
        if written_attributes or len(images) > 1
        else "".join(images)
    )


def _expandable(block: Block) -> str:
    opening = "<details open>" if block.attrs.get("open") else "<details>"
    return "\n\n".join(
        filter(None, (opening, f"<summary>{_html(block.runs)}</summary>", _children(block), "</details>"))
    )


def _tag_with_caption(tag: str, block: Block, /, *, closes: bool = False, **arguments: Any) -> str:
    inside = "\n\n".join(filter(None, (_escape_line_starts(_inline(block.runs)), _children(block))))
    return _tagged(tag, block, inside, closes=closes, **arguments)


def _embed(block: Block) -> str:
    if (tag := block.attrs.get("html")) and not block.runs:
        return f"<{tag}{_html_attributes({'src': block.attrs.get('url')})}></{tag}>"
    return _tag_with_caption("embed", block, **_arguments(block.attrs, "html"))


def _openapi(block: Block) -> str:
    attrs = block.attrs
    arguments = _arguments(attrs, "variant")
    variant = attrs.get("variant")
    if variant == "file" or (variant == "operation" and attrs.get("path") and not attrs.get("spec")):
        name = "swagger" if attrs.get("src") else "openapi"
    else:
        name = f"openapi-{variant}"
    return _tag_with_caption(name, block, closes=True, **arguments)


def _branch(block: Block) -> str:
    expression = block.attrs.get("expression")
    return f"{{% elseif {expression} %}}\n{_children(block)}" if expression else f"{{% else %}}\n{_children(block)}"


def _condition(block: Block) -> str:
    content = "\n\n".join(_blocks([child for child in block.children if child.kind != "else"]))
    branches = "\n".join(_branch(child) for child in block.children if child.kind == "else")
    return "\n".join(
        filter(None, (f"{{% if {block.attrs.get('expression', '')} %}}", content, branches, "{% endif %}"))
    )


def _include(block: Block) -> str:
    content = _children(block)
    opening = f'{{% include "{_value(block.attrs.get("target", ""))}" %}}'
    return f"{opening}\n\n{content}\n\n{{% endinclude %}}" if content else opening


def _conflict(block: Block) -> str:
    return _tagged(
        "conflict",
        block,
        "\n".join(_tagged("conflict-side", side, **_arguments(side.attrs)) for side in block.children),
    )


def _footnotes(block: Block) -> str:
    return "\n\n".join(
        _indent(_children(note) or " ", f"[^{note.attrs.get('label', '')}]: ", "    ") for note in block.children
    )


def _response(block: Block) -> str:
    attrs = block.attrs
    return _tagged(
        "api-method-response-example", block, httpCode=attrs.get("status", ""), description=attrs.get("description")
    )


def _with_arguments(name: str, block: Block) -> str:
    arguments = dict(block.attrs.get("arguments", {}))
    bare = arguments.pop("", None)
    content = _children(block)
    head = "".join(f' {key}="{_value(value)}"' for key, value in arguments.items())
    opening = f"{{% {name}{f' {bare}' if bare else ''}{head} %}}"
    return f"{opening}\n{content}\n{{% end{name} %}}" if content else opening


def _table(block: Block) -> str:
    columns: Sequence[TableColumn] = block.attrs.get("columns", ())
    has_title = any(column.has_title for column in columns)
    is_plain = (
        bool(columns)
        and block.kind == "table"
        and set(block.attrs) <= {"columns", "header_hidden"}
        and bool(block.attrs.get("header_hidden")) != has_title
        and all(column == TableColumn(column.title, align=column.align) for column in columns)
        and not any(row.attrs or any(cell.attrs for cell in row.children) for row in block.children)
    )
    return _pipe_table(columns, block.children) if is_plain else _html_table(block, columns)


def _pipe_table(columns: Sequence[TableColumn], rows: Iterable[Block]) -> str:
    dashes_by_align = {"left": ":--", "center": ":-:", "right": "--:"}
    lines = [
        [_pipe_cell(column.title) for column in columns],
        [dashes_by_align.get(column.align or "", "---") for column in columns],
    ]
    for row in rows:
        cells = [_pipe_cell(cell.runs) for cell in row.children]
        lines.append([*cells, *[""] * (len(columns) - len(cells))])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _pipe_cell(runs: Sequence[Run]) -> str:
    return _BAR.sub(r"\\|", _inline(runs, "<br>"))


def _html_table(block: Block, columns: Sequence[TableColumn]) -> str:
    attributes = [tag for name, tag in _TABLE_ATTRIBUTES.items() if block.attrs.get(name)]
    if not any(column.has_title for column in columns):
        attributes = [each for each in attributes if each != "data-header-hidden"]
    if block.kind == "cards":
        attributes += ['data-view="cards"', *(['data-card-size="large"'] if block.attrs.get("size") == "large" else [])]
    heads = [row for row in block.children if row.attrs.get("head")]
    head = "".join(f"<tr>{each}</tr>" for each in ("".join(map(_head, columns)), *map(_row, heads)))
    body = "".join(f"<tr>{_row(row)}</tr>" for row in block.children if not row.attrs.get("head"))
    opening = " ".join(("<table", *attributes))
    return f"{opening}><thead>{head}</thead><tbody>{body}</tbody></table>"


def _head(column: TableColumn) -> str:
    attributes: dict[str, Any] = {
        "width": column.width,
        "align": column.align,
        "data-type": column.type if column.type != "text" else None,
        "data-max": column.max if column.max != 5 else None,
        "data-hidden": column.hidden or None,
        _CARD_ATTRIBUTES.get(column.role or "", "data-card-none"): True if column.role else None,
    }
    options = "".join(
        f"<option{_html_attributes({'value': value, 'label': label})}></option>"
        for value, label in column.options.items()
    )
    select = f"<select>{options}</select>" if options else ""
    return f"<th{_html_attributes(attributes)}>{_html(column.title)}{select}</th>"


def _row(row: Block) -> str:
    tag = "th" if row.attrs.get("head") else "td"
    cells = (
        (_html_attributes({name: cell.attrs.get(name) for name in ("colspan", "rowspan")}), cell)
        for cell in row.children
    )
    return "".join(f"<{tag}{attributes}>{_html(cell.runs)}</{tag}>" for attributes, cell in cells)


_WRITERS: dict[str, Callable[[Block], str]] = {
    "quote": lambda block: _indent(_children(block), "> ", "> "),
    "code": _code,
    "math": lambda block: f"$$\n{block.text}\n$$",
    "divider": lambda block: "***",
    "table": _table,
    "cards": _table,
    "hint": lambda block: _tagged("hint", block, **_arguments(block.attrs)),
    "tabs": lambda block: _tagged("tabs", block),
    "tab": lambda block: _tagged(
        "tab",
        block,
        title=block.attrs.get("title", ""),
        icon=block.attrs.get("icon"),
        slug=slug if (slug := block.attrs.get("slug")) != anchor_of_title(block.attrs.get("title", "")) else None,
    ),
    "stepper": lambda block: _tagged("stepper", block),
    "step": lambda block: _tagged("step", block, **_arguments(block.attrs)),
    "columns": lambda block: _tagged("columns", block, **_arguments(block.attrs)),
    "column": lambda block: _tagged(
        "column",
        block,
        width=f"{_value(block.attrs['width'])}%" if block.attrs.get("width") else None,
        valign=block.attrs.get("valign"),
    ),
    "expandable": _expandable,
    "updates": lambda block: _tagged("updates", block, **_arguments(block.attrs)),
    "update": lambda block: _tagged(
        "update", block, date=block.attrs.get("date"), tags=block.attrs.get("tags") or None
    ),
    "prompt": lambda block: _tagged(
        "prompt", block, **_arguments(block.attrs, "expanded"), defaultExpanded=block.attrs.get("expanded")
    ),
    "figure": _figure,
    "file": lambda block: _tag_with_caption("file", block, src=block.attrs.get("src", "")),
    "embed": _embed,
    "content-ref": lambda block: _tag_with_caption("content-ref", block, url=block.attrs.get("url", "")),
    "openapi": _openapi,
    "api-method": lambda block: _tagged("api-method", block, **_arguments(block.attrs)),
    "api-section": lambda block: _tagged(f"api-method-{block.attrs.get('name', '')}", block),
    "api-parameter": lambda block: _tagged("api-method-parameter", block, **_arguments(block.attrs)),
    "api-response": _response,
    "include": _include,
    "if": _condition,
    "else": _branch,
    "integration": lambda block: _with_arguments(f"@{block.attrs.get('name', '')}", block),
    "conflict": _conflict,
    "footnotes": _footnotes,
    "unknown": lambda block: _with_arguments(str(block.attrs.get("name", "")), block),
}
