#!/usr/bin/env python3
"""Draw poses of a bundle, with the skin that the rig's own weights make of them.

    pip install numpy matplotlib
    dermis exercise assets/body/body_exercise.npz -o exercise.npz
    python tools/draw_poses.py exercise.npz docs/exercise.png 0,1,9,14,19,23,10,13,17,28,31,35
"""
import sys

import matplotlib
import numpy as np
from matplotlib.collections import PolyCollection

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

COLUMNS = 6


def turned(axis, degrees):
    """The rotation about the axis x or y, for row vectors."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = [[1, 0, 0], [0, c, s], [0, -s, c]], [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    return np.array(x if axis == "x" else y)


def main():
    """Command line."""
    path, out, poses = sys.argv[1], sys.argv[2], [int(p) for p in sys.argv[3].split(",")]
    file = np.load(path)
    rest = np.c_[file["rest_vertices"].astype(float), np.ones(len(file["rest_vertices"]))]
    bind = np.linalg.inv(file["bind_matrices"].astype(float))
    rows = -(-len(poses) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(2.6 * COLUMNS, 3.1 * rows))
    for axis in axes.ravel():
        axis.axis("off")
        axis.set_aspect("equal")
    for axis, pose in zip(axes.ravel(), poses):
        moved = np.einsum("vb,bij->vij", file["lbs_weights"], file["pose_matrices"][pose] @ bind)
        skin = np.einsum("vij,vj->vi", moved, rest)[:, :3]
        if str(file["up_axis"]) == "Z":
            skin = skin[:, [0, 2, 1]] * [1, 1, -1]
        skin = skin @ turned("y", 25) @ turned("x", 12)
        corners = skin[file["faces"]]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-12
        seen = np.flatnonzero(normals[:, 2] > 0)
        seen = seen[np.argsort(corners[seen, :, 2].mean(axis=1))]
        light = np.clip(0.25 + 0.75 * normals[seen] @ [0.3, 0.5, 0.8], 0, 1)
        axis.add_collection(PolyCollection(corners[seen, :, :2], facecolors=plt.cm.gray(light)))
        axis.autoscale()
        axis.set_title(str(file["pose_labels"][pose])[:34], fontsize=6)
    plt.tight_layout()
    plt.savefig(out, dpi=70)


if __name__ == "__main__":
    main()
