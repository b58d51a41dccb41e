"""A shop with an HTTP API, for tests of adapters: FastAPI, which describes it by itself."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from fastapi import Body, Cookie, FastAPI, File, Form, Header, Path, Query, Response, Security
from fastapi.security import APIKeyCookie, APIKeyQuery, HTTPBasic, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=20)
    cents: int = Field(ge=0, le=1_000_000)
    colour: Colour | None = None
    tags: list[str] = Field(default_factory=list, max_length=3)
    parts: list[Item] = Field(default_factory=list, max_length=2)


class Seen(BaseModel):
    """What the server understood of a request, so that a test can compare."""

    path: dict[str, Any] = {}
    query: dict[str, Any] = {}
    header: dict[str, Any] = {}
    cookie: dict[str, Any] = {}
    body: Any = None


def app() -> FastAPI:
    """Make the shop."""
    made = FastAPI(title="Shop", version="2.1", description="Sells things.")
    _items(made)
    _other(made)
    return made


def _items(made: FastAPI) -> None:
    @made.get("/items/{item_id}", operation_id="read-item", summary="Read an item.")
    def read_item(  # noqa: PLR0917 - parameters of a handler are named
        item_id: int,
        colour: Annotated[list[Colour] | None, Query()] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        exact: bool = False,
        x_trace: Annotated[str | None, Header(pattern="^[a-z0-9]{1,8}$")] = None,
        basket: Annotated[str | None, Cookie(pattern="^[a-z0-9]{1,8}$")] = None,
    ) -> Seen:
        query = {"colour": colour, "limit": limit, "exact": exact}
        return Seen(
            path={"item_id": item_id},
            query=query,
            header={"x-trace": x_trace},
            cookie={"basket": basket},
        )

    @made.get("/shelves/{shelf}/items/{name}", operation_id="find-item")
    def find_item(
        shelf: Annotated[str, Path(min_length=1)],
        name: Annotated[str, Path(min_length=1)],
        words: str = "",
    ) -> Seen:
        return Seen(path={"shelf": shelf, "name": name}, query={"words": words})

    @made.post("/items", operation_id="create-item", status_code=201)
    def create_item(item: Item) -> Item:
        return item

    @made.put("/items/{item_id}", operation_id="replace-item")
    def replace_item(item_id: int, item: Item) -> Item:
        return item

    @made.patch("/items/{item_id}", operation_id="paint-item")
    def paint_item(item_id: int, colour: Annotated[Colour, Body(embed=True)]) -> Seen:
        return Seen(path={"item_id": item_id}, body={"colour": colour})

    @made.delete("/items/{item_id}", operation_id="delete-item", status_code=204)
    def delete_item(item_id: int) -> None:
        return None


def _other(made: FastAPI) -> None:
    @made.post("/orders", operation_id="place-order")
    def place_order(
        item_id: Annotated[int, Form(ge=1)], note: Annotated[str, Form(min_length=1, max_length=30)]
    ) -> Seen:
        return Seen(body={"item_id": item_id, "note": note})

    @made.post("/photos", operation_id="add-photo")
    def add_photo(photo: Annotated[bytes, File()], title: Annotated[str, Form()]) -> Seen:
        return Seen(body={"size": len(photo), "title": title})

    @made.get("/label", operation_id="read-label", response_class=_Plain)
    def read_label() -> _Plain:
        return _Plain("a label")

    @made.get("/me", operation_id="read-me")
    def read_me(token: Annotated[Any, Security(HTTPBearer())]) -> dict[str, int]:
        return {"length": len(token.credentials)}

    @made.get("/keyed", operation_id="read-keyed")
    def read_keyed(key: Annotated[str, Security(APIKeyQuery(name="shop key"))]) -> dict[str, int]:
        return {"length": len(key)}

    @made.get("/staff", operation_id="read-staff")
    def read_staff(who: Annotated[Any, Security(HTTPBasic())]) -> dict[str, str]:
        return {"user": who.username, "length": str(len(who.password))}

    @made.get("/basket", operation_id="read-basket")
    def read_basket(
        key: Annotated[str, Security(APIKeyCookie(name="basket-key"))],
    ) -> dict[str, int]:
        return {"length": len(key)}


class _Plain(Response):
    media_type = "text/plain"
