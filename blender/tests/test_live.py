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
