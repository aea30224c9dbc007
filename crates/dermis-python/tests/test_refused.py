"""Every bad input is refused by name, with expected and found."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dermis
from conftest import EXERCISE, Arm


def refused(pattern: str) -> Any:
    return pytest.raises(dermis.Error, match=pattern)


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        ({"rest_vertices": np.zeros((5, 2))}, r"rest_vertices has shape \(5, 2\); \(V, 3\) is expected"),
        ({"rest_vertices": np.full((200, 3), np.nan)}, r"rest_vertices: entry \[0, 0\] is not finite"),
        ({"rest_vertices": np.zeros((200, 3), bool)}, "rest_vertices: an array of numbers is expected, .* bool"),
        ({"rest_vertices": np.zeros((200, 3), complex)}, "rest_vertices: an array of numbers is expected, .* complex128"),
        ({"rest_vertices": [["a", "b", "c"]]}, "rest_vertices: an array of numbers is expected"),
        ({"faces": np.zeros((4, 4), int)}, r"faces has shape \(4, 4\); \(F, 3\) is expected"),
        ({"faces": np.zeros((4, 3))}, "faces: an array of whole numbers is expected, .* float64"),
        ({"faces": [[0, 1, 200]]}, "faces: face 0 names vertex 200, but there are 200 vertices"),
        ({"faces": [[0, 1, -1]]}, "faces: face 0 names vertex -1"),
        ({"bone_names": ["a", "b"]}, r"bone_parents has shape \(3,\); \(2,\) is expected"),
        ({"bone_parents": [-1, 0, -2]}, "bone_parents: entry 2 is -2; a root has -1"),
        ({"bone_parents": [1, -1, 0]}, 'bone "upper" comes before its parent "middle"'),
        ({"bone_parents": [-1, 0, 7]}, 'bone "tip" names parent 7, but there are 3 bones'),
        ({"bone_parents": [-1, 0, 2]}, 'bone "tip" is its own ancestor'),
        ({"bind_matrices": np.zeros((3, 3, 4))}, r"bind_matrices has shape \(3, 3, 4\); \(3, 4, 4\) is expected"),
        ({"bind_matrices": np.zeros((3, 4, 4))}, r"bind_matrices: matrix \[0\]: the last row is \[0, 0, 0, 0\]"),
        ({"bind_matrices": np.tile(np.diag([1.0, 1, 0, 1]), (3, 1, 1))}, "cannot be inverted"),
        ({"weights": np.zeros((200, 2))}, r"weights has shape \(200, 2\); \(200, 3\) is expected"),
        ({"up": "x"}, "up is \"x\"; 'y' or 'z' is expected"),
        ({"unit": 0.0}, "unit: a unit of 0 metres"),
    ],
)
def test_arrays_that_make_no_rig(arm: Arm, change: dict[str, Any], pattern: str) -> None:
    with refused(pattern):
        arm.rig(**change)


def test_transposed_matrices_are_named(arm: Arm) -> None:
    with refused(r"matrix \[1\]: .* for column vectors"):
        arm.rig(bind_matrices=arm.bind.transpose(0, 2, 1))


def test_weights_are_mended_and_counted_as_those_of_files_are(arm: Arm) -> None:
    weights = arm.weights.copy()
    weights[3] = [2.0, 0.0, -0.5]
    weights[7] = 0.0
    rig = arm.rig(weights=weights)
    assert [re.sub(r"\D*$", "", w.split(" ")[0]) for w in rig.warnings] == ["1", "1", "1"], rig.warnings
    mended = rig.weights
    assert mended is not None
    np.testing.assert_array_equal(mended[3], [1, 0, 0])
    np.testing.assert_array_equal(mended[7], [1, 0, 0])


def test_examples_that_do_not_suit_the_rig(arm: Arm, arm_rig: dermis.Rig) -> None:
    poses, skins = arm.bind[None], arm.rest[None]
    for matrices, vertices, pattern in [
        (arm.bind, skins, r"pose_matrices has shape \(3, 4, 4\); \(P, 3, 4, 4\) is expected"),
        (poses[:, :2], skins, r"pose_matrices has shape \(1, 2, 4, 4\); \(P, 3, 4, 4\) is expected"),
        (poses, arm.rest, r"vertices has shape \(200, 3\); \(1, 200, 3\) is expected"),
        (poses, skins[:, :-1], r"vertices has shape \(1, 199, 3\); \(1, 200, 3\) is expected"),
        (np.concatenate([poses, poses]), skins, r"vertices has shape \(1, 200, 3\); \(2, 200, 3\) is expected"),
        (poses[:0], skins[:0], "pose_matrices holds no pose"),
        (np.full_like(poses, np.inf), skins, r"pose_matrices: entry \[0, 0, 0, 0\] is not finite"),
        (poses, np.full_like(skins, np.nan), r"vertices: entry \[0, 0, 0\] is not finite"),
        (poses.astype(object), skins, "pose_matrices: an array of numbers is expected, .* object"),
    ]:
        with refused(pattern):
            dermis.Examples(arm_rig, matrices, vertices)
    with refused("labels has 2 entries; there are 1 poses"):
        dermis.Examples(arm_rig, poses, skins, labels=["a", "b"])
    with refused(r"times has shape \(2,\); \(1,\) is expected"):
        dermis.Examples(arm_rig, poses, skins, times=[0, 1])
    with refused("there is no pose 3 of 1"):
        dermis.Examples(arm_rig, poses, skins).subset([3])


def test_files_that_cannot_be_read(tmp_path: Any, arm_rig: dermis.Rig) -> None:
    with refused("no such file"):
        dermis.Rig.open(tmp_path / "missing.glb")
    text = tmp_path / "text.glb"
    text.write_text("no model")
    with refused("text.glb"):
        dermis.Rig.open(text)
    with refused("text.glb"):
        dermis.Model.open(text)
    with refused("."):
        dermis.Model.read(b"no model")
    with refused('no file is named for "examples"'):
        dermis.Examples.open(arm_rig)
    with pytest.raises(dermis.Error) as raised:
        dermis.Examples.open(arm_rig, EXERCISE)
    assert "bones" in str(raised.value)


def test_models_refuse_poses_of_another_shape(arm: Arm, arm_fit: dermis.Fit) -> None:
    model = arm_fit.model
    expected = r"\(3, 4, 4\) or \(N, 3, 4, 4\) is expected"
    with refused(r"pose_matrices has shape \(2, 4, 4\); " + expected):
        model(arm.bind[:2])
    with refused(r"transforms has shape \(4, 4\); " + expected):
        model(transforms=np.eye(4))
    with refused("one of pose_matrices and transforms is expected"):
        model()
    with refused("one of pose_matrices and transforms is expected"):
        model(arm.bind, transforms=arm.bind)
    with refused(r"pose_matrices: entry \[1, 2, 3\] is not finite"):
        bad = arm.bind.copy()
        bad[1, 2, 3] = np.nan
        model(bad)
    with refused(r"pose_matrices: matrix \[1, 2\]: the last row"):
        bad = np.stack([arm.bind, arm.bind])
        bad[1, 2, 3, 0] = 1
        model(bad)
    with refused("pose_matrices: no array can be made of it|an array of numbers is expected"):
        model([[1, 2], [3]])


def test_out_says_what_it_is_not(arm: Arm, arm_fit: dermis.Fit) -> None:
    model = arm_fit.model
    read_only = np.zeros((200, 3), "f4")
    read_only.flags.writeable = False
    cases: list[tuple[Any, str]] = [
        (np.zeros((200, 3)), "out has dtype float64; float32 is expected"),
        (np.zeros((200, 3), ">f4"), "out has dtype >f4; float32 is expected"),
        (np.zeros((199, 3), "f4"), r"out has shape \(199, 3\); \(200, 3\) is expected"),
        (np.zeros((1, 200, 3), "f4"), r"out has shape \(1, 200, 3\); \(200, 3\) is expected"),
        (np.zeros((200, 6), "f4")[:, ::2], "out is not C-contiguous"),
        (np.zeros((3, 200), "f4").T, "out is not C-contiguous"),
        (read_only, "out is read-only"),
        ([[0.0] * 3] * 200, "out: a NumPy array of float32 is expected"),
    ]
    for out, pattern in cases:
        with refused(pattern):
            model(arm.bind, out=out)


def test_objects_of_another_rig(
    arm: Arm, arm_rig: dermis.Rig, train: dermis.Examples, unseen: dermis.Examples, arm_fit: dermis.Fit
) -> None:
    other = arm.rig(bone_names=["a", "b", "c"], name="other")
    foreign = dermis.Examples(other, arm.bind[None], arm.rest[None])
    for call in (
        lambda: dermis.fit(arm_rig, foreign),
        lambda: dermis.fit(arm_rig, train, hold_out=foreign),
        lambda: dermis.evaluate(arm_fit.model, foreign),
        lambda: dermis.compare(arm_rig, train, foreign),
    ):
        with refused('belongs to the rig "other", whose bones have other names'):
            call()
    with refused("all 15 held-out examples are training examples too"):
        dermis.fit(arm_rig, train, hold_out=train)
    with pytest.raises(TypeError):
        dermis.fit(arm_rig, arm.rest)  # type: ignore[arg-type]


def test_methods_refuse_settings_by_name() -> None:
    with pytest.raises(TypeError, match=r"Joint\(\) has no setting 'sigm'; did you mean 'sigma'"):
        dermis.Joint(sigm=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        dermis.Joint(0.5)  # type: ignore[call-arg]
    with refused("sigma="):
        dermis.Joint(sigma="wide")  # type: ignore[arg-type]
    with refused("sigma"):
        dermis.Joint(sigma=-1.0)
    with refused("base="):
        dermis.Mwe(base="nothing")
    with refused("eig_tol"):
        dermis.Mwe(eig_tol=2.0)
    with refused("form="):
        dermis.Psd(form="sideways")
    with pytest.raises(TypeError, match="write dermis.Joint()"):
        dermis.fit(None, None, method=dermis.Joint)  # type: ignore[arg-type]
    with pytest.raises(dermis.Error, match='no method "jont"') as raised:
        dermis.Method.preset("jont")
    assert "joint" in raised.value.hint


def test_recipes_that_are_not_understood(tmp_path: Any) -> None:
    with refused("this is no recipe: unknown variant `fry`"):
        dermis.run({"fry": {}})
    with refused("this is no recipe: .*`rgi`"):
        dermis.run({"fit": {"rgi": "a"}})
    with refused("this is no recipe"):
        dermis.run({"inspect": {"files": [{"file": float("nan")}]}})
    with refused("missing.dermis"):
        dermis.pose(tmp_path / "missing.dermis", EXERCISE, tmp_path / "out.npz")
    with refused("source is 'sun'"):
        dermis.weights(EXERCISE, tmp_path / "out.npz", "sun")  # type: ignore[arg-type]
    with refused("reach has no effect with source='heat'"):
        dermis.weights(EXERCISE, tmp_path / "out.npz", reach=1.0)
    with refused("helpers has no effect without linear=True"):
        dermis.export(tmp_path / "m.dermis", tmp_path / "m.glb", helpers=3)


def test_errors_have_hints_in_words_of_python(tmp_path: Any) -> None:
    existing = tmp_path / "out.npz"
    existing.write_bytes(b"")
    with pytest.raises(dermis.Error) as raised:
        dermis.convert(EXERCISE, out=existing)
    assert "exists already" in raised.value.message
    assert "--" not in str(raised.value), str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_old_keywords_are_refused_with_the_new_ones(arm: Arm, tmp_path: Any) -> None:
    frames = np.stack([arm.rest, arm.rest])
    for old, new in [("poses", "count"), ("fps", "rate")]:
        with pytest.raises(TypeError, match=rf"exercise\(\) has no {old}; say {new}"):
            dermis.exercise(EXERCISE, tmp_path / "out.npz", **{old: 3})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"decompose\(\) has no smooth; say smoothness"):
        dermis.decompose(vertices=frames, faces=arm.faces, bones=3, smooth=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"decompose\(\) has no tie; say tree or rotation_only"):
        dermis.decompose(vertices=frames, faces=arm.faces, bones=3, tie="tree")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"invert\(\) has no method; say algorithm"):
        dermis.invert(arm.rest, arm.rest, method="auto")  # type: ignore[call-arg]


def test_decompositions_and_inversions_refuse_what_they_cannot_take(arm: Arm) -> None:
    frames = np.stack([arm.rest, arm.rest])
    for keywords, pattern in [
        (dict(vertices=arm.rest, faces=arm.faces, bones=3), r"vertices has shape \(200, 3\); \(P, V, 3\) is expected"),
        (dict(vertices=frames, bones=3), "faces is missing"),
        (dict(vertices=frames, faces=arm.faces), "bones is missing"),
        (dict(vertices=frames, faces=arm.faces, bones=3, rest_vertices=arm.rest[1:]), "rest_vertices has shape"),
        (dict(vertices=frames, faces=arm.faces, bones=3, bandwidth=1.0), "bandwidth has no effect"),
        (dict(vertices=frames * np.nan, faces=arm.faces, bones=3), "vertices holds entries that are not finite"),
        (dict(bones=3), "one of files and vertices is expected"),
    ]:
        with refused(pattern):
            dermis.decompose(**keywords)  # type: ignore[arg-type]

    def bend(points: Any) -> Any:
        return points

    for sculpts, deformer, pattern in [
        (arm.rest[1:], bend, r"sculpts has shape \(199, 3\)"),
        (arm.rest, lambda p: p[1:], r"what deformer returned has shape \(199, 3\); \(200, 3\) is expected"),
        (arm.rest, lambda p: p * np.nan, r"what deformer returned: entry \[0, 0\] is not finite"),
        (arm.rest, lambda p: "no", "what deformer returned: an array of numbers is expected"),
        (arm.rest, lambda p: None, "what deformer returned"),
    ]:
        with refused(pattern):
            dermis.invert(arm.rest, sculpts, deformer=deformer)
    for keywords, pattern in [
        (dict(tolerance=0.0), "tolerance is 0; it must be positive"),
        (dict(tolerance=np.nan), "tolerance is NaN; it must be positive"),
        (dict(max_correction=-1.0), "max_correction is -1; it must be positive"),
        (dict(max_calls=3), "max_calls is 3; it must be 8 or more"),
    ]:
        with refused(pattern):
            dermis.invert(arm.rest, arm.rest, deformer=bend, **keywords)  # type: ignore[arg-type]
    with refused("'auto', 'gauss-newton' or 'direction-set' is expected"):
        dermis.invert(arm.rest, arm.rest, deformer=bend, algorithm="newton")  # type: ignore[arg-type]
