# SPDX-License-Identifier: GPL-3.0-or-later
"""The live skin is the skin of the model, wherever a file goes: compared with `dermis pose` through files."""

import bpy
import dermis
import numpy as np
import pytest

from conftest import bulge, select
from dermis_blender import bundles, character, live, reading


def shown(thing):
    """The vertices that the viewport shows, in metres."""
    return reading.skin(thing, character.place(thing)).copy()


def posed_by_files(thing, frames, folder):
    """The skins of `dermis pose`, from the saved model and a bundle of the poses."""
    rig, place = character.armature(thing), character.place(thing)
    poses = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        poses.append(reading.pose_matrices(rig, place))
    assert bpy.ops.dermis.save_model(filepath=str(folder / "m.dermis")) == {"FINISHED"}
    bundle = bundles.bundle(thing, [])
    labels = [str(frame) for frame in frames]
    np.savez(folder / "motion.npz", **bundle, pose_labels=labels, pose_matrices=np.array(poses))
    dermis.pose(str(folder / "m.dermis"), str(folder / "motion.npz"), str(folder / "skins.npz"), replace=True)
    return np.load(folder / "skins.npz")["vertices"]


def agree(thing, frames, wanted):
    rest = reading.points(reading.to_place(thing, character.armature(thing), character.place(thing)), reading.rest_positions(thing.data))
    diagonal = np.linalg.norm(np.ptp(rest, axis=0))
    for frame, skin in zip(frames, wanted, strict=True):
        bpy.context.scene.frame_set(frame)
        error = np.abs(shown(thing) - skin).max() / diagonal
        assert error < 1e-6, f"frame {frame}: {error:.2e} of the diagonal"


def sculpted(thing, frames=(12, 20)):
    """Sculpts bulges into frames, and fits."""
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        select(thing)
        assert bpy.ops.dermis.sculpt_here(label=f"bend {frame}") == {"FINISHED"}
        sculpt = bpy.context.active_object
        bpy.ops.object.mode_set(mode="OBJECT")
        moved = bulge(np.array([v.co for v in sculpt.data.vertices]), height=0.002 * frame)
        sculpt.data.vertices.foreach_set("co", moved.astype(np.float32).ravel())
        assert bpy.ops.dermis.take_sculpt() == {"FINISHED"}
    assert bpy.ops.dermis.fit() == {"FINISHED"}


@pytest.mark.parametrize("mode", ["CORRECTION", "REPLACE"])
def test_live_is_the_pose_of_the_program(arm, tmp_path, mode):
    sculpted(arm)
    frames = range(1, 21)
    wanted = posed_by_files(arm, frames, tmp_path)
    arm.dermis.mode = mode
    arm.dermis.live = True
    assert live.state(arm).failed == ""
    agree(arm, frames, wanted)
    # The model shows more than the armature alone.
    with live.hidden(arm):
        assert np.abs(shown(arm) - wanted[-1]).max() > 0.01
    # Saved and read again, elsewhere than where the armature stood, and after undo.
    character.armature(arm).location = (3.0, -2.0, 0.5)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    agree(arm, frames, wanted)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "saved.blend"))
    arm = bpy.data.objects["arm"]
    assert arm.modifiers[live.MODIFIER].show_viewport
    agree(arm, frames, wanted)
    bpy.ops.ed.undo_push(message="before")
    select(arm)
    bpy.ops.object.shade_smooth()
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    agree(bpy.data.objects["arm"], frames, wanted)


def test_a_file_without_the_add_on_shows_what_the_other_modifiers_make(arm, tmp_path, add_on):
    sculpted(arm)
    bpy.context.scene.frame_set(20)
    with live.hidden(arm):
        plain = shown(arm)
    arm.dermis.live = True
    assert np.abs(shown(arm) - plain).max() > 0.01
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    assert np.abs(shown(arm) - plain).max() > 0.01
    place = character.place(arm)
    add_on.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "saved.blend"))
        assert np.abs(reading.skin(bpy.data.objects["arm"], place) - plain).max() < 1e-7
    finally:
        add_on.register()


def test_live_on_a_library_override(arm, tmp_path):
    sculpted(arm)
    frames = range(1, 21)
    wanted = posed_by_files(arm, frames, tmp_path)
    collection = bpy.data.collections.new("hero")
    bpy.context.scene.collection.children.link(collection)
    for thing in (arm, character.armature(arm)):
        collection.objects.link(thing)
    arm.dermis.live = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (source, target):
        target.collections = ["hero"]
    linked = target.collections[0]
    bpy.context.scene.collection.children.link(linked)
    made = linked.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    own = next(o for o in made.all_objects if o.type == "MESH")
    assert own.override_library is not None
    own.dermis.live = False
    own.dermis.live = True
    assert live.state(own).failed == ""
    agree(own, frames, wanted)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    agree(next(o for o in bpy.data.objects if o.name == own_name(tmp_path)), frames, wanted)


def own_name(_folder):
    return next(o.name for o in bpy.data.objects if o.type == "MESH" and o.override_library is not None)


