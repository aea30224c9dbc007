"""What the checks of bundles by other programs share: the skin that the weights of a bundle make, lists of numbers, and refusals."""

import sys

import numpy as np


def linear_blend(bundle):
    """The skin of every pose: the sum over bones of weight times pose matrix times inverse bind matrix, on the rest."""
    rest = np.pad(bundle["rest_vertices"].astype(float), ((0, 0), (0, 1)), constant_values=1.0)
    weights = bundle["lbs_weights"].astype(float)
    moves = bundle["pose_matrices"].astype(float) @ np.linalg.inv(bundle["bind_matrices"].astype(float))
    return np.stack([np.einsum("vij,vj->vi", np.tensordot(weights, move, 1), rest)[:, :3] for move in moves])


def numbers(kind):
    """A reader of numbers between commas."""
    return lambda text: [kind(part) for part in text.split(",")]


def refuse(reason):
    """Ends with the exit code of files that do not fit."""
    print(reason, file=sys.stderr)
    sys.exit(2)
