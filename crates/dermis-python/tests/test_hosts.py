"""What hosts that blend linearly themselves ask of a model, and what fits take from them: importances, painted maps."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
import pytest

import dermis
from conftest import UNSEEN, Arm, Floats


def displaced(arm: Arm, displacements: Any, pose: Floats) -> Floats:
    """Linear blending of the displaced rest mesh, in NumPy."""
    return dataclasses.replace(arm, rest=arm.rest + displacements).blended(pose)


@pytest.mark.parametrize(("up", "unit"), [("y", 1.0), ("z", 0.01)])
def test_displacements_bring_linear_blending_to_the_model(arm: Arm, train: dermis.Examples, up: Literal["y", "z"], unit: float) -> None:
    rig = arm.rig(up=up, unit=unit)
    examples = dermis.Examples(rig, train.pose_matrices, train.vertices)
    model = dermis.fit(rig, examples, folds=0).model
    for bend in UNSEEN:
        pose = arm.pose(*bend)
        found, unreached = model.displacements(pose)
        assert unreached == 0 and found.dtype == np.float32
        assert np.abs(found).max() > 1e-3
        assert np.abs(displaced(arm, found, pose) - model(pose)).max() < 2e-6 * np.ptp(arm.rest)


def test_vertices_that_no_displacement_reaches_are_counted(arm: Arm, arm_fit: dermis.Fit) -> None:
    pose = arm.pose(0.0, 0.0)
    # Half a turn about the bone itself: in the middle the blended matrix has rank one.
    turn = np.diag([1.0, -1.0, -1.0, 1.0])
    pose[1:] = pose[1] @ turn @ np.linalg.inv(pose[1]) @ pose[1:]
    found, unreached = arm_fit.model.displacements(pose)
    assert np.isfinite(found).all() and np.abs(found).max() < 100.0
    apart = np.linalg.norm(displaced(arm, found, pose) - arm_fit.model(pose), axis=1)
    assert (apart > 2e-6 * np.ptp(arm.rest)).sum() == unreached


def test_the_distance_to_training_is_the_turn_from_the_nearest_pose(arm: Arm, arm_rig: dermis.Rig) -> None:
    poses = np.array([arm.pose(0.0, 0.0), arm.pose(0.5, 0.2), arm.pose(0.3, 1.0)])
    skins = np.array([arm.blended(pose) for pose in poses])
    model = dermis.fit(arm_rig, dermis.Examples(arm_rig, poses, skins), method=dermis.Mwe(), folds=0).model
    degrees, joints = model.degrees_from_training(np.array([arm.pose(0.5, 0.2), arm.pose(0.5, 1.4), arm.pose(0.9, 1.0)]))
    assert degrees == pytest.approx([0.0, np.degrees(0.4), np.degrees(0.4)], abs=1e-3)
    assert joints[1:] == [arm.names[2], arm.names[1]]
    assert model.degrees_from_training(arm.pose(0.0, 0.0))[0].shape == (1,)


def test_importance_zero_is_left_out(arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples) -> None:
    poses, skins = train.pose_matrices, train.vertices.copy()
    kept = list(range(len(train) - 1))
    skins[-1] += 1.0
    weighted = dermis.Examples(arm_rig, poses, skins, importances=[1.0] * len(kept) + [0.0])
    assert weighted.importances[-1] == 0.0
    method = dermis.Mwe(ridge={"fixed": 1e-2})
    all_of_them = dermis.fit(arm_rig, weighted, method=method, folds=0).model
    without = dermis.fit(arm_rig, train.subset(kept), method=method, folds=0).model
    pose = arm.pose(*UNSEEN[0])
    assert np.abs(all_of_them(pose) - without(pose)).max() < 1e-6
    with pytest.raises(dermis.Error, match="importance"):
        dermis.Examples(arm_rig, poses, skins, importances=[-1.0] * len(train))
    with pytest.raises(dermis.Error, match="importances has shape"):
        dermis.Examples(arm_rig, poses, skins, importances=[1.0])


def test_maps_bound_what_a_bone_moves(arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples) -> None:
    maps = np.ones_like(arm.weights)
    maps[:, 2] = arm.rest[:, 0] > 0.9 * arm.rest[:, 0].max()
    method = dermis.Mwe(maps="table", base="lbs")
    model = dermis.fit(arm_rig, train, method=method, maps=maps, folds=0).model
    plain = dermis.fit(arm_rig, train, method=dermis.OwnWeights(), folds=0).model
    # The last joint alone turns: where its map is zero, what the model adds does not change.
    bent, straight = arm.pose(0.3, 1.0), arm.pose(0.3, 0.0)
    added = (model(bent) - plain(bent)) - (model(straight) - plain(straight))
    first = np.linalg.norm(arm.weights[:, 2:], axis=1) == 0.0
    assert first.any() and np.abs(added[first]).max() < 1e-5
    with pytest.raises(dermis.Error, match="maps has no effect"):
        dermis.fit(arm_rig, train, maps=maps)
    with pytest.raises(dermis.Error, match="maps has shape"):
        dermis.fit(arm_rig, train, method=method, maps=maps[:-1])


def test_a_model_is_corrected_further(arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples, unseen: dermis.Examples) -> None:
    blending = dermis.fit(arm_rig, train, method=dermis.Mwe(ridge={"fixed": 10.0}), folds=0).model
    further = dermis.Joint(base="model")
    fit = dermis.fit(arm_rig, train, hold_out=unseen, method=further, base=blending)
    below = dermis.evaluate(blending, unseen)
    assert fit.errors.held_out is not None and fit.errors.held_out.rms < below.error.rms
    pose = arm.pose(0.4, 0.2)
    assert np.abs(fit.model(pose) - blending(pose)).max() > 1e-6
    with pytest.raises(dermis.Error, match="base"):
        dermis.fit(arm_rig, train, method=further)
    with pytest.raises(dermis.Error, match="base"):
        dermis.fit(arm_rig, train, method=dermis.Joint(), base=blending)


def test_a_prior_serves_a_few_poses(arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples, unseen: dermis.Examples) -> None:
    prior = dermis.fit(arm_rig, train, folds=0).model
    few = train.subset([1, len(train) // 2, len(train) - 1])
    method = dermis.Joint(base="lbs")
    alone, over = (dermis.fit(arm_rig, few, hold_out=unseen, method=method, prior=of) for of in (None, prior))
    assert alone.errors.held_out is not None and over.errors.held_out is not None
    assert over.errors.held_out.rms < alone.errors.held_out.rms
    found = over.report.to_dict()["report"]["prior"]
    assert found["taken"] and 0.8 < found["gain"] < 1.2
    with pytest.raises(dermis.Error, match="prior has no effect"):
        dermis.fit(arm_rig, few, method=dermis.Mwe(), prior=prior)


@pytest.mark.parametrize("method", [dermis.Joint(), dermis.Correctives(), dermis.Psd(smoothing=0.0)])
def test_shapes_over_a_motion_are_the_model(arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples, method: dermis.Method) -> None:
    few = train.subset([0, len(train) // 2, len(train) - 1])
    model = dermis.fit(arm_rig, few, method=method, folds=0).model
    motion = np.array([arm.pose(0.1 * at, 0.05 * at) for at in range(8)])
    track = dermis.shape_track(model, motion, shapes=64)
    assert track.weights.shape == (8, len(track.names)) and track.weights.min() >= 0.0 and track.weights.max() <= 1.0
    for pose, weights in zip(motion, track.weights):
        total = np.einsum("s,svi->vi", weights, track.displacements)
        assert np.abs(displaced(arm, total, pose) - model(pose)).max() < 2e-4 * np.ptp(arm.rest)
