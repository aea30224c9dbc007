"""Dermis in Blender: pose, paint, sculpt, fit and see, in the place where the character is.

`reading` turns a mesh and its armature into arrays, `store` keeps arrays in the file, `live` shows a model, and every other
module holds the operators of one panel. Nothing is computed here that the package `dermis` computes.
"""

bl_info = {
    "name": "Dermis",
    "author": "Dermis",
    "version": (0, 1, 0),
    "blender": (4, 2, 0),
    "location": "3D View > Sidebar > Dermis",
    "description": "Learns how a character's skin moves from examples",
    "category": "Animation",
}

import importlib
import sys

_NAMES = (
    "properties",
    "character",
    "examples",
    "sculpting",
    "inverting",
    "fitting",
    "influence",
    "live",
    "errors",
    "weights",
    "baking",
    "sessions",
    "panels",
)


def _modules():
    return [importlib.import_module(f".{name}", __package__) for name in _NAMES]


if "properties" in sys.modules.get(__name__, sys).__dict__:
    # Blender's Reload Scripts runs this file again; its modules must follow, those that others import first.
    for _name in ("package", "reading", "store", "bundles", "stack_inverse", "jobs", *_NAMES):
        if (_found := sys.modules.get(f"{__name__}.{_name}")) is not None:
            importlib.reload(_found)


def register():
    for module in _modules():
        module.register()


def unregister():
    for module in reversed(_modules()):
        module.unregister()
