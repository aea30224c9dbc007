"""Bones and weights of mesh sequences, and sculpts brought back to rest."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _dermis
from ._dermis import Model, Rig
from ._errors import Error
from ._progress import Progress, watching
from ._verbs import Files, Path, _existing, _given, _input, _inputs, _read, _renamed, _text, run


@dataclass(frozen=True)
class Decomposition:
    """Bones and weights of a mesh sequence.

    Attributes
    ----------
    rig : Rig
        The rest mesh with the bones and weights found.
    pose_matrices : numpy.ndarray, shape (P, B, 4, 4)
        Joint to world in each frame.
    report : dict
        What `dermis decompose --json` prints: errors, influences, seconds.
    """

    rig: Rig
    pose_matrices: NDArray[np.float64]
    report: dict[str, Any]

    @property
    def weights(self) -> NDArray[np.float64]:
        """Skinning weights, shape (V, B)."""
        weights = self.rig.weights
        assert weights is not None, "a decomposition has weights"
        return weights

    def __repr__(self) -> str:
        poses, bones = self.pose_matrices.shape[:2]
        return f"<dermis.Decomposition: {bones} bones, {poses} frames of {len(self.rig.rest_vertices)} vertices>"


@_renamed(
    smooth="smoothness", method="algorithm", tie="tree or rotation_only", effort="quality", frozen="freeze_vertices"
)
def decompose(
    *sequences: Path,
    vertices: ArrayLike | None = None,
    faces: ArrayLike | None = None,
    rest_vertices: ArrayLike | None = None,
    bones: int | None = None,
    bandwidth: float | None = None,
    algorithm: Literal["search", "clustering", "given-bones", "given-weights", "refine"] = "search",
    given: Path | None = None,
    freeze_vertices: Sequence[int] | None = None,
    max_error: float | None = None,
    kind: Literal["rigid", "affine"] | dict[str, Any] | None = None,
    influences: int | None = None,
    quality: bool = False,
    seed: int | None = None,
    stop_at: float | None = None,
    smoothness: float | None = None,
    tree: bool = False,
    rotation_only: bool = False,
    rest: str | None = None,
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    fps: float | None = None,
    out: Path | None = None,
    report: Path | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> Decomposition | dict[str, Any]:
    """Finds bones and weights of a mesh sequence.

    Parameters
    ----------
    *sequences : path
        Mesh sequences, a clip each (Alembic, point caches, folders of OBJ files, bundles); or none, with `vertices`.
    vertices : array_like, shape (P, V, 3)
        The mesh in each frame, in units of `unit`, with `up` upwards.
    faces : array_like of int, shape (F, 3)
        Triangles, with `vertices`.
    rest_vertices : array_like, shape (V, 3), optional
        The rest shape, with `vertices`; the first frame by default.
    bones : int
        How many bones; with `max_error` how many there may be.
    bandwidth : float, optional
        Of 'clustering', instead of `bones`: as many as triangles turn apart by so much.
    algorithm : {'search', 'clustering', 'given-bones', 'given-weights', 'refine'}
        How bones and weights are found.
    given : path, optional
        Of the last three algorithms: the file with bones or weights.
    freeze_vertices : sequence of int, optional
        Of 'refine': vertices whose weights stay.
    max_error : float, optional
        Rms distance in metres that as few bones as possible are to reach.
    kind : {'rigid', 'affine'} or dict, optional
        Which transforms a bone may have; ``{"near-rigid": {"stiffness": s}}`` lies between.
    influences : int, optional
        Influences per vertex at most.
    quality : bool
        Of 'search': whether to search several times as long, for an error lower by a few percent.
    seed : int, optional
        Seed of the search.
    stop_at : float, optional
        Rms distance in metres at which the search may stop.
    smoothness : float, optional
        Strength that draws weights to those of their neighbours.
    tree : bool
        Whether rigid bones are tied together in a tree with joints.
    rotation_only : bool
        Whether the bones of a tree turn about their joints and do nothing else; the root moves.
    rest : str, optional
        The frame that serves as rest shape, by label or number.
    up, unit, fps
        Axes, unit (metres) and rate of what does not say it itself.
    out : path, optional
        Where bones, weights and clips go: a GLB or a bundle. Needed with files.
    report : path, optional
        A folder for the report page.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    Decomposition
        With `vertices`; its arrays are in the axes and unit of `vertices`.
    dict
        With files: what `dermis decompose --json` prints.
    """
    own: dict[str, Any] = {
        "search": dict(
            bones=bones, max_error=max_error, kind=kind, influences=influences, effort="quality" if quality else None,
            seed=seed, stop_at=stop_at, smooth=smoothness,
        ),
        "clustering": dict(
            bones={"bandwidth": bandwidth} if bandwidth is not None else {"number": bones}, kind=kind,
            influences=influences,
        ),
        "given-bones": dict(bones=_input(given), influences=influences, seed=seed, smooth=smoothness),
        "given-weights": dict(weights=_input(given), kind=kind, seed=seed),
        "refine": dict(
            start=_input(given), frozen=None if freeze_vertices is None else list(freeze_vertices), kind=kind,
            influences=influences, seed=seed, smooth=smoothness,
        ),
    }
    if algorithm not in own:
        raise Error(f"algorithm is {algorithm!r}; one of {', '.join(map(repr, own))} is expected")
    if algorithm == "search" and bones is None:
        raise Error("bones is missing", "say how many bones there are, or may be")
    if algorithm == "clustering" and (bones is None) == (bandwidth is None):
        raise Error("algorithm 'clustering' takes one of bones and bandwidth")
    if algorithm in ("given-bones", "given-weights", "refine") and given is None:
        raise Error(f"algorithm {algorithm!r} needs given, a file")
    named = _given(
        bones=bones, bandwidth=bandwidth, given=given, freeze_vertices=freeze_vertices, max_error=max_error, kind=kind,
        influences=influences, quality=quality or None, seed=seed, stop_at=stop_at, smoothness=smoothness,
    )
    takes = {"given": algorithm in ("given-bones", "given-weights", "refine"), "bandwidth": algorithm == "clustering"}
    takes["bones"] = algorithm in ("search", "clustering")
    takes["smoothness"] = "smooth" in own[algorithm]
    takes["freeze_vertices"] = algorithm == "refine"
    takes["quality"] = algorithm == "search"
    for name in named:
        python = name.replace("-", "_")
        if not takes.get(python, python in own[algorithm]):
            raise Error(f"{python} has no effect with algorithm={algorithm!r}")

    def recipe(inputs: Files, target: Path) -> dict[str, Any]:
        return {
            "decompose": _given(
                sequences=_inputs(inputs), rest=rest, method={algorithm: _given(**own[algorithm])},
                tie="rotations" if rotation_only else "tree" if tree else None,
                read=_read(up=up, unit=unit, fps=fps) if vertices is None else None, out=_text(target),
                report=_text(report), existing=_existing(replace),
            )
        }

    if (vertices is None) == (not sequences):
        raise Error("one of files and vertices is expected")
    if vertices is None:
        if out is None:
            raise Error("out is missing", "name a GLB or a bundle (.npz)")
        return run(recipe(sequences, out), progress)  # type: ignore[no-any-return]
    if faces is None:
        raise Error("faces is missing", "vertices come with the triangles of their mesh")
    frames = np.asarray(vertices)
    if frames.ndim != 3 or frames.shape[2] != 3:
        raise Error(f"vertices has shape {frames.shape}; (P, V, 3) is expected")
    shape = frames[0] if rest_vertices is None else np.asarray(rest_vertices)
    if shape.shape != frames.shape[1:]:
        raise Error(f"rest_vertices has shape {shape.shape}; {frames.shape[1:]} is expected")
    triangles = np.asarray(faces)
    if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
        raise Error(f"faces has shape {triangles.shape} of {triangles.dtype}; (F, 3) of whole numbers is expected")
    for name, array in (("vertices", frames), ("rest_vertices", shape)):
        if array.dtype.kind not in "fiu":
            raise Error(f"{name}: an array of numbers is expected, and this is one of {array.dtype}")
        if not np.isfinite(array).all():
            raise Error(f"{name} holds entries that are not finite")
    scale = 1.0 if unit is None else unit
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "sequence.npz")
        arrays: dict[str, Any] = {
            "rest_vertices": np.asarray(shape, "f8") * scale,
            "faces": triangles,
            "vertices": np.asarray(frames, "f8") * scale,
            "up_axis": np.array((up or "y").upper()),
            "units": np.array("metres"),
        }
        if fps is not None:
            arrays["fps"] = np.array(float(fps))
        np.savez(source, **arrays)
        target = os.path.join(folder, "bones.npz")
        found = run(recipe(source, target), progress)
        with np.load(target) as made:
            matrices = np.asarray(made["pose_matrices"], "f8")
            bind = np.asarray(made["bind_matrices"], "f8")
            weights = np.asarray(made["lbs_weights"], "f8")
            names, parents = [str(name) for name in made["bone_names"]], made["bone_parents"]
        matrices[:, :, :3, 3] /= scale
        bind[:, :3, 3] /= scale
        rig = Rig(
            rest_vertices=shape, faces=triangles, bone_names=names, bone_parents=parents, bind_matrices=bind,
            weights=weights, up=up or "y", unit=scale, name="decomposition",
        )
        if out is not None:
            run(recipe(source, out), progress)
    return Decomposition(rig, matrices, found)


_ENDS: tuple[Literal["reached", "no-gain", "calls"], ...] = ("reached", "no-gain", "calls")


@dataclass(frozen=True)
class Inversion:
    """Sculpts of a posed mesh, brought back to rest.

    Attributes
    ----------
    displacements : numpy.ndarray, shape (V, 3) or (N, V, 3)
        d: added to the rest points, and deformed, they make the sculpt.
    remainders : numpy.ndarray, shape (V, 3) or (N, V, 3)
        What is left of the sculpt, posed.
    residuals : numpy.ndarray, shape (V,) or (N, V)
        Lengths of the remainders.
    calls : int
        Calls of the deformer, of the slowest sculpt.
    unresolved : int
        Vertices whose residual is above the tolerance.
    tolerance : float
        The largest residual that counts as met: what was asked, or the rounding of single precision where that is coarser.
    stopped : {'reached', 'no-gain', 'calls'}
        Why the search ended: every vertex is within the tolerance, more calls gain too little, or `max_calls`. Of several
        sculpts the last of these that is true of one.
    coupled : int
        Vertices that moved because others did. Displacements of such a deformer are approximate.
    limit : float
        The longest displacement that such a deformer is allowed; infinity for others. Of several sculpts the largest.
    limited : int
        Vertices whose displacement is as long as that.
    """

    displacements: NDArray[np.float64]
    remainders: NDArray[np.float64]
    residuals: NDArray[np.float64]
    calls: int
    unresolved: int
    tolerance: float
    stopped: Literal["reached", "no-gain", "calls"]
    coupled: int
    limit: float
    limited: int


@_renamed(method="algorithm")
def invert(
    rig: Path | Rig | ArrayLike,
    sculpts: Files | ArrayLike,
    *,
    deformer: Callable[[NDArray[np.float64]], ArrayLike] | str | dict[str, Any] = "lbs",
    lockstep: bool = False,
    poses: Path | None = None,
    at: Sequence[int | str | None] | None = None,
    out: Path | None = None,
    algorithm: Literal["auto", "gauss-newton", "direction-set"] = "auto",
    coupled: Literal["refuse", "iterate"] = "refuse",
    max_calls: int | None = None,
    max_correction: float | None = None,
    tolerance: float | None = None,
    vertices: Literal["sculpts", "rest"] | None = None,
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    fps: float | None = None,
    trust_order: bool = False,
    replace: bool = False,
    progress: Progress = None,
) -> Inversion | dict[str, Any]:
    """Brings sculpts of a posed character back to rest.

    Parameters
    ----------
    rig : Rig, array_like of shape (V, 3), or path
        The points at rest: of a rig, as an array, or the file of a rig where the sculpts are files.
    sculpts : array_like of shape (V, 3) or (N, V, 3), or paths
        The sculpts, posed world, with a callable `deformer`; else files.
    deformer : callable, 'lbs', 'dqs', 'rigid' or dict
        What is inverted. A function of an array (V, 3) of float64, rest points, that returns as many posed points; in the
        axes and unit of the rest points. With files also the rig's own skinning by name, ``{"stack": {"file": path}}`` or
        ``{"program": {"command": text}}``.
    lockstep : bool
        Whether the function takes all sculpts at once, (N, V, 3), each in its own pose.
    poses : path, optional
        With files: poses of sculpts that have none of their own.
    at : sequence, optional
        With files: the pose of each sculpt, a frame of `poses` or a label.
    out : path, optional
        With files: where the corrections go, a bundle, a GLB or a folder.
    algorithm : {'auto', 'gauss-newton', 'direction-set'}
        How a displacement is searched.
    coupled : {'refuse', 'iterate'}
        What to do with a deformer that moves vertices because others moved.
    max_calls : int, optional
        With a function: calls at most, 8 or more.
    max_correction : float, optional
        With `coupled` 'iterate': no displacement is longer than this many times the longest that the sculpt asks for vertex by
        vertex. 3 if left out.
    tolerance : float, optional
        With a function: the residual at which a vertex is done, in the unit of the points. 1e-11 of the diagonal of their box
        if left out. It is never finer than the rounding of a function that answers in single precision.
    vertices : {'sculpts', 'rest'}, optional
        With files: what a bundle holds as ``vertices``.
    up, unit, fps
        How files are read that do not say it themselves.
    trust_order : bool
        With files: whether vertices are taken in their order, without the checks that recognise another order than the rig's.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`, with files.

    Returns
    -------
    Inversion
        With a function.
    dict
        With files: what `dermis invert --json` prints.

    Raises
    ------
    dermis.Error
        For a function that returns another shape or entries that are not finite. What the function raises is raised as it is.
    """
    if callable(deformer):
        of_files = _given(
            poses=poses, at=at, out=out, vertices=vertices, up=up, unit=unit, fps=fps, trust_order=trust_order or None
        )
        for name in of_files:
            raise Error(f"{name} has no effect with a function as deformer")
        points, targets = _rest(rig, "rig"), np.asarray(sculpts)
        one = targets.ndim == 2
        if targets.shape[-2:] != points.shape or targets.ndim not in (2, 3):
            expected = f"{points.shape} or (N, {points.shape[0]}, 3)"
            raise Error(f"sculpts has shape {targets.shape}; {expected} is expected")
        found = _dermis._invert(
            points, targets[None] if one else targets, deformer, lockstep, algorithm, coupled, max_calls, max_correction,
            tolerance,
        )
        return _inversion(found, one, targets.shape)
    if lockstep or max_calls is not None or tolerance is not None:
        raise Error("lockstep, max_calls and tolerance serve a function as deformer")
    if isinstance(rig, Rig) or not isinstance(rig, (str, os.PathLike)):
        raise Error("sculpts in files need the file of a rig", "pass a path, or a function as deformer")
    if out is None:
        raise Error("out is missing", "name a bundle (.npz), a GLB or a folder")
    files = _inputs(sculpts)  # type: ignore[arg-type]
    if at is not None:
        if len(at) != len(files):
            raise Error(f"at has {len(at)} entries; there are {len(files)} sculpts")
        for file, place in zip(files, at):
            if place is not None:
                file["at"] = str(place)
    recipe = _given(
        rig=_input(rig), sculpts=files, poses=_input(poses), method=algorithm, coupled=coupled, vertices=vertices,
        max_correction=max_correction,
        deformer={"skinning": deformer} if isinstance(deformer, str) else deformer,
        read=_read(up=up, unit=unit, fps=fps, trust_order=trust_order or None), out=_text(out),
        existing=_existing(replace),
    )
    return run({"invert": recipe}, progress)  # type: ignore[no-any-return]


def inversion(
    rest: Rig | ArrayLike,
    sculpt: ArrayLike,
    *,
    algorithm: Literal["auto", "gauss-newton", "direction-set"] = "auto",
    coupled: Literal["refuse", "iterate"] = "refuse",
    max_calls: int | None = None,
    max_correction: float | None = None,
    tolerance: float | None = None,
) -> Generator[NDArray[np.float64], ArrayLike, Inversion]:
    """`invert` with a deformer, one call at a time: a generator that yields rest points and takes what they become.

    It serves programs that may not be held up, or whose deformer runs on one thread alone: between two calls the window lives
    on. What it finds is what `invert` finds, bit for bit. Closing the generator ends the search.

    Parameters
    ----------
    rest : Rig or array_like, shape (V, 3)
        The points at rest.
    sculpt : array_like, shape (V, 3)
        The sculpt, posed.
    algorithm, coupled, max_calls, max_correction, tolerance
        As in `invert`.

    Yields
    ------
    numpy.ndarray, shape (V, 3)
        Rest points. `send` takes the posed points that the deformer makes of them, and returns the next rest points.

    Returns
    -------
    Inversion
        The value of `StopIteration`; ``yield from`` gives it.

    Raises
    ------
    dermis.Error
        For arrays and settings that do not serve, for points of another shape or that are not finite, and for a deformer whose
        vertices depend on each other, unless `coupled` is 'iterate'.

    Examples
    --------
    >>> search = dermis.inversion(rest, sculpt)
    >>> points = next(search)
    >>> try:
    ...     while True:
    ...         points = search.send(bend(points))
    ... except StopIteration as ended:
    ...     found = ended.value
    """
    points, target = _rest(rest, "rest"), np.asarray(sculpt)
    if target.shape != points.shape:
        raise Error(f"sculpt has shape {target.shape}; {points.shape} is expected")
    return _asked(_dermis.InverseSearch(points, target, algorithm, coupled, max_calls, max_correction, tolerance))


def _asked(search: _dermis.InverseSearch) -> Generator[NDArray[np.float64], ArrayLike, Inversion]:
    try:
        while (points := search.ask()) is not None:
            search.answer((yield points))
        found = search.result()
    finally:
        search.close()
    return _inversion([found], True, ())


def _rest(points: Any, name: str) -> NDArray[Any]:
    """The points at rest, of a rig or as they are."""
    array: NDArray[Any] = points.rest_vertices if isinstance(points, Rig) else np.asarray(points)
    if array.ndim != 2 or array.shape[1:] != (3,):
        raise Error(f"{name} has shape {array.shape}; (V, 3) is expected")
    return array


def _inversion(found: list[_dermis.InverseResult], one: bool, shape: tuple[int, ...]) -> Inversion:
    """What searches found, together; `one` without the axis of sculpts."""

    def joined(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return arrays[0] if one else np.stack(arrays) if arrays else np.zeros(shape)

    return Inversion(
        displacements=joined([each.displacements() for each in found]),
        remainders=joined([each.remainders() for each in found]),
        residuals=joined([each.residuals() for each in found]),
        calls=max((each.calls for each in found), default=0),
        unresolved=sum(each.unresolved for each in found),
        tolerance=max((each.tolerance for each in found), default=0.0),
        stopped=max((each.stopped for each in found), key=_ENDS.index, default="reached"),
        coupled=max((each.coupled for each in found), default=0),
        limit=max((each.limit for each in found), default=math.inf),
        limited=sum(each.limited for each in found),
    )


@dataclass(frozen=True)
class ShapeTrack:
    """A model over a motion as shapes that act before linear blending: morph targets, shape keys.

    Attributes
    ----------
    names : list of str, length S
        Those of the sculpts, for a model that has a shape for each.
    displacements : numpy.ndarray of float32, shape (S, V, 3)
        Of the rest mesh, in the rig's own axes and unit.
    weights : numpy.ndarray, shape (N, S)
        In each pose, 0 to 1. Where a model needs an offset, the first shape is it: its weight is always 1.
    """

    names: list[str]
    displacements: NDArray[np.float32]
    weights: NDArray[np.float64]

    def __repr__(self) -> str:
        poses, shapes = self.weights.shape
        return f"<dermis.ShapeTrack: {shapes} shapes over {poses} poses>"


def shape_track(model: Model, pose_matrices: ArrayLike, shapes: int = 8, progress: Progress = None) -> ShapeTrack:
    """Turns a model into shapes over a motion, for hosts that blend linearly.

    A pose space in the inverse form over linear blending has shapes of its own; every other model gets the principal shapes
    of its corrections over the motion.

    Parameters
    ----------
    model : Model
        The model.
    pose_matrices : array_like, shape (N, B, 4, 4)
        Joint to world in each pose, in the rig's own axes and unit.
    shapes : int
        Principal shapes at most.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    ShapeTrack

    Raises
    ------
    dermis.Error
        For a rig without weights, and a motion that does not fit in memory.
    """
    with watching(progress) as callback:
        return ShapeTrack(*_dermis._shapes(model, pose_matrices, shapes, callback))
