# %% [markdown]
# # My deformer is a Python function. Which shape at rest makes my sculpt in a pose?
#
# Any function from points to points will do: a lattice of another program, a twist, a learnt model. Dermis calls it, and
# looks for the displacement at rest of every vertex.

# %%
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt

import dermis


def deform(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A bend followed by a twist."""
    x, y, z = points.T
    s, c = np.sin(0.9 * x), np.cos(0.9 * x)
    x, y = s * (1 - y) / 0.9, 1 - c * (1 - y)
    s, c = np.sin(0.5 * points[:, 0]), np.cos(0.5 * points[:, 0])
    return np.stack([x, c * y - s * z, s * y + c * z], axis=1)


# %% [markdown]
# The artist pulls a bump out of the posed skin.

# %%
u, v = np.meshgrid(np.linspace(0, 1, 80), np.linspace(-0.1, 0.1, 24))
rest = np.stack([u.ravel(), np.full(u.size, 0.1), v.ravel()], axis=1)
sculpt = deform(rest)
sculpt[:, 1] += 0.05 * np.exp(-(((rest[:, 0] - 0.5) / 0.1) ** 2))

# %%
found = dermis.invert(rest, sculpt, deformer=deform)
assert isinstance(found, dermis.Inversion)
farthest = np.linalg.norm(deform(rest + found.displacements) - sculpt, axis=1).max()
print(f"{found.calls} calls for {len(rest)} vertices, {found.unresolved} unresolved, farthest vertex {farthest:.1e}")
assert farthest < 1e-9

# %%
figure, axes = plt.subplots(1, 2, figsize=(7, 2.6))
for axis, points, title in zip(axes, [rest + found.displacements, sculpt], ["the shape at rest", "the sculpt"]):
    axis.scatter(points[:, 0], points[:, 1], s=1, color="#4477aa")
    axis.set_title(title, fontsize=10)
    axis.set_aspect("equal")
figure.tight_layout()
plt.show()
