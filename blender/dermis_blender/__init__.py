# SPDX-License-Identifier: GPL-3.0-or-later
"""Dermis in Blender: pose, paint, sculpt, fit and see, in the place where the character is.

`reading` turns a mesh and its armature into arrays, `store` keeps arrays in the file, `live` shows a model, and every other
module holds the operators of one panel. Nothing is computed here that the package `dermis` computes.
"""

import importlib

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
    "transfer",
    "baking",
    "sessions",
    "panels",
)


def _modules():
    return [importlib.import_module(f".{name}", __package__) for name in _NAMES]


if "properties" in globals():
    # Blender's Reload Scripts runs this file again; its modules must follow, those that others import first.
    for _name in ("loaded", "package", "reading", "store", "bundles", "stack_inverse", "jobs", *_NAMES):
        if _name in globals():
            importlib.reload(globals()[_name])


def register():
    for module in _modules():
        module.register()


def unregister():
    for module in reversed(_modules()):
        module.unregister()
