"""Numbers: those of the program to the last digit, and those of the equations written again in NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dermis
import joint_in_numpy
from conftest import BENDS, EXERCISE, UNSEEN, WALK, Arm, Floats, examples_of, program

#: What differs from run to run, or belongs to files alone.
OF_THE_RUN = ("seconds", "memory")


def of_the_program(*arguments: object) -> Any:
    ran = program(*arguments, "--json", "--quiet")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def without_the_run(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in OF_THE_RUN}


def test_a_fit_of_the_body_has_the_programs_numbers(
    body: dermis.Rig, exercise: dermis.Examples, walk: dermis.Examples, tmp_path: Path
) -> None:
    # Paths as they are: relative ones depend on where the model lies, and that of the package lies nowhere.
    fit = dermis.fit(
        body, exercise, hold_out=walk, method=dermis.Joint(base="lbs", composites="off"), provenance="full"
    )
    model = tmp_path / "body.dermis"
    said = of_the_program(
        "fit", EXERCISE, "--examples", EXERCISE, "--hold-out", WALK, "--base", "lbs", "--set", "composites=off",
        "--provenance", "full", "-o", model,
    )
    assert without_the_run(fit.report.to_dict()) == without_the_run(said)
    assert fit.errors.held_out is not None
    assert fit.errors.held_out.rms == said["held_out"]["rms"] == said["error"]["rms"]
    assert fit.errors.train.max == said["train"]["max"]
    assert fit.errors.validation == "held out"
    assert fit.warnings == said["warnings"]
    # The same bits come out of both models.
    poses = walk.pose_matrices
    np.testing.assert_array_equal(fit.model(poses), dermis.Model.open(model)(poses))
    # And the same file, to the byte, with the recipe that makes it again.
    assert fit.model.to_bytes() == model.read_bytes()
    # Recipes of files say the same as well.
    recipe = {
        "fit": {
            "rig": {"file": str(EXERCISE)},
            "examples": {"held": [{"file": str(EXERCISE)}]},
            "hold-out": [{"file": str(WALK)}],
            "method": dermis.Joint(base="lbs", composites="off").to_dict(),
            "folds": 5,
        }
    }
    assert without_the_run(dermis.run(recipe)) == without_the_run(said)


def test_without_held_out_poses_the_fit_is_cross_validated(
    arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples, tmp_path: Path
) -> None:
    bundle = tmp_path / "arm.npz"
    np.savez(
        bundle,
        rest_vertices=arm.rest,
        faces=arm.faces,
        bone_names=np.array(arm.names),
        bone_parents=np.array(arm.parents),
        bind_matrices=arm.bind,
        lbs_weights=arm.weights,
        pose_matrices=np.stack([arm.pose(*bend) for bend in BENDS]),
        vertices=np.stack([arm.skin(*bend) for bend in BENDS]),
        pose_labels=np.array(train.labels),
        up_axis=np.array("Y"),
        units=np.array("metres"),
    )
    fit = dermis.fit(arm_rig, train, method=dermis.Mwe())
    said = of_the_program("fit", bundle, "--examples", bundle, "--method", "mwe")
    assert fit.report.to_dict()["cross_validated"] == said["cross_validated"]
    assert fit.errors.held_out is None
    assert fit.errors.headline == fit.errors.cross_validated
    assert fit.errors.validation == "cross-validated"
    assert "cross-validated" in repr(fit)
    bare = dermis.fit(arm_rig, train, method=dermis.Mwe(), folds=0)
    assert bare.errors.headline is None
    assert bare.errors.validation == "not validated"
    assert "not validated" in repr(bare)


def test_scores_and_comparisons_have_the_programs_numbers(
    body: dermis.Rig, exercise: dermis.Examples, walk: dermis.Examples, tmp_path: Path
) -> None:
    model = tmp_path / "body.dermis"
    fit = dermis.fit(body, exercise, hold_out=walk, method=dermis.OwnWeights())
    fit.model.save(model)
    said = of_the_program("eval", model, "--examples", WALK)
    found = dermis.evaluate(dermis.Model.open(model), walk)
    assert found.error.rms == said["error"]["rms"] == fit.errors.train.rms or found.error.rms == said["error"]["rms"]
    assert found.report.to_dict()["per_pose"] == said["per_pose"]
    rows = dermis.compare(body, exercise, walk, ["own-weights", "mwe"])
    said = of_the_program("compare", EXERCISE, "--examples", EXERCISE, "--hold-out", WALK, "--methods", "own-weights,mwe")
    assert [row["held_out_rms"] for row in rows] == [row["held_out"]["rms"] for row in said["rows"]]
    assert [row["recommended"] for row in rows] == [False, True]
    rows = dermis.compare(body, exercise, methods=["own-weights", "correctives"], folds=2)
    said = of_the_program("compare", EXERCISE, "--examples", EXERCISE, "--methods", "own-weights,correctives", "--folds", "2")
    assert [row["cross_validated_rms"] for row in rows] == [said["rows"][0]["cross_validated"]["rms"], None]
    assert said["rows"][1]["cross_validated"] is None


def bundle(path: Path) -> dict[str, Any]:
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files}


def diagonal(points: Floats) -> float:
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def test_linear_blending_agrees_with_numpy(body: dermis.Rig, exercise: dermis.Examples) -> None:
    """Σ w_vk T_k B_k⁻¹ p_v straight from the bundle's arrays. f32 against f64: 1e-6 of the diagonal is eight roundings."""
    model = dermis.fit(body, exercise, method=dermis.OwnWeights(), folds=0).model
    data = bundle(WALK)
    rest = data["rest_vertices"].astype(float)
    weights = np.clip(data["lbs_weights"].astype(float), 0, None)
    weights /= weights.sum(axis=1, keepdims=True)
    transforms = data["pose_matrices"].astype(float) @ np.linalg.inv(data["bind_matrices"].astype(float))
    points = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    for pose, transform in enumerate(transforms):
        blended = np.einsum("vb,bij->vij", weights, transform[:, :3])
        expected = np.einsum("vij,vj->vi", blended, points)
        apart = np.linalg.norm(model(data["pose_matrices"][pose]) - expected, axis=1).max()
        assert apart < 1e-6 * diagonal(rest), f"pose {pose}: {apart}"
        apart = np.linalg.norm(model(transforms=transform) - expected, axis=1).max()
        assert apart < 1e-6 * diagonal(rest), f"pose {pose}, by transforms: {apart}"


