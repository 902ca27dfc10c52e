"""LaTeX as one line of signs: what it says, readable, never an error. What has no sign is shown by its name."""

from __future__ import annotations

import re

from octavo.tui.page.math_signs import SIGNS

_SUPER = dict(
    zip(
        "0123456789+-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ*′",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ*′",
        strict=True,
    )
)
_SUB = dict(zip("0123456789+-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
SUPERSCRIPTS = str.maketrans(_SUPER)
SUBSCRIPTS = str.maketrans(_SUB)

_SILENT = frozenset(
    [
        "left",
        "right",
        "big",
        "Big",
        "bigg",
        "Bigg",
        "bigl",
        "bigr",
        "Bigl",
        "Bigr",
        "displaystyle",
        "textstyle",
        "limits",
        "nolimits",
        "middle",
        "hline",
        "rm",
        "bf",
        "it",
        "nonumber",
    ]
)
_WORDS = frozenset(
    [
        "text",
        "mathrm",
        "mathbf",
        "mathit",
        "mathcal",
        "mathbb",
        "mathsf",
        "mathtt",
        "mathfrak",
        "operatorname",
        "textbf",
        "textit",
        "texttt",
        "boldsymbol",
        "bm",
        "mbox",
        "mathscr",
        "mathop",
        "boxed",
        "fbox",
        "substack",
        "underline",
        "underbrace",
        "overbrace",
        "cancel",
    ]
)
_APART = frozenset({"over", "atop", "choose"})
"""What stands between two parts of a group, and sets one above the other."""
_UNSHOWN = frozenset({"label", "color", "hspace", "vspace", "mspace", "phantom"})
_OPEN_FACE = dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))
_LITERAL = frozenset({"text", "mathrm", "operatorname", "textbf", "textit", "texttt", "textrm", "mbox"})
_ACCENTS = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "bar": "\u0304",
    "overline": "\u0304",
    "vec": "\u20d7",
    "overrightarrow": "\u20d7",
    "tilde": "\u0303",
    "widetilde": "\u0303",
    "dot": "\u0307",
    "ddot": "\u0308",
}
_SPACED = frozenset("≤≥≠≈≡∼≃≅∝≪≫→←⇒⇐⇔↔↦∈∉⊂⊆⊃⊇∪∩×±∧∨⊕⊗∣=")
_LEXEMES = re.compile(r"\\([A-Za-z]+)\*? ?|\\(.)|(\s+)|(.)", re.S)
_ATOM = re.compile(r"[\w.∞′]+[⁰-₟ᵃ-ᶿ²³¹]*|\([^()]*\)|\|[^|]*\||.", re.S)
LIMIT, DEPTH = 4000, 40


def in_one_line(source: str, *, ascii: bool = False) -> str:
    """The formula in one line; the source itself when only ASCII may be drawn."""
    flat = " ".join(source.split())
    if ascii or len(flat) > LIMIT:
        return flat
    text = Reader(unescaped(flat)).sequence(0)
    return re.sub(r" {2,}", " ", text).strip()


def unescaped(source: str) -> str:
    """LaTeX without the backslashes that Markdown puts before its own signs."""
    return source.replace("\\\\_", "_").replace("\\_", "_").replace("\\*", "*")


