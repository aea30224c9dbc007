# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinning weights: from heat, from examples; a model compiled to four influences and helper bones; bones of a mesh that moves."""

import os
import tempfile

import bpy
import numpy as np
from bpy.props import BoolProperty, IntProperty
from mathutils import Matrix

from . import bundles, character, fitting, jobs, live, reading
from .package import MISSING, needed
from .reading import Unreadable


def write(thing, names, table, keep_locked=True):
    """Writes weights (V, B) to vertex groups named after bones. Groups that are locked stay, and the others share what they leave."""
    groups = {group.name: group for group in thing.vertex_groups}
    locked = [n for n in names if keep_locked and n in groups and groups[n].lock_weight]
    table = np.array(table, dtype=np.float64)
    if locked:
        kept = np.zeros((len(table), len(names)))
        for vertex in thing.data.vertices:
            for entry in vertex.groups:
                name = thing.vertex_groups[entry.group].name
                if name in locked:
                    kept[vertex.index, names.index(name)] = entry.weight
        columns = [names.index(name) for name in locked]
        table[:, columns] = 0.0
        totals = table.sum(axis=1, keepdims=True)
        left = np.clip(1.0 - kept.sum(axis=1, keepdims=True), 0.0, None)
        table = np.divide(table * left, totals, out=np.zeros_like(table), where=totals > 0.0) + kept
    everything = list(range(len(table)))
    for at, name in enumerate(names):
        if name in locked:
            continue
        used = np.flatnonzero(table[:, at] > 0.0)
        group = groups.get(name)
        if group is None and not len(used):
            continue
        group = group or thing.vertex_groups.new(name=name)
        group.remove(everything)
        for vertex in used:
            group.add([int(vertex)], float(table[vertex, at]), "REPLACE")


class DERMIS_OT_weights_from_heat(jobs.JobOperator, bpy.types.Operator):
    """Make weights from the shapes of mesh and bones, by heat. Locked groups stay"""

    bl_idname = "dermis.weights_from_heat"
    bl_label = "From Heat"

    influences: IntProperty(name="Influences", description="Bones per vertex at most", default=4, min=1, max=32)

    @classmethod
    def poll(cls, context):
        thing = character.active(context)
        return not MISSING and thing is not None and thing.type == "MESH" and jobs.running() is None

    def _started(self, context):
        thing = character.active(context)
        self.subject = thing.name
        rig = character.armature(thing)
        place = reading.place_of(rig)
        gathered = dict(reading.rig_arrays(thing, place), weights=None)
        deforming = {bone.name for bone in rig.data.bones if bone.use_deform}
        skip = [name for name in gathered["bone_names"] if name not in deforming]
        influences = self.influences
        return needed().Job(lambda progress: self.work((gathered, skip, influences), progress))

    def work(self, gathered, progress):
        rig, skip, influences = gathered
        with tempfile.TemporaryDirectory() as folder:
            bare, made = os.path.join(folder, "bare.npz"), os.path.join(folder, "rig.npz")
            bundles.save_rig(bare, rig)
            needed().weights(bare, made, skip=skip or None, influences=influences, progress=progress)
            found = needed().Rig.open(made)
            return list(found.bone_names), found.weights

    def finish(self, context, thing, found):
        write(thing, *found)


class DERMIS_OT_weights_from_examples(jobs.JobOperator, bpy.types.Operator):
    """Fit weights to the examples: those with which the armature alone comes nearest to them. Locked groups stay"""

    bl_idname = "dermis.weights_from_examples"
    bl_label = "From Examples"

    influences: IntProperty(name="Influences", description="Bones per vertex at most", default=4, min=1, max=32)

    def gather(self, context, thing):
        return fitting.gather(thing), self.influences

    def work(self, gathered, progress):
        (gathered, influences), package = gathered, needed()
        rig = package.Rig(**gathered.rig)
        found = package.fit(
            rig, fitting.sets_of(package, rig, gathered.learn), method=package.Lbs(), folds=0, progress=progress
        )
        with tempfile.TemporaryDirectory() as folder:
            model, glb = os.path.join(folder, "weights.dermis"), os.path.join(folder, "weights.glb")
            found.model.save(model)
            motion = os.path.join(folder, "motion.npz")
            bundles.save_rig(motion, gathered.rig, **bundles.poses_of(gathered.learn))
            package.export(model, glb, linear=True, examples=[motion], influences=influences)
            made = package.Rig.open(glb)
            return list(made.bone_names), made.weights

    def finish(self, context, thing, found):
        write(thing, *found)


