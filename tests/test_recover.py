"""Calls as text: what is one, what only looks like one, and that every value comes through unchanged."""

import json
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent.recover import Recovered, recover
from tests.text_cases import NAMES, ROWS, TOOLS, pairs, squeezed

MUST = [row for row in ROWS if row["level"] == "must"]
JUDGEMENT = [row for row in ROWS if row["level"] == "judgement"]


def recovered(row) -> Recovered:
    return recover(row["content"], row.get("thinking", ""), TOOLS)


def differences(row, found: Recovered) -> list[str]:
    """In what the reading differs from the right one."""
    if row["visible"] == row["content"]:
        right_text = found.visible.strip() == row["visible"].strip()
    else:
        right_text = squeezed(found.visible) == squeezed(row["visible"])
    if row.get("or_broken") and not found.calls and found.broken and right_text:
        return []
    checks = {
        "calls": pairs(found.calls) == pairs(row["expect"]),
        "unknown": pairs(found.unknown) == pairs(row.get("unknown", [])),
        "broken": found.broken == row.get("broken"),
        "visible": right_text,
        "thinking": squeezed(row.get("thinking_text", "")) in squeezed(found.thinking),
    }
    return [name for name, right in checks.items() if not right]


@pytest.mark.parametrize("row", MUST, ids=lambda row: row["id"])
def test_turn(row):
    found = recovered(row)
    assert differences(row, found) == [], found
    if row.get("empty_turn"):
        assert not found.visible and not found.calls and not found.unknown and not found.broken


def test_turns_where_a_sound_reading_may_differ():
    wrong = {row["id"]: bad for row in JUDGEMENT if (bad := differences(row, recovered(row)))}
    assert len(wrong) <= len(JUDGEMENT) * 0.1, wrong


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_nothing_runs_that_should_not(row):
    allowed = pairs(row["expect"])
    assert all(call in allowed for call in pairs(recovered(row).calls))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_half_a_turn_runs_no_half_call(row):
    """However a turn is cut, what runs is a whole call of the whole turn."""
    content = row["content"][:3000]
    allowed = pairs(row["expect"])
    for end in range(0, len(content), 1 + len(content) // 150):
        for call in pairs(recover(content[:end], "", TOOLS).calls):
            assert call in allowed, content[:end]


def flood(piece: str, count: int):
    return pytest.param(piece * count, id=piece[:20].strip() or "blank")


@pytest.mark.parametrize(
    "content",
    [row["content"] for row in ROWS if row["family"] == "stress"]
    + [
        flood("`a``b```c ", 5000),
        flood("<", 50000),
        flood(" \n", 30000),
        flood("```\n", 12000),
        flood("[[{", 15000),
        flood("<tool_call> x ", 4000),
        flood("` <tool_call>{} ", 3000),
        flood('"<tool_call>{"name": 1}</tool_call> ', 1500),
        flood("<function=web_search><parameter=query>", 1500),
        flood("<tool_call>web_search<arg_key>a</arg_key><arg_value>", 1500),
        flood("<|im_end|>x", 5000),
        flood("<think>", 8000),
        flood("to=functions.web_search ", 3000),
        flood('[TOOL_CALLS] [{"name": "web_search", "arguments": {"query": "', 1000),
    ],
)
def test_work_is_linear(content):
    """Each of these is done in a fraction of the wall, and would take minutes if the work were not linear."""
    start = time.perf_counter()
    recover(content, content, TOOLS)
    assert time.perf_counter() - start < 2


# Every format, with any values.

KEYS = {"create_pdf": ("title", "markdown")}
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=60)
nasty = st.one_of(
    texts,
    st.sampled_from(
        [
            "</tool_call> <tool_call>{",
            '[TOOL_CALLS][{"name": "web_search"}]',
            "```python\nprint({'a': \"b\"})\n```",
            'He said "no\\" and left: C:\\data\\new',
            "<|im_end|></s><|channel|>final<|message|>",
            "<think>hm</think>",
            "] } ) ; '''\"\"\"",
        ]
    ),
)


def as_json(name, arguments, key="arguments"):
    return json.dumps({"name": name, key: arguments}, ensure_ascii=False)


def in_python(name, arguments):
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def in_tags(name, arguments):
    values = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    return f"<function={name}>\n{values}</function>"


def in_gemma(name, arguments):
    values = ",".join(f'{key}:<|"|>{value}<|"|>' for key, value in arguments.items())
    return f"call:{name}{{{values}}}"


def only_json(arguments):
    return json.dumps(arguments, ensure_ascii=False)


