# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel's session is the program's: the same folder, the same steps, the same model."""

import fcntl
import json
import os
import subprocess
import sys
import types

import bmesh
import bpy
import dermis
import numpy as np
import pytest

from conftest import BODY, select
from dermis_blender import character, live, panels, reading, sculpting, sessions


def program(*arguments):
    """Runs the program of the package; result: what it prints."""
    environment = os.environ | {"PYTHONPATH": os.environ["DERMIS_PACKAGE"]}
    command = [sys.executable, "-m", "dermis", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(text):
    return pytest.raises(RuntimeError, match=text)


def begin(arm, folder):
    select(arm)
    assert bpy.ops.dermis.session_new(filepath=str(folder)) == {"FINISHED"}
    return arm.dermis.session


def pushed(points, step):
    """The points with a bump that depends on the step, in metres: what both artists do."""
    made = np.array(points, dtype=np.float64)
    centre = made[np.abs(made[:, 2] - 1.0).argmin()] if len(made) != 400 else made[RING * 16 + (3 * step) % 16]
    share = np.clip(1.0 - np.linalg.norm(made - centre, axis=1) / 0.35, 0.0, 1.0)[:, None]
    return made + share * [0.03 + 0.004 * step, 0.02, -0.01 * step]


RING = 13


def strokes(sculpt, step):
    bpy.ops.object.mode_set(mode="OBJECT")
    flat = np.empty(3 * len(sculpt.data.vertices), dtype=np.float32)
    sculpt.data.vertices.foreach_get("co", flat)
    sculpt.data.vertices.foreach_set("co", pushed(flat.reshape(-1, 3), step).astype(np.float32).ravel())


def rewritten(path, step):
    """The same strokes in an OBJ file."""
    lines = path.read_text().splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith("v ")]
    points = pushed([[float(word) for word in lines[number].split()[1:4]] for number in at], step)
    for number, point in zip(at, points):
        lines[number] = "v " + " ".join(repr(float(x)) for x in point)
    path.write_text("\n".join(lines) + "\n")


def paint(sculpt, vertices):
    group = sculpt.vertex_groups.new(name=sessions.SCULPTED)
    group.add(vertices, 0.9, "REPLACE")


MASK = list(range(9 * 16, 17 * 16))
# What each of the eight sculpts is, and how strong.
STEPS = [
    ("SCULPT", 1.0), ("SCULPT", 0.5), ("CHECK", 1.0), ("SCULPT", 1.0), ("WHOLE", 1.0), ("CHECK", 1.0), ("SCULPT", 1.2), ("ANCHOR", 1.0),
]  # fmt: skip
PAINTED = 3


@pytest.fixture
def by_program(arm, tmp_path):
    """The session of the arm as the program begins it, from files."""
    rig, place = character.armature(arm), character.place(arm)
    name = rig.animation_data.action.name
    frames = range(1, 21)
    poses = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        poses.append(reading.pose_matrices(rig, place))
    bpy.context.scene.frame_set(1)
    assert bpy.ops.dermis.write_bundle(filepath=str(tmp_path / "arm.npz")) == {"FINISHED"}
    with np.load(tmp_path / "arm.npz") as arrays:
        np.savez(tmp_path / f"{name}.npz", **arrays, pose_labels=[str(f) for f in frames], pose_matrices=np.array(poses))
    program("session", "new", tmp_path / "arm.npz", "-o", tmp_path / "program.session", "--motion", tmp_path / f"{name}.npz")
    return tmp_path / "program.session"


def posed(model, motion, out):
    program("pose", model, "--motion", motion, "-o", out)
    with np.load(out) as arrays:
        return arrays["vertices"]


