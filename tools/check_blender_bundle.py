"""Checks tools/blender_bundle.py in Blender: the bundle of a small scene, and what Dermis makes of it.

    python tools/check_blender_bundle.py DERMIS FOLDER

Builds a bent cylinder of two bones below a moved and scaled armature, in a scene whose unit is a centimetre, with a
corrective smooth after the armature, a control bone that deforms nothing, and a sculpt of one frame. It then compares

- the bundle's rest mesh, bind matrices and weights with linear blending computed here, against Blender's own evaluation
  without the smoothing;
- the bundle's skins with Blender's evaluation, and the sculpt with what was sculpted;
- what `dermis inspect` counts, and what `dermis fit` leaves of the errors of the rig's own weights.

It also checks that a modifier which adds vertices is refused.

Exit 0: all agrees; 1: not; 2: something failed; 3: Blender or NumPy is not installed (`pip install bpy==4.5.* numpy`,
Python 3.11).
"""

import json
import math
import pathlib
import subprocess
import sys

try:
    import bpy
    import numpy as np
    from mathutils import Matrix
except ImportError as missing:
    print(f"NOT CHECKED: {missing}. Install with: pip install 'bpy==4.5.*' numpy (Python 3.11)", file=sys.stderr)
    sys.exit(3)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from blender_bundle import bundle  # noqa: E402

RINGS, SIDES, FRAMES, METRES = 13, 10, 12, 0.01


