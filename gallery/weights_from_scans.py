# %% [markdown]
# # I have scans of an actor in known poses. How do I get skinning weights?
#
# The scans share no vertices with the mesh: points are spread anew over the posed surface, with noise and holes
# (`tools/make_scans.py`). The weights start from bone heat, which knows the mesh and the skeleton alone.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dermis
from draw import colours, meshes

assets, folder = Path("../assets/body"), Path(tempfile.mkdtemp())
made = [sys.executable, "../tools/make_scans.py", str(assets / "body_exercise.npz"), str(folder / "few")]
made += ["--lbs", "--every", "2", "--points", "5000", "--noise", "0.001", "--missing", "0.3"]
done = subprocess.run(made, check=True, capture_output=True, text=True)
print(done.stdout.split(" in ")[0])

# %%
outcome = dermis.weights(
    folder / "few_truth.npz",
    folder / "body.npz",
    "scans",
    scans=folder / "few",
    poses=folder / "few_poses.npz",
)

# %% [markdown]
# The skins by these weights in all 42 poses, of which half were scanned. The picture shows the pose with the largest error;
# red is 10 mm and more.

# %%
truth = np.load(folder / "few_truth.npz")
found = np.load(folder / "body.npz")["lbs_weights"]
moved = truth["pose_matrices"] @ np.linalg.inv(truth["bind_matrices"])
rest = np.c_[truth["rest_vertices"], np.ones(len(truth["rest_vertices"]))]
skins = np.einsum("vb,pbij,vj->pvi", found, moved, rest, optimize=True)[..., :3]
error = np.linalg.norm(skins - truth["vertices"], axis=2)
print(f"{1e3 * np.sqrt((error**2).mean()):.2f} mm rms over {len(skins)} poses")

# %%
pose = int(error.max(axis=1).argmax())
figure = meshes(
    [truth["vertices"][pose], skins[pose]],
    truth["faces"],
    ["true skin", "weights from scans"],
    [None, colours(error[pose], 0.01)],
)
plt.show()
