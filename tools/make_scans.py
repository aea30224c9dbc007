#!/usr/bin/env python3
"""Make scans of a posed character out of a bundle: python3 tools/make_scans.py BUNDLE.npz OUT_DIR

Every example of the bundle (rest_vertices, faces, vertices, pose_labels) becomes one OBJ file that shares no vertex with the
mesh: points are spread anew over the posed surface, as many as --points says, and joined to triangles where their
Voronoi cells on the surface meet; then come noise, and round holes that take a part of the surface away.
Beside the folder lie OUT_DIR_poses.npz, the poses under the names of the scans, and OUT_DIR_truth.npz, the rig without
weights and the skins of all examples. NumPy is all it needs, and a seed makes it repeatable.
"""
import argparse
import heapq
import re
from pathlib import Path

import numpy as np


def subdivide(positions, faces, times):
    """Midpoint subdivision: the surface stays where it is."""
    for _ in range(times):
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        unique, index = np.unique(edges, axis=0, return_inverse=True)
        middle = len(positions) + index.reshape(3, -1)
        positions = np.concatenate([positions, positions[unique].mean(axis=1)])
        a, b, c = faces.T
        ab, bc, ca = middle
        faces = np.concatenate([np.stack(t, axis=1) for t in [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]])
    return positions, faces


def remesh(positions, faces, points, random):
    """Triangles between `points` random vertices: each vertex joins its nearest seed along edges, and every face whose
    corners have three different seeds joins those."""
    edges = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1), axis=0)
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(len(positions) + 1))
    lengths = np.linalg.norm(positions[both[:, 0]] - positions[both[:, 1]], axis=1)
    seeds = np.sort(random.choice(len(positions), min(points, len(positions)), replace=False))
    owner, distance = np.full(len(positions), -1), np.full(len(positions), np.inf)
    distance[seeds] = 0.0
    heap = [(0.0, int(seed), at) for at, seed in enumerate(seeds)]
    while heap:
        d, vertex, seed = heapq.heappop(heap)
        if owner[vertex] >= 0:
            continue
        owner[vertex] = seed
        for at in range(starts[vertex], starts[vertex + 1]):
            other, further = int(both[at, 1]), d + lengths[at]
            if further < distance[other]:
                distance[other] = further
                heapq.heappush(heap, (further, other, seed))
    made = owner[faces]
    made = made[(made[:, 0] != made[:, 1]) & (made[:, 1] != made[:, 2]) & (made[:, 2] != made[:, 0])]
    key = np.sort(made, axis=1)
    _, first = np.unique(key, axis=0, return_index=True)
    return positions[seeds], made[np.sort(first)]


def holes(positions, faces, missing, holes_wanted, random):
    """Faces without those within round holes, which together take away `missing` of the area."""
    corners = positions[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    centres, gone = corners.mean(axis=1), np.zeros(len(faces), bool)
    for hole in range(holes_wanted):
        goal = missing * area.sum() * (hole + 1) / holes_wanted
        left = np.flatnonzero(~gone)
        centre = centres[random.choice(left, p=area[left] / area[left].sum())]
        order = left[np.argsort(np.linalg.norm(centres[left] - centre, axis=1), kind="stable")]
        need = goal - area[gone].sum()
        gone[order[: np.searchsorted(np.cumsum(area[order]), need)]] = True
    return faces[~gone]


def skinned(bundle):
    """Linear blend skinning of every pose."""
    transforms = bundle["pose_matrices"].astype(float) @ np.linalg.inv(bundle["bind_matrices"].astype(float))
    rest = np.concatenate([bundle["rest_vertices"], np.ones((len(bundle["rest_vertices"]), 1))], axis=1)
    weights = bundle["lbs_weights"].astype(float)
    blended = (np.einsum("vb,bij->vij", weights, pose[:, :3]) for pose in transforms)
    return np.stack([np.einsum("vij,vj->vi", matrices, rest) for matrices in blended])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--points", type=int, default=0, help="vertices per scan [default: 1.3 times the bundle's]")
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation along each axis, in the bundle's unit")
    parser.add_argument("--missing", type=float, default=0.25, help="share of the area that holes take away")
    parser.add_argument("--holes", type=int, default=5, help="holes per scan")
    parser.add_argument("--every", type=int, default=1, help="take every so many examples, the first included")
    parser.add_argument("--count", type=int, default=0, help="take so many examples, evenly spread, the first included")
    parser.add_argument("--lbs", action="store_true", help="skins by the bundle's own weights instead of its own skins")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    bundle = np.load(args.bundle)
    vertices, faces = bundle["vertices"].astype(float), bundle["faces"].astype(np.int64)
    if args.lbs:
        vertices = skinned(bundle)
    labels = bundle["pose_labels"] if "pose_labels" in bundle else [f"pose {s}" for s in range(len(vertices))]
    points = args.points or int(1.3 * vertices.shape[1])
    args.out.mkdir(parents=True, exist_ok=True)
    names = []
    taken = range(0, len(vertices), args.every)
    if args.count:
        taken = [s * len(vertices) // args.count for s in range(min(args.count, len(vertices)))]
    for s in taken:
        random = np.random.default_rng([args.seed, s])
        # Every scan has another number of vertices.
        wanted = int(points * random.uniform(0.9, 1.1))
        times = 0
        while vertices.shape[1] * 4**times < 5 * wanted:
            times += 1
        fine, triangles = subdivide(vertices[s], faces, times)
        scan, made = remesh(fine, triangles, wanted, random)
        made = holes(scan, made, args.missing, args.holes, random)
        scan = scan + random.normal(size=scan.shape) * args.noise
        used, renumbered = np.unique(made, return_inverse=True)
        name = f"{len(names):03}_" + re.sub(r"[^A-Za-z0-9]+", "_", str(labels[s])).strip("_")
        lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in scan[used]]
        lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in renumbered.reshape(-1, 3)]
        (args.out / f"{name}.obj").write_text("\n".join(lines) + "\n")
        names.append(name)
    keep = {k: bundle[k] for k in ("bone_names", "bone_parents", "bind_matrices", "units", "up_axis") if k in bundle}
    poses = bundle["pose_matrices"][list(taken)]
    np.savez_compressed(args.out.parent / f"{args.out.name}_poses.npz", pose_matrices=poses, pose_labels=names, **keep)
    keep |= {k: bundle[k] for k in ("rest_vertices", "faces", "pose_matrices", "pose_labels") if k in bundle}
    np.savez_compressed(args.out.parent / f"{args.out.name}_truth.npz", vertices=vertices, **keep)
    print(f"{len(names)} scans of about {points} vertices in {args.out}, their poses in {args.out}_poses.npz")


if __name__ == "__main__":
    main()
