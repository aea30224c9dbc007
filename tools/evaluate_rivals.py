#!/usr/bin/env python3
"""Linear blend skinning in NumPy, SciPy and libigl: what `cargo xtask bench evaluate` compares Dermis with.

    python3 tools/evaluate_rivals.py FOLDER [--quick]

FOLDER holds what dermis-bench writes: `rest` (V, 3), `bones-4` and `weights-4` (V, 4), `transforms` (P, B, 3, 4), `skin-4` (V, 3), our
result for pose 1. Prints one JSON object with vertices per second, best of several runs, and the largest distance from our result. Single
precision, but for libigl, which has double precision only. Packages that are not installed are named in `missing`.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np


def best(work, seconds):
    """The shortest run within so many seconds."""
    least, until = np.inf, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        work()
        end = time.perf_counter()
        least = min(least, end - start)
        if end > until:
            return least


def main():
    folder, seconds = Path(sys.argv[1]), 0.05 if "--quick" in sys.argv else 2.0
    rest, bones, weights, transforms, skin = (
        np.load(folder / f"{name}.npy") for name in ("rest", "bones-4", "weights-4", "transforms", "skin-4")
    )
    (vertices, influences), (poses, count) = bones.shape, transforms.shape[:2]
    homogeneous = np.pad(rest, ((0, 0), (0, 1)), constant_values=1)
    dense = np.zeros((vertices, count), dtype=np.float32)
    np.put_along_axis(dense, bones, weights, axis=1)
    matrices = transforms[1]
    # What a matrix of weights and rest positions is multiplied with: (4 bones, 3), or (4 bones, 3 poses) for all at once.
    stacked = np.ascontiguousarray(matrices.transpose(0, 2, 1).reshape(4 * count, 3))
    of_all = np.ascontiguousarray(transforms.transpose(1, 3, 0, 2).reshape(4 * count, 3 * poses))
    rows, missing, versions = [], [], [f"NumPy {np.__version__}"]

    def measure(name, work, pick=lambda result: result, poses=1):
        distance = float(np.linalg.norm(pick(work()) - skin, axis=1).max())
        rate = vertices * poses / best(work, seconds)
        rows.append({"program": name, "vertices_per_s": rate, "largest_distance": distance})

    def gathered():
        blend = np.einsum("vk,vkij->vij", weights, matrices[bones])
        return np.einsum("vij,vj->vi", blend, homogeneous)

    def multiplied():
        blend = (dense @ matrices.reshape(count, 12)).reshape(vertices, 3, 4)
        return np.einsum("vij,vj->vi", blend, homogeneous)

    measure("NumPy, einsum over influences", gathered)
    measure("NumPy, dense weights @ matrices", multiplied)
    try:
        import scipy
        import scipy.sparse

        columns = (4 * bones[:, :, None] + np.arange(4)).reshape(vertices, -1)
        values = (weights[:, :, None] * homogeneous[:, None, :]).reshape(vertices, -1)
        starts = np.arange(0, vertices * influences * 4 + 1, influences * 4)
        sparse = scipy.sparse.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(vertices, 4 * count))
        measure("SciPy, sparse matrix @ one pose", lambda: sparse @ stacked)
        measure(f"SciPy, sparse matrix @ {poses} poses", lambda: sparse @ of_all, lambda all: all[:, 3:6], poses)
        versions.append(f"SciPy {scipy.__version__}")
    except ImportError:
        missing.append("scipy")
    try:
        from importlib.metadata import version

        import igl

        matrix = igl.lbs_matrix(rest.astype(float), dense.astype(float))
        exact = stacked.astype(float)
        measure("libigl, lbs_matrix @ one pose", lambda: matrix @ exact)
        versions.append(f"libigl {version('libigl')}")
    except ImportError:
        missing.append("libigl")
    print(json.dumps({"versions": versions, "missing": missing, "rows": rows}))


main()
