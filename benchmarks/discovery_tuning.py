"""Choose the weights of the ranking by cross-validation, and show what they are worth.

The queries are cut into folds by the tool that answers them, so that no tool answers queries of
two folds. On the others of each fold, weights are chosen from a small grid by coordinate search;
that fold, which had no say, then scores them: its mean is what such weights are worth elsewhere.
The weights that the same search chooses on all queries are what the ranking should deliver.

    discovery_tuning.py [--data FOLDER] [--folds 5] [--every N]

Needs numpy. What stands in the index (weights and lengths of fields) is as delivered.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from _discovery_features import WEIGHTS, Track, delivered, options, scored, track
from pairs import report

GRID: Mapping[str, tuple[float, ...]] = {
    "EXACT": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7),
    "GRAMS": (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4),
    "NAME": (0.0, 0.05, 0.1, 0.15, 0.2, 0.3),
    "MET": (0.0, 0.1, 0.2, 0.3, 0.5),
    "PAIRS": (0.0, 0.01, 0.02, 0.03, 0.05, 0.08),
    "DATES_GIVEN": (0.0, 0.04, 0.08, 0.12, 0.16, 0.2),
    "PLACES_GIVEN": (0.0, 0.04, 0.08, 0.12, 0.16, 0.2),
    "SPACE": (0.0, 0.02, 0.05, 0.1, 0.2),
}
# What the ranking is to reach; only how far apart they are matters to the search.
BOUNDS = {"MetaTool": 0.665, "BFCL": 0.785, "with examples": 0.755}
# Where the search starts: nothing counts but stems.
NOTHING = dict.fromkeys(WEIGHTS, 0.0)
# A weight is moved only for more than this: less is chance.
LEAST = 0.0002
ROUNDS = 4


def fold_of(of: Track, folds: int) -> Any:
    """Return the fold of each query, by the tool that answers it."""
    return np.array([zlib.crc32(str(tool).encode()) % folds for tool in of.groups])


def worth(tracks: Mapping[str, Track], weights: Mapping[str, float]) -> float:
    """Return what is searched for: the mean lead over the bounds, and as much the smallest."""
    leads = [scored(of, weights).mean() - BOUNDS[name] for name, of in tracks.items()]
    return float(np.mean(leads) + min(leads)) / 2


def chosen(tracks: Mapping[str, Track]) -> dict[str, float]:
    """Choose weights: one after the other from the grid, until none is better elsewhere."""
    weights = dict(NOTHING)
    best = worth(tracks, weights)
    for _ in range(ROUNDS):
        before = dict(weights)
        for name, values in GRID.items():
            for value in values:
                tried = {**weights, name: value}
                found = worth(tracks, tried)
                if found > best + LEAST:
                    best, weights = found, tried
        if weights == before:
            break
    return weights


def only(of: Track, which: Any) -> Track:
    """Return some queries of a track."""
    return Track(*(column[which] for column in of))


def validate(tracks: Mapping[str, Track], folds: int) -> None:
    """Print per fold what was chosen without it and what that scores on it; then the means."""
    at = {name: fold_of(of, folds) for name, of in tracks.items()}
    held: dict[str, list[Any]] = {name: [] for name in tracks}
    fixed: dict[str, list[Any]] = {name: [] for name in tracks}
    rows: list[dict[str, object]] = []
    for fold in range(folds):
        weights = chosen({name: only(of, at[name] != fold) for name, of in tracks.items()})
        row: dict[str, object] = {"fold": str(fold)}
        for name, of in tracks.items():
            part = only(of, at[name] == fold)
            held[name].append(scored(part, weights))
            fixed[name].append(scored(part, delivered()))
            row[name] = f"{held[name][-1].mean():.4f}"
        rows.append({**row, **{name: f"{value:g}" for name, value in weights.items()}})
        print(f"fold {fold} done", file=sys.stderr, flush=True)
    blank = dict.fromkeys(WEIGHTS, "")
    for label, found in (("held out, mean", held), ("delivered, mean", fixed)):
        means = {name: f"{np.concatenate(each).mean():.4f}" for name, each in found.items()}
        rows.append({"fold": label, **means, **blank})
    rows.append(_row("delivered, all", tracks, delivered()))
    rows.append(_row("chosen on all", tracks, chosen(tracks)))
    report(f"nDCG@10 held out, {folds} folds by tool, and the weights chosen without it", rows)


def _row(
    label: str, tracks: Mapping[str, Track], weights: Mapping[str, float]
) -> dict[str, object]:
    means = {name: f"{scored(of, weights).mean():.4f}" for name, of in tracks.items()}
    return {"fold": label, **means, **{name: f"{value:g}" for name, value in weights.items()}}


def main() -> None:
    """Validate and print."""
    given = options(__doc__)
    tracks = {
        "MetaTool": track(given.data / "metatool", every=given.every),
        "BFCL": track(given.data / "bfcl", every=given.every),
        "with examples": track(given.data / "metatool", with_examples=True, every=given.every),
    }
    validate(tracks, given.folds)


if __name__ == "__main__":
    main()
