"""The package `dermis`, where it is installed."""

import sys
from pathlib import Path

# The legacy zip carries the package in this folder, and no other of its name may come before. An extension's is a wheel that Blender
# installs, and the folder is not there.
_LIB = str(Path(__file__).parent / "lib")
if Path(_LIB).is_dir() and _LIB not in sys.path:
    sys.path.insert(0, _LIB)

try:
    import dermis
except ImportError as missing:
    dermis = None
    MISSING = f"The package dermis does not load: {missing}"
else:
    MISSING = ""


def needed():
    """The package.

    Raises
    ------
    RuntimeError
        If it is not there, in words for a report.
    """
    if dermis is None:
        raise RuntimeError(MISSING)
    return dermis
