"""Pictures for the gallery: a shaded mesh, with a colour per vertex."""

from __future__ import annotations

from typing import Any, Sequence

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

Array = npt.NDArray[Any]


def turned(points: Array, degrees: float) -> Array:
    """Returns points turned about the Y axis."""
    angle = np.radians(degrees)
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T)


def colours(values: Array, largest: float) -> Array:
    """Returns colours from grey (zero) over yellow to red (`largest` and above)."""
    stops = np.array([[0.78, 0.78, 0.80], [0.98, 0.84, 0.32], [0.80, 0.12, 0.10]])
    x = np.clip(np.asarray(values) / largest, 0.0, 1.0)[:, None] * 2.0
    return np.asarray(np.where(x < 1, stops[0] * (1 - x) + stops[1] * x, stops[1] * (2 - x) + stops[2] * (x - 1)))


def meshes(
    skins: Sequence[Array],
    faces: Array,
    titles: Sequence[str],
    colour: Sequence[Array | None] | None = None,
    view: float = 30.0,
    window: tuple[float, float, float, float] | None = None,
) -> Figure:
    """Draws skins side by side, seen from `view` degrees beside the front.

    - skins: (V, 3), Z up, facing -Y, as the bundled body is; faces: (F, 3)
    - colour: per skin (V, 3) from zero to one, or None for grey
    - window: left, right, bottom and top of what is shown, in metres; everything unless stated
    """
    light = np.array([0.3, 0.5, 0.8]) / np.linalg.norm([0.3, 0.5, 0.8])
    figure, axes = plt.subplots(1, len(skins), figsize=(2.6 * len(skins), 4.6), squeeze=False)
    for at, (skin, title) in enumerate(zip(skins, titles)):
        axis = axes[0, at]
        points = turned(np.asarray(skin, dtype=float)[:, [0, 2, 1]] * [1, 1, -1], view)
        corners = points[faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-30
        towards = normals[:, 2] > 0
        order = np.argsort(corners[towards, :, 2].mean(axis=1))
        shade = 0.45 + 0.55 * np.clip(normals[towards] @ light, 0, 1)
        of_vertex = None if colour is None else colour[at]
        base = np.full((len(points), 3), 0.78) if of_vertex is None else np.asarray(of_vertex)
        face_colours = base[faces[towards]].mean(axis=1) * shade[:, None]
        patches = PolyCollection(
            list(corners[towards][order][:, :, :2]), facecolors=np.clip(face_colours[order], 0, 1), edgecolors="none"
        )
        patches.set_antialiased(False)
        axis.add_collection(patches)
        left, right, bottom, top = window or (
            *(points[:, 0].min() - 0.05, points[:, 0].max() + 0.05),
            *(points[:, 1].min() - 0.05, points[:, 1].max() + 0.05),
        )
        axis.set_xlim(left, right)
        axis.set_ylim(bottom, top)
        axis.set_aspect("equal")
        axis.axis("off")
        axis.set_title(title, fontsize=10)
    figure.tight_layout()
    return figure
