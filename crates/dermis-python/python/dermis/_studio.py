"""The page that fits, for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from ._verbs import Path

if TYPE_CHECKING:
    from .notebook import Studio


def studio(*files: Path, session: Optional[Path] = None, into: Path = ".", height: int = 900) -> Studio:
    """Shows the page of `dermis studio` in a notebook: files, fit, report, and the loop of posing, sculpting and learning.

    Parameters
    ----------
    files : paths
        Files that are in the page from the start: a rig, examples, what is held out; of a folder its files.
    session : path, optional
        The folder of a session that the page opens.
    into : path
        The folder for what the page saves. A file that is there already stays, and the new one gets a number.
    height : int
        Height of the page, pixels.

    Returns
    -------
    dermis.notebook.Studio
        A widget.

    Raises
    ------
    ImportError
        Without ``pip install dermis[notebook]``.
    dermis.Error
        If a file is not there.
    """
    try:
        from .notebook import Studio
    except ImportError as error:
        raise ImportError(f"the page in a notebook takes more packages ({error}): pip install dermis[notebook]") from error
    return Studio(*files, session=session, into=into, height=height)
