#!/usr/bin/env python3
"""Check the curves of `dermis animate` against Blender's F-curves.

    python tools/check_motion_keys.py DERMIS FOLDER

DERMIS is the program; FOLDER is made and filled. It needs a Python that can import bpy and NumPy. The same keys, drawn at random,
become F-curves of an object in Blender and curves of a scene: constant, linear and Bézier with free handles, of which some overlap,
extrapolated by a held value, by a slope and by cycles; and Euler angles in six orders. Positions and matrices must agree to
1e-6, in metres for values of about one.
"""
import json
import random
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
from mathutils import Euler

RATE = 24.0
TOLERANCE = 1e-6
ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
EASE = {"step": "CONSTANT", "linear": "LINEAR", "bezier": "BEZIER"}


def drawn_keys(chance, size, ease):
    """Keys on uneven frames; handles of Bézier keys reach beyond their neighbours now and then."""
    keys, frame = [], 0
    for at in range(chance.randint(3, 6)):
        value = chance.uniform(-size, size)
        frame += chance.randint(2, 12) if at else 0
        left = [frame - chance.uniform(0.0, 9.0), value + chance.uniform(-size, size)]
        right = [frame + chance.uniform(0.0, 9.0), value + chance.uniform(-size, size)]
        name = ease or chance.choice(list(EASE))
        keys.append({"frame": float(np.float32(frame)), "value": float(np.float32(value)), "ease": name,
                     "left": [float(np.float32(x)) for x in left], "right": [float(np.float32(x)) for x in right]})
    return keys


def in_blender(curve, keys, beyond):
    curve.keyframe_points.add(len(keys))
    for point, key in zip(curve.keyframe_points, keys):
        point.co = (key["frame"], key["value"])
        point.interpolation = EASE[key["ease"]]
        point.handle_left_type = point.handle_right_type = "FREE"
        point.handle_left, point.handle_right = key["left"], key["right"]
    curve.extrapolation = "LINEAR" if beyond == "linear" else "CONSTANT"
    if beyond.startswith(("cycle", "mirror")):
        modifier = curve.modifiers.new("CYCLES")
        mode = {"cycle": "REPEAT", "cycle-offset": "REPEAT_OFFSET", "mirror": "MIRROR"}[beyond]
        modifier.mode_before = modifier.mode_after = mode
    # No update: it would move handles that overlap, which evaluation corrects by itself.


def in_scene(keys, beyond):
    point = lambda p: [p[0] / RATE, p[1]]
    written = [{"t": k["frame"] / RATE, "v": k["value"], "ease": k["ease"], "left": point(k["left"]), "right": point(k["right"])}
               for k in keys]
    return {"keys": written, "before": beyond, "after": beyond}


def fcurves(name, count, path):
    """Empty F-curves of an action."""
    action = bpy.data.actions.new(name)
    if hasattr(action, "fcurves"):
        return [action.fcurves.new(path, index=i) for i in range(count)]
    slot = action.slots.new("OBJECT", name)
    bag = action.layers.new("layer").strips.new(type="KEYFRAME").channelbag(slot, ensure=True)
    return [bag.fcurves.new(path, index=i) for i in range(count)]


def main(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    chance = random.Random(11)
    beyonds = ["hold", "linear", "cycle", "cycle-offset", "mirror"]
    moves = [(beyond, ease) for beyond in beyonds for ease in ("step", "linear", "bezier", "bezier", None)]
    names = [f"move {i}" for i in range(len(moves))] + [f"turn {order}" for order in ORDERS]
    bones, frames = {}, list(range(-30, 91))
    truth = np.zeros((len(frames), len(names), 3))
    turned = np.zeros((len(frames), len(ORDERS), 3, 3))
    largest = np.zeros(len(ORDERS))
    for at, (beyond, ease) in enumerate(moves):
        curves = [drawn_keys(chance, 1.0, ease) for _ in range(3)]
        channels = fcurves(names[at], 3, "location")
        for channel, keys in zip(channels, curves):
            in_blender(channel, keys, beyond)
        for row, frame in enumerate(frames):
            truth[row, at] = [channel.evaluate(frame) for channel in channels]
        bones[names[at]] = {"shift": [in_scene(keys, beyond) for keys in curves]}
    for at, order in enumerate(ORDERS):
        # Radians in Blender, degrees in the scene.
        curves = [drawn_keys(chance, 2.0, "bezier") for _ in range(3)]
        channels = fcurves(f"turn {order}", 3, "rotation_euler")
        for channel, keys in zip(channels, curves):
            in_blender(channel, keys, "hold")
        for row, frame in enumerate(frames):
            angles = [channel.evaluate(frame) for channel in channels]
            turned[row, at] = Euler(angles, order).to_matrix()
            largest[at] = max(largest[at], np.abs(angles).sum())
        degrees = [[{**k, "value": np.degrees(k["value"]), "left": [k["left"][0], np.degrees(k["left"][1])],
                     "right": [k["right"][0], np.degrees(k["right"][1])]} for k in keys] for keys in curves]
        bones[f"turn {order}"] = {"turn": {"euler": [in_scene(keys, "hold") for keys in degrees], "order": order}}
    count = len(names)
    np.savez(folder / "rig.npz", rest_vertices=np.eye(3, dtype=np.float32), faces=np.array([[0, 1, 2]], np.int32),
             bone_names=np.array(names), bone_parents=np.full(count, -1, np.int32),
             bind_matrices=np.tile(np.eye(4, dtype=np.float32), (count, 1, 1)), up_axis=np.array("Y"), units=np.array("metres"))
    scene = {"rig": "rig.npz", "time": {"from": frames[0] / RATE, "to": frames[-1] / RATE, "rate": RATE}, "bones": bones}
    (folder / "scene.json").write_text(json.dumps(scene))
    subprocess.run([program, "animate", folder / "scene.json", "-o", folder / "motion.npz", "--force", "--quiet"], check=True)
    with np.load(folder / "motion.npz") as bundle:
        poses = bundle["pose_matrices"].astype(float)
    assert len(poses) == len(frames), f"{len(poses)} frames, not {len(frames)}"
    worst = []
    for at, (beyond, ease) in enumerate(moves):
        error = np.abs(poses[:, at, :3, 3] - truth[:, at]).max(axis=1)
        # Values that cycles add up are larger than one; what 32 bits hold of them is coarser.
        scale = max(1.0, np.abs(truth[:, at]).max())
        worst.append((error.max() / scale, f"{beyond}, {ease or 'mixed'}, frame {frames[error.argmax()]}"))
    for at, order in enumerate(ORDERS):
        error = np.abs(poses[:, len(moves) + at, :3, :3] - turned[:, at]).max(axis=(1, 2))
        # A matrix is off by at most the sum of what its angles are off, and they reach beyond one.
        scale = max(1.0, largest[at])
        worst.append((error.max() / scale, f"Euler angles {order}, frame {frames[error.argmax()]}"))
    worst.sort(reverse=True)
    for error, what in worst[:5]:
        print(f"{error:.1e}  {what}")
    print(f"{len(moves)} moves and {len(ORDERS)} orders of {len(frames)} frames, Blender {bpy.app.version_string}")
    return 0 if worst[0][0] <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])) if len(sys.argv) == 3 else __doc__)
