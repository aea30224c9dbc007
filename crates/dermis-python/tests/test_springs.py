"""Secondary motion that a model has learnt: from Python what the program plays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dermis

from conftest import Arm, Floats

RATE = 60.0


def shaken(arm: Arm, seed: int) -> tuple[Floats, Floats]:
    """Poses of an arm that is carried to and fro, and skins that lag behind by a spring of 3 Hz."""
    rng = np.random.default_rng(seed)
    times = np.arange(80) / RATE
    moves = np.zeros((80, 3))
    for k in range(3):
        moves += rng.normal(size=3) * 0.04 * np.sin(5.0 * (k + 1) * times + rng.uniform(0, 6))[:, None]
    poses = np.repeat(arm.pose(0.0, 0.0)[None], 80, axis=0)
    poses[:, :, :3, 3] += moves[:, None]
    skins = arm.rest[None] + moves[:, None]
    offset, speed, omega, h = np.zeros(3), np.zeros(3), 2 * np.pi * 3.0, 1 / RATE / 200
    for at in range(1, 80):
        if at > 1:
            speed = speed - (moves[at] - 2 * moves[at - 1] + moves[at - 2]) * RATE
        for _ in range(200):
            speed = speed - h * (omega**2 * offset + 0.4 * omega * speed)
            offset = offset + h * speed
        skins[at] += offset
    return poses, skins


@pytest.fixture
def model(arm: Arm, tmp_path: Path) -> dermis.Model:
    """A model of the arm's own weights that has learnt to swing."""
    clips = []
    for seed in range(2):
        poses, skins = shaken(arm, seed)
        name = tmp_path / f"clip{seed}.npz"
        np.savez(
            name, rest_vertices=arm.rest, faces=arm.faces, bone_names=arm.names, bone_parents=arm.parents, bind_matrices=arm.bind,
            lbs_weights=arm.weights, pose_labels=[f"{seed} {n}" for n in range(len(poses))], pose_matrices=poses,
            frame_times=np.arange(len(poses)) / RATE, vertices=skins,
        )  # fmt: skip
        clips.append({"file": str(name)})
    recipe = {
        "rig": clips[0], "examples": {"held": clips[:1]}, "secondary-from": clips, "method": "own-weights", "folds": 0,
        "outputs": {"model": str(tmp_path / "m.dermis")},
    }  # fmt: skip
    said = dermis.run({"fit": recipe})
    assert said["secondary"]["kept"]
    return dermis.Model.open(tmp_path / "m.dermis")


def test_springs_are_what_the_program_plays(arm: Arm, model: dermis.Model, tmp_path: Path) -> None:
    springs = model.springs()
    assert springs is not None
    said = dermis.pose(tmp_path / "m.dermis", tmp_path / "clip1.npz", tmp_path / "skins.npz")
    assert said["swinging_vertices"] == len(arm.rest) and said["largest_swing"] > 0.01
    dermis.pose(tmp_path / "m.dermis", tmp_path / "clip1.npz", tmp_path / "still.npz", still=True)
    wanted, still = (np.load(tmp_path / name)["vertices"] for name in ("skins.npz", "still.npz"))
    poses, _ = shaken(arm, 1)
    for pose, swung, skin in zip(poses, wanted, still):
        found = model(pose)
        assert np.abs(found - skin).max() < 1e-6
        offsets = springs.apply(1 / RATE, found)
        assert offsets.dtype == np.float32 and np.abs(found + offsets - swung).max() < 1e-5
    # From a reset it begins at rest.
    springs.reset()
    assert np.abs(springs.apply(1.0, model(poses[9]))).max() == 0.0


def test_displacements_reach_a_skin_that_swings(arm: Arm, model: dermis.Model) -> None:
    rng = np.random.default_rng(4)
    pose = arm.pose(0.3, -0.2)
    offsets = rng.normal(size=arm.rest.shape) * 0.02
    displacements, unreached = model.displacements(pose, offsets=offsets)
    moves = np.einsum("vb,bij->vij", arm.weights, pose @ np.linalg.inv(arm.bind))
    moved = np.einsum("vij,vj->vi", moves[:, :3, :3], arm.rest + displacements) + moves[:, :3, 3]
    assert unreached == 0 and np.abs(moved - (model(pose) + offsets)).max() < 1e-5


def test_what_makes_no_sense_is_refused(arm: Arm, model: dermis.Model) -> None:
    springs = model.springs()
    assert springs is not None
    skin = model(arm.pose(0.0, 0.0))
    springs.apply(0.0, skin)
    with pytest.raises(dermis.Error, match="time must go forward"):
        springs.apply(0.0, skin)
    with pytest.raises(dermis.Error, match="positions"):
        springs.apply(0.1, skin[:-1])
    with pytest.raises(dermis.Error, match="offsets"):
        model.displacements(arm.pose(0.0, 0.0), offsets=skin[:-1])
    rig = arm.rig()
    still = dermis.Examples(rig, [arm.pose(0.2, 0.1)], [arm.rest])
    assert dermis.fit(rig, still, method=dermis.OwnWeights(), folds=0).model.springs() is None
