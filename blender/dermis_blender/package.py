"""The package `dermis`: installed by the extension, or unpacked in the folder `lib` of an add-on that was installed the older way."""

import os
import sys

_LIB = os.path.join(os.path.dirname(__file__), "lib")
if os.path.isdir(_LIB) and _LIB not in sys.path:
    sys.path.append(_LIB)

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
