# SPDX-License-Identifier: GPL-3.0-or-later
"""The model in the viewport: after every change of pose the skin is written into a carrier mesh, which a geometry-nodes modifier
of the character reads.

Two places in the stack of modifiers:

- Correction, before the armature: the carrier holds displacements of the rest shape, so that shape keys and the armature act on
  the corrected shape.
- Replace, behind all modifiers that move vertices: the carrier holds the skin.

One function runs behind `depsgraph_update_post` and `frame_change_post` (setting a frame calls the second alone). It compares
the bones with those of its last run, so its own writing calls for nothing. Files are saved with the modifier switched off:
without the add-on they show what the other modifiers make.
"""

import contextlib

import bpy
import numpy as np
from bpy.app.handlers import persistent

from . import character, reading
from .package import MISSING, needed
from .reading import Unreadable

MODIFIER = "Dermis"
CORRECTION, REPLACE = "CORRECTION", "REPLACE"
# Frames that are farther apart, in seconds, do not follow each other.
LONGEST = 0.5
# What `fitted_by` says of a model of a session.
SESSION = "SESSION"
# And of a model from a file.
FILE = "FILE"
# Modifiers that add, remove or reorder vertices.
CHANGES_TOPOLOGY = {
    "ARRAY", "BEVEL", "BOOLEAN", "BUILD", "DECIMATE", "EDGE_SPLIT", "EXPLODE", "MASK", "MIRROR", "MULTIRES", "NODES",
    "PARTICLE_INSTANCE", "REMESH", "SCREW", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "VOLUME_TO_MESH", "WELD", "WIREFRAME",
}  # fmt: skip

_running = {}
_models = {}
_muted = []


class Running:
    """A character whose model is shown."""

    def __init__(self, thing):
        own = thing.dermis
        self.rig = character.armature(thing)
        self.model = model_of(thing)
        self.place = character.place(thing)
        self.mode = mode_of(thing)
        self.bones = reading.Bones(self.rig)
        names = own.bones.split(character.SEPARATOR)
        if names != reading.bone_names(self.rig):
            raise Unreadable("The bones have changed since the model was fitted. Fit again")
        if own.vertices != len(thing.data.vertices):
            raise Unreadable(f"The mesh had {own.vertices} vertices when the model was fitted, and has {len(thing.data.vertices)}")
        self.carrier = _carrier(thing)
        self.flat = np.empty((len(thing.data.vertices), 3), dtype=np.float32)
        self.springs, self.frame = self.model.springs(), None
        self.last = None
        self.degrees, self.joint, self.unreached, self.failed = float("nan"), "", 0, ""

    def show(self, thing, depsgraph, scene):
        """Writes the skin of the pose that is shown, if it has changed, and lets it swing from frame to frame."""
        shown = self.bones.matrices(self.rig.evaluated_get(depsgraph))
        against = np.linalg.inv(np.array(self.rig.matrix_world)) @ np.array(thing.matrix_world)
        key = shown.tobytes() + against.tobytes()
        frame = scene.frame_current_final if self.springs else self.frame
        if key == self.last and frame == self.frame:
            return
        self.last = key
        pose = self.place @ shown.astype(np.float64)
        own = np.linalg.inv(self.place @ against)
        found = self.model(pose) if self.springs or self.mode == REPLACE else None
        offsets = self.swung(found, np.array(thing.matrix_world) @ own, scene) if self.springs else None
        if self.mode == CORRECTION:
            found, self.unreached = self.model.displacements(pose, offsets=offsets)
            np.matmul(found, own[:3, :3].T.astype(np.float32), out=self.flat)
        else:
            found = found if offsets is None else found + offsets
            np.copyto(self.flat, reading.points(own, found.astype(np.float64)))
        degrees, joints = self.model.degrees_from_training(pose)
        self.degrees, self.joint = float(degrees[0]), joints[0] or ""
        mesh = self.carrier.data
        mesh.attributes["position"].data.foreach_set("vector", self.flat.ravel())
        mesh.update_tag()


    def swung(self, skin, to_world, scene):
        """How far every vertex of a skin swings from it, in the model's own space. A frame that does not follow the last is at rest."""
        frame, rate = scene.frame_current_final, scene.render.fps / scene.render.fps_base
        passed = float("inf") if self.frame is None else (frame - self.frame) / rate
        if not 0 < passed <= LONGEST:
            self.springs.reset()
        self.frame = frame
        scale = np.cbrt(abs(np.linalg.det(to_world[:3, :3])))
        way = to_world.copy()
        way[:3] /= scale
        offsets = self.springs.apply(passed, reading.points(way, skin.astype(np.float64)))
        return offsets @ way[:3, :3].astype(np.float32)


