# SPDX-License-Identifier: GPL-3.0-or-later
"""Examples: poses with the skin that the character has in each, from frames, clips, sculpts, other objects and files."""

import dataclasses
import os

import bpy
import numpy as np
from bpy.props import IntProperty, StringProperty
from bpy_extras.io_utils import ImportHelper

from . import bundles, character, reading, store
from .reading import Unreadable


@dataclasses.dataclass
class Taken:
    """One pose of an example, read: bones (B, 4, 4) and skin (V, 3), in metres."""

    number: int
    label: str
    use: str
    importance: float
    pose: np.ndarray
    skin: np.ndarray
    frame: int | None = None
    time: float | None = None


def read(thing, uses=("LEARN", "CHECK"), only=None):
    """Reads the examples of a character that are used so, or the one of number `only`. The scene stays as it was.

    Raises
    ------
    Unreadable
        Naming the example, for what cannot be read.
    """
    from . import live

    character.checked(thing)
    own, scene = thing.dermis, bpy.context.scene
    rig, place = character.armature(thing), character.place(thing)
    numbers = [at for at, e in enumerate(own.examples) if e.use in uses] if only is None else [only]
    scenes = [at for at in numbers if own.examples[at].kind != "SHAPE"]
    taken = [read_shape(thing, at) for at in numbers if own.examples[at].kind == "SHAPE"]
    if scenes:
        if thing.mode != "OBJECT":
            raise Unreadable(f"{thing.name} is in {thing.mode.title().replace('_', ' ')} Mode. Examples are read in Object Mode")
        with live.hidden(thing), reading.at_frames(scene), _action_kept(rig):
            _same_vertices(thing, [own.examples[at].source for at in scenes])
            for at in scenes:
                taken.extend(_read_frames(thing, at, scene, rig, place))
    return sorted(taken, key=lambda one: one.number)


def _same_vertices(thing, sources):
    for source in {thing.name: thing, **{s.name: s for s in sources if s is not None}}.values():
        if not reading.same_vertices(source):
            raise Unreadable(
                f"Modifiers of {source.name} add, remove or reorder vertices. Switch them off in the viewport"
            )


def _read_frames(thing, at, scene, rig, place):
    example = thing.dermis.examples[at]
    source = example.source or thing
    count = len(thing.data.vertices)
    if example.action is not None:
        set_action(rig, example.action)
    frames = [example.frame_start]
    if example.kind == "CLIP":
        frames = range(example.frame_start, example.frame_end + 1, max(1, example.step))
    fps = scene.render.fps / scene.render.fps_base
    bones = reading.Bones(rig)
    for frame in frames:
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        pose = place @ bones.matrices(rig.evaluated_get(depsgraph)).astype(np.float64)
        found = reading.shown_positions(source, depsgraph)
        if len(found) != count:
            raise Unreadable(
                f"{example.label}: {source.name} shows {len(found)} vertices at frame {frame}; {thing.name} has {count}"
            )
        skin = reading.points(reading.to_place(source, rig, place), found.astype(np.float64))
        if not np.isfinite(skin).all() or not np.isfinite(pose).all():
            raise Unreadable(f"{example.label}: the skin or the pose is not finite at frame {frame}")
        is_clip = example.kind == "CLIP"
        label = f"{example.label} {frame}" if is_clip else example.label
        time = (frame - example.frame_start) / fps if is_clip else None
        yield Taken(at, label, example.use, example.importance, pose, skin, frame, time)


def read_shape(thing, at):
    """A shape with the pose that it belongs to."""
    example = thing.dermis.examples[at]
    mesh, pose = example.mesh, store.get(example, "pose")
    if mesh is None or pose is None:
        raise Unreadable(f"{example.label} has lost its shape or its pose. Remove it from the list")
    if len(mesh.vertices) != len(thing.data.vertices):
        raise Unreadable(
            f"{example.label} has {len(mesh.vertices)} vertices; {thing.name} has {len(thing.data.vertices)}. "
            "Remove it from the list, or sculpt it again"
        )
    bones = store.get(example, "bones")
    if len(pose) != len(character.armature(thing).data.bones) or bones is None:
        raise Unreadable(f"{example.label} was taken with other bones. Remove it from the list")
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    skin = flat.reshape(-1, 3).astype(np.float64)
    return Taken(at, example.label, example.use, example.importance, pose, skin)


def add_shape(thing, label, pose, skin):
    """Adds a shape (V, 3) in metres with its pose (B, 4, 4); returns the example."""
    example = new(thing, "SHAPE", label)
    mesh = bpy.data.meshes.new(f"{thing.name} {example.label}")
    mesh.from_pydata(np.asarray(skin), [], reading.triangles(thing.data))
    mesh.use_fake_user = True
    example.mesh = mesh
    store.put(example, "pose", np.asarray(pose, dtype=np.float64))
    rig = character.armature(thing)
    store.put(example, "bones", np.arange(len(rig.data.bones)))
    store.put(example, "basis", basis_of(rig))
    return example


