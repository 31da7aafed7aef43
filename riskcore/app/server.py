"""The application behind its guard: addresses, forms, templates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, partial
from importlib.resources import files as resources
from typing import Any
from urllib.parse import parse_qsl

from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from riskcore.app.forms import FORMATS, Form, shown
from riskcore.app.guard import App, Guard, Receive, Scope, Send
from riskcore.app.history import Version
from riskcore.app.jobs import FAILURES, words_of
from riskcore.app.pages import PAGES
from riskcore.app.pages.page import View
from riskcore.app.texts import LANGUAGES, READER, Reader, capital, load_texts, told
from riskcore.app.verdict import verdict_of
from riskcore.app.workbench import Workbench
from riskcore.common.sentences import Number, Sentence
from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.report.templating import environment, finalized

_STATIC = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "drag.js": "text/javascript",
}
# What a reader chooses, kept in a cookie.
_CHOICES: dict[str, Collection[str]] = {"language": LANGUAGES, "numbers": FORMATS}
_YEAR = 365 * 24 * 3600


class Server:
    """The answers of the app."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.pages = {page.name: page for page in PAGES}
        self.guard: Guard | None = None
        self._said: dict[str, str] = {}

    def application(self, hosts: Collection[str], token: str) -> Guard:
        """Return the application behind its guard."""
        routes = [
            Route("/", self.first),
            Route("/status", self.status),
            Route("/reader", self.reader, methods=["POST"]),
            Route("/{step:str}", self.step, methods=["POST"]),
            Route("/static/{name:str}", self.static),
            Route("/{page:str}", self.page),
            Route("/{page:str}/{part:str}", self.part),
            Route("/{page:str}/{action:str}", self.action, methods=["POST"]),
        ]
        app = _reading(Starlette(routes=routes))
        self.guard = Guard(app, hosts=hosts, token=token)
        return self.guard

    # --- answers ---

    async def first(self, request: Request) -> Response:
        """Lead to the first page."""
        return RedirectResponse(f"/{next(iter(self.pages))}", 303)

    async def page(self, request: Request) -> Response:
        """Show a page."""
        page = self.pages.get(request.path_params["page"])
        if page is None:
            return self._missing(request)
        return await self._rendered(request, page.name, f"{page.name}.html", page.view)

    async def part(self, request: Request) -> Response:
        """Show a part of a page, for the fields of a form or of the address."""
        page = self.pages.get(request.path_params["page"])
        asked = request.path_params
        part = str(asked.get("part") or asked["action"])
        view = None if page is None else page.parts.get(part)
        if page is None or view is None:
            return self._missing(request)
        name = f"{page.name}_{part}.html"
        return await self._rendered(request, page.name, name, view)

    async def action(self, request: Request) -> Response:
        """Do what a form asks for, and lead back to its page."""
        page = self.pages.get(request.path_params["page"])
        name = request.path_params["action"]
        if page is not None and name in page.parts:
            return await self.part(request)
        action = None if page is None else page.actions.get(name)
        if page is None or action is None:
            return self._missing(request)
        form = Form.of(request.scope["state"]["form"], _numbers(request))
        back = form.text("back") or page.name
        return await self._done(request, partial(action, self.bench, form), back)

    async def step(self, request: Request) -> Response:
        """Undo, redo, cancel or begin again, and lead back to the page."""
        form = Form.of(request.scope["state"]["form"], _numbers(request))
        history = self.bench.history
        steps = {
            "undo": history.undo,
            "redo": history.redo,
            "cancel": self.bench.jobs.cancel,
            "retry": self.bench.jobs.retry,
        }
        step = steps.get(request.path_params["step"])
        if step is None:
            return self._missing(request)
        return await self._done(request, lambda: step() or "", form.text("back"))

    async def reader(self, request: Request) -> Response:
        """Choose the language, or how numbers are written."""
        form = Form.of(request.scope["state"]["form"], _numbers(request))
        answer = self._back(form.text("back"))
        for name, choices in _CHOICES.items():
            if (chosen := form.text(name)) in choices:
                answer.set_cookie(
                    f"riskcore-{name}", chosen, _YEAR, httponly=True, samesite="strict"
                )
        return answer

    async def status(self, request: Request) -> Response:
        """Tell what is being done, and how many look."""
        assert self.guard is not None
        jobs = self.bench.jobs
        if jobs.active:  # long work is use
            self.guard.renew()
        return JSONResponse(
            {
                "version": self.bench.history.current.number,
                "viewers": self.guard.viewers(),
                "jobs": [
                    {"kind": job.kind, "line": printable(told(job.line))}
                    for job in jobs.active
                ],
                "ended": jobs.ended,
            }
        )

    async def static(self, request: Request) -> Response:
        """Send a style sheet or a script."""
        name = request.path_params["name"]
        if name not in _STATIC:
            return self._missing(request)
        return Response(_static(name), media_type=_STATIC[name])

    # --- how ---

    async def _done(self, request: Request, work: Any, back: str) -> Response:
        """Do some work and lead back, or say why it cannot be done."""
        try:
            said = await run_in_threadpool(work)
        except FAILURES as error:
            return await self._refused(request, words_of(error))
        # The next page that this browser asks for says what was done.
        self._said[request.scope["state"]["csrf"]] = said
        return self._back(back)

    def _back(self, back: str) -> Response:
        """Lead to a page of ours."""
        name = back.split("?", 1)[0].strip("/")
        target = back.lstrip("/") if name in self.pages else next(iter(self.pages))
        return RedirectResponse(f"/{target}", 303)

    async def _refused(self, request: Request, words: str) -> Response:
        """Say why something cannot be done; nothing has changed."""
        text = await run_in_threadpool(
            self._render,
            request,
            "refused.html",
            "refused",
            {"words": words, "ended": 0},
            self.bench.history.current,
        )
        return HTMLResponse(text, 422)

    async def _rendered(
        self, request: Request, name: str, template: str, view: View
    ) -> Response:
        """Render a template with the values of a view."""
        sent = request.scope["state"].get("form")
        asked = parse_qsl(request.url.query, keep_blank_values=True)
        form = Form.of(asked if sent is None else sent, _numbers(request))

        def render() -> str:
            # Work that ends from now on may be missing in the page.
            ended, version = self.bench.jobs.ended, self.bench.history.current
            values = {"ended": ended, **view(self.bench, form)}
            return self._render(request, template, name, values, version)

        try:
            return HTMLResponse(await run_in_threadpool(render))
        except FAILURES as error:
            return await self._refused(request, words_of(error))

    def _render(
        self,
        request: Request,
        file: str,
        name: str,
        values: Mapping[str, Any],
        version: Version,
    ) -> str:
        """Render a template with the values that all pages share."""
        # The verdict is that of the version that was shown before the values were made.
        bench, numbers, texts = self.bench, _numbers(request), load_texts()
        template, csrf = _templates().get_template(file), request.scope["state"]["csrf"]
        state, verdict = verdict_of(bench, version)
        whole = file in (f"{name}.html", "refused.html")
        said = self._said.pop(csrf, "") if whole else ""
        back = f"{name}?{request.url.query}" if request.url.query else name
        page_text: str = template.render(
            csrf=csrf,
            t=texts,
            p=texts.get(name, {}),
            n=partial(shown, numbers=numbers),
            capital=capital,
            numbers=numbers,
            formats=FORMATS,
            language=READER.get().language,
            languages=LANGUAGES,
            page=name,
            pages=[*self.pages],
            back=back,
            file=printable(bench.source.path.name) if bench.source.path else "",
            history=bench.history,
            version=version,
            state=state,
            verdict=verdict,
            said=said,
            jobs=bench.jobs.active,
            app_version=__version__,
            **values,
        )
        return page_text

    def _missing(self, request: Request) -> Response:
        """Answer that there is no such page."""
        return HTMLResponse("There is no such page.", 404)


