"""Fits divided among machines: each makes a part, and the parts together are the model. `dermis.dask` does it on a cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

from . import _dermis
from ._dermis import Examples, Model, Rig
from ._fit import FitReport
from ._methods import Method, method_of
from ._progress import Progress, watching

_Files = Sequence[Union[str, "os.PathLike[str]"]]


@dataclass(frozen=True)
class PartsFit:
    """A model made of parts.

    Attributes
    ----------
    model : Model
        The model. It holds no recipe, because parts are no files.
    report : FitReport
        What the fit found. Its errors are those of choices inside the training set; `dermis.evaluate` measures others.
    """

    model: Model
    report: FitReport


def fit_part(
    rig: Rig,
    examples: Examples | _Files,
    method: Method | str | None = None,
    share: tuple[int, int] = (1, 1),
    progress: Progress = None,
) -> bytes:
    """Makes a part of a fit.

    Parameters
    ----------
    rig : Rig
        The character at rest.
    examples : Examples or sequence of path
        Multi-weight enveloping: the examples of this part. The joint model: all examples. Files are read a few poses at a
        time, by the joint model several times.
    method : Method or str, optional
        `dermis.Joint()` by default, or `dermis.Mwe()`; others need every example at hand and are refused.
    share : (int, int)
        The joint model: (2, 4) solves the second of four equal shares of the vertices.
    progress : bool or callable, optional
        As in `fit`.

    Returns
    -------
    bytes
        What ``dermis fit --accumulate`` writes.

    Raises
    ------
    dermis.Error
        For files that cannot be read, examples of another rig, other methods.
    """
    given = examples if isinstance(examples, Examples) else tuple(examples)
    with watching(progress) as callback:
        return _dermis._fit_part(rig, given, _stored(method), f"{share[0]}/{share[1]}", callback)


def merge_parts(rig: Rig, parts: Sequence[bytes], method: Method | str | None = None) -> bytes:
    """Merges parts of multi-weight enveloping into one part, in this order.

    Parameters
    ----------
    rig, method
        As in `fit_part`.
    parts : sequence of bytes
        The parts.

    Returns
    -------
    bytes
        A part. Merging two parts, the next two, and then the results gives the bits of merging all four.
    """
    return _dermis._merge_parts(rig, list(parts), _stored(method))


def fit_parts(
    rig: Rig, parts: Sequence[bytes], method: Method | str | None = None, progress: Progress = None
) -> PartsFit:
    """Fits the model of some parts.

    Parameters
    ----------
    rig, method, progress
        As in `fit_part`.
    parts : sequence of bytes
        The parts, in order; shares of the joint model in any order.

    Returns
    -------
    PartsFit

    Raises
    ------
    dermis.Error
        For damaged parts, parts of another rig or with other settings, and shares that are no whole.
    """
    with watching(progress) as callback:
        result = _dermis._fit_parts(rig, list(parts), _stored(method), callback)
    return PartsFit(result.model, FitReport(json.loads(result.json()), result.text(), None))


def _stored(method: Method | str | None) -> str:
    return json.dumps(method_of(method).to_dict())
