"""All languages say the same things."""

import re
from pathlib import Path

import pytest

from locales import choose_language, languages, load_locale

ROOT = Path(__file__).parent.parent
SOURCES = [path for folder in ("agent", "tools", "ui") for path in (ROOT / folder).rglob("*.py")]


def flat(node, prefix=""):
    if isinstance(node, dict):
        return {
            k: v for key, value in node.items() for k, v in flat(value, f"{prefix}.{key}".lstrip(".")).items()
        }
    return {prefix: node}


@pytest.mark.parametrize("language", languages())
def test_same_keys_and_same_values_to_fill_in(language):
    english, other = flat(load_locale("en").texts), flat(load_locale(language).texts)

    def differ_freely(key: str) -> bool:  # a language's face of a tool may offer other arguments
        return re.match(r"tools\.\w+\.(arguments|defaults)", key) is not None

    assert {key for key in other if not differ_freely(key)} == {
        key for key in english if not differ_freely(key)
    }
    for key, text in other.items():
        if not differ_freely(key):
            fields = set(re.findall(r"\{(\w+)\}", str(text)))
            assert fields == set(re.findall(r"\{(\w+)\}", str(english[key]))), key


@pytest.mark.parametrize("language", languages())
def test_every_failure_that_is_raised_has_its_texts(language):
    locale = load_locale(language)
    kinds = {
        kind
        for path in SOURCES
        for kind in re.findall(r'Failure\(\s*"(\w+)"', path.read_text(encoding="utf-8"))
    }
    assert len(kinds) > 20
    for kind in kinds:
        assert locale.get(f"errors.{kind}.cause"), kind
        assert locale.get(f"errors.{kind}.remedy") is not None, kind


def test_japanese_faces_have_the_english_names_and_japanese_descriptions():
    english, japanese = load_locale("en"), load_locale("ja")
    assert list(japanese.texts["tools"]) == list(english.texts["tools"])
    for tool in english.texts["tools"]:
        face, model = japanese.face(tool), english.face(tool)
        assert face.name == model.name and face.defaults == model.defaults
        assert [(key, shown["name"]) for key, shown in face.arguments.items()] == [
            (key, shown["name"]) for key, shown in model.arguments.items()
        ]
        for description in (face.description, *(shown["description"] for shown in face.arguments.values())):
            assert re.search("[\u3040-\u30ff\u4e00-\u9fff]", description), description


def test_every_text_is_used():
    """A key that no source names, whole or by its last part, is left over from something."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in [*SOURCES, ROOT / "app.py"])
    composed = (
        "prompt.tools",
        "tools.",
        "steps.",
        "counted.",
        "ui.example_",
        "ui.column_",
        "ui.badge_",
        "ui.built_in_",
        "actions.",
        "results.page_",
        "ui.set_",
    )
    for key in flat(load_locale("en").texts):
        if key.startswith(composed) or key == "language.name":
            continue
        parts = key.split(".")
        name = parts[-1] if parts[0] in ("ui", "prompt", "results") else parts[1]
        assert re.search(rf"\b{name}\b", code), key


@pytest.mark.parametrize(
    ("accepted", "fixed", "chosen"),
    [
        ("fr-FR,fr;q=0.9,en;q=0.8", "auto", "fr"),
        ("de,fr;q=0.5", "auto", "fr"),
        ("en;q=0.3, fr;q=0.9", "auto", "fr"),
        ("de", "auto", "en"),
        ("", "auto", "en"),
        ("fr", "en", "en"),
        ("en", "xx", "en"),
        ("fr_FR.UTF-8", "auto", "fr"),
        ("ja,en;q=0.5", "auto", "ja"),
        ("ja_JP.UTF-8", "auto", "ja"),
        ("C.UTF-8", "auto", "en"),
        (";;;q=x,,", "auto", "en"),
    ],
)
def test_choice_of_language(accepted, fixed, chosen):
    assert choose_language(accepted, fixed) == chosen
