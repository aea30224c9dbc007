# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking: the model as shape keys or a point cache, for files that are opened without the add-on, and export."""

import dataclasses
import json
import os
import struct
import tempfile

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from . import bundles, character, examples, jobs, live, reading
from .package import needed
from .reading import Unreadable

CACHE = "Dermis Cache"
SMOOTH = "Dermis Corrective Smooth"


class DERMIS_OT_bake_shapes(jobs.JobOperator, bpy.types.Operator):
    """Make shape keys of the model, so that the file shows it without the add-on. Shapes of sculpts are driven by the joints,
    others are keyed over the action"""

    bl_idname = "dermis.bake_shapes"
    bl_label = "Bake Shape Keys"

    count: IntProperty(name="Shapes", description="Shape keys at most, of a model that has no shapes of its own", default=16, min=1, max=256)
    drive: BoolProperty(name="Driven", description="Drive shapes of sculpts by the joints, in any pose", default=True)

    def gather(self, context, thing):
        if thing.override_library is not None or thing.data.library is not None:
            raise Unreadable(f"{thing.name} is linked. Bake in its own file")
        reason = live.why_not_correction(thing)
        if reason:
            raise Unreadable(f"Shape keys act before the armature, which shows the model only where the armature alone follows. {reason}")
        frames, poses = bundles.motion_of(context, thing)
        return live.model_of(thing), poses, frames, self.count, self.drive

    def work(self, gathered, progress):
        model, poses, frames, count, drive = gathered
        package = needed()
        if isinstance(model, live.Matched):
            track = package.shape_track(model.model, model.match.pose(poses), shapes=count, progress=progress)
            track = dataclasses.replace(track, displacements=model.match.directions(track.displacements))
        else:
            track = package.shape_track(model, poses, shapes=count, progress=progress)
        table = None
        if drive and model.method == "correctives":
            with tempfile.TemporaryDirectory() as folder:
                file, said = os.path.join(folder, "model.dermis"), os.path.join(folder, "table.json")
                model.save(file)
                package.export(file, os.path.join(folder, "shapes.glb"), table=said)
                with open(said, encoding="utf-8") as stream:
                    table = json.load(stream)
        return track, frames, table

    def finish(self, context, thing, found):
        track, frames, table = found
        if track.displacements.shape[1] != len(thing.data.vertices):
            raise Unreadable("The mesh has changed since the work began. Bake again")
        place = character.place(thing)
        own = np.linalg.inv(reading.to_place(thing, character.armature(thing), place))[:3, :3]
        clear(thing)
        if thing.data.shape_keys is None:
            thing.shape_key_add(name="Basis")
        rest = reading.rest_positions(thing.data)
        made = []
        for name, displacement in zip(track.names, track.displacements):
            key = thing.shape_key_add(name=name, from_mix=False)
            key.data.foreach_set("co", (rest + displacement @ own.T).astype(np.float32).ravel())
            key.slider_min, key.slider_max = 0.0, 1.0
            made.append(key.name)
        thing.dermis["baked"] = character.SEPARATOR.join(made)
        keys, reason = thing.data.shape_keys, ""
        if table is not None:
            reason = drive(thing, table, made)
        if table is None or reason:
            for step, frame in enumerate(frames):
                for at, name in enumerate(made):
                    keys.key_blocks[name].value = float(track.weights[step][at])
                    keys.key_blocks[name].keyframe_insert("value", frame=frame)
        thing.dermis.live = False
        how = "driven by the joints" if table is not None and not reason else f"keyed from frame {frames[0]} to {frames[-1]}"
        self.report({"INFO"}, f"{len(made)} shape keys, {how}")
        if reason:
            self.report({"WARNING"}, f"Keyed, not driven: {reason}")


def clear(thing):
    """Takes the shape keys of an earlier bake away, with their drivers and keys."""
    keys = thing.data.shape_keys
    names = [n for n in str(thing.dermis.get("baked", "")).split(character.SEPARATOR) if n]
    if keys is None:
        return
    for name in names:
        if (key := keys.key_blocks.get(name)) is not None:
            key.driver_remove("value")
            key_path = key.path_from_id("value")
            _forget_curve(keys, key_path)
            thing.shape_key_remove(key)
    for name in [n for n in keys.keys() if n.startswith("dermis ")]:
        keys.driver_remove(f'["{name}"]')
        del keys[name]


