"""The panel's own addresses beside Gradio's: made documents, and signing in."""

import asyncio
import html
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from agent.history import Conversations
from locales import load_locale
from tools.documents import DocumentStore
from tools.failure import Failure
from ui.guard import SIGN_IN, cookie_header
from ui.identity import Doorkeeper, Person, new_ticket

_SECONDS_PER_TRY = 0.3
_WAITING = 20


def document_route(documents: DocumentStore) -> Route:
    """`pdfs/NAME`, for its owner alone; `?view` shows it in the browser instead of downloading it."""

    async def document(request: Request) -> Response:
        person: Person = request.state.person
        try:
            path = documents.path(person.owner, request.path_params["name"])
        except Failure as failure:
            return PlainTextResponse(str(failure.told(load_locale(person.language))), 404)
        disposition = "inline" if "view" in request.query_params else "attachment"
        return FileResponse(
            path,
            media_type="application/pdf",
            filename=path.name,
            content_disposition_type=disposition,
            headers={"cache-control": "private, no-store"},
        )

    return Route("/pdfs/{name}", document)


def attachment_route(conversations: Conversations) -> Route:
    """`files/CONVERSATION/NUMBER`, for the session whose chat it is alone. Images are shown, all else is
    downloaded: a page that somebody attached must not run here."""

    async def attachment(request: Request) -> Response:
        person: Person = request.state.person
        conversation = conversations.find(person.session, request.path_params["conversation"])
        try:
            if conversation is None:
                raise Failure("attachment_missing", id="attachment", known="-")
            file = conversation.attachments.find(request.path_params["number"])
            content = conversation.attachments.read(file)
        except Failure as failure:
            return PlainTextResponse(str(failure.told(load_locale(person.language))), 404)
        shown = "inline" if file.kind == "image" else "attachment"
        headers = {
            "content-disposition": f"{shown}; filename*=utf-8''{quote(file.name, safe='')}",
            "cache-control": "private, no-store",
        }
        return Response(content, media_type=file.content_type, headers=headers)

    return Route("/files/{conversation}/{number}", attachment)


def sign_in_route(doorkeeper: Doorkeeper) -> Route:
    """The page for logins. Tries go one by one, so that guessing is slow however many guess."""
    one_by_one = asyncio.Lock()
    waiting = 0

    async def sign_in(request: Request) -> Response:
        nonlocal waiting
        language = request.state.language
        if request.method == "GET":
            return _form(language)
        if waiting >= _WAITING:
            return _form(language, "sign_in_busy", 429)
        form = await request.form()
        login, password = str(form.get("login", "")), str(form.get("password", ""))
        waiting += 1
        try:
            async with one_by_one:
                if not doorkeeper.admits(login, password):
                    await asyncio.sleep(_SECONDS_PER_TRY)
                    return _form(language, "sign_in_wrong", 403)
        finally:
            waiting -= 1
        answer = RedirectResponse("./", 303)
        answer.headers["set-cookie"] = cookie_header(doorkeeper, new_ticket(login), request)
        return answer

    return Route(SIGN_IN, sign_in, methods=["GET", "POST"])


def _form(language: str, problem: str = "", status: int = 200) -> HTMLResponse:
    locale = load_locale(language)

    def text(key: str) -> str:
        return html.escape(locale(f"ui.{key}"))

    told = f'<p role="alert">{text(problem)}</p>' if problem else ""
    return HTMLResponse(
        f"""<!doctype html><html lang="{locale.language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{text("title")}</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }}
form {{ max-width: 20rem; margin: 15vh auto; padding: 0 1rem; display: grid; gap: .8rem }}
input, button {{ font: inherit; padding: .6rem; width: 100%; box-sizing: border-box }}
[role=alert] {{ color: light-dark(#b3261e, #ffb4ab) }}
</style></head><body><form method="post" action="">
<h1>{text("title")}</h1>{told}
<label>{text("login")}<input name="login" autocomplete="username" required autofocus></label>
<label>{text("password")}
<input name="password" type="password" autocomplete="current-password" required></label>
<button>{text("sign_in")}</button></form></body></html>""",
        status,
    )