def new(thing, kind, label):
    """Adds an empty example with a label that no other has."""
    own = thing.dermis
    labels = {example.label for example in own.examples}
    named, count = label, 1
    while named in labels:
        count += 1
        named = f"{label}.{count:03}"
    example = own.examples.add()
    example.kind, example.label, example.name = kind, named, named
    own.active = len(own.examples) - 1
    return example


def show_pose(thing, at):
    """Poses the character as in an example."""
    example, rig, scene = thing.dermis.examples[at], character.armature(thing), bpy.context.scene
    if example.kind != "SHAPE":
        if example.action is not None:
            set_action(rig, example.action)
        scene.frame_set(example.frame_start)
        return
    basis = store.get(example, "basis")
    if basis is None or len(basis) != len(rig.data.bones):
        raise Unreadable(f"{example.label} was taken with other bones")
    set_basis(rig, basis)


def basis_of(rig):
    """What pose bones are set to, in the order of the armature's, shape (B, 4, 4)."""
    return np.array([rig.pose.bones[bone.name].matrix_basis for bone in rig.data.bones], dtype=np.float64)


def set_basis(rig, basis):
    """Sets pose bones, in the order of the armature's, to matrices (B, 4, 4)."""
    from mathutils import Matrix

    for bone, matrix in zip(rig.data.bones, basis, strict=True):
        rig.pose.bones[bone.name].matrix_basis = Matrix(matrix.tolist())
    rig.update_tag()
    bpy.context.view_layer.update()


def set_action(rig, action):
    """Lets an action move the armature."""
    data = rig.animation_data or rig.animation_data_create()
    if data.action != action:
        data.action = action
    if getattr(data, "action_slot", True) is None and len(action.slots):
        data.action_slot = action.slots[0]


class _action_kept:
    """Puts the armature's action back."""

    def __init__(self, rig):
        self.rig = rig

    def __enter__(self):
        data = self.rig.animation_data
        self.action = data.action if data else None
        self.slot = getattr(data, "action_slot", None) if data else None

    def __exit__(self, *_):
        data = self.rig.animation_data
        if data is None or data.action == self.action:
            return
        data.action = self.action
        if self.slot is not None:
            data.action_slot = self.slot


def action_of(rig):
    """What moves the armature."""
    return rig.animation_data.action if rig.animation_data else None


class OfCharacter:
    """Operators of a character that is set up. `run` raises Unreadable for what a person must mend."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        thing = character.active(context)
        if thing is None or not thing.dermis.is_set_up:
            cls.poll_message_set("Select a character that is set up")
            return False
        return True

    def execute(self, context):
        thing = character.active(context)
        try:
            character.checked(thing)
            return self.run(context, thing) or {"FINISHED"}
        except Unreadable as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}


class DERMIS_OT_add_pose(OfCharacter, bpy.types.Operator):
    """Add the pose that is shown, with the skin that is shown, as an example"""

    bl_idname = "dermis.add_pose"
    bl_label = "Add Pose"

    label: StringProperty(name="Label")

    def run(self, context, thing):
        rig, place = character.armature(thing), character.place(thing)
        if thing.mode != "OBJECT":
            raise Unreadable("Leave the mode of the mesh first: a pose is added in Object or Pose Mode")
        if not reading.same_vertices(thing):
            raise Unreadable("Modifiers add, remove or reorder vertices. Switch them off in the viewport")
        from . import live

        with live.hidden(thing):
            depsgraph = bpy.context.evaluated_depsgraph_get()
            pose, skin = reading.pose_matrices(rig, place, depsgraph), reading.skin(thing, place, depsgraph)
        add_shape(thing, self.label or f"pose {context.scene.frame_current}", pose, skin)


class DERMIS_OT_add_marked(OfCharacter, bpy.types.Operator):
    """Add every frame with a marker as an example; only those of selected markers if any is selected"""

    bl_idname = "dermis.add_marked"
    bl_label = "Add Marked Frames"

    def run(self, context, thing):
        markers = list(context.scene.timeline_markers)
        markers = [m for m in markers if m.select] or markers
        if not markers:
            raise Unreadable("The timeline has no marker. Press M in the timeline at every frame that shows the skin as it should be")
        known = {(e.action, e.frame_start) for e in thing.dermis.examples if e.kind == "FRAME"}
        action = action_of(character.armature(thing))
        for marker in sorted(markers, key=lambda m: m.frame):
            if (action, marker.frame) in known:
                continue
            example = new(thing, "FRAME", marker.name or f"frame {marker.frame}")
            example.frame_start = example.frame_end = marker.frame
            example.action = action


class DERMIS_OT_add_clip(OfCharacter, bpy.types.Operator):
    """Add the frames of the armature's action as examples. Select a second mesh, such as a simulated copy, to take its skin"""

    bl_idname = "dermis.add_clip"
    bl_label = "Add Clip"

    label: StringProperty(name="Label")
    start: IntProperty(name="Start", default=0)
    end: IntProperty(name="End", default=-1)
    step: IntProperty(name="Every", description="Take every so many frames", default=1, min=1)

    def run(self, context, thing):
        rig = character.armature(thing)
        first, last = bundles.clip_range(context, rig) if self.end < self.start else (self.start, self.end)
        others = [o for o in context.selected_objects if o.type == "MESH" and o != thing]
        if len(others) > 1:
            raise Unreadable("Select one mesh beside the character, the one that shows the skin")
        action = action_of(rig)
        example = new(thing, "CLIP", self.label or (action.name if action else "clip"))
        example.frame_start, example.frame_end = first, last
        example.step, example.action = self.step, action
        if others:
            example.source = others[0]


