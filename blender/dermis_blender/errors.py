# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors on the surface: how far the model is from examples, as a colour attribute."""

import bpy
import numpy as np

from . import examples, live, reading
from .examples import OfCharacter
from .reading import Unreadable

ATTRIBUTE = "Dermis Error"
# Blue, green, yellow, red: no error, a third, two thirds, the scale and beyond.
RAMP = np.array([[0.05, 0.12, 0.5], [0.1, 0.55, 0.3], [0.95, 0.8, 0.15], [0.8, 0.05, 0.05]])


def colours(error, scale):
    """Colours (V, 4) of errors (V,), in metres."""
    at = np.clip(error / max(scale, 1e-9), 0.0, 1.0) * (len(RAMP) - 1)
    low = np.minimum(at.astype(int), len(RAMP) - 2)
    share = (at - low)[:, None]
    made = np.ones((len(error), 4), dtype=np.float32)
    made[:, :3] = (1.0 - share) * RAMP[low] + share * RAMP[low + 1]
    return made


def error_of(thing):
    """The rms of the model over the chosen examples, per vertex, in metres."""
    own = thing.dermis
    model = live.model_of(thing)
    if own.error_of == "ACTIVE":
        if not 0 <= own.active < len(own.examples):
            raise Unreadable("Select an example")
        taken = examples.read(thing, only=own.active)
    else:
        taken = examples.read(thing, uses=(own.error_of,))
    if not taken:
        what = "Check" if own.error_of == "CHECK" else "Learn"
        raise Unreadable(f"No example has the use {what}")
    squares = sum(((model(one.pose) - one.skin) ** 2).sum(axis=1) for one in taken)
    return np.sqrt(squares / len(taken))


def recolour(thing):
    """Colours again, after the scale was moved."""
    attribute = thing.data.color_attributes.get(ATTRIBUTE) if thing.type == "MESH" else None
    stored = thing.data.attributes.get(f"{ATTRIBUTE} metres") if attribute is not None else None
    if stored is None or len(stored.data) != len(attribute.data):
        return
    error = np.empty(len(stored.data), dtype=np.float32)
    stored.data.foreach_get("value", error)
    attribute.data.foreach_set("color", colours(error, thing.dermis.error_scale * reading.metres()).ravel())
    thing.data.update_tag()


def remove(thing):
    """Takes the colours away."""
    for name in (ATTRIBUTE, f"{ATTRIBUTE} metres"):
        if (found := thing.data.attributes.get(name)) is not None:
            thing.data.attributes.remove(found)


class DERMIS_OT_show_error(OfCharacter, bpy.types.Operator):
    """Colour the skin by the error of the model, from blue (none) to red"""

    bl_idname = "dermis.show_error"
    bl_label = "Show Error"

    def run(self, context, thing):
        if thing.mode != "OBJECT":
            raise Unreadable("Leave the mode of the mesh first")
        error = error_of(thing).astype(np.float32)
        remove(thing)
        mesh = thing.data
        stored = mesh.attributes.new(f"{ATTRIBUTE} metres", "FLOAT", "POINT")
        stored.data.foreach_set("value", error)
        mesh.color_attributes.new(ATTRIBUTE, "FLOAT_COLOR", "POINT")
        mesh.color_attributes.active_color = mesh.color_attributes[ATTRIBUTE]
        recolour(thing)
        for area in context.screen.areas if context.screen else ():
            if area.type == "VIEW_3D":
                area.spaces.active.shading.color_type = "VERTEX"
        self.report({"INFO"}, f"{1e3 * np.sqrt((error.astype(float) ** 2).mean()):.3g} mm rms, {1e3 * error.max():.3g} mm at most")


class DERMIS_OT_hide_error(OfCharacter, bpy.types.Operator):
    """Take the colours of the error away"""

    bl_idname = "dermis.hide_error"
    bl_label = "Hide Error"

    def run(self, context, thing):
        remove(thing)
        for area in context.screen.areas if context.screen else ():
            if area.type == "VIEW_3D":
                area.spaces.active.shading.color_type = "MATERIAL"


CLASSES = (DERMIS_OT_show_error, DERMIS_OT_hide_error)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