def _numbers(request: Request) -> Any:
    """Return how the reader writes numbers."""
    return READER.get().numbers


def _reading(app: App) -> App:
    """Return an application that knows who reads its answers."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        language, numbers = (request.cookies.get(f"riskcore-{x}") for x in _CHOICES)
        accepted = request.headers.get("accept-language", "")
        READER.set(Reader.of(language, numbers, accepted))
        await app(scope, receive, send)

    return answer


@cache
def _static(name: str) -> bytes:
    """Return a style sheet or a script; the style begins with that of reports."""
    own = resources("riskcore.app").joinpath("templates", name).read_bytes()
    if name != "app.css":
        return own
    shared = resources("riskcore.report").joinpath("templates", "style.css")
    return shared.read_bytes() + own


def _finalized(value: Any) -> Any:
    """Return a value for a template: text of the package as the reader writes it."""
    return finalized(_told(value))


def _told(value: Any) -> Any:
    """Return text of the package as the reader writes it, and other values as is."""
    return told(value) if isinstance(value, Sentence | Number) else value


@cache
def _templates() -> Any:
    """Return the templates of the app and of reports."""
    templates = environment("riskcore.app", "riskcore.report")
    templates.finalize = _finalized
    label = templates.filters["label"]
    templates.filters["label"] = lambda value: label(_told(value))
    templates.filters["told"] = told
    templates.filters["lines"] = lambda text: Markup(
        "\n".join(str(escape(printable(line))) for line in text.splitlines())
    )
    return templates
