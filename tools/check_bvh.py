"""Checks BVH files against Blender: python check_bvh.py DERMIS FOLDER

Blender writes BVH files in all orders of rotation, and `dermis convert` turns them into bundles: the joint-to-world matrices must be
those of Blender's pose bones. `dermis convert` writes a BVH file of the bundled body's walk, and Blender imports it: its pose bones must
turn and stand as the bundle says. A file that goes through Dermis keeps its angles.

Needs Blender as a Python module (`bpy`).
"""

import math
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
from mathutils import Quaternion, Vector

# Metres, and entries of matrices: Blender computes in 32 bits.
PLACES = 1e-5
MATRICES = 1e-5
DEGREES = 1e-5


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    worst = 0.0
    for order in ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]:
        worst = max(worst, read_from_blender(program, folder, order))
    print(f"BVH by Blender, six orders: matrices within {worst:.1e}")
    check(worst <= MATRICES, "matrices of Blender's BVH files")
    places, turns = written_for_blender(program, folder)
    print(f"BVH for Blender, the bundled walk: places within {places:.1e} m, entries of rotations within {turns:.1e}")
    check(places <= PLACES and turns <= MATRICES, "the bundled walk in Blender")
    angles = kept(program, folder)
    print(f"BVH through Dermis: angles within {angles:.1e} degrees")
    check(angles <= DEGREES, "angles after a round trip")


def check(fine, what):
    if not fine:
        sys.exit(f"FAILED: {what}")


def convert(program, *arguments):
    subprocess.run([program, "convert", *map(str, arguments), "--force", "--quiet"], check=True, stdout=subprocess.DEVNULL)


def empty():
    bpy.ops.wm.read_factory_settings(use_empty=True)


def read_from_blender(program, folder, order):
    """The largest difference of a matrix that Blender shows from the one that Dermis reads."""
    empty()
    random = np.random.default_rng(7)
    armature = bpy.data.armatures.new("rig")
    rig = bpy.data.objects.new("rig", armature)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    heads = {"hips": (0, 0, 1), "spine": (0, 0, 1.2), "arm.L": (0.2, 0.1, 1.5), "hand.L": (0.7, 0.1, 1.4), "leg.R": (-0.2, 0, 0.9)}
    parents = {"spine": "hips", "arm.L": "spine", "hand.L": "arm.L", "leg.R": "hips"}
    for name, head in heads.items():
        bone = armature.edit_bones.new(name)
        bone.head, bone.tail = head, Vector(head) + Vector(random.normal(size=3) * 0.2)
        bone.parent = armature.edit_bones.get(parents.get(name, ""))
        bone.roll = random.uniform(-3, 3)
    bpy.ops.object.mode_set(mode="POSE")
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 25, 1, 12
    for frame in range(1, 13):
        for bone in rig.pose.bones:
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = Quaternion(random.normal(size=4)).normalized()
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        rig.pose.bones["hips"].location = random.normal(size=3)
        rig.pose.bones["hips"].keyframe_insert("location", frame=frame)
    bvh, bundle = folder / f"{order}.bvh", folder / f"{order}.npz"
    bpy.ops.export_anim.bvh(filepath=str(bvh), frame_start=1, frame_end=12, rotate_mode=order, root_transform_only=False)
    # Blender writes its own axes, Z up.
    convert(program, bvh, "-o", bundle, "--up", "z")
    read = np.load(bundle)
    names = [str(name) for name in read["bone_names"]]
    # Blender's importer shows what it wrote, in the axes of the file.
    empty()
    bpy.ops.import_anim.bvh(filepath=str(bvh), axis_forward="Y", axis_up="Z", rotate_mode="QUATERNION")
    rig = bpy.context.object
    worst = 0.0
    for frame in range(12):
        bpy.context.scene.frame_set(frame + 1)
        for bone in rig.pose.bones:
            shown = np.array(bone.matrix @ bone.bone.matrix_local.inverted())
            at = names.index(bone.name)
            dermis = read["pose_matrices"][frame, at] @ np.linalg.inv(read["bind_matrices"][at])
            worst = max(worst, np.abs(in_file(dermis, read) - shown).max())
    return worst


