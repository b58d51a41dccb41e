"""A workspace: a folder that calls are confined to and evidence is kept by."""

from attrs import frozen

from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class Workspace(Record):
    """A folder opened as a workspace.

    ``root_path`` is canonical and absolute. ``device`` and ``inode`` identify the folder, so
    that an exchanged one is noticed. ``principals`` limits who may use it; empty means all.
    """

    id: str
    root_path: str
    name: str = ""
    device: int = 0
    inode: int = 0
    principals: tuple[str, ...] = ()
    opened_at_unix_seconds: int = 0
