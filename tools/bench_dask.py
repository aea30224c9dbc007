#!/usr/bin/env python3
"""Fit on 1, 2 and 4 worker processes of this machine: python tools/bench_dask.py [VERTICES] [POSES] [PARTS]

Makes a tube of 30 bones, divides its poses into parts, fits multi-weight enveloping (a task per part) and the joint model
(a task per share) with each number of workers, and prints seconds, bytes of a part and the largest memory of a worker as
a Markdown table. Checks that all models have the same bytes. Needs the package dermis and dask[distributed].
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import dermis
import dermis.dask

os.environ["RAYON_NUM_THREADS"] = "1"  # of the workers: each stands for a machine of one core
BONES = 30


def tube(vertices: int, poses: int) -> "dict[str, Any]":
    """A tube along X whose skin bulges where it bends."""
    random = np.random.default_rng(5)
    sides = 20
    rings = vertices // sides
    x, turn = np.meshgrid(np.linspace(0.0, 3.0, rings), np.arange(sides) * 2 * np.pi / sides, indexing="ij")
    rest = np.stack([x.ravel(), 0.1 * np.cos(turn).ravel(), 0.1 * np.sin(turn).ravel()], axis=1)
    ring, side = np.meshgrid(np.arange(rings - 1), np.arange(sides), indexing="ij")
    a, b = ring * sides + side, ring * sides + (side + 1) % sides
    faces = np.concatenate([np.stack([a, a + sides, b + sides], -1), np.stack([a, b + sides, b], -1)]).reshape(-1, 3)
    place = np.clip(rest[:, 0] / 3.0 * BONES - 0.5, 0, BONES - 1)
    weights = np.maximum(0, 1 - np.abs(place[:, None] - np.arange(BONES)))
    weights /= weights.sum(axis=1, keepdims=True)
    bind = np.tile(np.eye(4), (BONES, 1, 1))
    bind[:, 0, 3] = np.arange(BONES) * 3.0 / BONES
    angles = random.uniform(-0.4, 0.4, (poses, BONES))
    world = np.zeros((poses, BONES, 4, 4))
    above = np.tile(np.eye(4), (poses, 1, 1))
    for bone in range(BONES):
        local = np.tile(np.eye(4), (poses, 1, 1))
        c, s = np.cos(angles[:, bone]), np.sin(angles[:, bone])
        local[:, 0, 0], local[:, 0, 1], local[:, 1, 0], local[:, 1, 1] = c, -s, s, c
        local[:, 0, 3] = 3.0 / BONES if bone else 0.0
        above = above @ local
        world[:, bone] = above
    moves = (world @ np.linalg.inv(bind)).astype(np.float32)
    skins = np.empty((poses, len(rest), 3), dtype=np.float32)
    for pose in range(poses):
        blend = np.einsum("vb,bij->vij", weights, moves[pose], optimize=True)
        bulge = 1 + 0.4 * (weights @ np.abs(angles[pose]))[:, None]
        bulged = rest * np.concatenate([np.ones_like(bulge), bulge, bulge], axis=1)
        skins[pose] = np.einsum("vij,vj->vi", blend[:, :3, :3], bulged) + blend[:, :3, 3]
    return {
        "rest_vertices": rest.astype(np.float32),
        "faces": faces.astype(np.int32),
        "bone_names": np.array([f"bone {bone}" for bone in range(BONES)]),
        "bone_parents": np.arange(BONES) - 1,
        "bind_matrices": bind,
        "lbs_weights": weights.astype(np.float32),
        "pose_matrices": world,
        "vertices": skins,
    }


def peak() -> int:
    """Largest memory of this process, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    numbers = [int(text) for text in sys.argv[1:]]
    vertices, poses, parts = (numbers + [20_000, 240, 8][len(numbers) :])[:3]
    with tempfile.TemporaryDirectory() as folder:
        bundle = tube(vertices, poses)
        rig = {key: bundle[key] for key in bundle if key not in ("pose_matrices", "vertices")}
        np.savez(Path(folder) / "rig.npz", **rig)
        files = []
        for part, frames in enumerate(np.array_split(np.arange(poses), parts)):
            files.append(str(Path(folder) / f"part{part}.npz"))
            np.savez(
                files[-1],
                **rig,
                pose_matrices=bundle["pose_matrices"][frames],
                vertices=bundle["vertices"][frames],
                pose_labels=np.array([f"pose {frame}" for frame in frames]),
            )
        print(f"{len(bundle['rest_vertices'])} vertices, {BONES} bones, {poses} poses in {parts} parts\n")
        print("| method | workers | seconds | over one | MiB of a part | largest worker, MiB |")
        print("|---|---|---|---|---|---|")
        for method in [dermis.Mwe(), dermis.Joint()]:
            models, first = set(), 0.0
            for workers in [1, 2, 4]:
                with LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
                ) as cluster, Client(cluster) as client:
                    client.wait_for_workers(workers)
                    start = time.perf_counter()
                    made = dermis.dask.fit(client, str(Path(folder) / "rig.npz"), files, method=method)
                    seconds = time.perf_counter() - start
                    memory = max(client.run(peak).values())
                first = first or seconds
                models.add(made.model.to_bytes())
                part = max(made.part_bytes) / 2**20
                print(
                    f"| {method.name} | {workers} | {seconds:.1f} | {seconds / first:.2f} | {part:.1f} | {memory} |",
                    flush=True,
                )
            assert len(models) == 1, "the number of workers changed the model"


if __name__ == "__main__":
    main()
