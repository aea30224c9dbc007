"""Asks Blender whether Dermis reads its FBX and Alembic files as Blender shows them.

    python tools/check_conversions.py DERMIS FOLDER [--limit 1e-5] [--fbx FILE]

Builds a skinned tube with a shape key and two actions below a moved and scaled armature, exports it as FBX, and its frames as
Alembic below a moving parent; lets the program DERMIS convert both to bundles in FOLDER; and compares every frame with the
positions of Blender's own evaluated mesh. With --fbx it imports that file with Blender instead, and compares every take.

Exit 0: all within the limit, a part of the diagonal at rest; 1: not; 2: something failed; 3: Blender or NumPy is not
installed (`pip install bpy==4.5.* numpy`, Python 3.11).
"""

import argparse
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

RINGS, SIDES, FRAMES = 9, 8, 6


def y_up(positions):
    """Blender's (x, y, z) as its exporters turn it: (x, z, -y)."""
    return np.stack([positions[..., 0], positions[..., 2], -positions[..., 1]], axis=-1)


def shown(thing):
    """The evaluated vertices in Blender's world."""
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    flat = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    matrix = np.array(evaluated.matrix_world)
    evaluated.to_mesh_clear()
    return flat.reshape(-1, 3).astype(float) @ matrix[:3, :3].T + matrix[:3, 3]


def frames_of(thing, first, last):
    out = []
    for frame in range(first, last + 1):
        bpy.context.scene.frame_set(frame)
        out.append(shown(thing))
    return np.array(out)


def play(owner, action):
    data = owner.animation_data or owner.animation_data_create()
    data.action = action
    if action is not None and getattr(action, "slots", None):
        data.action_slot = action.slots[0]


def character():
    """A tube of three bones below an armature that is itself moved, turned and scaled, with a shape key."""
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    armature.name = "Rig"
    bpy.ops.object.mode_set(mode="EDIT")
    edit = armature.data.edit_bones
    edit.remove(edit[0])
    above = None
    for at in range(3):
        bone = edit.new(f"bone{at}")
        bone.head, bone.tail, bone.roll = (0.0, 0.05 * at, at), (0.0, 0.05 * (at + 1), at + 1), 0.3 * at
        bone.parent = above
        above = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    points, faces = [], []
    for ring in range(RINGS):
        for side in range(SIDES):
            angle = 2 * math.pi * side / SIDES
            points.append((0.3 * math.cos(angle), 0.25 * math.sin(angle), 3.0 * ring / (RINGS - 1)))
    for ring in range(RINGS - 1):
        for side in range(SIDES):
            a, b = ring * SIDES + side, ring * SIDES + (side + 1) % SIDES
            faces.append((a, b, b + SIDES, a + SIDES))
    mesh = bpy.data.meshes.new("tube")
    mesh.from_pydata(points, [], faces)
    tube = bpy.data.objects.new("tube", mesh)
    bpy.context.scene.collection.objects.link(tube)
    for at in range(3):
        group = tube.vertex_groups.new(name=f"bone{at}")
        for vertex, (_, _, z) in enumerate(points):
            weight = max(0.0, 1.0 - abs(z - at - 0.5))
            if (at, z < 0.5) == (0, True) or (at, z > 2.5) == (2, True):
                weight = 1.0
            if weight > 0.0:
                group.add([vertex], weight, "REPLACE")
    tube.shape_key_add(name="Basis")
    fat = tube.shape_key_add(name="fat")
    for vertex, (x, y, z) in enumerate(points):
        fat.data[vertex].co = (1.5 * x, 1.5 * y, z)
    fat.value = 0.5
    tube.parent = armature
    tube.modifiers.new("Armature", "ARMATURE").object = armature
    armature.matrix_world = Matrix.Translation((0.3, -0.2, 0.1)) @ Matrix.Rotation(0.4, 4, "Z") @ Matrix.Scale(0.5, 4)
    return armature, tube


def actions(armature):
    """Two actions over the bones: turns, a move of the root and a stretch of the tip."""
    made = []
    for name, strength in [("bend", 0.2), ("twist", -0.35)]:
        action = bpy.data.actions.new(name)
        action.use_fake_user = True
        armature.animation_data_create().action = action
        for at, bone in enumerate(armature.pose.bones):
            bone.rotation_mode = "XYZ"
            for frame in range(1, FRAMES + 1):
                bone.rotation_euler = (strength * frame, -0.1 * frame * at, strength * frame * (at - 1))
                bone.keyframe_insert("rotation_euler", frame=frame)
                bone.location = (0.0, 0.02 * frame if at == 0 else 0.0, 0.0)
                bone.keyframe_insert("location", frame=frame)
                bone.scale = (1.0 + 0.05 * frame,) * 3 if at == 2 else (1.0,) * 3
                bone.keyframe_insert("scale", frame=frame)
        made.append(action)
    return made


def convert(dermis, source, out, *options):
    done = subprocess.run([dermis, "convert", *options, str(source), "--force", "-o", str(out)], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, file=sys.stderr)
        sys.exit(2)
    return np.load(out)