def character():
    """A cylinder along Z with an armature of a control bone, an upper bone and a lower one, which bends."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.unit_settings.scale_length = METRES
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    edit = armature.data.edit_bones
    edit.remove(edit[0])
    above = None
    for name, head, tail in [("control", -1.0, 0.0), ("upper", 0.0, 1.0), ("lower", 1.0, 2.0)]:
        bone = edit.new(name)
        bone.head, bone.tail, bone.roll, bone.parent = (0, 0, head), (0, 0.1, tail), 0.4, above
        bone.use_deform = name != "control"
        above = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    ring = [(0.3 * math.cos(math.tau * s / SIDES), 0.2 * math.sin(math.tau * s / SIDES)) for s in range(SIDES)]
    points = [(x, y, 2.0 * r / (RINGS - 1)) for r in range(RINGS) for x, y in ring]
    quads = [(r * SIDES + s, r * SIDES + (s + 1) % SIDES) for r in range(RINGS - 1) for s in range(SIDES)]
    mesh = bpy.data.meshes.new("limb")
    mesh.from_pydata(points, [], [(a, b, b + SIDES, a + SIDES) for a, b in quads])
    limb = bpy.data.objects.new("limb", mesh)
    bpy.context.scene.collection.objects.link(limb)
    groups = {name: limb.vertex_groups.new(name=name) for name in ["control", "upper", "lower", "mask"]}
    for vertex, (_, _, z) in enumerate(points):
        share = min(max((z - 0.7) / 0.6, 0.0), 1.0)
        groups["upper"].add([vertex], 1.0 - share, "REPLACE")
        groups["lower"].add([vertex], share, "REPLACE")
        groups["control"].add([vertex], 0.7, "REPLACE")  # deforms nothing, so it must not count
        groups["mask"].add([vertex], 0.5, "REPLACE")  # no bone at all
    limb.parent = armature
    limb.modifiers.new("Armature", "ARMATURE").object = armature
    smooth = limb.modifiers.new("Smooth", "CORRECTIVE_SMOOTH")
    smooth.iterations = 10
    armature.matrix_world = Matrix.Translation((3, -2, 1)) @ Matrix.Rotation(0.4, 4, "Z") @ Matrix.Scale(80, 4)
    lower, control = armature.pose.bones["lower"], armature.pose.bones["control"]
    lower.rotation_mode = "XYZ"
    for frame in range(1, FRAMES + 1):
        lower.rotation_euler = (2.0 * (frame - 1) / (FRAMES - 1), 0.05 * frame, 0.0)
        lower.keyframe_insert("rotation_euler", frame=frame)
        control.location = (0.02 * frame, 0.0, 0.0)
        control.keyframe_insert("location", frame=frame)
    return limb, smooth


def shown(thing, frame):
    """The evaluated vertices in metres, as the viewport shows them in a frame."""
    bpy.context.scene.frame_set(frame)
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return METRES * np.array([evaluated.matrix_world @ vertex.co for vertex in evaluated.to_mesh().vertices])


def linear_blend(made):
    rest = np.pad(np.array(made["rest_vertices"]), ((0, 0), (0, 1)), constant_values=1.0)
    moves = np.array(made["pose_matrices"]) @ np.linalg.inv(np.array(made["bind_matrices"]))
    weights = made["lbs_weights"] / made["lbs_weights"].sum(axis=1, keepdims=True)
    return np.array([np.einsum("vij,vj->vi", np.tensordot(weights, move, 1), rest)[:, :3] for move in moves])


def dermis(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, file=sys.stderr)
        sys.exit(2)
    return done.stdout


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    limb, smooth = character()
    frames = range(1, FRAMES + 1)
    failures = []

    def agree(what, found, wanted, limit):
        error = np.abs(np.asarray(found) - np.asarray(wanted)).max()
        print(f"{what}: {error:.2e}, limit {limit:.0e}")
        if not error <= limit:
            failures.append(what)

    smooth.show_viewport = False
    agree("linear blending, m", linear_blend(bundle(limb, frames)), [shown(limb, f) for f in frames], 2e-6)
    smooth.show_viewport = True
    made = bundle(limb, frames)
    agree("skins of the frames, m", made["vertices"], [shown(limb, f) for f in frames], 1e-6)
    agree("frame times, s", made["frame_times"], (np.array(frames) - 1) / 24, 1e-12)
    np.savez(folder / "frames.npz", **made)

    # A sculpt as an artist makes it: the shown mesh of frame 8 as an object of its own, and a bulge.
    bpy.context.scene.frame_set(8)
    shape = bpy.data.meshes.new_from_object(limb.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    sculpt = bpy.data.objects.new("elbow_65@8", shape)
    bpy.context.scene.collection.objects.link(sculpt)
    sculpt.matrix_world = limb.matrix_world
    for vertex in shape.vertices:
        vertex.co.x *= 1.0 + 0.3 * math.exp(-((vertex.co.z - 1.0) ** 2) / 0.1)
    made = bundle(limb, [1, 8, 12])
    clip = limb.parent.animation_data.action.name
    if made["pose_labels"] != ["elbow_65", f"{clip} 1", f"{clip} 12"] or "frame_times" in made:
        failures.append(f"labels {made['pose_labels']}")
    agree("sculpt, m", made["vertices"][0], shown(sculpt, 8), 1e-6)
    np.savez(folder / "sculpt.npz", **bundle(limb, []))
    bpy.data.objects.remove(sculpt)

    limb.modifiers.new("Finer", "SUBSURF")
    try:
        bundle(limb, [1])
        failures.append("a finer mesh is not refused")
    except SystemExit as refusal:
        print(f"refused: {refusal}")

    for name, labels in [("frames", [f"{clip} {frame}" for frame in frames]), ("sculpt", ["elbow_65"])]:
        seen = json.loads(dermis(program, "inspect", folder / f"{name}.npz", "--json"))[0]
        mesh, influences = seen["mesh"], seen["influences"]
        found = [mesh["vertices"], mesh["polygons"], seen["skeleton"]["bones"], influences["bones_used"]]
        wanted = [RINGS * SIDES, (RINGS - 1) * SIDES, 3, 2]
        print(f"inspect {name}: {found}, {seen['labels']}, flaws {seen['flaws']}")
        if found != wanted or seen["labels"] != labels or seen["flaws"] or seen["skins"] != len(labels):
            failures.append(f"inspect {name}, {wanted} wanted")
    rig = folder / "frames.npz"
    # The joint model learns the smoothing, and a pose space meets the sculpt.
    for name, limit, options in [("frames", 0.1, "--folds 4"), ("sculpt", 1e-3, "--method psd -s 0 --folds 0")]:
        files = ["--examples", folder / f"{name}.npz", "-o", folder / f"{name}.dermis"]
        fitted = json.loads(dermis(program, "fit", rig, *files, *options.split(), "--json", "--force"))
        left, before = fitted["error"]["rms"], fitted["baseline"]["error"]["rms"]
        print(f"fit {name}: {1e3 * left:.3g} of {1e3 * before:.3g} mm rms remain, {fitted['validation']}")
        if not left <= limit * before:
            failures.append(f"fit {name}, at most {limit} of the rig's own error wanted")
    print("failed: " + ", ".join(failures) if failures else "all agrees")
    sys.exit(1 if failures else 0)


main()
