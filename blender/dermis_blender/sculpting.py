# SPDX-License-Identifier: GPL-3.0-or-later
"""Sculpts: a posed copy of the skin to sculpt on, which becomes an example."""

import bpy
import numpy as np
from bpy.props import BoolProperty, StringProperty

from . import character, examples, reading, store
from .examples import OfCharacter
from .reading import Unreadable


def sculpts_of(thing):
    """The sculpts of a character that are not taken yet."""
    return [o for o in bpy.context.scene.objects if o.dermis_sculpt.character == thing]


class DERMIS_OT_sculpt_here(OfCharacter, bpy.types.Operator):
    """Copy the skin as it is shown, with the model if it is live, and sculpt on the copy"""

    bl_idname = "dermis.sculpt_here"
    bl_label = "Sculpt Here"

    label: StringProperty(name="Label")
    for_session: BoolProperty(description="The sculpt becomes a step of the session", options={"HIDDEN"})

    def run(self, context, thing):
        rig, place = character.armature(thing), character.place(thing)
        expect_object_mode(thing)
        if not reading.same_vertices(thing):
            raise Unreadable("Modifiers add, remove or reorder vertices. Switch them off in the viewport")
        depsgraph = bpy.context.evaluated_depsgraph_get()
        shown, pose = reading.shown_positions(thing, depsgraph), reading.pose_matrices(rig, place, depsgraph)
        sculpt = begin(context, thing, self.label or f"sculpt {context.scene.frame_current}", shown, pose)
        if self.for_session:
            sculpt.dermis_sculpt.of_session = True
            store.put(sculpt.dermis_sculpt, "shown", skin_of(thing, sculpt))


def expect_object_mode(thing):
    """Refuses a character whose mesh is being edited."""
    if thing.mode != "OBJECT":
        raise Unreadable("Leave the mode of the mesh first: a sculpt is begun in Object or Pose Mode")


def begin(context, thing, label, shown, pose):
    """A sculpt that shows vertices (V, 3) in the character's own space, in Sculpt Mode. The armature stands in its pose (B, 4, 4)."""
    mesh = thing.data.copy()
    if mesh.shape_keys:
        carrier = bpy.data.objects.new("keys", mesh)
        carrier.shape_key_clear()
        bpy.data.objects.remove(carrier)
    mesh.vertices.foreach_set("co", shown.ravel())
    mesh.update()
    mesh.name = label
    sculpt = bpy.data.objects.new(label, mesh)
    sculpt.matrix_world = thing.matrix_world
    context.scene.collection.objects.link(sculpt)
    about = sculpt.dermis_sculpt
    about.character, about.label = thing, label
    store.put(about, "pose", pose)
    store.put(about, "basis", examples.basis_of(character.armature(thing)))
    if context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    for other in context.selected_objects:
        other.select_set(False)
    thing.hide_set(True)
    sculpt.select_set(True)
    context.view_layer.objects.active = sculpt
    bpy.ops.object.mode_set(mode="SCULPT")
    return sculpt


def found(context, thing):
    """The sculpt of a character that is worked on."""
    active = context.active_object
    sculpts = [active] if active is not None and active.dermis_sculpt.character == thing else sculpts_of(thing)
    if len(sculpts) != 1:
        raise Unreadable("Select the sculpt" if sculpts else "There is no sculpt. Press Sculpt Here first")
    return sculpts[0]


def leave(context, thing, sculpt):
    """Takes the sculpt out of the scene and shows the character again."""
    if context.active_object == sculpt and sculpt.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    mesh = sculpt.data
    bpy.data.objects.remove(sculpt)
    if mesh.users == 0:
        bpy.data.meshes.remove(mesh)
    thing.hide_set(False)
    thing.select_set(True)
    context.view_layer.objects.active = thing


def finished(context, thing, sculpt):
    """The pose (B, 4, 4) and the skin (V, 3) of a sculpt, in metres. Sculpt Mode is left.

    Raises
    ------
    Unreadable
        If it has other vertices than the character, or is no longer in a pose of it.
    """
    if context.active_object == sculpt and sculpt.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    # A stroke's own undo step needs the sculpt, which leaves the scene. Undo comes back to this one instead, with all strokes.
    bpy.ops.ed.undo_push(message="Sculpt")
    count = len(sculpt.data.vertices)
    if count != len(thing.data.vertices):
        raise Unreadable(
            f"The sculpt has {count} vertices; {thing.name} has {len(thing.data.vertices)}. "
            "Remeshing and dynamic topology change them: undo, or discard the sculpt"
        )
    pose = store.get(sculpt.dermis_sculpt, "pose")
    if pose is None or len(pose) != len(character.armature(thing).data.bones):
        raise Unreadable("The sculpt has lost its pose, or bones have changed since. Discard it")
    if sculpt.data.shape_keys:
        raise Unreadable("The sculpt has shape keys. Apply them first")
    skin = skin_of(thing, sculpt)
    if not np.isfinite(skin).all():
        raise Unreadable("The sculpt has vertices that are not finite. Undo the last stroke")
    return pose, skin


