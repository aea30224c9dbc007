"""Verbs: over files as the program runs them, over arrays against answers that are known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dermis
from conftest import EXERCISE, WALK, Arm, Floats, program


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory, body: dermis.Rig, exercise: dermis.Examples) -> Path:
    path = tmp_path_factory.mktemp("model") / "body.dermis"
    dermis.fit(body, exercise, method=dermis.Mwe(ridge={"fixed": 0.1}), folds=0).model.save(path)
    return path


def test_every_verb_over_files_runs(model_file: Path, tmp_path: Path) -> None:
    found = dermis.inspect(WALK)
    assert found[0]["poses"] == 12
    dermis.convert(WALK, out=tmp_path / "walk.glb")
    assert (tmp_path / "walk.glb").read_bytes()[:4] == b"glTF"
    assert dermis.pose(model_file, WALK, tmp_path / "walk.npz")["frames"] == 12
    with np.load(tmp_path / "walk.npz") as skins:
        expected = dermis.Model.open(model_file)(skins["pose_matrices"])
        np.testing.assert_allclose(skins["vertices"], expected, atol=1e-6)
    dermis.export(model_file, tmp_path / "export.glb", motion=WALK, shapes=4)
    assert (tmp_path / "export.glb").read_bytes()[:4] == b"glTF"
    suggested = dermis.suggest(model_file, WALK, count=2)
    assert suggested == json.loads(program("suggest", model_file, "--motion", WALK, "--count", 2, "--json").stdout)


def test_arrays_get_what_a_body_has(arm: Arm, arm_fit: dermis.Fit) -> None:
    """Expected: the body itself has its own numbers; a shell around it moves as the skin below it, of which it is a mean."""
    rig = arm.rig(up="z", unit=0.01)
    same = rig.carried_to(rig.rest_vertices, rig.faces)
    assert same.model is None and len(same.unmatched) == 0 and (same.trust == 1.0).all()
    np.testing.assert_array_equal(same.weights, arm.weights)
    np.testing.assert_array_equal(same.apply(rig.rest_vertices), rig.rest_vertices)
    assert [len(island["vertices"]) for island in same.islands] == [len(arm.rest)]
    model = arm_fit.model
    rig = model.rig
    shell = rig.rest_vertices * [1.0, 1.02, 1.02]
    worn = model.carried_to(shell, rig.faces, influences=4)
    assert worn.model is not None and worn.model is worn.model
    assert worn.model.rig.weights is not None
    np.testing.assert_allclose(worn.model.rig.weights, worn.weights, atol=1e-7)
    np.testing.assert_allclose(worn.model(arm.bind), shell, atol=1e-6)
    pose = arm.pose(0.7, 0.5)
    away = np.linalg.norm(worn.model(pose) - model(pose), axis=1).max()
    still = np.linalg.norm(shell - rig.rest_vertices, axis=1).max()
    assert away < 3.0 * still
    assert worn.weights.shape == arm.weights.shape and (worn.distances <= still + 1e-9).all()
    kept = model.carried_to(shell, rig.faces, weights=worn.weights)
    np.testing.assert_allclose(kept.weights, worn.weights, atol=1e-12)
    with pytest.raises(dermis.Error, match="trusted match"):
        model.carried_to(shell + 5.0, rig.faces)
    with pytest.raises(dermis.Error, match="stiff_islands"):
        model.carried_to(shell, rig.faces, stiff_islands=-1.0)
    with pytest.raises(dermis.Error, match="weights"):
        model.carried_to(shell, rig.faces, weights=worn.weights[1:])
    with pytest.raises(dermis.Error, match="numbers"):
        worn.apply(np.zeros(3))


def test_clothes_get_what_the_program_carries(tmp_path: Path) -> None:
    with np.load(EXERCISE) as body:
        rest, faces = body["rest_vertices"], body["faces"]
        np.savez(tmp_path / "cloth.npz", rest_vertices=rest * 1.001, faces=faces, units="m", up_axis=body["up_axis"])
    made = dermis.transfer(EXERCISE, tmp_path / "cloth.npz", tmp_path / "worn.npz")
    assert made["meshes"][0]["vertices"] == len(rest)
    ran = program("transfer", EXERCISE, tmp_path / "cloth.npz", "-o", tmp_path / "again.npz", "--json")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "worn.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()
    worn = dermis.Rig.open(tmp_path / "worn.npz")
    assert worn.weights is not None and np.abs(worn.weights.sum(axis=1) - 1.0).max() < 1e-6
    with pytest.raises(dermis.Error, match="corrections"):
        dermis.transfer(EXERCISE, tmp_path / "cloth.npz", tmp_path / "x.npz", corrections=True)


def test_a_scene_is_played_as_the_program_plays_it(tmp_path: Path) -> None:
    clock = Path(WALK).parent.parent / "scenes" / "clock.json"
    found = dermis.animate(clock, tmp_path / "clock.glb")
    assert (found["bones"], found["frames"], found["seconds"]) == (4, 193, 8.0)
    ran = program("animate", clock, "-o", tmp_path / "again.glb", "--json")
    said = json.loads(ran.stdout)
    assert {k: v for k, v in found.items() if k != "out"} == {k: v for k, v in said.items() if k != "out"}
    assert (tmp_path / "clock.glb").read_bytes() == (tmp_path / "again.glb").read_bytes()
    with pytest.raises(dermis.Error, match="line"):
        (tmp_path / "bad.json").write_text('{"rig": "clock.glb",\n "time": {"to": "soon"}}')
        dermis.animate(tmp_path / "bad.json", tmp_path / "bad.glb")


def test_an_exercise_is_the_programs(tmp_path: Path) -> None:
    made = dermis.exercise(EXERCISE, tmp_path / "a.npz", count=9, in_betweens=2, write_limits=tmp_path / "limits.json")
    ran = program("exercise", EXERCISE, "--count", 9, "--in-betweens", 2, "--limits", tmp_path / "limits.json",
                  "-o", tmp_path / "b.npz", "--json")
    assert ran.returncode == 0, ran.stderr
    assert made["frames"] == 28 and made["poses"][0]["kind"] == "rest"
    said = json.loads(ran.stdout)
    assert [pose["label"] for pose in made["poses"]] == [pose["label"] for pose in said["poses"]]
    with np.load(tmp_path / "a.npz") as one, np.load(tmp_path / "b.npz") as two:
        # The limits came back from degrees with six digits.
        np.testing.assert_allclose(one["pose_matrices"], two["pose_matrices"], atol=1e-6)
        np.testing.assert_allclose(one["pose_matrices"][0], one["bind_matrices"], atol=1e-6)
        np.testing.assert_allclose(np.diff(one["frame_times"]), 1 / 24, rtol=1e-4)


def test_a_bare_mesh_is_rigged_as_the_program_does(tmp_path: Path) -> None:
    made = dermis.rig(EXERCISE, tmp_path / "a.glb", write_joints=tmp_path / "joints.json")
    ran = program("rig", EXERCISE, "--json", "-o", tmp_path / "b.glb")
    assert ran.returncode == 0, ran.stderr
    assert made["joints"] == json.loads(ran.stdout)["joints"] and made["bones"] == 22
    assert (tmp_path / "a.glb").read_bytes() == (tmp_path / "b.glb").read_bytes()
    # The file that it reads has a skeleton: the bones found lie where its own are.
    with np.load(EXERCISE) as body:
        own = dict(zip(body["bone_names"].tolist(), body["bind_matrices"][:, :3, 3], strict=True))
    for name in ("upperarm_l", "hand_r", "calf_l", "foot_r", "head"):
        assert np.linalg.norm(np.array(made["joints"][name]["place"]) - own[name]) < 0.06, name
    # A pin holds, and its partner is solved for again.
    (tmp_path / "pins.json").write_text(json.dumps({"joints": {"hand_l": [0.5, -0.2, 1.08]}}))
    pinned = dermis.rig(EXERCISE, tmp_path / "c.glb", joints=tmp_path / "pins.json", names="mixamo")
    hand = pinned["joints"]["mixamorig:LeftHand"]
    np.testing.assert_allclose(hand["place"], [0.5, -0.2, 1.08], atol=1e-9)
    assert hand["pinned"] and "mixamorig:RightHand" in pinned["joints"]


def test_weights_by_heat_are_the_programs(tmp_path: Path, arm: Arm) -> None:
    rig = tmp_path / "arm.npz"
    np.savez(rig, rest_vertices=arm.rest, faces=arm.faces, bone_names=np.array(arm.names),
             bone_parents=np.array(arm.parents), bind_matrices=arm.bind, up_axis=np.array("Y"), units=np.array("metres"))
    found = dermis.weights(rig, tmp_path / "heat.npz", influences=2)
    ran = program("weights", rig, "--heat", "--influences", 2, "--json", "-o", tmp_path / "again.npz")
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert {k: v for k, v in found.items() if k != "seconds"} == {k: v for k, v in said.items() if k != "seconds"}
    with np.load(tmp_path / "heat.npz") as one, np.load(tmp_path / "again.npz") as two:
        np.testing.assert_array_equal(one["lbs_weights"], two["lbs_weights"])


def test_scans_in_poses_that_nobody_noted_become_weights(tmp_path: Path) -> None:
    """The bundled body in poses of its exercise is scanned without noise; one scan is held out."""
    with np.load(EXERCISE) as body:
        faces, rest = body["faces"].astype(np.int64), body["rest_vertices"].astype(float)
        weights, bind = body["lbs_weights"].astype(float), body["bind_matrices"].astype(float)
        poses = body["pose_matrices"].astype(float)
        bare = {k: body[k] for k in ("rest_vertices", "faces", "bone_names", "bone_parents", "bind_matrices", "units", "up_axis")}
    np.savez(tmp_path / "bare.npz", **bare)
    points = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    for at in (0, 9, 18, 27):
        maps = np.einsum("vb,bij->vij", weights, (poses[at] @ np.linalg.inv(bind))[:, :3])
        skin = np.einsum("vij,vj->vi", maps, points)
        lines = ["v {:.6f} {:.6f} {:.6f}".format(*p) for p in skin] + ["f {} {} {}".format(*(f + 1)) for f in faces]
        folder = tmp_path / ("held" if at == 27 else "scans")
        folder.mkdir(exist_ok=True)
        (folder / f"{at}.obj").write_text("\n".join(lines) + "\n")
    found = dermis.weights(
        tmp_path / "bare.npz", tmp_path / "made.npz", source="scans", scans=tmp_path / "scans", pose_rounds=1,
        symmetric=True, hold_out=tmp_path / "held", report=tmp_path / "page.html", registered=tmp_path / "registered.npz",
    )
    scans = found["scans"]["poses"]["scans"]
    assert [scan["label"] for scan in scans] == ["0", "9", "18"]
    assert all(scan["scan_explained"] > 0.9 for scan in scans), scans
    assert 0 < found["scans"]["held_out"]["distance"] < 0.01
    assert found["scans"]["symmetric"]
    assert "Held out: the scan that the fit did not see" in (tmp_path / "page.html").read_text()
    with np.load(tmp_path / "registered.npz") as registered:
        assert registered["vertices"].shape == (3, len(rest), 3)
    with pytest.raises(dermis.Error, match="report has no effect"):
        dermis.weights(tmp_path / "bare.npz", tmp_path / "x.npz", report=tmp_path / "other.html")


def test_outcomes_are_compared_side_by_side(arm_fit: dermis.Fit, tmp_path: Path) -> None:
    outcome = arm_fit.report.to_dict()
    found = dermis.report(outcome, outcome, tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
    assert isinstance(found, dict)


def test_a_decomposition_finds_planted_bones(arm: Arm) -> None:
    """Frames made by linear blending of three bones are met by three bones."""
    bends = [(a, b) for a in (-1.0, 0.0, 1.0) for b in (-0.8, 0.3)]
    frames = np.stack([arm.blended(arm.pose(*bend)) for bend in bends])
    found = dermis.decompose(vertices=frames, faces=arm.faces, rest_vertices=arm.rest, bones=3)
    assert isinstance(found, dermis.Decomposition)
    assert found.weights.shape == (200, 3) and found.pose_matrices.shape == (6, 3, 4, 4)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    points = np.concatenate([arm.rest, np.ones((200, 1))], axis=1)
    transforms = found.pose_matrices @ np.linalg.inv(found.rig.bind_matrices)
    posed = np.einsum("vb,pbij,vj->pvi", found.weights, transforms[:, :, :3], points)
    rms = np.sqrt(((posed - frames) ** 2).sum(axis=2).mean())
    # The search meets planted bones to single precision, in which a bundle holds them.
    assert rms < 1e-6 and found.report["error"]["rms"] < 1e-6, (rms, found.report["error"])


def test_a_decomposition_keeps_axes_and_unit(arm: Arm) -> None:
    frames = 100 * np.stack([arm.blended(arm.pose(a, 0.4)) for a in (-1.0, 0.0, 1.0)])[..., [0, 2, 1]] * [1, -1, 1]
    found = dermis.decompose(vertices=frames, faces=arm.faces, bones=3, up="z", unit=0.01)
    assert isinstance(found, dermis.Decomposition)
    assert (found.rig.up, found.rig.unit) == ("z", 0.01)
    np.testing.assert_allclose(found.rig.rest_vertices, frames[0], atol=1e-9)
    transforms = found.pose_matrices @ np.linalg.inv(found.rig.bind_matrices)
    points = np.concatenate([frames[0], np.ones((200, 1))], axis=1)
    posed = np.einsum("vb,pbij,vj->pvi", found.weights, transforms[:, :, :3], points)
    assert np.sqrt(((posed - frames) ** 2).sum(axis=2).mean()) < 1.0


def bend(points: NDArray[np.float64], strength: float = 0.9) -> Floats:
    """A bend of the x axis about z, in closed form."""
    x, y, z = points.T
    sin, cos = np.sin(strength * x), np.cos(strength * x)
    return np.stack([sin * (1 - y) / strength, 1 - cos * (1 - y), z], axis=1)


def unbend(points: Floats, strength: float = 0.9) -> Floats:
    """Its inverse, in closed form: y is the distance from the axis of the bend, x the angle around it."""
    radius_x, radius_y = points[:, 0] * strength, 1 - points[:, 1]
    x = np.arctan2(radius_x, radius_y) / strength
    return np.stack([x, 1 - np.hypot(radius_x, radius_y), points[:, 2]], axis=1)


def test_an_inversion_meets_the_closed_form(arm: Arm) -> None:
    rest = arm.rest / 3
    sculpt = bend(rest) + 0.03 * np.exp(-(((rest[:, :1] - 0.5) / 0.1) ** 2)) * [0, 1, 0]
    found = dermis.invert(rest, sculpt, deformer=bend)
    assert isinstance(found, dermis.Inversion)
    assert found.unresolved == 0
    np.testing.assert_allclose(bend(rest + found.displacements), sculpt, atol=1e-8)
    np.testing.assert_allclose(rest + found.displacements, unbend(sculpt), atol=1e-8)
    np.testing.assert_allclose(found.residuals, np.linalg.norm(found.remainders, axis=1), atol=1e-15)


def test_a_tolerance_ends_a_search_early_and_the_last_call_is_told(arm: Arm) -> None:
    rest = arm.rest / 3
    sculpt = bend(rest) + 0.03 * np.exp(-(((rest[:, :1] - 0.5) / 0.1) ** 2)) * [0, 1, 0]
    exact = dermis.invert(rest, sculpt, deformer=bend)
    near = dermis.invert(rest, sculpt, deformer=bend, tolerance=1e-4)
    cut = dermis.invert(rest, sculpt, deformer=bend, max_calls=8, tolerance=1e-14)
    assert isinstance(exact, dermis.Inversion) and isinstance(near, dermis.Inversion) and isinstance(cut, dermis.Inversion)
    assert (exact.stopped, near.stopped, cut.stopped) == ("reached", "reached", "calls")
    assert near.tolerance == pytest.approx(1e-4) and near.residuals.max() <= 1e-4
    assert near.calls < exact.calls and cut.calls <= 8
    assert (exact.coupled, exact.limited, exact.limit) == (0, 0, np.inf)


def relaxed(body: dermis.Rig, pose: Floats) -> tuple[Callable[[Floats], Floats], Floats]:
    """The body's linear blend skinning in a pose, smoothed five times by one half and put back by what that does to the rest
    shape; and the neighbours of its vertices."""
    move = pose @ np.linalg.inv(body.bind_matrices)
    blend = np.einsum("vb,bij->vij", np.asarray(body.weights), move[:, :3])
    sides = np.sort(np.concatenate([body.faces[:, [0, 1]], body.faces[:, [1, 2]], body.faces[:, [2, 0]]]), axis=1)
    edges = np.unique(sides, axis=0)
    here, there = np.concatenate([edges, edges[:, ::-1]]).T
    count = np.maximum(np.bincount(here, minlength=len(body.rest_vertices)), 1)

    def smooth(points: Floats) -> Floats:
        for _ in range(5):
            sums = [np.bincount(here, points[there, axis], minlength=len(points)) for axis in range(3)]
            points = 0.5 * points + 0.5 * np.stack(sums, axis=1) / count[:, None]
        return points

    def skin(points: Floats) -> Floats:
        posed: Floats = np.einsum("vij,vj->vi", blend[:, :, :3], points) + blend[:, :, 3]
        return posed

    rest = skin(body.rest_vertices)
    back = rest - smooth(rest)
    return lambda points: smooth(skin(points)) + back, rest


def test_a_body_that_is_smoothed_is_inverted_within_bounds(body: dermis.Rig, exercise: dermis.Examples) -> None:
    """Planted truth for a bulge 10 cm wide; noise, which five rounds of smoothing take to a fraction, stays in the remainder."""
    at = exercise.labels.index("elbow left, look left")
    deformer, skin = relaxed(body, exercise.pose_matrices[at])
    rest = body.rest_vertices
    elbow = np.argmin(np.linalg.norm(rest - body.bind_matrices[body.bone_names.index("lowerarm_l"), :3, 3], axis=1))
    planted = 0.01 * np.exp(-((np.linalg.norm(rest - rest[elbow], axis=1, keepdims=True) / 0.1) ** 2)) * [0.6, 0.0, -0.8]
    sculpt = deformer(rest + planted)
    with pytest.raises(dermis.Error, match="because others moved"):
        dermis.invert(rest, sculpt, deformer=deformer)
    found = dermis.invert(rest, sculpt, deformer=deformer, coupled="iterate", tolerance=1e-6)
    assert isinstance(found, dermis.Inversion)
    assert found.coupled > 1000 and found.calls <= 25 and found.limited == 0
    assert found.residuals.max() < 3e-5
    assert np.linalg.norm(found.displacements - planted, axis=1).max() < 1e-3
    dice = np.random.default_rng(4)
    noise = sculpt + dice.uniform(-0.01, 0.01, sculpt.shape)
    for times in (None, 1.5):
        found = dermis.invert(rest, noise, deformer=deformer, coupled="iterate", max_correction=times)
        assert isinstance(found, dermis.Inversion)
        assert found.stopped == "no-gain" and found.calls <= 25
        longest = np.linalg.norm(found.displacements, axis=1).max()
        # What the sculpt asks for vertex by vertex: at most a bulge and noise, through a blend that shortens by a half at most.
        assert longest <= found.limit * (1 + 1e-9) and found.limit < 2 * (times or 3) * (0.01 + 0.01 * np.sqrt(3))
        np.testing.assert_allclose(deformer(rest + found.displacements) + found.remainders, noise, atol=1e-12)
        assert np.square(found.remainders).sum() < np.square(noise - skin).sum()


def test_lock_step_is_one_call_for_all_sculpts_and_the_same_bits(arm: Arm) -> None:
    rest, strengths = arm.rest / 3, [0.4, 0.9, 1.3]
    sculpts = np.stack([bend(rest, s) + 0.02 * np.sin(9 * rest) for s in strengths])
    calls: list[tuple[int, ...]] = []

    def together(points: NDArray[np.float64]) -> Floats:
        calls.append(points.shape)
        return np.stack([bend(p, s) for p, s in zip(points, strengths)])

    found = dermis.invert(rest, sculpts, deformer=together, lockstep=True)
    assert isinstance(found, dermis.Inversion)
    assert found.stopped == "reached"
    assert set(calls) == {(3, 200, 3)}
    assert len(calls) == found.calls
    alone = [dermis.invert(rest, t, deformer=lambda p, s=s: bend(p, s)) for t, s in zip(sculpts, strengths)]  # type: ignore[misc]
    for at, each in enumerate(alone):
        assert isinstance(each, dermis.Inversion)
        np.testing.assert_array_equal(found.displacements[at], each.displacements)


def test_learning_curves_have_a_row_per_size(arm_rig: dermis.Rig, train: dermis.Examples, unseen: dermis.Examples) -> None:
    rows = dermis.compare(arm_rig, train, unseen, ["mwe", "lbs"], counts=[4, 8], draws=2)
    assert [(row["poses"], row["method"]) for row in rows] == [(4, "mwe"), (4, "lbs"), (8, "mwe"), (8, "lbs")]


def test_the_program_comes_with_the_package(tmp_path: Path, arm_fit: dermis.Fit) -> None:
    command = [sys.executable, "-m", "dermis"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert version.stdout.strip() == f"dermis {dermis.__version__}"
    wrong = subprocess.run([*command, "fit"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "Usage" in wrong.stderr
    model = tmp_path / "arm.dermis"
    arm_fit.model.save(model)
    looked = subprocess.run([*command, "inspect", model, "--json"], capture_output=True, text=True)
    assert looked.returncode == 0 and json.loads(looked.stdout)


def test_pages_stand_in_a_frame(arm_fit: dermis.Fit, unseen: dermis.Examples) -> None:
    for shown in (arm_fit, arm_fit.model, dermis.evaluate(arm_fit.model, unseen)):
        html: Any = shown._repr_html_()
        assert html.startswith("<iframe srcdoc=") and html.endswith("</iframe>")
        # Within the attribute no quote and no tag of the page is left as it is.
        inner = html[len('<iframe srcdoc="') : html.index('" sandbox="allow-scripts" style=')]
        assert '"' not in inner and "<" not in inner
    assert "Held-out error" in arm_fit.to_html()


def test_a_file_is_shown(model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = dermis.view(WALK)
    assert (shown.shows, shown.frames) == ("rig", 12) and repr(shown).startswith("<dermis.View of a rig: ")
    html: Any = shown._repr_html_()
    assert html.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in html
    kept = dermis.view(model_file, WALK, tmp_path / "model.html")
    assert kept.shows == "model" and kept.to_html() == (tmp_path / "model.html").read_text()
    ran = program("view", model_file, "--motion", WALK, "-o", tmp_path / "again.html")
    assert ran.returncode == 0, ran.stderr
    assert kept.to_html() == (tmp_path / "again.html").read_text()
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = kept.open()
    assert opened == [Path(path).as_uri()] and Path(path).read_text() == kept.to_html()
    with pytest.raises(dermis.Error, match="exists already"):
        dermis.view(WALK, out=tmp_path / "model.html")
    with pytest.raises(dermis.Error, match="ends in .html"):
        dermis.view(WALK, out=tmp_path / "model.txt")
    with pytest.raises(dermis.Error, match="nowhere.glb"):
        dermis.view("nowhere.glb")


def test_models_and_errors_keep_folders_and_lines_to_themselves(
    body: dermis.Rig, exercise: dermis.Examples, tmp_path: Path
) -> None:
    for provenance, is_full in (("relative", False), ("full", True)):
        made: Any = dermis.fit(body, exercise, method=dermis.OwnWeights(), folds=0, provenance=provenance)  # type: ignore[arg-type]
        made.model.save(tmp_path / "own.dermis")
        assert (str(Path(EXERCISE).parent).encode() in (tmp_path / "own.dermis").read_bytes()) == is_full
    with pytest.raises(dermis.Error, match='provenance is "some"'):
        dermis.fit(body, exercise, method=dermis.OwnWeights(), folds=0, provenance="some")  # type: ignore[arg-type]
    forged = tmp_path / "a\nwritten: \x1b[2K\u202eb.npz"
    with pytest.raises(dermis.Error) as refused:
        dermis.Rig.open(forged)
    assert "\n" not in str(refused.value).split("\n hint: ")[0] and "\x1b" not in str(refused.value)
    assert "\\nwritten: \\u{1b}[2K\\u{202e}b.npz" in str(refused.value)
    body_file, unread = dermis.inspect(EXERCISE, forged)
    assert "error" not in body_file and "no such file" in unread["error"]
