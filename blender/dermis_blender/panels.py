# SPDX-License-Identifier: GPL-3.0-or-later
"""The side bar. Drawing computes nothing: it shows properties, and what `live` noted of the last frame."""

import bpy

from . import character, fitting, jobs, live
from .package import MISSING
from .properties import Example


class DERMIS_UL_examples(bpy.types.UIList):
    """The examples with what the fit leaves of each."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index):
        row = layout.row(align=True)
        icons = {"FRAME": "KEYFRAME", "CLIP": "ACTION", "SHAPE": "SCULPTMODE_HLT"}
        row.prop(item, "label", text="", emboss=False, icon=icons[item.kind])
        if item.kind != "SHAPE":
            frames = f"{item.frame_start}" if item.kind == "FRAME" else f"{item.frame_start}-{item.frame_end}"
            row.label(text=frames)
        if item.error >= 0.0:
            row.label(text=bpy.utils.units.to_string("METRIC", "LENGTH", item.error, precision=3))
        uses = Example.bl_rna.properties["use"].enum_items
        row.prop(item, "use", text="", icon_only=True, icon=uses[item.use].icon, emboss=False)


class DERMIS_UL_steps(bpy.types.UIList):
    """The steps of a session: an eye that switches each, and the error where the truth is known, before and after it."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index):
        row = layout.row(align=True)
        eye = row.operator("dermis.session_switch", text="", icon="HIDE_OFF" if item.on else "HIDE_ON", emboss=False)
        eye.step, eye.on = item.number, not item.on
        known = item.after >= 0.0
        # Two numbers must be seen whole; of a name the beginning will do.
        split = row.split(factor=0.4 if known else 0.55)
        split.label(text=f"{item.number} {item.name}", icon=STEP_ICONS.get(item.role, "BLANK1"))
        split.label(text=f"{1e3 * item.before:.3g} → {1e3 * item.after:.3g}" if known else item.region)


STEP_ICONS = {"sculpt": "SCULPTMODE_HLT", "anchor": "PINNED", "check": "VIEWZOOM"}


class Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Dermis"


class OfCharacter(Panel):
    """A panel that needs a character."""

    bl_parent_id = "DERMIS_PT_character"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        thing = character.active(context)
        return thing is not None and thing.dermis.is_set_up


def wrapped(layout, text, width=38, icon="NONE"):
    """Text over several lines. An icon takes the room of four letters."""
    column = layout.column(align=True)
    width -= 0 if icon == "NONE" else 4
    line = ""
    for word in text.split():
        if line and len(line) + len(word) + 1 > width:
            column.label(text=line, icon=icon)
            line, icon = "", "BLANK1" if icon != "NONE" else "NONE"
        line = f"{line} {word}".strip()
    if line:
        column.label(text=line, icon=icon)


class DERMIS_PT_character(Panel, bpy.types.Panel):
    bl_label = "Character"

    def draw(self, context):
        layout = self.layout
        if MISSING:
            wrapped(layout, MISSING, icon="ERROR")
            return
        thing = character.active(context)
        if thing is None or thing.type != "MESH":
            wrapped(layout, "Select the mesh of a character", icon="INFO")
            return
        own = thing.dermis
        if not own.is_set_up:
            layout.operator("dermis.set_up", icon="ARMATURE_DATA")
            return
        layout.label(text=thing.name, icon="OUTLINER_OB_MESH")
        if own.model:
            wrapped(layout, own.headline)
        row = layout.row(align=True)
        row.operator("dermis.set_up", icon="FILE_REFRESH")
        row.operator("dermis.forget", icon="TRASH", text="")