def in_file(matrix, bundle):
    """A bone transform of a bundle in axes with Z up."""
    if str(bundle["up_axis"] if "up_axis" in bundle else "Y").upper().startswith("Z"):
        return matrix
    turn = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], float)
    return turn @ matrix @ turn.T


def written_for_blender(program, folder):
    """The largest differences of what Blender shows of our file from the bundle: metres, and entries of rotations."""
    walk = Path(__file__).parent.parent / "assets/body/body_walk.npz"
    bvh = folder / "walk.bvh"
    convert(program, walk, "-o", bvh)
    bundle = np.load(walk)
    names = [str(name) for name in bundle["bone_names"]]
    metres = float(bundle["metres_per_unit"]) if "metres_per_unit" in bundle else 1.0
    up = str(bundle["up_axis"]) if "up_axis" in bundle else "Y"
    empty()
    # The file has Y up, and so has the scene.
    bpy.ops.import_anim.bvh(filepath=str(bvh), axis_forward="Y", axis_up="Z", rotate_mode="NATIVE")
    rig = bpy.context.object
    turn = np.eye(4)
    if up.upper().startswith("Z"):
        turn = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], float)
    places = turns = 0.0
    for frame in range(len(bundle["pose_matrices"])):
        bpy.context.scene.frame_set(frame + 1)
        for bone in rig.pose.bones:
            at = names.index(bone.name)
            shown = np.array(bone.matrix @ bone.bone.matrix_local.inverted())
            pose, bind = bundle["pose_matrices"][frame, at].astype(float), bundle["bind_matrices"][at].astype(float)
            expected = turn @ pose @ np.linalg.inv(bind) @ turn.T
            places = max(places, metres * np.abs(np.array(bone.head) - (turn @ pose)[:3, 3]).max())
            turns = max(turns, np.abs(shown[:3, :3] - expected[:3, :3]).max())
    return places, turns


def apart(a, b):
    """Degrees between two rotations, exact where they are near."""
    d = a.T @ b
    sine = 0.5 * np.linalg.norm([d[2, 1] - d[1, 2], d[0, 2] - d[2, 0], d[1, 0] - d[0, 1]])
    return math.degrees(math.atan2(sine, 0.5 * (np.trace(d) - 1)))


def kept(program, folder):
    """The largest change of a joint's rotation when a file of Blender goes through Dermis."""
    worst = 0.0
    for order in ["XYZ", "ZYX"]:
        source, again = folder / f"{order}.bvh", folder / f"{order}_again.bvh"
        convert(program, source, "-o", again)
        a, b = rotations(source), rotations(again)
        check(a.keys() == b.keys(), f"joints of {again}")
        worst = max(worst, max(apart(x, y) for name in a for x, y in zip(a[name], b[name])))
    return worst


def rotation(axis, angle):
    """About an axis, in doubles."""
    matrix, i, j = np.eye(3), (axis + 1) % 3, (axis + 2) % 3
    matrix[i, i] = matrix[j, j] = math.cos(angle)
    matrix[j, i] = math.sin(angle)
    matrix[i, j] = -matrix[j, i]
    return matrix


def rotations(path):
    """Rotation matrices per joint and frame, by a reader of its own."""
    words = path.read_text().split()
    joints, at = [], 0
    while words[at] != "MOTION":
        if words[at] in ("ROOT", "JOINT"):
            joints.append([words[at + 1], []])
        if words[at] == "CHANNELS":
            joints[-1][1] = words[at + 2 : at + 2 + int(words[at + 1])]
        at += 1
    numbers = np.array(words[at + 6 :], float).reshape(int(words[at + 2]), -1)
    found, column = {}, 0
    for name, channels in joints:
        frames = []
        for row in numbers:
            matrix = np.eye(3)
            for channel, value in zip(channels, row[column:]):
                if channel.endswith("rotation"):
                    matrix = matrix @ rotation("XYZ".index(channel[0]), math.radians(value))
            frames.append(matrix)
        found[name] = frames
        column += len(channels)
    return found


if __name__ == "__main__":
    main()
