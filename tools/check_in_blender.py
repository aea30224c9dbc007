#!/usr/bin/env python3
"""Open the bundled character in Blender and compare what it shows with the bundles.

body.glb is imported and its clips are played; each frame's skin must be what the
bone matrices and weights of body_exercise.npz and body_walk.npz give by linear
blend skinning.

    python tools/check_in_blender.py assets/body    # a Python 3.11 with bpy 4.5 and numpy

Exit 0 when they agree, 1 when they do not, 3 when bpy or numpy is not here.
"""
import argparse
import sys
from pathlib import Path

try:
    import bpy
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: {error}; it takes a Python with bpy and numpy", file=sys.stderr)
    sys.exit(3)

FPS = 30            # of the clips
POSES_PER_SECOND = 2  # of the clip "exercise"; the walk's bundle has its own times

# Both files hold matrices and weights as float32, the glTF file rotations as unit
# quaternions: about 1e-6 per joint, in chains of ten, for a body of two metres.
TOLERANCE = 5e-5    # metres


def linear_blend(bundle):
    """The skin of every pose of a bundle: sum over bones of weight x matrix x rest."""
    bind = bundle["bind_matrices"].astype(float)
    rest = np.c_[bundle["rest_vertices"].astype(float), np.ones(len(bundle["rest_vertices"]))]
    weights = bundle["lbs_weights"].astype(float)
    for pose in bundle["pose_matrices"].astype(float):
        moved = pose @ np.linalg.inv(bind)
        blended = np.tensordot(weights, moved, axes=1)
        yield np.einsum("vij,vj->vi", blended, rest)[:, :3]


def shown(skin, frame):
    """The vertices that Blender shows at a frame, which need not be a whole number, in the world."""
    bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
    evaluated = skin.evaluated_get(bpy.context.evaluated_depsgraph_get())
    positions = np.empty(3 * len(evaluated.data.vertices))
    evaluated.data.vertices.foreach_get("co", positions)
    world = np.array(evaluated.matrix_world)
    return positions.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]


def play(armature, name):
    """Make a clip the only thing that moves the armature."""
    data = armature.animation_data
    while data.nla_tracks:
        data.nla_tracks.remove(data.nla_tracks[0])
    data.action = next(action for action in bpy.data.actions if action.name.startswith(name))
    data.action_slot = data.action.slots[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = FPS
    bpy.ops.import_scene.gltf(filepath=str(folder / "body.glb"))
    skin = max((o for o in bpy.data.objects if o.type == "MESH"), key=lambda o: len(o.data.vertices))
    armature = next(o for o in bpy.data.objects if o.type == "ARMATURE")

    worst = 0.0
    for clip in ["exercise", "walk"]:
        bundle = np.load(folder / f"body_{clip}.npz")
        poses = len(bundle["pose_matrices"])
        times = bundle["frame_times"] if "frame_times" in bundle else np.arange(poses) / POSES_PER_SECOND
        play(armature, clip)
        largest = 0.0
        for time, expected in zip(times, linear_blend(bundle)):
            positions = shown(skin, float(time) * FPS)
            if positions.shape != expected.shape:
                sys.exit(f"{clip}: Blender shows {len(positions)} vertices, the bundle has {len(expected)}")
            largest = max(largest, np.linalg.norm(positions - expected, axis=1).max())
        print(f"{clip}: {poses} poses, Blender's skin is within {largest * 1000:.4f} mm of the bundle's weights")
        worst = max(worst, largest)
    if not worst < TOLERANCE:
        sys.exit(f"more than {TOLERANCE * 1000} mm apart")


if __name__ == "__main__":
    main()
