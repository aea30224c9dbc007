# SPDX-License-Identifier: GPL-3.0-or-later
"""What the file holds of a character: properties of its mesh object, which save, undo and link with it."""

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .settings import HELP

OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}


def _strength_moved(group, _context):
    from . import fitting

    fitting.strength_moved(group.id_data)


def _live_switched(group, _context):
    from . import live

    live.switched(group.id_data)


def _error_scale_moved(group, _context):
    from . import errors

    errors.recolour(group.id_data)


class Example(bpy.types.PropertyGroup):
    """An example: a pose and the skin in it.

    Frames and clips are read from the scene whenever they are needed. A shape has its skin in `mesh`, and its pose in bytes
    beside it (`store`): `pose` are the bones, `basis` is what the pose bones are set to.
    """

    label: StringProperty(name="Label", description="What the example is called in reports")
    kind: EnumProperty(
        name="Kind",
        items=[
            ("FRAME", "Frame", "The skin that the scene shows at a frame"),
            ("CLIP", "Clip", "The skin that the scene shows at a range of frames"),
            ("SHAPE", "Shape", "A sculpt, or a shape that was brought in, with the pose that it belongs to"),
        ],
    )
    use: EnumProperty(
        name="Use",
        items=[
            ("LEARN", "Learn", "The model learns from it", "IMPORT", 0),
            ("CHECK", "Check", "The model may not see it; the error that counts is measured on it", "VIEWZOOM", 1),
            ("OFF", "Off", "Left out", "HIDE_ON", 2),
        ],
    )
    importance: FloatProperty(
        name="Importance", description="How much the fit cares for it", default=1.0, min=0.0, soft_max=10.0
    )
    frame_start: IntProperty(name="Start")
    frame_end: IntProperty(name="End")
    step: IntProperty(name="Step", default=1, min=1)
    action: PointerProperty(
        name="Action", description="What moves the armature; what it is set to if empty", type=bpy.types.Action
    )
    source: PointerProperty(
        name="Skin of",
        description="The object whose shown vertices are the skin, such as a simulated copy; the character itself if empty",
        type=bpy.types.Object,
        poll=lambda _self, thing: thing.type == "MESH",
    )
    mesh: PointerProperty(type=bpy.types.Mesh)
    error: FloatProperty(name="Error", description="What the fit leaves, rms", unit="LENGTH", default=-1.0)


class Frame(bpy.types.PropertyGroup):
    """A frame that somebody may want to see: a bad one, or one to sculpt."""

    frame: IntProperty()
    value: FloatProperty()
    text: StringProperty()


class Step(bpy.types.PropertyGroup):
    """A step of a session, as the program said it. Errors are rms on taught skin, in metres; negative where no truth is known."""

    number: IntProperty()
    role: StringProperty()
    pose: StringProperty()
    region: StringProperty()
    touched: IntProperty()
    on: BoolProperty()
    before: FloatProperty(default=-1.0)
    after: FloatProperty(default=-1.0)


class Session(bpy.types.PropertyGroup):
    """The session of a character: its folder, and what the program said of it last. `stamp` tells whether the folder has changed since."""

    folder: StringProperty(name="Session", description="The folder of the session", subtype="DIR_PATH")
    stamp: StringProperty()
    steps: CollectionProperty(type=Step)
    active: IntProperty(name="Step")
    lines: StringProperty()
    moved: CollectionProperty(type=Frame)
    warnings: StringProperty()
    model: IntProperty()
    undo: IntProperty()
    redo: IntProperty()
    check: BoolProperty(name="Check", description="Ask for a pose that tells whether the model is right where it was taught")


