# SPDX-License-Identifier: GPL-3.0-or-later
"""Influence maps: where a bone may move the skin, as vertex groups that Blender's own brushes paint."""

import bpy
import numpy as np
from bpy.props import FloatProperty, IntProperty

from . import character, examples, live, reading
from .examples import OfCharacter
from .reading import Unreadable

PREFIX = "influence "


def group_of(name):
    """The vertex group that holds the map of a bone."""
    return f"{PREFIX}{name}"


def table(thing, names):
    """Influence maps (V, B), from the groups that are there.

    Raises
    ------
    Unreadable
        If there are none, or a vertex has none.
    """
    maps = np.zeros((len(thing.data.vertices), len(names)))
    column = {g.index: names.index(g.name[len(PREFIX) :]) for g in _groups(thing) if g.name[len(PREFIX) :] in names}
    if not column:
        raise Unreadable("There are no influence maps. Press Make Maps first, or switch Painted Maps off")
    for vertex in thing.data.vertices:
        for entry in vertex.groups:
            if (at := column.get(entry.group)) is not None:
                maps[vertex.index, at] = entry.weight
    return maps


def _groups(thing):
    return [group for group in thing.vertex_groups if group.name.startswith(PREFIX)]


def spread(thing, weights, rings):
    """Weights (V, B) spread over rings of neighbours: each ring takes the largest weight around, less a tenth."""
    edges = np.empty(2 * len(thing.data.edges), dtype=np.int32)
    thing.data.edges.foreach_get("vertices", edges)
    a, b = edges.reshape(-1, 2).T
    reached = np.sqrt(weights)
    for _ in range(rings):
        wider = reached.copy()
        np.maximum.at(wider, a, 0.8 * reached[b])
        np.maximum.at(wider, b, 0.8 * reached[a])
        reached = wider
    return np.where(reached < 0.01, 0.0, reached)


class DERMIS_OT_make_maps(OfCharacter, bpy.types.Operator):
    """Make an influence map of every deforming bone from the weights, spread beyond them. Maps that are locked stay"""

    bl_idname = "dermis.make_maps"
    bl_label = "Make Maps"

    rings: IntProperty(name="Rings", description="How far maps reach beyond the weights, in edges", default=3, min=0, max=100)

    def run(self, context, thing):
        names = reading.bone_names(character.armature(thing))
        maps = spread(thing, reading.weights(thing, names), self.rings)
        for at, name in enumerate(names):
            group = thing.vertex_groups.get(group_of(name))
            if group is not None and group.lock_weight:
                continue
            reached = np.flatnonzero(maps[:, at])
            if group is None and not len(reached):
                continue
            group = group or thing.vertex_groups.new(name=group_of(name))
            group.remove(list(range(len(maps))))
            for value in np.unique(np.round(maps[reached, at], 2)):
                group.add(reached[np.round(maps[reached, at], 2) == value].tolist(), float(value), "REPLACE")
        thing.dermis.painted = True


class DERMIS_OT_paint_map(OfCharacter, bpy.types.Operator):
    """Paint the influence map of the active bone with Blender's brushes"""

    bl_idname = "dermis.paint_map"
    bl_label = "Paint Map"

    def run(self, context, thing):
        rig = character.armature(thing)
        bone = rig.data.bones.active
        if bone is None:
            raise Unreadable(f"Select a bone of {rig.name}")
        group = thing.vertex_groups.get(group_of(bone.name))
        if group is None:
            raise Unreadable(f"{bone.name} has no influence map. Press Make Maps first")
        if group.lock_weight:
            raise Unreadable(f"The map of {bone.name} is locked")
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        context.view_layer.objects.active = thing
        thing.vertex_groups.active = group
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")


class DERMIS_OT_extend_here(OfCharacter, bpy.types.Operator):
    """Let the bones of the neighbourhood move the vertices where the model misses the active example most, by widening maps there.
    In Edit Mode, the selected vertices alone"""

    bl_idname = "dermis.extend_here"
    bl_label = "Extend Here"

    share: FloatProperty(
        name="Share", description="Vertices whose error is above this share of the largest", default=0.3, min=0.01, max=1.0
    )
    rings: IntProperty(name="Rings", default=2, min=1, max=20)

    def run(self, context, thing):
        own = thing.dermis
        names = reading.bone_names(character.armature(thing))
        maps = table(thing, names)
        if thing.mode == "EDIT":
            thing.update_from_editmode()
        chosen = np.array([v.select for v in thing.data.vertices]) if thing.mode == "EDIT" else None
        if chosen is None:
            if not 0 <= own.active < len(own.examples):
                raise Unreadable("Select an example, or vertices in Edit Mode")
            one = examples.read(thing, only=own.active)[0]
            error = np.linalg.norm(live.model_of(thing)(one.pose) - one.skin, axis=1)
            chosen = error > self.share * error.max()
        if not chosen.any():
            raise Unreadable("No vertex is selected")
        mode = thing.mode
        if mode == "EDIT":
            bpy.ops.object.mode_set(mode="OBJECT")
        wider = spread(thing, maps**2, self.rings)
        for at, name in enumerate(names):
            group = thing.vertex_groups.get(group_of(name))
            if group is None or group.lock_weight:
                continue
            for vertex in np.flatnonzero(chosen & (wider[:, at] > maps[:, at])):
                group.add([int(vertex)], float(wider[vertex, at]), "REPLACE")
        if mode == "EDIT":
            bpy.ops.object.mode_set(mode="EDIT")
        self.report({"INFO"}, f"Maps of {int(chosen.sum())} vertices are wider. Press Fit")


CLASSES = (DERMIS_OT_make_maps, DERMIS_OT_paint_map, DERMIS_OT_extend_here)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