def test_eight_steps_here_are_eight_steps_of_the_program(arm, by_program, tmp_path):
    session = begin(arm, tmp_path / "panel.session")
    (tmp_path / "mask.txt").write_text(" ".join("0.9" if v in MASK else "0" for v in range(400)))
    for step, (kind, strength) in enumerate(STEPS):
        # The panel.
        session.check = kind == "CHECK"
        assert bpy.ops.dermis.session_next() == {"FINISHED"}
        sculpt = bpy.context.active_object
        about = sculpt.dermis_sculpt
        assert sculpt.mode == "SCULPT" and arm.hide_get() and about.of_session
        region = sculpt.vertex_groups["region"]
        assert sculpt.vertex_groups.active == region and about.region in ("upper", "lower")
        inside = [v.index for v in sculpt.data.vertices if any(g.group == region.index for g in v.groups)]
        dominant = reading.weights(arm, ["upper", "lower"]).argmax(axis=1)
        assert inside == np.flatnonzero(dominant == ["upper", "lower"].index(about.region)).tolist()
        strokes(sculpt, step)
        about.kind, about.strength = kind, strength
        if step == PAINTED:
            paint(sculpt, MASK)
        offer = about.offer
        assert bpy.ops.dermis.session_done() == {"FINISHED"}
        assert not arm.hide_get() and not sculpting.sculpts_of(arm) and bpy.context.active_object is arm
        # The program.
        wish = ["--check"] if kind == "CHECK" else []
        program("session", "next", by_program, "-n", 1, *wish, "-o", tmp_path / "todo", "--force")
        file = tmp_path / "todo" / f"{offer}.obj"
        rewritten(file, step)
        how = {"SCULPT": ["--teach"], "WHOLE": ["--whole", "--teach"], "CHECK": ["--check"]}
        more = ["--mask", tmp_path / "mask.txt"] if step == PAINTED else []
        if kind == "ANCHOR":
            program("session", "add", by_program, f"@{offer}", "--anchor")
        else:
            program("session", "add", by_program, file, *how[kind], "--strength", strength, *more)
        said = json.loads(program("session", "status", by_program, "--json"))
        own = json.loads(program("session", "status", tmp_path / "panel.session", "--json"))
        same = ("name", "role", "pose", "on", "mask", "strength", "touched", "region")
        for a, b in zip(own["steps"], said["steps"], strict=True):
            assert [a[key] for key in same] == [b[key] for key in same]
        # The panel shows what the program says of its folder.
        assert session.lines.split("\n") == own["lines"] and session.model == own["model"]
        assert [(s.number, s.name, s.on) for s in session.steps] == [(s["id"], s["name"], s["on"]) for s in own["steps"]]
    assert arm.dermis.live and live.state(arm).failed == ""
    assert session.steps[2].after < 0.0 or session.steps[2].before >= 0.0
    # Checks give errors before and after.
    assert any(s.after >= 0.0 for s in session.steps)
    # A step is switched off, a change is taken back.
    assert bpy.ops.dermis.session_switch(step=2, on=False) == {"FINISHED"} and not session.steps[1].on
    program("session", "undo", by_program, 2)
    compare(arm, by_program, tmp_path, "off")
    for act in ("undo", "undo", "redo"):
        assert getattr(bpy.ops.dermis, f"session_{act}")() == {"FINISHED"}
        program("session", act, by_program)
    assert session.steps[1].on and session.undo == 8 and session.redo == 1
    compare(arm, by_program, tmp_path, "undone")


def compare(arm, by_program, tmp_path, name):
    """The models of both folders in the frames of the action: with each other, and with what Live shows."""
    motion = next(path for path in tmp_path.glob("*.npz") if path.name != "arm.npz" and "pose_labels" in np.load(path))
    skins = []
    for folder in (by_program, tmp_path / "panel.session"):
        model = tmp_path / f"{folder.stem}-{name}.dermis"
        program("session", "export", folder, model)
        skins.append(posed(model, motion, tmp_path / f"{folder.stem}-{name}.npz"))
    extent = np.linalg.norm(np.ptp(reading.rest_positions(arm.data), axis=0))
    assert np.abs(skins[0] - skins[1]).max() < 1e-6 * extent
    for frame in (3, 11, 20):
        bpy.context.scene.frame_set(frame)
        assert np.abs(reading.skin(arm, character.place(arm)) - skins[1][frame - 1]).max() < 1e-5 * extent


