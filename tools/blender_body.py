"""The bundled body in Blender, with the true skin of its poses: what a bench and a story of the add-on play with.

At 90 frames a second every pose of `body_exercise.npz` is a frame of the action `exercise` (45 apart), and every pose of
`body_walk.npz` one of the action `walk` (8 apart).
"""

import pathlib

import bpy
import numpy as np

ASSETS = pathlib.Path(__file__).resolve().parent.parent / "assets/body"
FPS = 90
APART = {"exercise": 45, "walk": 8}


def character():
    """The body alone in the scene, selected; returns mesh and armature."""
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    bpy.context.scene.render.fps = FPS
    bpy.ops.import_scene.gltf(filepath=str(ASSETS / "body.glb"))
    body = max((o for o in bpy.data.objects if o.type == "MESH"), key=lambda o: len(o.data.vertices))
    rig = next(o for o in bpy.data.objects if o.type == "ARMATURE")
    for action in bpy.data.actions:
        action.use_fake_user = True
    select(body)
    return body, rig


def select(thing):
    """Makes an object the active and only selected one."""
    for other in bpy.context.view_layer.objects:
        other.select_set(other == thing)
    bpy.context.view_layer.objects.active = thing


def play(rig, name):
    """Lets an action move the armature."""
    data = rig.animation_data or rig.animation_data_create()
    data.action = next(action for action in bpy.data.actions if action.name.startswith(name))
    if getattr(data, "action_slot", True) is None:  # Blender 4.4 and newer
        data.action_slot = data.action.slots[0]
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, int(round(data.action.frame_range[1]))


def a_frame_each(name):
    """Brings the poses of an action from APART[name] frames apart to one: every frame is a pose whose true skin is known."""
    action = next(action for action in bpy.data.actions if action.name.startswith(name))
    curves = getattr(action, "fcurves", None) or action.layers[0].strips[0].channelbags[0].fcurves
    for curve in curves:
        for key in curve.keyframe_points:
            key.co.x /= APART[name]
        curve.update()


def skins(name):
    """The true skins of an action: labels, and positions (P, V, 3) in metres, Z up; pose s is at frame s · APART."""
    with np.load(ASSETS / f"body_{name}.npz") as bundle:
        assert str(bundle["up_axis"]).lower() == "z"
        return [str(label) for label in bundle["pose_labels"]], bundle["vertices"].astype(np.float64)


def scan(body, name):
    """An object that shows the true skin of an action at the frames of its poses, and stands beside the body."""
    _, found = skins(name)
    mesh = body.data.copy()
    made = bpy.data.objects.new(f"scan of the {name}", mesh)
    bpy.context.scene.collection.objects.link(made)
    made.shape_key_add(name="Basis")
    for at, skin in enumerate(found):
        key = made.shape_key_add(name=f"{name} {at}", from_mix=False)
        key.data.foreach_set("co", skin.astype(np.float32).ravel())
        for other, value in ((-1, 0.0), (0, 1.0), (1, 0.0)):
            if 0 <= at + other < len(found):
                key.value = value
                key.keyframe_insert("value", frame=(at + other) * APART[name])
    made.hide_render = True
    return made


def sculpt_truth(skin):
    """Gives the active sculpt the true skin: the artist of these tools sculpts what the body does."""
    sculpt = bpy.context.active_object
    assert sculpt.dermis_sculpt.character is not None
    mode = sculpt.mode
    bpy.ops.object.mode_set(mode="OBJECT")
    sculpt.data.vertices.foreach_set("co", skin.astype(np.float32).ravel())
    sculpt.data.update()
    bpy.ops.object.mode_set(mode=mode)
