"""Decomposes a mesh sequence with Dem Bones and prints one JSON object: what `cargo xtask bench decompose` compares with.

    python tools/dem_bones.py SEQUENCE.npz --bones N [--influences 4] [--iterations N] [--plain | --smooth]
    python tools/dem_bones.py SEQUENCE.npz --score FOUND.npz

Dem Bones is Electronic Arts' program for skinning decomposition with rigid bones (Le & Deng 2012, 2014), here through the
PyPI package `py-dem-bones` (Python 3.9 or newer). The bundle holds `rest_vertices` (V, 3), `vertices` (P, V, 3) and `faces` (F, 3).
Without --plain everything but bones, influences and iterations is as the program sets it: weights are smoothed over
the surface (`weightsSmooth` 1e-4) and a bone is held near the rigid motion of its translation affinity (`transAffine` 10).
With --plain both are off, it minimises the plain squared error, as Dermis does, and may take 100 iterations for the 30 of
its default, at which it has not converged yet. With --smooth only the first is on, for as many iterations.

`objective` is what its weights minimise, per vertex: |x - y|^2 / (M^2 P) + 1e-4 |w - (I + L)^-1 w|^2, with M^2 the mean squared distance
of the rest shape from its centroid and L the Laplacian that its source defines. --score computes error and objective of a bundle
that `dermis decompose -o FOUND.npz` wrote, by the same code.

`seconds` is the time of `compute()` alone. Errors are computed here, in double precision, from the weights and the transforms
that it returns: E_RMS = 1000 |X - Y| / (sqrt(3 P V) diagonal / 2). Threads: OMP_NUM_THREADS.

Exit 3: the package is not installed.
"""

import argparse
import json
import sys
import time

try:
    import numpy as np
    import py_dem_bones
    from py_dem_bones.portable import _read_transformations
except ImportError as missing:
    print(f"NOT RUN: {missing}. Install with: pip install py-dem-bones numpy", file=sys.stderr)
    sys.exit(3)


def solver(rest, frames, faces, bones, influences, iterations):
    made = py_dem_bones.DemBones()
    made.nV, made.nF, made.nS, made.nB = len(rest), len(frames), 1, bones
    made.nnz, made.nIters = min(influences, bones), iterations
    made.fStart = np.array([0, len(frames)], dtype=np.int32)
    made.subjectID = np.zeros(len(frames), dtype=np.int32)
    made.u = np.ascontiguousarray(rest.T)
    made.v = np.ascontiguousarray(frames.transpose(0, 2, 1).reshape(3 * len(frames), len(rest)))
    made.fv = faces.tolist()
    return made


def errors(rest, frames, weights, transforms):
    """Of linear blend skinning with weights (B, V) and transforms (P, B, 4, 4)."""
    homogeneous = np.pad(rest, ((0, 0), (0, 1)), constant_values=1.0)
    squares, largest = 0.0, 0.0
    for target, pose in zip(frames, transforms):
        skin = np.einsum("bv,bij,vj->vi", weights, pose[:, :3], homogeneous, optimize=True)
        distances = np.linalg.norm(target - skin, axis=1)
        squares += float(distances @ distances)
        largest = max(largest, float(distances.max()))
    count = len(frames) * len(rest)
    half_diagonal = 0.5 * float(np.linalg.norm(rest.max(0) - rest.min(0)))
    return {
        "rms": (squares / count) ** 0.5,
        "max": largest,
        "e_rms": 1000 * (squares / (3 * count)) ** 0.5 / half_diagonal,
        "max_of_diagonal": largest / (2 * half_diagonal),
    }


def smoothed(rest, frames, faces, weights):
    """(I + L)^-1 w of weights (B, V), L = I - D^-1 A with A the reciprocal rms change of every edge's length."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    a, b = edges.T
    length = np.linalg.norm(rest[a] - rest[b], axis=1)
    change = np.zeros(len(edges))
    for frame in frames:
        change += (np.linalg.norm(frame[a] - frame[b], axis=1) - length) ** 2
    conductance = 1 / (np.sqrt(change / len(frames)) + 1e-15 * length.sum())
    degree = np.bincount(a, conductance, len(rest)) + np.bincount(b, conductance, len(rest))
    degree[degree == 0] = 1.0
    result = np.empty_like(weights)
    for k, row in enumerate(weights):
        z = row.copy()
        for _ in range(60):  # halves the error each time
            z = 0.5 * row + 0.5 * (np.bincount(a, conductance * z[b], len(z)) + np.bincount(b, conductance * z[a], len(z))) / degree
        result[k] = z
    return result


def objective(rest, frames, faces, weights, transforms, strength=1e-4):
    square = errors(rest, frames, weights, transforms)["rms"] ** 2
    size = float(((rest - rest.mean(0)) ** 2).sum(1).mean())
    roughness = float(((weights - smoothed(rest, frames, faces, weights)) ** 2).sum(0).mean())
    return {"objective": square / size + strength * roughness, "roughness": roughness}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sequence")
    parser.add_argument("--bones", type=int)
    parser.add_argument("--score", metavar="FOUND.npz")
    parser.add_argument("--influences", type=int, default=4)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--plain", action="store_true", help="no regularisers")
    parser.add_argument("--smooth", action="store_true", help="smooth weights, free transforms")
    options = parser.parse_args()
    iterations = options.iterations or (100 if options.plain or options.smooth else 30)
    bundle = np.load(options.sequence)
    rest, frames = (bundle[key].astype(float) for key in ("rest_vertices", "vertices"))
    if options.score:
        found = np.load(options.score)
        weights = found["lbs_weights"].astype(float).T
        transforms = found["pose_matrices"].astype(float) @ np.linalg.inv(found["bind_matrices"].astype(float))
        result = {"error": errors(rest, frames, weights, transforms)}
        print(json.dumps(result | objective(rest, frames, bundle["faces"], weights, transforms)))
        return
    made = solver(rest, frames, bundle["faces"], options.bones, options.influences, iterations)
    if options.plain:
        made.weightsSmooth = 0.0
    if options.plain or options.smooth:
        made.transAffine = 0.0
    start = time.perf_counter()
    made.compute()
    seconds = time.perf_counter() - start
    weights = np.asarray(made.get_weights(), dtype=float)
    result = {
        "program": f"Dem Bones {getattr(py_dem_bones, '__dem_bones_version__', '?')} (py-dem-bones {py_dem_bones.__version__})",
        "plain": options.plain,
        "iterations": iterations,
        "bones_requested": options.bones,
        "bones": int(made.nB),
        "influences_max": int((weights > 0).sum(0).max()),
        "seconds": seconds,
    }
    transforms = _read_transformations(made)
    result["error"] = errors(rest, frames, weights, transforms)
    result |= objective(rest, frames, bundle["faces"], weights, transforms)
    print(json.dumps(result))


main()
