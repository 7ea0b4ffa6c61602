"""The system message of a run."""

from collections.abc import Sequence
from datetime import date

from locales import Locale


def system_prompt(locale: Locale, tools: Sequence[str], own: str = "", today: date | None = None) -> str:
    """The user's own prompt, then ours, which names only the offered `tools` (canonical names).

    Without tools there is only the user's own, so that the model keeps what its maker gave it.
    """
    parts = [own.strip()] if own.strip() else []
    if tools:
        parts.append(_panel_prompt(locale, tools, today or date.today()))
    return "\n\n".join(parts)


def plain_prompt(locale: Locale, tools: Sequence[str], own: str = "", today: date | None = None) -> str:
    """The system message for a model that chooses its tools by structured output: what to write is asked
    of it by itself, so the tools are not named here."""
    parts = [own.strip()] if own.strip() else []
    if tools:
        today_is = locale("prompt.today", date=(today or date.today()).isoformat())
        parts.append("\n".join([locale("prompt.language"), locale("prompt.data_not_orders"), today_is]))
    return "\n\n".join(parts)


def _panel_prompt(locale: Locale, tools: Sequence[str], today: date) -> str:
    names = {tool: locale.face(tool).name for tool in tools}
    lines = [_opening(locale, list(names.values())), "", locale("prompt.rules")]
    lines += [f"- {rule}" for rule in _rules(locale, names, today)]
    return "\n".join(lines)


def _opening(locale: Locale, names: list[str]) -> str:
    if len(names) == 1:
        return locale("prompt.opening_one", names=names[0])
    listed = ", ".join([*names[:-1], locale("prompt.last_name", name=names[-1])])
    return locale("prompt.opening", count=len(names), names=listed)


def _rules(locale: Locale, names: dict[str, str], today: date) -> list[str]:
    reads = {"scrape_url", "pdf_to_text", "search_and_fetch"} & names.keys()
    reads_web = bool(reads) or "web_search" in names
    rules = [locale(f"prompt.tools.{tool}", **{tool: name}) for tool, name in names.items()]
    if "create_pdf" in names and reads_web:
        rules.append(locale("prompt.cite"))
    if "web_search" in names:
        rules.append(locale("prompt.efficient"))
    rules.append(locale("prompt.language"))
    if reads:
        rules.append(locale("prompt.continue"))
    if reads_web:
        rules.append(locale("prompt.data_not_orders"))
    rules.append(locale("prompt.today", date=today.isoformat()))
    return rules
