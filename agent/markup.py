"""The marks that models put around calls, thoughts and turns when they write them as text.

Sources: the chat templates of the models (tokenizer_config.json on huggingface.co) and the parsers of
Ollama (github.com/ollama/ollama, model/parsers/), llama.cpp (common/chat.cpp) and vLLM (tool_parsers/).
One expression covers a family of marks, so that a new model's variant of a known one is found too.
All are to be read with VERBOSE, IGNORECASE and MULTILINE.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

FLAGS = re.IGNORECASE | re.MULTILINE | re.VERBOSE

BLANK = "\\s\u200b\ufeff"
"""White space, and the signs of no width that some servers put at the ends; to be used in [ ]."""

_CALLS = r"(?:tool|function)[_▁]?calls?"
_VENDOR = r"(?:\w+[:_]|[|｜]\w+[|｜])?"  # seed:tool_call, longcat_tool_call, ｜DSML｜function_calls

OPENING = rf"""
    <(?!end_){_VENDOR}{_CALLS}>
  | <[|｜]{_CALLS}(?:[_▁](?:section[_▁])?(?:start|begin))?[|｜]?>
  | <start_function_call> | <\|action_start\|> | <\|plugin\|> | <\|START_ACTION\|>
  | <\|python_(?:tag|start)\|> | \[TOOL_CALLS?\] | \]<\]minimax\[>\[(?!</)
  | functools(?=\[\s*\{{) | <\|message_sep\|>\s*function[ ]call<\|role_sep\|> | ^Action:[ \t]*(?=```)
  | <\|channel\|>\w+\s+to=[^<\n]*(?:<\|constrain\|>\w*)?\Z
"""
"""What stands before a call or a list of calls; the last is a Harmony header that was cut."""

CLOSING = rf"""
    (?:\]<\]minimax\[>\[)?</{_VENDOR}(?:{_CALLS}|function|invoke)(?:>|\Z)
  | <[|｜]/{_CALLS}[|｜]> | <{_CALLS}[|｜]> | <end_function_call> | \[/TOOL_CALLS?\]
"""

ROLE = r"""
    <\|(?:im_start|start_header_id|start)\|>(?:system|user|assistant)?(?:<\|end_header_id\|>)?
  | <\|channel\|>(?:final|commentary)(?![^<\n]*\bto=)[^<\n]{0,40}(?:<\|constrain\|>\w*)?<\|message\|>
  | <\|(?:open|close)\|>\w+<\|sep\|>
  | <[|｜][\w▁]+[|｜]> | <\|tool_response> | <(?:start|end)_of_turn>(?:model\b)? | </s> | <[be]os>
  | \[/?INST\] | ^>>>all\n
"""
"""Tokens of a chat template that leaked into the text."""

HARMONY_CALL = r"""
    (?: (?:(?:<\|start\|>assistant | <\|channel\|>\w*)\s*){1,3}
      | (?:(?:(?<!\w)|(?<=assistant))(?:commentary|analysis)\s*)?(?=to=functions\.) )
    (?<!\w)to=(?P<name>[\w.-]+)
    (?:(?:[^<\n]|<\|(?:channel|constrain)\|>){0,80}<\|message\|>|\s*json(?=\{))
"""
TAGGED_CALL = rf"""
    <{_VENDOR}(?:function|invoke|{_CALLS})(?:=|\s+name=)\s*["']?(?P<name>(?:<\|\w+\|>|[^"'<>\n])+)["']?[^<>\n]*>
"""
TAGGED_KEY = rf"""
    <{_VENDOR}param(?:eter)?(?:=|\s+name=)\s*["']?(?P<key>[^"'<>\n]+)["']?[^<>\n]*> | <(?P<tag>\w+)>
"""
OPENED_CALL = r'<\|open\|>call\s+tool="(?P<name>[^"]+)"[^<>]*<\|sep\|>'  # Kimi K3
OPENED_KEY = r'<\|open\|>argument\s+key="(?P<key>[^"]+)"[^<>]*<\|sep\|>'
NAMED_CALL = r"(?<!\w)(?P<name>\w[\w-]*)(?:\[CALL_ID\][\w-]*)?\[ARGS\]"  # Mistral since 2025
LOOSE_TAG = r"<(?:tools?|response|json|xml)>"  # what Qwen2.5-Coder puts in place of <tool_call>
REACT_CALL = r"^Action:[ \t]*(?P<name>\w+)\s*\n\s*Action[ ]Input:(?=\s*\{)"
RECIPIENT = r"^>>>(?P<name>\w+)\n(?=\s*\{)"  # Functionary 3.2

THOUGHTS = (
    (r"\A\s*(?-i:analysis(?=[A-Z]))", r"assistantfinal|assistant(?=commentary[ ]to=)"),  # tokens left out
    (r"<think(?:ing)?>|<thought>", r"</think(?:ing)?>|</thought>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<\|channel>thought\b", r"<channel\|>"),
    (
        r"(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>",
        r"<\|end\|>|(?=<\|start\|>|<\|channel\|>)",
    ),
)
"""How thoughts begin and end where they stand in the text."""

LONE_CLOSE = r"</think(?:ing)?>|</thought>|\[/THINK\]|<\|END_THINKING\|>"


def _unnamed(*patterns: str) -> str:
    """Any of the patterns, without their named groups, so that they can be used in another."""
    return re.sub(r"\(\?P<\w+>", "(?:", "|".join(f"(?:{pattern})" for pattern in patterns))


CALL_TOKENS = _unnamed(OPENING, HARMONY_CALL, OPENED_CALL, *(opening for opening, _ in THOUGHTS))
"""Tokens of a template that open a call or thoughts."""


def compiled(*patterns: str) -> re.Pattern[str]:
    """Any of the patterns."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), FLAGS)


@lru_cache(maxsize=32)
def points(names: tuple[str, ...]) -> re.Pattern[str]:
    """All places in a text where what follows may be other than plain text; a named group for each kind."""
    known = _any(names)
    heads = _unnamed(
        *(TAGGED_CALL, OPENED_CALL, RECIPIENT, REACT_CALL, HARMONY_CALL),
        rf"(?<!\w)(?:call:(?:{known})\{{|(?:{known})\[(?:ARGS|CALL_ID)\])",
        rf'{LOOSE_TAG}\s*(?:```\w*\s*)?(?:\[\s*)?\{{\s*"name"\s*:\s*"(?:{known})"',
    )
    groups = {
        "fence": r"^[ \t]{0,20}(?:`{3,}|~{3,})[^\n`]{0,60}\n",
        "block": r"^[ ]{0,3}>(?!>>\w) | (?<=\n\n)(?:[ ]{4}|\t)",
        "span": r"`+ | </?(?:code|pre)>",
        "thought": "|".join(opening for opening, _ in THOUGHTS),
        "close": LONE_CLOSE,
        "call": f"{OPENING} | (?={heads})",
        "token": f"{CLOSING} | {ROLE}",
        "object": r"(?<=\n\n)\{",
    }
    kinds = "|".join(f"(?P<{name}>{pattern})" for name, pattern in groups.items())
    return re.compile(f"{_may_begin(names)}(?:{kinds})", FLAGS)


def _may_begin(names: tuple[str, ...]) -> str:
    """A pattern of no length for where any of the points may begin: nearly all text is passed over by it,
    twenty times as fast as by trying every kind at every letter."""
    words = [*map(re.escape, names), "functools", "action:", "commentary", "analysis", "to=", "call:"]
    letters = {word[0].lower() for word in (*names, *words)}
    either = re.escape("".join(sorted(letters | {letter.upper() for letter in letters})))
    return rf"""(?:(?=(?-i:[<>`~\[\]{{])) | (?:^|(?<=\n\n))(?=(?-i:[ \t])) | \A
        | (?<!\w)(?=(?-i:[{either}]))(?={"|".join(words)}) | (?<=assistant))"""


@lru_cache(maxsize=32)
def unfinished(names: tuple[str, ...]) -> re.Pattern[str]:
    """The end of a text that may be the beginning of a mark. White space at the end is to be left out."""
    words = [*names, *(f"call:{name}{{" for name in names), "functools[", "]<]minimax[>["]
    words += [f"{start}to=functions." for start in ("", "commentary ", "analysis ")]
    words += ["Action:", "Observation:"]
    marks = ["[TOOL_CALLS]", "[/TOOL_CALLS]", "[THINK]", "[/THINK]"]
    marks += ["assistantfinal", "assistantcommentary to=functions."]
    token = r"(?:<[|\w]*)?"
    header = rf"(?:[^<>\n]|<\|(?:constrain|channel)\|>){{0,80}}{token}"
    value = r"(?:\{\s*\"?\w{0,12})?"
    tails = [
        r"(?:(?<!\w)\]<\]minimax\[>\[)?<[^\s<>]{0,60}",
        rf"<{_VENDOR}(?:function|invoke|{_CALLS})\b(?:[^<>\n]|<(?:\|\w*\|?>?)?){{0,80}}",
        rf"<\|(?:im_start|start_header_id|start|channel|open|close)\|>{header}",
        rf"<\|channel>\w* | <\|message_sep\|>\s*(?:{begun('function call')})?{token}",
        rf"(?:(?:assistant)?(?:commentary|analysis)\s*)?\bto=functions\.{header}",
        rf"(?<!\w)(?:call:)?(?:{_any(names)})(?:(?:\[CALL_ID\][\w-]*)?\[[A-Z_]*\]?|\s*(?:`{{1,3}}\w*\s*)?{value})",
        rf"{LOOSE_TAG}\s*(?:`{{1,3}}\w*\s*)?(?:\[\s*)?(?:{value}|\{{\s*\"name\"\s*:?\s*\"?\w{{0,40}})",
        r"^[ \t]{0,20}(?:`{3,}|~{3,})[^\n`]{0,60} | `+ | ^[ \t]{0,20}~+",
        rf"^>{{1,3}}\w*\s*{value} | functools\[\s*{value} | \{{\s*\"?\w{{0,12}}",
        rf"^Action:[ \t]*(?:`{{0,3}}|\w*\s*(?:{begun('Action Input:')})?\s*{value})",
        *(rf"(?<!\w){begun(word)}" for word in words),
        *map(begun, marks),
    ]
    return re.compile(rf"(?:{'|'.join(tails)})\Z", FLAGS)


def _any(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names)) or "(?!)"


def begun(mark: str) -> str:
    """A pattern for every beginning of the mark."""
    return "(?:".join(map(re.escape, mark)) + ")?" * (len(mark) - 1)
