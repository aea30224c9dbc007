# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a scene holds, an operator ends in a message that says what to do, and leaves the scene as it was."""

import time

import bpy
import numpy as np
import pytest

from conftest import bent_arm, bulge, select
from dermis_blender import character, examples, live, reading, store


def refused(text):
    return pytest.raises(RuntimeError, match=text)


def sculpt(thing, frame, height=0.05):
    bpy.context.scene.frame_set(frame)
    select(thing)
    bpy.ops.dermis.sculpt_here(label=f"bend {frame}")
    made = bpy.context.active_object
    bpy.ops.object.mode_set(mode="OBJECT")
    moved = bulge(np.array([v.co for v in made.data.vertices]), height=height)
    made.data.vertices.foreach_set("co", moved.astype(np.float32).ravel())
    assert bpy.ops.dermis.take_sculpt() == {"FINISHED"}


def test_no_armature(scene):
    bpy.ops.mesh.primitive_cube_add()
    with refused("no Armature modifier"):
        bpy.ops.dermis.set_up()


def test_several_armatures(scene):
    arm, rig = bent_arm()
    other = bpy.data.objects.new("other", rig.data.copy())
    scene.collection.objects.link(other)
    arm.modifiers.new("Second", "ARMATURE").object = other
    with refused("several armatures"):
        bpy.ops.dermis.set_up()
    assert not arm.dermis.is_set_up


@pytest.mark.parametrize("scale", [(1.0, 1.0, -1.0), (1.0, 2.0, 1.0), (0.0, 0.0, 0.0)])
def test_scales_that_are_not_read(scene, scale):
    _, rig = bent_arm()
    rig.scale = scale
    bpy.context.view_layer.update()
    with refused("unevenly or mirrored|has no size"):
        bpy.ops.dermis.set_up()