def _forget_curve(keys, path):
    data = keys.animation_data
    if data is None or data.action is None:
        return
    bags = [data.action]
    if hasattr(data.action, "layers"):
        bags = [bag for layer in data.action.layers for strip in layer.strips for bag in strip.channelbags]
    for bag in bags:
        for curve in [c for c in bag.fcurves if c.data_path == path]:
            bag.fcurves.remove(curve)


def drive(thing, table, names):
    """Drives shape keys by a table of a pose space (docs/drivers.md), with simple expressions that need no Python.

    Every joint has one distance to each centre; the kernels and the weights are computed from these. Returns why it cannot be
    done, or nothing.
    """
    rig, keys = character.armature(thing), thing.data.shape_keys
    kinds = table["coordinates"]
    parts = [joint.get("part", "whole") for joint in table["joints"]]
    is_driven = kinds["kind"] == "chord" or (kinds["kind"] == "swing-twist" and "whole" not in parts)
    if not is_driven or table["kernel"]["kind"] != "gaussian" or table["linear"] or table["channels"]:
        return "its shapes are driven by more than the turns of joints"
    bones = [bone["name"] for bone in table["bones"]]
    joints = []
    for joint, part in zip(table["joints"], parts):
        path = [[bones[a], bones[b]] for a, b in joint["path"]]
        if len(path) != 1:
            return "a joint is driven over several bones"
        above, bone = path[0]
        found = rig.data.bones.get(bone)
        if found is None or found.parent is None or found.parent.name != above:
            return f"{bone} is driven against {above}, which is not its parent"
        if part == "whole":
            joints.append((_Chord(rig, bone), joint["limit"]))
        elif part == "swing":
            joints.append((_Swing(rig, bone, joint["axis"], kinds["swing"]), joint["limit"]))
        else:
            joints.append((_Twist(rig, bone, joint["axis"], kinds["twist"]), joint["limit"]))
    made = {}

    def value(name, text, variables):
        """A property that is driven by an expression."""
        name = f"dermis {name}"
        keys[name] = 0.0
        _driver(keys.driver_add(f'["{name}"]').driver, text, variables, keys)
        made[name] = True
        return name

    sigma2 = table["kernel"]["sigma"] ** 2
    turned = {}
    scale = {}
    size = 9 if kinds["kind"] == "chord" else 5
    for number, (joint, limit) in enumerate(joints):
        angles = [(axis, (rig, joint.bone, f"ROT_{axis.upper()}")) for axis in "wxyz"]
        turned[number] = [(letter, value(f"{letter} {number}", text, angles)) for letter, text in joint.read()] or angles
        far = value(f"x {number}", joint.distance(np.zeros(size)), turned[number])
        # |x| beyond the limit is scaled to it.
        scale[number] = (far, None if limit is None else value(f"s {number}", f"{limit:.9g}/max(sqrt(x),{limit:.9g})", [("x", far)]))
    terms, windows = {name: [] for name in names}, {}
    for r, region in enumerate(table["regions"]):
        relevance = region["relevance"]
        at_rest = [value(f"r {r} {j}", "x" if scale[j][1] is None else "s*s*x", _given(scale[j])) for j, _ in relevance]
        rest_text = "exp(-(" + "+".join(f"{a / sigma2:.9g}*v{n}" for n, (_, a) in enumerate(relevance)) + "))"
        if len(rest_text) > 250:
            return "a shape is driven by too many joints"
        near = value(f"n {r}", rest_text, [(f"v{n}", name) for n, name in enumerate(at_rest)])
        for m, centre in enumerate(region["centres"]):
            distances, constant = [], 0.0
            for n, (j, a) in enumerate(relevance):
                y = np.array(centre[size * n : size * n + size])
                rest = float(y @ y)
                constant += a * rest / sigma2
                straight = value(f"d {r} {m} {j}", joints[j][0].distance(y), turned[j])
                if scale[j][1] is not None:
                    text = f"s*s*x-s*(x+{rest:.9g}-d)+{rest:.9g}"
                    straight = value(f"l {r} {m} {j}", text, [("d", straight), *_given(scale[j])])
                distances.append(straight)
            text = "exp(-(" + "+".join(f"{a / sigma2:.9g}*v{n}" for n, (_, a) in enumerate(relevance)) + f"))-{np.exp(-constant):.9g}*n"
            kernel = value(f"k {r} {m}", text, [*((f"v{n}", name) for n, name in enumerate(distances)), ("n", near)])
            for shape, window in zip(region["shapes"], region.get("windows", [])):
                if window["centre"] == m:
                    square = "+".join(f"{b:.9g}*v{n}" for n, b in enumerate(window["relevance"]) if b)
                    edge = value(f"e {r} {shape}", f"min(max(4*sqrt(max({square},0))-3,0),1)", [(f"v{n}", name) for n, name in enumerate(distances)])
                    windows[names[shape]] = value(f"w {r} {shape}", "1-t*t*(3-2*t)", [("t", edge)])
            for row, shape in zip(region["matrix"], region["shapes"]):
                if row[m]:
                    terms[names[shape]].append((row[m], kernel))
    low, high = table["clamp"]
    for at, name in enumerate(names):
        text = "+".join([f"{table['offset'][at]:.9g}", *(f"{c:.9g}*v{n}" for n, (c, _) in enumerate(terms[name]))]).replace("+-", "-")
        text = f"min(max({text},{low:.9g}),{high:.9g})"
        variables = [(f"v{n}", k) for n, (_, k) in enumerate(terms[name])]
        if name in windows:
            text, variables = f"e*{text}", [*variables, ("e", windows[name])]
        if len(text) > 250:
            return "a shape has too many neighbours"
        key = keys.key_blocks[name]
        _driver(key.driver_add("value").driver, text, variables, keys)
    return ""