class Character(bpy.types.PropertyGroup):
    """The character that a mesh object is. `place` is where its armature stood; `vertices` and `bones` are what it had."""

    is_set_up: BoolProperty()
    place: FloatVectorProperty(size=16)
    vertices: IntProperty()
    bones: StringProperty()

    examples: CollectionProperty(type=Example)
    active: IntProperty(name="Example")
    mirrored: BoolProperty(name="Mirror", description=HELP["mirror"])

    method: EnumProperty(
        name="Method",
        items=[
            ("AUTO", "Automatic", "A pose space that meets the sculpts while there are few, else the joint model"),
            ("JOINT", "Joint", "Learns what each joint does to the skin; for many examples"),
            ("EXACT", "Pose Space, Exact", "Meets every example, and blends corrections between them, vertex by vertex"),
            ("PSD", "Pose Space", "The same, as smooth as cross-validation finds best"),
            ("CORRECTIVES", "A Shape per Sculpt", "Meets every sculpt with one shape key of its name, for engines"),
            ("MWE", "Multi-Weight Enveloping", "Learns more weights; takes painted influence maps"),
        ],
        default="AUTO",
    )
    strength: FloatProperty(
        name="Strength",
        description=f"{HELP['lambda']}. Each step is ten times as much; 0 is what the fit chose",
        default=0.0,
        soft_min=-3.0,
        soft_max=3.0,
        update=_strength_moved,
    )
    painted: BoolProperty(
        name="Painted Maps", description="Bones may move the skin where their influence maps are painted, and nowhere else"
    )
    model: StringProperty()
    fitted_by: StringProperty()
    headline: StringProperty()
    verdict: StringProperty()
    warnings: StringProperty()
    strength_of_fit: FloatProperty()
    worst: CollectionProperty(type=Frame)
    suggested: CollectionProperty(type=Frame)

    session: PointerProperty(type=Session)

    live: BoolProperty(
        name="Live", description="Show the model in the viewport", update=_live_switched, override=OVERRIDABLE
    )
    mode: EnumProperty(
        name="Mode",
        items=[
            ("AUTO", "Automatic", "Correction where the armature alone moves the skin, else Replace"),
            ("CORRECTION", "Correction", "The rest shape is corrected before the armature; shape keys still act"),
            ("REPLACE", "Replace", "The skin is put in place of what all modifiers before make"),
        ],
        update=_live_switched,
        override=OVERRIDABLE,
    )
    error_of: EnumProperty(
        name="Error of",
        items=[
            ("CHECK", "Checked Examples", "The rms over the examples that the model did not see"),
            ("LEARN", "Learnt Examples", "The rms over the examples that it learnt from"),
            ("ACTIVE", "Active Example", "The example that is selected in the list"),
        ],
        default="ACTIVE",
    )
    error_scale: FloatProperty(
        name="Red From",
        description="Errors from this length on are red",
        default=0.01,
        min=1e-6,
        soft_max=0.1,
        precision=4,
        unit="LENGTH",
        update=_error_scale_moved,
    )


class Sculpt(bpy.types.PropertyGroup):
    """What a sculpt of a character is about: the character, and its pose in bytes beside it (`store`).

    A sculpt of a session is in a pose that the session offered, or else has the skin that was shown in bytes as well.
    """

    character: PointerProperty(type=bpy.types.Object)
    label: StringProperty()
    of_session: BoolProperty()
    offer: StringProperty()
    region: StringProperty()
    kind: EnumProperty(
        name="Kind",
        items=[
            ("SCULPT", "Sculpt", "The model learns the skin where it was sculpted"),
            ("WHOLE", "Whole", "The model learns all of the skin: it is as it should be, also where nobody touched it"),
            ("ANCHOR", "Anchor", "The model learns that the skin is right as it was shown. Strokes do not count"),
            ("CHECK", "Check", "The model never learns from it. Every step is scored on it"),
        ],
    )
    strength: FloatProperty(
        name="Strength", description="The factor of the change: 0.5 takes half of it", default=1.0, min=0.01, max=4.0, soft_max=1.0
    )


CLASSES = (Example, Frame, Step, Session, Character, Sculpt)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)
    bpy.types.Object.dermis = PointerProperty(type=Character, override=OVERRIDABLE)
    bpy.types.Object.dermis_sculpt = PointerProperty(type=Sculpt)


def unregister():
    del bpy.types.Object.dermis_sculpt
    del bpy.types.Object.dermis
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
