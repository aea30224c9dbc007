# SPDX-License-Identifier: GPL-3.0-or-later
"""The inverse of a modifier stack: a sculpt of the posed mesh becomes a displacement at rest.

`Stack` makes the evaluated modifiers of a mesh object, in its current pose, a function of the rest points. `invert` finds
the displacement d with S(rest + d) = sculpt by calls of that function (`dermis.invert`). `steps` does the same one call at a
time, so that a timer can run a few calls per tick. `bpy` is used on the caller's thread alone.

Spaces: all points are in the object's own space, in Blender's units. The rest is the mix of the artist's shape keys, where a
shape key acts: before every modifier. Lengths in reports are millimetres of the scene, with the object's scale.

While a `Stack` is entered, the mesh carries one more shape key, pinned. Leaving it removes the key and restores what was set.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import bpy
import numpy as np

from .package import needed

if TYPE_CHECKING:
    import dermis

KEY = "Dermis inverse"
"""Name of the temporary shape key."""
INDEX = "dermis_inverse_index"
"""Name of the temporary attribute that finds out whether a stack keeps the vertices."""
MAX_CALLS = 40
"""Calls of the stack at most. Twice what the slowest stack of `tools/bench_blender_inverse.py` takes."""
TOLERANCE_MM = 1e-4
"""A vertex is done once it is this near to the sculpt."""

# What moves a vertex because others moved, or bounds that all vertices share.
COUPLED = {
    "CAST", "CLOTH", "CORRECTIVE_SMOOTH", "CURVE", "DISPLACE", "LAPLACIANDEFORM", "LAPLACIANSMOOTH", "NODES", "SHRINKWRAP",
    "SIMPLE_DEFORM", "SMOOTH", "SOFT_BODY", "SURFACE_DEFORM", "WAVE",
}


class StackError(RuntimeError):
    """A stack that cannot be called: what is wrong, and what to do."""


class Stack:
    """The modifiers of a mesh object in its current pose, as a function of rest points (V, 3).

    Use it as a context manager; it can be entered again. Inside, ``stack(points)`` returns the evaluated positions, and
    ``stack.rest`` holds the rest points: what the artist's shape keys make.

    Parameters
    ----------
    object : bpy.types.Object
        A mesh. It may be hidden by the eye in the outliner; it is shown while the stack is entered.
    without : iterable of str
        Modifiers that are switched off while the stack is entered, by name.
    view_layer : bpy.types.ViewLayer, optional
        Where it is evaluated; the context's own if left out.

    Raises
    ------
    StackError
        On entering: for a mesh in edit or sculpt mode, a linked mesh, an object that is not evaluated, and a modifier that
        changes the vertices.
    """

    def __init__(
        self, object: bpy.types.Object, *, without: Iterable[str] = (), view_layer: bpy.types.ViewLayer | None = None
    ) -> None:
        self.object = object
        self.name = object.name
        self.without = tuple(without)
        self.view_layer = view_layer
        self.rest = np.zeros((0, 3))
        self._entered: contextlib.ExitStack | None = None
        self._pose: bytes | None = None

    def __enter__(self) -> Stack:
        if self._entered is not None:
            raise StackError("The stack is entered already")
        with contextlib.ExitStack() as undo:
            self._enter(undo)
            self._entered = undo.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        entered, self._entered = self._entered, None
        if entered is not None:
            entered.close()

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Evaluates the stack: rest points (V, 3) in, posed points (V, 3) out, float64 that hold single precision."""
        key = self.object.data.shape_keys.key_blocks[self._key]
        key.data.foreach_set("co", np.ascontiguousarray(points, dtype=np.float32).ravel())
        self.object.data.update_tag()
        return self._evaluated("position", "vector", np.float32, 3).astype(np.float64)

    @property
    def metres(self) -> np.ndarray:
        """The linear map (3, 3) from the object's space to metres of the scene."""
        scale = bpy.context.scene.unit_settings.scale_length
        return np.array(self.object.matrix_world.to_3x3()) * scale

    def coupling(self) -> tuple[str, ...]:
        """Names of the modifiers that are on and may move a vertex because others moved; of all if none is known to."""
        on = self._modifiers()
        return tuple(m.name for m in on if m.type in COUPLED) or tuple(m.name for m in on)

    def pose(self) -> bytes:
        """A fingerprint of what the stack depends on: the frame, the modifiers, and the objects and bones that they name."""
        scene = bpy.context.scene
        parts = [repr((scene.frame_current, scene.frame_subframe, [(m.name, m.type) for m in self._modifiers()])).encode()]
        for modifier in self._modifiers():
            parts.append(np.array(self.object.matrix_world, dtype=np.float32).tobytes())
            driver = getattr(modifier, "object", None)
            if driver is not None:
                driver = driver.evaluated_get(self._layer.depsgraph)
                parts.append(np.array(driver.matrix_world, dtype=np.float32).tobytes())
                if driver.pose is not None:
                    bones = np.empty(16 * len(driver.pose.bones), dtype=np.float32)
                    driver.pose.bones.foreach_get("matrix", bones)
                    parts.append(bones.tobytes())
        return b"".join(parts)

    # Entering.

    def _enter(self, undo: contextlib.ExitStack) -> None:
        object = self.object
        layer = self.view_layer or bpy.context.view_layer
        self._layer = layer
        layer.update()
        check(object, layer)
        undo.callback(layer.update)
        if object.hide_get(view_layer=layer):
            object.hide_set(False, view_layer=layer)
            undo.callback(object.hide_set, True, view_layer=layer)
        if object.hide_viewport:
            _set(undo, object, "hide_viewport", False)
        if not object.visible_get(view_layer=layer):
            # Blender evaluates no modifiers of it.
            raise StackError(f"{object.name} is not shown in the view layer {layer.name}. Show its collections")
        for name in self.without:
            if name not in object.modifiers:
                raise StackError(f"{object.name} has no modifier {name}")
            _set(undo, object.modifiers[name], "show_viewport", False)
        self._pin(undo)
        layer.update()
        self._check_vertices(undo)

    def _pin(self, undo: contextlib.ExitStack) -> None:
        """Adds a key that holds the mix of all others, and pins it: it alone then acts, whatever the others are set to."""
        object = self.object
        keys = object.data.shape_keys
        active, pinned = object.active_shape_key_index, object.show_only_shape_key
        undo.callback(_put_back, object, active, pinned)
        if keys is None:
            undo.callback(_remove_key, object, object.shape_key_add(name="Basis", from_mix=False).name)
        key = object.shape_key_add(name=KEY, from_mix=True)
        undo.callback(_remove_key, object, key.name)
        self._key = key.name
        # Blender 5 adds keys at 1, which other objects of this mesh would show.
        key.value = 0.0
        object.active_shape_key_index = object.data.shape_keys.key_blocks.find(key.name)
        object.show_only_shape_key = True
        rest = np.empty(len(object.data.vertices) * 3, dtype=np.float32)
        key.data.foreach_get("co", rest)
        self.rest = rest.reshape(-1, 3).astype(np.float64)

    def _check_vertices(self, undo: contextlib.ExitStack) -> None:
        """Sends the numbers of the vertices through the stack: they must come back in order."""
        mesh = self.object.data
        if INDEX in mesh.attributes:
            mesh.attributes.remove(mesh.attributes[INDEX])
        numbers = np.arange(len(mesh.vertices), dtype=np.int32)
        with contextlib.ExitStack() as temporary:
            name = mesh.attributes.new(INDEX, "INT", "POINT").name
            temporary.callback(_remove_attribute, mesh, name)
            mesh.attributes[name].data.foreach_set("value", numbers)
            mesh.update_tag()
            if self._keeps(name, numbers):
                return
            off: list[bpy.types.Modifier] = []
            for modifier in reversed(list(self._modifiers())):
                _set(temporary, modifier, "show_viewport", False)
                off.append(modifier)
                if self._keeps(name, numbers):
                    raise StackError(
                        f"The modifier {modifier.name} of {self.object.name} adds, removes or reorders vertices. "
                        "Switch it off in the viewport, or apply it"
                    )
        raise StackError(f"{self.object.name} is not evaluated in the view layer {self._layer.name}")

    def _keeps(self, name: str, numbers: np.ndarray) -> bool:
        try:
            return np.array_equal(self._evaluated(name, "value", np.int32, 1)[:, 0], numbers)
        except StackError:
            return False

    def _evaluated(self, name: str, field: str, kind: type, width: int) -> np.ndarray:
        self._layer.update()
        mesh = self.object.evaluated_get(self._layer.depsgraph).data
        count = len(self.object.data.vertices)
        attribute = mesh.attributes.get(name)
        if attribute is None or attribute.domain != "POINT" or len(attribute.data) != count:
            raise StackError(f"The vertices of {self.object.name} changed while its modifiers were called. Start again")
        flat = np.empty(count * width, dtype=kind)
        attribute.data.foreach_get(field, flat)
        return flat.reshape(-1, width)

    def _modifiers(self) -> list[bpy.types.Modifier]:
        return [m for m in self.object.modifiers if m.show_viewport and m.name not in self.without]