def model_of(thing):
    """The model of a character.

    Raises
    ------
    Unreadable
        If it has none, or the package is missing.
    """
    own = thing.dermis
    data = own.get("model_bytes")
    if not own.model or not isinstance(data, bytes):
        raise Unreadable(f"{thing.name} has no model yet. Press Fit")
    # A session may have begun with another file of the character, and a model be made of one.
    is_of_file = own.fitted_by in (SESSION, FILE)
    key = (own.model, thing.name if is_of_file else "")
    if key not in _models:
        try:
            package = needed()
            _models.clear()
            model = package.Model.read(data)
        except (RuntimeError, ValueError) as wrong:
            raise Unreadable(f"The model of {thing.name} cannot be read: {wrong}") from None
        if is_of_file and not (match := Match(model.rig, thing)).is_same:
            model = Matched(model, match)
        _models[key] = model
    return _models[key]


class Match:
    """How a rig of a file is the character: its axes and unit, the places of its bones and vertices.

    A drawn mesh has several vertices at a seam, which the program welds: there the character may have more than the rig.

    Raises
    ------
    Unreadable
        If bones are missing, or vertices are elsewhere at rest.
    """

    def __init__(self, rig, thing):
        armature, place = character.armature(thing), character.place(thing)
        names = reading.bone_names(armature)
        lost = [name for name in rig.bone_names if name not in names]
        if lost:
            raise Unreadable(f"{armature.name} has no bone {lost[0]}, which the model's rig has ({len(lost)} are missing)")
        self.rig = rig
        self.bones = [names.index(name) for name in rig.bone_names]
        self.parents = [names.index(bone.parent.name) if bone.parent else -1 for bone in armature.data.bones]
        self.to_place = np.diag([rig.unit, rig.unit, rig.unit, 1.0])
        if rig.up == "y":
            self.to_place = self.to_place @ np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]])
        self.from_place = np.linalg.inv(self.to_place)
        self.bind = place @ reading.rest_matrices(armature)
        # M = P B⁻¹ carries rest to pose, here and, in other axes, there.
        self.of_bones = np.linalg.inv(self.bind[self.bones]) @ self.to_place @ rig.bind_matrices
        self.rest = reading.points(self.to_place, rig.rest_vertices)
        own = reading.points(reading.to_place(thing, armature, place), reading.rest_positions(thing.data))
        self.vertices = _same_points(self.rest, own, thing.name)
        in_order = self.vertices is None and self.bones == list(range(len(names)))
        same_axes = np.abs(self.to_place - np.eye(4)).max() == 0.0
        self.is_same = in_order and same_axes and np.abs(self.bind - rig.bind_matrices).max() < 1e-5

    def pose(self, bones):
        """Poses of the character (..., B, 4, 4) as those of the rig."""
        return self.from_place @ np.asarray(bones)[..., self.bones, :, :] @ self.of_bones

    def bones_in(self, pose):
        """A pose of the rig as one of the character (B, 4, 4). Bones that the rig lacks go with their parents."""
        moves = [None] * len(self.parents)
        for at, move in zip(self.bones, self.to_place @ pose @ np.linalg.inv(self.of_bones) @ np.linalg.inv(self.bind[self.bones])):
            moves[at] = move
        for at, parent in enumerate(self.parents):
            if moves[at] is None:
                moves[at] = moves[parent] if parent >= 0 else np.eye(4)
        return np.array(moves) @ self.bind

    def skin(self, found):
        """Vertices of the rig as those of the character."""
        moved = reading.points(self.to_place, found)
        return moved if self.vertices is None else moved[self.vertices]

    def directions(self, found):
        """Directions at vertices of the rig (..., V, 3) as those of the character."""
        moved = found @ self.to_place[:3, :3].T.astype(np.float32)
        return moved if self.vertices is None else moved[..., self.vertices, :]

    def gathered(self, values):
        """Values at vertices of the character at those of the rig: the mean where several are one there."""
        if self.vertices is None:
            return values
        count = np.bincount(self.vertices, minlength=len(self.rest))
        columns = np.reshape(values, (len(values), -1)).T
        sums = np.stack([np.bincount(self.vertices, weights=column, minlength=len(self.rest)) for column in columns], axis=-1)
        return (sums / count[:, None]).reshape(len(self.rest), *values.shape[1:])

    def bundle(self, pose):
        """A pose of the character (B, 4, 4) on the rig, as a bundle holds it, in metres with Z up."""
        return {
            "rest_vertices": self.rest,
            "faces": self.rig.faces,
            "bone_names": self.rig.bone_names,
            "bone_parents": self.rig.bone_parents,
            "bind_matrices": self.bind[self.bones],
            "pose_matrices": pose[None, self.bones],
            "units": "m",
            "up_axis": "z",
        }


