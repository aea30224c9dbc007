#!/usr/bin/env python3
"""Make a large body with many examples: the bundled body, its edges split, in random poses, skinned by a pose space.

    python tools/large_body.py target/release/dermis OUT                     # 111,769 vertices, 5,065 poses: 6.8 GB
    python tools/large_body.py target/release/dermis OUT --vertices 50000 --poses 500
    python tools/large_body.py target/release/dermis OUT --cut 0,7,12        # some of the poses made before, as cut.npz

A pose mixes joints of the body's exercise: each is turned as in one of its poses, by a part of that angle, with a few
degrees of noise. The true skin is pose-space deformation fitted to the exercise by `dermis fit --method psd`, which is
no model of `--method joint`. The longest edges are split until there are as many vertices as asked for. A new vertex
lies midway, with the mean of the two skins and of their weights, of which the four largest stay.

Files written: rig.npz; frames.npz (training) and its poses alone, poses.npz; unseen.npz (200 other poses). Needs NumPy
and SciPy.
"""
import argparse
import heapq
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import numpy.lib.format as npy
import scipy.sparse as sparse
from scipy.spatial.transform import Rotation

BODY = Path(__file__).parent.parent / "assets" / "body" / "body_exercise.npz"
RIG = ("bone_names", "bone_parents", "bind_matrices", "units", "up_axis")
INFLUENCES = 4               # bones per vertex
NOISE = 0.06                 # radians about each axis, in every joint that the exercise turns


