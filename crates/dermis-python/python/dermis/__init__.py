"""Dermis learns how a character's skin moves from examples.

>>> import dermis
>>> rig = dermis.Rig.open("hero.glb")
>>> shots = dermis.Examples.open(rig, "shots.npz")
>>> walk = dermis.Examples.open(rig, "walk.glb", "walk.pc2")
>>> fit = dermis.fit(rig, shots, hold_out=walk)
>>> fit.errors.held_out.rms
>>> fit.model.save("hero.dermis")
>>> skin = dermis.Model.open("hero.dermis")(pose_matrices)

Arrays go in and come out in the rig's own axes and unit, those of its file (`Rig.up`, `Rig.unit`).
"""

from . import ik
from ._dermis import Carried, Examples, Model, Rig, Springs, __version__
from ._errors import Error
from ._evaluate import Evaluation, compare, evaluate
from ._fit import Errors, ErrorStats, Fit, FitReport, fit
from ._job import Job, Stopped
from ._methods import (
    AnimationSpace,
    Correctives,
    DirectDeltaMush,
    Dqs,
    EigenSkin,
    Joint,
    Lbs,
    Method,
    Mwe,
    OwnWeights,
    PoseBlendshapes,
    Psd,
    RotationalRegression,
    ShapeByExample,
    presets,
)
from ._parts import PartsFit, fit_part, fit_parts, merge_parts
from ._session import Session
from ._shapes import Decomposition, Inversion, ShapeTrack, decompose, inversion, invert, shape_track
from ._studio import studio
from ._verbs import (
    animate,
    convert,
    crowd,
    exercise,
    export,
    inspect,
    markers,
    pose,
    report,
    retarget,
    rig,
    run,
    suggest,
    transfer,
    weights,
)
from ._view import View, view

__all__ = [
    "AnimationSpace",
    "Carried",
    "Correctives",
    "Decomposition",
    "DirectDeltaMush",
    "Dqs",
    "EigenSkin",
    "Error",
    "ErrorStats",
    "Errors",
    "Evaluation",
    "Examples",
    "Fit",
    "FitReport",
    "Inversion",
    "Job",
    "Joint",
    "Lbs",
    "Method",
    "Model",
    "Mwe",
    "OwnWeights",
    "PartsFit",
    "PoseBlendshapes",
    "Psd",
    "Rig",
    "RotationalRegression",
    "Session",
    "ShapeByExample",
    "ShapeTrack",
    "Springs",
    "Stopped",
    "View",
    "__version__",
    "animate",
    "compare",
    "convert",
    "crowd",
    "decompose",
    "evaluate",
    "exercise",
    "export",
    "fit",
    "fit_part",
    "fit_parts",
    "ik",
    "inspect",
    "inversion",
    "invert",
    "markers",
    "merge_parts",
    "pose",
    "presets",
    "report",
    "retarget",
    "rig",
    "run",
    "shape_track",
    "studio",
    "suggest",
    "transfer",
    "view",
    "weights",
]
