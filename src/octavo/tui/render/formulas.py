"""Formulas in one line, or in two dimensions with fractions one part above the other, limits above and below, roots, tall
brackets and rows of matrices. What they say is readable and never an error; what has no sign is shown by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from unicodedata import normalize

from pylatexenc.latex2text import fmt_math_text_style

from octavo.tui.render import formula_boxes
from octavo.tui.render.formula_boxes import NOTHING, Box, beside
from octavo.tui.render.latex import LONGEST, Command, Environment, Group, Part, Parts, read, sign_of
from octavo.tui.render.superscripts import SUBSCRIPTS, SUPERSCRIPTS, scripted

_FRACTIONS = frozenset({"frac", "dfrac", "tfrac", "cfrac"})
_BINOMIALS = frozenset({"binom", "dbinom", "tbinom"})
_DIVIDING = frozenset({"over", "atop", "choose"})
"""What stands between two parts of a group, and sets one above the other."""
_STACKED, _SILENT = (
    frozenset(names.split())
    for names in (
        "sum prod coprod bigcup bigcap bigoplus bigotimes bigvee bigwedge bigsqcup lim max min sup inf argmax argmin limsup "
        "liminf operatorname* mathop underbrace overbrace",
        "big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm displaystyle textstyle scriptstyle limits "
        "nolimits hline rm bf it cal nonumber notag begin end tiny scriptsize footnotesize small normalsize large Large LARGE "
        "huge Huge",
    )
)
"""What has its scripts below and above, and what shows nothing."""
_UNSHOWN = frozenset({"label", "color", "hspace", "vspace", "mspace", "phantom"})
_WORDS = frozenset({"text", "textrm", "textbf", "textit", "texttt", "textsf", "mbox", "mathrm", "operatorname"})
_ACCENTS = {
    **dict.fromkeys(("hat", "widehat"), "\u0302"),
    **dict.fromkeys(("bar", "overline"), "\u0304"),
    **dict.fromkeys(("vec", "overrightarrow"), "\u20d7"),
    **dict.fromkeys(("tilde", "widetilde"), "\u0303"),
    "dot": "\u0307",
    "ddot": "\u0308",
    "check": "\u030c",
    "breve": "\u0306",
}
_FENCES = {
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "cases": ("{", ""),
}
_SPACED = frozenset("·⋅÷∘⟹⟸⟺⟶⟵⟷↪≲≳≺≻≤≥≠≈≡∼≃≅∝≪≫→←⇒⇐⇔↔↦∈∉⊂⊆⊃⊇∪∩×±∧∨⊕⊗∣=")
_ATOM = re.compile(r"[\w.∞′]+[⁰-₟ᵃ-ᶿ²³¹]*|\([^()]*\)|\|[^|]*\||.", re.S)
_MOST_ROWS, _MOST_CELLS = 40, 400
"""Rows of a formula that is stacked, and cells of its matrices: what is more has no room anywhere."""


def in_one_line(source: str, *, ascii: bool = False) -> str:
    """The formula in one line; the source itself when only ASCII may be drawn, or when it is too long or too deep."""
    box = None if ascii or len(source) > LONGEST else _set(source, False)
    return " ".join((source if box is None else box.text).split())


def formula(source: str, width: int) -> list[str] | None:
    """The rows of a formula; None when it has no room, or nothing in it is to be stacked."""
    if len(source) > LONGEST or source.count("&") + source.count("\\\\") > _MOST_CELLS:
        return None
    box = _set(source, True)
    if box is None or not box.is_tall or box.width > width or len(box.rows) > _MOST_ROWS:
        return None
    return [row.rstrip() for row in box.rows]


@lru_cache(256)
def _set(source: str, stacked: bool) -> Box | None:
    """The formula as a box of one row or several; None when it is too deep or cannot be read."""
    parts = read(source)
    return None if parts is None else _Setter(stacked).grid(parts, "")


class _Parts:
    """What stands in a group, and how far it is set."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._parts)

    @property
    def next(self) -> Part:
        """What comes next; an empty text at the end."""
        return self._parts[self._at] if self else ""

    def take(self) -> Part:
        """What comes next, past which is gone."""
        self._at += 1
        return self._parts[self._at - 1]

    def skip(self, *names: str) -> bool:
        """Go past blanks, and commands of these names. Whether there were such commands."""
        found = False
        while self and (_is_blank(self.next) or _name(self.next) in names):
            found = _name(self.take()) in names or found
        return found


def _name(part: Part) -> str:
    return part.name if isinstance(part, Command) else ""


