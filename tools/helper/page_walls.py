"""Pages that show a wall instead of their text: a test for programs, a question of consent, a subscription,
or a shell that scripts would fill."""

import re
from urllib.parse import urlsplit

from tools.failure import Failure
from tools.helper.page_tree import PageSigns
from tools.helper.plain_text import one_line

ENOUGH = 200
"""A page with fewer characters may be a wall before the text rather than the text."""
_LONGEST_SAID = 1500

_CHALLENGE = re.compile(
    r"^(just a moment|attention required|access denied|please wait|one moment, please|ddos-guard|"
    r"verify(ing)? (that )?you are (a )?human|are you (a )?(human|robot)|pardon our interruption|"
    r"security check|checking your browser|robot check|un instant|vérification de sécurité|"
    r"access to this page has been denied|robot or human|human verification|bot verification|"
    r"making sure you.re not a bot|vercel security checkpoint|client challenge|sucuri website firewall|"
    r"(un momento|um momento|(nur )?einen moment|één moment|een moment geduld|しばらくお待ちください|"
    r"请稍候|請稍候|잠시만 기다리십시오|один момент)\s*(…|\.\.\.))",
    re.IGNORECASE,
)
"""Titles of pages that stand before a site and look for programs; some in the reader's own language."""
_CHALLENGE_SAID = re.compile(
    r"enable javascript and cookies to continue|checking if the site connection is secure|"
    r"needs to review the security of your connection|incapsula incident id|"
    r"unusual traffic from your computer network|blocked by network security|"
    r"verify(ing)? (that )?you are (a )?human|(make|making) sure you.re not a (ro)?bot",
    re.IGNORECASE,
)
_LOADING = re.compile(
    r"\W*(loading|please wait|chargement|patientez|読み込み中|加载中|載入中|wird geladen|cargando)"
    r"(\W+(the|app|application|page|content|data|please|wait|en|cours))*\W*",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"cookie|consent|rgpd|gdpr|クッキー", re.IGNORECASE)
_ACCEPT = re.compile(
    r"accept all|accept (the )?cookies|accept and continue|agree to all|i (accept|agree)|allow all|"
    r"tout accepter|accepter (et|les|tous)|j'accepte|akzeptieren|aceptar|accetta|同意|すべて許可",
    re.IGNORECASE,
)
_ENABLE_JAVASCRIPT = re.compile(r"java\s?script", re.IGNORECASE)


def check_for_a_wall(text: str, signs: PageSigns, url: str) -> None:
    """Raises Failure where a page shows a wall instead of its text; a wall is never given as the text."""
    if len(text) < 3 * ENOUGH and (evidence := _challenge(text, signs)):
        raise Failure("blocked", url=url, evidence=evidence)
    if (urlsplit(url).hostname or "").startswith("consent.") or (
        len(text) < 3 * ENOUGH and _COOKIES.search(text) and _ACCEPT.search(text)
    ):
        raise Failure("consent", url=url)
    if len(text) >= ENOUGH:
        return
    if not signs.free:
        raise Failure("paywall", url=url)
    bare = signs.scripts > 0 and (not text or _LOADING.fullmatch(text))
    if bare or signs.scripts >= 5 or signs.app_root or _ENABLE_JAVASCRIPT.search(signs.without_scripts):
        told = (signs.title, signs.description, signs.linked, signs.without_scripts, text)
        said = one_line(" · ".join(filter(None, dict.fromkeys(told))), _LONGEST_SAID)
        raise Failure("needs_javascript", url=url, said=said or "-")


def _challenge(text: str, signs: PageSigns) -> str:
    """What shows that a site looks for programs here, "" where nothing does."""
    if _CHALLENGE.search(signs.title):
        return signs.title
    found = _CHALLENGE_SAID.search(f"{text}\n{signs.without_scripts}")
    return one_line(found[0]) if found else ""