class DERMIS_PT_examples(OfCharacter, bpy.types.Panel):
    bl_label = "Examples"
    bl_options = set()

    def draw(self, context):
        layout, thing = self.layout, character.active(context)
        own = thing.dermis
        sculpting_now = context.active_object is not None and context.active_object.dermis_sculpt.character == thing
        if sculpting_now:
            if context.active_object.dermis_sculpt.of_session:
                wrapped(layout, "The sculpt is one of the session", icon="INFO")
                return
            row = layout.row(align=True)
            row.operator("dermis.take_sculpt", icon="CHECKMARK")
            row.operator("dermis.discard_sculpt", icon="X", text="")
            return
        row = layout.row()
        row.template_list("DERMIS_UL_examples", "", own, "examples", own, "active", rows=4)
        side = row.column(align=True)
        side.operator("dermis.remove_example", icon="REMOVE", text="")
        side.operator("dermis.show_example", icon="RESTRICT_VIEW_OFF", text="")
        side.operator("dermis.add_mirrored", icon="MOD_MIRROR", text="")
        if 0 <= own.active < len(own.examples):
            example = own.examples[own.active]
            column = layout.column(align=True)
            if example.kind != "SHAPE":
                row = column.row(align=True)
                row.prop(example, "frame_start")
                if example.kind == "CLIP":
                    row.prop(example, "frame_end")
                    row.prop(example, "step")
                column.prop(example, "action")
                column.prop(example, "source")
            column.prop(example, "importance")
        grid = layout.grid_flow(columns=2, align=True)
        grid.operator("dermis.sculpt_here", icon="SCULPTMODE_HLT")
        grid.operator("dermis.add_pose", icon="ADD")
        grid.operator("dermis.add_marked", icon="MARKER_HLT", text="Marked Frames")
        grid.operator("dermis.add_clip", icon="ACTION")
        grid.operator("dermis.add_object", icon="OBJECT_DATA", text="Selected Mesh")
        grid.operator("dermis.import_shape", icon="IMPORT")
        row = layout.row(align=True)
        row.operator("dermis.invert_shape", icon="MOD_MESHDEFORM", text="Corrective Key")
        row.operator("dermis.write_bundle", icon="EXPORT", text="Bundle")


class DERMIS_PT_session(OfCharacter, bpy.types.Panel):
    bl_label = "Session"
    bl_options = set()

    def draw(self, context):
        layout, thing = self.layout, character.active(context)
        session = thing.dermis.session
        if not session.folder:
            row = layout.row(align=True)
            row.operator("dermis.session_new", icon="FILE_NEW", text="Begin")
            row.operator("dermis.session_open", icon="FILE_FOLDER", text="Open")
            return
        row = layout.row(align=True)
        name = session.folder.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        row.label(text=name, icon="FILE_FOLDER")
        row.operator("dermis.session_refresh", icon="FILE_REFRESH", text="")
        row.operator("dermis.session_rebase", icon="CON_ARMATURE", text="")
        row.operator("dermis.session_close", icon="X", text="")
        sculpt = context.active_object.dermis_sculpt if context.active_object is not None else None
        if sculpt is not None and sculpt.of_session and sculpt.character == thing:
            self.draw_sculpt(layout, sculpt)
        else:
            row = layout.row(align=True)
            row.scale_y = 1.4
            row.operator("dermis.session_next", icon="PLAY")
            row.prop(session, "check", toggle=True, icon="VIEWZOOM", text="")
            row.operator("dermis.sculpt_here", icon="SCULPTMODE_HLT", text="Here").for_session = True
        if (job := jobs.running()) is not None:
            layout.progress(factor=job.share, text=job.step)
        if len(session.steps):
            layout.template_list("DERMIS_UL_steps", "", session, "steps", session, "active", rows=4)
            row = layout.row(align=True)
            row.operator("dermis.session_show", icon="RESTRICT_VIEW_OFF", text="Go to Pose").pose = ""
            if any(step.after >= 0.0 for step in session.steps):
                row.label(text="rms error, mm")
        row = layout.row(align=True)
        for name, icon, count in (("undo", "LOOP_BACK", session.undo), ("redo", "LOOP_FORWARDS", session.redo)):
            part = row.row(align=True)
            part.enabled = count > 0
            part.operator(f"dermis.session_{name}", icon=icon, text=f"{name.title()} {count}" if count else name.title())
        box = layout.column(align=True) if session.lines else None
        for line in filter(None, session.lines.split("\n")):
            wrapped(box, line, width=32, icon="DOT")
            if line.startswith("side effects"):
                for item in session.moved:
                    text = f"{item.text}: {1e3 * item.value:.3g} mm in {item.name}"
                    box.operator("dermis.session_show", text=text, icon="RESTRICT_VIEW_OFF").pose = item.name
        for text in filter(None, session.warnings.split("\n")):
            wrapped(layout, text, icon="ERROR")

    @staticmethod
    def draw_sculpt(layout, sculpt):
        wrapped(layout, f"{sculpt.label}: look at {sculpt.region}" if sculpt.region else sculpt.label)
        column = layout.column(align=True)
        column.prop(sculpt, "kind", text="")
        part = column.row(align=True)
        part.enabled = sculpt.kind != "ANCHOR"
        part.prop(sculpt, "strength", slider=True)
        row = layout.row(align=True)
        row.scale_y = 1.4
        row.operator("dermis.session_done", icon="CHECKMARK")
        row.operator("dermis.discard_sculpt", icon="X", text="")