MARKED = {
    "hermes": lambda n, a: f"<tool_call>\n{as_json(n, a)}\n</tool_call>",
    "string": lambda n, a: f"<tool_call>{as_json(n, only_json(a))}</tool_call>",
    "mistral list": lambda n, a: f"[TOOL_CALLS] [{as_json(n, a)}]",
    "mistral": lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{only_json(a)}",
    "mistral without its mark": lambda n, a: f"{n}[ARGS]{only_json(a)}",
    "python tag": lambda n, a: f"<|python_tag|>{as_json(n, a, 'parameters')}<|eom_id|>",
    "deepseek": lambda n, a: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{only_json(a)}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "kimi": lambda n, a: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{n}:0<|tool_call_argument_begin|>"
        f"{only_json(a)}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "harmony": lambda n, a: (
        f"<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{only_json(a)}<|call|>"
    ),
    "command r": lambda n, a: (
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "{n}", "parameters": {only_json(a)}}}]'
        "<|END_ACTION|>"
    ),
    "functionary": lambda n, a: f"<function={n}>{only_json(a)}</function>",
    "phi": lambda n, a: f"<|tool_call|>[{as_json(n, a)}]<|/tool_call|>",
    "jamba": lambda n, a: f"<tool_calls>[\n{as_json(n, a)}\n]</tool_calls>",
    "internlm": lambda n, a: f"<|action_start|><|plugin|>\n{as_json(n, a, 'parameters')}<|action_end|>",
    "lfm": lambda n, a: f"<|tool_call_start|>[{in_python(n, a)}]<|tool_call_end|>",
    "python dict": lambda n, a: f"<tool_call>{ {'name': n, 'arguments': a}!r}</tool_call>",
}
VERBATIM = {
    "qwen": lambda n, a: f"<tool_call>\n{in_tags(n, a)}\n</tool_call>",
    "gemma": lambda n, a: f"<|tool_call>{in_gemma(n, a)}<tool_call|>",
    "glm": lambda n, a: (
        f"<tool_call>{n}\n"
        + "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n" for k, v in a.items())
        + "</tool_call>"
    ),
}
WHOLE_TURN = {
    "json": as_json,
    "parameters": lambda n, a: as_json(n, a, "parameters"),
    "list": lambda n, a: f"[{as_json(n, a)}]",
    "fence": lambda n, a: f"```json\n{as_json(n, a)}\n```",
    "openai": lambda n, a: json.dumps({"tool_calls": [{"function": {"name": n, "arguments": only_json(a)}}]}),
    "pythonic": lambda n, a: f"[{in_python(n, a)}]",
}


@pytest.mark.parametrize("form", MARKED.values(), ids=MARKED)
@given(title=nasty, markdown=nasty)
@settings(max_examples=25, deadline=None)
def test_marked_call_between_sentences(form, title, markdown):
    arguments = {"title": title, "markdown": markdown}
    found = recover(f"I make it.\n\n{form('create_pdf', arguments)}\nMore soon.", "", TOOLS)
    assert pairs(found.calls) == [("create_pdf", arguments)]
    assert squeezed(found.visible) == "Imakeit.Moresoon."
    assert found.broken is None


@pytest.mark.parametrize("form", WHOLE_TURN.values(), ids=WHOLE_TURN)
@given(title=nasty, markdown=nasty)
@settings(max_examples=25, deadline=None)
def test_call_that_is_the_whole_turn(form, title, markdown):
    arguments = {"title": title, "markdown": markdown}
    found = recover(form("create_pdf", arguments), "", TOOLS)
    assert pairs(found.calls) == [("create_pdf", arguments)]
    assert (found.visible, found.broken) == ("", None)


@pytest.mark.parametrize("form", VERBATIM.values(), ids=VERBATIM)
@given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=60))
@settings(max_examples=25, deadline=None)
def test_call_with_values_letter_by_letter(form, value):
    assume(not any(end in value for end in ("</parameter>", "</arg_value>", '<|"|>')))
    arguments = {"title": "<b>&amp;</b>", "markdown": f"# T\n{value}\\n."}
    found = recover(form("create_pdf", arguments), "", TOOLS)
    assert pairs(found.calls) == [("create_pdf", arguments)]
    assert (found.visible, found.broken) == ("", None)


QUOTED = {
    "fence": "Write:\n\n```\n{}\n```\n\nThat is all.",
    "quote": "The page says:\n\n> {}\n\nI did not do that.",
    "span": "A call is `{}` here.",
    "double span": "A call is ``{}`` here.",
    "indent": "A call:\n\n    {}\n\nThat is all.",
    "guillemets": "Le texte « {} » figure dans la page.",
    "quotes": 'The text "{}" stands in the page.',
    "typographic quotes": "The text “{}” stands in the page.",
    "code tag": "A call is <code>{}</code> here.",
}


