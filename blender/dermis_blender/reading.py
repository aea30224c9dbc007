# SPDX-License-Identifier: GPL-3.0-or-later
"""A character of the scene as arrays: rest mesh, bones, weights, poses, skins.

Everything is in metres, Z up, as if the armature stood where it stood when the character was set up (`place`): moving the
armature object moves the character, and teaches nothing. Matrices are [row, column] for column vectors.
"""

import contextlib

import bpy
import numpy as np

PROBE = "dermis_probe"


class Unreadable(Exception):
    """What is wrong with the scene, and what to do."""


def armature_modifier(thing):
    """The first armature modifier that is switched on.

    Raises
    ------
    Unreadable
        If there is none, or several.
    """
    found = [m for m in thing.modifiers if m.type == "ARMATURE" and m.object is not None and m.show_viewport]
    if not found:
        raise Unreadable(f"{thing.name} has no Armature modifier with an armature. Parent the mesh to its armature")
    if len({m.object for m in found}) > 1:
        names = ", ".join(m.object.name for m in found)
        raise Unreadable(f"{thing.name} follows several armatures ({names}). Keep one Armature modifier")
    return found[0]


def metres():
    """Metres per unit of the scene."""
    return bpy.context.scene.unit_settings.scale_length


def place_of(armature):
    """Armature space to metres, where the armature object stands now, shape (4, 4).

    Raises
    ------
    Unreadable
        For a scale that is not the same in all directions, or negative.
    """
    matrix = np.array(armature.matrix_world, dtype=np.float64)
    lengths = np.linalg.norm(matrix[:3, :3], axis=0)
    if not np.isfinite(matrix).all() or lengths.min() < 1e-9:
        raise Unreadable(f"{armature.name} has no size. Set its scale to 1")
    if np.linalg.det(matrix[:3, :3]) < 0.0 or lengths.max() > 1.001 * lengths.min():
        raise Unreadable(
            f"{armature.name} is scaled unevenly or mirrored. Apply its scale: Object > Apply > Scale, in the rest pose"
        )
    matrix[:3] *= metres()
    return matrix


def to_place(thing, armature, place):
    """The mesh's own space to metres, shape (4, 4)."""
    against = np.linalg.inv(np.array(armature.matrix_world)) @ np.array(thing.matrix_world)
    return place @ against


def points(matrix, positions):
    """Positions (V, 3) by a matrix (4, 4)."""
    return positions @ matrix[:3, :3].T + matrix[:3, 3]


def rest_positions(mesh):
    """The vertices of a mesh without shape keys and modifiers, shape (V, 3)."""
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    source = mesh.shape_keys.reference_key.points if mesh.shape_keys else mesh.vertices
    source.foreach_get("co", flat)
    return flat.reshape(-1, 3).astype(np.float64)


def triangles(mesh):
    """Triangles of a mesh, shape (F, 3): fans of its polygons, so that they do not change when the surface moves."""
    starts = np.empty(len(mesh.polygons), dtype=np.int32)
    totals = np.empty(len(mesh.polygons), dtype=np.int32)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    mesh.polygons.foreach_get("loop_total", totals)
    mesh.loops.foreach_get("vertex_index", corners)
    fans = []
    for side in range(1, int(totals.max(initial=2)) - 1):
        long = totals > side + 1
        first = starts[long]
        fans.append(np.stack([corners[first], corners[first + side], corners[first + side + 1]], axis=1))
    return np.concatenate(fans) if fans else np.empty((0, 3), dtype=np.int32)


def polygons(mesh):
    """How many corners each polygon of a mesh has, and the vertices at its corners: a smoothing modifier follows their edges."""
    totals = np.empty(len(mesh.polygons), dtype=np.int32)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.polygons.foreach_get("loop_total", totals)
    mesh.loops.foreach_get("vertex_index", corners)
    return {"face_counts": totals, "face_indices": corners}


def weights(thing, names):
    """Skinning weights (V, B) from the vertex groups of deforming bones, and the bone of each group.

    Rows are normalised as the Armature modifier does. A vertex without any weight keeps a row of zeros.
    """
    armature = armature_modifier(thing).object
    table = np.zeros((len(thing.data.vertices), len(names)))
    column = {}
    for group in thing.vertex_groups:
        bone = armature.data.bones.get(group.name)
        if bone is not None and bone.use_deform:
            column[group.index] = names.index(group.name)
    for vertex in thing.data.vertices:
        for entry in vertex.groups:
            if (at := column.get(entry.group)) is not None:
                table[vertex.index, at] += entry.weight
    totals = table.sum(axis=1, keepdims=True)
    return np.divide(table, totals, out=table, where=totals > 0.0)