class DERMIS_PT_influence(OfCharacter, bpy.types.Panel):
    bl_label = "Influence"

    def draw(self, context):
        layout, thing = self.layout, character.active(context)
        layout.prop(thing.dermis, "painted")
        column = layout.column(align=True)
        column.operator("dermis.make_maps", icon="GROUP_VERTEX")
        column.operator("dermis.paint_map", icon="WPAINT_HLT")
        column.operator("dermis.extend_here", icon="FULLSCREEN_ENTER")


class DERMIS_PT_model(OfCharacter, bpy.types.Panel):
    bl_label = "Model"
    bl_options = set()

    def draw(self, context):
        layout, thing = self.layout, character.active(context)
        own = thing.dermis
        layout.prop(own, "method")
        if own.method == "AUTO" or own.method in fitting.MIRRORED:
            layout.prop(own, "mirrored")
        row = layout.row()
        row.scale_y = 1.4
        row.operator("dermis.fit", icon="PLAY")
        if (job := jobs.running()) is not None:
            layout.progress(factor=job.share, text=job.step)
        if not own.model:
            layout.operator("dermis.open_model", icon="FILE_FOLDER")
            return
        row = layout.row()
        row.enabled = own.get("chosen_strength", 0.0) > 0.0
        row.prop(own, "strength", slider=True)
        wrapped(layout, own.headline)
        if own.verdict:
            wrapped(layout, own.verdict)
        for text in filter(None, own.warnings.split("\n")):
            wrapped(layout, text, icon="ERROR")
        box = layout.column(align=True)
        box.prop(own, "error_of", text="")
        box.prop(own, "error_scale")
        row = box.row(align=True)
        row.operator("dermis.show_error", icon="COLOR")
        row.operator("dermis.hide_error", icon="X", text="")
        if len(own.worst):
            column = layout.column(align=True)
            column.label(text="Worst frames")
            for item in own.worst:
                text = f"{item.text}: {1e3 * item.value:.3g} mm"
                column.operator("dermis.go_to_frame", text=text).frame = item.frame
        layout.operator("dermis.suggest", icon="LIGHT")
        if len(own.suggested):
            column = layout.column(align=True)
            for item in own.suggested:
                text = f"Frame {item.frame}: {item.text}, {item.value:.0f}° off"
                column.operator("dermis.go_to_frame", text=text).frame = item.frame
        row = layout.row(align=True)
        row.operator("dermis.report", icon="FILE_TEXT")
        row.operator("dermis.save_model", icon="FILE_TICK", text="Save")


