"""The application: every page under its address, uploads into the private folder, and what is taken home."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from nicegui import ui

from indistinct.errors import IndistinctError
from indistinct.studio.pages import PAGES
from indistinct.studio.work import Work


def application(work: Work) -> FastAPI:
    """Return the application of one steward's work. It trusts whoever asks: put a Guard before it."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _take_in(app, work)
    _hand_out(app, work)
    for address, page in PAGES.items():
        _page(address, page, work)
    ui.run_with(
        app, title="indistinct studio", tailwind=False, binding_refresh_interval=None, language="en-US", favicon=FAVICON
    )
    return app


FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5c99"/>'
    '<circle cx="11" cy="16" r="5" fill="#fff" opacity=".95"/><circle cx="16" cy="16" r="5" fill="#fff" opacity=".6"/>'
    '<circle cx="21" cy="16" r="5" fill="#fff" opacity=".35"/></svg>'
)


def _page(address: str, page: Callable[..., Any], work: Work) -> None:
    """Register a page; its argument is the query of the address."""

    @ui.page(address, response_timeout=30)
    def show_page(request: Request) -> None:
        page(work, dict(request.query_params))


def _take_in(app: FastAPI, work: Work) -> None:
    @app.post("/upload")
    async def upload(name: str, request: Request) -> Response:
        """Save the body of a request, piece by piece; what is cut off is removed."""
        goal = work.keep_upload(name)
        try:
            with goal.open("xb") as file:
                async for piece in request.stream():
                    await asyncio.to_thread(file.write, piece)
        except BaseException:
            goal.unlink(missing_ok=True)
            raise
        return JSONResponse({"path": str(goal), "name": goal.name})


def _hand_out(app: FastAPI, work: Work) -> None:
    @app.get("/take/{name}")
    async def take(name: str) -> Response:
        """Return the policy as it is, or what was made before to be taken home."""
        headers = {"cache-control": "no-store"}
        try:
            if name == "policy.toml":
                text = work.released_policy_text or work.policy_text()
                headers["content-disposition"] = 'attachment; filename="policy.toml"'
                return PlainTextResponse(text, headers=headers, media_type="application/toml")
            return FileResponse(work.made_file(name), filename=f"{_stem(work)}-{name}", headers=headers)
        except IndistinctError as error:
            return PlainTextResponse(str(error), status_code=409)


def _stem(work: Work) -> str:
    """Return the first table's name without its ending, in letters that every system takes."""
    name = next((Path(path).stem for path in work.tables.values()), "table")
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)
