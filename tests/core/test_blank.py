"""Records that each call makes are filled and not initialised; that makes no difference."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError

import holon_core as holon
from holon_core.records.outcome import ExecutorStatus, completed
from holon_core.records.result import ended

RESULT = {
    "status": holon.Status.COMPLETED,
    "output": {"n": 1},
    "failure": None,
    "blocking_reasons": (),
    "evidence_refs": (),
    "call_id": "c1",
    "self_approved": True,
    "notices": ("old",),
}
PAIRS: dict[str, tuple[Any, Any]] = {
    "result": (ended(**RESULT), holon.ToolResult(**RESULT)),
    "outcome": (
        completed([1]),
        holon.ExecutorOutcome(status=ExecutorStatus.COMPLETED, output_json=[1]),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_filled_record_is_as_its_class_makes_it(name):
    """Class, fields, text, copies, pickles and weak references are those of any other."""
    filled, made = PAIRS[name]

    assert type(filled) is type(made)
    assert filled == made
    assert repr(filled) == repr(made)
    assert evolve(filled, status="blocked") == evolve(made, status="blocked")
    assert pickle.loads(pickle.dumps(filled)) == made
    assert weakref.ref(filled)() is filled


@pytest.mark.parametrize("name", PAIRS)
def test_a_filled_record_is_frozen(name):
    """Nobody changes a result afterwards."""
    filled, _ = PAIRS[name]

    with pytest.raises(FrozenInstanceError):
        filled.status = "failed"
