"""Inverse kinematics against forward kinematics in NumPy."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import dermis
from dermis import ik

Floats = NDArray[np.float64]


def arm(unit: float = 1.0, up: Literal["y", "z"] = "y") -> dermis.Rig:
    """Five bones along a bent line, of different lengths."""
    heads = np.array([[0, 0, 0], [0.3, 0.02, 0], [0.55, 0, 0.03], [0.8, 0.05, 0], [0.95, 0, 0]]) / unit
    if up == "z":
        heads = np.stack([heads[:, 0], -heads[:, 2], heads[:, 1]], axis=1)
    bind = np.tile(np.eye(4), (5, 1, 1))
    bind[:, :3, 3] = heads
    return dermis.Rig(
        rest_vertices=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]) / unit, faces=[[0, 1, 2]],
        bone_names=[f"b{k}" for k in range(5)], bone_parents=[-1, 0, 1, 2, 3], bind_matrices=bind, up=up, unit=unit,
    )


def forward(rig: dermis.Rig, pose: Floats) -> Floats:
    """The pose again, from the lengths of the rig and the rotations of the pose alone."""
    bind, again = rig.bind_matrices, pose.copy()
    for bone, parent in enumerate(rig.bone_parents):
        if parent >= 0:
            step = np.linalg.inv(bind[parent]) @ bind[bone]
            again[bone, :3, 3] = (again[parent] @ step[:, 3])[:3]
    return again


def test_the_answer_s_forward_kinematics_reaches_the_target() -> None:
    rig = arm()
    random = np.random.default_rng(3)
    for root, end in [("b0", "b2"), ("b0", "b4")]:
        for _ in range(200):
            direction = random.normal(size=3)
            target = direction / np.linalg.norm(direction) * random.uniform(0.1, 1.3)
            solved = ik.solve(rig, [ik.Goal(root, end, target=target)])
            again = forward(rig, solved.pose_matrices)
            np.testing.assert_allclose(again, solved.pose_matrices, atol=1e-12)
            left = np.linalg.norm(again[int(end[1]), :3, 3] - target)
            reach = solved.reaches[0]
            assert left == pytest.approx(reach.distance, abs=1e-12)
            assert left <= reach.out_of_reach + 1e-6 * reach.length


def test_axes_and_unit_of_the_rig_change_nothing_else() -> None:
    one, other = arm(), arm(unit=0.01, up="z")
    turned = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]) * 100  # from Y up and metres to Z up and centimetres
    target, pole = np.array([0.4, 0.3, 0.2]), np.array([0.2, -1.0, 0.1])
    point = np.array([0.1, 0.0, 0.05])
    a = ik.solve(one, [ik.Goal("b0", "b4", target=target, pole=pole, pole_joint="b2", point=point)])
    goal = ik.Goal("b0", "b4", target=turned @ target, pole=turned @ pole, pole_joint="b2", point=100 * point)
    b = ik.solve(other, [goal])
    moved = (turned @ a.pose_matrices[:, :3, 3].T).T
    # Both go their own way to the answer only in rounding.
    np.testing.assert_allclose(b.pose_matrices[:, :3, 3], moved, atol=1e-5)
    assert b.reaches[0].length == pytest.approx(100 * a.reaches[0].length)


def test_poles_looks_rotations_and_priorities() -> None:
    rig = arm()
    for pole in ([0.2, 2.0, 0.0], [0.2, -2.0, 0.0], [0.2, 0.0, 2.0]):
        solved = ik.solve(rig, [ik.Goal("b0", "b2", target=[0.4, 0.0, 0.0], pole=pole, pole_joint="b1")])
        elbow = solved.pose_matrices[1, :3, 3]
        side = elbow - elbow[0] * np.array([1.0, 0, 0])
        assert side @ np.array([0, *pole[1:]]) == pytest.approx(np.linalg.norm(side) * 2.0, rel=1e-6)
    looked = ik.solve(rig, [ik.Goal("b4", "b4", look_at=[1, 2, 3], axis=[1, 0, 0])]).pose_matrices[4]
    to = np.array([1, 2, 3]) - looked[:3, 3]
    np.testing.assert_allclose(looked[:3, 0], to / np.linalg.norm(to), atol=1e-8)
    turn = np.array([[0, -1.0, 0], [1, 0, 0], [0, 0, 1]])
    goal = ik.Goal("b0", "b4", target=[0.5, 0.4, 0.1], rotation=turn)
    framed = ik.solve(rig, [goal]).pose_matrices[4]
    np.testing.assert_allclose(framed[:3, :3], turn, atol=1e-8)
    np.testing.assert_allclose(framed[:3, 3], [0.5, 0.4, 0.1], atol=1e-8)
    first, second = [0.3, 0.4, 0.0], [0.3, -0.6, 0.0]
    both = ik.solve(rig, [ik.Goal("b0", "b2", target=first), ik.Goal("b0", "b4", target=second, priority=1)])
    assert both.reaches[0].distance < 1e-6 < both.reaches[1].distance


def test_a_pose_begins_where_the_last_one_ended() -> None:
    rig, pose, most = arm(), None, 0.0
    for at in range(400):
        t = 2 * np.pi * at / 400
        target = [0.5 + 0.5 * np.cos(t), 0.5 * np.sin(t), 0.2 * np.sin(2 * t)]
        solved = ik.solve(rig, [ik.Goal("b0", "b4", target=target)], begin=pose)
        if pose is not None:
            most = max(most, float(np.abs(solved.pose_matrices[:, :3, :3] - pose[:, :3, :3]).max()))
        pose = solved.pose_matrices
    # A target that moves by 8 mm of a metre turns no joint by more than 0.4 rad (docs of the solver).
    assert most < 0.4


def test_limits_hold(body: dermis.Rig) -> None:
    names = body.bone_names
    upper, lower = names.index("upperarm_l"), names.index("lowerarm_l")
    rest = body.bind_matrices
    shoulder = rest[upper, :3, 3]
    hand = rest[names.index("hand_l"), :3, 3]
    goal = ik.Goal("upperarm_l", "hand_l", target=shoulder + 0.1 * (hand - shoulder))
    free = ik.solve(body, [goal])
    assert free.reaches[0].distance < 1e-6
    limits = {"joints": {"lowerarm_l": {"bend": [0, 30], "lean": [0, 0], "twist": [0, 0]}}}
    held = ik.solve(body, [goal], limits=limits)

    def bend(pose: Floats) -> float:
        local = np.linalg.inv(pose[upper]) @ pose[lower]
        own = np.linalg.inv(rest[upper]) @ rest[lower]
        turn = own[:3, :3].T @ local[:3, :3]
        return float(np.degrees(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))))

    assert bend(free.pose_matrices) > 90
    assert bend(held.pose_matrices) < 30 + 1e-3
    assert held.reaches[0].distance > 0.05
    anatomical = ik.solve(body, [goal], limits="anatomy")
    assert np.isfinite(anatomical.pose_matrices).all()


def test_goals_that_make_no_sense_are_refused() -> None:
    rig = arm()
    for goal, says in [
        (ik.Goal("b9", "b4", target=[0, 0, 0]), "'b9'|\"b9\""),
        (ik.Goal("b4", "b0", target=[0, 0, 0]), "is not above"),
        (ik.Goal("b0", "b4"), "needs a target"),
        (ik.Goal("b0", "b4", target=[0, 0]), "shape"),
        (ik.Goal("b0", "b4", target=[0, np.nan, 0]), "goals"),
        (ik.Goal("b0", "b4", target=[0, 0, 0], look_at=[1, 1, 1]), "stands alone"),
        (ik.Goal("b0", "b4", target=[0, 0, 0], weight=-1.0), "weight"),
        (ik.Goal("b0", "b4", target=[0, 0, 0], priority=-1), "priority"),
        (ik.Goal("b0", "b2", target=[0, 0, 0], pole=[0, 1, 0], pole_joint="b3"), "b3"),
    ]:
        with pytest.raises(dermis.Error, match=says):
            ik.solve(rig, [goal])
    with pytest.raises(dermis.Error, match="begin"):
        ik.solve(rig, [ik.Goal("b0", "b4", target=[0, 0, 0])], begin=np.eye(4))
    with pytest.raises(dermis.Error, match="tail"):
        ik.solve(rig, [ik.Goal("b0", "b4", target=[0, 0, 0])], limits={"joints": {"tail": {"locked": True}}})
