"""The joint model over linear blending, written again in NumPy from its equations (docs/joint-model.md) and the arrays of a model
file. It shares no code with the library, and evaluates in double precision.

    p' = base + Π( T_a (F Σ_e U_e z_e + shared) ),   z_e = C_e⁻¹ k(φ_e, inducing_e)
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import dermis
from conftest import Floats


def stored(model: dermis.Model) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Header and arrays of a model file, which is in the safetensors format."""
    data = model.to_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    (text,) = header.pop("__metadata__").values()
    kinds = {"F32": "<f4", "F64": "<f8", "U32": "<u4", "U16": "<u2", "I16": "<i2", "U8": "u1"}
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"])
    return json.loads(text), arrays


def kernel(x: Floats, y: Floats, sigma: float, share: float) -> Floats:
    """k(x, y) = (1 − s)(σ²/2)(g(x, y) − g(x, 0) − g(0, y) + 1) + s h(x, y), rows against rows; h is the arc-cosine kernel."""

    def g(a: Floats, b: Floats) -> Floats:
        gauss: Floats = np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / sigma**2)
        return gauss

    zero = np.zeros((1, 12))
    gaussian: Floats = 0.5 * sigma**2 * (g(x, y) - g(x, zero) - g(zero, y) + 1)
    lengths = np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(y, axis=1)
    cosine = np.clip(x @ y.T / np.maximum(lengths, 1e-300), -1, 1)
    angle = np.arccos(cosine)
    arc: Floats = lengths * (np.sin(angle) + (np.pi - angle) * cosine) / np.pi
    return (1 - share) * gaussian + share * arc


def quaternion(turn: Floats) -> Floats:
    """(x, y, z, w): the eigenvector of largest eigenvalue of the matrix whose quadratic form the quaternion maximises."""
    m = turn
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], np.trace(m)],
        ]
    )
    q: Floats = np.linalg.eigh(k, UPLO="L")[1][:, -1]
    return q


def rotation(q: Floats) -> Floats:
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def pairs(offsets: Floats) -> list[tuple[int, int]]:
    return [(int(start), int(end)) for start, end in zip(offsets[:-1], offsets[1:])]


def evaluate(model: dermis.Model, transforms: Floats, every: int = 1) -> Floats:
    """Positions of every so many vertices in one pose of bone transforms (B, 4, 4), metres, Y up."""
    header, a = stored(model)
    joints, length = header["joints"], header["length"]
    assert header["base"] == "lbs" and joints["frame"] == "blend", header["base"]
    sigma, arc_cosine = joints["sigma"], joints["arc_cosine"]
    rest = a["rest_vertices"]
    welded = transforms.copy()
    for start, end, frozen in a["joints.links"]:
        # N: welded across joints that never moved in training.
        welded[end] = welded[start] if frozen else welded[start] @ np.linalg.inv(transforms[start]) @ transforms[end]
    z: list[Floats] = []
    first = 0
    for joint, (seen_from, seen) in enumerate(a["joints.bones"]):
        count = int(a["joints.inducing_counts"][joint])
        inducing = a["joints.inducing"][first : first + count]
        first += count
        q = np.linalg.inv(welded[seen_from]) @ welded[seen]
        centre = a["joints.centres"][joint]
        slide = q[:3, 3] / length - (centre - q[:3, :3] @ centre)
        if a["joints.composite"][joint]:
            slide = np.zeros(3)
        phi = np.concatenate([(q[:3, :3] - np.eye(3)) / np.sqrt(2), slide[:, None]], axis=1).reshape(12)
        phi *= min(1.0, float(a["joints.limits"][joint]) / max(float(np.linalg.norm(phi)), 1e-30))
        factor = np.linalg.cholesky(kernel(inducing, inducing, sigma, arc_cosine))
        z.append(np.linalg.solve(factor, kernel(phi[None], inducing, sigma, arc_cosine)[0]))
    if "down" in joints:
        down = np.array(joints["down"])
        for bone, limit in zip(a["gravity.bones"], a["gravity.limits"]):
            axes = transforms[bone, :3, :3]
            h = (axes / np.linalg.norm(axes, axis=0)).T @ down - down
            z.append(h * min(1.0, float(limit) / max(float(np.linalg.norm(h)), 1e-30)))
    turned = bool(a["joints.links"][:, 2].any())
    turns = np.einsum("bij,bjk->bik", transforms[:, :3, :3], np.linalg.inv(welded[:, :3, :3]))
    quaternions = np.stack([quaternion(bone[:3, :3]) for bone in welded])
    # Rows of coefficients are stored in fours.
    rows = np.array([-(-len(of_joint) // 4) * 4 for of_joint in z])
    sizes = [3 * int(rows[a["correction.terms"][slice(*pair)]].sum()) for pair in pairs(a["correction.offsets"])]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    coefficients = a["correction.coefficients"].ravel().astype(float)
    # Coefficients of 16 bits are in units of their vertex.
    units = a.get("correction.units", np.ones(len(rest)))
    skin = np.empty((len(rest[::every]), 3))
    for place, v in enumerate(range(0, len(rest), every)):
        p, at = rest[v], starts[v]
        span = slice(a["weights.offsets"][v], a["weights.offsets"][v + 1])
        bones, values = a["weights.bones"][span].astype(int), a["weights.values"][span]
        point = np.append(p, 1)
        base = np.einsum("b,bij,j->i", values, transforms[bones, :3], point)
        blend = np.einsum("b,bij,j->i", values, welded[bones, :3], point)
        dominant = bones[int(np.argmax(values))]
        signs = np.where(quaternions[bones] @ quaternions[dominant] < 0, -1.0, 1.0)
        mixed = ((values * signs)[:, None] * quaternions[bones]).sum(axis=0)
        frame = rotation(mixed / np.linalg.norm(mixed))
        free = np.zeros(3)
        for joint in a["correction.terms"][slice(*a["correction.offsets"][v : v + 2])]:
            for axis in range(3):
                free[axis] += z[joint] @ coefficients[at : at + len(z[joint])] * units[v]
                at += rows[joint]
        shared, squares = np.zeros(3), 0.0
        for term in range(*a["shared.offsets"][v : v + 2]):
            relevance, *offset, weight = a["shared.coefficients"][term].astype(float)
            bone = welded[a["shared.bones"][term]]
            turn = (bone[:3, :3] - frame) / np.sqrt(2)
            shift = (bone[:3] @ point - blend) * 10 / length
            shared += relevance * (turn @ offset + shift * weight)
            squares += relevance**2 * ((turn**2).sum() + shift @ shift)
        if len(a["shared.limits"]) and np.sqrt(squares) > a["shared.limits"][v]:
            shared *= a["shared.limits"][v] / np.sqrt(squares)
        delta = frame @ free + shared
        if turned:
            delta = turns[dominant] @ delta
        if len(a["correction.radii"]):
            radius, far = float(a["correction.radii"][v]), float(np.linalg.norm(delta))
            delta *= radius / far if far > radius else 1.0
        skin[place] = base + delta
    return skin