def taught(thing, folder):
    """A model of the armature's weights alone with springs, from two clips that swing, in a file."""
    rng = np.random.default_rng(3)
    frames, rate = range(1, 21), bpy.context.scene.render.fps
    base = bundles.bundle(thing, [])
    rig, place = character.armature(thing), character.place(thing)
    still = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        still.append(reading.pose_matrices(rig, place))
    np.savez(folder / "rig.npz", **base, pose_labels=["1"], pose_matrices=np.array(still[:1]))
    plain = folder / "plain.dermis"
    examples = np.array(still)
    np.savez(folder / "bend.npz", **base, pose_labels=[str(f) for f in frames], pose_matrices=examples)
    fit = {"rig": {"file": str(folder / "rig.npz")}, "folds": 0, "method": "own-weights"}
    clips = []
    for number in range(2):
        # The limb is shaken, and every vertex lags behind by what a spring of 3 Hz does.
        times = np.arange(60) / rate
        waves = [(rng.normal(size=3) * 0.04, 4.0 * (k + 1), rng.uniform(0, 6)) for k in range(3)]
        moves = sum(way * np.sin(pace * times + at)[:, None] for way, pace, at in waves)
        poses = np.repeat(examples[:1], len(times), axis=0).copy()
        poses[:, :, :3, 3] += moves[:, None]
        skins = np.asarray(base["rest_vertices"])[None] + moves[:, None]
        offset, speed = np.zeros(3), np.zeros(3)
        omega, damping = 2 * np.pi * 3.0, 0.2
        for at in range(1, len(times)):
            if at > 1:
                speed = speed - (moves[at] - 2 * moves[at - 1] + moves[at - 2]) * rate
            for _ in range(200):
                h = 1 / rate / 200
                speed = speed - h * (omega**2 * offset + 2 * damping * omega * speed)
                offset = offset + h * speed
            skins[at] += offset
        name = folder / f"shake{number}.npz"
        np.savez(name, **base, pose_labels=[f"{number} {n}" for n in range(len(times))], pose_matrices=poses, frame_times=times, vertices=skins)
        clips.append({"file": str(name)})
    learn = {**fit, "examples": {"held": [clips[0]]}, "secondary-from": clips, "outputs": {"model": str(plain), "existing": "replace"}}
    said = dermis.run({"fit": learn})
    assert said["secondary"]["kept"], said["secondary"]
    return plain


@pytest.mark.parametrize("mode", ["CORRECTION", "REPLACE"])
def test_a_model_that_has_learnt_to_swing_swings_from_frame_to_frame(arm, tmp_path, mode):
    model = taught(arm, tmp_path)
    select(arm)
    assert bpy.ops.dermis.open_model(filepath=str(model)) == {"FINISHED"}
    arm.dermis.mode = mode
    arm.dermis.live = True
    assert live.state(arm).failed == ""
    rig, place, scene = character.armature(arm), character.place(arm), bpy.context.scene
    # The armature itself is carried, and jolts: the world is what skin lags behind.
    for frame, height in [(1, 0.0), (6, 0.0), (8, 0.5), (20, 0.5)]:
        rig.location.z = height
        rig.keyframe_insert("location", frame=frame)
    frames = range(1, 21)
    poses, worlds, still, swinging = [], [], [], []
    for frame in frames:
        scene.frame_set(frame)
        swinging.append(shown(arm))
        worlds.append(np.array(rig.matrix_world))
        poses.append(reading.pose_matrices(rig, place))
    for frame in reversed(frames):
        # Backwards no frame follows the one before it.
        scene.frame_set(frame)
        still.insert(0, shown(arm))
    lag = [float(np.abs(a - b).max()) for a, b in zip(swinging, still)]
    assert lag[0] == 0.0 and max(lag) > 0.1, lag
    # What the program makes of the same motion in the world.
    carried = [world @ np.linalg.inv(worlds[0]) for world in worlds]
    base = bundles.bundle(arm, [])
    np.savez(
        tmp_path / "motion.npz", **base, pose_labels=[str(f) for f in frames],
        pose_matrices=np.array([c @ p for c, p in zip(carried, poses)]), frame_times=(np.arange(20) / scene.render.fps),
    )
    dermis.pose(str(model), str(tmp_path / "motion.npz"), str(tmp_path / "skins.npz"), replace=True)
    wanted = np.load(tmp_path / "skins.npz")["vertices"]
    for found, skin, move in zip(swinging, wanted, carried):
        back = reading.points(np.linalg.inv(move), skin.astype(np.float64))
        assert np.abs(found - back).max() < 2e-4
    # A jump to a frame, and a pose that a person changes, show the skin at rest.
    scene.frame_set(2)
    scene.frame_set(15)
    assert np.abs(shown(arm) - still[14]).max() < 1e-6


def test_a_model_of_another_character_is_not_opened(arm, body, tmp_path):
    model = tmp_path / "words.dermis"
    model.write_text("these are words")
    select(body)
    with pytest.raises(RuntimeError, match="words.dermis cannot be read"):
        bpy.ops.dermis.open_model(filepath=str(model))
