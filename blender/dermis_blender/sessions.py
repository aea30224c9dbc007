# SPDX-License-Identifier: GPL-3.0-or-later
"""Sessions (docs/session.md): a folder that the program, Python and this panel write, a step at a time.

The folder holds everything. The scene holds its path, what the program said of it last, and the present model, which Live shows.
`dermis.Session` reads and writes the folder; what a step teaches, and what it did, is the program's to say.
"""

import glob
import json
import os
import re
import tempfile

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, IntProperty, StringProperty

from . import bundles, character, examples, jobs, live, package, reading, sculpting, store
from .reading import Unreadable

# Where the artist is asked to look, and where the artist says to have sculpted.
REGION, SCULPTED = "region", "sculpted"
# What a kind of sculpt is called by the program, and whether all of its skin counts.
KINDS = {"SCULPT": ("sculpt", False), "WHOLE": ("sculpt", True), "ANCHOR": ("anchor", False), "CHECK": ("check", False)}


def folder_of(thing):
    """The folder of the session of a character; empty if it has none."""
    folder = thing.dermis.session.folder
    return os.path.normpath(bpy.path.abspath(folder)) if folder else ""


def stamp_of(folder):
    """What changes whenever the session does."""
    try:
        found = os.stat(os.path.join(folder, "session.json"))
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"


def expect_session(folder):
    """Refuses a folder that holds no session."""
    if not os.path.isfile(os.path.join(folder, "session.json")):
        raise Unreadable(f"{folder} holds no session. Choose a folder that Begin Session or `dermis session new` made")


def seen(folder, said=None):
    """What the program says of a session, the bytes of its present model, and the stamp. Without bpy."""
    expect_session(folder)
    session = package.needed().Session(folder)
    stamp = stamp_of(folder)
    said = said or session.status()
    if said["model"] is None:
        return said, None, stamp
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "model.dermis")
        session.export(path)
        with open(path, "rb") as file:
            return said, file.read(), stamp


def rig_of(folder):
    """The rig of a session."""
    expect_session(folder)
    rigs = glob.glob(os.path.join(glob.escape(folder), "rig", "*"))
    if len(rigs) != 1:
        raise Unreadable(f"{folder} has no rig. Put it back from a copy of the folder")
    return package.needed().Rig.open(rigs[0])


def put(thing, found):
    """Writes what was seen of a session to its character, and shows its model if Live is on."""
    said, model, stamp = found
    own, session = thing.dermis, thing.dermis.session
    of_step = {}
    for state in said["states"][: said["undo"] + 1]:
        if isinstance(state["did"], dict) and "add" in state["did"]:
            of_step[state["did"]["add"]] = state["error"]
    session.steps.clear()
    for step in said["steps"]:
        item = session.steps.add()
        item.number, item.name, item.role, item.pose = step["id"], step["name"], step["role"], step["pose"]
        item.region, item.touched, item.on = step["region"], step["touched"], step["on"]
        if (error := of_step.get(step["id"])) is not None:
            item.before, item.after = error["before"], error["after"]
    session.active = min(max(session.active, 0), max(len(session.steps) - 1, 0))
    session.lines = "\n".join(said["lines"])
    session.moved.clear()
    for moved in said["scores"]["side_effects"] if said["scores"] else ():
        item = session.moved.add()
        item.name, item.text, item.value = moved["pose"], moved["region"], moved["distance"]
    session.warnings = "\n".join(said.get("warnings", ()))
    session.model, session.undo, session.redo = said["model"] or 0, said["undo"], said["redo"]
    session.stamp = stamp
    own.fitted_by, own.verdict, own.warnings = live.SESSION, "", ""
    own["chosen_strength"], own["learnt_shape_keys"] = 0.0, False
    own.strength = own.strength_of_fit = 0.0
    own.worst.clear()
    for key in ("model_bytes", "report"):
        if key in own.keys():
            del own[key]
    if model is None:
        own.model, own.live = "", False
        return
    store.put_bytes(own, "model_bytes", model)
    own.model, own.headline = store.digest(model), f"{os.path.basename(folder_of(thing))}: model {said['model']}"
    live.refresh(thing)