class _Chord:
    """The rotation of a joint as its chord: |x - y|² = 4 (1 - (q·q')²) of the quaternions."""

    def __init__(self, rig, bone):
        self.rig, self.bone = rig, bone

    def read(self):
        """Properties that distances are computed from, by their letters; none for the quaternion itself."""
        return []

    def distance(self, y):
        """The squared distance to the numbers of a centre, as an expression."""
        q = _local(self.rig, self.bone, y.reshape(3, 3).T * np.sqrt(2.0) + np.eye(3))
        if abs(q[0]) == 1.0:
            return "4*(1-w*w)"
        return _signed(f"4*(1-pow({'+'.join(f'{c:.9g}*{axis}' for c, axis in zip(q, 'wxyz'))},2))")


class _Swing:
    """The swing of a joint, s (R a - a): |x - y|² = s² (1 + |v|² - 2 (R a)·v) with v = a + y/s."""

    def __init__(self, rig, bone, axis, scale):
        self.bone, self.scale, self.frame = bone, scale, _frame(rig, bone)
        self.axis = self.frame @ np.array(axis)

    def read(self):
        return []

    def distance(self, y):
        u, v = self.axis, self.axis + self.frame @ y[:3] / self.scale
        # (R u)·v as a quadratic form of the quaternion (w, x, y, z).
        form = np.zeros((4, 4))
        form[0, 0] = u @ v
        form[1:, 1:] = np.outer(u, v) + np.outer(v, u) - (u @ v) * np.eye(3)
        form[0, 1:] = form[1:, 0] = np.cross(u, v)
        pairs = [(i, j) for i in range(4) for j in range(i, 4) if abs(form[i, j]) > 1e-9]
        factors = [(form[i, j] * (1 if i == j else 2), "wxyz"[i] + "*" + "wxyz"[j]) for i, j in pairs]
        rotated = "+".join(f"{c:.8g}*{product}" for c, product in factors)
        return _signed(f"{self.scale**2:.9g}*({1.0 + v @ v:.9g}-2*({rotated}))")


class _Twist:
    """The twist of a joint, s (cos t - 1, sin t), by p, the part of the quaternion along the axis."""

    def __init__(self, rig, bone, axis, scale):
        self.bone, self.scale, self.axis = bone, scale, _frame(rig, bone) @ np.array(axis)

    def read(self):
        p = "(" + "+".join(f"{c:.9g}*{axis}" for c, axis in zip(self.axis, "xyz")) + ")"
        length = f"max(w*w+{p}*{p},1e-20)"
        return [("c", _signed(f"(w*w-{p}*{p})/{length}")), ("s", _signed(f"2*w*{p}/{length}"))]

    def distance(self, y):
        cosine, sine = 1.0 + y[3] / self.scale, y[4] / self.scale
        return _signed(f"{self.scale**2:.9g}*(pow(c-{cosine:.9g},2)+pow(s-{sine:.9g},2))")


