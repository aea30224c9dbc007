# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters that the tests of the add-on use, made in an empty scene."""

import math
import os
import pathlib
import shutil
import sys

import bpy
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BODY = ROOT / "assets" / "body" / "body.glb"

if "dermis_blender" not in sys.modules:
    sys.path.insert(0, str(ROOT / "blender"))

RINGS, SIDES = 25, 16


@pytest.fixture(scope="session")
def package_of_programs(tmp_path_factory):
    """A copy of the package for programs beside this one: reading the factory settings takes an extension's wheels away."""
    import dermis

    place = tmp_path_factory.mktemp("package")
    shutil.copytree(pathlib.Path(dermis.__file__).parent, place / "dermis")
    os.environ["DERMIS_PACKAGE"] = str(place)


@pytest.fixture(scope="session", autouse=True)
def add_on(package_of_programs):
    """The add-on, switched on."""
    import dermis_blender

    dermis_blender.register()
    yield dermis_blender
    dermis_blender.unregister()


@pytest.fixture
def scene():
    """An empty scene."""
    import dermis_blender

    dermis_blender.unregister()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dermis_blender.register()
    return bpy.context.scene


def bent_arm():
    """A limb of two bones along Z that bends by a quarter turn in 20 frames; the mesh is below the armature."""
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    rig.name = "rig"
    bpy.ops.object.mode_set(mode="EDIT")
    edit = rig.data.edit_bones
    edit.remove(edit[0])
    above = None
    for name, head, tail in [("upper", 0.0, 1.0), ("lower", 1.0, 2.0)]:
        bone = edit.new(name)
        bone.head, bone.tail, bone.parent = (0, 0, head), (0, 0, tail), above
        above = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    ring = [(0.25 * math.cos(math.tau * s / SIDES), 0.2 * math.sin(math.tau * s / SIDES)) for s in range(SIDES)]
    points = [(x, y, 2.0 * r / (RINGS - 1)) for r in range(RINGS) for x, y in ring]
    quads = [
        (r * SIDES + s, r * SIDES + (s + 1) % SIDES, (r + 1) * SIDES + (s + 1) % SIDES, (r + 1) * SIDES + s)
        for r in range(RINGS - 1)
        for s in range(SIDES)
    ]
    mesh = bpy.data.meshes.new("arm")
    mesh.from_pydata(points, [], quads)
    arm = bpy.data.objects.new("arm", mesh)
    bpy.context.scene.collection.objects.link(arm)
    upper, lower = (arm.vertex_groups.new(name=name) for name in ("upper", "lower"))
    for vertex, (_, _, z) in enumerate(points):
        share = min(max((z - 0.7) / 0.6, 0.0), 1.0)
        upper.add([vertex], 1.0 - share, "REPLACE")
        lower.add([vertex], share, "REPLACE")
    arm.parent = rig
    arm.modifiers.new("Armature", "ARMATURE").object = rig
    bone = rig.pose.bones["lower"]
    bone.rotation_mode = "XYZ"
    for frame in range(1, 21):
        bone.rotation_euler = (math.pi / 2 * (frame - 1) / 19, 0.0, 0.1 * math.sin(frame))
        bone.keyframe_insert("rotation_euler", frame=frame)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 20
    scene.frame_set(1)
    select(arm)
    return arm, rig


def select(thing):
    """Makes an object the active and only selected one."""
    for other in bpy.context.view_layer.objects:
        other.select_set(False)
    thing.select_set(True)
    bpy.context.view_layer.objects.active = thing


@pytest.fixture
def arm(scene):
    """The limb, set up as a character."""
    made, _ = bent_arm()
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    return made


@pytest.fixture
def body(scene):
    """The bundled body with its clips, set up as a character."""
    bpy.ops.import_scene.gltf(filepath=str(BODY))
    made = next(o for o in bpy.data.objects if o.type == "MESH" and len(o.data.vertices) > 1000)
    select(made)
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    return made


def bulge(positions, at=1.0, height=0.05):
    """Positions with a bulge of the limb's radius around a height."""
    made = np.array(positions, dtype=np.float64)
    grown = height * np.exp(-(((made[:, 2] - at) / 0.15) ** 2))
    made[:, :2] *= (1.0 + grown / 0.25)[:, None]
    return made