def test_a_mirrored_mesh(scene):
    arm, _ = bent_arm()
    arm.scale = (-1.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    with refused("mirrored against"):
        bpy.ops.dermis.set_up()


def test_an_even_scale_and_an_unit_of_centimetres_are_read(scene, tmp_path):
    arm, rig = bent_arm()
    rig.scale, rig.location, rig.rotation_euler = (80.0,) * 3, (3.0, -2.0, 1.0), (0.3, 0.2, 0.1)
    scene.unit_settings.scale_length = 0.01
    bpy.context.view_layer.update()
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    sculpt(arm, 20)
    scene.frame_set(20)
    wanted = examples.read(arm)[0].skin
    assert np.ptp(wanted[:, 2]) < 2.0
    assert bpy.ops.dermis.fit() == {"FINISHED"}
    for mode in ("CORRECTION", "REPLACE"):
        arm.dermis.mode, arm.dermis.live = mode, True
        assert np.abs(reading.skin(arm, character.place(arm)) - wanted).max() < 5e-6
        arm.dermis.live = False


@pytest.mark.parametrize("kind", ["SUBSURF", "DECIMATE", "MIRROR", "WELD"])
def test_modifiers_that_change_vertices(arm, kind):
    modifier = arm.modifiers.new("bad", kind)
    if kind == "DECIMATE":
        modifier.ratio = 0.5
    if kind == "WELD":
        modifier.merge_threshold = 0.5
    for operator in (bpy.ops.dermis.add_pose, bpy.ops.dermis.sculpt_here, bpy.ops.dermis.set_up):
        with refused("add, remove or reorder"):
            operator()
    bpy.ops.dermis.add_clip(label="c")
    with refused("add, remove or reorder"):
        bpy.ops.dermis.fit()
    assert not len(bpy.data.objects["arm"].data.attributes.get(reading.PROBE) or ())


def test_vertices_that_are_sorted_anew(arm):
    group = bpy.data.node_groups.new("sort", "GeometryNodeTree")
    group.is_modifier = True
    group.interface.new_socket(name="Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket(name="Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    come, go = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    sort = group.nodes.new("GeometryNodeSortElements")
    position = group.nodes.new("GeometryNodeInputPosition")
    group.links.new(come.outputs[0], sort.inputs["Geometry"])
    group.links.new(position.outputs[0], sort.inputs["Sort Weight"])
    group.links.new(sort.outputs[0], go.inputs[0])
    arm.modifiers.new("sort", "NODES").node_group = group
    with refused("add, remove or reorder"):
        bpy.ops.dermis.add_pose()


def test_missing_weights(scene):
    arm, _ = bent_arm()
    for group in arm.vertex_groups:
        group.remove([0, 1, 2])
    with refused("3 vertices have no weight"):
        bpy.ops.dermis.set_up()
    arm.vertex_groups.clear()
    with refused("No vertex group"):
        bpy.ops.dermis.set_up()


def test_a_mesh_that_was_edited_after_its_examples(arm):
    sculpt(arm, 20)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")
    for operator in (bpy.ops.dermis.fit, bpy.ops.dermis.add_pose):
        with refused("vertices when it was set up"):
            operator()
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    with refused("bend 20 has .* vertices"):
        bpy.ops.dermis.fit()
    assert bpy.ops.dermis.remove_example() == {"FINISHED"}


def test_bones_and_groups_that_were_renamed(arm):
    sculpt(arm, 20)
    rig = character.armature(arm)
    rig.data.bones["lower"].name = "forearm"
    with refused("lower is missing"):
        bpy.ops.dermis.fit()
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    arm.vertex_groups["forearm"].name = "lost"
    with refused("no weight of any bone"):
        bpy.ops.dermis.fit()


def test_another_rest_pose(arm):
    sculpt(arm, 20)
    bpy.ops.dermis.fit()
    rig = character.armature(arm)
    select(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["lower"].tail.x += 0.5
    bpy.ops.object.mode_set(mode="OBJECT")
    select(arm)
    with refused("another rest pose"):
        bpy.ops.dermis.fit()


def test_nothing_to_learn_from(arm):
    with refused("nothing to learn from"):
        bpy.ops.dermis.fit()
    sculpt(arm, 20)
    arm.dermis.examples[0].use = "CHECK"
    with refused("nothing to learn from"):
        bpy.ops.dermis.fit()
    for operator in (bpy.ops.dermis.suggest, bpy.ops.dermis.save_model, bpy.ops.dermis.bake_shapes, bpy.ops.dermis.show_error):
        with refused("no model yet"):
            operator()
    with refused("There is no report"):
        bpy.ops.dermis.report()


def test_a_skin_that_is_not_finite(arm):
    sculpt(arm, 20)
    arm.dermis.examples[0].mesh.vertices[3].co.x = float("nan")
    with refused("finite"):
        bpy.ops.dermis.fit()


def test_a_sculpt_with_other_vertices(arm):
    select(arm)
    bpy.ops.dermis.sculpt_here()
    made = bpy.context.active_object
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")
    with refused("The sculpt has .* vertices"):
        bpy.ops.dermis.take_sculpt()
    assert made.name in bpy.data.objects and not len(arm.dermis.examples)


def test_two_characters_of_one_file_do_not_mix(arm):
    sculpt(arm, 20)
    bpy.ops.dermis.fit()
    arm.dermis.live = True
    second, rig = bent_arm()
    rig.location.x = 3.0
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    sculpt(second, 20, height=0.2)
    bpy.ops.dermis.fit()
    second.dermis.live = True
    bpy.context.scene.frame_set(20)
    for thing in (arm, second):
        wanted = examples.read(thing)[0].skin
        assert live.state(thing).failed == ""
        assert np.abs(reading.skin(thing, character.place(thing)) - wanted).max() < 5e-6
    assert np.abs(examples.read(arm)[0].skin - examples.read(second)[0].skin).max() > 0.01


def test_no_handler_raises(arm, capfd):
    sculpt(arm, 20)
    bpy.ops.dermis.fit()
    arm.dermis.live = True
    store.put_bytes(arm.dermis, "model_bytes", b"damaged")
    arm.dermis.model = "other"
    live.refresh(arm)
    assert "cannot be read" in live.state(arm).failed
    bpy.context.scene.frame_set(3)
    bpy.data.objects.remove(character.armature(arm))
    for frame in (4, 5):
        bpy.context.scene.frame_set(frame)
    live._restart()
    assert live.state(arm).failed
    bpy.context.scene.frame_set(6)
    bpy.data.objects.remove(arm)
    bpy.context.scene.frame_set(7)
    assert "Traceback" not in capfd.readouterr().err


def test_a_carrier_that_was_deleted(arm):
    sculpt(arm, 20)
    bpy.ops.dermis.fit()
    arm.dermis.live = True
    bpy.data.objects.remove(live.state(arm).carrier)
    for frame in (2, 20):
        bpy.context.scene.frame_set(frame)
    assert live.state(arm).failed
    arm.dermis.live = False
    arm.dermis.live = True
    bpy.context.scene.frame_set(20)
    assert live.state(arm).failed == ""
    assert np.abs(reading.skin(arm, character.place(arm)) - examples.read(arm)[0].skin).max() < 5e-6


def test_linked_data_is_refused(arm, tmp_path):
    sculpt(arm, 20)
    bpy.ops.dermis.fit()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, target):
        target.objects = ["arm", "rig"]
    for thing in target.objects:
        bpy.context.scene.collection.objects.link(thing)
    arm = target.objects[0]
    select(arm)
    for operator in (bpy.ops.dermis.set_up, bpy.ops.dermis.fit, bpy.ops.dermis.bake_shapes):
        with refused("linked"):
            operator()


def test_undo_after_a_fit_brings_the_model_before_back(arm):
    sculpt(arm, 20)
    bpy.ops.dermis.fit()
    bpy.ops.ed.undo_push(message="first")
    first = arm.dermis.model
    arm.dermis.live = True
    sculpt(arm, 10, height=0.1)
    bpy.ops.dermis.fit()
    bpy.ops.ed.undo_push(message="second")
    assert bpy.data.objects["arm"].dermis.model != first
    bpy.ops.ed.undo()
    arm = bpy.data.objects["arm"]
    assert arm.dermis.model == first and len(arm.dermis.examples) == 1
    assert live.model_of(arm).method == "psd"


def test_constraints_and_drivers_on_bones_are_read_as_they_are_shown(arm):
    rig = character.armature(arm)
    rig.animation_data.action = None
    target = bpy.data.objects.new("target", None)
    bpy.context.scene.collection.objects.link(target)
    target.rotation_euler = (0.9, 0.0, 0.0)
    follow = rig.pose.bones["lower"].constraints.new("COPY_ROTATION")
    follow.target = target
    curve = rig.pose.bones["upper"].driver_add("location", 1)
    curve.driver.expression = "0.2"
    bpy.context.view_layer.update()
    sculpt(arm, 1)
    one = examples.read(arm)[0]
    assert bpy.ops.dermis.fit() == {"FINISHED"}
    arm.dermis.live = True
    bpy.context.view_layer.update()
    assert np.abs(reading.skin(arm, character.place(arm)) - one.skin).max() < 5e-6
    # Its pose cannot be given back to bones that something holds: said, and nothing is changed.
    target.rotation_euler = (0.1, 0.0, 0.0)
    bpy.context.view_layer.update()
    rig.pose.bones["lower"].rotation_euler = (0.3, 0.2, 0.1)
    before = examples.basis_of(rig)
    with refused("constraints or drivers hold its bones"):
        bpy.ops.dermis.invert_shape()
    assert arm.data.shape_keys is None and arm.dermis.live and np.abs(examples.basis_of(rig) - before).max() < 1e-6


def test_undo_in_the_middle_of_a_job(arm):
    from dermis_blender import fitting

    sculpt(arm, 20)
    bpy.ops.ed.undo_push(message="one")
    sculpt(arm, 10)
    bpy.ops.ed.undo_push(message="two")
    gathered = fitting.gather(arm)
    found = fitting.fitted(gathered, None)
    bpy.ops.ed.undo()
    arm = bpy.data.objects["arm"]
    assert len(arm.dermis.examples) == 1
    fitting.put(arm, gathered, found)
    arm.dermis.live = True
    bpy.context.scene.frame_set(20)
    assert live.state(arm).failed == "" and arm.dermis.examples[0].error >= 0.0


def test_a_job_whose_window_is_closed_stops_and_holds_nothing_up():
    import dermis
    from dermis_blender import fitting, jobs

    def endless(progress):
        while True:
            progress("waiting", 0.0)
            time.sleep(0.001)

    jobs._job = job = dermis.Job(endless)
    end = time.monotonic() + 10.0
    while not job.step and time.monotonic() < end:
        time.sleep(0.001)
    assert job.step == "waiting" and jobs.running() is job
    fitting.DERMIS_OT_fit.cancel(None, bpy.context)
    assert jobs.running() is None
    with pytest.raises(dermis.Stopped):
        job.result(timeout=10.0)