@pytest.mark.parametrize("around", QUOTED.values(), ids=QUOTED)
@pytest.mark.parametrize("form", [*MARKED, *VERBATIM])
def test_quoted_call_is_text(around, form):
    call = {**MARKED, **VERBATIM}[form]("web_search", {"query": "cats"})
    content = around.replace("{}", call.replace("\n", " ") if "```" not in around else call)
    found = recover(content, "", TOOLS)
    assert not found.calls and not found.unknown
    assert found.visible == content


@pytest.mark.parametrize("form", WHOLE_TURN)
@pytest.mark.parametrize(
    "around", ["You call it like this:\n\n{}", "{}\n\nThat is how it is written.", "Use {} for it."]
)
def test_unmarked_call_beside_other_text_is_text(around, form):
    content = around.replace("{}", WHOLE_TURN[form]("web_search", {"query": "cats"}))
    found = recover(content, "", TOOLS)
    assert not found.calls
    assert found.visible == content


@given(st.lists(st.sampled_from([*MARKED]), min_size=2, max_size=4))
@settings(max_examples=30, deadline=None)
def test_several_calls_keep_their_order(forms):
    calls = [("web_search", {"query": f"query {number}"}) for number in range(len(forms))]
    content = "\n".join(MARKED[form](*call) for form, call in zip(forms, calls, strict=True))
    found = recover(content, "", TOOLS)
    assert pairs(found.calls) == calls
    assert found.visible == ""


ASKED = as_json("web_search", {"query": "a"})
OTHER = {
    "half a call behind a whole one": (f'[TOOL_CALLS] [{ASKED}, {{"name": "scr', 1, "cut", ""),
    "no closing tag": (f"<tool_call>\n{ASKED}", 1, None, ""),
    "an end that never comes": (f"A <tool_call>{ASKED[:-3]}}}}}</tool_call> b", 0, "malformed", "A b"),
    "nothing in the tags": ("<tool_call>\n</tool_call>", 0, "malformed", ""),
    "a result made up": (
        f'<tool_call>{ASKED}</tool_call>\n<tool_response>{{"a": 1}}</tool_response>Done.', 1, None, "Done.",
    ),
    "other tags of Qwen": (f"<tools>\n{ASKED}\n</tools>", 1, None, ""),
    "JSON in tags": ('<json>{"name": "Léa"}</json>', 0, None, '<json>{"name": "Léa"}</json>'),
    "name and JSON": ('web_search\n{"query": "a"}', 1, None, ""),
    "a sentence that leads to it": (f"I look that up.\n\n{ASKED}", 1, None, "I look that up."),
    "an example that is announced": (f"I would write:\n\n{ASKED}", 0, None, f"I would write:\n\n{ASKED}"),
    "another Python call": ('print("hi")', 0, None, 'print("hi")'),
    "a tag talked about": ("Put it behind <tool_call>.", 0, None, "Put it behind <tool_call>."),
    "thinking tags talked about": ("From <think> to </think>.", 0, None, "From <think> to </think>."),
    "struck out": ("It costs <s>20 €</s> 15 €.", 0, None, "It costs <s>20 €</s> 15 €."),
    "a path with two readings": (
        f"<tool_call>{ASKED[:-3]} C:\\data\\new{ASKED[-3:]}</tool_call>", 0, "malformed", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "count", "broken", "visible"), OTHER.values(), ids=OTHER)
def test_other_turns(content, count, broken, visible):
    found = recover(content, "", TOOLS)
    assert pairs(found.calls) == [("web_search", {"query": "a"})] * count
    assert found.broken == broken
    assert squeezed(found.visible) == squeezed(visible)


@given(st.text(max_size=300), st.text(max_size=100))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read(content, thinking):
    found = recover(content, thinking, TOOLS)
    assert all(call.name in NAMES for call in found.calls)


@given(
    st.lists(
        st.sampled_from(
            ["word ", "a < b ", "`x` ", "*b* ", "1. ", "\n\n", "[1](http://a.example) ", "{x} ", "« y » "]
        )
    )
)
@settings(max_examples=60, deadline=None)
def test_ordinary_text_stays_as_it_is(parts):
    text = "".join(parts)
    assert recover(text, "", TOOLS).visible == text.strip()


def test_without_tools_a_marked_call_is_unknown_and_json_is_text():
    assert [call.name for call in recover(MARKED["hermes"]("web_search", {}), "", []).unknown] == [
        "web_search"
    ]
    text = as_json("web_search", {"query": "a"})
    assert recover(text, "", []).visible == text
