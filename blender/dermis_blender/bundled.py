"""The Python package `dermis` that came with the add-on.

An extension carries it as a wheel, which Blender installs. The legacy zip carries it in the folder `lib` beside this file.
"""

import sys
from pathlib import Path


def make_importable() -> None:
    """Puts the package of the legacy zip before any other of its name. An extension has none, and nothing changes."""
    lib = Path(__file__).parent / "lib"
    if lib.is_dir() and str(lib) not in sys.path:
        sys.path.insert(0, str(lib))
