"""The package `dermis`, where it is installed."""

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