def bone_names(armature):
    """The bones, parents first."""
    return [bone.name for bone in armature.data.bones]


def rest_matrices(armature):
    """Bones at rest in armature space, shape (B, 4, 4)."""
    return np.array([bone.matrix_local for bone in armature.data.bones], dtype=np.float64)


def rig_arrays(thing, place):
    """What `dermis.Rig` takes, and what a bundle holds of a rig."""
    armature = armature_modifier(thing).object
    bones = armature.data.bones
    names = bone_names(armature)
    parents = [names.index(b.parent.name) if b.parent else -1 for b in bones]
    return {
        "rest_vertices": points(to_place(thing, armature, place), rest_positions(thing.data)),
        "faces": triangles(thing.data),
        **polygons(thing.data),
        "bone_names": names,
        "bone_parents": np.array(parents),
        "bind_matrices": place @ rest_matrices(armature),
        "weights": weights(thing, names),
        "up": "z",
        "unit": 1.0,
    }


class Bones:
    """The pose of an armature, read fast: its bones in the order of `bone_names`."""

    def __init__(self, armature):
        order = {bone.name: at for at, bone in enumerate(armature.pose.bones)}
        names = bone_names(armature)
        places = [order[name] for name in names]
        self.places = None if places == list(range(len(places))) else places
        self.flat = np.empty(16 * len(names), dtype=np.float32)

    def matrices(self, evaluated):
        """Bones in armature space, float32, shape (B, 4, 4); the memory is reused."""
        evaluated.pose.bones.foreach_get("matrix", self.flat)
        columns = self.flat.reshape(-1, 4, 4).transpose(0, 2, 1)
        return columns if self.places is None else columns[self.places]


def pose_matrices(armature, place, depsgraph=None):
    """Joint to world, in metres, in the pose that is shown, shape (B, 4, 4)."""
    depsgraph = depsgraph or bpy.context.evaluated_depsgraph_get()
    return place @ Bones(armature).matrices(armature.evaluated_get(depsgraph)).astype(np.float64)


def shown_positions(thing, depsgraph=None):
    """The evaluated vertices in the object's own space, float32, shape (N, 3)."""
    depsgraph = depsgraph or bpy.context.evaluated_depsgraph_get()
    mesh = thing.evaluated_get(depsgraph).data
    attribute = mesh.attributes["position"].data
    flat = np.empty(3 * len(attribute), dtype=np.float32)
    attribute.foreach_get("vector", flat)
    return flat.reshape(-1, 3)


def skin(thing, place, depsgraph=None):
    """The skin that is shown, in metres, shape (V, 3).

    Raises
    ------
    Unreadable
        If modifiers add or remove vertices.
    """
    found = shown_positions(thing, depsgraph)
    count = len(thing.data.vertices)
    if len(found) != count:
        raise Unreadable(
            f"Modifiers of {thing.name} make {len(found)} vertices of {count}. "
            "Switch off in the viewport those that add or remove any, such as Subdivision Surface"
        )
    armature = armature_modifier(thing).object
    return points(to_place(thing, armature, place), found.astype(np.float64))


def same_vertices(thing):
    """Whether every vertex comes through the modifiers as itself.

    A list of modifiers does not tell: a number per vertex is sent through them.
    """
    mesh = thing.data
    if mesh.attributes.get(PROBE) is not None:
        mesh.attributes.remove(mesh.attributes[PROBE])
    numbers = np.arange(len(mesh.vertices), dtype=np.int32)
    probe = mesh.attributes.new(PROBE, "INT", "POINT")
    try:
        probe.data.foreach_set("value", numbers)
        mesh.update_tag()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        depsgraph.update()
        evaluated = thing.evaluated_get(depsgraph).data
        through = evaluated.attributes.get(PROBE)
        if through is None or len(through.data) != len(numbers):
            return False
        found = np.empty(len(through.data), dtype=np.int32)
        through.data.foreach_get("value", found)
        return bool((found == numbers).all())
    finally:
        mesh.attributes.remove(mesh.attributes[PROBE])


@contextlib.contextmanager
def at_frames(scene):
    """Puts the frame back where it was."""
    frame, part = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=part)


@contextlib.contextmanager
def without(modifiers):
    """Switches modifiers off, and on again."""
    found = [m for m in modifiers if m.show_viewport]
    for modifier in found:
        modifier.show_viewport = False
    try:
        yield
    finally:
        for modifier in found:
            modifier.show_viewport = True
