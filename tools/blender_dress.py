"""A body and its clothes in Blender's window, by clicks: *Transfer from Body*.

    python3 tools/blender_window.py tools/blender_dress.py --zip target/blender/dermis-VERSION-PLATFORM.zip --out FOLDER

The bundled body learns its exercises; shirt and coarse level get its weights and its model, and walk with it, each with Live on. The
shirt is cut from the body, 8 mm outside; the level has 800 vertices, by Blender's own *Decimate*. DERMIS_GARMENTS may name clothes of
your own in place of these: bundles (`rest_vertices`, `faces`, in metres, Z up) that the body wears at rest, separated by `:`.
"""

import itertools
import os
import pathlib
import sys

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import blender_body  # noqa: E402
from blender_body import APART, play  # noqa: E402

OUTSIDE = 0.008
# The walk's frames that are looked at.
SHOWN = (16, 40, 72)
# Deeper than this in the skin is seen.
DEEP = 0.002
COLOURS = ((0.13, 0.25, 0.5, 1), (0.5, 0.2, 0.12, 1), (0.2, 0.4, 0.2, 1), (0.5, 0.45, 0.2, 1))


def story(ui):
    with ui.override():
        body, rig = blender_body.character()
        scan = blender_body.scan(body, "exercise")
        clothes = garments(body)
        level = coarse(body)
        worn = [*clothes, level]
        for thing in worn:
            thing.hide_set(True)
        play(rig, "exercise")
        view = ui.area.spaces.active
        view.overlay.show_bones = view.overlay.show_floor = view.overlay.show_axis_x = view.overlay.show_axis_y = False
        view.overlay.show_relationship_lines = view.overlay.show_cursor = view.overlay.show_object_origins = False
        view.shading.color_type = "OBJECT"
        bpy.ops.object.shade_smooth()
        bpy.ops.view3d.view_axis(type="FRONT")
        blender_body.select(body)
        bpy.ops.view3d.view_selected()
        bpy.ops.view3d.view_orbit(angle=0.6, type="ORBITLEFT")
    yield from ui.tab("Dermis")
    yield from ui.click("dermis.set_up")
    with ui.override():
        scan.select_set(True)
    yield from ui.click("dermis.add_clip")
    with ui.override():
        scan.hide_set(True)
        blender_body.select(body)
    yield from ui.set("examples[0].step", str(3 * APART["exercise"]))
    yield from ui.close("DERMIS_PT_examples")
    yield from ui.click("dermis.fit")
    yield from ui.until(lambda: body.dermis.model, "the fit", limit=240)
    yield from ui.click("dermis.live")
    ui.check(body.dermis.live, "Live is off")
    yield from ui.shot("body")

    # The clothes, with the body as the active object.
    with ui.override():
        for thing in worn:
            thing.hide_set(False)
            thing.select_set(True)
    yield from ui.close("DERMIS_PT_model")
    yield from ui.open("DERMIS_PT_weights")
    yield from ui.shot("before", ui.sidebar())
    yield from ui.click("dermis.transfer")
    yield from ui.until(lambda: all(thing.dermis.model for thing in worn), "the transfer", limit=240)
    yield from ui.drawn()
    yield from ui.shot("after")

    # Walking. Every cloth has a model of its own, live as the body's is.
    with ui.override():
        play(rig, "walk")
        blender_body.select(body)
        for thing in worn:
            ui.check(thing.dermis.live, f"{thing.name} is not live")
    for frame in SHOWN:
        with ui.override():
            bpy.context.scene.frame_set(frame)
        yield from ui.drawn()
        yield from ui.shot(f"walk {frame}", ui.view())
    # One at a time, the level without the body.
    for thing in worn:
        with ui.override():
            for other in (body, *worn):
                other.hide_set(other is not thing and (other is not body or thing is level))
        yield from ui.drawn()
        yield from ui.shot(thing.name, ui.view())
    with ui.override():
        body.hide_set(False)
        for thing in clothes:
            thing.hide_set(False)
            rig.data.pose_position = "REST"
            outside = inside(thing, body) == 0.0
            rig.data.pose_position = "POSE"
            for on in (True, False):
                thing.dermis.live = on
                print(f"{thing.name}, {outside.sum()} vertices outside at rest, with{'' if on else 'out'} its model: ", end="")
                print(depth(thing, body, outside), flush=True)


def depth(thing, body, outside):
    """The share of a cloth's vertices outside at rest that walk deeper than DEEP in the body: mean and worst frame of the walk."""
    shares = []
    for pose in range(12):
        bpy.context.scene.frame_set(pose * APART["walk"])
        shares.append(100 * (inside(thing, body)[outside] > DEEP).mean())
    return f"{np.mean(shares):.2f} % are deeper than {1000 * DEEP:.0f} mm in the body, {np.max(shares):.2f} % in the worst pose"


def inside(thing, body):
    """How deep each vertex lies in the body as both are shown, in metres."""
    graph = bpy.context.evaluated_depsgraph_get()
    tree = BVHTree.FromObject(body, graph)
    shown = thing.evaluated_get(graph)
    into = body.matrix_world.inverted() @ thing.matrix_world
    found = []
    for vertex in shown.data.vertices:
        point = into @ vertex.co
        near, normal, _, distance = tree.find_nearest(point)
        found.append(distance if (point - near).dot(normal) < 0 else 0.0)
    return np.array(found)


def garments(body):
    paths = [pathlib.Path(path) for path in os.environ.get("DERMIS_GARMENTS", "").split(":") if path]
    if not paths:
        return [shirt(body)]
    made = []
    for path, colour in zip(paths, itertools.cycle(COLOURS)):
        with np.load(path) as bundle:
            made.append(made_of(path.stem, bundle["rest_vertices"], bundle["faces"], colour))
    return made


def shirt(body):
    """Trunk and upper arms of the body, moved outwards."""
    names = {group.index: group.name for group in body.vertex_groups}
    wanted = ("spine", "clavicle", "upperarm", "breast")

    def covers(vertex):
        heavy = max(vertex.groups, key=lambda group: group.weight)
        return any(part in names[heavy.group].lower() for part in wanted)

    kept = [vertex.index for vertex in body.data.vertices if covers(vertex)]
    number = {old: new for new, old in enumerate(kept)}
    points = [body.data.vertices[at].co + OUTSIDE * body.data.vertices[at].normal for at in kept]
    faces = [[number[at] for at in face.vertices] for face in body.data.polygons if all(at in number for at in face.vertices)]
    return made_of("shirt", points, faces, COLOURS[0])


def made_of(name, points, faces, colour):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([tuple(map(float, point)) for point in points], [], [tuple(map(int, face)) for face in faces])
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    thing = bpy.data.objects.new(name, mesh)
    thing.color = colour
    bpy.context.scene.collection.objects.link(thing)
    return thing


def coarse(body):
    """A level of detail with 800 vertices, without weights."""
    thing = bpy.data.objects.new("level", body.data.copy())
    bpy.context.scene.collection.objects.link(thing)
    blender_body.select(thing)
    thing.modifiers.new("Decimate", "DECIMATE").ratio = 800 / len(body.data.vertices)
    bpy.ops.object.modifier_apply(modifier="Decimate")
    thing.vertex_groups.clear()
    return thing