def test_what_the_program_adds_to_a_folder_of_its_own_the_panel_shows(body, tmp_path):
    folder = tmp_path / "body.session"
    program("session", "new", BODY, "-o", folder, "--motion", f"{BODY}#walk")
    program("session", "next", folder, "-n", 1, "-o", tmp_path / "todo")
    assert bpy.ops.dermis.session_open(directory=str(folder)) == {"FINISHED"}
    session = body.dermis.session
    assert not len(session.steps) and session.model == 0
    [file] = (tmp_path / "todo").iterdir()
    lines = file.read_text().splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith("v ")]
    points = np.array([[float(word) for word in lines[number].split()[1:4]] for number in at])
    centre = points[points[:, 0].argmax()]
    points += np.clip(1.0 - np.linalg.norm(points - centre, axis=1) / 0.1, 0.0, 1.0)[:, None] * [0.0, 0.02, 0.0]
    for number, point in zip(at, points):
        lines[number] = "v " + " ".join(repr(float(x)) for x in point)
    file.write_text("\n".join(lines) + "\n")
    program("session", "add", folder, file)
    assert bpy.ops.dermis.session_refresh() == {"FINISHED"}
    assert [step.name for step in session.steps] == [file.stem] and session.model == 1
    # The program's skin in the sculpt's pose, in the axes of glTF, is what Live shows.
    body.dermis.live = True
    [sculpted] = (folder / "sculpts").iterdir()
    rig, place = character.armature(body), character.place(body)
    with np.load(sculpted) as arrays:
        touched = arrays["mask"][0] > 0.5
    pose = dermis.Examples.open(dermis.Rig(**reading.rig_arrays(body, place)), sculpted).pose_matrices[0]
    assert bpy.ops.dermis.session_show() == {"FINISHED"}
    assert np.abs(reading.pose_matrices(rig, place) - pose).max() < 1e-5
    wanted = points[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
    shown = reading.skin(body, place)
    assert touched.any() and np.abs(shown - wanted)[touched].max() < 1e-5
    for mode in ("CORRECTION", "REPLACE"):
        body.dermis.mode = mode
        bpy.context.view_layer.update()
        assert live.state(body).failed == "" and np.abs(reading.skin(body, place) - shown).max() < 1e-5
    # A step here, in the axes of Blender, is one of the program's.
    assert bpy.ops.dermis.session_next() == {"FINISHED"}
    sculpt = bpy.context.active_object
    bpy.ops.object.mode_set(mode="OBJECT")
    for vertex in sculpt.data.vertices[:60]:
        vertex.co.z += 0.01
    assert bpy.ops.dermis.session_done() == {"FINISHED"}
    said = json.loads(program("session", "status", folder, "--json"))
    assert [step["touched"] for step in said["steps"]][1] == 60 and said["steps"][1]["shown_by"] == {"model": 1}
    assert [step.number for step in session.steps] == [1, 2]


def test_a_changed_character_takes_the_steps(arm, tmp_path):
    session = begin(arm, tmp_path / "s")
    for step in range(2):
        bpy.ops.dermis.session_next()
        strokes(bpy.context.active_object, step)
        bpy.ops.dermis.session_done()
    upper = arm.vertex_groups["upper"]
    upper.add(list(range(208, 240)), 0.3, "REPLACE")
    touched = [step.touched for step in session.steps]
    assert bpy.ops.dermis.session_rebase(filepath=str(tmp_path / "t")) == {"FINISHED"}
    assert session.folder == str(tmp_path / "t") and [step.touched for step in session.steps] == touched
    assert session.model == 1 and arm.dermis.live and live.state(arm).failed == ""
    # The sculpts are met on the new weights.
    session.active = 0
    assert bpy.ops.dermis.session_show() == {"FINISHED"}
    [first, _] = json.loads((tmp_path / "t/session.json").read_text())["steps"]
    file = tmp_path / f"t/sculpts/{first['sha256']}.npz"
    with np.load(file) as arrays:
        inside = arrays["mask"][0] > 0.5
    wanted = dermis.Examples.open(sessions.rig_of(str(tmp_path / "t")), file).vertices[0]
    shown = reading.skin(arm, character.place(arm))
    assert inside.sum() == touched[0] and np.abs(shown - wanted)[inside].max() < 1e-5
    # With one vertex less it is another mesh.
    mesh = bmesh.new()
    mesh.from_mesh(arm.data)
    mesh.verts.ensure_lookup_table()
    bmesh.ops.delete(mesh, geom=[mesh.verts[0]], context="VERTS")
    mesh.to_mesh(arm.data)
    with refused("arm had 400 vertices when it was set up"):
        bpy.ops.dermis.session_rebase(filepath=str(tmp_path / "u"))
    assert session.folder == str(tmp_path / "t") and not (tmp_path / "u").exists()


def test_poses_of_steps_and_motions_are_shown_again(arm, tmp_path):
    session = begin(arm, tmp_path / "s")
    rig, place = character.armature(arm), character.place(arm)
    poses = []
    for step in range(2):
        bpy.ops.dermis.session_next()
        strokes(bpy.context.active_object, step)
        poses.append(reading.pose_matrices(rig, place))
        bpy.ops.dermis.session_done()
    action = rig.animation_data.action
    rig.animation_data.action = None
    for step in range(2):
        session.active = step
        assert bpy.ops.dermis.session_show() == {"FINISHED"}
        assert np.abs(reading.pose_matrices(rig, place) - poses[step]).max() < 1e-5
    # Frame 5 of the motion is frame 6 of the timeline, which begins at 1.
    assert bpy.ops.dermis.session_show(pose=f"{action.name}:5") == {"FINISHED"}
    shown = reading.pose_matrices(rig, place)
    rig.animation_data.action = action
    bpy.context.scene.frame_set(6)
    assert np.abs(reading.pose_matrices(rig, place) - shown).max() < 1e-5
    said = json.loads(program("session", "status", tmp_path / "s", "--json"))["scores"]["side_effects"]
    assert [item.name for item in session.moved] == [moved["pose"] for moved in said]
    for wrong in ("gone:5", f"{action.name}:99", f"{action.name}:x"):
        with refused("is not in"):
            bpy.ops.dermis.session_show(pose=wrong)


def test_a_pose_of_ones_own_is_compared_with_what_was_shown(arm, tmp_path):
    session = begin(arm, tmp_path / "s")
    for step, frame in enumerate((20, 20)):
        bpy.context.scene.frame_set(frame)
        assert bpy.ops.dermis.sculpt_here(for_session=True, label=f"own {step}") == {"FINISHED"}
        sculpt = bpy.context.active_object
        bpy.ops.object.mode_set(mode="OBJECT")
        first = 16 * (11 + 3 * step)
        for vertex in sculpt.data.vertices[first : first + 16]:
            vertex.co.y += 0.02
        assert bpy.ops.dermis.session_done() == {"FINISHED"}
        # The second is compared with the model that Live showed, in which the first is there already.
        assert [s.touched for s in session.steps] == [16] * (step + 1)
    said = json.loads(program("session", "status", tmp_path / "s", "--json"))
    assert [step["name"] for step in said["steps"]] == ["own 0", "own 1"]
    bpy.ops.dermis.sculpt_here(for_session=True)
    bpy.context.active_object.dermis_sculpt.kind = "ANCHOR"
    with refused("in a pose that Next offered"):
        bpy.ops.dermis.session_done()


def test_truth_comes_from_examples_that_check(arm, tmp_path):
    smooth = arm.modifiers.new("Smooth", "CORRECTIVE_SMOOTH")
    smooth.iterations = 10
    bpy.ops.dermis.add_clip(label="truth", start=1, end=20, step=3)
    arm.dermis.examples[0].use = "CHECK"
    session = begin(arm, tmp_path / "s")
    assert bpy.ops.dermis.session_next() == {"FINISHED"}
    sculpt = bpy.context.active_object
    strokes(sculpt, 0)
    assert bpy.ops.dermis.session_done() == {"FINISHED"}
    step = session.steps[0]
    assert step.before > 0.0 and step.after >= 0.0 and "checks:" in session.lines


def test_undoing_in_blender_leaves_the_session_as_its_folder_is(arm, tmp_path):
    begin(arm, tmp_path / "s")
    bpy.ops.ed.undo_push(message="begun")
    bpy.ops.dermis.session_next()
    strokes(bpy.context.active_object, 0)
    bpy.ops.ed.undo_push(message="sculpted")
    assert bpy.ops.dermis.session_done() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="done")
    bpy.ops.ed.undo()
    arm = bpy.data.objects["arm"]
    assert [step.number for step in arm.dermis.session.steps] == [1] and arm.dermis.session.model == 1
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "arm.blend"))
    program("session", "undo", tmp_path / "s")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "arm.blend"))
    session = bpy.data.objects["arm"].dermis.session
    assert session.model == 0 and session.redo == 1 and not session.steps[0].on
    assert not bpy.data.objects["arm"].dermis.live


