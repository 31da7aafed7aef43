"""The application behind its guard: addresses, forms, templates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from importlib.resources import files as resources
from typing import Any
from urllib.parse import parse_qsl, unquote

from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from riskcore.app.desk import Desk
from riskcore.app.folders import LARGEST
from riskcore.app.forms import (
    FORMATS,
    Form,
    shown,
    size_shown,
)
from riskcore.app.guard import App, Guard, Receive, Scope, Send
from riskcore.app.jobs import FAILURES, words_of
from riskcore.app.pages import PAGES, start
from riskcore.app.pages.page import Action, Answer, Page, View
from riskcore.app.panel import panel_of
from riskcore.app.session import NotYetError
from riskcore.app.texts import (
    LANGUAGES,
    READER,
    Reader,
    capital,
    load_texts,
    step_told,
    told,
)
from riskcore.app.workbench import Workbench
from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.report.templating import environment, finalized

# What a reader chooses, kept in a cookie.
_CHOICES: dict[str, Collection[str]] = {"language": LANGUAGES, "numbers": FORMATS}
# Pages beside the steps.
_TOOLS = ("history", "best")
_YEAR = 365 * 24 * 3600
_STEPS: Mapping[str, Callable[[Workbench], None]] = {
    "undo": lambda bench: bench.history.undo(),
    "redo": lambda bench: bench.history.redo(),
    "cancel": lambda bench: bench.jobs.cancel(),
    "retry": lambda bench: bench.jobs.retry(),
}


class Server:
    """The answers of the app."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.pages = {page.name: page for page in PAGES}
        self.guard: Guard | None = None
        # For the next page that a browser asks for, by the secret of its forms.
        self._said: dict[str, str] = {}
        self._refusals: dict[str, tuple[Form, str]] = {}

    def application(self, hosts: Collection[str], token: str) -> Guard:
        """Return the application behind its guard."""
        report = resources("riskcore.report").joinpath("templates", "style.css")
        style = partial(FileResponse, str(report), media_type="text/css")
        routes = [
            Route("/", self.first),
            Route("/start", self.start),
            Route("/status", self.status),
            _post("/reader", self.reader),
            *(_post(f"/{name}", partial(self.step, name)) for name in _STEPS),
            _post("/leave", self.leave),
            _post("/start/send", self.send),
            *(
                _post(f"/start/{name}", partial(self.from_start, name))
                for name in start.ACTIONS
            ),
            Route("/static/report.css", lambda _: style()),
            Mount("/static", StaticFiles(packages=[("riskcore.app", "static")])),
            *(route for page in PAGES for route in self._routes(page)),
        ]
        app = Starlette(routes=routes, exception_handlers={404: _missing})
        self.guard = Guard(
            _reading(app), hosts=hosts, token=token, largest_file=LARGEST
        )
        return self.guard

    def _routes(self, page: Page) -> Iterator[Route]:
        """Yield the routes of a page, its parts and its actions."""
        shown = partial(self.page, page.name, f"{page.name}.html", page.view)
        yield Route(f"/{page.name}", shown)
        for name, view in page.parts.items():
            part = partial(self.page, page.name, f"{page.name}_{name}.html", view)
            yield Route(f"/{page.name}/{name}", part, methods=["GET", "POST"])
        for name, answer in page.answers.items():
            yield Route(f"/{page.name}/{name}", partial(self.answer, answer))
        for name, action in page.actions.items():
            yield _post(f"/{page.name}/{name}", partial(self.action, page, action))

    # --- answers ---

    async def first(self, request: Request) -> Response:
        """Lead to the data of the file that is open, else to the files."""
        return RedirectResponse("/data" if self.desk.is_open else "/start", 303)

    async def start(self, request: Request) -> Response:
        """Show the start page."""
        refused = self._refusals.pop(_csrf(request), None)
        view = partial(start.view, self.desk, _form(request), refused)
        return await self._rendered(request, "start", "start.html", view)

    async def from_start(self, name: str, request: Request) -> Response:
        """Open or remove a file, and lead to it; a refused one gets its reading."""
        form, action = _form(request), start.ACTIONS[name]
        try:
            words = await run_in_threadpool(action, self.desk, form)
        except FAILURES as error:
            if name != "open":
                return await self._refused(request, words_of(error))
            self._refusals[_csrf(request)] = (form, words_of(error))
            return RedirectResponse("/start", 303)
        self._said[_csrf(request)] = words
        return RedirectResponse("/start" if name == "remove" else "/data", 303)

    async def send(self, request: Request) -> Response:
        """Take a file that a browser sends, and open it."""
        name = unquote(request.headers.get("x-name", ""))
        try:
            path = await self.desk.folders.receive(name, request.stream())
            request.scope["state"]["form"] = [("file", str(path))]
        except FAILURES as error:
            return await self._refused(request, words_of(error))
        return await self.from_start("open", request)

    async def page(
        self, name: str, template: str, view: View, request: Request
    ) -> Response:
        """Show a page or a part, for the fields of a form or of the address."""
        if not self.desk.is_open:
            return RedirectResponse("/start", 303)

        def values() -> Mapping[str, Any]:
            return view(self.desk.shown_as(""), _form(request))

        return await self._rendered(request, name, template, values)

    async def action(self, page: Page, action: Action, request: Request) -> Response:
        """Do what a form asks for, and lead back to its page."""
        form = _form(request)

        def do(bench: Workbench) -> str:
            with bench.lock:  # no other change of the rules comes between
                return action(bench, form)

        return await self._done(request, do, form.text("back") or page.name)

    async def answer(self, answer: Answer, request: Request) -> Response:
        """Send what an answer returns for the fields of the address."""
        if not self.desk.is_open:
            return RedirectResponse("/start", 303)
        try:
            bench = self.desk.shown_as("")
            return await run_in_threadpool(answer, bench, _form(request))
        except FAILURES as error:
            return await self._refused(request, words_of(error))

    async def step(self, name: str, request: Request) -> Response:
        """Undo, redo, cancel or begin again, and lead back to the page."""
        back = _form(request).text("back")
        return await self._done(request, _STEPS[name], back)

    async def reader(self, request: Request) -> Response:
        """Choose the language, or how numbers are written."""
        form = _form(request)
        answer = self._back(form.text("back"))
        for name, choices in _CHOICES.items():
            if (chosen := form.text(name)) in choices:
                answer.set_cookie(
                    f"riskcore-{name}", chosen, _YEAR, httponly=True, samesite="strict"
                )
        return answer

    async def status(self, request: Request) -> Response:
        """Show the panel, and tell a page whether work has ended since it was made."""
        assert self.guard is not None
        asked = _form(request)
        values = {name: asked.text(name) for name in ("seen", "ended")}
        values["back"] = self._target(asked.text("back"))
        frame = await run_in_threadpool(self._frame)
        if not frame["is_open"]:
            return Response(status_code=204)
        if frame["jobs"]:  # long work is use
            self.guard.renew()
        answer = await run_in_threadpool(
            self._render, request, "panel.html", "", lambda: values
        )
        if values["ended"] != str(frame["ended"]):
            answer.headers["HX-Trigger"] = "ended"
        return answer

    async def leave(self, request: Request) -> Response:
        """Count the browser of a page that was closed no longer."""
        assert self.guard is not None
        self.guard.leave(_csrf(request))
        return Response(status_code=204)

    # --- how ---

    async def _done(
        self, request: Request, work: Callable[[Workbench], str | None], back: str
    ) -> Response:
        """Do some work and lead back, or say why it cannot be done."""
        shown = _form(request).text("work")

        def do() -> str:
            return work(self.desk.shown_as(shown)) or ""

        try:
            words = await run_in_threadpool(do)
        except (NotYetError, *FAILURES) as error:
            return await self._refused(request, words_of(error))
        self._said[_csrf(request)] = words
        return self._back(back)

    def _back(self, back: str) -> Response:
        """Lead to a page of ours."""
        return RedirectResponse(f"/{self._target(back)}", 303)

    def _target(self, back: str) -> str:
        """Return the page of ours that a form names; without one, the first."""
        name = back.split("?", 1)[0].strip("/")
        return back.lstrip("/") if name in self.pages else ""

    async def _refused(self, request: Request, words: str) -> Response:
        """Say why something cannot be done; nothing has changed."""
        values = {"words": words}
        return await run_in_threadpool(
            self._render, request, "refused.html", "refused", lambda: values, 422
        )

    async def _rendered(
        self,
        request: Request,
        name: str,
        template: str,
        view: Callable[[], Mapping[str, Any]],
    ) -> Response:
        """Render a template with the values of a view."""
        try:
            return await run_in_threadpool(self._render, request, template, name, view)
        except NotYetError as error:
            values = {"waits": error}
            whole = template == f"{name}.html"
            file = "waiting.html" if whole else "waiting_part.html"
            return await run_in_threadpool(
                self._render, request, file, name, lambda: values
            )
        except FAILURES as error:
            return await self._refused(request, words_of(error))

    def _render(
        self,
        request: Request,
        file: str,
        name: str,
        view: Callable[[], Mapping[str, Any]],
        status: int = 200,
    ) -> Response:
        """Render a template with the values of a view and those of all pages."""
        frame = self._frame()
        values = view()
        if frame["is_open"]:  # what the view began counts
            frame["jobs"] = frame["bench"].jobs.active
        whole = file in (f"{name}.html", "refused.html", "waiting.html")
        query = request.url.query if request.method == "GET" else ""
        back = f"{name}?{query}" if query else name
        texts, reader = load_texts(), READER.get()
        text = (
            _templates()
            .get_template(file)
            .render(
                csrf=_csrf(request),
                t=texts,
                p=texts.get(name, {}),
                n=partial(shown, numbers=reader.numbers),
                size=partial(size_shown, numbers=reader.numbers),
                numbers=reader.numbers,
                formats=FORMATS,
                language=reader.language,
                languages=LANGUAGES,
                page=name,
                steps=[name for name in self.pages if name not in _TOOLS],
                viewers=self.guard.viewers() if self.guard else 1,
                said=self._said.pop(_csrf(request), "") if whole else "",
                app_version=__version__,
                **{"back": back, **frame, **values},
            )
        )
        return HTMLResponse(text, status)

    def _frame(self) -> dict[str, Any]:
        """Return what all pages say of the file that is open, before their own values.

        Work that ends from now on may be missing in the page.
        """
        bench, number = self.desk.now
        frame = dict[str, Any](is_open=False, work=number, file="", ended=0, jobs=[])
        if bench is None:
            return frame
        version = bench.history.current
        newest = f"{number}-{version.number}"  # a file by number, and its rules
        return frame | {
            "is_open": True,
            "file": printable(bench.source.path.name) if bench.source.path else "",
            "bench": bench,
            "history": bench.history,
            "version": version,
            "newest": newest,
            "seen": newest,
            "panel": cache(partial(panel_of, bench, version)),
            "jobs": bench.jobs.active,
            "ended": bench.jobs.ended,
        }


def _post(path: str, answer: Callable[[Request], Any]) -> Route:
    """Return the route of what a form asks for."""
    return Route(path, answer, methods=["POST"])


def _csrf(request: Request) -> str:
    """Return the secret of the forms of a browser."""
    secret: str = request.scope["state"]["csrf"]
    return secret


def _form(request: Request) -> Form:
    """Return the fields of a form that was sent, else of the address."""
    sent = request.scope["state"].get("form")
    asked = parse_qsl(request.url.query, keep_blank_values=True)
    return Form.of(asked if sent is None else sent, READER.get().numbers)


async def _missing(request: Request, _: Exception) -> Response:
    """Answer that there is no such page."""
    return HTMLResponse("There is no such page.", 404)


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
def _templates() -> Any:
    """Return the templates of the app and of reports."""
    templates = environment("riskcore.app", "riskcore.report")
    label = templates.filters["label"]
    templates.finalize = lambda value: finalized(told(value))
    templates.filters["label"] = lambda value: label(told(value))
    templates.filters |= {"told": told, "capital": capital}
    templates.filters["step"] = lambda line: printable(step_told(line))
    templates.filters["lines"] = lambda text: Markup(
        "\n".join(str(escape(printable(line))) for line in text.splitlines())
    )
    return templates