def skin_of(thing, sculpt):
    """The vertices of a sculpt in metres, shape (V, 3)."""
    flat = np.empty(3 * len(sculpt.data.vertices), dtype=np.float32)
    sculpt.data.vertices.foreach_get("co", flat)
    to_metres = reading.to_place(sculpt, character.armature(thing), character.place(thing))
    return reading.points(to_metres, flat.reshape(-1, 3).astype(np.float64))


class DERMIS_OT_take_sculpt(OfCharacter, bpy.types.Operator):
    """Make the sculpt an example of the pose that it was begun in"""

    bl_idname = "dermis.take_sculpt"
    bl_label = "Take Sculpt"

    def run(self, context, thing):
        sculpt = found(context, thing)
        about = sculpt.dermis_sculpt
        pose, skin = finished(context, thing, sculpt)
        example = examples.add_shape(thing, about.label, pose, skin)
        store.put(example, "basis", store.get(about, "basis"))
        leave(context, thing, sculpt)
        self.report({"INFO"}, f"{example.label} is an example now. Press Fit")


class DERMIS_OT_discard_sculpt(OfCharacter, bpy.types.Operator):
    """Throw the sculpt away and show the character again"""

    bl_idname = "dermis.discard_sculpt"
    bl_label = "Discard Sculpt"

    def run(self, context, thing):
        leave(context, thing, found(context, thing))


class DERMIS_OT_add_mirrored(OfCharacter, bpy.types.Operator):
    """Add the mirror image of the selected example: bones by their names for left and right, vertices by their places"""

    bl_idname = "dermis.add_mirrored"
    bl_label = "Add Mirrored"

    def run(self, context, thing):
        own = thing.dermis
        if not 0 <= own.active < len(own.examples):
            raise Unreadable("Select an example")
        if own.examples[own.active].kind == "CLIP":
            raise Unreadable("A clip is not mirrored here. The joint model learns both sides from every example by itself")
        one = examples.read(thing, only=own.active)[0]
        use, importance = own.examples[own.active].use, own.examples[own.active].importance
        rig, place = character.armature(thing), character.place(thing)
        pose, skin, basis = mirrored(thing, rig, place, one)
        label = bpy.utils.flip_name(one.label)
        example = examples.add_shape(thing, f"{one.label} mirrored" if label == one.label else label, pose, skin)
        example.use, example.importance = use, importance
        store.put(example, "basis", basis)


def mirrored(thing, rig, place, one):
    """Pose, skin and settings of the pose bones of an example's mirror image at the armature's plane x = 0.

    Raises
    ------
    Unreadable
        If bones or vertices have no partner.
    """
    from mathutils import Vector
    from mathutils.kdtree import KDTree

    names = reading.bone_names(rig)
    partner = []
    for name in names:
        flipped = bpy.utils.flip_name(name)
        if flipped not in names:
            raise Unreadable(f"Bone {name} has no partner {flipped} on the other side")
        partner.append(names.index(flipped))
    flip = np.diag([-1.0, 1.0, 1.0, 1.0])
    rest = reading.points(np.linalg.inv(rig_to(thing, rig)), reading.rest_positions(thing.data))
    size = float(np.ptp(rest, axis=0).max())
    tree = KDTree(len(rest))
    for number, point in enumerate(rest):
        tree.insert(Vector(point), number)
    tree.balance()
    images = [tree.find(Vector(point * (-1.0, 1.0, 1.0))) for point in rest]
    lost = sum(distance > 1e-3 * size for _, _, distance in images)
    if lost:
        raise Unreadable(f"{lost} vertices have no partner on the other side of {rig.name}")
    vertices = np.array([number for _, number, _ in images])
    # In armature space; M = T B⁻¹ carries rest to pose, and its mirror image is that of the partner.
    inside = np.linalg.inv(place)
    bind = reading.rest_matrices(rig)
    moves = (inside @ one.pose) @ np.linalg.inv(bind)
    bones = (flip @ moves[partner] @ flip) @ bind
    skin = reading.points(inside, one.skin)[vertices] * (-1.0, 1.0, 1.0)
    return place @ bones, reading.points(place, skin), basis_of(rig, bones)


def rig_to(thing, rig):
    """Armature space to the mesh's own."""
    return np.linalg.inv(np.array(thing.matrix_world)) @ np.array(rig.matrix_world)


def basis_of(rig, bones):
    """What pose bones are set to so that they stand at `bones` (B, 4, 4), in armature space, without constraints."""
    names = reading.bone_names(rig)
    rest = reading.rest_matrices(rig)
    made = np.empty_like(bones)
    for at, name in enumerate(names):
        parent = rig.data.bones[name].parent
        if parent is None:
            made[at] = np.linalg.inv(rest[at]) @ bones[at]
        else:
            above = names.index(parent.name)
            offset = np.linalg.inv(rest[above]) @ rest[at]
            made[at] = np.linalg.inv(bones[above] @ offset) @ bones[at]
    return made


CLASSES = (DERMIS_OT_sculpt_here, DERMIS_OT_take_sculpt, DERMIS_OT_discard_sculpt, DERMIS_OT_add_mirrored)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
