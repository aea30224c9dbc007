# SPDX-License-Identifier: GPL-3.0-or-later
"""The character: a mesh and its armature, checked before anything is learnt from them."""

import bpy
import numpy as np

from . import reading, store
from .package import MISSING
from .reading import Unreadable

SEPARATOR = "\n"


def active(context):
    """The character of a context: the active object, the character that the active sculpt is of, or the only one that the
    active armature moves. None if there is none.
    """
    thing = context.active_object
    if thing is None:
        return None
    if thing.dermis_sculpt.character is not None:
        return thing.dermis_sculpt.character
    if thing.type == "MESH":
        return thing
    if thing.type == "ARMATURE":
        found = [o for o in context.scene.objects if o.dermis.is_set_up and thing in _armatures(o)]
        return found[0] if len(found) == 1 else None
    return None


def _armatures(thing):
    return [m.object for m in thing.modifiers if m.type == "ARMATURE"]


def place(thing):
    """Armature space to metres as the character was set up, shape (4, 4)."""
    return np.array(thing.dermis.place, dtype=np.float64).reshape(4, 4)


def armature(thing):
    """The armature of a character."""
    return reading.armature_modifier(thing).object


def checked(thing):
    """A character that is as it was when it was set up.

    Raises
    ------
    Unreadable
        If it never was, or mesh or bones have changed since.
    """
    own = thing.dermis
    if not own.is_set_up:
        raise Unreadable(f"{thing.name} is no character yet. Press Set Up Character")
    rig = armature(thing)
    if own.vertices != len(thing.data.vertices):
        raise Unreadable(
            f"{thing.name} had {own.vertices} vertices when it was set up, and has {len(thing.data.vertices)} now. "
            "Press Set Up Character; shapes of the old mesh are left out then"
        )
    names = reading.bone_names(rig)
    if own.bones.split(SEPARATOR) != names:
        lost = [name for name in own.bones.split(SEPARATOR) if name not in names]
        what = f"{lost[0]} is missing" if lost else "bones were added or sorted anew"
        raise Unreadable(f"The bones of {rig.name} have changed since the character was set up: {what}. Press Set Up Character")
    rest = store.get(own, "rest")
    if rest is not None and np.abs(rest - reading.rest_matrices(rig)).max() > 1e-4 * max(1.0, np.abs(rest).max()):
        raise Unreadable(
            f"{rig.name} has another rest pose than when the character was set up. Press Set Up Character; "
            "shapes keep the poses that they had"
        )
    return thing


def findings(thing):
    """What a person should know of a mesh before it becomes a character: (icon, text) each. 'ERROR' stops a fit."""
    found = []
    try:
        rig = armature(thing)
    except Unreadable as wrong:
        return [("ERROR", str(wrong))]
    try:
        reading.place_of(rig)
    except Unreadable as wrong:
        return [("ERROR", str(wrong))]
    relative = np.linalg.inv(np.array(rig.matrix_world)) @ np.array(thing.matrix_world)
    if np.linalg.det(relative[:3, :3]) <= 0.0:
        found.append(("ERROR", f"{thing.name} is mirrored against {rig.name}. Apply its scale"))
    modifier = reading.armature_modifier(thing)
    if modifier.use_bone_envelopes:
        found.append(("INFO", "Bone envelopes are not read. Weights come from vertex groups"))
    if modifier.vertex_group or modifier.use_multi_modifier:
        found.append(("ERROR", "The Armature modifier uses a vertex group or Multi Modifier, which is not read. Switch it off"))
    names = reading.bone_names(rig)
    groups = {group.name for group in thing.vertex_groups}
    deforming = {bone.name for bone in rig.data.bones if bone.use_deform}
    if not deforming & groups:
        found.append(("ERROR", f"No vertex group of {thing.name} is named after a deforming bone of {rig.name}"))
    table = reading.weights(thing, names)
    without = int((table.sum(axis=1) <= 0.0).sum())
    if without:
        found.append(("ERROR", f"{without} vertices have no weight of any bone. Assign them, or use Weights > From Heat"))
    locked = sum(bool(bone.constraints) for bone in rig.pose.bones)
    if locked:
        found.append(("INFO", f"{locked} bones have constraints: poses are read as they are shown"))
    if not reading.same_vertices(thing):
        found.append(("ERROR", "Modifiers add, remove or reorder vertices. Switch them off in the viewport"))
    if thing.data.shape_keys and any(key.value for key in thing.data.shape_keys.key_blocks[1:] if not key.mute):
        found.append(("INFO", "Shape keys are on: frames and clips are learnt with them"))
    if thing.library or thing.override_library:
        found.append(("INFO", "The character is linked: examples and fits belong in its own file"))
    return found


def renew(thing):
    """Notes mesh and bones as they are."""
    own, rig = thing.dermis, armature(thing)
    own.place = reading.place_of(rig).ravel().tolist()
    own.vertices = len(thing.data.vertices)
    own.bones = SEPARATOR.join(reading.bone_names(rig))
    store.put(own, "rest", reading.rest_matrices(rig))
    own.is_set_up = True


class DERMIS_OT_set_up(bpy.types.Operator):
    """Check mesh and armature, and make them a character"""

    bl_idname = "dermis.set_up"
    bl_label = "Set Up Character"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        thing = context.active_object
        return thing is not None and thing.type == "MESH" and thing.mode == "OBJECT"

    def execute(self, context):
        thing = context.active_object
        if MISSING:
            self.report({"ERROR"}, MISSING)
            return {"CANCELLED"}
        if thing.library:
            self.report({"ERROR"}, f"{thing.name} is linked. Make a library override, or set it up in its own file")
            return {"CANCELLED"}
        found = findings(thing)
        errors = [text for icon, text in found if icon == "ERROR"]
        if errors:
            self.report({"ERROR"}, errors[0])
            return {"CANCELLED"}
        own = thing.dermis
        lost = [e.label or e.name for e in own.examples if e.mesh and len(e.mesh.vertices) != len(thing.data.vertices)]
        renew(thing)
        for icon, text in found:
            self.report({"INFO"}, text)
        for label in lost:
            self.report({"WARNING"}, f"Example {label} has another number of vertices, and is left out")
        return {"FINISHED"}


class DERMIS_OT_forget(bpy.types.Operator):
    """Remove examples, model and everything else of Dermis from the character"""

    bl_idname = "dermis.forget"
    bl_label = "Forget Character"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        thing = active(context)
        return thing is not None and thing.dermis.is_set_up

    def invoke(self, context, event):
        return context.window_manager.invoke_confirm(self, event)

    def execute(self, context):
        from . import errors, live

        thing = active(context)
        live.remove(thing)
        errors.remove(thing)
        for example in thing.dermis.examples:
            if example.mesh is not None:
                example.mesh.use_fake_user = False
        thing.property_unset("dermis")
        return {"FINISHED"}


CLASSES = (DERMIS_OT_set_up, DERMIS_OT_forget)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
