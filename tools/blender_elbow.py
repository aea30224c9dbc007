"""The seven steps of the enveloping paper in Blender's window, by clicks: the pictures of docs/blender.md.

    python3 tools/blender_window.py tools/blender_elbow.py --zip target/blender/dermis-VERSION-PLATFORM.zip --out FOLDER

The bundled body is sculpted in three poses, a map is painted, the model is fitted and checked on a walk that it has not seen; the
pose that is suggested is sculpted as well, and the character is exported. The sculpts are the body's true skin in those poses, so
that the error can be told.
"""

import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent))
import blender_body  # noqa: E402
from blender_body import APART, play  # noqa: E402

FIRST = ("elbow left, look left", "arms side", "double biceps")


def story(ui):
    labels, skins = blender_body.skins("exercise")
    with ui.override():
        body, rig = blender_body.character()
        scan = blender_body.scan(body, "walk")
        scan.hide_set(True)
        blender_body.select(body)
        blender_body.a_frame_each("exercise")
        play(rig, "exercise")
        bpy.context.scene.frame_set(labels.index(FIRST[0]))
        view = ui.area.spaces.active
        view.overlay.show_bones = view.overlay.show_floor = view.overlay.show_axis_x = view.overlay.show_axis_y = False
        view.overlay.show_relationship_lines = view.overlay.show_cursor = view.overlay.show_object_origins = False
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_selected()
        bpy.ops.object.shade_smooth()
    yield from ui.tab("Dermis")
    yield from ui.click("dermis.set_up")
    ui.check(body.dermis.is_set_up, "Set Up Character did nothing")

    # 1, 2: pose and sculpt.
    for number, label in enumerate(FIRST):
        yield from sculpt(ui, labels.index(label), label, skins, picture=number == 0, search=number == 2)
    ui.check(len(body.dermis.examples) == 3, "three sculpts are three examples")
    yield from ui.shot("examples", ui.sidebar())

    # 3: influence maps.
    yield from ui.open("DERMIS_PT_influence")
    yield from ui.click("dermis.make_maps")
    with ui.override():
        rig.data.bones.active = next(bone for bone in rig.data.bones if bone.name.startswith("lowerarm"))
    yield from ui.click("dermis.paint_map")
    ui.check(body.mode == "WEIGHT_PAINT", "Paint Map does not paint")
    yield from ui.shot("map", ui.view())
    with ui.override():
        bpy.ops.object.mode_set(mode="OBJECT")
        body.dermis.painted = False
    yield from ui.close("DERMIS_PT_influence")
    yield from ui.close("DERMIS_PT_examples")

    # 4, 5: the walk is what the model is checked on; fit.
    with ui.override():
        play(rig, "walk")
        scan.hide_set(False)
        scan.select_set(True)
    yield from ui.open("DERMIS_PT_examples")
    yield from ui.click("dermis.add_clip")
    with ui.override():
        scan.hide_set(True)
        blender_body.select(body)
    walk = body.dermis.examples[3]
    ui.check((walk.kind, walk.source) == ("CLIP", scan), "Add Clip did not take the selected mesh")
    yield from ui.set("examples[3].step", str(APART["walk"]))
    yield from ui.click("examples[3].use", columns=(0.67,))
    yield from ui.key("C")
    yield from ui.drawn()
    found = (walk.frame_start, walk.frame_end, walk.step, walk.use)
    ui.check(found == (0, 88, 8, "CHECK"), f"the walk's frames and use are {found}")
    yield from ui.close("DERMIS_PT_examples")
    yield from fit(ui, body)
    first = rms(body)
    ui.check(body.dermis.headline.startswith("Held out"), body.dermis.headline)
    yield from ui.click("dermis.live")
    with ui.override():
        body.dermis.error_of, body.dermis.error_scale = "CHECK", 0.005
        bpy.context.scene.frame_set(24)
    yield from ui.click("dermis.show_error")
    yield from ui.drawn()
    yield from ui.shot("walk")

    # 6: the pose that is missing most.
    with ui.override():
        play(rig, "exercise")
    yield from ui.click("dermis.suggest")
    yield from ui.until(lambda: len(body.dermis.suggested), "the suggestion", limit=120)
    at = body.dermis.suggested[0].frame
    ui.check(bpy.context.scene.frame_current == at, "Suggest Next did not go to the frame")
    ui.check(labels[at] not in FIRST, f"Suggest Next names {labels[at]}, which was sculpted")
    yield from ui.click("dermis.hide_error")
    yield from ui.shot("model", ui.sidebar())
    yield from ui.close("DERMIS_PT_model")
    yield from ui.open("DERMIS_PT_examples")
    yield from sculpt(ui, at, labels[at], skins, picture=False)
    ui.check(len(body.dermis.examples) == 5, "the fourth sculpt is an example")

    # 7: fit again.
    yield from ui.close("DERMIS_PT_examples")
    yield from ui.open("DERMIS_PT_model")
    yield from fit(ui, body)
    print(f"walk: {first:.3f} mm after three sculpts, {rms(body):.3f} mm after '{labels[at]}'", flush=True)
    ui.check(rms(body) < first, "the fourth sculpt does not help")
    yield from ui.shot("again")

    # The slider of a smooth model: it is solved again when the slider has rested.
    with ui.override():
        body.dermis.method = "JOINT"
    yield from fit(ui, body)
    before = body.dermis.model
    yield from ui.set("dermis.strength", "-1")
    yield from ui.until(lambda: body.dermis.model != before, "the model at another strength")
    ui.check(body.dermis.headline.startswith("Not validated"), "the error of another strength still stands")

    # Out, by the file window.
    with ui.override():
        play(rig, "walk")
    yield from ui.close("DERMIS_PT_model")
    yield from ui.open("DERMIS_PT_bake")
    yield from ui.shot("export", ui.sidebar())
    yield from ui.click("dermis.export_glb")
    ui.check(not ui.has_view, "Export opened no file window")
    yield from ui.shot("files")
    yield from ui.key("RET")
    yield from ui.until(lambda: (ui.out / "body.glb").exists(), "body.glb")

    # A sculpt becomes a shape key through the modifiers.
    yield from ui.until(lambda: ui.has_view, "the 3D view")
    yield from ui.close("DERMIS_PT_bake")
    yield from ui.open("DERMIS_PT_examples")
    with ui.override():
        body.dermis.active = 0
    yield from ui.click("dermis.invert_shape")
    yield from ui.until(lambda: body.data.shape_keys and FIRST[0] in body.data.shape_keys.key_blocks, "the shape key")
    yield from ui.shot("key")


def sculpt(ui, at, label, skins, picture, search=False):
    """A pose, a sculpt on it, taken. Sculpt Here is a button, and Blender's search finds it."""
    with ui.override():
        bpy.context.scene.frame_set(at)
    if search:
        yield from ui.search("Sculpt Here")
    else:
        yield from ui.click("dermis.sculpt_here")
    ui.check(bpy.context.mode == "SCULPT", "Sculpt Here began no sculpt")
    with ui.override():
        blender_body.sculpt_truth(skins[at])
        bpy.context.active_object.dermis_sculpt.label = label
    if picture:
        yield from ui.drawn()
        yield from ui.shot("sculpt")
    yield from ui.click("dermis.take_sculpt")
    yield from ui.until(lambda: bpy.context.mode == "OBJECT", "the sculpt to be taken")


def fit(ui, body):
    """Fit, until the model has changed."""
    before = body.dermis.model
    yield from ui.click("dermis.fit")
    yield from ui.until(lambda: body.dermis.model != before, "the fit", limit=240)
    yield from ui.drawn()


def rms(body):
    """The error that counts, in millimetres."""
    return float(body.dermis.headline.split()[2])
