# SPDX-License-Identifier: GPL-3.0-or-later
"""The package `dermis`, which the zip for older ways to install holds unpacked in the folder `lib`.

Only that zip has this file, in the place of the extension's.
"""

import importlib.util
import os
import sys


def _loaded():
    """The package of the folder `lib`, under its own name, so that its modules find each other; one that was loaded before is taken."""
    if "dermis" in sys.modules:
        return sys.modules["dermis"]
    folder = os.path.join(os.path.dirname(__file__), "lib", "dermis")
    spec = importlib.util.spec_from_file_location(
        "dermis", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    made = sys.modules["dermis"] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules["dermis"]
        raise
    return made


dermis = _loaded()