class DERMIS_OT_compile(jobs.JobOperator, bpy.types.Operator):
    """Make the model plain linear blending for engines: few influences per vertex, and helper bones keyed over the action"""

    bl_idname = "dermis.compile"
    bl_label = "Compile to Bones"

    influences: IntProperty(name="Influences", description="Bones per vertex at most", default=4, min=1, max=32)
    helpers: IntProperty(name="Helper Bones", description="Bones that may be added", default=8, min=0, max=256)

    def gather(self, context, thing):
        rig, place = character.armature(thing), character.place(thing)
        if thing.override_library is not None or rig.library is not None or rig.override_library is not None:
            raise Unreadable(f"{rig.name} is linked. Compile in its own file")
        model = live.model_of(thing)
        if isinstance(model, live.Matched) and model.match.vertices is not None:
            raise Unreadable(f"{thing.name} has its vertices in another order than the session's rig. Save the model, and use `dermis export bones`")
        if any(name.startswith("helper") for name in reading.bone_names(rig)):
            raise Unreadable(f"{rig.name} has bones named helper already. Remove them first: Undo, or delete them")
        frames, poses = bundles.motion_of(context, thing)
        return model, reading.rig_arrays(thing, place), poses, frames, (self.influences, self.helpers)

    def work(self, gathered, progress):
        model, rig, poses, frames, (influences, helpers) = gathered
        package = needed()
        with tempfile.TemporaryDirectory() as folder:
            file, motion = os.path.join(folder, "model.dermis"), os.path.join(folder, "motion.npz")
            glb, back = os.path.join(folder, "made.glb"), os.path.join(folder, "back.npz")
            model.save(file)
            bundles.save_rig(motion, rig, pose_labels=[str(f) for f in frames], pose_matrices=poses,
                     frame_times=np.arange(len(frames)) / 24.0)  # fmt: skip
            said = package.export(
                file, glb, linear=True, motions=[motion], influences=influences, helpers=helpers, progress=progress
            )
            package.convert(glb, out=back)
            made = package.Rig.open(back)
            with np.load(back) as found:
                moved = found["pose_matrices"]
            up, unit = made.up, made.unit
            turn = np.eye(4)
            if up == "y":
                turn[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
            turn[:3] *= unit
            return said, made, turn @ made.bind_matrices, turn @ moved, frames

    def finish(self, context, thing, found):
        said, made, binds, moved, frames = found
        rig, place = character.armature(thing), character.place(thing)
        names, known = list(made.bone_names), reading.bone_names(rig)
        if len(made.weights) != len(thing.data.vertices):
            raise Unreadable("The mesh has changed since the work began. Compile again")
        own = np.linalg.inv(place)
        helpers = [at for at, name in enumerate(names) if name not in known]
        add_bones(context, rig, {names[at]: (_parent(made, names, at), _rigid(own @ binds[at])) for at in helpers})
        write(thing, names, made.weights, keep_locked=False)
        for step, frame in enumerate(frames):
            for at in helpers:
                parent = names.index(_parent(made, names, at))
                above = np.linalg.inv(_rigid(own @ binds[parent])) @ _rigid(own @ binds[at])
                local = np.linalg.inv(_rigid(own @ moved[step][parent]) @ above) @ _rigid(own @ moved[step][at])
                bone = rig.pose.bones[names[at]]
                bone.rotation_mode = "QUATERNION"
                bone.matrix_basis = Matrix(local.tolist())
                bone.keyframe_insert("location", frame=frame)
                bone.keyframe_insert("rotation_quaternion", frame=frame)
        thing.dermis.live = False
        character.renew(thing)
        last = said["steps"][-1]
        error = last.get("model") or last.get("error") or {}
        of = f", {1e3 * error['rms']:.3g} mm rms from the model" if isinstance(error, dict) and "rms" in error else ""
        self.report({"INFO"}, f"{len(helpers)} helper bones{of}. Examples were taken with the old bones; Undo brings them back")


def _parent(made, names, at):
    return names[made.bone_parents[at]]


def _rigid(matrix):
    """A bone's matrix without the scale of the armature object."""
    made = np.array(matrix)
    made[:3, :3] /= np.linalg.norm(made[:3, 0])
    return made


def add_bones(context, rig, bones):
    """Adds bones to an armature: name → (parent or None, matrix (4, 4) in armature space)."""
    active, mode = context.view_layer.objects.active, context.mode
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    hidden = rig.hide_get()
    rig.hide_set(False)
    context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        for name, (parent, matrix) in bones.items():
            bone = rig.data.edit_bones.new(name)
            bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, 0.05, 0.0)
            bone.matrix = Matrix(matrix.tolist())
            bone.parent = rig.data.edit_bones.get(parent) if parent else None
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
        rig.hide_set(hidden)
        context.view_layer.objects.active = active


