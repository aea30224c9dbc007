# SPDX-License-Identifier: GPL-3.0-or-later
"""Long work: arrays are gathered on the main thread, a job of the package (`dermis.Job`) computes beside it and never touches bpy, and
what it found is put into the scene on the main thread again.

`execute` does all of it at once, for scripts; a click runs the same as a modal operator with progress, and Esc stops it.
"""

import traceback

from . import character, package
from .reading import Unreadable


def told(failed):
    """An error as a report says it: the message, and what to do about it."""
    hint = getattr(failed, "hint", None)
    return getattr(failed, "message", f"{failed}") + (f". {hint[0].upper()}{hint[1:]}" if hint else "")


class JobOperator:
    """An operator with long work: `gather` reads the scene, `work` computes, `finish` changes the scene."""

    bl_options = {"REGISTER", "UNDO"}
    _work = None

    @classmethod
    def poll(cls, context):
        if package.MISSING:
            cls.poll_message_set(package.MISSING)
            return False
        thing = character.active(context)
        if thing is None or not thing.dermis.is_set_up:
            cls.poll_message_set("Select a character that is set up")
            return False
        if running():
            cls.poll_message_set("Dermis is at work; Esc stops it")
            return False
        return True

    def _started(self, context):
        thing = character.active(context)
        self.subject = thing.name
        character.checked(thing)
        gathered = self.gather(context, thing)
        return package.needed().Job(lambda progress: self.work(gathered, progress))

    def _ended(self, context, job):
        thing = context.scene.objects.get(self.subject)
        found = failed = None
        try:
            found = job.result()
        except package.needed().Stopped:
            self.report({"INFO"}, "Stopped; nothing has changed")
            return {"CANCELLED"}
        except Exception as wrong:  # noqa: BLE001 it is said below
            failed = wrong
        if thing is None:
            self.report({"WARNING"}, f"{self.subject} has left the scene; what was found is dropped")
            return {"CANCELLED"}
        if failed is not None:
            if not isinstance(failed, (Unreadable, ValueError, OSError, RuntimeError)):
                traceback.print_exception(failed)
            self.report({"ERROR"}, told(failed))
            return {"CANCELLED"}
        try:
            self.finish(context, thing, found)
        except Unreadable as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        return {"FINISHED"}

    def execute(self, context):
        try:
            job = self._started(context)
        except Unreadable as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        return self._ended(context, job)

    def invoke(self, context, event):
        global _job
        try:
            _job = self._started(context)
        except Unreadable as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        manager = context.window_manager
        self._timer = manager.event_timer_add(0.1, window=context.window)
        manager.modal_handler_add(self)
        manager.progress_begin(0.0, 1.0)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        global _job
        job = _job
        if event.type == "ESC" and event.value == "PRESS":
            job.stop()
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        context.window_manager.progress_update(job.share)
        context.workspace.status_text_set(f"Dermis: {job.step} {100 * job.share:.0f} %   (Esc stops)")
        redraw(context)
        if job.running:
            return {"RUNNING_MODAL"}
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        _job = None
        return self._ended(context, job)

    def cancel(self, context):
        """Blender ends the operator: another file is opened, or the window is closed."""
        global _job
        if _job is not None:
            _job.stop()
        _job = None


_job = None


def running():
    """The job under way; None if there is none."""
    return _job


def redraw(context):
    """Draws the side bars again."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()
