"""What the add-on costs in Blender: milliseconds per frame of Live, and seconds from the strength slider to the new skin.

    python tools/bench_blender.py [--frames 60]
    python tools/bench_blender.py --sculpts        # the error on a walk that is never sculpted, after 3, 4 and 6 sculpts

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
import traceback

import bpy
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "blender"), str(ROOT / "tools")]

import blender_body  # noqa: E402
import dermis_blender  # noqa: E402
from blender_body import play  # noqa: E402
from dermis_blender import character, examples, fitting, live  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="What the add-on costs in Blender, and what sculpts are worth")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--sculpts", action="store_true", help="the error on the walk after 3, 4 and 6 sculpts, instead")
    options = parser.parse_args()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dermis_blender.register()
    body, rig = blender_body.character()
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    print(f"Blender {bpy.app.version_string}, {len(body.data.vertices)} vertices, {len(rig.data.bones)} bones")
    if options.sculpts:
        sculpts(body, rig)
        return
    play(rig, "exercise")
    truth = blender_body.scan(body, "exercise")
    truth.select_set(True)
    last = bpy.context.scene.frame_end
    bpy.ops.dermis.add_clip(label="exercise", start=0, end=last, step=blender_body.APART["exercise"])
    truth.hide_set(True)
    strength(body)
    play(rig, "walk")
    ways(body, options.frames)


def sculpts(body, rig):
    """The loop of the enveloping paper: three sculpts, then those that Suggest Next asks for; the walk is never sculpted."""
    labels, skins = blender_body.skins("exercise")
    truth = blender_body.scan(body, "walk")
    play(rig, "walk")
    truth.select_set(True)
    bpy.ops.dermis.add_clip(label="walk", start=0, end=88, step=8)
    body.dermis.examples[0].use = "CHECK"
    truth.hide_set(True)
    play(rig, "exercise")
    place = character.place(body)
    alone = []
    for one in examples.read(body, uses=("CHECK",)):
        arrays = character.reading.rig_arrays(body, place)
        moves = one.pose @ np.linalg.inv(arrays["bind_matrices"])
        rest = np.pad(arrays["rest_vertices"], ((0, 0), (0, 1)), constant_values=1.0)
        blended = np.einsum("vij,vj->vi", np.tensordot(arrays["weights"], moves, 1), rest)[:, :3]
        alone.append(((blended - one.skin) ** 2).sum(axis=1).mean())
    print(f"the rig's own weights: {1e3 * np.sqrt(np.mean(alone)):.3g} mm rms on the walk")
    taken = [labels.index(name) for name in ("elbow left, look left", "arms side", "squat")]
    for at in taken:
        sculpt(body, at, labels, skins)
    while True:
        if len(taken) in (3, 4, 6):
            for method in ("AUTO", "JOINT", "CORRECTIVES"):
                body.dermis.method = method
                assert bpy.ops.dermis.fit() == {"FINISHED"}
                names = "; ".join(labels[at] for at in taken)
                print(f"{len(taken)} sculpts ({names}), {body.dermis.fitted_by.lower()}: {body.dermis.headline}", flush=True)
            body.dermis.method = "AUTO"
        if len(taken) == 6:
            return
        assert bpy.ops.dermis.fit() == {"FINISHED"}
        assert bpy.ops.dermis.suggest(count=6, step=blender_body.APART["exercise"]) == {"FINISHED"}
        frames = [item.frame // blender_body.APART["exercise"] for item in body.dermis.suggested]
        taken.append(next(at for at in frames if at not in taken))
        sculpt(body, taken[-1], labels, skins)


def sculpt(body, at, labels, skins):
    """One sculpt, by the buttons."""
    blender_body.select(body)
    bpy.context.scene.frame_set(at * blender_body.APART["exercise"])
    bpy.ops.dermis.sculpt_here(label=labels[at])
    blender_body.sculpt_truth(skins[at])
    assert bpy.ops.dermis.take_sculpt() == {"FINISHED"}


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
        print(f"strength slider to new skin, {method.lower()}: {statistics.median(seconds):.2f} s")
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


ended = 1
try:
    main()
    ended = 0
finally:
    # Blender's own clean-up of a module that was given handlers takes for ever.
    if ended:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(ended)
