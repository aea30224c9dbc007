"""Scores: a model on examples, methods side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import _dermis
from ._dermis import Examples, Model, Rig
from ._fit import ErrorStats, FitReport, iframe, stats_of
from ._progress import Progress, watching


class Evaluation:
    """A model's errors on examples."""

    def __init__(self, result: _dermis.ScoreResult) -> None:
        self._result = result
        self._data: dict[str, Any] = json.loads(result.json())

    @property
    def error(self) -> ErrorStats:
        """The model's error, in metres."""
        return stats_of(self._data["error"])

    @property
    def baseline(self) -> ErrorStats | None:
        """The error of the rig's own weights on the same poses; None for a rig without weights."""
        baseline = self._data["baseline"]
        return None if baseline is None else stats_of(baseline["error"])

    @property
    def report(self) -> FitReport:
        """The report."""
        return FitReport(self._data, "", self._result.verdict())

    @property
    def warnings(self) -> list[str]:
        """What the user should know."""
        return list(self._data["warnings"])

    def to_html(self) -> str:
        """The report page: errors, charts and the skins in 3D.

        Returns
        -------
        str
        """
        return self._result.html()

    def __repr__(self) -> str:
        baseline = self.baseline
        beside = "" if baseline is None else f"; the rig's own weights {1e3 * baseline.rms:.3f} mm"
        return f"<dermis.Evaluation: {1e3 * self.error.rms:.3f} mm rms{beside}>"

    def _repr_html_(self) -> str:
        return iframe(self.to_html())


def evaluate(model: Model, examples: Examples) -> Evaluation:
    """Scores a model on examples.

    Parameters
    ----------
    model : Model
        The model.
    examples : Examples
        Poses with the true skin, of the model's rig.

    Returns
    -------
    Evaluation

    Raises
    ------
    dermis.Error
        For examples of another rig.
    """
    return Evaluation(_dermis._evaluate(model, examples))


def compare(
    rig: Rig,
    examples: Examples,
    hold_out: Examples | None = None,
    methods: Sequence[str] | None = None,
    *,
    folds: int = 5,
    counts: Sequence[int] = (),
    draws: int = 3,
    seed: int = 1,
    progress: Progress = None,
) -> list[dict[str, Any]]:
    """Fits methods to the same examples and scores each on the same poses: held-out ones, else by cross-validation.

    Parameters
    ----------
    rig : Rig
        The character at rest.
    examples : Examples
        What is learnt from.
    hold_out : Examples, optional
        What is scored on. Without it, each method is cross-validated.
    methods : sequence of str, optional
        Names of `dermis.presets()`; the usual six by default.
    folds : int
        Without `hold_out`: how many folds, at least 2.
    counts : sequence of int
        With `hold_out`: learn from random subsets of these sizes instead: how many examples are enough.
    draws : int
        With `counts`: how many subsets of each size.
    seed : int
        With `counts`: seed of the random choices.
    progress : bool or callable, optional
        As in `fit`.

    Returns
    -------
    list of dict
        A row per method, for ``pandas.DataFrame``: ``method``, ``train_rms``, ``held_out_rms``, ``held_out_p95``,
        ``held_out_max`` (metres), ``ratio`` (of the rig's own weights), ``model_bytes``, ``seconds_fit``,
        ``vertices_per_second``, ``recommended``, ``warnings``. Without `hold_out` the errors are called ``cross_validated_rms`` and so on,
        and are None for a method that is not validated. With `counts` a row per size and method: ``poses``, ``method``,
        ``held_out_rms``, ``ratio``, ``rms_of_draws``.
    """
    with watching(progress) as callback:
        text = _dermis._compare(
            rig, examples, hold_out, folds, list(methods or ()), list(counts), draws, seed, callback
        )
    found = json.loads(text)
    if counts:
        return [
            {
                "poses": point["poses"],
                "method": point["method"],
                "held_out_rms": point["rms"],
                "ratio": point["ratio"],
                "rms_of_draws": point["rms_of_draws"],
            }
            for point in found["points"]
        ]
    unseen = "cross_validated" if hold_out is None else "held_out"
    return [
        {
            "method": row["method"],
            "train_rms": row["train"]["rms"],
            **{f"{unseen}_{name}": row[unseen] and row[unseen][name] for name in ("rms", "p95", "max")},
            "ratio": row["ratio"],
            "model_bytes": row["model_bytes"],
            "seconds_fit": row["seconds_fit"],
            "vertices_per_second": row["vertices_per_second"],
            "recommended": row["method"] == found["recommended"],
            "warnings": row["warnings"],
        }
        for row in found["rows"]
    ]
