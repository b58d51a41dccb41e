"""Workspaces: folders opened by the host, remembered in the store, checked when used."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict, evolve

from holon_core.errors import Refused, WorkspaceInsideRoot
from holon_core.governed import Facet, operation
from holon_core.names import (
    MAX_PATH,
    names,
    page,
    required_name,
    required_text,
    usable_path,
)
from holon_core.records.failure import failure
from holon_core.store.rows import decodes, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.clock import Clock
    from holon_core.records.workspace import Workspace
    from holon_core.store.protocol import Store, Tables

COLLECTION = "holon.workspaces"


class Workspaces(Facet):
    """The workspaces of one storage root (`rt.workspaces`)."""

    def __init__(self, store: Store, clock: Clock, root: Path | None) -> None:
        self._store = store
        self._clock = clock
        self._root = root
        self._known: dict[str, Workspace] = {}

    @operation("workspace/open")
    def open(
        self, path: str | os.PathLike[str], *, name: str = "", principals: Sequence[str] = ()
    ) -> Workspace:
        """Open a folder as a workspace, or return the one that it already is.

        Args:
            path: An existing folder; links in it are resolved once, here.
            name: For people; the folder's name where none is given.
            principals: Who may use it; empty means everybody.

        Raises:
            Refused: ``workspace_unavailable``: nothing is there, or not a folder.
            WorkspaceInsideRoot: It contains the storage root or lies inside it.
            Misuse: No folder can have the path, or a name is none.
        """
        root = Path(os.path.realpath(usable_path(path, "path")))
        if name:
            required_name(name, "name")
        principals = names(principals, "principals")
        try:
            found = root.stat()
        except OSError as error:
            raise Refused(failure("workspace_unavailable", f"{root}: {error.strerror}")) from None
        if not root.is_dir():
            raise Refused(failure("workspace_unavailable", f"{root} is not a directory"))
        if self._root is not None and _overlap(self._root, root):
            raise WorkspaceInsideRoot(self._root, root)
        from holon_core.records.workspace import Workspace

        workspace = Workspace(
            id=_id_of(root),
            root_path=str(root),
            name=name or root.name or str(root),
            device=found.st_dev,
            inode=found.st_ino,
            principals=tuple(principals),
            opened_at_unix_seconds=int(self._clock.now()),
        )
        return self._keep(workspace)

    def _keep(self, workspace: Workspace) -> Workspace:
        before = self.find(workspace.id)
        if before is not None:
            # A list of principals that was given once stays, also for a folder that was exchanged.
            workspace = evolve(workspace, principals=workspace.principals or before.principals)
            facts = (workspace.device, workspace.inode, workspace.principals)
            if (before.device, before.inode, before.principals) == facts:
                return before
        body = json.dumps(asdict(workspace), sort_keys=True).encode()
        at = workspace.opened_at_unix_seconds

        def keep(tables: Tables) -> None:
            tables.put_document(COLLECTION, workspace.id, body, at=at)
            if before is not None:
                # Other processes know it as it was: each notices at its next accepted call.
                tables.bump_revision()

        self._store.transact(keep)
        self._known[workspace.id] = workspace
        return workspace

    def at(self, path: str | os.PathLike[str]) -> Workspace | None:
        """Return the workspace that a folder is already, as it is there; else ``None``."""
        root = Path(os.path.realpath(usable_path(path, "path")))
        if self._root is not None and _overlap(self._root, root):
            return None
        found = self.find(_id_of(root))
        return found if found is not None and self.intact(found) else None

    def forget(self) -> None:
        """Read workspaces anew, after another process changed one."""
        self._known.clear()

    def find(self, workspace_id: str) -> Workspace | None:
        """Return a workspace by id, or ``None``."""
        known = self._known.get(workspace_id) if isinstance(workspace_id, str) else None  # type: ignore[redundant-expr]
        if known is None:
            required_text(workspace_id, "a workspace id", MAX_PATH)
            found = self._store.read(lambda tables: tables.document(COLLECTION, workspace_id))
            if found is None:
                return None
            known = self._known[workspace_id] = _from(found.body)
        return known

    def read(self, workspace_id: str) -> Workspace:
        """Return a workspace by id.

        Raises:
            Refused: ``wrong_workspace``.
        """
        found = self.find(workspace_id)
        if found is None:
            raise Refused(failure("wrong_workspace", f"no workspace {workspace_id}"))
        return found

    def list(self, *, after: str = "", limit: int = 50) -> tuple[Workspace, ...]:
        """Return workspaces by id.

        Args:
            after: The last id of the page before; empty begins.
            limit: How many at most, 1 to 1,000.

        Raises:
            Misuse: ``limit`` is out of bounds.
        """
        page(after, limit)
        rows = self._store.read(
            lambda tables: tables.list_documents(COLLECTION, after=after, limit=limit)
        )
        return tuple(_from(row.body) for row in rows)

    def containing(self, path: str | os.PathLike[str]) -> Workspace | None:
        """Return the innermost known workspace that holds a path."""
        place = os.path.realpath(usable_path(path, "path"))
        holding = [
            w
            for w in self.list(limit=1000)
            if place == w.root_path or place.startswith(w.root_path.rstrip(os.sep) + os.sep)
        ]
        return max(holding, key=lambda w: len(w.root_path), default=None)

    def usable(self, workspace_id: str, principal: str) -> Workspace | None:
        """Return a workspace if it exists and a principal may use it.

        Args:
            workspace_id: Its id.
            principal: Who asks; a workspace without principals of its own is everybody's.
        """
        found = self.find(workspace_id)
        if found is None or (found.principals and principal not in found.principals):
            return None
        return found

    @staticmethod
    def intact(workspace: Workspace) -> bool:
        """Tell whether the folder is still the one that was opened."""
        try:
            found = Path(workspace.root_path).stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (workspace.device, workspace.inode) and Path(
            workspace.root_path
        ).is_dir()


@decodes("a workspace")
def _from(body: bytes) -> Workspace:
    data = json.loads(body)
    text(data["root_path"])
    from holon_core.records.workspace import Workspace

    return Workspace(**{**data, "principals": tuple(map(text, data["principals"]))})


def _id_of(root: Path) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:40] or "root"
    return f"{slug}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:10]}"


def _overlap(root: Path, workspace: Path) -> bool:
    real = Path(os.path.realpath(root))
    return real == workspace or real in workspace.parents or workspace in real.parents
