"""Does a character learn the same skin wherever it stands?

    python tools/check_turned.py DERMIS BUNDLE.npz HELD_OUT.npz [MOTIONS] [OPTION of dermis fit]...

Fits BUNDLE, evaluates the model in the poses of HELD_OUT, and does the same with rig, examples and poses turned and moved as a whole
by MOTIONS random rigid motions (20 unless given). Prints the largest distance between the skins, moved back, in parts of the rest
diagonal, and fails above 1e-6. Needs NumPy.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

POINTS = ("rest_vertices", "vertices")
MATRICES = ("bind_matrices", "pose_matrices")


def rigid(random):
    """A rotation of any direction and angle, and a translation of up to two diagonals along each axis."""
    q = random.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    motion = np.eye(4)
    motion[:3, :3], motion[:3, 3] = turn, random.uniform(-2, 2, 3)
    return motion


def moved(arrays, motion):
    """A bundle whose whole scene is moved."""
    made = dict(arrays)
    for name in POINTS:
        if name in made:
            made[name] = made[name].astype(float) @ motion[:3, :3].T + motion[:3, 3]
    for name in MATRICES:
        if name in made:
            made[name] = motion @ made[name].astype(float)
    return made


def skins(dermis, folder, bundle, held_out, options):
    """Skins of a fit in the held-out poses, poses by vertices by three."""
    np.savez(folder / "train.npz", **bundle)
    np.savez(folder / "held.npz", **held_out)
    train, model, out = folder / "train.npz", folder / "model.dermis", folder / "posed.npz"
    fit = [dermis, "fit", train, "--examples", train, "-o", model, "--force", "--folds", "0", *options]
    subprocess.run(fit, check=True, capture_output=True)
    pose = [dermis, "pose", model, "--motion", folder / "held.npz", "-o", out, "--force"]
    subprocess.run(pose, check=True, capture_output=True)
    return np.load(out)["vertices"].astype(float)


def main():
    dermis, bundle, held_out, *options = sys.argv[1:]
    count = int(options.pop(0)) if options and options[0].isdigit() else 20
    bundle, held_out = dict(np.load(bundle, allow_pickle=False)), dict(np.load(held_out, allow_pickle=False))
    rest = bundle["rest_vertices"].astype(float)
    diagonal = np.linalg.norm(rest.max(0) - rest.min(0))
    random, worst = np.random.default_rng(1), 0.0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        still = skins(dermis, folder, moved(bundle, np.eye(4)), moved(held_out, np.eye(4)), options)
        for at in range(count):
            motion = rigid(random)
            motion[:3, 3] *= diagonal
            turned = skins(dermis, folder, moved(bundle, motion), moved(held_out, motion), options)
            back = (turned - motion[:3, 3]) @ motion[:3, :3]
            apart = np.linalg.norm(back - still, axis=-1).max() / diagonal
            worst = max(worst, apart)
            print(f"motion {at + 1}: {apart:.1e} of the diagonal", flush=True)
    print(f"largest: {worst:.1e}")
    sys.exit(0 if worst <= 1e-6 else "the skin depends on where the character stands")


if __name__ == "__main__":
    main()