class OfSession(jobs.JobOperator):
    """Operators of a character that has a session. `wanted` reads the scene, and `act` does it, without bpy; it returns what the
    program says of the session, None if that is to be asked.
    """

    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        if not character.active(context).dermis.session.folder:
            cls.poll_message_set("Begin a session, or open one")
            return False
        return True

    def wanted(self, context, thing):
        return None

    def act(self, session, wanted, progress):
        return None

    def gather(self, context, thing):
        expect_own(thing)
        expect_session(folder_of(thing))
        return folder_of(thing), self.wanted(context, thing)

    def work(self, gathered, progress):
        folder, wanted = gathered
        return seen(folder, self.act(package.needed().Session(folder), wanted, progress))

    def finish(self, context, thing, found):
        put(thing, found)


def expect_own(thing):
    """Refuses a character of another file."""
    if thing.library is not None or thing.override_library is not None:
        raise Unreadable(f"{thing.name} is linked. A session belongs in its own file; the model comes with the link")


def plain(name):
    """A name for a file."""
    return re.sub(r"[^\w.-]", "_", name) or "unnamed"


class DERMIS_OT_session_new(jobs.JobOperator, bpy.types.Operator):
    """Begin a session with the character, its weights and the armature's action. Examples whose use is Check are its truth"""

    bl_idname = "dermis.session_new"
    bl_label = "Begin Session"

    filepath: StringProperty(name="Folder", description="A folder that is new or empty", subtype="FILE_PATH")
    step: IntProperty(name="Every", description="Take every so many frames of the action", default=1, min=1)

    def invoke(self, context, event):
        self.filepath = self.filepath or f"{plain(character.active(context).name)}.session"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def gather(self, context, thing):
        expect_own(thing)
        if not self.filepath:
            raise Unreadable("Name a folder for the session")
        rig, scene = bundles.bundle(thing, taken=[]), context.scene
        frames, poses = bundles.motion_of(context, thing, self.step)
        fps = scene.render.fps / scene.render.fps_base
        action = examples.action_of(character.armature(thing))
        motion = rig | {
            "pose_labels": [str(frame) for frame in frames],
            "pose_matrices": poses,
            "frame_times": [(frame - frames[0]) / fps for frame in frames],
        }
        truths = examples.read(thing, uses=("CHECK",))
        truth = rig | bundles.poses_of(truths) if truths else None
        self.folder = os.path.normpath(bpy.path.abspath(self.filepath))
        return self.folder, plain(thing.name), rig, plain(action.name if action else "motion"), motion, truth

    def work(self, gathered, progress):
        folder, name, rig, action, motion, truth = gathered
        with tempfile.TemporaryDirectory() as made:

            def written(room, name, arrays):
                os.mkdir(os.path.join(made, room))
                path = os.path.join(made, room, f"{name}.npz")
                np.savez(path, **arrays)
                return path

            package.needed().Session.new(
                written("rig", name, rig),
                folder,
                motions=written("motion", action, motion),
                truths=() if truth is None else written("truth", "truth", truth),
                progress=progress,
            )
        return seen(folder)

    def finish(self, context, thing, found):
        thing.dermis.session.folder = self.folder
        put(thing, found)


