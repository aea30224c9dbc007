# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body has, on its clothes: weights, and the model as one of each mesh's own."""

import os
import tempfile

import bpy
import numpy as np

from . import bundles, character, jobs, live, reading, store, weights
from .package import needed
from .reading import Unreadable

TRUST = "dermis_confidence"


class DERMIS_OT_transfer(jobs.JobOperator, bpy.types.Operator):
    """Carry weights and model of the active character to the other selected meshes: clothes, levels of detail"""

    bl_idname = "dermis.transfer"
    bl_label = "Transfer from Body"

    def gather(self, context, thing):
        others = [o for o in context.selected_objects if o.type == "MESH" and o is not thing]
        if not others:
            raise Unreadable(f"Select the clothes, and then {thing.name} as well, so that it is the active object")
        place, rig = character.place(thing), character.armature(thing)
        for other in others:
            if other.library or other.override_library:
                raise Unreadable(f"{other.name} is linked. Transfer in its own file")
            if not other.data.polygons:
                raise Unreadable(f"{other.name} has no faces")
        model = live.model_of(thing) if thing.dermis.model else None
        if isinstance(model, live.Matched):
            raise Unreadable("The model of a session is of another file. Save the model, and use `dermis transfer`")
        meshes = [
            (
                other.name,
                reading.points(reading.to_place(other, rig, place), reading.rest_positions(other.data)),
                reading.triangles(other.data),
            )
            for other in others
        ]
        return model, reading.rig_arrays(thing, place), meshes

    def work(self, gathered, progress):
        model, rig, meshes = gathered
        package, ending = needed(), "npz" if model is None else "dermis"
        with tempfile.TemporaryDirectory() as folder:
            body, out = os.path.join(folder, f"body.{ending}"), os.path.join(folder, "out")
            if model is None:
                bundles.save_rig(body, rig)
            else:
                model.save(body)
            files = []
            for at, (_, positions, faces) in enumerate(meshes):
                files.append(os.path.join(folder, f"{at}.npz"))
                np.savez(files[-1], rest_vertices=positions, faces=faces, units="m", up_axis="z")
            said = package.transfer(body, files, out, format=ending, progress=progress)
            found = []
            for at, (name, _, _) in enumerate(meshes):
                file = os.path.join(out, f"{at}.{ending}")
                made = package.Rig.open(file) if model is None else package.Model.open(file).rig
                data = None
                if model is not None:
                    with open(file, "rb") as opened:
                        data = opened.read()
                found.append((name, list(made.bone_names), made.weights, data, said["meshes"][at]))
            return found

    def finish(self, context, thing, found):
        rig, unmatched = character.armature(thing), 0
        for name, bones, table, data, said in found:
            other = context.scene.objects.get(name)
            if other is None or len(other.data.vertices) != len(table):
                self.report({"WARNING"}, f"{name} has changed since the work began, and is left out")
                continue
            weights.write(other, bones, table)
            _bind(other, rig)
            trust = other.data.attributes.get(TRUST) or other.data.attributes.new(TRUST, "FLOAT", "POINT")
            trust.data.foreach_set("value", np.array(said["trust"], dtype=np.float32))
            unmatched += len(said["unmatched"])
            if data is not None:
                character.renew(other)
                own = other.dermis
                own.place = list(thing.dermis.place)
                store.put_bytes(own, "model_bytes", data)
                own.model, own.fitted_by = store.digest(data), "TRANSFER"
                own.headline, own.verdict, own.warnings = f"Carried from {thing.name}", "", ""
                live.refresh(other)
        lost = f"; {unmatched} vertices have no match, look at the attribute {TRUST}" if unmatched else ""
        what = "weights" if found[0][3] is None else "weights and model"
        self.report({"INFO"}, f"{len(found)} meshes have the {what} of {thing.name}{lost}")


def _bind(thing, rig):
    """Puts a mesh under an armature, where it stands."""
    modifiers = [m for m in thing.modifiers if m.type == "ARMATURE"]
    if not any(m.object is rig for m in modifiers):
        thing.modifiers.new("Armature", "ARMATURE").object = rig
    if thing.parent is None:
        thing.parent = rig
        thing.matrix_parent_inverse = rig.matrix_world.inverted()


CLASSES = (DERMIS_OT_transfer,)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
