"""Long work beside a window."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

Found = TypeVar("Found")

# Seconds that a process which ends gives its jobs to notice. Steps of a fit report once in a second or more often.
_GRACE = 2.0


class Stopped(Exception):
    """The job was stopped before it was done."""


class Job(Generic[Found]):
    """Long work in the background of a program with a window, such as Blender, Maya or a program with Qt.

    The work begins at once, on a thread of its own, and the window stays alive. A timer of the program looks after it: while
    `running`, it shows `step` and `share`; then it takes the `result`. All members are for the program's own thread.

    Parameters
    ----------
    function : callable
        The work. It gets one argument, a callable of (step, fraction of the whole), and hands it on as `progress` to the
        functions of the package. It touches nothing of the program: most programs allow that on their own thread alone.

    Attributes
    ----------
    running : bool
        Whether the work goes on.
    step : str
        What is being done; empty before the first report.
    share : float
        How much of the whole is done, 0 to 1.

    Examples
    --------
    >>> job = dermis.Job(lambda progress: dermis.fit(rig, shots, progress=progress))
    >>> job.running, job.step, job.share
    >>> job.stop()
    >>> fit = job.result()
    """

    def __init__(self, function: Callable[[Callable[[str, float], None]], Found]) -> None:
        if not callable(function):
            raise TypeError(f"function is a {type(function).__name__}; a callable of one argument is expected")
        self._step, self._share, self._stopped = "", 0.0, False
        self._found: Found | None = None
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(function,), name="dermis job", daemon=True)
        _jobs.add(self)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def step(self) -> str:
        return self._step

    @property
    def share(self) -> float:
        return self._share

    def stop(self) -> None:
        """Asks the work to stop. It does at its next report, where `progress` raises `Stopped`; this does not wait for that."""
        self._stopped = True

    def result(self, timeout: float | None = None) -> Found:
        """Waits for the end of the work, and returns what the function returned. Ctrl-C while it waits stops the work.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Raises
        ------
        Stopped
            If the work was stopped before it was done. Work that was done by then counts.
        TimeoutError
            If it goes on after `timeout`.
        Exception
            What the function raised.
        """
        try:
            self._thread.join(timeout)
        except KeyboardInterrupt:
            self.stop()
            raise
        if self._thread.is_alive():
            raise TimeoutError(f"the job goes on after {timeout} s")
        if self._failed is None:
            return cast(Found, self._found)
        if self._stopped and not isinstance(self._failed, Stopped):
            raise Stopped("the job was stopped") from self._failed
        raise self._failed

    def _work(self, function: Callable[[Callable[[str, float], None]], Found]) -> None:
        try:
            self._found = function(self._progress)
        except BaseException as failed:  # noqa: BLE001 it is raised where the result is taken
            self._failed = failed

    def _progress(self, step: str, share: float) -> None:
        if self._stopped:
            raise Stopped("the job was stopped")
        self._step, self._share = step, share

    def __repr__(self) -> str:
        if self.running:
            state = f"{self.step or 'begun'}, {100 * self.share:.0f} %"
        else:
            state = "done" if self._failed is None else "stopped" if self._stopped else "failed"
        return f"<dermis.Job: {state}>"


_jobs: weakref.WeakSet[Job[Any]] = weakref.WeakSet()


def _end() -> None:
    """Stops every job: a thread that came back to an interpreter which has ended would take the process down."""
    going_on = [job for job in _jobs if job.running]
    for job in going_on:
        job.stop()
    end = time.monotonic() + _GRACE
    for job in going_on:
        job._thread.join(max(0.0, end - time.monotonic()))


atexit.register(_end)
