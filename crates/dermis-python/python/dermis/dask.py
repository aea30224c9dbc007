"""Fits, comparisons, validations and poses on a cluster, through Dask.

The cluster is whatever a ``distributed.Client`` is connected to. Every function sends tasks to its workers and returns
when they are done. A task that a worker loses, because it is killed or its machine fails, runs again on another worker.
The result has the same bits for any number of workers, and in whatever order tasks end.

A rig is given as a `dermis.Rig`, or as a path that every worker can read. Examples are given in parts: paths that every
worker can read (``FILE#PART`` works), `dermis.Examples`, or Dask futures and delayed objects whose result is one of them.
A part that cannot be read fails the whole call, and the error names the part.

Examples
--------
>>> from distributed import Client
>>> import dermis, dermis.dask
>>> client = Client("scheduler:8786")                                        # doctest: +SKIP
>>> fit = dermis.dask.fit(client, "hero.npz", ["a.npz", "b.npz"], method=dermis.Mwe())  # doctest: +SKIP
>>> fit.model.save("hero.dermis")                                            # doctest: +SKIP
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence, Union

import numpy as np

import dermis

if TYPE_CHECKING:
    import numpy.typing as npt
    from distributed import Client, Future

RigLike = Union["dermis.Rig", str]
"""A rig, or a path that every worker can read."""

Part = Any
"""A path, `dermis.Examples`, or a future or delayed object of either."""

__all__ = ["ClusterFit", "Fold", "compare", "cross_validate", "fit", "pose"]


@dataclass(frozen=True)
class ClusterFit:
    """A fit made on a cluster.

    Attributes
    ----------
    model : dermis.Model
        The model. It holds no recipe, because its parts are no files.
    report : dermis.FitReport
        What the fit found.
    part_bytes : tuple of int
        Bytes of each part, in order: what each accumulation sends to whoever merges it.
    """

    model: "dermis.Model"
    report: "dermis.FitReport"
    part_bytes: "tuple[int, ...]"


@dataclass(frozen=True)
class Fold:
    """Examples left out together, with their errors.

    Attributes
    ----------
    examples : tuple of int
        The examples, counted from zero.
    rms : float
        Root mean square distance over their vertices, in metres.
    max : float
        Largest distance, in metres.
    """

    examples: "tuple[int, ...]"
    rms: float
    max: float


def fit(
    client: "Client",
    rig: RigLike,
    parts: Sequence[Part],
    *,
    method: "dermis.Method | None" = None,
    shares: "int | None" = None,
) -> ClusterFit:
    """Fit a model to examples that are spread over a cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    rig : dermis.Rig or str
        The rig, or a path that every worker can read.
    parts : sequence
        The examples. See the module's description.
    method : dermis.Joint or dermis.Mwe, optional
        The joint model unless stated. Other methods need every example at hand and are refused.
    shares : int, optional
        Tasks of the joint model: each reads all parts, makes the choices of the fit, and solves an equal share of the
        vertices. As many as the cluster has workers unless stated; the model has the same bits for any number.
        Multi-weight enveloping has a task per part and refuses this argument.

    Returns
    -------
    ClusterFit
        Its model has the bits of ``dermis.fit_parts`` over the same parts on one machine. Multi-weight enveloping adds
        sums in pairs, then pairs of pairs, on the cluster as on one machine.
    """
    method = dermis.Joint() if method is None else method
    parts = list(parts)
    if not parts:
        raise ValueError("parts: at least one part is expected, got none")
    rig_future = _scatter(client, rig)
    if isinstance(method, dermis.Joint):
        count = max(1, _workers(client)) if shares is None else int(shares)
        if count < 1:
            raise ValueError(f"shares: at least 1 is expected, got {count}")
        futures = [
            client.submit(_share, rig_future, list(parts), method, (index + 1, count), pure=False)
            for index in range(count)
        ]
        sizes = client.map(len, futures, pure=False)
        made = client.submit(_finish, rig_future, futures, method, pure=False)
    else:
        if shares is not None:
            raise ValueError("shares: only the joint model is divided in shares; this method has a task per part")
        futures = [
            client.submit(_sums, rig_future, part, index, method, pure=False) for index, part in enumerate(parts)
        ]
        sizes = client.map(len, futures, pure=False)
        level = futures
        while len(level) > 2:
            pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
            level = [
                pair[0] if len(pair) == 1 else client.submit(_merge, rig_future, pair, method, pure=False)
                for pair in pairs
            ]
        made = client.submit(_finish, rig_future, level, method, pure=False)
    model, report = made.result()
    return ClusterFit(dermis.Model.read(model), report, tuple(_gathered(client, sizes)))


def compare(
    client: "Client",
    rig: RigLike,
    parts: Sequence[Part],
    hold_out: Sequence[Part],
    methods: "Sequence[str | dermis.Method]",
) -> "list[dict[str, Any]]":
    """Fit and score methods, a task each.

    Parameters
    ----------
    client, rig, parts
        As in `fit`.
    hold_out : sequence
        Examples that no fit sees, in parts.
    methods : sequence of str or dermis methods
        Names as ``dermis compare`` has them (``"joint"``, ``"mwe"``, ...), or methods with settings.

    Returns
    -------
    list of dict
        A row per method, in order: ``method``, ``train_rms``, ``held_out_rms``, ``held_out_max`` (in metres),
        ``model_bytes``, ``seconds_fit``. ``pandas.DataFrame`` takes it.
    """
    rig_future = _scatter(client, rig)
    rows = [
        client.submit(_row, rig_future, list(parts), list(hold_out), method, pure=False) for method in methods
    ]
    return _gathered(client, rows)


def cross_validate(
    client: "Client",
    rig: RigLike,
    parts: Sequence[Part],
    *,
    method: "dermis.Method | None" = None,
    folds: int = 5,
) -> "tuple[float, list[Fold]]":
    """Score a method on examples left out, a task per fold.

    Parameters
    ----------
    client, rig, parts, method
        As in `fit`; every method is accepted.
    folds : int, optional
        As in `dermis.fit`: contiguous blocks for a clip, every ``folds``-th pose otherwise, and always all examples of
        one pose together.

    Returns
    -------
    rms : float
        Over all examples, in metres: the number that ``dermis.fit(..., folds=folds)`` reports.
    folds : list of Fold
        The folds.
    """
    method = dermis.Joint() if method is None else method
    rig_future = _scatter(client, rig)
    examples = client.submit(_examples, rig_future, list(parts), pure=False)
    lists = client.submit(_folds, examples, folds, pure=False).result()
    made = [client.submit(_fold, rig_future, examples, left_out, method, pure=False) for left_out in lists]
    found: list[Fold] = _gathered(client, made)
    count = sum(len(fold.examples) for fold in found)
    rms = float(np.sqrt(sum(fold.rms**2 * len(fold.examples) for fold in found) / count))
    return rms, found


def pose(
    client: "Client",
    model: "dermis.Model",
    pose_matrices: "npt.ArrayLike",
    *,
    frames: int = 256,
) -> "list[Future[Any]]":
    """Run a model on a long motion, some frames a task.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    model : dermis.Model
        The model. It is sent to each worker once.
    pose_matrices : array (N, B, 4, 4)
        Posed world matrices of the bones, in the rig's axes and unit.
    frames : int, optional
        Frames of a task.

    Returns
    -------
    list of distributed.Future
        In order, each of an array (n, V, 3) of float32. ``numpy.concatenate(client.gather(futures))`` is the whole
        motion; a task of the user's own may take a future as its argument and write the frames where they are.
    """
    poses = np.asarray(pose_matrices)
    if poses.ndim != 4 or poses.shape[2:] != (4, 4):
        raise ValueError(f"pose_matrices: shape (N, B, 4, 4) is expected, got {poses.shape}")
    if frames < 1:
        raise ValueError(f"frames: at least 1 is expected, got {frames}")
    model_future = _scattered(client, model)
    return [
        client.submit(_skins, model_future, poses[at : at + frames], pure=False)
        for at in range(0, len(poses), frames)
    ]


def _workers(client: Any) -> int:
    """How many workers there are now."""
    return len(client.nthreads())


def _gathered(client: Any, futures: "list[Any]") -> "list[Any]":
    """Results in order; the client has no types."""
    return list(client.gather(futures))


def _scattered(client: Any, value: Any) -> Any:
    """Sends a value to every worker."""
    return client.scatter(value, broadcast=True)


def _scatter(client: "Client", rig: RigLike) -> Any:
    """Sends a rig to the workers; a path is read where it is needed."""
    return rig if isinstance(rig, str) else _scattered(client, rig)


def _rig(rig: RigLike) -> "dermis.Rig":
    return dermis.Rig.open(rig) if isinstance(rig, str) else rig


def _named(part: Any, index: int) -> str:
    """What errors call a part."""
    return f"part {index} ({part})" if isinstance(part, str) else f"part {index}"


def _examples(rig: RigLike, parts: list[Part]) -> "dermis.Examples":
    """All parts as one set, in order."""
    rig = _rig(rig)
    sets = []
    for index, part in enumerate(parts):
        try:
            sets.append(dermis.Examples.open(rig, part) if isinstance(part, str) else part)
        except dermis.Error as error:
            raise dermis.Error(f"{_named(part, index)}: {error}") from None
    return sets[0] if len(sets) == 1 else dermis.Examples.joined(sets)


def _share(rig: RigLike, parts: list[Part], method: "dermis.Method", share: "tuple[int, int]") -> bytes:
    rig = _rig(rig)
    if all(isinstance(part, str) for part in parts):
        return dermis.fit_part(rig, parts, method=method, share=share)
    return dermis.fit_part(rig, _examples(rig, parts), method=method, share=share)


def _sums(rig: RigLike, part: Part, index: int, method: "dermis.Method") -> bytes:
    try:
        return dermis.fit_part(_rig(rig), [part] if isinstance(part, str) else part, method=method)
    except dermis.Error as error:
        raise dermis.Error(f"{_named(part, index)}: {error}") from None


def _merge(rig: RigLike, parts: "list[bytes]", method: "dermis.Method") -> bytes:
    return dermis.merge_parts(_rig(rig), parts, method=method)


def _finish(rig: RigLike, parts: "list[bytes]", method: "dermis.Method") -> "tuple[bytes, dermis.FitReport]":
    made = dermis.fit_parts(_rig(rig), parts, method=method)
    return made.model.to_bytes(), made.report


def _row(
    rig: RigLike, parts: list[Part], hold_out: list[Part], method: "str | dermis.Method"
) -> "dict[str, Any]":
    rig = _rig(rig)
    made = dermis.fit(rig, _examples(rig, parts), hold_out=_examples(rig, hold_out), method=method)
    held_out = made.errors.held_out
    assert held_out is not None, "examples were held out"
    return {
        "method": method if isinstance(method, str) else method.name,
        "train_rms": made.errors.train.rms,
        "held_out_rms": held_out.rms,
        "held_out_max": held_out.max,
        "model_bytes": made.model.nbytes,
        "seconds_fit": made.seconds,
    }


def _folds(examples: "dermis.Examples", folds: int) -> "list[list[int]]":
    return [list(fold) for fold in examples.folds(folds)]


def _fold(rig: RigLike, examples: "dermis.Examples", left_out: "list[int]", method: "dermis.Method") -> Fold:
    away = set(left_out)
    kept = [index for index in range(len(examples)) if index not in away]
    made = dermis.fit(_rig(rig), examples.subset(kept), method=method, folds=0)
    error = dermis.evaluate(made.model, examples.subset(left_out)).error
    return Fold(tuple(left_out), error.rms, error.max)


def _skins(model: "dermis.Model", poses: "npt.NDArray[Any]") -> "npt.NDArray[np.float32]":
    return model(poses)
