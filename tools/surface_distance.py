#!/usr/bin/env python3
"""How far skins lie off the surface of true ones: python3 tools/surface_distance.py SKINS.npz TRUTH.npz

Both bundles hold the same mesh in the same poses (vertices, faces). A distance from vertex to vertex counts where a vertex lies on
the skin; scans do not show that. This prints both: rms from vertex to vertex, and rms from each vertex to the nearest point
of the true surface, in millimetres if the bundles are in metres. NumPy is all it needs.
"""
import argparse
from pathlib import Path

import numpy as np

NEAREST = 6


def read(path):
    """Skins with Y up, and the faces."""
    bundle = np.load(path)
    skins = bundle["vertices"].astype(float)
    if "up_axis" in bundle and str(bundle["up_axis"]).upper() == "Z":
        skins = np.stack([skins[..., 0], skins[..., 2], -skins[..., 1]], axis=-1)
    return skins, bundle["faces"].astype(np.int64)


def fans(vertices, faces):
    """For every vertex the triangles around it, in a table padded with the last of them."""
    corner = np.argsort(faces.ravel(), kind="stable")
    counts = np.bincount(faces.ravel(), minlength=vertices)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    table = first[:, None] + np.minimum(np.arange(counts.max()), np.maximum(counts - 1, 0)[:, None])
    return corner[np.minimum(table, len(corner) - 1)] // 3


def to_triangles(points, a, b, c):
    """Distances from points to triangles: the plane inside, else the nearest edge."""
    def to_edge(p, q):
        along = q - p
        square = np.maximum((along * along).sum(-1), 1e-30)
        t = np.clip(((points - p) * along).sum(-1) / square, 0.0, 1.0)
        return np.linalg.norm(points - p - t[..., None] * along, axis=-1)

    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=-1)
    inside = np.ones(length.shape, bool)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(q - p, points - p) * normal).sum(-1) >= 0.0
    plane = np.abs(((points - a) * normal).sum(-1)) / np.maximum(length, 1e-30)
    edges = np.minimum(np.minimum(to_edge(a, b), to_edge(b, c)), to_edge(c, a))
    return np.where(inside & (length > 0.0), plane, edges)


def from_surface(skin, truth, faces, fan):
    """The distance of each vertex of `skin` from the triangles around the vertices of `truth` that are nearest to it."""
    squares = (truth * truth).sum(1)
    distance = np.empty(len(skin))
    for at in range(0, len(skin), 1000):
        points = skin[at : at + 1000]
        near = np.argpartition(squares - 2.0 * points @ truth.T, NEAREST, axis=1)[:, :NEAREST]
        corners = truth[faces[fan[near].reshape(len(points), -1)]]
        distance[at : at + 1000] = to_triangles(points[:, None], *(corners[:, :, c] for c in range(3))).min(axis=1)
    return distance


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("skins", type=Path)
    parser.add_argument("truth", type=Path)
    args = parser.parse_args()
    (skins, _), (truth, faces) = read(args.skins), read(args.truth)
    if skins.shape != truth.shape:
        raise SystemExit(f"{args.skins}: {skins.shape[:2]} poses and vertices, but {args.truth} has {truth.shape[:2]}")
    fan = fans(truth.shape[1], faces)
    off = np.stack([from_surface(a, b, faces, fan) for a, b in zip(skins, truth)])
    apart = np.linalg.norm(skins - truth, axis=-1)
    rms = lambda values: 1000.0 * np.sqrt((values**2).mean())
    print(f"vertex to vertex {rms(apart):.2f}, vertex to surface {rms(off):.2f} (rms, thousandths of the bundles' unit)")


if __name__ == "__main__":
    main()
