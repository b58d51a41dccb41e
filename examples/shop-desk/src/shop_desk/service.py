"""An asyncio service: callers over HTTP, approvers over HTTP, one runtime behind both.

Who asks is what the bearer token says. No request body, and no model, names a principal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

import holon_core as holon
from shop_desk.till import SUPPORT, RefundLimit, Till, folder_of, give_profile

STATUS = {holon.Status.COMPLETED: 200, holon.Status.FAILED: 422, holon.Status.BLOCKED: 403}
HELD = 202
PEOPLE = 'JSON: {"TOKEN": {"id": "bo", "role": "lead", "decides": true}}'


@dataclass(frozen=True)
class Person:
    """Somebody who has a token."""

    id: str
    role: str
    decides: bool = False


class Call(BaseModel):
    """A call as it comes in. Its arguments are the tool's affair: Holon reads them strictly."""

    tool: str
    arguments: dict[str, Any] = {}
    key: str | None = None


class Decision(BaseModel):
    """Why somebody decided."""

    reason: str


def runtime_of(request: Request) -> holon.Runtime:
    """Return the one runtime of this service."""
    rt: holon.Runtime = request.app.state.runtime
    return rt


def person_of(request: Request, authorization: Annotated[str, Header()] = "") -> Person:
    """Return who asks: the one place where a principal comes from."""
    person: Person | None = request.app.state.people.get(authorization.removeprefix("Bearer "))
    if person is None:
        raise HTTPException(401, "who are you?")
    return person


Runtime = Annotated[holon.Runtime, Depends(runtime_of)]
Caller = Annotated[Person, Depends(person_of)]


def session_of(
    request: Request, rt: Runtime, person: Caller, conversation: str = "desk"
) -> holon.Session:
    """Open the door for who asks; light, so each request gets its own.

    What a model calls is of its conversation: the same call, sent again, is the same run.
    """
    return rt.session(
        principal=person.id,
        workspace=request.app.state.desk,
        role=person.role,
        profile=SUPPORT.id,
        run=f"{person.id}.{conversation}",
    )


def approver_of(person: Caller) -> Person:
    """Return who asks, if that is somebody who decides."""
    if not person.decides:
        raise HTTPException(403, "only an approver may do this")
    return person


Session = Annotated[holon.Session, Depends(session_of)]
Approver = Annotated[Person, Depends(approver_of)]


def answer(result: holon.ToolResult) -> JSONResponse:
    """Write a result for HTTP: 202 where it waits for a person."""
    body = {
        "call": result.call_id,
        "status": result.status.value,
        "output": result.output,
        "held": result.held,
        "blocked_by": [
            {"code": each.code, "message": each.message, "next": each.next_action}
            for each in result.blocking_reasons
        ],
        "failure": None
        if result.failure is None
        else {"code": result.failure.code, "message": result.failure.message},
    }
    return JSONResponse(body, HELD if result.held else STATUS[result.status])


async def refused(_: Request, error: Exception) -> JSONResponse:
    """Answer where an approver's wish was refused."""
    assert isinstance(error, holon.Refused)
    failure = error.failure
    return JSONResponse({"code": failure.code, "message": failure.message}, 409)


async def unusable(_: Request, error: Exception) -> JSONResponse:
    """Answer what is no call of a provider."""
    return JSONResponse({"code": "misuse", "message": str(error)}, 400)


def make_app(
    open_runtime: Callable[[], holon.Runtime], people: Mapping[str, Person], desk: Path
) -> FastAPI:
    """Make the service.

    Args:
        open_runtime: Opens the runtime when the service starts; it is closed when it ends.
        people: Who has which token.
        desk: The workspace that they work in.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with await asyncio.to_thread(open_runtime) as rt:
            await asyncio.to_thread(give_profile, rt)
            app.state.runtime = rt
            yield

    app = FastAPI(lifespan=lifespan)
    app.state.people, app.state.desk = people, desk
    app.add_exception_handler(holon.Refused, refused)
    app.add_exception_handler(holon.Misuse, unusable)

    @app.post("/calls")
    async def call(session: Session, wanted: Call) -> JSONResponse:
        return answer(await session.acall(wanted.tool, wanted.arguments, key=wanted.key))

    @app.get("/conversations/{conversation}/tools")
    def tools(session: Session) -> list[dict[str, Any]]:
        return session.tools("openai-responses")

    @app.post("/conversations/{conversation}/answers")
    async def answer_model(session: Session, tool_call: dict[str, Any]) -> dict[str, Any]:
        message = await session.aanswer(tool_call)
        return {"message": message, "held": message.held}

    # Functions without async run in a thread: approvals and evidence wait for the disk.
    @app.get("/held")
    def held(rt: Runtime, _: Approver) -> list[dict[str, Any]]:
        return [rt.approvals.view(each.call_id).to_json() for each in rt.approvals.held()]

    @app.post("/held/{call_id}/approve")
    def approve(rt: Runtime, approver: Approver, call_id: str, why: Decision) -> dict[str, Any]:
        record = rt.approvals.approve(call_id, by=approver.id, reason=why.reason)
        return {"state": record.state.value, "by": record.decided_by}

    @app.post("/held/{call_id}/deny")
    def deny(rt: Runtime, approver: Approver, call_id: str, why: Decision) -> dict[str, Any]:
        record = rt.approvals.deny(call_id, by=approver.id, reason=why.reason)
        return {"state": record.state.value, "by": record.decided_by}

    @app.post("/held/{call_id}/release")
    async def release(session: Session, call_id: str) -> JSONResponse:
        return answer(await session.arelease(call_id))

    @app.get("/calls/{call_id}/evidence")
    def evidence(rt: Runtime, _: Approver, call_id: str) -> list[str]:
        return [record.kind for record in rt.evidence.read(call_id)]

    return app


def people_of(path: Path) -> dict[str, Person]:
    """Read who has which token."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return {token: Person(**each) for token, each in document.items()}


def main() -> None:
    """Serve on loopback until a signal ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=Path, required=True, help=PEOPLE)
    parser.add_argument("--port", type=int, default=0)
    chosen = parser.parse_args()
    try:
        people = people_of(chosen.people)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        parser.error(f"{chosen.people}: {error}; the file is {PEOPLE}")
    till = Till(folder_of("books", chosen.folder) / "ledger.jsonl")

    def open_runtime() -> holon.Runtime:
        return holon.Runtime.open(
            folder_of("root", chosen.folder),
            app="shop",
            tools=till.tools(),
            plugins=[RefundLimit()],
            required_plugins=["shop-refund-limit"],
            discover=False,
        )

    app = make_app(open_runtime, people, folder_of("desk", chosen.folder))
    listener = socket.create_server(("127.0.0.1", chosen.port))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
