# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body has, on its clothes: weights, shape keys, and the model as one of each mesh's own."""

import dataclasses

import bpy
import numpy as np

from . import character, jobs, live, reading, store, weights
from .package import needed
from .reading import Unreadable

TRUST = "dermis_confidence"


class DERMIS_OT_transfer(jobs.JobOperator, bpy.types.Operator):
    """Carry weights, model and shape keys of the active character to the other selected meshes: clothes, levels of detail"""

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
        baked = (thing.dermis.get("baked") or "").split(character.SEPARATOR)
        turn = reading.to_place(thing, rig, place)[:3, :3]
        keys = [(name, deltas @ turn.T) for name, deltas in _keys(thing.data) if name not in baked]
        return model, reading.rig_arrays(thing, place), keys, meshes

    def work(self, gathered, progress):
        model, rig, keys, meshes = gathered
        body = needed().Rig(**rig) if model is None else model
        found, failed = [], []
        for at, (name, positions, faces) in enumerate(meshes):
            progress("carry", at / len(meshes))
            try:
                worn = body.carried_to(positions, faces)
            except ValueError as wrong:
                failed.append(f"{name}: {jobs.told(wrong)}")
                continue
            shapes = [(key, worn.apply(deltas)) for key, deltas in keys]
            data = worn.model.to_bytes() if worn.model else None
            found.append(Worn(name, list(rig["bone_names"]), worn.weights, data, worn.trust, len(worn.unmatched), shapes))
        if not found:
            raise Unreadable("; ".join(failed))
        return found, failed

    def finish(self, context, thing, found):
        found, failed = found
        for wrong in failed:
            self.report({"WARNING"}, f"{wrong}. It is left as it was")
        rig, unmatched, shapes, kept = character.armature(thing), 0, 0, []
        for worn in found:
            other = context.scene.objects.get(worn.name)
            if other is None or len(other.data.vertices) != len(worn.weights):
                self.report({"WARNING"}, f"{worn.name} has changed since the work began, and is left out")
                continue
            weights.write(other, worn.bones, worn.weights)
            _bind(other, rig)
            trust = other.data.attributes.get(TRUST) or other.data.attributes.new(TRUST, "FLOAT", "POINT")
            trust.data.foreach_set("value", worn.trust.astype(np.float32))
            unmatched += worn.unmatched
            made, left = _shaped(other, thing, worn.shapes)
            shapes, kept = shapes + made, kept + left
            if worn.model is not None:
                character.renew(other)
                own = other.dermis
                own.place = list(thing.dermis.place)
                store.put_bytes(own, "model_bytes", worn.model)
                own.model, own.fitted_by = store.digest(worn.model), "TRANSFER"
                own.headline, own.verdict, own.warnings = f"Carried from {thing.name}", "", ""
                # A body that shows its model through clothes that do not show theirs would stick out of them.
                if thing.dermis.live and not own.live:
                    own.live = True
                live.refresh(other)
        lost = f"; {unmatched} vertices have no match, look at the attribute {TRUST}" if unmatched else ""
        lost += f"; {', '.join(kept)} were there and are kept" if kept else ""
        what = "weights" if found[0].model is None else "weights and model"
        keys = f", and {shapes} shape keys" if shapes else ""
        self.report({"INFO"}, f"{len(found)} meshes have the {what} of {thing.name}{keys}{lost}")


@dataclasses.dataclass
class Worn:
    """What was carried to a mesh."""

    name: str
    bones: list
    weights: np.ndarray
    model: object
    trust: np.ndarray
    unmatched: int
    shapes: list


def _keys(mesh):
    """The shape keys of a mesh but the first: name, and displacements from the one it is relative to, (V, 3)."""

    def places(key):
        flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        key.points.foreach_get("co", flat)
        return flat.reshape(-1, 3).astype(np.float64)

    keys = mesh.shape_keys.key_blocks if mesh.shape_keys else []
    return [(key.name, places(key) - places(key.relative_key)) for key in keys[1:]]


def _shaped(other, thing, shapes):
    """Gives a mesh the shapes that move it, each driven by the body's: how many, and the names of keys that were there already."""
    armature, place = character.armature(thing), character.place(thing)
    own = np.linalg.inv(reading.to_place(other, armature, place))[:3, :3]
    least = 1e-6 * max(thing.dimensions)
    moving = [(name, deltas @ own.T) for name, deltas in shapes if np.abs(deltas).max() > least]
    if not moving:
        return 0, []
    if other.data.shape_keys is None:
        other.shape_key_add(name="Basis")
    rest, made, kept = reading.rest_positions(other.data), 0, []
    for name, deltas in moving:
        key = other.data.shape_keys.key_blocks.get(name)
        if key is not None and not _follows(other.data.shape_keys, name, thing.data.shape_keys):
            kept.append(f"{other.name}: {name}")
            continue
        if key is None:
            key = other.shape_key_add(name=name, from_mix=False)
            source = thing.data.shape_keys.key_blocks[name]
            key.slider_min, key.slider_max = source.slider_min, source.slider_max
            driver = key.driver_add("value").driver
            driver.type = "AVERAGE"
            variable = driver.variables.new()
            variable.type = "SINGLE_PROP"
            target = variable.targets[0]
            target.id_type, target.id = "KEY", thing.data.shape_keys
            target.data_path = f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'
        key.data.foreach_set("co", (rest + deltas).astype(np.float32).ravel())
        made += 1
    return made, kept


def _follows(keys, name, body):
    """Whether a key is driven by the body's, as a former transfer left it."""
    path = f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'
    drivers = keys.animation_data.drivers if keys.animation_data else []
    sources = [t.id for d in drivers if d.data_path == path for v in d.driver.variables for t in v.targets]
    return sources == [body]


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