def _signed(text):
    return text.replace("+-", "-").replace("--", "+")


def _given(scale):
    return [(letter, name) for letter, name in zip("xs", scale) if name is not None]


def _driver(driver, text, variables, keys):
    """Sets a driver: variables are properties of the keys by name, or (armature, bone, channel)."""
    driver.type = "SCRIPTED"
    for name, source in variables:
        variable = driver.variables.new()
        variable.name = name
        if isinstance(source, str):
            variable.type = "SINGLE_PROP"
            target = variable.targets[0]
            target.id_type, target.id, target.data_path = "KEY", keys, f'["{source}"]'
        else:
            variable.type = "TRANSFORMS"
            target = variable.targets[0]
            target.id, target.bone_target, target.transform_type = source
            target.transform_space, target.rotation_mode = "LOCAL_SPACE", "QUATERNION"
    driver.expression = text


def _local(rig, bone, turn):
    """The quaternion of a joint's turn (3, 3), given in the space of the table (Y up), as the bone is set to."""
    from mathutils import Matrix

    frame = _frame(rig, bone)
    found = Matrix((frame @ turn @ frame.T).tolist()).to_quaternion()
    return np.array([found.w, found.x, found.y, found.z])


def _frame(rig, bone):
    """From the space of the table (Y up) to that of the bone as it is set: a rotation (3, 3)."""
    up = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    stand = np.array(rig.matrix_world)[:3, :3]
    rest = (stand / np.linalg.norm(stand[:, 0])) @ np.array(rig.data.bones[bone].matrix_local)[:3, :3]
    return rest.T @ up


class DERMIS_OT_add_smooth(examples.OfCharacter, bpy.types.Operator):
    """Add the Corrective Smooth modifier that the fit found, behind the armature: the base of the model, without its correction"""

    bl_idname = "dermis.add_smooth"
    bl_label = "Add Corrective Smooth"

    def run(self, context, thing):
        steps, factor = smoothing(live.model_of(thing))
        armature = reading.armature_modifier(thing)
        modifier = thing.modifiers.get(SMOOTH) or thing.modifiers.new(SMOOTH, "CORRECTIVE_SMOOTH")
        modifier.smooth_type, modifier.rest_source = "SIMPLE", "ORCO"
        modifier.iterations, modifier.factor, modifier.scale = steps, factor, 1.0
        modifier.use_only_smooth = modifier.use_pin_boundary = False
        modifier.vertex_group = ""
        thing.modifiers.move(list(thing.modifiers).index(modifier), list(thing.modifiers).index(armature) + 1)
        thing.dermis.live = False
        self.report({"INFO"}, f"Corrective Smooth with Repeat {steps} and Factor {factor:g}. Live is off")


def smoothing(model):
    """Repeat and factor of the corrective smoothing that a model corrects.

    Raises
    ------
    Unreadable
        If its base is another.
    """
    base = model.settings.get("base", "").split(" ")[0]
    if not base.startswith("smooth:"):
        raise Unreadable(f"The model corrects {base or 'the armature alone'}. The joint model finds smoothing where the examples show it")
    steps, _, factor = base.removeprefix("smooth:").partition(",")
    return int(steps), float(factor or 0.5)


class DERMIS_OT_bake_cache(examples.OfCharacter, bpy.types.Operator):
    """Write the skin of every frame as a point cache (.pc2), and play it with a Mesh Cache modifier"""

    bl_idname = "dermis.bake_cache"
    bl_label = "Bake Point Cache"

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.pc2", options={"HIDDEN"})
    play: BoolProperty(name="Play It", description="Add a Mesh Cache modifier that plays the file", default=True)

    def invoke(self, context, event):
        self.filepath = self.filepath or f"{character.active(context).name}.pc2"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context, thing):
        model, place = live.model_of(thing), character.place(thing)
        if not self.filepath:
            raise Unreadable("Name a file")
        frames, poses = bundles.motion_of(context, thing)
        own = np.linalg.inv(reading.to_place(thing, character.armature(thing), place))
        path = bpy.path.abspath(self.filepath)
        try:
            with open(path, "wb") as file:
                head = (1, len(thing.data.vertices), float(frames[0]), 1.0, len(frames))
                file.write(b"POINTCACHE2\0" + struct.pack("<iiffi", *head))
                for pose in poses:
                    skin = reading.points(own, model(pose).astype(np.float64))
                    file.write(skin.astype("<f4").tobytes())
        except OSError as wrong:
            raise Unreadable(f"{self.filepath} cannot be written: {wrong.strerror or wrong}") from None
        if self.play:
            modifier = thing.modifiers.get(CACHE) or thing.modifiers.new(CACHE, "MESH_CACHE")
            modifier.cache_format, modifier.filepath = "PC2", self.filepath
            modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
            modifier.play_mode, modifier.time_mode, modifier.frame_start = "SCENE", "FRAME", float(frames[0])
            modifier.interpolation = "LINEAR"
            thing.dermis.live = False
        self.report({"INFO"}, f"{len(frames)} frames in {os.path.basename(path)}")


