"""A session of six sculpts in Blender's window, by clicks: what the panel says after each of them, and after the character changed.

    python3 tools/blender_window.py tools/blender_session.py --zip target/blender/dermis-VERSION-PLATFORM.zip --out FOLDER

The character is the bundled body, or the one of the GLB that DERMIS_CHARACTER names, with its first action. Each sculpt is where Next asks
for it: a soft bump along the normals, in the middle of the region. At last the weights change a little, and Rebase carries the steps over.
"""

import os
import shutil
import sys
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from blender_body import ASSETS, play, select  # noqa: E402

SCULPTS = 6


def story(ui):
    body, rig = character(ui, os.environ.get("DERMIS_CHARACTER", str(ASSETS / "body.glb")))
    size = max(body.dimensions)
    yield from ui.tab("Dermis")
    yield from ui.click("dermis.set_up")
    for panel in ("DERMIS_PT_examples", "DERMIS_PT_model", "DERMIS_PT_bake", "DERMIS_PT_influence", "DERMIS_PT_weights"):
        yield from ui.close(panel)
    yield from ui.open("DERMIS_PT_session")
    yield from ui.shot("begin", ui.sidebar())
    for name in ("story.session", "rebased.session"):
        shutil.rmtree(ui.out / name, ignore_errors=True)
    with ui.override():
        bpy.ops.dermis.session_new(filepath=str(ui.out / "story.session"), step=4)
    session = body.dermis.session
    ui.check(session.folder, "no session began")
    for number in range(1, SCULPTS + 1):
        yield from ui.click("dermis.session_next")
        yield from ui.until(lambda: bpy.context.mode == "SCULPT", "a pose to sculpt", limit=240)
        sculpt = bpy.context.active_object
        about = sculpt.dermis_sculpt
        print(f"{number}: {about.offer}, {about.region}", flush=True)
        with ui.override():
            bump(sculpt, 0.04 * size)
        yield from ui.drawn()
        if number == 1:
            yield from ui.shot("sculpt")
        yield from ui.click("dermis.session_done")
        yield from ui.until(lambda at=number: len(session.steps) == at and not ui.window.modal_operators, "the step", limit=240)
        # A check is not learnt from.
        learnt = sum(step.role == "sculpt" for step in session.steps)
        ui.check(session.model == learnt, f"the session has model {session.model} after {learnt} sculpts")
        ui.check(session.lines, "the panel says nothing of the step")
        yield from ui.drawn()
        yield from ui.shot(f"step_{number}")
        print(session.lines, session.warnings, flush=True)
    with ui.override():
        group = body.vertex_groups[0]
        group.add([vertex.index for vertex in body.data.vertices if vertex.groups and vertex.groups[0].group == 0], 0.9, "REPLACE")
        bpy.ops.dermis.session_rebase(filepath=str(ui.out / "rebased.session"))
    ui.check(session.folder.endswith("rebased.session") and len(session.steps) == SCULPTS, "Rebase did not carry the steps")
    yield from ui.drawn("UI")
    yield from ui.shot("rebased")
    print(session.lines, session.warnings, flush=True)


def character(ui, path):
    """The largest mesh of a GLB, selected, with its first action."""
    with ui.override():
        for thing in list(bpy.data.objects):
            bpy.data.objects.remove(thing)
        bpy.ops.import_scene.gltf(filepath=path)
        rig = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")
        skinned = [thing for thing in bpy.data.objects if thing.type == "MESH" and thing.find_armature() == rig]
        body = max(skinned, key=lambda thing: len(thing.data.vertices))
        names = [action.name for action in bpy.data.actions]
        play(rig, next((name for name in names if name.lower().startswith("walk")), names[0]))
        select(body)
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_selected()
    return body, rig


def bump(sculpt, radius):
    """A soft bump of half its radius in the middle of the region."""
    bpy.ops.object.mode_set(mode="OBJECT")
    points = np.empty((len(sculpt.data.vertices), 3))
    sculpt.data.vertices.foreach_get("co", points.ravel())
    normals = np.array([vertex.normal for vertex in sculpt.data.vertices])
    group = sculpt.vertex_groups["region"].index
    inside = [vertex.index for vertex in sculpt.data.vertices if any(held.group == group for held in vertex.groups)]
    middle = points[inside].mean(axis=0)
    at = points[inside[np.linalg.norm(points[inside] - middle, axis=1).argmin()]]
    near = np.clip(1.0 - np.linalg.norm(points - at, axis=1) / radius, 0.0, 1.0)
    points += (0.5 * radius * near**2 * (3.0 - 2.0 * near))[:, None] * normals
    sculpt.data.vertices.foreach_set("co", points.ravel())
    sculpt.data.update()
    bpy.ops.object.mode_set(mode="SCULPT")
