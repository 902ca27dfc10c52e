"""Pages with blocks that are nested ten thousand levels deep."""

from __future__ import annotations

LEVELS = 10_000

_OPENED: dict[str, tuple[str, str]] = {
    "hints": ("{% hint %}\n", "{% endhint %}\n"),
    "tabs": ('{% tabs %}{% tab title="a" %}\n', "{% endtab %}{% endtabs %}\n"),
    "steps": ("{% stepper %}{% step %}\n", "{% endstep %}{% endstepper %}\n"),
    "columns": ("{% columns %}{% column %}\n", "{% endcolumn %}{% endcolumns %}\n"),
    "conditions": ("{% if visitor.claims.a %}\n", "{% endif %}\n"),
    "unknown tags": ("{% frob %}\n", "{% endfrob %}\n"),
    "quotes": ("> ", ""),
    "bulleted lists": ("* ", ""),
    "numbered lists": ("1. ", ""),
    "divisions": ("<div>\n", "</div>\n"),
    "details": ("<details><summary>", "</summary></details>"),
    "tables": ("<table><tr><td>", "</td></tr></table>"),
    "lists in HTML": ("<ul><li>", "</li></ul>"),
    "bold in HTML": ("<b>", "</b>"),
    "links in HTML": ('<a href="x">', "</a>"),
    "links": ("[", "](b)"),
    "images": ("![", "](b)"),
    "emphasis": ("*_", "_*"),
    "notes": ("^[", "]"),
    "formulas": ("$$\\frac{", "}{b}$$"),
    "braces": ("$${", "}$$"),
    "figures": ("<figure>", "</figure>"),
    "conflicts": ('{% conflict %}{% conflict-side name="x" %}\n', "{% endconflict-side %}{% endconflict %}\n"),
}
DEEP_PAGES: dict[str, str] = {
    **{name: begin * LEVELS + "a" + end * LEVELS for name, (begin, end) in _OPENED.items()},
    "indented list": "".join("  " * level + "* a\n" for level in range(1000)),
}
