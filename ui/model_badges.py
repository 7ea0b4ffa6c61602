"""What a model can do, as short marks: in the selector as text, in the models tab as badges."""

from agent.models import ModelInfo
from locales import Locale

TOOLS = "🛠 tools"


def badges(model: ModelInfo, locale: Locale) -> list[str]:
    """The marks of a model, the most telling first."""
    found = []
    if model.built_in:
        return [locale("ui.badge_built_in")]
    if model.calls_tools:
        found.append(TOOLS)
    elif model.tools == "unknown":
        found.append(locale("ui.badge_unknown"))
    if model.vision:
        found.append(locale("ui.badge_vision"))
    if model.thinking:
        found.append(locale("ui.badge_thinking"))
    if model.embedding_only:
        found.append(locale("ui.badge_embedding"))
    if model.cloud:
        found.append(locale("ui.badge_cloud"))
    return found


def model_label(model: ModelInfo, locale: Locale) -> str:
    """A line of the selector."""
    return "  ·  ".join([model.name, *badges(model, locale)])
