"""A program that uses the package, for `mypy --strict`. It is never run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import dermis


def whole_loop(files: list[Path], matrices: NDArray[np.float64]) -> float:
    rig = dermis.Rig.open(files[0])
    shots = dermis.Examples.open(rig, *files[1:])
    made = dermis.Examples(rig, matrices, np.zeros((1, 3, 3)), labels=["a"], times=[0.0])
    method = dermis.Joint(sigma=1.2, guard=True, ridge={"fixed": 1e-3})
    fit = dermis.fit(rig, shots, hold_out=made, method=method, progress=lambda step, fraction: None)
    assert_type(fit.errors.train.rms, float)
    headline = fit.errors.headline
    fit.model.save("hero.dermis")
    assert_type(fit.model(matrices), NDArray[np.float32])
    assert_type(fit.model(matrices, normals=True), tuple[NDArray[np.float32], NDArray[np.float32]])
    out = np.empty((3, 3), np.float32)
    fit.model(transforms=matrices, out=out)
    assert_type(dermis.evaluate(fit.model, made).error.max, float)
    for row in dermis.compare(rig, shots, made, ["joint", "mwe"]):
        print(row["method"])
    dermis.weights(files[0], files[1], "heat", skip=["prop*"])
    dermis.export(files[0], files[1], motion=files[1], shapes="all")
    found = dermis.invert(np.zeros((3, 3)), np.zeros((3, 3)), deformer=lambda points: points, coupled="iterate", max_correction=2.0)
    assert isinstance(found, dermis.Inversion)
    assert_type(found.stopped, Literal["reached", "no-gain", "calls"])
    assert_type(found.limit, float)
    job = dermis.Job(lambda progress: dermis.fit(rig, shots, progress=progress))
    while job.running:
        print(f"{job.step} {job.share:.0%}")
    assert_type(job.result(timeout=1.0), dermis.Fit)
    search = dermis.inversion(np.zeros((3, 3)), np.zeros((3, 3)))
    assert_type(search.send(next(search)), NDArray[np.float64])
    return float("nan") if headline is None else headline.p95