@pytest.mark.parametrize("bend", [*UNSEEN, (0.0, 0.0), (2.5, -2.0), (-3.0, 3.0)])
def test_the_joint_model_agrees_with_numpy(arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples, bend: tuple[float, float]) -> None:
    """Within the training and far beyond it, where limits and the ball act."""
    method = dermis.Joint(base="lbs")
    model = dermis.fit(arm_rig, train, method=method, folds=0).model
    pose = arm.pose(*bend)
    expected = joint_in_numpy.evaluate(model, pose @ np.linalg.inv(arm.bind))
    moved = np.linalg.norm(expected - arm.blended(pose), axis=1).max()
    assert moved > 1e-3 or bend == (0.0, 0.0), "the correction does something"
    apart = np.linalg.norm(model(pose) - expected, axis=1).max()
    assert apart < 1e-6 * diagonal(arm.rest), apart


def test_the_joint_model_of_the_body_agrees_with_numpy(body: dermis.Rig, exercise: dermis.Examples) -> None:
    """On the walk, with the shared part and composite joints."""
    method = dermis.Joint(base="lbs", composites="0.5", ridge={"fixed": 1e-3})
    model = dermis.fit(body, exercise, method=method, folds=0).model
    data = bundle(WALK)
    # The body's file has Z up: C M C⁻¹ with (x, y, z) ↦ (x, z, −y).
    ours = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
    for pose in (2, 7):
        transforms = data["pose_matrices"][pose].astype(float) @ np.linalg.inv(data["bind_matrices"].astype(float))
        expected = joint_in_numpy.evaluate(model, ours @ transforms @ np.linalg.inv(ours), every=11)
        found = model(transforms=transforms)[::11] @ ours[:3, :3].T
        apart = np.linalg.norm(found - expected, axis=1).max()
        assert apart < 1e-6 * diagonal(data["rest_vertices"]), f"pose {pose}: {apart}"


