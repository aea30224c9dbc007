"""Sessions: a folder that one learns with, a sculpt at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Optional

from ._methods import Joint
from ._progress import Progress
from ._studio import studio
from ._verbs import Files, Path, _existing, _given, _input, _inputs, _read, _text, run

if TYPE_CHECKING:
    from .notebook import Studio


class Session:
    """A folder with a rig, its motions, the sculpts that were made of them, and the models that learnt from these.

    Every act is written before it returns, and one program at a time writes. Each returns what `dermis session --json` prints: a
    dictionary with `steps`, `model`, `scores` and `warnings`, lengths in metres.

    >>> session = dermis.Session.new("hero.glb", "hero.session", motions="walk.glb")
    >>> session.next(2, out="todo")                      # OBJ files to be sculpted
    >>> session.add("todo/walk_12.obj")["scores"]["met"]
    >>> session.undo()
    >>> session.export("hero.dermis")
    """

    def __init__(self, folder: Path) -> None:
        self.folder = _text(folder)

    @classmethod
    def open(cls, folder: Path) -> "Session":
        """Opens a session.

        Parameters
        ----------
        folder : path
            Its folder.

        Raises
        ------
        dermis.Error
            If there is none, or its rig is not the one that it began with.
        """
        session = cls(folder)
        session.status()
        return session

    @classmethod
    def new(
        cls, rig: Path, folder: Path, *, motions: Files = (), truths: Files = (), method: Optional[Joint] = None,
        fps: Optional[float] = None, progress: Progress = None,
    ) -> "Session":
        """Begins a session.

        Parameters
        ----------
        rig : path
            Mesh and skeleton with weights; the session keeps a copy.
        folder : path
            A folder that is new or empty.
        motions : path or sequence of paths
            What the model shall become good at.
        truths : path or sequence of paths
            Poses with their true skin, which the model is checked on and never learns from.
        method : Joint, optional
            The joint model with its settings; over the rig's own weights by default.
        fps : float, optional
            Frames per second at which clips are sampled; their own keys by default.
        progress : bool or callable, optional
            As in `run`.
        """
        session = cls(folder)
        new = _given(
            rig=_input(rig), motions=_inputs(motions), truths=_inputs(truths), read=_read(fps=fps),
            method=None if method is None else method.to_dict(),
        )
        session._act({"new": new}, progress)
        return session

    def next(
        self, count: int = 3, *, check: bool = False, out: Optional[Path] = None, replace: bool = False,
        progress: Progress = None,
    ) -> list[dict[str, Any]]:
        """Hands out poses to be sculpted, with the skin of the present model.

        Parameters
        ----------
        count : int
            How many.
        check : bool
            Whether they are for checks.
        out : path, optional
            A folder for OBJ files, a bundle (.npz), or a mesh with a morph target per pose (.glb).
        replace : bool
            Whether an output that exists is replaced.
        progress : bool or callable, optional
            As in `run`.

        Returns
        -------
        list of dict
            The offers: `name`, `pose`, `region`, `check`. A file that is called as an offer is a sculpt of it.
        """
        wish = _given(count=count, check=check, out=_text(out), existing=_existing(replace))
        offered: list[dict[str, Any]] = self._act({"next": wish}, progress)["offered"]
        return offered

    def add(
        self, sculpt: Optional[Path] = None, at: Optional[str] = None, *,
        role: Optional[Literal["sculpt", "anchor", "check"]] = None, mask: Optional[Path] = None, whole: bool = False,
        strength: float = 1.0, unit: Optional[float] = None, up: Optional[Literal["y", "z"]] = None,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Adds a sculpt, fits, and says what that did.

        Parameters
        ----------
        sculpt : path, optional
            The file; none for an anchor.
        at : str, optional
            Its pose: an offer, or ``'walk:12'``. A file that is called as an offer needs none.
        role : str, optional
            'check' is never learnt from; an 'anchor' says that the skin of its pose is right as it is shown.
        mask : path, optional
            A file with a number from 0 to 1 for every vertex; without it the vertices that differ from what was shown.
        whole : bool
            Whether all of the skin is as it should be.
        strength : float
            The factor of the change.
        unit : float, optional
            Metres per unit of a file that does not state it; the rig's own by default.
        up : str, optional
            The axis that points up in such a file.
        progress : bool or callable, optional
            As in `run`.
        """
        act = _given(
            sculpt=_text(sculpt), at=at, role=role, mask=_text(mask), whole=whole, strength=strength,
            read=_read(unit=unit, up=up),
        )
        return self._act({"add": act}, progress)

    def fit(self, method: Optional[Joint] = None, progress: Progress = None) -> dict[str, Any]:
        """Fits the steps that count again, with other settings."""
        return self._act({"fit": _given(method=None if method is None else method.to_dict())}, progress)

    def status(self) -> dict[str, Any]:
        """The steps, and what the last one did."""
        return self._act("status", None)

    def rebase(self, rig: Path, folder: Path, progress: Progress = None) -> "Session":
        """Begins a session with the steps of this one on a changed rig. This one stays as it is.

        Parameters
        ----------
        rig : path
            The changed rig, with the same vertices, faces and names of bones: other weights, or another rest mesh. Where the rest mesh
            differs, sculpts keep what they add to the skin of the rig's own weights.
        folder : path
            A folder that is new or empty, for the new session.
        progress : bool or callable, optional
            As in `run`.

        Raises
        ------
        dermis.Error
            If the sculpts are none of that rig.
        """
        session = Session(folder)
        session._act({"rebase": {"from": self.folder, "rig": _input(rig)}}, progress)
        return session

    def undo(self, step: Optional[int] = None, progress: Progress = None) -> dict[str, Any]:
        """Goes back to the model before the last change, or switches a step off."""
        return self._act({"undo": _given(step=step)}, progress)

    def redo(self, step: Optional[int] = None, progress: Progress = None) -> dict[str, Any]:
        """Takes back what was undone, or switches a step on."""
        return self._act({"redo": _given(step=step)}, progress)

    def export(self, out: Path, *, replace: bool = False) -> dict[str, Any]:
        """Writes the present model (.dermis)."""
        return self._act({"export": _given(out=_text(out), existing=_existing(replace))}, None)

    def studio(self, *, into: Path = ".", height: int = 900) -> Studio:
        """Shows the session in a notebook: pose, sculpt, learn and look. *Save the session* there writes its steps back here.

        Parameters
        ----------
        into : path
            The folder for the other files that the page saves.
        height : int
            Height of the page, pixels.

        Raises
        ------
        ImportError
            Without ``pip install dermis[notebook]``.
        """
        return studio(session=self.folder, into=into, height=height)

    def _act(self, act: Any, progress: Progress) -> dict[str, Any]:
        return run({"session": {"folder": self.folder, "act": act}}, progress)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"dermis.Session({self.folder!r})"
