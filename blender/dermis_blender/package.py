# SPDX-License-Identifier: GPL-3.0-or-later
"""The package `dermis`, which comes with the extension as a wheel."""

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
