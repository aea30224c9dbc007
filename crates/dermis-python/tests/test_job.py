"""Work beside a window: jobs in the background, and the inverse one call at a time."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dermis
from conftest import EXERCISE, Arm, Floats

Progress = Callable[[str, float], None]


def test_a_job_finds_what_the_call_finds(arm_rig: dermis.Rig, train: dermis.Examples, arm_fit: dermis.Fit) -> None:
    seen: list[tuple[str, float]] = []
    job = dermis.Job(lambda progress: dermis.fit(arm_rig, train, progress=progress))
    while job.running:
        seen.append((job.step, job.share))
        time.sleep(0.001)
    fit = job.result()
    assert fit.model.to_bytes() == dermis.fit(arm_rig, train).model.to_bytes()
    assert job.result() is fit and not job.running and "done" in repr(job)
    shares = [share for _, share in seen]
    assert shares == sorted(shares) and 0.0 <= shares[0] and shares[-1] <= 1.0
    assert job.step in ("fit", "cross-validate") and job.share > 0.0


def endless(progress: Progress) -> None:
    while True:
        progress("waiting", 0.25)
        time.sleep(0.001)


def test_a_job_is_stopped_at_its_next_report() -> None:
    job = dermis.Job(endless)
    while not job.step:
        time.sleep(0.001)
    assert job.running and job.share == 0.25 and repr(job) == "<dermis.Job: waiting, 25 %>"
    with pytest.raises(TimeoutError, match="goes on after 0.01 s"):
        job.result(timeout=0.01)
    job.stop()
    with pytest.raises(dermis.Stopped):
        job.result(timeout=10.0)
    assert not job.running and repr(job) == "<dermis.Job: stopped>"


def test_work_that_was_done_before_it_could_be_stopped_counts() -> None:
    go_on = threading.Event()
    job = dermis.Job(lambda progress: go_on.wait(10.0))
    job.stop()
    go_on.set()
    assert job.result(timeout=10.0) is True


def test_what_the_work_raises_is_raised() -> None:
    class Mine(Exception):
        pass

    def fail(progress: Progress) -> None:
        raise Mine("here")

    job = dermis.Job(fail)
    for _ in range(2):
        with pytest.raises(Mine, match="here"):
            job.result()
    assert repr(job) == "<dermis.Job: failed>"
    go_on = threading.Event()

    def fail_late(progress: Progress) -> None:
        go_on.wait(10.0)
        raise Mine("because it was stopped")

    late = dermis.Job(fail_late)
    late.stop()
    go_on.set()
    with pytest.raises(dermis.Stopped) as stopped:
        late.result()
    assert isinstance(stopped.value.__cause__, Mine)
    with pytest.raises(TypeError, match="function is a int"):
        dermis.Job(3)  # type: ignore[arg-type]


# A window's thread: it turns every few milliseconds. The job turns the skins of the whole exercise into examples and back, and fits a few.
LONGEST = """
import sys, time
import numpy as np
import dermis

rig = dermis.Rig.open(sys.argv[1])
shots = dermis.Examples.open(rig, sys.argv[1])
poses, skins = shots.pose_matrices, shots.vertices

def work(progress):
    made = dermis.Examples(rig, np.array(list(poses)), np.array(list(skins)))
    assert made.vertices.shape == skins.shape
    return dermis.fit(rig, made.subset(range(6)), folds=2, progress=progress).to_html()

job = dermis.Job(work)
longest, turns, begin = 0.0, 0, time.perf_counter()
last = begin
while job.running:
    time.sleep(0.002)
    now = time.perf_counter()
    longest, last, turns = max(longest, now - last), now, turns + 1
job.result()
print(longest, turns, last - begin)
"""


def test_a_window_turns_while_a_job_fits() -> None:
    ran = subprocess.run([sys.executable, "-c", LONGEST, EXERCISE], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    longest, turns, seconds = map(float, ran.stdout.split())
    print(f"longest gap {1e3 * longest:.1f} ms of {turns:.0f} turns in {seconds:.1f} s")
    assert longest < 0.1


def test_a_program_that_ends_while_a_job_works_ends_quietly(tmp_path: Path) -> None:
    script = f"""
import dermis
rig = dermis.Rig.open({str(EXERCISE)!r})
shots = dermis.Examples.open(rig, {str(EXERCISE)!r})
job = dermis.Job(lambda progress: dermis.fit(rig, shots, progress=progress))
while not job.step:
    pass
