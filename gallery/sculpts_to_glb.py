# %% [markdown]
# # I have three sculpts. How do they become a GLB that an engine drives?
#
# Three poses of the body stand in for an artist's sculpts: the skin with the arms up, the elbow bent, the knee bent.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dermis
from draw import colours, meshes

assets = Path("../assets/body")
rig = dermis.Rig.open(assets / "body_exercise.npz")
exercise = dermis.Examples.open(rig, assets / "body_exercise.npz")
names = ["arm up left", "double biceps", "knee up left"]
sculpts = exercise.subset([exercise.labels.index(name) for name in names])

# %% [markdown]
# Each sculpt becomes a shape of its own name, with the joints that drive it.

# %%
fit = dermis.fit(rig, sculpts, method=dermis.Correctives())
print(fit.report)

# %% [markdown]
# The GLB has the skin, the skeleton and the shapes. The table says how their weights follow from the joints;
# [drivers.md](../docs/drivers.md) describes it.

# %%
folder = Path(tempfile.mkdtemp())
fit.model.save(folder / "body.dermis")
dermis.export(folder / "body.dermis", folder / "body.glb", table=folder / "body.json")
print(sorted(path.name for path in folder.iterdir()))

# %%
bundle = np.load(assets / "body_exercise.npz")
at = list(bundle["pose_labels"]).index("double biceps")
skin, truth = fit.model(bundle["pose_matrices"][at]), bundle["vertices"][at]
weights = dermis.fit(rig, exercise, method=dermis.OwnWeights()).model(bundle["pose_matrices"][at])
error = [np.linalg.norm(points - truth, axis=1) for points in (skin, weights)]
figure = meshes(
    [truth, skin, weights],
    bundle["faces"],
    ["the sculpt", "with its shape", "without"],
    [None, colours(error[0], 0.01), colours(error[1], 0.01)],
)
plt.show()
