# SPDX-License-Identifier: GPL-3.0-or-later
"""Fits: examples of the scene become a model, and what is known of its error is written beside it."""

import dataclasses
import math
import os
import pathlib
import tempfile
import zlib

import bpy
import numpy as np
from bpy.app.timers import is_registered, register as call_later
from bpy.props import IntProperty

from . import bundles, character, examples, influence, jobs, live, reading, store
from .package import needed
from .reading import Unreadable

# Shapes up to this many are met one by one; more have something in common to learn.
FEW = 8
# Methods that learn one side from the other if they are told to; the joint model always does.
MIRRORED = ("CORRECTIVES", "EXACT", "PSD")
# What the library calls the strength of each method in its report.
STRENGTHS = {"JOINT": "lambda", "MWE": "s", "PSD": "smoothing"}


@dataclasses.dataclass
class Gathered:
    """Everything that a fit needs, without bpy."""

    rig: dict
    learn: list
    check: list
    method: str
    settings: dict
    maps: np.ndarray | None
    shape_keys: bool
    strength: float | None


def method_of(thing, learn):
    """The method that a character is fitted with: chosen, or by its examples."""
    own = thing.dermis
    if own.method != "AUTO":
        return own.method
    shapes = all(own.examples[one.number].kind != "CLIP" for one in learn)
    return "EXACT" if shapes and len(learn) <= FEW else "JOINT"


def gather(thing, strength=None):
    """Reads a character and its examples for a fit."""
    own = thing.dermis
    if thing.library is not None or thing.override_library is not None:
        raise Unreadable(f"{thing.name} is linked. Fit in its own file; the model comes with the link")
    taken = examples.read(thing)
    learn = [one for one in taken if one.use == "LEARN" and one.importance > 0.0]
    check = [one for one in taken if one.use == "CHECK"]
    if not learn:
        raise Unreadable("There is nothing to learn from. Add an example whose use is Learn")
    rig = reading.rig_arrays(thing, character.place(thing))
    empty = int((rig["weights"].sum(axis=1) <= 0.0).sum())
    if empty:
        raise Unreadable(f"{empty} vertices have no weight of any bone. Assign them, or use Weights > From Heat")
    method = method_of(thing, learn)
    settings = {"mirror": True} if own.mirrored and method in MIRRORED else {}
    if method == "EXACT":
        settings["smoothing"] = 0.0
    maps = None
    if own.painted:
        if method == "JOINT":
            raise Unreadable("The joint model takes no painted maps. Choose another method, or switch Painted Maps off")
        maps, settings["maps"] = influence.table(thing, rig["bone_names"]), "table"
    if strength is not None and method in STRENGTHS:
        value = {"fixed": strength}
        settings["smoothing" if method == "PSD" else "ridge"] = strength if method == "PSD" else value
    keys = thing.data.shape_keys
    shown = keys is not None and any(key.value for key in keys.key_blocks[1:] if not key.mute)
    moved = shown or bool(keys is not None and keys.animation_data and keys.animation_data.drivers)
    by_scene = any(own.examples[one.number].kind != "SHAPE" for one in learn)
    return Gathered(rig, learn, check, method, settings, maps, moved and by_scene, strength)


def sets_of(package, rig, taken):
    """Examples of the package: the frames of every clip as a clip, everything else together."""
    groups = {}
    for one in taken:
        groups.setdefault(one.number if one.time is not None else None, []).append(one)
    made = []
    for number, group in groups.items():
        times = None if number is None else [one.time for one in group]
        made.append(
            package.Examples(
                rig,
                np.array([one.pose for one in group]),
                np.array([one.skin for one in group]),
                labels=[one.label for one in group],
                times=times,
                importances=[one.importance for one in group],
            )
        )
    return made[0] if len(made) == 1 else package.Examples.joined(made)


@dataclasses.dataclass
class Fitted:
    """What a fit made, as the file keeps it: rendering a report takes longer than a window may stand still."""

    model: bytes
    report: dict
    verdict: str
    warnings: list
    page: bytes


def fitted(gathered, progress, validate=True):
    """Fits, in a job or not."""
    package = needed()
    rig = package.Rig(**gathered.rig)
    method = {
        "JOINT": package.Joint,
        "CORRECTIVES": package.Correctives,
        "EXACT": package.Psd,
        "PSD": package.Psd,
        "MWE": package.Mwe,
    }
    learn = sets_of(package, rig, gathered.learn)
    check = sets_of(package, rig, gathered.check) if gathered.check and validate else None
    fit = package.fit(
        rig,
        learn,
        hold_out=check,
        method=method[gathered.method](**gathered.settings),
        folds=5 if validate else 0,
        maps=gathered.maps,
        progress=progress,
    )
    page = zlib.compress(fit.to_html().encode())
    return Fitted(fit.model.to_bytes(), fit.report.to_dict(), fit.report.verdict or "", [*fit.warnings], page)