def _same_points(rest, own, name):
    """The vertex of `rest` at each place of `own`; None if they are in order."""
    from mathutils.kdtree import KDTree

    near = 1e-4 * float(np.ptp(own, axis=0).max())
    if rest.shape == own.shape and np.abs(rest - own).max() <= near:
        return None
    tree = KDTree(len(rest))
    for number, point in enumerate(rest):
        tree.insert(point, number)
    tree.balance()
    found = [tree.find(point) for point in own]
    numbers = np.array([number for _, number, _ in found])
    lost = sum(distance > near for _, _, distance in found)
    missing = len(rest) - len(np.unique(numbers))
    if lost or missing:
        what = f"{lost} of {len(own)} vertices of {name} are not in the model's rig, which has {len(rest)}"
        what = what if lost else f"{missing} of {len(rest)} vertices of the model's rig are not in {name}, which has {len(own)}"
        raise Unreadable(f"{what}. Open one that was made with this character, where it stands")
    return numbers


class Matched:
    """A model of another file of the character: it takes the poses and gives the skins of this one."""

    def __init__(self, model, match):
        self.model, self.match = model, match
        self.method, self.save, self.to_bytes = model.method, model.save, model.to_bytes

    def __call__(self, pose):
        return self.match.skin(self.model(self.match.pose(pose))).astype(np.float32)

    def springs(self):
        springs = self.model.springs()
        return springs and MatchedSprings(springs, self.match)

    def displacements(self, pose, offsets=None):
        if offsets is not None:
            offsets = self.match.gathered(offsets) @ self.match.from_place[:3, :3].T
        found, unreached = self.model.displacements(self.match.pose(pose), offsets=offsets)
        return self.match.directions(found), unreached

    def degrees_from_training(self, pose):
        return self.model.degrees_from_training(self.match.pose(pose))


class MatchedSprings:
    """Springs of a model of another file: they take and give vertices of this one, in metres of any axes."""

    def __init__(self, springs, match):
        self.springs, self.match, self.reset = springs, match, springs.reset

    def apply(self, seconds, positions):
        unit, vertices = self.match.rig.unit, self.match.vertices
        offsets = self.springs.apply(seconds, self.match.gathered(positions) / unit) * np.float32(unit)
        return offsets if vertices is None else offsets[vertices]


def mode_of(thing):
    """Where the model acts: what the person chose, or what suits the modifiers."""
    own = thing.dermis
    if own.mode != "AUTO":
        return own.mode
    return CORRECTION if not why_not_correction(thing) else REPLACE


def why_not_correction(thing):
    """Why a correction before the armature would not show the model; empty if it does."""
    try:
        armature = reading.armature_modifier(thing)
    except Unreadable as wrong:
        return str(wrong)
    if armature.use_deform_preserve_volume:
        return "The Armature modifier preserves volume"
    others = [m for m in thing.modifiers if m.show_viewport and m != armature and m.name != MODIFIER]
    moving = [m.name for m in others if m.type not in CHANGES_TOPOLOGY]
    if moving:
        return f"{moving[0]} moves vertices as well"
    if thing.dermis.get("learnt_shape_keys"):
        return "The examples were taken with shape keys on"
    if thing.override_library is not None:
        return "The character is linked"
    return ""