class DERMIS_OT_decompose(jobs.JobOperator, bpy.types.Operator):
    """Find bones and weights that show the motion of the active mesh: a cache, a simulation, shape keys"""

    bl_idname = "dermis.decompose"
    bl_label = "Decompose"

    bones: IntProperty(name="Bones", default=12, min=1, max=512)
    influences: IntProperty(name="Influences", description="Bones per vertex at most", default=4, min=1, max=32)
    start: IntProperty(name="Start", default=0)
    end: IntProperty(name="End", default=-1)
    connected: BoolProperty(name="Joined in a Tree", description="Bones hang on one another, as limbs do")

    @classmethod
    def poll(cls, context):
        thing = context.active_object
        return not MISSING and thing is not None and thing.type == "MESH" and thing.mode == "OBJECT"

    def _started(self, context):
        thing, scene = context.active_object, context.scene
        self.subject = thing.name
        if not reading.same_vertices(thing):
            raise Unreadable(f"Modifiers of {thing.name} add, remove or reorder vertices. Switch them off in the viewport")
        first, last = (scene.frame_start, scene.frame_end) if self.end < self.start else (self.start, self.end)
        if last - first > 5000:
            raise Unreadable(f"{last - first + 1} frames; choose 5000 or less")
        frames, skins = list(range(first, last + 1)), []
        with reading.at_frames(scene):
            for frame in frames:
                scene.frame_set(frame)
                skins.append(reading.shown_positions(thing).astype(np.float64))
        moved = np.ptp(np.array(skins), axis=0).max()
        if not moved > 0.0:
            raise Unreadable(f"{thing.name} does not move from frame {first} to {last}")
        faces, count = reading.triangles(thing.data), self.bones
        options = {"influences": self.influences, "tree": self.connected}
        rest = reading.rest_positions(thing.data)

        def work(progress):
            package = needed()
            found = package.decompose(
                vertices=np.array(skins), faces=faces, rest_vertices=rest, bones=count, up="z", unit=1.0,
                progress=progress, **{k: v for k, v in options.items() if v is not None},
            )  # fmt: skip
            return found, frames

        return needed().Job(work)

    def finish(self, context, thing, found):
        made, frames = found
        rig_data = bpy.data.armatures.new(f"{thing.name} bones")
        rig = bpy.data.objects.new(f"{thing.name} bones", rig_data)
        rig.matrix_world = thing.matrix_world
        context.scene.collection.objects.link(rig)
        names, parents = list(made.rig.bone_names), made.rig.bone_parents
        binds = made.rig.bind_matrices
        add_bones(context, rig, {n: (names[p] if p >= 0 else None, binds[at]) for at, (n, p) in enumerate(zip(names, parents))})
        mesh = thing.data.copy()
        if mesh.shape_keys:
            bare = bpy.data.objects.new("keys", mesh)
            bare.shape_key_clear()
            bpy.data.objects.remove(bare)
        skinned = bpy.data.objects.new(f"{thing.name} skinned", mesh)
        mesh.vertices.foreach_set("co", np.asarray(made.rig.rest_vertices, dtype=np.float32).ravel())
        context.scene.collection.objects.link(skinned)
        skinned.parent = rig
        skinned.modifiers.new("Armature", "ARMATURE").object = rig
        write(skinned, names, made.weights, keep_locked=False)
        for step, frame in enumerate(frames):
            for at, name in enumerate(names):
                parent = parents[at]
                above = np.eye(4) if parent < 0 else made.pose_matrices[step][parent] @ np.linalg.inv(binds[parent])
                local = np.linalg.inv(above @ binds[at]) @ made.pose_matrices[step][at]
                bone = rig.pose.bones[name]
                bone.rotation_mode = "QUATERNION"
                bone.matrix_basis = Matrix(local.tolist())
                for path in ("location", "rotation_quaternion", "scale"):
                    bone.keyframe_insert(path, frame=frame)
        context.scene.frame_set(context.scene.frame_current)
        error = made.report["error"]["rms"] if "error" in made.report else None
        self.report({"INFO"}, f"{len(names)} bones" + (f", {error:.3g} m rms" if error is not None else ""))


CLASSES = (
    DERMIS_OT_weights_from_heat,
    DERMIS_OT_weights_from_examples,
    DERMIS_OT_compile,
    DERMIS_OT_decompose,
)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
