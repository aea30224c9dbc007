#!/usr/bin/env python3
"""Sculpts of single joints made from a rig's own weights, and how well its influences are found again.

    python3 tools/single_bones.py make RIG.npz PLAN.npz OUT.npz --noise 0.0005
    python3 tools/single_bones.py score RIG.npz FOUND.npz --least 0.02

PLAN.npz comes from `dermis weights RIG.npz --plan PLAN.npz`, FOUND.npz from `dermis weights RIG.npz --single-bone OUT.npz -o FOUND.npz`.
An influence is a weight above --least, in both. Noise is normal, its standard deviation along each axis in the bundle's unit.
"""
import argparse
from pathlib import Path

import numpy as np

from make_scans import skinned


def weights_in_order_of(rig, other):
    names = [str(name) for name in rig["bone_names"]]
    return rig["lbs_weights"][:, [names.index(str(name)) for name in other["bone_names"]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    make, score = verbs.add_parser("make"), verbs.add_parser("score")
    for verb, other in ((make, "plan"), (score, "found")):
        verb.add_argument("rig", type=Path)
        verb.add_argument(other, type=Path)
    make.add_argument("out", type=Path)
    make.add_argument("--noise", type=float, default=0.0)
    make.add_argument("--seed", type=int, default=1)
    score.add_argument("--least", type=float, default=0.02)
    args = parser.parse_args()
    rig = np.load(args.rig)
    if args.verb == "make":
        plan = np.load(args.plan)
        bundle = {k: rig[k] for k in ("rest_vertices", "faces", "units", "up_axis") if k in rig}
        bundle |= {k: plan[k] for k in ("bone_names", "bone_parents", "bind_matrices", "pose_matrices", "pose_labels")}
        vertices = skinned(bundle | {"lbs_weights": weights_in_order_of(rig, plan)})
        vertices += np.random.default_rng(args.seed).normal(size=vertices.shape) * args.noise
        np.savez_compressed(args.out, vertices=vertices.astype(np.float32), **bundle)
        print(f"{len(vertices)} poses in {args.out}")
    else:
        found = np.load(args.found)
        true, made = weights_in_order_of(rig, found) > args.least, found["lbs_weights"] > args.least
        hits = (true & made).sum()
        print(f"precision {hits / made.sum():.4f}, recall {hits / true.sum():.4f} of {true.sum()} influences above {args.least}")


if __name__ == "__main__":
    main()
