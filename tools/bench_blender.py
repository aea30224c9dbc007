"""What the add-on costs in Blender: milliseconds per frame of Live, and seconds from the strength slider to the new skin.

    python tools/bench_blender.py [--frames 60]

In a Python that imports bpy, NumPy and dermis. The bundled body plays its walk; the model is fitted to the exercise. Every line is
measured in this run, and each way to show a frame is measured in turn, frame by frame, so that they share whatever else the
machine does. Medians of processor time are printed.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

import bpy
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "blender"))

import dermis_blender  # noqa: E402
from dermis_blender import character, examples, fitting, live  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="What the add-on costs in Blender")
    parser.add_argument("--frames", type=int, default=60)
    frames = parser.parse_args().frames
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dermis_blender.register()
    bpy.ops.import_scene.gltf(filepath=str(ROOT / "assets/body/body.glb"))
    body = next(o for o in bpy.data.objects if o.type == "MESH" and len(o.data.vertices) > 1000)
    for thing in bpy.context.view_layer.objects:
        thing.select_set(thing == body)
    bpy.context.view_layer.objects.active = body
    bpy.ops.dermis.set_up()
    learn(body)
    examples.set_action(character.armature(body), bpy.data.actions["walk"])
    print(f"Blender {bpy.app.version_string}, {len(body.data.vertices)} vertices, {len(character.armature(body).data.bones)} bones")
    strength(body)
    ways(body, frames)


def learn(body):
    """The exercise with the skins that the bundle holds."""
    with np.load(ROOT / "assets/body/body_exercise.npz") as bundle:
        skins, poses, labels = bundle["vertices"], bundle["pose_matrices"], bundle["pose_labels"]
        up, names = str(bundle["up_axis"]).lower(), [str(name) for name in bundle["bone_names"]]
    turn = np.eye(4) if up == "z" else np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    own = character.armature(body).data.bones.keys()
    order = [names.index(name) for name in own]
    rest = character.reading.rest_matrices(character.armature(body))
    with np.load(ROOT / "assets/body/body_exercise.npz") as bundle:
        binds = turn @ bundle["bind_matrices"][order]
    # The importer turns bones along their children; what a pose does to the skin stays.
    place = character.place(body)
    for pose, skin, label in zip(turn @ poses[:, order], skins @ turn[:3, :3].T, labels, strict=True):
        moved = pose @ np.linalg.inv(binds) @ (place @ rest)
        examples.add_shape(body, str(label), moved, skin)


def strength(body):
    """From the slider to the skin."""
    for method in ("JOINT", "MWE"):
        body.dermis.method = method
        bpy.ops.dermis.fit()
        if method == "JOINT":
            kept = (bytes(body.dermis["model_bytes"]), body.dermis.model, body.dermis.headline)
        body.dermis.live = True
        seconds = []
        for value in (0.5, 1.0, -0.5):
            body.dermis.strength = value
            start = time.perf_counter()
            bpy.ops.dermis.apply_strength()
            bpy.context.view_layer.update()
            seconds.append(time.perf_counter() - start)
        body.dermis.strength = 0.0
        body.dermis.live = False
        count = len(body.dermis.examples)
        print(f"strength slider to new skin, {method.lower()}, {count} examples: {statistics.median(seconds):.2f} s")
    fitting.store.put_bytes(body.dermis, "model_bytes", kept[0])
    body.dermis.model, body.dermis.headline = kept[1:]


def ways(body, frames):
    """Ways to show a frame, in turn."""
    first, last = (int(x) for x in bpy.data.actions["walk"].frame_range)
    names = ("armature alone", "live, correction", "live, replace")
    found = {name: [] for name in names}
    for name in names:
        body.dermis.live = False
        if name != names[0]:
            body.dermis.mode = "CORRECTION" if name.endswith("correction") else "REPLACE"
            body.dermis.live = True
            assert not live.state(body).failed, live.state(body).failed
        for at in range(frames):
            start = time.process_time()
            bpy.context.scene.frame_set(first + at % max(1, last - first), subframe=0.01 * (at % 7))
            bpy.context.view_layer.update()
            found[name].append(1e3 * (time.process_time() - start))
    alone = statistics.median(found[names[0]])
    for name in names:
        each = statistics.median(found[name])
        print(f"{name:18} {each:6.2f} ms a frame" + ("" if name == names[0] else f", {each - alone:5.2f} ms more"))


main()
# Blender's own clean-up of a module that was given handlers takes for ever.
sys.stdout.flush()
os._exit(0)
