"""Inverse kinematics: joint rotations that bring bones where they are wanted.

>>> from dermis import ik
>>> reach = ik.Goal("upperarm_l", "hand_l", target=[0.4, -0.3, 1.2], pole=[0.6, 0.8, 1.0], pole_joint="lowerarm_l")
>>> solved = ik.solve(rig, [reach], limits="anatomy")
>>> solved.reaches[0].distance, solved.reaches[0].out_of_reach
>>> solved = ik.solve(rig, [reach], begin=solved.pose_matrices)    # the next frame begins where this one ended

Arrays are in the rig's own axes and unit. Chains of two bones are closed by the law of cosines, others by damped least squares
after FABRIK; joints never leave their limits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _dermis
from ._errors import Error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._dermis import Rig

__all__ = ["Goal", "Reach", "Solved", "solve"]


@dataclass(frozen=True)
class Goal:
    """A wish for a bone, and the joints that may turn for it.

    Parameters
    ----------
    root : str
        The first bone of the chain: it and those below it, down to `end`, may turn.
    end : str
        The bone that the goal is for.
    target : array_like, shape (3,), optional
        Where the head of `end` goes, or its `point`.
    rotation : array_like, shape (3, 3), optional
        How `end` is turned, from its own axes to the world; alone, or with a target.
    look_at : array_like, shape (3,), optional
        A point that the `axis` of the bone shows to, in place of a target.
    axis : array_like, shape (3,)
        The direction that looks, in the bone's own axes; y, along the bone, by default.
    point : array_like, shape (3,)
        The point that goes to the target, in the frame of `end`; its head by default.
    pole : array_like, shape (3,), optional
        A point that `pole_joint` leans to.
    pole_joint : str, optional
        A joint between `root` and `end`; of two bones the elbow.
    weight : float
        What the squared residual counts among goals of one priority.
    priority : int
        0 comes first. A goal moves what goals of lower numbers leave free.
    """

    root: str
    end: str
    target: ArrayLike | None = None
    rotation: ArrayLike | None = None
    look_at: ArrayLike | None = None
    axis: ArrayLike = (0.0, 1.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    pole: ArrayLike | None = None
    pole_joint: str | None = None
    weight: float = 1.0
    priority: int = 0


@dataclass(frozen=True)
class Reach:
    """How near a goal came. Lengths are in the rig's unit, angles are degrees."""

    distance: float
    """From the goal's point to its target."""
    angle: float
    """From the bone's direction to its target."""
    out_of_reach: float
    """By how much the target lies outside of what the lengths of the chain reach, limits aside."""
    length: float
    """Of the chain."""
    off_pole: float
    """From the side that the chain bends to, to its pole."""


@dataclass(frozen=True)
class Solved:
    """What came of a solve."""

    pose_matrices: NDArray[np.float64]
    """Joint to world, shape (B, 4, 4)."""
    reaches: list[Reach]
    """How near every goal came."""
    steps: int
    """Steps of least squares."""
    stop: Literal["met", "nearest", "steps"]
    """Why it ended: all goals are met, no step brings them nearer, or the steps were used up."""


def solve(
    rig: Rig,
    goals: Sequence[Goal],
    *,
    begin: ArrayLike | None = None,
    posture: ArrayLike | None = None,
    limits: Literal["anatomy"] | Mapping[str, Any] | None = None,
) -> Solved:
    """Finds the pose near `begin` that meets the goals.

    Parameters
    ----------
    rig : Rig
        Its skeleton.
    goals : sequence of Goal
        What is wanted.
    begin : array_like, shape (B, 4, 4), optional
        The pose to begin at, joint to world: the answer of the frame before, so that limbs do not flip; the bind pose by default.
    posture : array_like, shape (B, 4, 4), optional
        A pose that joints keep to as far as the goals leave them free.
    limits : 'anatomy' or dict, optional
        How far joints turn: as parts of a body do, or a table as ``dermis exercise --limits`` reads it, over those of anatomy:
        ``{"joints": {"jaw": {"axis": [1, 0, 0], "range": [0, 25]}}}``. Without it joints turn freely.

    Returns
    -------
    Solved

    Raises
    ------
    dermis.Error
        For a goal that cannot be pursued, naming it. A target out of reach is no error: `Solved.reaches` says what is left.
    """
    described = [_described(at, goal) for at, goal in enumerate(goals)]
    text = limits if limits is None or isinstance(limits, str) else _json(limits, "limits")
    matrices, told = _dermis._ik(rig, _json(described, "goals"), begin, posture, text)
    found = json.loads(told)
    return Solved(matrices, [Reach(**reach) for reach in found["reaches"]], found["steps"], found["stop"])


def _described(at: int, goal: Goal) -> dict[str, Any]:
    shapes = {"target": (3,), "rotation": (3, 3), "look_at": (3,), "axis": (3,), "point": (3,), "pole": (3,)}
    described: dict[str, Any] = {
        "root": goal.root, "end": goal.end, "pole_joint": goal.pole_joint,
        "weight": float(goal.weight), "priority": int(goal.priority),
    }
    if goal.priority < 0:
        raise Error(f"goal {at}: priority is {goal.priority}; it must be 0 or more")
    for name, shape in shapes.items():
        value = getattr(goal, name)
        if value is None:
            continue
        array = np.asarray(value, dtype=np.float64)
        if array.shape != shape:
            raise Error(f"goal {at}: {name} has the shape {array.shape}; {shape} is expected")
        described[name] = array.ravel().tolist()
    return described


def _json(value: object, what: str) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Error(f"{what}: {error}") from None