def _is_blank(part: Part) -> bool:
    return isinstance(part, str) and part.isspace()


class _Setter:
    """Sets what the library read, in one line or stacked."""

    def __init__(self, stacked: bool) -> None:
        self._stacked = stacked

    def grid(self, parts: Parts, environment: str) -> Box:
        """Rows of cells: those of an environment, or of a formula that has several."""
        rows: list[list[list[Part]]] = [[[]]]
        for part in parts:
            if part == "&":
                rows[-1].append([])
            elif _name(part) in ("\\", "\\*", "cr"):
                rows.append([[]])
            else:
                rows[-1][-1].append(part)
        apart = "matrix" in environment or environment in ("cases", "array")
        cells = [[self.row(_Parts(tuple(cell))) for cell in row] for row in rows]
        cells = [[box.strip() if apart or at % 2 == 0 else box for at, box in enumerate(row)] for row in cells]
        cells = [row for row in cells if any(box.width for box in row)]
        left, right = _FENCES.get(environment, ("", ""))
        if not self._stacked:
            text = "; ".join((" " if apart else "").join(box.text for box in row).strip() for row in cells)
            return Box((f"{left}{text}{right}",))
        return formula_boxes.fenced(left, formula_boxes.aligned(cells, "  " if apart else "", pairs=not apart), right)

    def row(self, items: _Parts, until: str = "", *, below: bool = False) -> Box:
        """What comes, one after the other, up to the command `until`. `below`: the group is divided, and this is what
        stands below."""
        out: list[Box] = []
        while items:
            item = items.next
            name = _name(item)
            if until and name == until:
                break
            items.take()
            if name in _DIVIDING and not below:
                return self._divided(beside(out), self.row(items, until, below=True), name)
            if item in ("^", "_"):
                while out and out[-1].text.isspace():
                    out.pop()
                under, over = self._scripts(items, item)
                out.append(self._raised(out.pop() if out else NOTHING, under, over))
            else:
                out.append(self._one(item, items, out))
        return beside(out)

    def _one(self, part: Part, following: _Parts, before: Sequence[Box]) -> Box:
        """One sign, group, environment or command with what belongs to it."""
        match part:
            case Command():
                return self._command(part.name, part.arguments, following, before)
            case Group():
                return self._group(part.parts)
            case Environment():
                return self.grid(part.parts, part.name)
        return _sign(" " if part.isspace() or part in "&~" else "′" if part == "'" else part)

    def _group(self, parts: Parts) -> Box:
        """An argument or a group."""
        return self.row(_Parts(parts)).strip()

    def _command(self, name: str, given: Sequence[Parts], items: _Parts, before: Sequence[Box]) -> Box:
        if name in _STACKED or _name(items.next) == "limits":
            return self._operator(name, given, items)
        if name == "left":
            return self._fenced(items)
        if name in _SILENT or name == "right":
            return NOTHING
        if name in _UNSHOWN:
            return Box((" ",))
        if not given:
            return self._named(name, items, before)
        last = given[-1]
        if name in _WORDS:
            return Box((_words(last),))
        if name in _FRACTIONS:
            return self._divided(self._group(given[0]), self._group(last), "frac", items)
        if name in _BINOMIALS:
            return self._divided(self._group(given[0]), self._group(last), "choose")
        inside = self._group(last)
        match name:
            case "sqrt":
                degree = self._group(given[0]).text.translate(SUPERSCRIPTS) if len(given) > 1 else ""
                is_short = not inside.is_tall and _held(inside.text) == inside.text
                if self._stacked and not is_short:
                    return formula_boxes.root(degree, inside)
                return Box((f"{degree}√{_held(inside.text)}",))
            case "mathbb":
                return Box((fmt_math_text_style(inside.text, "doublestruck"),))
            case "tag" | "pmod":
                return Box((f"  ({'mod ' if name == 'pmod' else ''}{inside.text})",))
            case "overset" | "stackrel" | "underset":
                small = self._group(given[0])
                if self._stacked:
                    return (
                        formula_boxes.stack([inside, small], 0)
                        if name == "underset"
                        else formula_boxes.stack([small, inside], 1)
                    )
                return Box((f"{inside.text}{'_' if name == 'underset' else '^'}({small.text})",))
            case "xrightarrow":
                return Box((f" ─{inside.text}→ ",))
            case "xleftarrow":
                return Box((f" ←{inside.text}─ ",))
            case "not":
                return _sign(normalize("NFC", inside.text[:1] + "\u0338") + inside.text[1:])
            case "underline" | "cancel" | "boxed" | "fbox":
                return inside
        if name in _ACCENTS:
            if self._stacked and name == "overline" and inside.width > 1:
                return formula_boxes.overlined(inside)
            one = not inside.is_tall and len(inside.text) == 1
            return (
                Box((normalize("NFC", inside.text + _ACCENTS[name]),))
                if one
                else formula_boxes.fenced(f"{name}(", inside, ")")
            )
        return inside

    def _named(self, name: str, items: _Parts, before: Sequence[Box]) -> Box:
        """The sign of a command; of one that has none its name, apart from the letters around it."""
        sign = sign_of(name)
        if len(sign) < 2 or not sign.isalpha():
            return _sign(sign)
        aside = " " if before and before[-1].text[-1:].isalnum() else ""
        behind = "" if items.next == "" or (isinstance(items.next, str) and items.next in "^_(),") else " "
        return Box((f"{aside}{sign}{behind}",))

    def _operator(self, name: str, given: Sequence[Parts], items: _Parts) -> Box:
        """A sign or a word with its limits, below and above where it is stacked."""
        if "brace" in name:
            core = self._group(given[-1]) if given else NOTHING
            core = formula_boxes.braced(core, over=name == "overbrace") if self._stacked and core.width else core
        elif name == "operatorname*":
            core = Box((_words(given[-1]) if given else "",))
        else:
            core = self._group(given[-1]) if given else Box((sign_of(name),))
        aside = items.skip("nolimits")
        items.skip("limits", "displaystyle")
        if items.next in ("^", "_"):
            under, over = self._scripts(items, items.take())
            if not self._stacked or aside:
                return self._raised(core, under, over)
            parts = [each for each in (over, core, under) if each is not None]
            return beside([formula_boxes.stack(parts, 0 if over is None else 1), Box((" ",))])
        return core if "brace" in name else beside([core, Box((" ",))])

    def _fenced(self, items: _Parts) -> Box:
        """What stands between `\\left` and `\\right`."""
        left = self._delimiter(items)
        inside = self.row(items, until="right")
        if items:
            items.take()
        return formula_boxes.fenced(left, inside, self._delimiter(items))

    def _delimiter(self, items: _Parts) -> str:
        items.skip()
        if not items:
            return ""
        item = items.take()
        sign = sign_of(_name(item)) if _name(item) else self._one(item, items, ()).text.strip()
        return "" if sign == "." else sign

    def _scripts(self, items: _Parts, sign: Part) -> tuple[Box | None, Box | None]:
        """What is set below and above what stands before."""
        found: dict[Part, Box] = {}
        while True:
            items.skip("limits", "nolimits")
            if items:
                found[sign] = self._one(items.take(), _Parts(()), ()).strip()
            else:
                found.setdefault(sign, NOTHING)
            if items.next not in ("^", "_"):
                return found.get("_"), found.get("^")
            sign = items.take()

    def _raised(self, base: Box, under: Box | None, over: Box | None) -> Box:
        if self._stacked:
            return formula_boxes.raised(base, under, over)
        text = base.text.rstrip() if base.text.strip() else base.text
        for sign, script, table in (("_", under, SUBSCRIPTS), ("^", over, SUPERSCRIPTS)):
            if script is not None:
                said = script.text.replace(" = ", "=")
                small = scripted(said, table)
                text += small if small is not None else sign + (said if re.fullmatch(r"\w+", said) else f"({said})")
        return Box((text,))

    def _divided(self, over: Box, under: Box, name: str, items: _Parts | None = None) -> Box:
        over, under = over.strip(), under.strip()
        if self._stacked:
            parts = formula_boxes.divided(over, under, line=name in ("frac", "over"))
            return formula_boxes.fenced("(", parts, ")") if name == "choose" else parts
        if name == "choose":
            return Box((f"C({over.text}, {under.text})",))
        following = items.next if items is not None else ""
        apart = (
            " "
            if (following.isalnum() if isinstance(following, str) else _name(following) not in ("right", *_SILENT))
            else ""
        )
        return Box((f"{_held(over.text)}/{_held(under.text)}{apart}",))


def _sign(sign: str) -> Box:
    return Box((f" {sign} " if sign in _SPACED else sign,))


def _words(parts: Parts) -> str:
    """The words of an argument as they are written."""
    out = ""
    for part in parts:
        match part:
            case Command():
                out += "".join(map(_words, part.arguments)) if part.arguments else sign_of(part.name) + part.blanks
            case Group() | Environment():
                out += _words(part.parts)
            case _:
                out += part
    return out


def _held(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"