def put(thing, gathered, fit, measured=True):
    """Writes a fit to the character."""
    own = thing.dermis
    store.put_bytes(own, "model_bytes", fit.model)
    own.model, own.fitted_by = store.digest(fit.model), gathered.method
    own["learnt_shape_keys"] = gathered.shape_keys
    if measured:
        report = fit.report
        own.headline = headline(report)
        own.verdict = fit.verdict
        own.warnings = "\n".join(fit.warnings)
        store.put_bytes(own, "report", fit.page)
        if gathered.strength is None:
            named = STRENGTHS.get(gathered.method)
            own["chosen_strength"] = float(report["settings"].get(named, "nan").split()[0]) if named else float("nan")
            own.strength_of_fit = 0.0
            own.strength = 0.0
        else:
            own.strength_of_fit = own.strength
        _errors_of(own, gathered, report)
    live.refresh(thing)


def headline(report):
    """The number that counts, in millimetres, and what it was measured on."""
    kind = report["validation"]
    error = report.get("held_out") or report.get("cross_validated")
    if error is None:
        return "Not validated"
    return f"{kind[0].upper()}{kind[1:]}: {1e3 * error['rms']:.3g} mm rms, {1e3 * error['max']:.3g} mm at most"


def _errors_of(own, gathered, report):
    """The rms of every example of the list, and the worst frames."""
    squares = {}
    rows = [(gathered.learn, report.get("per_pose_train") or (report["per_pose"] if not gathered.check else []))]
    if gathered.check:
        rows.append((gathered.check, report["per_pose"]))
    worst = []
    for taken, found in rows:
        for one, row in zip(taken, found):
            squares.setdefault(one.number, []).append(row["rms"] ** 2)
            if one.frame is not None:
                worst.append((row["rms"], one))
    for number, example in enumerate(own.examples):
        found = squares.get(number)
        example.error = -1.0 if found is None else math.sqrt(sum(found) / len(found)) / reading.metres()
    own.worst.clear()
    for rms, one in sorted(worst, key=lambda pair: -pair[0])[:5]:
        item = own.worst.add()
        item.frame, item.value, item.text = one.frame, rms, one.label


class DERMIS_OT_fit(jobs.JobOperator, bpy.types.Operator):
    """Learn the skin from the examples, and measure the error on poses that were not learnt"""

    bl_idname = "dermis.fit"
    bl_label = "Fit"

    def gather(self, context, thing):
        own = thing.dermis
        # A slider that stands elsewhere than where the fit chose is measured there.
        return gather(thing, strength_value(thing) if own.strength and has_strength(thing) else None)

    def work(self, gathered, progress):
        return gathered, fitted(gathered, progress)

    def finish(self, context, thing, found):
        gathered, fit = found
        put(thing, gathered, fit)
        self.report({"INFO"}, thing.dermis.headline)
        for warning in fit.warnings:
            self.report({"WARNING"}, warning)


class DERMIS_OT_apply_strength(jobs.JobOperator, bpy.types.Operator):
    """Solve again at the strength of the slider. The error beside the model stays that of the last fit"""

    bl_idname = "dermis.apply_strength"
    bl_label = "Apply Strength"

    def gather(self, context, thing):
        return gather(thing, strength_value(thing))

    def work(self, gathered, progress):
        return gathered, fitted(gathered, progress, validate=False)

    def finish(self, context, thing, found):
        put(thing, *found, measured=False)
        thing.dermis.strength_of_fit = thing.dermis.strength
        thing.dermis.headline = "Not validated at this strength. Press Fit to measure it"


def strength_value(thing):
    """The strength that the slider stands for.

    Raises
    ------
    Unreadable
        If the model has none.
    """
    if not has_strength(thing):
        raise Unreadable("The model has no strength: fit a joint model, a pose space or multi-weight enveloping first")
    return thing.dermis["chosen_strength"] * 10.0**thing.dermis.strength


def has_strength(thing):
    """Whether the model of a character can be made calmer or closer."""
    return thing.dermis.fitted_by in STRENGTHS and thing.dermis.get("chosen_strength", 0.0) > 0.0


_waiting = {}


def strength_moved(thing):
    """The slider moved: solve again when it has rested for a moment. Scripts call `dermis.apply_strength`."""
    own = thing.dermis
    if bpy.app.background or not has_strength(thing) or own.strength == own.strength_of_fit:
        return
    _waiting[thing.name] = 2
    if not is_registered(_rested):
        call_later(_rested, first_interval=0.1)


def _rested():
    for name in list(_waiting):
        _waiting[name] -= 1
        if _waiting[name] > 0 or jobs.running():
            continue
        del _waiting[name]
        thing = bpy.data.objects.get(name)
        window = bpy.context.window_manager.windows[0]
        if thing is not None:
            with bpy.context.temp_override(window=window, active_object=thing):
                if bpy.ops.dermis.apply_strength.poll():
                    bpy.ops.dermis.apply_strength("INVOKE_DEFAULT")
    return 0.1 if _waiting else None