print("bye")
"""
    start = time.monotonic()
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    print(f"ended after {time.monotonic() - start:.1f} s")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "bye\n", "")


def bend(points: Any, strength: float = 0.9) -> Floats:
    bent: Floats = np.array(points, dtype=np.float64)
    bent[:, 1] += strength * bent[:, 0] ** 2
    return bent


def answered(
    search: Generator[NDArray[np.float64], Any, dermis.Inversion], deformer: Callable[[NDArray[np.float64]], Any]
) -> tuple[int, dermis.Inversion]:
    """Calls, and what was found."""
    calls = 0
    try:
        points = next(search)
        while True:
            calls += 1
            points = search.send(deformer(points))
    except StopIteration as ended:
        found: dermis.Inversion = ended.value
        return calls, found


def relaxed(points: NDArray[np.float64]) -> Floats:
    """A deformer whose vertices depend on their neighbours in the list."""
    bent = bend(points)
    return 0.8 * bent + 0.1 * np.roll(bent, 1, axis=0) + 0.1 * np.roll(bent, -1, axis=0)


@pytest.mark.parametrize(
    ("deformer", "keywords"),
    [
        (bend, {}),
        (bend, dict(algorithm="direction-set", max_calls=60)),
        (bend, dict(tolerance=1e-4)),
        (relaxed, dict(coupled="iterate", max_correction=2.0)),
    ],
)
def test_the_inverse_one_call_at_a_time_is_the_inverse(arm: Arm, deformer: Any, keywords: dict[str, Any]) -> None:
    rest = arm.rest / 3
    sculpt = deformer(rest) + 0.02 * np.sin(9 * rest)
    expected = dermis.invert(rest, sculpt, deformer=deformer, **keywords)
    assert isinstance(expected, dermis.Inversion)
    calls, found = answered(dermis.inversion(rest, sculpt, **keywords), deformer)
    assert calls == found.calls == expected.calls
    for name in ("displacements", "remainders", "residuals"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.stopped, found.unresolved, found.coupled, found.limited) == (
        expected.stopped, expected.unresolved, expected.coupled, expected.limited,
    )  # fmt: skip


def test_two_searches_go_on_side_by_side(arm: Arm) -> None:
    rest = arm.rest / 3
    sculpts = [bend(rest) + 0.02 * np.sin(k * rest) for k in (5, 9)]
    searches = [dermis.inversion(rest, sculpt) for sculpt in sculpts]
    asked = [next(search) for search in searches]
    found: list[dermis.Inversion | None] = [None, None]
    while None in found:
        for at, search in enumerate(searches):
            if found[at] is None:
                try:
                    asked[at] = search.send(bend(asked[at]))
                except StopIteration as ended:
                    found[at] = ended.value
    for sculpt, each in zip(sculpts, found):
        expected = dermis.invert(rest, sculpt, deformer=bend)
        assert isinstance(expected, dermis.Inversion) and each is not None
        np.testing.assert_array_equal(each.displacements, expected.displacements)


def searching() -> int:
    """Threads of searches, by their name."""
    names = [task / "comm" for task in Path("/proc/self/task").iterdir()]
    return sum(name.exists() and name.read_text().strip() == "dermis inverse" for name in names)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are listed on Linux alone")
def test_closing_or_dropping_a_search_ends_its_thread(arm: Arm) -> None:
    sculpt = arm.rest + 0.01
    for taken in range(4):
        search = dermis.inversion(arm.rest, sculpt)
        points = next(search)
        for _ in range(taken):
            points = search.send(bend(points))
        assert searching() == 1
        search.close()
        assert searching() == 0
    search = dermis.inversion(arm.rest, sculpt)
    next(search)
    del search
    gc.collect()
    assert searching() == 0
    untouched = dermis.inversion(arm.rest, sculpt)
    del untouched
    gc.collect()
    end = time.monotonic() + 10.0
    while searching() and time.monotonic() < end:
        time.sleep(0.01)
    assert searching() == 0


def test_what_a_search_refuses(arm: Arm) -> None:
    for rest, sculpt, keywords, said in [
        (arm.rest[:, :2], arm.rest, {}, r"rest has shape \(200, 2\); \(V, 3\) is expected"),
        (arm.rest, arm.rest[1:], {}, r"sculpt has shape \(199, 3\); \(200, 3\) is expected"),
        (arm.rest, arm.rest * np.nan, {}, r"sculpt: entry \[0, 0\] is not finite"),
        (arm.rest, arm.rest, dict(tolerance=0.0), "tolerance is 0; it must be positive"),
        (arm.rest, arm.rest, dict(algorithm="newton"), "'auto', 'gauss-newton' or 'direction-set' is expected"),
    ]:
        with pytest.raises(dermis.Error, match=said):
            dermis.inversion(rest, sculpt, **keywords)  # type: ignore[arg-type]
    with pytest.raises(dermis.Error, match="max_calls is 3; it must be 8 or more"):
        next(dermis.inversion(arm.rest, arm.rest, max_calls=3))
    wrong: list[tuple[Any, str]] = [
        (arm.rest[1:], r"what was sent has shape \(199, 3\); \(200, 3\) is expected"),
        (np.full_like(arm.rest, np.inf), r"what was sent: entry \[0, 0\] is not finite"),
        (None, "what was sent"),
    ]
    for answer, said in wrong:
        search = dermis.inversion(arm.rest, arm.rest)
        next(search)
        with pytest.raises(dermis.Error, match=said):
            search.send(answer)
        with pytest.raises(StopIteration):
            next(search)
    with pytest.raises(dermis.Error, match="because others moved") as refused:
        answered(dermis.inversion(arm.rest / 3, relaxed(arm.rest / 3)), relaxed)
    assert "iterate" in refused.value.hint
