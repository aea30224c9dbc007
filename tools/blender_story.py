"""A sculpt becomes a model, by clicks: the story that `cargo xtask test` tells in Blender's window.

    python3 tools/blender_window.py tools/blender_story.py --zip target/blender/dermis-VERSION-PLATFORM.zip

The bundled body walks. The story sets it up, looks that a fit of the walk holds the window up for no more than 100 ms at a time, and stops
it with Esc. It sculpts on the body with Blender's own brush, takes the
sculpt, fits, and looks that the model shows the sculpt in that pose. At last it undoes all of that. Pictures show each state.
"""

import sys
import time
from pathlib import Path

import bpy
import numpy as np

BODY = Path(__file__).resolve().parent.parent / "assets/body/body.glb"
FRAME = 10
# Seconds that a fit may hold the window up at once, and that it is watched.
MOST_HELD_UP = 0.1
WATCHED = 5.0


def story(ui):
    body = character(ui)
    name = body.name
    yield from ui.tab("Dermis")
    yield from ui.shot("character")
    yield from ui.click("dermis.set_up")
    ui.check(body.dermis.is_set_up, "Set Up Character did nothing")

    # A fit holds the window up at no time. Drawing does, where the processor draws: nothing is drawn meanwhile.
    yield from ui.click("dermis.add_clip")
    yield from ui.click("dermis.fit")
    ui.check(ui.window.modal_operators, "Fit is not at work after a click")
    yield from ui.put_away()
    with ui.turns(is_working) as turns:
        end = time.monotonic() + WATCHED
        yield from ui.until(lambda: time.monotonic() > end or not is_working(), "the fit", limit=10 * WATCHED)
    print(f"in {turns.seconds:.1f} s the fit held the window up for {1e3 * turns.longest:.0f} ms at most", flush=True)
    ui.check(turns.seconds > 1.0, "the fit was over before it could hold anything up")
    ui.check(turns.longest < MOST_HELD_UP, f"the fit held the window up for {1e3 * turns.longest:.0f} ms")

    # Esc stops a fit, and nothing has changed.
    ui.check(is_working(), "the fit was over before it could be stopped")
    yield from ui.key("ESC")
    yield from ui.until(lambda: not ui.window.modal_operators, "Fit to stop")
    yield from ui.bring_back()
    yield from ui.tab("Dermis")
    ui.check(not body.dermis.model and len(body.dermis.examples) == 1, "Esc did not stop the fit")
    yield from ui.click("dermis.remove_example")

    before = skin(body)
    yield from ui.click("dermis.sculpt_here")
    sculpt = bpy.context.active_object
    ui.check(sculpt is not body and bpy.context.mode == "SCULPT", "Sculpt Here began no sculpt")
    yield from ui.brush("SCULPT")
    # The forearm that swings forward is nearest to the eye.
    upper = before[before[:, 2] > 0.4 * before[:, 2].max()]
    x, y = ui.at(upper[upper[:, 1].argmin()])
    yield from ui.drag((x - 5, y + 25), (x + 5, y - 25))
    yield from ui.shot("sculpt")
    wanted = in_scene(sculpt, sculpt.data)
    moved = np.linalg.norm(wanted - before, axis=1)
    ui.check(moved.max() > 1e-3, f"the strokes moved the skin by {1e3 * moved.max():.3f} mm")
    ui.check((moved < 1e-6).mean() > 0.5, "the strokes moved more than half of the skin")

    yield from ui.click("dermis.take_sculpt")
    ui.check(len(body.dermis.examples) == 1 and bpy.context.mode == "OBJECT", "Take Sculpt made no example")
    yield from ui.click("dermis.fit")
    yield from ui.until(lambda: body.dermis.model, "the fit", limit=200)
    yield from ui.click("dermis.live")
    yield from ui.shot("live")
    ui.check(body.dermis.live, "a click on Live does not switch it on")
    off = np.linalg.norm(skin(body) - wanted, axis=1).max()
    print(f"strokes moved the skin by {1e3 * moved.max():.1f} mm; the model is off by {1e3 * off:.4f} mm", flush=True)
    ui.check(off < 1e-4, f"the model does not show the sculpt: {1e3 * off:.3f} mm off")

    # Undo takes back the click on Live, then the fit, then the example, and the sculpt is there again. The pointer is over the view.
    yield from ui.hover(*ui.at((0.8, 0.0, 0.5)))
    for state in ((False, True, 1), (False, False, 1), (False, False, 0)):
        yield from ui.key("Z", ctrl=True)
        yield from ui.drawn()
        own = bpy.data.objects[name].dermis
        found = (own.live, bool(own.model), len(own.examples))
        ui.check(found == state, f"after undo Live, model and examples are {found}, not {state}")
    sculpt = next(thing for thing in bpy.context.scene.objects if thing.dermis_sculpt.character)
    lost = np.abs(in_scene(sculpt, sculpt.data) - wanted).max()
    ui.check(lost < 1e-6, f"undo lost strokes: {1e3 * lost:.3f} mm")


def is_working():
    """Whether a job of the add-on works."""
    module = next(module for name, module in sys.modules.items() if name.endswith("dermis_blender.jobs"))
    return module.running() is not None and module.running().running


def character(ui):
    """The bundled body alone in the scene, in the middle of its walk, filling the view."""
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    with ui.override():
        bpy.ops.import_scene.gltf(filepath=str(BODY))
        rig = next(o for o in bpy.data.objects if o.type == "ARMATURE")
        rig.animation_data.action = next(action for action in bpy.data.actions if action.name.startswith("walk"))
        bpy.context.scene.frame_set(FRAME)
        body = max((o for o in bpy.data.objects if o.type == "MESH"), key=lambda o: len(o.data.vertices))
        for thing in bpy.context.selected_objects:
            thing.select_set(False)
        body.select_set(True)
        bpy.context.view_layer.objects.active = body
        ui.area.spaces.active.overlay.show_bones = False
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_selected()
    return body


def skin(thing):
    """The vertices that the view shows, in metres, in the scene."""
    shown = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return in_scene(shown, shown.data)


def in_scene(thing, mesh):
    """The vertices of a mesh, in metres, in the scene."""
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    matrix = np.array(thing.matrix_world)
    return flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