class DERMIS_OT_report(examples.OfCharacter, bpy.types.Operator):
    """Open the report of the last fit in a browser: errors, charts, the skins in 3D"""

    bl_idname = "dermis.report"
    bl_label = "Report"

    def run(self, context, thing):
        packed = thing.dermis.get("report")
        if not isinstance(packed, bytes):
            raise Unreadable("There is no report yet. Press Fit")
        folder = tempfile.mkdtemp(prefix="dermis-")
        path = os.path.join(folder, "report.html")
        with open(path, "wb") as file:
            file.write(zlib.decompress(packed))
        if not bpy.app.background:
            bpy.ops.wm.url_open(url=pathlib.Path(path).as_uri())
        self.report({"INFO"}, path)


class DERMIS_OT_save_model(examples.OfCharacter, bpy.types.Operator):
    """Save the model as a file (.dermis), for the program, Python, engines and browsers"""

    bl_idname = "dermis.save_model"
    bl_label = "Save Model"

    filepath: bpy.props.StringProperty(subtype="FILE_PATH")
    filter_glob: bpy.props.StringProperty(default="*.dermis", options={"HIDDEN"})

    def invoke(self, context, event):
        self.filepath = self.filepath or f"{character.active(context).name}.dermis"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context, thing):
        model = live.model_of(thing)
        try:
            model.save(bpy.path.abspath(self.filepath))
        except ValueError as wrong:
            raise Unreadable(str(wrong)) from None


class DERMIS_OT_open_model(examples.OfCharacter, bpy.types.Operator):
    """Show a model from a file (.dermis) that was made elsewhere, of this character"""

    bl_idname = "dermis.open_model"
    bl_label = "Open Model"
    bl_options = {"REGISTER", "UNDO"}

    filepath: bpy.props.StringProperty(subtype="FILE_PATH")
    filter_glob: bpy.props.StringProperty(default="*.dermis", options={"HIDDEN"})

    def invoke(self, context, event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context, thing):
        own, path = thing.dermis, pathlib.Path(bpy.path.abspath(self.filepath))
        if own.session.folder:
            raise Unreadable("The character's session has models of its own. Close it first")
        try:
            data = path.read_bytes()
            model = needed().Model.read(data)
        except (OSError, ValueError) as wrong:
            raise Unreadable(f"{path.name} cannot be read: {wrong}") from None
        live.Match(model.rig, thing)
        character.renew(thing)
        store.put_bytes(own, "model_bytes", data)
        own.model, own.fitted_by = store.digest(data), live.FILE
        own.headline, own.verdict, own.warnings = path.name, "", ""
        own["chosen_strength"], own["learnt_shape_keys"] = 0.0, False
        own.worst.clear()
        if "report" in own.keys():
            del own["report"]
        live.refresh(thing)
        swings = ". It swings while frames follow each other" if model.springs() else ""
        self.report({"INFO"}, f"{path.name}: {model.method}{swings}")


class DERMIS_OT_suggest(jobs.JobOperator, bpy.types.Operator):
    """Find the frames of the armature's action that the model knows least, and go to the first"""

    bl_idname = "dermis.suggest"
    bl_label = "Suggest Next"

    count: IntProperty(name="Count", default=3, min=1, max=20)
    step: IntProperty(name="Every", description="Look at every so many frames", default=1, min=1)

    def gather(self, context, thing):
        model = live.model_of(thing)
        frames, poses = bundles.motion_of(context, thing, self.step)
        return model, reading.rig_arrays(thing, character.place(thing)), poses, frames, self.count

    def work(self, gathered, progress):
        model, rig, poses, frames, count = gathered
        with tempfile.TemporaryDirectory() as folder:
            motion, file = os.path.join(folder, "motion.npz"), os.path.join(folder, "model.dermis")
            model.save(file)
            bundles.save_rig(motion, rig, pose_labels=[str(frame) for frame in frames], pose_matrices=poses)
            return needed().suggest(file, motion, count=count, progress=progress)

    def finish(self, context, thing, found):
        own = thing.dermis
        own.suggested.clear()
        for row in found["suggestions"]:
            item = own.suggested.add()
            item.frame, item.value = int(row["label"]), float(row["farthest"]["degrees"])
            item.text = row["farthest"]["bone"]
        if not len(own.suggested):
            self.report({"INFO"}, "The model knows the poses of this action")
            return
        context.scene.frame_set(own.suggested[0].frame)
        self.report({"INFO"}, f"Frame {own.suggested[0].frame}: sculpt here")


CLASSES = (
    DERMIS_OT_fit,
    DERMIS_OT_apply_strength,
    DERMIS_OT_report,
    DERMIS_OT_open_model,
    DERMIS_OT_save_model,
    DERMIS_OT_suggest,
)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