def metres(bundle):
    """Positions and matrices of a bundle go by its unit."""
    return {"centimetres": 0.01, "metres": 1.0}[str(bundle["units"])]


def linear_blend(bundle):
    rest = np.pad(bundle["rest_vertices"].astype(float), ((0, 0), (0, 1)), constant_values=1.0)
    moves = bundle["pose_matrices"].astype(float) @ np.linalg.inv(bundle["bind_matrices"].astype(float))
    weights = bundle["lbs_weights"].astype(float)
    skins = [np.einsum("vij,vj->vi", np.tensordot(weights, move, 1), rest)[:, :3] for move in moves]
    return np.array(skins)


def compare(what, found, wanted, limit):
    if found.shape != wanted.shape:
        print(f"{what}: {found.shape} where Blender has {wanted.shape}")
        return False
    diagonal = np.linalg.norm(wanted[0].max(axis=0) - wanted[0].min(axis=0))
    worst = np.linalg.norm(found - wanted, axis=-1).max()
    print(f"{what}: {len(wanted)} frames of {wanted.shape[1]} vertices, max {worst:.3e}, {worst / diagonal:.3e} of the diagonal")
    return worst <= limit * diagonal


def check_fbx(dermis, folder, limit):
    armature, tube = character()
    made = actions(armature)
    path = folder / "tube.fbx"
    play(armature, made[0])
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, FRAMES
    scene.frame_set(3)  # the file's default pose is not its bind pose
    bpy.ops.export_scene.fbx(
        filepath=str(path), bake_anim_use_nla_strips=False, bake_anim_use_all_actions=True, bake_anim_simplify_factor=0.0,
        add_leaf_bones=True, use_selection=False,
    )
    good = True
    for action in made:
        play(armature, action)
        wanted = y_up(frames_of(tube, 1, FRAMES))
        bundle = convert(dermis, path, folder / f"{action.name}.npz", "--clip", f"Rig|{action.name}")
        good &= compare(f"FBX, {action.name}", bundle["vertices"] * metres(bundle), wanted, limit)
    return good


def check_given_fbx(dermis, folder, limit, path):
    bpy.ops.import_scene.fbx(filepath=path)
    tube = next(o for o in bpy.data.objects if o.type == "MESH" and any(m.type == "ARMATURE" for m in o.modifiers))
    armature = next(m.object for m in tube.modifiers if m.type == "ARMATURE")
    good = True
    for action in list(bpy.data.actions):
        play(armature, action)
        name = action.name.split("|", 1)[-1] if action.name.count("|") > 1 else action.name
        bundle = convert(dermis, path, folder / "given.npz", "--clip", name)
        first = round(action.frame_range[0])
        wanted = y_up(frames_of(tube, first, first + len(bundle["pose_matrices"]) - 1))
        good &= compare(f"{path}, {name}", linear_blend(bundle) * metres(bundle), wanted, limit)
    return good


def check_alembic(dermis, folder, limit):
    armature, tube = character()
    action = actions(armature)[0]
    play(armature, action)
    parent = bpy.data.objects.new("parent", None)
    bpy.context.scene.collection.objects.link(parent)
    armature.parent = parent
    for frame in range(1, FRAMES + 1):
        parent.location = (0.1 * frame, 0.0, 0.02 * frame * frame)
        parent.keyframe_insert("location", frame=frame)
        parent.rotation_euler = (0.1 * frame, 0.0, 0.3 * frame)
        parent.keyframe_insert("rotation_euler", frame=frame)
        parent.scale = (1.0, 1.0 + 0.1 * frame, 1.0)
        parent.keyframe_insert("scale", frame=frame)
        key = tube.data.shape_keys.key_blocks["fat"]
        key.value = frame / FRAMES
        key.keyframe_insert("value", frame=frame)
    path = folder / "tube.abc"
    bpy.ops.wm.alembic_export(filepath=str(path), start=1, end=FRAMES, export_hair=False, as_background_job=False)
    bundle = convert(dermis, path, folder / "tube_abc.npz")
    good = compare("Alembic", bundle["vertices"].astype(float), y_up(frames_of(tube, 1, FRAMES)), limit)
    times = bundle["frame_times"]
    rate = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    if np.abs(times - np.arange(1, FRAMES + 1) / rate).max() > 1e-6:
        print(f"Alembic: times are {times}")
        good = False
    return good


def main():
    parser = argparse.ArgumentParser(description="Compare what Dermis reads from FBX and Alembic with Blender")
    parser.add_argument("dermis")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=1e-5, help="largest error as a part of the diagonal")
    parser.add_argument("--fbx", help="compare the takes of this file instead")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    good = True
    checks = [check_fbx, check_alembic] if args.fbx is None else [lambda *rest: check_given_fbx(*rest, args.fbx)]
    for check in checks:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        good &= check(args.dermis, args.folder, args.limit)
    sys.exit(0 if good else 1)


main()