class Reader:
    """Reads LaTeX from left to right."""

    SPACED = _SPACED

    def __init__(self, source: str) -> None:
        self._lexemes = [match.groups(default="") for match in _LEXEMES.finditer(source)]
        self._at = 0

    def sequence(self, depth: int, until: str = "") -> str:
        """What stands here up to `until`."""
        out: list[str] = []
        while self._at < len(self._lexemes):
            if until and self._peek() == until:
                self._at += 1
                break
            if self.parts_here(depth):
                return self._apart("".join(out), depth, until)
            part = self._atom(depth)
            if part in ("^", "_") and self._at < len(self._lexemes):
                part = self._script(part, depth)
            elif part in _SPACED:
                part = f" {part} "
            out.append(part)
        return "".join(out)

    def parts_here(self, depth: int) -> bool:
        """Whether a group is divided here into what stands above and what stands below."""
        return depth < DEPTH and self._lexemes[self._at][0] in _APART

    def _apart(self, over: str, depth: int, until: str) -> str:
        name = self._lexemes[self._at][0]
        self._at += 1
        under = self.sequence(depth + 1, until).strip()
        return f"C({over.strip()}, {under})" if name == "choose" else f"{_held(over.strip())}/{_held(under)}"

    def _peek(self) -> str:
        command, sign, _, char = self._lexemes[self._at]
        return "" if command or sign else char

    def _atom(self, depth: int) -> str:
        command, sign, space, char = self._lexemes[self._at]
        self._at += 1
        if space:
            return " "
        if char == "{" and depth < DEPTH:
            return self.sequence(depth + 1, "}")
        if char in ("&", "~"):
            return " "
        if char == "'":
            return "′"
        return self._command(command or sign, depth) if command or sign else char

    def _argument(self, depth: int) -> str:
        while self._at < len(self._lexemes) and self._lexemes[self._at][2]:
            self._at += 1
        return self._atom(depth + 1) if self._at < len(self._lexemes) and depth < DEPTH else ""

    def _command(self, name: str, depth: int) -> str:
        if name in _SILENT:
            if self._at < len(self._lexemes) and name in ("left", "right") and self._peek() == ".":
                self._at += 1
            return ""
        if name in ("frac", "dfrac", "tfrac", "cfrac", "binom"):
            over, under = self._argument(depth).strip(), self._argument(depth).strip()
            if name == "binom":
                return f"C({over}, {under})"
            following, _, _, char = self._lexemes[self._at] if self._at < len(self._lexemes) else ("", "", "", "")
            apart = " " if char.isalnum() or (following and following not in _SILENT) else ""
            return f"{_held(over)}/{_held(under)}{apart}"
        if name == "sqrt":
            root = ""
            if depth < DEPTH and self._at < len(self._lexemes) and self._peek() == "[":
                self._at += 1
                root = self.sequence(depth + 1, "]")
            return f"{root.translate(SUPERSCRIPTS)}√{_held(self._argument(depth).strip())}"
        if name in _LITERAL:
            return self._literal(depth)
        if name == "mathbb":
            letters = self._argument(depth)
            return _OPEN_FACE.get(letters, letters)
        if name in _WORDS:
            return self._argument(depth)
        if name in _UNSHOWN:
            self._argument(depth)
            return " "
        if name in ("textcolor", "colorbox"):
            self._argument(depth)
            return self._argument(depth)
        if name in ("tag", "pmod"):
            return f"  ({'mod ' if name == 'pmod' else ''}{self._argument(depth).strip()})"
        if name in ("overset", "stackrel", "underset"):
            small, large = self._argument(depth).strip(), self._argument(depth)
            return f"{large.strip()}{'_' if name == 'underset' else '^'}({small})"
        if name in ("xrightarrow", "xleftarrow"):
            said = self._argument(depth).strip()
            return f" ─{said}→ " if name == "xrightarrow" else f" ←{said}─ "
        if name == "not" and self._at < len(self._lexemes):
            return self._argument(depth).strip() + "\u0338"
        if name in _ACCENTS:
            under = self._argument(depth).strip()
            return under + _ACCENTS[name] if len(under) == 1 else f"{name}({under})"
        if name in ("begin", "end"):
            self._argument(depth)
            return ""
        has_script = self._at < len(self._lexemes) and self._peek() in ("^", "_")
        return SIGNS.get(name, name if len(name) < 2 or has_script else f"{name} ")

    def _literal(self, depth: int) -> str:
        """The words of an argument as they are written."""
        if self._at >= len(self._lexemes) or self._peek() != "{":
            return self._argument(depth)
        out: list[str] = []
        level = 0
        while self._at < len(self._lexemes):
            command, sign, space, char = self._lexemes[self._at]
            self._at += 1
            level += {"{": 1, "}": -1}.get(char, 0)
            if level == 0:
                break
            if char not in ("{", "}"):
                out.append(SIGNS.get(command, command) or sign or space or char)
        return "".join(out)

    def _script(self, sign: str, depth: int) -> str:
        text = self._argument(depth).strip().replace(" = ", "=")
        small = scripted(text, SUPERSCRIPTS if sign == "^" else SUBSCRIPTS)
        return small if small is not None else sign + (text if re.fullmatch(r"\w+", text) else f"({text})")


def scripted(text: str, table: dict[int, str]) -> str | None:
    """`text` in the small signs of `table`. None where there are not all of them, and for words."""
    text = text.strip().replace(" = ", "=")
    if not text or re.search("[A-Za-z]{4}", text) or not all(ord(char) in table for char in text):
        return None
    return text.translate(table)


def _held(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"
