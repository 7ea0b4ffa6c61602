"""The page as a gr.Blocks whose `launch()` brings its look, its rules and its addresses by itself."""

import logging
import os
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.exceptions import InvalidPathError
from gradio_client.utils import is_file_obj_with_meta, is_http_url_like, traverse
from starlette.middleware import Middleware

from agent.assistant import Assistant
from agent.settings import parse_accounts
from locales import languages, load_locale
from ui.guard import Guard
from ui.identity import LOOPBACK, CookieKey, Doorkeeper
from ui.routes import attachment_route, document_route, sign_in_route

log = logging.getLogger(__name__)

HERE = Path(__file__).parent
TITLE = "Agent panel"


_UPLOADS = (3600, 3600)
"""Seconds between two looks for uploaded files, and the age at which such a one is deleted."""


def interface_texts() -> gr.I18n:
    """The labels of the page in every language, chosen by the browser's."""
    return gr.I18n(**{language: dict(load_locale(language).texts["ui"]) for language in languages()})


class Panel(gr.Blocks):
    """The page. `launch` may be called as for any Blocks: from a script, a notebook or a Space."""

    def __init__(self, assistant: Assistant, texts: gr.I18n) -> None:
        super().__init__(
            title=TITLE, analytics_enabled=False, fill_height=True, fill_width=True, delete_cache=_UPLOADS
        )
        self.assistant = assistant
        self.texts = texts
        self.server_is_open = False
        settings = assistant.store.current
        key = CookieKey(Path(settings.outputs) / "cookie.key")
        self.doorkeeper = Doorkeeper(key, parse_accounts(settings.auth))

    def is_open(self) -> bool:
        """Whether people other than the one at this machine may reach the panel."""
        return self.server_is_open or bool(self.share)

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *others: Any, **options: Any) -> Any:
        """As Gradio's own, which would fetch any address that stands in the place of an uploaded file."""
        traverse(inputs, _refuse_address, is_file_obj_with_meta)
        return await super().preprocess_data(block_fn, inputs, *others, **options)

    def launch(self, **options: Any) -> Any:  # type: ignore[override]
        """Start serving; takes what gr.Blocks.launch takes, by keyword."""
        if options.get("auth"):
            raise TypeError("logins are a setting of the panel: build(auth='name:password')")
        host = options.get("server_name") or os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1"
        self.server_is_open = host not in LOOPBACK
        app = dict(options.pop("app_kwargs", None) or {})
        app["middleware"] = [self._guard(), *app.get("middleware", [])]
        app["routes"] = [
            document_route(self.assistant.documents),
            attachment_route(self.assistant.conversations),
            sign_in_route(self.doorkeeper),
            *app.get("routes", []),
        ]
        ours: dict[str, Any] = {
            "server_name": host,
            "share": None,
            "i18n": self.texts,
            "theme": _theme(),
            "css_paths": HERE / "style.css",
            # Not 40: Gradio would then share Starlette's pool with page loads.
            "max_threads": 256,
            "max_file_size": "25mb",
            "run_history": False,
            "enable_monitoring": False,
            "ssr_mode": False,
            "footer_links": [],
            "pwa": False,
        }
        self.queue(max_size=200, default_concurrency_limit=None, api_open=False)
        return super().launch(**ours | options, app_kwargs=app)

    def serve(self, host: str | None = None, port: int | None = None, share: bool = False) -> None:
        """Launch, say in the terminal where, and stay until Ctrl-C."""
        try:
            self.launch(server_name=host, server_port=port, share=share, prevent_thread_lock=True, quiet=True)
        except OSError as error:
            remedy = f"Port {port} is taken or not allowed; name another with --port." if port else str(error)
            raise SystemExit(f"The panel can't start. {remedy}") from error
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        for line in self._addresses(share):
            print(line, flush=True)
        self.block_thread()

    def _addresses(self, share: bool) -> list[str]:
        lines = [f"Agent panel: {self.local_url}"]
        if share and not self.share_url:
            lines.append("No public link could be made (see above); the panel goes on at the address above.")
        if self.share_url:
            lines.append(f"Public link: {self.share_url}")
        if self.is_open() and not self.doorkeeper.needs_login:
            base = str(self.share_url or self.local_url).rstrip("/")
            lines += [
                "Whoever opens it can chat, in a session of their own, but change no setting.",
                f"The owner's link, to keep to yourself: {base}/?owner={self.doorkeeper.owner_token}",
            ]
        return lines

    def _guard(self) -> Middleware:
        return Middleware(
            Guard,
            doorkeeper=self.doorkeeper,
            is_open=self.is_open,
            is_shared=lambda: bool(self.share),
            language=lambda: self.assistant.store.current.language,
            framers=self._framers,
        )

    def _framers(self) -> list[str]:
        """The sites whose own page holds the panel in a frame, where it runs on a machine of theirs."""
        if self.space_id:
            return ["https://huggingface.co"]
        if getattr(self, "is_colab", False):  # Gradio knows once it is launched
            return ["https://colab.research.google.com", "https://*.googleusercontent.com"]
        return []


def _refuse_address(file: dict[str, Any]) -> None:
    if is_http_url_like(file["path"].strip().lower()):
        raise InvalidPathError("Only files that were uploaded can be attached.")


def _theme() -> gr.themes.Base:
    """Calm colours, and the reader's own system fonts: nothing is loaded, and every script is there."""
    return gr.themes.Soft(
        primary_hue="indigo",
        neutral_hue="slate",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    ).set(
        block_title_background_fill="transparent",
        block_title_padding="0",
        block_title_text_color="*body_text_color",
        block_title_text_weight="600",
        block_title_background_fill_dark="transparent",
        block_title_text_color_dark="*body_text_color",
        block_label_background_fill="transparent",
        input_border_width="1px",
        input_border_color="*neutral_300",
        input_border_color_dark="*border_color_primary",
        button_border_width="1px",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*border_color_primary",
        checkbox_label_border_width="1px",
        checkbox_label_border_color="*neutral_300",
        checkbox_label_border_color_dark="*border_color_primary",
        checkbox_border_color="*neutral_400",
    )