class DERMIS_OT_import_shape(OfCharacter, bpy.types.Operator, ImportHelper):
    """Add a shape from a file (.obj) as the skin of the pose that is shown; its vertices are those of the character, in order"""

    bl_idname = "dermis.import_shape"
    bl_label = "Import Shape"
    filename_ext = ".obj"

    filter_glob: StringProperty(default="*.obj", options={"HIDDEN"})

    def run(self, context, thing):
        before = set(bpy.data.objects)
        active, selected = context.view_layer.objects.active, context.selected_objects
        try:
            bpy.ops.wm.obj_import(filepath=self.filepath, validate_meshes=False)
        except RuntimeError as wrong:
            raise Unreadable(f"{os.path.basename(self.filepath)} cannot be read: {wrong}") from None
        made = [o for o in bpy.data.objects if o not in before]
        try:
            meshes = [o for o in made if o.type == "MESH"]
            if len(meshes) != 1:
                raise Unreadable(f"{os.path.basename(self.filepath)} holds {len(meshes)} meshes; one is expected")
            _add_object(thing, meshes[0], os.path.splitext(os.path.basename(self.filepath))[0])
        finally:
            for found in made:
                data = found.data
                bpy.data.objects.remove(found)
                if data is not None and data.users == 0 and isinstance(data, bpy.types.Mesh):
                    bpy.data.meshes.remove(data)
            context.view_layer.objects.active = active
            for found in selected:
                found.select_set(True)


class DERMIS_OT_add_object(OfCharacter, bpy.types.Operator):
    """Add the selected second mesh as the skin of the pose that is shown"""

    bl_idname = "dermis.add_object"
    bl_label = "Add Selected Mesh"

    def run(self, context, thing):
        others = [o for o in context.selected_objects if o.type == "MESH" and o != thing]
        if len(others) != 1:
            raise Unreadable("Select one mesh beside the character, the one that shows the skin in this pose")
        _add_object(thing, others[0], others[0].name)


def _add_object(thing, other, label):
    rig, place = character.armature(thing), character.place(thing)
    found = reading.shown_positions(other)
    if len(found) != len(thing.data.vertices):
        raise Unreadable(f"{other.name} has {len(found)} vertices; {thing.name} has {len(thing.data.vertices)}")
    skin = reading.points(reading.to_place(other, rig, place), found.astype(np.float64))
    add_shape(thing, label, reading.pose_matrices(rig, place), skin)


class DERMIS_OT_remove_example(OfCharacter, bpy.types.Operator):
    """Remove the selected example"""

    bl_idname = "dermis.remove_example"
    bl_label = "Remove Example"

    def run(self, context, thing):
        own = thing.dermis
        if not 0 <= own.active < len(own.examples):
            return {"CANCELLED"}
        if (mesh := own.examples[own.active].mesh) is not None:
            mesh.use_fake_user = False
        own.examples.remove(own.active)
        own.active = min(own.active, len(own.examples) - 1)


class DERMIS_OT_show_example(OfCharacter, bpy.types.Operator):
    """Pose the character as in the selected example"""

    bl_idname = "dermis.show_example"
    bl_label = "Go to Pose"

    def run(self, context, thing):
        own = thing.dermis
        if not 0 <= own.active < len(own.examples):
            return {"CANCELLED"}
        show_pose(thing, own.active)


class DERMIS_OT_go_to_frame(OfCharacter, bpy.types.Operator):
    """Go to the frame"""

    bl_idname = "dermis.go_to_frame"
    bl_label = "Go to Frame"

    frame: IntProperty()

    def run(self, context, thing):
        context.scene.frame_set(self.frame)


class DERMIS_OT_write_bundle(OfCharacter, bpy.types.Operator):
    """Write rig and examples as a bundle (.npz), which the program dermis and Python read"""

    bl_idname = "dermis.write_bundle"
    bl_label = "Write Bundle"

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.npz", options={"HIDDEN"})

    def invoke(self, context, event):
        self.filepath = self.filepath or f"{character.active(context).name}.npz"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context, thing):
        if not self.filepath:
            raise Unreadable("Name a file")
        try:
            np.savez(bpy.path.abspath(self.filepath), **bundles.bundle(thing))
        except OSError as wrong:
            raise Unreadable(f"{self.filepath} cannot be written: {wrong.strerror or wrong}") from None


CLASSES = (
    DERMIS_OT_add_pose,
    DERMIS_OT_add_marked,
    DERMIS_OT_add_clip,
    DERMIS_OT_import_shape,
    DERMIS_OT_add_object,
    DERMIS_OT_remove_example,
    DERMIS_OT_show_example,
    DERMIS_OT_go_to_frame,
    DERMIS_OT_write_bundle,
)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