class DERMIS_OT_export_glb(examples.OfCharacter, bpy.types.Operator):
    """Export the character for an engine or the web"""

    bl_idname = "dermis.export_glb"
    bl_label = "Export"

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.glb;*.fbx", options={"HIDDEN"})
    form: EnumProperty(
        name="As",
        items=[
            ("BLENDER", "Blender's Exporter", "With materials: shape keys as they are baked (.glb, .fbx)"),
            ("DRIVEN", "Driven Shapes", "Skin, shapes and what drives them in any pose, without materials (.glb)"),
        ],
    )

    def invoke(self, context, event):
        thing = character.active(context)
        self.filepath = self.filepath or f"{thing.name}.glb"
        # Blender's exporter refuses a live model: what it carries is asked for first.
        if thing.dermis.live and not self.properties.is_property_set("form"):
            self.form = "DRIVEN"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context, thing):
        path = bpy.path.abspath(self.filepath)
        kind = os.path.splitext(path)[1].lower()
        if kind not in (".glb", ".fbx") or (self.form == "DRIVEN" and kind != ".glb"):
            raise Unreadable("Name a file that ends in .glb" + ("" if self.form == "DRIVEN" else " or .fbx"))
        if self.form == "DRIVEN":
            self._driven(context, thing, path)
        else:
            self._by_blender(context, thing, path, kind)

    def _driven(self, context, thing, path):
        frames, poses = bundles.motion_of(context, thing)
        rig = reading.rig_arrays(thing, character.place(thing))
        fps = context.scene.render.fps / context.scene.render.fps_base
        with tempfile.TemporaryDirectory() as folder:
            file, motion = os.path.join(folder, "model.dermis"), os.path.join(folder, "motion.npz")
            live.model_of(thing).save(file)
            bundles.save_rig(motion, rig, pose_labels=[str(f) for f in frames], pose_matrices=poses,
                             frame_times=np.arange(len(frames)) / fps)  # fmt: skip
            try:
                said = needed().export(file, path, motion=motion, table=os.path.join(folder, "table.json"), replace=True)
            except ValueError as wrong:
                raise Unreadable(f"{wrong}") from None
        self.report({"INFO"}, f"{os.path.basename(path)}: {said.get('shapes', 0)} shapes")

    def _by_blender(self, context, thing, path, kind):
        if thing.dermis.live:
            raise Unreadable("Exporters do not carry the live model. Press Bake Shape Keys first, or switch Live off")
        rig = character.armature(thing)
        many = int(((reading.weights(thing, reading.bone_names(rig)) > 0.0).sum(axis=1) > 4).sum())
        for other in context.selected_objects:
            other.select_set(False)
        thing.select_set(True)
        rig.select_set(True)
        context.view_layer.objects.active = thing
        try:
            if kind == ".fbx":
                bpy.ops.export_scene.fbx(filepath=path, use_selection=True, add_leaf_bones=False, bake_anim=True)
            else:
                bpy.ops.export_scene.gltf(
                    filepath=path, use_selection=True, export_animations=True, export_animation_mode="ACTIVE_ACTIONS",
                    export_force_sampling=True, export_morph=True,
                )  # fmt: skip
        except (RuntimeError, AttributeError) as wrong:
            raise Unreadable(f"The exporter failed: {wrong}") from None
        if many:
            self.report({"WARNING"}, f"{many} vertices have more than four influences. Engines drop the rest: Compile to Bones first")
        self.report({"INFO"}, os.path.basename(path))


CLASSES = (DERMIS_OT_bake_shapes, DERMIS_OT_add_smooth, DERMIS_OT_bake_cache, DERMIS_OT_export_glb)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
