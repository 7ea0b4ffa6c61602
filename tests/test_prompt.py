"""The system message: the user's own prompt, then ours for the tools that are offered."""

from datetime import date

from agent.prompt import system_prompt
from locales import load_locale

FR, EN = load_locale("fr"), load_locale("en")
DAY = date(2026, 11, 30)


def test_fixed_text_in_french():
    prompt = system_prompt(FR, ["web_search", "scrape_url", "create_pdf"], today=DAY)
    assert prompt.startswith(
        """Tu es un assistant avec accès à 3 outils : rechercher_web, lire_page, et creer_pdf.

Règles :
- Utilise rechercher_web pour toute info récente ou à vérifier
- Utilise lire_page après une recherche pour approfondir 1 ou 2 résultats pertinents (pas tous)
- Utilise creer_pdf quand l'utilisateur demande un document, rapport, ou PDF
- Quand tu génères un PDF basé sur des sources web, cite les URLs dans le PDF
- Sois efficace : pas plus de 2-3 recherches sauf si vraiment nécessaire
- Réponds en français si l'utilisateur écrit en français"""
    )
    assert "continuer_depuis" in prompt and "next_token" in prompt
    assert "2026-11-30" in prompt


def test_only_offered_tools_are_named():
    prompt = system_prompt(FR, ["create_pdf"], today=DAY)
    assert "1 outil : creer_pdf" in prompt
    assert "rechercher_web" not in prompt and "lire_page" not in prompt and "next_token" not in prompt
    assert "2-3 recherches" not in prompt and "sources web" not in prompt


def test_own_prompt_comes_first():
    prompt = system_prompt(EN, ["web_search"], own="Be a pirate.\n", today=DAY)
    assert prompt.startswith("Be a pirate.\n\nYou are an assistant with access to 1 tool: web_search.")


def test_without_tools_there_is_only_the_own_prompt():
    assert system_prompt(EN, [], today=DAY) == ""
    assert system_prompt(EN, [], own="Be brief.", today=DAY) == "Be brief."