def locals_of(world: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Matrices relative to the parents' own, from those in the world: (..., B, 4, 4)."""
    above = np.where(parents[:, None, None] < 0, np.eye(4), np.linalg.inv(world)[..., np.maximum(parents, 0), :, :])
    return above @ world


def random_poses(body: np.lib.npyio.NpzFile, count: int, seed: int) -> np.ndarray:
    """Joint-to-world matrices of random poses: (count, B, 4, 4)."""
    random = np.random.default_rng(seed)
    parents, bind = body["bone_parents"].astype(int), body["bind_matrices"].astype(float)
    bones, rest = len(parents), locals_of(bind, parents)
    posed = locals_of(body["pose_matrices"].astype(float), parents)
    turns = np.swapaxes(rest[:, :3, :3], 1, 2) @ posed[:, :, :3, :3]
    vectors = Rotation.from_matrix(turns.reshape(-1, 3, 3)).as_rotvec().reshape(-1, bones, 3)
    moves = np.abs(vectors).max(axis=(0, 2)) > 1e-3
    poses = np.empty((count, bones, 4, 4), np.float32)
    for pose in poses:
        taken = vectors[random.integers(0, len(vectors), bones), np.arange(bones)] * random.random((bones, 1)) ** 0.7
        turn = Rotation.from_rotvec(taken + random.normal(0, NOISE, (bones, 3)) * moves[:, None]).as_matrix()
        world = np.empty((bones, 4, 4))
        for bone in range(bones):
            own = rest[bone].copy()
            own[:3, :3] = own[:3, :3] @ turn[bone]
            world[bone] = own if parents[bone] < 0 else world[parents[bone]] @ own
        pose[:] = world
    return poses


def triangles_of(faces: np.ndarray) -> list[list[int]]:
    """Quads as two triangles each; the last corner of a triangle among them repeats the one before, or is −1."""
    if faces.shape[1] == 3:
        return faces.astype(int).tolist()
    halves = [half for a, b, c, d in faces.astype(int).tolist() for half in ([a, b, c], [a, c, d])]
    return [half for half in halves if min(half) >= 0 and len(set(half)) == 3]


def split(points: np.ndarray, triangles: list[list[int]], vertices: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Splits the longest edges. Returns what each vertex mixes of the given points, and the triangles."""
    places, mixes = list(points), [{v: 1.0} for v in range(len(points))]
    beside: dict[tuple[int, int], set[int]] = {}

    def edge(a: int, b: int) -> tuple[int, int]:
        return (a, b) if a < b else (b, a)

    for number, (a, b, c) in enumerate(triangles):
        for of in (edge(a, b), edge(b, c), edge(c, a)):
            beside.setdefault(of, set()).add(number)
    longest = [(-float(np.linalg.norm(places[a] - places[b])), a, b) for a, b in beside]
    heapq.heapify(longest)
    while len(places) < vertices:
        length, a, b = heapq.heappop(longest)
        middle = len(places)
        places.append((places[a] + places[b]) / 2)
        keys = mixes[a].keys() | mixes[b].keys()
        mixes.append({v: (mixes[a].get(v, 0) + mixes[b].get(v, 0)) / 2 for v in sorted(keys)})
        for number in sorted(beside.pop((a, b))):
            at = next(at for at in range(3) if edge(triangles[number][at], triangles[number][(at + 1) % 3]) == (a, b))
            u, v, w = (triangles[number][(at + step) % 3] for step in range(3))
            other = len(triangles)
            triangles[number] = [u, middle, w]
            triangles.append([middle, v, w])
            beside[edge(v, w)].remove(number)
            beside[edge(v, w)].add(other)
            for of, triangle in ((edge(u, middle), number), (edge(middle, v), other)):
                beside.setdefault(of, set()).add(triangle)
            beside[edge(middle, w)] = {number, other}
            heapq.heappush(longest, (-float(np.linalg.norm(places[middle] - places[w])), *edge(middle, w)))
        for end in (a, b):
            heapq.heappush(longest, (length / 2, *edge(end, middle)))
    rows = np.repeat(np.arange(len(mixes)), [len(mix) for mix in mixes])
    columns, values = (np.concatenate([list(part(mix)) for mix in mixes]) for part in (dict.keys, dict.values))
    return sparse.csr_matrix((values, (rows, columns)), (len(mixes), len(points))), np.array(triangles, np.int32)


def write_examples(
    path: Path, rig: dict[str, np.ndarray], poses: np.ndarray, skins: np.ndarray, mixes: sparse.csr_matrix
) -> None:
    """A bundle of poses and skins, pose after pose: the skins are never held."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as bundle:
        for name, array in {**rig, "pose_matrices": poses}.items():
            with bundle.open(f"{name}.npy", "w") as member:
                npy.write_array(member, np.asarray(array))
        with bundle.open("vertices.npy", "w", force_zip64=True) as member:
            shape = (len(skins), mixes.shape[0], 3)
            npy.write_array_header_1_0(member, {"descr": "<f4", "fortran_order": False, "shape": shape})
            for skin in skins:
                member.write((mixes @ skin.astype(float)).astype("<f4").tobytes())


def cut(out: Path, poses: list[int]) -> None:
    """Writes some poses of frames.npz with their skins to cut.npz."""
    poses = sorted(poses)
    motion = dict(np.load(out / "poses.npz"))
    with zipfile.ZipFile(out / "frames.npz") as bundle, bundle.open("vertices.npy") as member:
        npy.read_magic(member)
        (_, vertices, _), _, _ = npy.read_array_header_1_0(member)
        skins, at = [], 0
        for pose in poses:
            member.seek((pose - at) * vertices * 12, 1)
            skins.append(np.frombuffer(member.read(vertices * 12), "<f4").reshape(vertices, 3))
            at = pose + 1
    motion["pose_matrices"] = motion["pose_matrices"][poses]
    motion |= {"vertices": np.array(skins), "pose_labels": np.array([str(pose) for pose in poses])}
    np.savez(out / "cut.npz", **motion)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dermis", help="the program")
    parser.add_argument("out", type=Path)
    parser.add_argument("--vertices", type=int, default=111_769)
    parser.add_argument("--poses", type=int, default=5_065)
    parser.add_argument("--cut", help="numbers of poses, separated by commas")
    args = parser.parse_args()
    if args.cut:
        cut(args.out, [int(number) for number in args.cut.split(",")])
        return
    args.out.mkdir(parents=True, exist_ok=True)
    body = np.load(BODY)
    rig = {name: body[name] for name in RIG}
    mixes, triangles = split(body["rest_vertices"].astype(float), triangles_of(body["faces"]), args.vertices)
    weights = mixes @ body["lbs_weights"].astype(float)
    weights[weights < np.sort(weights, axis=1)[:, -INFLUENCES][:, None]] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    rest = (mixes @ body["rest_vertices"].astype(float)).astype(np.float32)
    arrays = {"rest_vertices": rest, "faces": triangles, "lbs_weights": weights.astype(np.float32), **rig}
    np.savez_compressed(args.out / "rig.npz", **arrays)

    truth = args.out / "truth.dermis"
    fit = [args.dermis, "fit", BODY, "--examples", BODY, "--method", "psd", "-o", truth, "--force"]
    subprocess.run(fit, check=True)
    for name, count, seed in (("frames", args.poses, 1), ("unseen", 200, 2)):
        motion, coarse = args.out / ("poses.npz" if name == "frames" else "unseen-poses.npz"), args.out / "coarse.npz"
        poses = random_poses(body, count, seed)
        np.savez(motion, pose_matrices=poses, **rig)
        subprocess.run([args.dermis, "pose", truth, "--motion", motion, "-o", coarse, "--force"], check=True)
        write_examples(args.out / f"{name}.npz", rig, poses, np.load(coarse)["vertices"], mixes)
        coarse.unlink()
    (args.out / "unseen-poses.npz").unlink()


if __name__ == "__main__":
    main()