def test_axes_and_units_are_those_of_the_rig(arm: Arm) -> None:
    """The same character in centimetres with Z up gives the same skin in its own space."""
    turn = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # Y up to Z up

    def matrices(joints: Floats) -> Floats:
        # Only the world is turned and scaled, not the bones' own frames.
        moved: Floats = turn @ joints
        moved[..., :3, 3] *= 100
        return moved

    def points(skin: Floats) -> Floats:
        turned: Floats = 100 * skin @ turn[:3, :3].T
        return turned

    rig = arm.rig(rest_vertices=points(arm.rest), bind_matrices=matrices(arm.bind), up="z", unit=0.01)
    assert (rig.up, rig.unit) == ("z", 0.01)
    np.testing.assert_allclose(rig.rest_vertices, points(arm.rest), atol=1e-12)
    np.testing.assert_allclose(rig.bind_matrices, matrices(arm.bind), atol=1e-12)
    poses, skins = np.stack([arm.pose(*b) for b in BENDS]), np.stack([arm.skin(*b) for b in BENDS])
    examples = dermis.Examples(rig, matrices(poses), points(skins))
    np.testing.assert_allclose(examples.pose_matrices, matrices(poses), atol=1e-10)
    np.testing.assert_allclose(examples.vertices, points(skins), atol=1e-10)
    one = dermis.fit(rig, examples, method=dermis.Mwe(), folds=0)
    two = dermis.fit(arm.rig(), examples_of(arm, arm.rig(), BENDS), method=dermis.Mwe(), folds=0)
    assert one.errors.train.rms == pytest.approx(two.errors.train.rms, rel=1e-6), "errors are metres in both"
    pose = arm.pose(*UNSEEN[0])
    (skin, normals), (expected, expected_normals) = one.model(matrices(pose), normals=True), two.model(pose, normals=True)
    np.testing.assert_allclose(skin, points(expected.astype(float)), atol=100 * 1e-6 * diagonal(arm.rest))
    np.testing.assert_allclose(normals, expected_normals @ turn[:3, :3].T, atol=1e-5)
    # transforms= in the rig's own space: M = T B⁻¹ of its own matrices.
    own = matrices(pose) @ np.linalg.inv(matrices(arm.bind))
    np.testing.assert_allclose(one.model(transforms=own), skin, atol=1e-4)


def test_normals_agree_with_numpy(arm: Arm, arm_fit: dermis.Fit) -> None:
    """Area-weighted normals of the faces around a vertex, normalised."""
    skin, normals = arm_fit.model(arm.pose(*UNSEEN[0]), normals=True)
    corners = skin.astype(float)[arm.faces]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    expected = np.zeros((len(skin), 3))
    for corner in range(3):
        np.add.at(expected, arm.faces[:, corner], faces)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(normals, expected, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "g"])
def test_any_float_dtype_and_layout_goes_in(arm: Arm, arm_fit: dermis.Fit, dtype: str) -> None:
    model, pose = arm_fit.model, arm.pose(0.5, 0.5)
    expected = model(pose.astype(dtype).astype("f8"))
    given = pose.astype(dtype)
    layouts = [given, np.asfortranarray(given), np.repeat(given, 2, axis=0)[::2], np.stack([given, given], axis=-1)[..., 0]]
    for layout in layouts:
        np.testing.assert_allclose(model(layout), expected, atol=1e-6)
    unaligned = np.frombuffer(b"x" + given.tobytes(), np.uint8)[1:].view(dtype).reshape(given.shape)
    np.testing.assert_allclose(model(unaligned), expected, atol=1e-6)
    read_only = given.copy()
    read_only.flags.writeable = False
    np.testing.assert_allclose(model(read_only), expected, atol=1e-6)
    np.testing.assert_allclose(model(pose.tolist()), model(pose))


def test_many_poses_are_the_bits_of_one_by_one(walk: dermis.Examples, body: dermis.Rig, exercise: dermis.Examples) -> None:
    model = dermis.fit(body, exercise, method=dermis.Mwe(ridge={"fixed": 0.1}), folds=0).model
    poses = np.concatenate([walk.pose_matrices] * 4)[:40]
    together = model(poses)
    assert together.shape == (40, 13380, 3) and together.dtype == np.float32
    for at in (0, 31, 32, 39):
        np.testing.assert_array_equal(model(poses[at]), together[at])
    assert model(poses[:0]).shape == (0, 13380, 3)
    assert model(poses[:1]).shape == (1, 13380, 3)
