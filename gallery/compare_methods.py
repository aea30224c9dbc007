# %% [markdown]
# # Which method suits my character?
#
# Every method learns from the same examples and is scored on the same motion that none of them saw.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

import dermis

assets = Path("../assets/body")
rig = dermis.Rig.open(assets / "body_exercise.npz")
exercise = dermis.Examples.open(rig, assets / "body_exercise.npz")
walk = dermis.Examples.open(rig, assets / "body_walk.npz")

# %%
rows = dermis.compare(rig, exercise, hold_out=walk, methods=["own-weights", "lbs", "mwe", "psd", "joint"])
for row in rows:
    print(f"{row['method']:>12}: {1e3 * row['held_out_rms']:.3f} mm rms, {row['model_bytes'] / 1e6:.1f} MB")

# %% [markdown]
# `pandas.DataFrame(rows)` makes a table of them. A picture needs no more than this:

# %%
rows.sort(key=lambda row: float(row["held_out_rms"]))
figure, axis = plt.subplots(figsize=(6, 2.6))
axis.barh([row["method"] for row in rows], [1e3 * row["held_out_rms"] for row in rows], color="#4477aa")
axis.invert_yaxis()
axis.set_xlabel("error on the walk, mm rms")
figure.tight_layout()
plt.show()