class DERMIS_OT_session_open(jobs.JobOperator, bpy.types.Operator):
    """Open the folder of a session that began with this character, here or in the program"""

    bl_idname = "dermis.session_open"
    bl_label = "Open Session"

    directory: StringProperty(name="Folder", subtype="DIR_PATH")

    def invoke(self, context, event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def gather(self, context, thing):
        expect_own(thing)
        self.folder = os.path.normpath(bpy.path.abspath(self.directory))
        return self.folder

    def work(self, folder, progress):
        return seen(folder), rig_of(folder)

    def finish(self, context, thing, found):
        found, rig = found
        live.Match(rig, thing)
        thing.dermis.session.folder = self.folder
        put(thing, found)


class DERMIS_OT_session_refresh(OfSession, bpy.types.Operator):
    """Read the session again: what another program did with it"""

    bl_idname = "dermis.session_refresh"
    bl_label = "Refresh Session"


class DERMIS_OT_session_rebase(OfSession, bpy.types.Operator):
    """Carry the session's steps to the character as it is now, after its weights or its shape changed. The old folder stays"""

    bl_idname = "dermis.session_rebase"
    bl_label = "Rebase Session"

    filepath: StringProperty(name="Folder", description="A folder that is new or empty", subtype="FILE_PATH")

    def invoke(self, context, event):
        self.filepath = self.filepath or f"{folder_of(character.active(context)).removesuffix('.session')}_2.session"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def wanted(self, context, thing):
        if not self.filepath:
            raise Unreadable("Name a folder for the session")
        self.folder = os.path.normpath(bpy.path.abspath(self.filepath))
        return plain(thing.name), bundles.bundle(thing, taken=[])

    def work(self, gathered, progress):
        folder, (name, rig) = gathered
        with tempfile.TemporaryDirectory() as made:
            path = os.path.join(made, f"{name}.npz")
            np.savez(path, **rig)
            package.needed().Session(folder).rebase(path, self.folder, progress)
        return seen(self.folder)

    def finish(self, context, thing, found):
        thing.dermis.session.folder = self.folder
        put(thing, found)


class DERMIS_OT_session_close(examples.OfCharacter, bpy.types.Operator):
    """Let go of the session. Its folder stays as it is, and the model stays with the character"""

    bl_idname = "dermis.session_close"
    bl_label = "Close Session"

    def run(self, context, thing):
        thing.dermis.property_unset("session")


class DERMIS_OT_session_next(OfSession, bpy.types.Operator):
    """Go to the pose that the session wants sculpted next, and sculpt there on the skin of the present model"""

    bl_idname = "dermis.session_next"
    bl_label = "Next"

    def wanted(self, context, thing):
        if sculpting.sculpts_of(thing):
            raise Unreadable("There is a sculpt already. Finish or discard it first")
        sculpting.expect_object_mode(thing)
        return thing.dermis.session.check, live.Match(rig_of(folder_of(thing)), thing)

    def work(self, gathered, progress):
        folder, (check, match) = gathered
        session = package.needed().Session(folder)
        with tempfile.TemporaryDirectory() as made:
            path = os.path.join(made, "offer.npz")
            [offer] = session.next(1, check=check, out=path, progress=progress)
            with np.load(path) as offered:
                pose, skin = offered["pose_matrices"][0], offered["vertices"][0]
        return seen(folder), offer, match.bones_in(pose), match.skin(skin)

    def finish(self, context, thing, found):
        found, offer, pose, skin = found
        put(thing, found)
        rig, place = character.armature(thing), character.place(thing)
        if not pose_as(context, rig, place, pose, offer["label"]):
            self.report({"WARNING"}, f"{rig.name} does not take this pose: constraints or drivers hold its bones. The sculpt has it")
        shown = reading.points(np.linalg.inv(reading.to_place(thing, rig, place)), skin).astype(np.float32)
        sculpt = sculpting.begin(context, thing, offer["name"], shown, pose)
        about = sculpt.dermis_sculpt
        about.of_session, about.offer, about.region = True, offer["name"], offer["region"]
        about.kind = "CHECK" if offer["check"] else "SCULPT"
        mark_region(thing, sculpt, offer["region"])
        what = "Show how the skin should be, for a check" if offer["check"] else "Sculpt"
        self.report({"INFO"}, f"{offer['name']}: look at {offer['region']}. {what}, then press Done")


def pose_as(context, rig, place, pose, label):
    """Poses the armature; whether it takes the pose. A pose that a frame of the scene has is taken from there."""

    def taken():
        return np.abs(reading.pose_matrices(rig, place) - pose).max() <= 1e-4 * max(1.0, np.abs(pose).max())

    if re.fullmatch(r"-?\d{1,6}", label):
        context.scene.frame_set(int(label))
        if taken():
            return True
    examples.set_basis(rig, sculpting.basis_of(rig, np.linalg.inv(place) @ pose))
    return taken()


def mark_region(thing, sculpt, bone):
    """Makes the skin that a bone moves most the vertex group of the region, selected, and a face set that Sculpt Mode shows."""
    names = reading.bone_names(character.armature(thing))
    for name in (REGION, SCULPTED):
        if (old := sculpt.vertex_groups.get(name)) is not None:
            sculpt.vertex_groups.remove(old)
    group = sculpt.vertex_groups.new(name=REGION)
    if bone not in names:
        return
    inside = reading.weights(thing, names).argmax(axis=1) == names.index(bone)
    group.add(np.flatnonzero(inside).tolist(), 1.0, "REPLACE")
    sculpt.vertex_groups.active = group
    mesh = sculpt.data
    starts = np.empty(len(mesh.polygons), dtype=np.int32)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    mesh.loops.foreach_get("vertex_index", corners)
    faces = np.logical_or.reduceat(inside[corners], starts)
    # Sculpt Mode has its own copy of both while it is on.
    bpy.ops.object.mode_set(mode="OBJECT")
    mesh.vertices.foreach_set("select", inside)
    mesh.polygons.foreach_set("select", faces)
    sets = mesh.attributes.get(".sculpt_face_set") or mesh.attributes.new(".sculpt_face_set", "INT", "FACE")
    sets.data.foreach_set("value", np.where(faces, 2, 1).astype(np.int32))
    bpy.ops.object.mode_set(mode="SCULPT")


class DERMIS_OT_session_show(examples.OfCharacter, bpy.types.Operator):
    """Pose the character as in the selected step, or as in a frame of a motion of the session"""

    bl_idname = "dermis.session_show"
    bl_label = "Go to Pose of Step"

    pose: StringProperty(name="Pose", description="A motion and its frame, counted from 0, such as walk:12; that of the selected step if empty")

    def run(self, context, thing):
        session, folder = thing.dermis.session, folder_of(thing)
        if not self.pose and not 0 <= session.active < len(session.steps):
            raise Unreadable("Select a step")
        expect_session(folder)
        try:
            path, at = place_of(folder, self.pose, 0 if self.pose else session.steps[session.active].number)
            with np.load(path) as held:
                pose, label = held["pose_matrices"][at], str(held["pose_labels"][at])
            match = live.Match(package.needed().Rig.open(path), thing)
        except (OSError, KeyError, IndexError, StopIteration, ValueError) as wrong:
            raise Unreadable(f"{self.pose or session.steps[session.active].name} is not in {folder}: {wrong}") from None
        rig = character.armature(thing)
        if not pose_as(context, rig, character.place(thing), match.bones_in(pose), label):
            self.report({"WARNING"}, f"{rig.name} does not take this pose: constraints or drivers hold its bones")


def place_of(folder, pose, step):
    """The bundle of a session that holds a pose of a motion, or that of a step, and its place there."""
    with open(os.path.join(folder, "session.json"), encoding="utf-8") as file:
        held = json.load(file)
    if pose:
        name, _, frame = pose.rpartition(":")
        motion = next(motion for motion in held["motions"] if motion["name"] == name)
        return os.path.join(folder, "motions", f"{motion['sha256']}.npz"), int(frame)
    found = next(one for one in held["steps"] if one["id"] == step)
    return os.path.join(folder, "checks" if found["role"] == "check" else "sculpts", f"{found['sha256']}.npz"), 0


class DERMIS_OT_session_done(OfSession, bpy.types.Operator):
    """Add the sculpt to the session: the model learns from what differs from the skin that was shown, and is shown"""

    bl_idname = "dermis.session_done"
    bl_label = "Done"

    def wanted(self, context, thing):
        sculpt = sculpting.found(context, thing)
        about = sculpt.dermis_sculpt
        if not about.of_session:
            raise Unreadable("This sculpt was not begun for the session. Take it as an example, or discard it")
        if about.kind == "ANCHOR" and not about.offer:
            raise Unreadable("An anchor is in a pose that Next offered. Choose Whole for a pose of your own")
        pose, skin = sculpting.finished(context, thing, sculpt)
        match = live.Match(rig_of(folder_of(thing)), thing)
        label = about.offer or about.label
        bundle = match.bundle(pose) | {"pose_labels": [label], "vertices": match.gathered(skin)[None]}
        if (mask := painted(sculpt)) is not None:
            if about.kind == "WHOLE":
                raise Unreadable(f'A whole sculpt has no mask. Choose Sculpt, or remove the vertex group "{SCULPTED}"')
            bundle["mask"] = match.gathered(mask)[None]
        if not about.offer:
            bundle["shown"] = match.gathered(store.get(about, "shown"))[None]
        self.sculpt = sculpt.name
        # Blender keeps seven digits: 1.2 is meant.
        return label, bundle, KINDS[about.kind], float(f"{about.strength:.6g}")

    def act(self, session, wanted, progress):
        label, bundle, (role, whole), strength = wanted
        if role == "anchor":
            return session.add(at=label, role=role, progress=progress)
        with tempfile.TemporaryDirectory() as made:
            # A file that is called as an offer is compared with what that offer showed.
            path = os.path.join(made, f"{plain(label)}.npz")
            np.savez(path, **bundle)
            return session.add(path, role=role, whole=whole, strength=strength, progress=progress)

    def finish(self, context, thing, found):
        if (sculpt := bpy.data.objects.get(self.sculpt)) is not None:
            sculpting.leave(context, thing, sculpt)
        put(thing, found)
        if thing.dermis.model:
            thing.dermis.live = True
        for line in found[0]["lines"]:
            self.report({"INFO"}, line)
        for warning in found[0]["warnings"]:
            self.report({"WARNING"}, warning)


def painted(sculpt):
    """The mask that was painted as a vertex group, a number from 0 to 1 per vertex; None if there is no such group.

    Raises
    ------
    Unreadable
        If it is empty.
    """
    group = sculpt.vertex_groups.get(SCULPTED)
    if group is None:
        return None
    mask = np.zeros(len(sculpt.data.vertices))
    for vertex in sculpt.data.vertices:
        for entry in vertex.groups:
            if entry.group == group.index:
                mask[vertex.index] = entry.weight
    if mask.max(initial=0.0) <= 0.5:
        raise Unreadable(f'The vertex group "{SCULPTED}" is above 0.5 nowhere. Paint it where you sculpted, or remove it')
    return mask


class DERMIS_OT_session_undo(OfSession, bpy.types.Operator):
    """Go back to the model before the last change of the session"""

    bl_idname = "dermis.session_undo"
    bl_label = "Undo Step"

    def act(self, session, wanted, progress):
        return session.undo(progress=progress)


class DERMIS_OT_session_redo(OfSession, bpy.types.Operator):
    """Go forward to the model that undoing left"""

    bl_idname = "dermis.session_redo"
    bl_label = "Redo Step"

    def act(self, session, wanted, progress):
        return session.redo(progress=progress)


class DERMIS_OT_session_switch(OfSession, bpy.types.Operator):
    """Switch a step off or on, and fit the others again"""

    bl_idname = "dermis.session_switch"
    bl_label = "Switch Step"

    step: IntProperty(name="Step", description="The number of the step; the selected one by default", default=0)
    on: BoolProperty(name="On")

    def wanted(self, context, thing):
        session = thing.dermis.session
        if self.step:
            return self.step, self.on
        if not 0 <= session.active < len(session.steps):
            raise Unreadable("Select a step")
        return session.steps[session.active].number, not session.steps[session.active].on

    def act(self, session, wanted, progress):
        step, on = wanted
        return session.redo(step, progress=progress) if on else session.undo(step, progress=progress)


@persistent
def _look(*_):
    """After a file was read, or a step of Blender undone: the session is what its folder says."""
    for thing in bpy.data.objects:
        if thing.type != "MESH" or thing.library is not None or not thing.dermis.session.folder:
            continue
        session, folder = thing.dermis.session, folder_of(thing)
        if session.stamp == stamp_of(folder):
            continue
        try:
            put(thing, seen(folder))
        except (Unreadable, ValueError, OSError, RuntimeError) as wrong:
            session.warnings = jobs.told(wrong)


HANDLERS = ("load_post", "undo_post", "redo_post")
CLASSES = (
    DERMIS_OT_session_new,
    DERMIS_OT_session_open,
    DERMIS_OT_session_refresh,
    DERMIS_OT_session_rebase,
    DERMIS_OT_session_close,
    DERMIS_OT_session_next,
    DERMIS_OT_session_show,
    DERMIS_OT_session_done,
    DERMIS_OT_session_undo,
    DERMIS_OT_session_redo,
    DERMIS_OT_session_switch,
)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)
    if package.MISSING:
        return
    for name in HANDLERS:
        if _look not in getattr(bpy.app.handlers, name):
            getattr(bpy.app.handlers, name).append(_look)


def unregister():
    for name in HANDLERS:
        handlers = getattr(bpy.app.handlers, name)
        for found in [h for h in handlers if h.__name__ == _look.__name__ and h.__module__ == _look.__module__]:
            handlers.remove(found)
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
