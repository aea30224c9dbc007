# %% [markdown]
# # I have a simulation. How do I get a model that runs in real time?
#
# The examples are 42 poses of an exercise with the skin in each, as a simulation or a muscle rig computes it. The fit
# does not see the walk, and is scored on it.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dermis
from draw import colours, meshes

assets = Path("../assets/body")
rig = dermis.Rig.open(assets / "body_exercise.npz")
exercise = dermis.Examples.open(rig, assets / "body_exercise.npz")
walk = dermis.Examples.open(rig, assets / "body_walk.npz")
print(len(rig.rest_vertices), "vertices,", len(rig.bone_names), "bones,", len(exercise), "poses")

# %% [markdown]
# The joint model is the default. Everything it chose is in the report.

# %%
fit = dermis.fit(rig, exercise, hold_out=walk)
print(fit.report)
assert fit.errors.held_out is not None
print(f"held out: {1e3 * fit.errors.held_out.rms:.3f} mm rms")

# %% [markdown]
# The model is a function from bone matrices to a skin.

# %%
bundle = np.load(assets / "body_walk.npz")
poses, truth = bundle["pose_matrices"], bundle["vertices"]
skins = fit.model(poses)
weights = dermis.fit(rig, exercise, method=dermis.OwnWeights()).model(poses)
learnt_error = np.linalg.norm(skins - truth, axis=2)
weights_error = np.linalg.norm(weights - truth, axis=2)
print(f"the rig's own weights leave {1e3 * np.sqrt((weights_error**2).mean()):.3f} mm rms")

# %% [markdown]
# The error of one frame as colour; red is 10 mm and more.

# %%
frame = int(weights_error.max(axis=1).argmax())
figure = meshes(
    [truth[frame], skins[frame], weights[frame]],
    bundle["faces"],
    ["true skin", "learnt", "the rig's own weights"],
    [None, colours(learnt_error[frame], 0.01), colours(weights_error[frame], 0.01)],
)
plt.show()
