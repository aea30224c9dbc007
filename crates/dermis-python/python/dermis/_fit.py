"""Fits, and what they found."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from . import _dermis
from ._dermis import Examples, Model, Rig
from ._methods import Method, method_of
from ._progress import Progress, watching


@dataclass(frozen=True)
class ErrorStats:
    """Distances between a model's skin and its target, over all vertices and poses; lengths in metres.

    Attributes
    ----------
    rms : float
        Root mean square.
    max : float
        Largest.
    p95, p999 : float
        95th and 99.9th percentile.
    e_rms : float or None
        1000 ‖X − Y‖ / (√(3·poses·vertices) · diagonal/2).
    distortion_percent : float or None
        100 ‖X − Y‖ / ‖X − mean X‖.
    """

    rms: float
    max: float
    p95: float
    p999: float
    e_rms: float | None
    distortion_percent: float | None


@dataclass(frozen=True)
class Errors:
    """Errors of a fit.

    Attributes
    ----------
    train : ErrorStats
        On the poses that it was fitted to.
    held_out : ErrorStats or None
        On poses that it never saw.
    cross_validated : ErrorStats or None
        On poses that were left out of fits one after another; without held-out poses.
    validation : str
        Which of them counts: 'held out', 'cross-validated' or 'not validated'.
    """

    train: ErrorStats
    held_out: ErrorStats | None
    cross_validated: ErrorStats | None
    validation: str

    @property
    def headline(self) -> ErrorStats | None:
        """The error on poses that the fit did not see: held out, else cross-validated, else None."""
        return self.held_out or self.cross_validated


class FitReport:
    """What a fit found: errors per pose, settings and choices, warnings."""

    def __init__(self, data: dict[str, Any], text: str, verdict: str | None) -> None:
        self._data = data
        self._text = text
        self.verdict = verdict
        """The sentence to take away."""

    def to_dict(self) -> dict[str, Any]:
        """The report as `dermis fit --json` prints it: lengths in metres, shares in 0..1.

        Returns
        -------
        dict
        """
        return json.loads(json.dumps(self._data))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self._text.rstrip(), self.verdict]))


class Fit:
    """A fitted model with everything that was found out about it."""

    def __init__(self, result: _dermis.FitResult) -> None:
        self._result = result
        self._data: dict[str, Any] = json.loads(result.json())

    @property
    def model(self) -> Model:
        """The model."""
        return self._result.model

    @property
    def errors(self) -> Errors:
        """Errors on training and unseen poses, in metres."""
        held_out, cross_validated = self._data["held_out"], self._data.get("cross_validated")
        return Errors(
            train=stats_of(self._data["train"]),
            held_out=None if held_out is None else stats_of(held_out),
            cross_validated=None if cross_validated is None else stats_of(cross_validated),
            validation=self._data["validation"],
        )

    @property
    def report(self) -> FitReport:
        """The report."""
        return FitReport(self._data, self._result.text(), self._result.verdict())

    @property
    def warnings(self) -> list[str]:
        """What the user should know."""
        return list(self._data["warnings"])

    @property
    def seconds(self) -> float:
        """Seconds that the fit took, validation apart."""
        return float(self._data["seconds"])

    def to_html(self) -> str:
        """The report page: errors, charts and the skins in 3D, in one file without network access.

        Returns
        -------
        str
        """
        return self._result.html()

    def __repr__(self) -> str:
        errors = self.errors
        headline = errors.headline
        said = errors.validation if headline is None else f"{errors.validation} {1e3 * headline.rms:.3f} mm rms"
        return f"<dermis.Fit {self._data['method']!r}: {said}, training {1e3 * errors.train.rms:.3f} mm rms>"

    def _repr_html_(self) -> str:
        return iframe(self.to_html())


def iframe(page: str, height: int = 900) -> str:
    """A page within a notebook's cell. It runs its own scripts and reaches nothing of the notebook."""
    text = html.escape(page, quote=True)
    frame = f'sandbox="allow-scripts" style="width: 100%; height: {height}px; border: none"'
    return f'<iframe srcdoc="{text}" {frame}></iframe>'


def stats_of(data: dict[str, Any]) -> ErrorStats:
    """Errors from their JSON."""
    return ErrorStats(**data)


def fit(
    rig: Rig,
    examples: Examples,
    hold_out: Examples | None = None,
    method: Method | str | None = None,
    folds: int = 5,
    maps: ArrayLike | None = None,
    base: Model | None = None,
    prior: Model | None = None,
    provenance: Literal["relative", "full"] = "relative",
    progress: Progress = None,
) -> Fit:
    """Learns a model from examples and measures its error on poses that it did not see.

    Parameters
    ----------
    rig : Rig
        The character at rest.
    examples : Examples
        What is learnt from.
    hold_out : Examples, optional
        Poses that the fit may not see; the errors that count are measured on them.
    method : Method or str, optional
        `dermis.Joint()` by default; a name is one of `dermis.presets()`.
    folds : int
        Without `hold_out`, validate by this many folds; below 2 there is no validation.
    maps : array_like, shape (V, B), optional
        Influence maps: which bones may move a vertex, and how strongly, 0 to 1. For methods whose `maps` setting is
        ``"table"``.
    base : Model, optional
        A model of the rig that is corrected further. For methods whose `base` setting is ``"model"``.
    prior : Model, optional
        A model of another character, for a few examples: it serves where they say little, if poses that are left out are the better for
        it. For `dermis.Joint`.
    provenance : {'relative', 'full'}
        How the model's recipe states the files that rig and examples were opened from: by paths below the working folder, and by the
        names alone of files elsewhere; or as they were named.
    progress : bool or callable, optional
        True shows a bar by tqdm, if it is installed. A callable gets (step, fraction of the whole).

    Returns
    -------
    Fit

    Raises
    ------
    dermis.Error
        For settings that do not suit the rig, and fits that fail.
    """
    stored = json.dumps(method_of(method).to_dict())
    with watching(progress) as callback:
        return Fit(_dermis._fit(rig, examples, hold_out, stored, folds, maps, base, prior, provenance, callback))
