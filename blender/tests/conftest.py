"""Which add-on the tests run with.

Without more, it is the folder beside this one, and `dermis` the package that this Python has:

    python -m pytest blender/tests

`cargo xtask blender` installs the zip first, and names the installed add-on's module in DERMIS_BLENDER_ADDON. Blender then
has enabled it under that name, and tests that import `dermis_blender` get the same modules, not a second copy of them.
"""

import importlib
import importlib.abc
import importlib.util
import os
import sys
from pathlib import Path

import bpy
import pytest

NAME = "dermis_blender"
INSTALLED = os.environ.get("DERMIS_BLENDER_ADDON")


class Installed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the installed add-on's modules under the name of its folder."""

    def find_spec(self, name, path=None, target=None):
        if name == NAME or name.startswith(NAME + "."):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        module = importlib.import_module(INSTALLED + spec.name.removeprefix(NAME))
        # The import gives it a specification of the name asked for; the module goes on with its own.
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state


def enable():
    """Switches the add-on on; where it is on, nothing changes."""
    if INSTALLED:
        import addon_utils

        assert addon_utils.enable(INSTALLED, default_set=True), f"{INSTALLED} cannot be enabled"


if INSTALLED:
    enable()
    if INSTALLED != NAME:
        sys.meta_path.insert(0, Installed())
else:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    importlib.import_module(NAME).register()


def pytest_sessionfinish():
    """Python must not end with classes in Blender that it has taken apart: the process would hang."""
    if not INSTALLED:
        importlib.import_module(NAME).unregister()


@pytest.fixture(autouse=True)
def empty_file():
    """Every test starts with an empty file of Blender's own settings, and with the add-on on."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    enable()
