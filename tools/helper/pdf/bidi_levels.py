"""The levels of the Unicode bidirectional algorithm (Unicode Standard Annex 9), in linear time.

Only what is left when a text holds no embeddings, overrides and isolates, which `characters.clean` takes
away: rules W1 to W7, N0 to N2, I1 and I2. The names of the classes are the standard's.
"""

import unicodedata

_OPENERS = "([{⁅❨❪❬❮❰❲❴⟦⟨⟪⦅〈《「『【〔〖〘〚（［｛｟｢"
_CLOSERS = ")]}⁆❩❫❭❯❱❳❵⟧⟩⟫⦆〉》」』】〕〗〙〛）］｝｠｣"
_CLOSER_OF = dict(zip(_OPENERS, _CLOSERS, strict=True))
_DEEPEST = 63
"""Open brackets that are remembered; beyond that no pair counts (BD16)."""

_STRONG = {"L": "L", "R": "R", "EN": "R", "AN": "R"}
"""What a character counts as for the neutral ones around it."""


def levels(text: str, rtl: bool) -> list[int]:
    """The embedding level of each character; `rtl`: the text as a whole runs from right to left."""
    base = int(rtl)
    original = [unicodedata.bidirectional(char) or "L" for char in text]
    result: list[int] = []
    start = 0
    for end in range(len(text) + 1):
        if end == len(text) or original[end] == "B":
            types = _weak(original[start:end], base)
            _pair_brackets(text[start:end], original[start:end], types, base)
            _neutral(types, base)
            result += [_level(kind, base) for kind in types]
            result += [base] * (end < len(text))
            start = end + 1
    return result


def _weak(original: list[str], base: int) -> list[str]:
    """Rules W1 to W7: numbers, and the signs in and around them."""
    types = list(original)
    previous, strong = "LR"[base], "LR"[base]
    for at, kind in enumerate(types):
        if kind in ("NSM", "BN"):  # W1; BN has no width, and goes with what is before it
            kind = previous
        if kind in ("L", "R", "AL"):
            strong = kind
        elif kind == "EN" and strong == "AL":  # W2
            kind = "AN"
        previous = types[at] = kind
    types = ["R" if kind == "AL" else kind for kind in types]  # W3
    for at in range(1, len(types) - 1):  # W4
        before, kind, after = types[at - 1 : at + 2]
        if before == after and (kind, before) in (("ES", "EN"), ("CS", "EN"), ("CS", "AN")):
            types[at] = before
    _terminators(types)
    strong = "LR"[base]
    for at, kind in enumerate(types):
        if kind in ("ES", "ET", "CS"):  # W6
            types[at] = "ON"
        elif kind in ("L", "R"):
            strong = kind
        elif kind == "EN" and strong == "L":  # W7
            types[at] = "L"
    return types


def _terminators(types: list[str]) -> None:
    """W5: signs such as % and € next to a number belong to it."""
    at = 0
    while at < len(types):
        end = at
        while end < len(types) and types[end] == "ET":
            end += 1
        if end > at and "EN" in (types[at - 1 : at] + types[end : end + 1]):
            types[at:end] = ["EN"] * (end - at)
        at = max(end, at + 1)


def _pair_brackets(text: str, original: list[str], types: list[str], base: int) -> None:
    """N0: both brackets of a pair run as what is between them does."""
    closing_of = _pairs(text, types)
    direction = context = "LR"[base]
    for at, kind in enumerate(types):
        if at in closing_of:
            inside = {_STRONG.get(kind) for kind in types[at + 1 : closing_of[at]]}
            found = direction if direction in inside else context if inside - {None} else ""
            for place in (at, closing_of[at]) if found else ():
                _set_with_marks(types, original, place, found)
        context = _STRONG.get(types[at], context)


def _set_with_marks(types: list[str], original: list[str], at: int, kind: str) -> None:
    types[at] = kind
    while at + 1 < len(types) and original[at + 1] in ("NSM", "BN"):
        at += 1
        types[at] = kind


def _pairs(text: str, types: list[str]) -> dict[int, int]:
    """The places of the brackets that belong together (BD16)."""
    found: dict[int, int] = {}
    stack: list[tuple[str, int]] = []
    for at, char in enumerate(text):
        if types[at] != "ON":
            continue
        if char in _CLOSER_OF:
            if len(stack) == _DEEPEST:
                return {}
            stack.append((_CLOSER_OF[char], at))
        elif char in _CLOSERS:
            for depth in range(len(stack) - 1, -1, -1):
                if stack[depth][0] == char:
                    found[stack[depth][1]] = at
                    del stack[depth:]
                    break
    return found


def _neutral(types: list[str], base: int) -> None:
    """N1 and N2: what has no direction takes that of its neighbours if they agree, else the text's."""
    before = direction = "LR"[base]
    at = 0
    while at < len(types):
        end = at
        while end < len(types) and types[end] not in _STRONG:
            end += 1
        after = _STRONG[types[end]] if end < len(types) else direction
        types[at:end] = [before if before == after else direction] * (end - at)
        before = after
        at = end + 1


def _level(kind: str, base: int) -> int:
    """I1 and I2."""
    if base:
        return 1 if kind == "R" else 2
    return {"L": 0, "R": 1}.get(kind, 2)