class DERMIS_PT_live(OfCharacter, bpy.types.Panel):
    bl_label = "Live"
    bl_options = set()

    def draw_header(self, context):
        self.layout.prop(character.active(context).dermis, "live", text="")

    def draw(self, context):
        layout, thing = self.layout, character.active(context)
        own = thing.dermis
        layout.prop(own, "mode")
        state = live.state(thing)
        if state is None:
            if own.live:
                wrapped(layout, "The model is shown after the next change of pose")
            return
        if state.failed:
            wrapped(layout, state.failed, icon="ERROR")
            return
        if own.mode == "AUTO":
            layout.label(text={"CORRECTION": "Corrects before the armature", "REPLACE": "Replaces the skin"}[state.mode])
        if state.degrees == state.degrees:
            text = f"{state.degrees:.0f}° from training"
            layout.label(text=f"{text} ({state.joint})" if state.joint else text, icon="DRIVER_ROTATIONAL_DIFFERENCE")
        if state.unreached:
            wrapped(layout, f"{state.unreached} vertices cannot be corrected before the armature here. Use Replace", icon="ERROR")


class DERMIS_PT_weights(OfCharacter, bpy.types.Panel):
    bl_label = "Weights"

    def draw(self, context):
        column = self.layout.column(align=True)
        column.operator("dermis.weights_from_heat", icon="MOD_VERTEX_WEIGHT")
        column.operator("dermis.weights_from_examples", icon="IMPORT")
        column.operator("dermis.transfer", icon="MOD_CLOTH")
        column.operator("dermis.compile", icon="BONE_DATA")


class DERMIS_PT_bake(OfCharacter, bpy.types.Panel):
    bl_label = "Bake and Export"

    def draw(self, context):
        column = self.layout.column(align=True)
        column.operator("dermis.bake_shapes", icon="SHAPEKEY_DATA")
        column.operator("dermis.add_smooth", icon="MOD_SMOOTH")
        column.operator("dermis.bake_cache", icon="FILE_CACHE")
        column.operator("dermis.export_glb", icon="EXPORT")
        column.operator("dermis.save_model", icon="FILE_TICK")
        column.operator("dermis.open_model", icon="FILE_FOLDER")


class DERMIS_PT_decompose(Panel, bpy.types.Panel):
    bl_label = "Decompose"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return not MISSING

    def draw(self, context):
        wrapped(self.layout, "Bones and weights of a mesh that moves by a cache, shape keys or a simulation")
        self.layout.operator("dermis.decompose", icon="OUTLINER_OB_ARMATURE")


class DERMIS_MT_dermis(bpy.types.Menu):
    """Everything of Dermis. Blender's search (F3) finds what stands in menus"""

    bl_label = "Dermis"

    def draw(self, context):
        for number, names in enumerate(MENU):
            if number:
                self.layout.separator()
            for name in names:
                self.layout.operator(f"dermis.{name}")


MENU = (
    ("set_up", "forget"),
    ("sculpt_here", "take_sculpt", "discard_sculpt", "add_mirrored"),
    ("add_pose", "add_marked", "add_clip", "add_object", "import_shape", "show_example", "remove_example"),
    ("session_new", "session_open", "session_refresh", "session_rebase", "session_close"),
    ("session_next", "session_done", "session_show", "session_undo", "session_redo", "session_switch"),
    ("make_maps", "paint_map", "extend_here"),
    ("fit", "apply_strength", "suggest", "show_error", "hide_error", "report"),
    ("weights_from_heat", "weights_from_examples", "transfer", "compile", "decompose", "invert_shape"),
    ("bake_shapes", "add_smooth", "bake_cache", "export_glb", "save_model", "open_model", "write_bundle"),
)
HOSTS = ("VIEW3D_MT_object", "VIEW3D_MT_pose", "VIEW3D_MT_sculpt")


def _in_menu(self, _context):
    self.layout.separator()
    self.layout.menu("DERMIS_MT_dermis")


CLASSES = (
    DERMIS_MT_dermis,
    DERMIS_UL_examples,
    DERMIS_UL_steps,
    DERMIS_PT_character,
    DERMIS_PT_session,
    DERMIS_PT_examples,
    DERMIS_PT_live,
    DERMIS_PT_influence,
    DERMIS_PT_model,
    DERMIS_PT_weights,
    DERMIS_PT_bake,
    DERMIS_PT_decompose,
)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)
    for host in HOSTS:
        getattr(bpy.types, host).append(_in_menu)


def unregister():
    for host in HOSTS:
        getattr(bpy.types, host).remove(_in_menu)
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
