"""A page of whatever a file shows, for a notebook or a browser."""

from __future__ import annotations

import os
import shutil
import tempfile
import webbrowser
from pathlib import Path as FilePath
from typing import Any, Literal

from ._fit import iframe
from ._progress import Progress
from ._verbs import Path, _existing, _given, _input, _read, _text, run


class View:
    """A page of a model, a rig, a motion or a mesh. A notebook shows it."""

    def __init__(self, page: str, found: dict[str, Any]) -> None:
        self._page = page
        self._found = found

    @property
    def shows(self) -> str:
        """What the page shows, such as 'rig' or 'model'."""
        return str(self._found["shows"])

    @property
    def frames(self) -> int:
        """Frames that play."""
        return int(self._found["frames"])

    @property
    def notes(self) -> list[str]:
        """What to know of the file and of the page."""
        return list(self._found["notes"])

    def to_html(self) -> str:
        """The page, in one file without network access.

        Returns
        -------
        str
        """
        return self._page

    def open(self) -> str:
        """Opens the page in the browser, from a temporary folder.

        Returns
        -------
        str
            Where the page is.
        """
        folder = FilePath(tempfile.mkdtemp(prefix="dermis-view-"))
        path = folder / "view.html"
        path.write_text(self._page, encoding="utf-8")
        webbrowser.open(path.as_uri())
        return str(path)

    def __repr__(self) -> str:
        return f"<dermis.View of a {self.shows}: {self._found['vertices']} vertices, {self.frames} frames>"

    def _repr_html_(self) -> str:
        return iframe(self._page)


def view(
    file: Path,
    motion: Path | None = None,
    out: Path | None = None,
    *,
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    fps: float | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> View:
    """Shows a model, a rig, a motion or a mesh: in a notebook, or in the browser by `View.open`.

    Parameters
    ----------
    file : path
        A model (.dermis); a rig, a motion, a mesh or its shapes over time. Of a file with several clips ``'walk.glb#Walk'`` names one.
    motion : path, optional
        A motion for the model or the rig, or the shapes of the mesh.
    out : path, optional
        Where the page goes (.html).
    up, unit, fps
        How files are read that do not say it themselves.
    replace : bool
        Whether a page that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    View
    """
    folder = tempfile.mkdtemp(prefix="dermis-view-")
    try:
        target = os.path.join(folder, "view.html") if out is None else os.fspath(out)
        recipe = _given(
            file=_input(file), motion=_input(motion), read=_read(up=up, unit=unit, fps=fps), out=_text(target),
            existing=_existing(replace),
        )
        found = run({"view": recipe}, progress)
        return View(FilePath(target).read_text(encoding="utf-8"), found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
