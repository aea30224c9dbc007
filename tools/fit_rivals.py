#!/usr/bin/env python3
"""Multi-weight enveloping in NumPy: the reference that `cargo xtask bench fit` checks Dermis against, and its rival in time.

    python3 tools/fit_rivals.py FOLDER

FOLDER holds `published` and `full`, as dermis-bench writes them: `transforms` (poses, bones, 3, 4), `maps` (points, bones), `residuals`
(poses, points, 3), `coefficients` and
`coefficients_single` (points, bones, 12 or 36), `anchors` (points) and `info.json` (length, s). Prints one JSON object.

- literal: section 4 of Wang & Phillips 2002 as it is written. Per point and axis the eigenvectors of the features' covariance, projection,
  ridge by the singular value decomposition of the augmented matrix.
- batched: the same normal equations for all points with equally many bones at once. Their matrices are parts of one matrix of all
  bones, and their eigenvectors come from one call.
- the default form by its definition, only to check.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

EIGENVALUES_FROM = 1e-10  # of the largest, as Dermis has them
SINGULAR_VALUES_FROM = 1e-12


def load(folder):
    names = ("transforms", "maps", "residuals", "coefficients", "coefficients_single", "anchors")
    return json.loads((folder / "info.json").read_text()) | {name: np.load(folder / f"{name}.npy") for name in names}


def features(transforms, length):
    """Rows of the transforms, translations in rest diagonals: (poses, bones, 3, 4)."""
    return transforms / np.array([1, 1, 1, length])


def literal(data):
    x, maps = features(data["transforms"], data["length"]), data["maps"]
    found = np.zeros((*maps.shape, 3, 4))
    for v in range(len(maps)):
        bones = np.flatnonzero(maps[v])
        mu = np.repeat(maps[v, bones], 4)
        for j in range(3):
            a = x[:, bones, j].reshape(len(x), -1) * mu
            variances, e = np.linalg.eigh(np.cov(a.T, bias=True))
            kept = variances > EIGENVALUES_FROM * variances[-1]
            variances, e = variances[kept], e[:, kept]
            tall = np.vstack([a @ e, np.diag(np.sqrt(data["s"] / variances))])
            u, sigma, wt = np.linalg.svd(tall, full_matrices=False)
            rank = sigma > SINGULAR_VALUES_FROM * sigma[0]
            c = wt[rank].T @ ((u[: len(x), rank].T @ data["residuals"][:, v, j]) / sigma[rank])
            found[v, bones, j] = (mu * (e @ c)).reshape(-1, 4)
    return found.reshape(*maps.shape, 12)


def batched(data):
    x, maps, y = features(data["transforms"], data["length"]), data["maps"], data["residuals"]
    poses, bones = x.shape[:2]
    counts = (maps > 0).sum(1)
    found = np.zeros((*maps.shape, 3, 4))
    for j in range(3):
        a = x[:, :, j].reshape(poses, 4 * bones)
        gram, covariance, right = a.T @ a, np.cov(a.T, bias=True), a.T @ y[:, :, j]
        for count in np.unique(counts[counts > 0]):
            points = np.flatnonzero(counts == count)
            at = np.nonzero(maps[points])[1].reshape(-1, count)
            columns = (4 * at[:, :, None] + np.arange(4)).reshape(len(points), -1)
            mu = np.repeat(np.take_along_axis(maps[points], at, 1), 4, axis=1)
            pick = (columns[:, :, None], columns[:, None, :])
            scale = mu[:, :, None] * mu[:, None, :]
            variances, e = np.linalg.eigh(covariance[pick] * scale)
            kept = variances > EIGENVALUES_FROM * variances[:, -1:]
            e = e * kept[:, None, :]  # an axis that is left out solves 1 · c = 0
            ridge = np.where(kept, data["s"] / np.where(kept, variances, 1), 1)
            normal = e.transpose(0, 2, 1) @ (gram[pick] * scale) @ e
            normal[:, np.arange(4 * count), np.arange(4 * count)] += ridge
            b = mu * right[columns, points[:, None]]
            c = np.linalg.solve(normal, e.transpose(0, 2, 1) @ b[:, :, None])
            found[points[:, None], at, j] = (mu * (e @ c)[:, :, 0]).reshape(len(points), count, 4)
    return found.reshape(*maps.shape, 12)


def full(data):
    """Ridge s on all twelve entries of M_a⁻¹ M_k − I, bones k other than the anchor a."""
    rows, maps = data["transforms"], data["maps"]
    square = np.concatenate([rows, np.broadcast_to([0, 0, 0, 1.0], (*rows.shape[:2], 1, 4))], axis=2)
    found = np.zeros((*maps.shape, 36))
    for v, a in enumerate(data["anchors"]):
        bones = np.array([k for k in np.flatnonzero(maps[v]) if k != a], dtype=int)
        if not len(bones):
            continue
        seen = np.linalg.inv(square[:, a])[:, None] @ square[:, bones]
        x = features(seen[:, :, :3] - np.eye(4)[:3], data["length"]).reshape(len(rows), -1) * np.repeat(maps[v, bones], 12)
        y = np.linalg.solve(rows[:, a, :, :3], data["residuals"][:, v, :, None])[:, :, 0]
        u = np.linalg.solve(x.T @ x + data["s"] * np.eye(x.shape[1]), x.T @ y) * np.repeat(maps[v, bones], 12)[:, None]
        found[v, bones] = u.reshape(len(bones), 12, 3).transpose(0, 2, 1).reshape(len(bones), 36)
    return found


def difference(a, b):
    """Of coefficients: the largest over the largest of the same point, at the worst point."""
    largest = np.abs(b).max(axis=(1, 2))
    return float((np.abs(a - b).max(axis=(1, 2)) / np.where(largest > 0, largest, 1)).max())


def timed(solve, data):
    start = time.perf_counter()
    found = solve(data)
    return found, time.perf_counter() - start


def main():
    folder = Path(sys.argv[1])
    published, default = load(folder / "published"), load(folder / "full")
    reference, literal_seconds = timed(literal, published)
    together, batched_seconds = timed(batched, published)
    of_default = full(default)
    result = {
        "numpy": np.__version__,
        "points": len(reference),
        "literal_seconds": literal_seconds,
        "batched_seconds": batched_seconds,
        "batched_off": difference(together, reference),
        "published_off": difference(published["coefficients"], reference),
        "published_single_off": difference(published["coefficients_single"], reference),
        "full_off": difference(default["coefficients"], of_default),
        "full_single_off": difference(default["coefficients_single"], of_default),
    }
    print(json.dumps(result))


main()