def test_a_folder_that_is_no_session(arm, tmp_path):
    with refused("holds no session"):
        bpy.ops.dermis.session_open(directory=str(tmp_path))
    assert not arm.dermis.session.folder
    (tmp_path / "session.json").write_text("{}")
    with refused("damaged"):
        bpy.ops.dermis.session_open(directory=str(tmp_path))
    with refused("there is a session in this folder already"):
        bpy.ops.dermis.session_new(filepath=str(tmp_path))
    assert not arm.dermis.session.folder


def test_a_session_of_another_character(arm, tmp_path):
    program("session", "new", BODY, "-o", tmp_path / "s", "--motion", f"{BODY}#walk")
    with refused("has no bone"):
        bpy.ops.dermis.session_open(directory=str(tmp_path / "s"))
    begin(arm, tmp_path / "arm.session")
    arm.dermis.session.folder = ""
    for vertex in arm.data.vertices[:5]:
        vertex.co.x += 0.1
    with refused("5 of 400 vertices of arm are not in the model's rig"):
        bpy.ops.dermis.session_open(directory=str(tmp_path / "arm.session"))


def test_a_session_that_another_program_writes(arm, tmp_path):
    begin(arm, tmp_path / "s")
    bpy.ops.dermis.session_next()
    strokes(bpy.context.active_object, 0)
    with open(tmp_path / "s" / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with refused("another program works on this session"):
            bpy.ops.dermis.session_done()
    # The sculpt is still there, and can be added now.
    assert len(sculpting.sculpts_of(arm)) == 1 and not len(arm.dermis.session.steps)
    assert bpy.ops.dermis.session_done() == {"FINISHED"}


def test_sculpts_that_cannot_be_added(arm, tmp_path):
    begin(arm, tmp_path / "s")
    bpy.ops.dermis.session_next()
    with refused("There is a sculpt already"):
        bpy.ops.dermis.session_next()
    sculpt = bpy.context.active_object
    with refused("touches no vertex"):
        bpy.ops.dermis.session_done()
    strokes(sculpt, 0)
    paint(sculpt, [])
    with refused('"sculpted" is above 0.5 nowhere'):
        bpy.ops.dermis.session_done()
    sculpt.vertex_groups[sessions.SCULPTED].add([0], 1.0, "REPLACE")
    sculpt.dermis_sculpt.kind = "WHOLE"
    with refused("A whole sculpt has no mask"):
        bpy.ops.dermis.session_done()
    sculpt.vertex_groups.remove(sculpt.vertex_groups[sessions.SCULPTED])
    made = bmesh.new()
    made.from_mesh(sculpt.data)
    bmesh.ops.delete(made, geom=list(made.verts)[:3], context="VERTS")
    made.to_mesh(sculpt.data)
    made.free()
    with refused("The sculpt has 397 vertices; arm has 400"):
        bpy.ops.dermis.session_done()
    assert not len(arm.dermis.session.steps) and len(sculpting.sculpts_of(arm)) == 1
    assert bpy.ops.dermis.discard_sculpt() == {"FINISHED"} and not arm.hide_get()
    assert bpy.ops.dermis.session_close() == {"FINISHED"} and (tmp_path / "s" / "session.json").is_file()


@pytest.mark.parametrize("way", ["original", "turned", "split", "merged"])
def test_a_session_of_an_export_with_seams(arm, tmp_path, way):
    # Every corner of a face has its own place in the texture: files split all of them.
    layer = arm.data.uv_layers.new(name="seams")
    for corner in arm.data.loops:
        layer.data[corner.index].uv = (corner.index % 61 / 61.0, corner.index % 59 / 59.0)
    bpy.ops.object.select_all(action="SELECT")
    file = tmp_path / "arm.glb"
    bpy.ops.export_scene.gltf(filepath=str(file), export_format="GLB")
    program("session", "new", file, "-o", tmp_path / "s", "--motion", file)
    # The program welds seams: a mesh is what is sculpted, not what is drawn.
    assert json.loads(program("session", "status", tmp_path / "s", "--json"))["rig"]["vertices"] == 400
    if way == "turned":
        # Importers turn bones about themselves: the skin that a pose makes is the same, its matrices are not.
        select(character.armature(arm))
        bpy.ops.object.mode_set(mode="EDIT")
        for number, bone in enumerate(bpy.context.object.data.edit_bones):
            bone.roll += 0.7 + number
        bpy.ops.object.mode_set(mode="OBJECT")
        select(arm)
        assert bpy.ops.dermis.set_up() == {"FINISHED"}
    elif way != "original":
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.import_scene.gltf(filepath=str(file), merge_vertices=way == "merged")
        arm = next(o for o in bpy.data.objects if o.type == "MESH" and o.vertex_groups)
        assert len(arm.data.vertices) > (1200 if way == "split" else 399)
        select(arm)
        assert bpy.ops.dermis.set_up() == {"FINISHED"}
    select(arm)
    assert bpy.ops.dermis.session_open(directory=str(tmp_path / "s")) == {"FINISHED"}
    assert bpy.ops.dermis.session_next() == {"FINISHED"}
    sculpt = bpy.context.active_object
    strokes(sculpt, 1)
    wanted, place = sculpting.skin_of(arm, sculpt), character.place(arm)
    assert bpy.ops.dermis.session_done() == {"FINISHED"}
    step = arm.dermis.session.steps[0]
    # The program finds the pose that it offered.
    assert live.state(arm).failed == "" and 40 < step.touched < 200 and step.pose == step.name.replace("_", ":")
    assert np.abs(reading.skin(arm, place) - wanted).max() < 1e-5


class Layout:
    """Notes what a panel draws."""

    def __init__(self, drawn):
        self.drawn = drawn

    def __getattr__(self, name):
        if name in ("row", "column", "box", "split"):
            return lambda **_: Layout(self.drawn)
        return lambda *arguments, **more: self._note(name, arguments, more)

    def _note(self, name, arguments, more):
        words = [str(word) for word in arguments if isinstance(word, str)] + [str(more.get("text", ""))]
        self.drawn.append(" ".join([name, *filter(None, words)]))
        if name in ("prop", "template_list"):
            owner = arguments[0] if name == "prop" else arguments[2]
            assert hasattr(owner, arguments[1] if name == "prop" else arguments[3])
        return types.SimpleNamespace()


def drawn():
    """The words of the panel."""
    found = []
    panel = types.SimpleNamespace(layout=Layout(found), draw_sculpt=panels.DERMIS_PT_session.draw_sculpt)
    panels.DERMIS_PT_session.draw(panel, bpy.context)
    return found


def test_the_panel_draws_what_the_program_said(arm, tmp_path):
    assert drawn() == ["operator dermis.session_new Begin", "operator dermis.session_open Open"]
    session = begin(arm, tmp_path / "hero.session")
    assert "label hero.session" in drawn()
    bpy.ops.dermis.session_next()
    assert {"prop kind", "prop strength", "operator dermis.session_done"} <= set(drawn())
    strokes(bpy.context.active_object, 0)
    bpy.ops.dermis.session_done()
    found = drawn()
    assert "operator dermis.session_next" in found and "operator dermis.session_undo Undo 1" in found and session.model == 1
    said = " ".join(line.removeprefix("label ") for line in found)
    assert "met: within" in said and "no verdict" in said and len(session.lines.split("\n")) >= 4
    rows = []
    items = types.SimpleNamespace()
    panels.DERMIS_UL_steps.draw_item(items, bpy.context, Layout(rows), session, session.steps[0], 0, session, "active", 0)
    assert rows[0] == "operator dermis.session_switch" and rows[1].startswith("label 1 ") and rows[2].startswith("label ")
