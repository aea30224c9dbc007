# SPDX-License-Identifier: GPL-3.0-or-later
"""The package `dermis`, or why it does not load."""

try:
    from .loaded import dermis
except (ImportError, OSError) as missing:
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