def switched(thing):
    """The person switched Live, or its mode."""
    _running.pop(thing.name, None)
    if not thing.dermis.live:
        remove(thing)
        return
    install(thing)


def install(thing):
    """Puts modifier and carrier in place, and shows the model."""
    try:
        running = Running(thing)
        _modifier(thing, running)
    except (Unreadable, RuntimeError) as wrong:
        _running[thing.name] = _Failed(str(wrong))
        return
    _running[thing.name] = running
    update(bpy.context.scene, bpy.context.evaluated_depsgraph_get())


class _Failed:
    """A character whose model cannot be shown, and why."""

    def __init__(self, failed):
        self.failed, self.degrees, self.joint, self.unreached, self.mode = failed, float("nan"), "", 0, ""
        self.last = None

    def show(self, thing, depsgraph, scene):
        pass


def state(thing):
    """What is known of a character that is live; None if it is not."""
    return _running.get(thing.name)


def refresh(thing):
    """The model has changed."""
    if thing.dermis.live:
        switched(thing)


def remove(thing):
    """Takes modifier, nodes and carrier away."""
    _running.pop(thing.name, None)
    modifier = thing.modifiers.get(MODIFIER)
    if modifier is not None and modifier.type == "NODES":
        group = modifier.node_group
        if not _is_linked(thing, modifier):
            thing.modifiers.remove(modifier)
            _drop_group(group)
        else:
            modifier.show_viewport = modifier.show_render = False
    local = thing.modifiers.get(f"{MODIFIER} here")
    if local is not None:
        group = local.node_group
        thing.modifiers.remove(local)
        _drop_group(group)


def _is_linked(thing, modifier):
    return thing.override_library is not None and not modifier.is_override_data is False


def _drop_group(group):
    if group is None or group.library is not None or group.users:
        return
    carriers = [n.inputs["Object"].default_value for n in group.nodes if n.bl_idname == "GeometryNodeObjectInfo"]
    bpy.data.node_groups.remove(group)
    for carrier in carriers:
        if carrier is not None and carrier.library is None and carrier.users == 0:
            mesh = carrier.data
            bpy.data.objects.remove(carrier)
            if mesh.users == 0:
                bpy.data.meshes.remove(mesh)


def _own_modifier(thing):
    """The modifier that shows the model; on a linked character one that was added here."""
    return thing.modifiers.get(f"{MODIFIER} here" if thing.override_library else MODIFIER)


def _carrier(thing):
    """The carrier mesh of a character, in no collection."""
    modifier = _own_modifier(thing)
    if modifier is not None and modifier.type == "NODES" and modifier.node_group is not None:
        for node in modifier.node_group.nodes:
            if node.bl_idname == "GeometryNodeObjectInfo":
                found = node.inputs["Object"].default_value
                if found is not None and found.library is None and len(found.data.vertices) == len(thing.data.vertices):
                    return found
    mesh = bpy.data.meshes.new(f"Dermis {thing.name}")
    mesh.vertices.add(len(thing.data.vertices))
    return bpy.data.objects.new(f"Dermis {thing.name}", mesh)


def _modifier(thing, running):
    """The modifier at its place in the stack."""
    name = f"{MODIFIER} here" if thing.override_library else MODIFIER
    modifier = thing.modifiers.get(name)
    if modifier is None:
        modifier = thing.modifiers.new(name, "NODES")
        if modifier is None:
            raise Unreadable(f"{thing.name} takes no modifier")
        modifier.show_expanded = False
    if thing.override_library and (linked := thing.modifiers.get(MODIFIER)) is not None:
        linked.show_viewport = linked.show_render = False
    group = modifier.node_group
    if group is None or group.library is not None or group.get("mode") != running.mode or not _reads(group, running.carrier):
        modifier.node_group = _nodes(f"Dermis {thing.name}", running)
        if group is not None and group.users == 0 and group.library is None:
            bpy.data.node_groups.remove(group)
    modifier.show_viewport = modifier.show_render = modifier.show_in_editmode = True
    stack = list(thing.modifiers)
    at = stack.index(modifier)
    if thing.override_library is None:
        armature = stack.index(reading.armature_modifier(thing))
        if running.mode == CORRECTION:
            target = armature - (at < armature)
        else:
            others = [m for m in stack if m != modifier]
            behind = [i for i, m in enumerate(others) if m.type in CHANGES_TOPOLOGY and i > others.index(stack[armature])]
            target = behind[0] if behind else len(others)
        if at != target:
            thing.modifiers.move(at, target)


