"""One call of a model from Python beside Rust's own runner, in the same process: `cargo xtask bench python`.

The model is the joint model of the bundled body, 13,380 vertices, in the poses of the walk. Passes of the two
alternate, and the fastest of each counts. Results of the package are written to memory of the caller (`out=`), in the file's own axes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np

import dermis


def seconds(call, passes: int) -> float:
    fastest = float("inf")
    for _ in range(passes):
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--passes", type=int, default=40)
    arguments = parser.parse_args()
    rig = dermis.Rig.open("assets/body/body_exercise.npz")
    shots = dermis.Examples.open(rig, "assets/body/body_exercise.npz")
    walk = dermis.Examples.open(rig, "assets/body/body_walk.npz")
    model = dermis.fit(rig, shots, folds=0).model
    vertices = len(rig.rest_vertices)
    found = {}
    print(f"{'poses in a call':>16} {'Rust, us a pose':>16} {'Python, us a pose':>18} {'ratio':>7}")
    for count in (1, 12, 96):
        poses = np.ascontiguousarray(np.resize(walk.pose_matrices, (count, *walk.pose_matrices.shape[1:])))
        out = np.empty((count, vertices, 3), np.float32)
        rust, python = float("inf"), float("inf")
        for _ in range(5):
            rust = min(rust, dermis._dermis._runner_seconds(model, poses, arguments.passes))
            python = min(python, seconds(lambda: model(poses, out=out), arguments.passes))
        found[count] = {"rust_seconds": rust / count, "python_seconds": python / count, "ratio": python / rust}
        print(f"{count:>16} {1e6 * rust / count:>16.1f} {1e6 * python / count:>18.1f} {python / rust:>7.3f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as stream:
            json.dump({"vertices": vertices, "numpy": np.__version__, "python": sys.version, "calls": found}, stream)


if __name__ == "__main__":
    main()
