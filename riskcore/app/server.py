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
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from riskcore.app.forms import FORMATS, Form, format_of, sentence_in_format, shown
from riskcore.app.guard import Guard
from riskcore.app.history import Version
from riskcore.app.jobs import FAILURES, words_of
from riskcore.app.pages import PAGES
from riskcore.app.pages.page import View
from riskcore.app.panel import panel_of
from riskcore.app.texts import load_texts
from riskcore.app.workbench import Workbench
from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.report.templating import environment

_STATIC = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "drag.js": "text/javascript",
    "vendor/htmx.min.js": "text/javascript",
    "vendor/idiomorph-ext.min.js": "text/javascript",
}
_FORMAT = "riskcore-numbers"
# Pages beside the steps.
_TOOLS = ("history",)
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
            Route("/numbers", self.numbers, methods=["POST"]),
            Route("/leave", self.leave, methods=["POST"]),
            Route("/{step:str}", self.step, methods=["POST"]),
            Route("/static/{name:path}", self.static),
            Route("/{page:str}", self.page),
            Route("/{page:str}/{part:str}", self.part),
            Route("/{page:str}/{action:str}", self.action, methods=["POST"]),
        ]
        self.guard = Guard(Starlette(routes=routes), hosts=hosts, token=token)
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

    async def numbers(self, request: Request) -> Response:
        """Choose how numbers are written."""
        form = Form.of(request.scope["state"]["form"], _numbers(request))
        answer = self._back(form.text("back"))
        if form.text("format") in FORMATS:
            answer.set_cookie(
                _FORMAT, form.text("format"), _YEAR, httponly=True, samesite="strict"
            )
        return answer

    async def status(self, request: Request) -> Response:
        """Show the panel, and tell a page whether work has ended since it was made."""
        guard, jobs, version = self.guard, self.bench.jobs, self.bench.history.current
        assert guard is not None
        if jobs.active:  # long work is use
            guard.renew()
        form = Form.of(parse_qsl(request.url.query), _numbers(request))
        values = {
            "back": self._target(form.text("back")),
            "seen": form.text("version"),
            "ended": form.text("ended"),
        }
        text = await run_in_threadpool(
            self._render, request, "panel.html", "", values, version
        )
        has_ended = values["ended"] != str(jobs.ended)
        return HTMLResponse(
            text, headers={"HX-Trigger": "ended"} if has_ended else None
        )

    async def leave(self, request: Request) -> Response:
        """Count the browser of a page that was closed no longer."""
        assert self.guard is not None
        self.guard.leave(request.scope["state"]["csrf"])
        return Response(status_code=204)

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
        return RedirectResponse(f"/{self._target(back)}", 303)

    def _target(self, back: str) -> str:
        """Return the page of ours that a form names, or the first."""
        name = back.split("?", 1)[0].strip("/")
        return back.lstrip("/") if name in self.pages else next(iter(self.pages))

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
        # The panel is that of the version that was shown before the values were made.
        bench, numbers, texts = self.bench, _numbers(request), load_texts()
        template, csrf = _templates().get_template(file), request.scope["state"]["csrf"]
        whole = file in (f"{name}.html", "refused.html")
        said = self._said.pop(csrf, "") if whole else ""
        back = f"{name}?{request.url.query}" if request.url.query else name
        shared = {
            "csrf": csrf,
            "t": texts,
            "p": texts.get(name, {}),
            "n": partial(shown, numbers=numbers),
            "sentence": partial(sentence_in_format, numbers=numbers),
            "numbers": numbers,
            "formats": FORMATS,
            "page": name,
            "pages": [*self.pages],
            "steps": [x for x in self.pages if x not in _TOOLS],
            "back": back,
            "file": printable(bench.source.path.name) if bench.source.path else "",
            "history": bench.history,
            "version": version,
            "seen": str(version.number),
            "panel": cache(partial(panel_of, bench, version)),
            "viewers": self.guard.viewers() if self.guard else 1,
            "said": said,
            "jobs": bench.jobs.active,
            "app_version": __version__,
        }
        page_text: str = template.render({**shared, **values})
        return page_text

    def _missing(self, request: Request) -> Response:
        """Answer that there is no such page."""
        return HTMLResponse("There is no such page.", 404)


def _numbers(request: Request) -> Any:
    """Return how the reader writes numbers."""
    languages = request.headers.get("accept-language", "")
    return format_of(request.cookies.get(_FORMAT), languages)


@cache
def _static(name: str) -> bytes:
    """Return a style sheet or a script; the style begins with that of reports."""
    own = resources("riskcore.app").joinpath("static", name).read_bytes()
    if name != "app.css":
        return own
    shared = resources("riskcore.report").joinpath("templates", "style.css")
    return shared.read_bytes() + own


@cache
def _templates() -> Any:
    """Return the templates of the app and of reports."""
    templates = environment("riskcore.app", "riskcore.report")
    templates.filters["lines"] = lambda text: Markup(
        "\n".join(str(escape(printable(line))) for line in text.splitlines())
    )
    return templates
