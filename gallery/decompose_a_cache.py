# %% [markdown]
# # I have only a mesh sequence. How do I get bones and weights?
#
# The input is a surface in twelve frames: no skeleton, no weights. The decomposition finds bones, their motion, and up
# to four weights a vertex.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dermis
from draw import meshes

bundle = np.load(Path("../assets/body") / "body_walk.npz")
vertices, faces = bundle["vertices"], bundle["faces"]

# %%
found = dermis.decompose(vertices=vertices, faces=faces, rest_vertices=bundle["rest_vertices"], bones=24)
assert isinstance(found, dermis.Decomposition)
print(found)

# %% [markdown]
# Each vertex has the colours of its bones, mixed by its weights.

# %%
palette = np.random.default_rng(3).uniform(0.25, 0.95, (found.weights.shape[1], 3))
colour = found.weights @ palette
moves = found.pose_matrices @ np.linalg.inv(found.rig.bind_matrices)
rest = np.c_[found.rig.rest_vertices, np.ones(len(colour))]
rebuilt = np.einsum("vb,pbij,vj->pvi", found.weights, moves, rest, optimize=True)[..., :3]
error = np.linalg.norm(rebuilt - vertices, axis=2)
print(f"{found.weights.shape[1]} bones leave {1e3 * np.sqrt((error**2).mean()):.2f} mm rms")
figure = meshes([vertices[3], rebuilt[3]], faces, ["the sequence", "24 bones"], [None, colour])
plt.show()