def check(object: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> None:
    """Raises `StackError` unless the stack of `object` can be called; changes nothing."""
    name = object.name
    if object.type != "MESH":
        raise StackError(f"{name} is no mesh")
    if object.mode not in {"OBJECT", "WEIGHT_PAINT", "VERTEX_PAINT", "TEXTURE_PAINT", "POSE"}:
        raise StackError(f"{name} is in {object.mode.lower().replace('_', ' ')} mode. Leave it for Object Mode")
    keys = object.data.shape_keys
    if object.data.library or object.data.override_library or (keys and (keys.library or keys.override_library)):
        raise StackError(f"The mesh of {name} is linked from another file. Make it local: Object > Relations > Make Local")
    if object.name not in view_layer.objects:
        raise StackError(f"{name} is not in the view layer {view_layer.name}")
    if not len(object.data.vertices):
        raise StackError(f"{name} has no vertices")


def _set(undo: contextlib.ExitStack, thing: bpy.types.bpy_struct, name: str, value: object) -> None:
    before = getattr(thing, name)
    if before != value:
        setattr(thing, name, value)
        undo.callback(setattr, thing, name, before)


def _put_back(object: bpy.types.Object, active: int, pinned: bool) -> None:
    object.active_shape_key_index = active
    object.show_only_shape_key = pinned


def _remove_key(object: bpy.types.Object, name: str) -> None:
    keys = object.data.shape_keys
    if keys is not None and name in keys.key_blocks:
        object.shape_key_remove(keys.key_blocks[name])


def _remove_attribute(mesh: bpy.types.Mesh, name: str) -> None:
    if name in mesh.attributes:
        mesh.attributes.remove(mesh.attributes[name])


@dataclass(frozen=True)
class Step:
    """What is known after a call of the stack."""

    calls: int
    """Calls so far."""
    max_calls: int
    """Calls at most."""
    largest_mm: float
    """The largest distance to the sculpt, of the best call so far."""


@dataclass(frozen=True)
class Inverse:
    """A sculpt brought back through a stack. Arrays are (V, 3), float64, in the object's space."""

    rest: np.ndarray
    """The rest points: the mix of the artist's shape keys."""
    displacement: np.ndarray
    """d, at rest: S(rest + d) + remainder is the sculpt."""
    remainder: np.ndarray
    """What the stack cannot make, posed."""
    calls: int
    """Calls of the stack."""
    largest_mm: float
    """The longest remainder."""
    rms_mm: float
    """The remainders' root mean square."""
    reason: str
    """Why it stopped: 'reached', 'no-gain' or 'calls'."""
    coupled: tuple[str, ...]
    """If vertices move because others moved: the modifiers that may do it. The displacement is then approximate."""
    limit_mm: float
    """With a coupled stack: the longest displacement that is allowed; else infinity."""
    limited: int
    """Vertices whose displacement is as long as that."""
    seconds: float
    """Time from the first call to the last."""

    def text(self) -> str:
        """One sentence for the artist."""
        left = f"{self.largest_mm:.2g} mm left at most after {self.calls} calls"
        why = {
            "reached": "The stack makes the sculpt",
            "no-gain": "The stack cannot make all of the sculpt",
            "calls": "The calls were used up",
        }[self.reason]
        through = f" ({', '.join(self.coupled)} smooths or couples vertices)" if self.coupled else ""
        return f"{why}{through}: {left}"


@dataclass
class _Search:
    """One search: its target, and what its calls found."""

    stack: Stack
    sculpt: np.ndarray
    max_calls: int
    tolerance_mm: float
    max_correction: float | None
    metres: np.ndarray = field(init=False)
    calls: int = 0
    best: float = np.inf
    start: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.metres = self.stack.metres
        self.sculpt = np.asarray(self.sculpt, dtype=np.float64)
        count = len(self.stack.object.data.vertices)
        if self.sculpt.shape != (count, 3):
            raise StackError(f"The sculpt has shape {self.sculpt.shape}; {self.stack.object.name} has {count} vertices")
        if not np.isfinite(self.sculpt).all():
            raise StackError("The sculpt has vertices that are not finite. Undo the last stroke")

    def settings(self) -> dict[str, object]:
        """How `dermis.invert` and `dermis.inversion` search."""
        return {
            "coupled": "iterate", "max_calls": self.max_calls, "max_correction": self.max_correction,
            "tolerance": self.tolerance_mm / self.millimetres,
        }  # fmt: skip

    @property
    def millimetres(self) -> float:
        """Millimetres of the scene per length in the object's space, at most."""
        return float(1e3 * np.linalg.norm(self.metres, 2))

    def took(self, points: np.ndarray) -> Step:
        self.calls += 1
        self.best = min(self.best, self.lengths(self.sculpt - points).max())
        return Step(self.calls, self.max_calls, float(self.best))

    def lengths(self, vectors: np.ndarray) -> np.ndarray:
        return 1e3 * np.linalg.norm(vectors @ self.metres.T, axis=1)

    def result(self, found: dermis.Inversion) -> Inverse:
        left = self.lengths(found.remainders)
        return Inverse(
            rest=self.stack.rest, displacement=found.displacements, remainder=found.remainders, calls=found.calls,
            largest_mm=float(left.max()), rms_mm=float(np.sqrt(np.mean(left**2))), reason=found.stopped,
            coupled=self.stack.coupling() if found.coupled else (), limited=found.limited,
            limit_mm=found.limit * self.millimetres,
            seconds=time.perf_counter() - self.start,
        )


def invert(
    object: bpy.types.Object,
    sculpt_positions: np.ndarray,
    *,
    max_calls: int = MAX_CALLS,
    tolerance_mm: float = TOLERANCE_MM,
    max_correction: float | None = None,
    without: Iterable[str] = (),
    view_layer: bpy.types.ViewLayer | None = None,
    progress: Callable[[Step], bool] | None = None,
) -> Inverse:
    """Finds the displacement at rest that the stack of `object`, in its current pose, takes to a sculpt.

    Parameters
    ----------
    object, without, view_layer
        As `Stack` takes them.
    sculpt_positions : numpy.ndarray, shape (V, 3)
        The sculpt, posed, in the object's space.
    max_calls : int
        Calls of the stack at most, 8 or more.
    tolerance_mm : float
        A vertex is done at this distance from the sculpt, or at the rounding of single precision if that is coarser.
    max_correction : float, optional
        With a coupled stack: no displacement is longer than this many times the longest that the sculpt asks for.
        The default is that of `dermis.invert`.
    progress : callable, optional
        Gets a `Step` after each call; a true answer cancels.

    Raises
    ------
    StackError, dermis.Error, Cancelled
    """
    stack = Stack(object, without=without, view_layer=view_layer)
    with stack:
        search = _Search(stack, sculpt_positions, max_calls, tolerance_mm, max_correction)

        def call(points: np.ndarray) -> np.ndarray:
            out = stack(points)
            step = search.took(out)
            if progress is not None and progress(step):
                raise Cancelled
            return out

        return search.result(needed().invert(stack.rest, search.sculpt, deformer=call, **search.settings()))


class Cancelled(Exception):
    """The search was cancelled."""


def steps(
    object: bpy.types.Object,
    sculpt_positions: np.ndarray,
    *,
    max_calls: int = MAX_CALLS,
    tolerance_mm: float = TOLERANCE_MM,
    max_correction: float | None = None,
    without: Iterable[str] = (),
    view_layer: bpy.types.ViewLayer | None = None,
) -> Generator[Step, None, Inverse]:
    """`invert`, one call of the stack per step.

    Each step enters the stack, answers one question of the search (`dermis.inversion`) and leaves the stack, so between two
    steps the scene is as the artist left it. Closing the generator ends the search. The generator returns the `Inverse` (the
    value of `StopIteration`; `yield from` gives it).

    Raises
    ------
    StackError
        Also if the pose or the shape keys changed between two steps.
    """
    stack = Stack(object, without=without, view_layer=view_layer)
    with stack:
        search = _Search(stack, sculpt_positions, max_calls, tolerance_mm, max_correction)
        pose = stack.pose()
        rest = stack.rest
    with contextlib.closing(needed().inversion(rest, search.sculpt, **search.settings())) as questions:
        try:
            points = next(questions)
            while True:
                with stack:
                    if stack.pose() != pose or not np.array_equal(stack.rest, rest):
                        raise StackError(f"The pose of {stack.name} changed during the search. Start again")
                    out = stack(points)
                yield search.took(out)
                points = questions.send(out)
        except StopIteration as ended:
            return search.result(ended.value)
