"""Dermis inside Blender."""

bl_info = {
    "name": "Dermis",
    "description": "Learns how a character's skin moves from examples",
    "author": "The Dermis authors",
    "version": (0, 1, 0),
    "blender": (4, 2, 0),
    "location": "3D View > Sidebar > Dermis",
    "category": "Rigging",
}

from . import bundled

bundled.make_importable()

import bpy
import dermis


class DERMIS_OT_hello(bpy.types.Operator):
    bl_idname = "dermis.hello"
    bl_label = "Hello"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        context.scene["dermis_hello"] = context.scene.get("dermis_hello", 0) + 1
        self.report({"INFO"}, dermis.__version__)
        return {"FINISHED"}


class DERMIS_PT_hello(bpy.types.Panel):
    bl_label = "Character"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Dermis"

    def draw(self, context):
        self.layout.operator("dermis.hello")
        self.layout.label(text=f"clicked {context.scene.get('dermis_hello', 0)}")


CLASSES = (DERMIS_OT_hello, DERMIS_PT_hello)


def register():
    for c in CLASSES:
        bpy.utils.register_class(c)


def unregister():
    for c in reversed(CLASSES):
        bpy.utils.unregister_class(c)