def _reads(group, carrier):
    return any(
        node.bl_idname == "GeometryNodeObjectInfo" and node.inputs["Object"].default_value == carrier for node in group.nodes
    )


def _nodes(name, running):
    """Nodes that set positions, or offsets, to the vertices of the carrier, by their number."""
    group = bpy.data.node_groups.new(name, "GeometryNodeTree")
    group["mode"] = running.mode
    group.is_modifier = True
    group.interface.new_socket(name="Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket(name="Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    nodes, links = group.nodes, group.links
    come, go = nodes.new("NodeGroupInput"), nodes.new("NodeGroupOutput")
    carrier = nodes.new("GeometryNodeObjectInfo")
    carrier.transform_space = "ORIGINAL"
    carrier.inputs["Object"].default_value = running.carrier
    position, number = nodes.new("GeometryNodeInputPosition"), nodes.new("GeometryNodeInputIndex")
    sample = nodes.new("GeometryNodeSampleIndex")
    sample.data_type, sample.domain = "FLOAT_VECTOR", "POINT"
    place = nodes.new("GeometryNodeSetPosition")
    links.new(carrier.outputs["Geometry"], sample.inputs["Geometry"])
    links.new(position.outputs["Position"], sample.inputs["Value"])
    links.new(number.outputs["Index"], sample.inputs["Index"])
    links.new(come.outputs["Geometry"], place.inputs["Geometry"])
    links.new(sample.outputs["Value"], place.inputs["Offset" if running.mode == CORRECTION else "Position"])
    links.new(place.outputs["Geometry"], go.inputs["Geometry"])
    for column, node in enumerate((position, number, carrier, sample, come, place, go)):
        node.location = (180.0 * column, 0.0)
    return group


@contextlib.contextmanager
def hidden(thing):
    """The scene without the model, to read what the other modifiers make."""
    names = (MODIFIER, f"{MODIFIER} here")
    with reading.without([m for m in thing.modifiers if m.name in names]):
        yield


@persistent
def update(scene, depsgraph=None):
    """Shows the models of a scene in the pose that it is in. It never raises: what fails is said in the panel."""
    if not _running:
        return
    for name in list(_running):
        running, thing = _running[name], bpy.data.objects.get(name)
        try:
            if thing is None or not thing.dermis.live:
                del _running[name]
                continue
            running.show(thing, depsgraph or bpy.context.evaluated_depsgraph_get(), scene)
        except Exception as wrong:  # noqa: BLE001 a handler may not raise per frame
            _running[name] = _Failed(f"{wrong}")


def _restart():
    """After a file was read, or a step undone: what was known of objects is void."""
    _running.clear()
    for thing in bpy.data.objects:
        if thing.type == "MESH" and thing.library is None and thing.dermis.live:
            install(thing)


@persistent
def _loaded(*_):
    _models.clear()
    _restart()


@persistent
def _undone(*_):
    _restart()


@persistent
def _saving(*_):
    _muted.clear()
    for thing in bpy.data.objects:
        if thing.library is None and thing.dermis.live and (modifier := _own_modifier(thing)) is not None:
            modifier.show_viewport = modifier.show_render = False
            _muted.append((thing.name, modifier.name))


@persistent
def _saved(*_):
    for name, modifier in _muted:
        thing = bpy.data.objects.get(name)
        if thing is not None and (found := thing.modifiers.get(modifier)) is not None:
            found.show_viewport = found.show_render = True
    _muted.clear()


HANDLERS = (
    ("depsgraph_update_post", update),
    ("frame_change_post", update),
    ("load_post", _loaded),
    ("undo_post", _undone),
    ("redo_post", _undone),
    ("save_pre", _saving),
    ("save_post", _saved),
    ("save_post_fail", _saved),
)


def register():
    if MISSING:
        return
    for name, handler in HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        if handler not in handlers:
            handlers.append(handler)


def unregister():
    for name, handler in HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        for found in [h for h in handlers if h.__name__ == handler.__name__ and h.__module__ == handler.__module__]:
            handlers.remove(found)
    _running.clear()
    _models.clear()
