"""Long work: arrays are gathered on the main thread, the package works in a thread that never touches bpy, and what it found is
put into the scene on the main thread again.

`execute` does all of it at once, for scripts; a click runs the same as a modal operator with progress, and Esc stops it.
"""

import threading
import traceback

from . import character, package
from .reading import Unreadable


class Stopped(Exception):
    """The person pressed Esc."""


class Work:
    """Work in a thread, with what it says of itself."""

    def __init__(self, function):
        self.function, self.stopped = function, False
        self.step, self.share, self.found, self.failed = "", 0.0, None, None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def progress(self, step, share):
        if self.stopped:
            raise Stopped
        self.step, self.share = step, share

    def _run(self):
        try:
            self.found = self.function(self.progress)
        except Exception as wrong:  # noqa: BLE001 it is said where the work was asked for
            self.failed = wrong

    def run(self):
        """Works here and now."""
        self._run()


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
        return Work(lambda progress: self.work(gathered, progress))

    def _ended(self, context, work):
        thing = context.scene.objects.get(self.subject)
        failed = work.failed
        # Work that was done before it could be stopped counts.
        if isinstance(failed, Stopped) or (work.stopped and failed is not None):
            self.report({"INFO"}, "Stopped; nothing has changed")
            return {"CANCELLED"}
        if thing is None:
            self.report({"WARNING"}, f"{self.subject} has left the scene; what was found is dropped")
            return {"CANCELLED"}
        if failed is not None:
            if not isinstance(failed, (Unreadable, ValueError, OSError, RuntimeError)):
                traceback.print_exception(failed)
            self.report({"ERROR"}, told(failed))
            return {"CANCELLED"}
        try:
            self.finish(context, thing, work.found)
        except Unreadable as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        return {"FINISHED"}

    def execute(self, context):
        try:
            work = self._started(context)
        except Unreadable as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        work.run()
        return self._ended(context, work)

    def invoke(self, context, event):
        global _work
        try:
            work = self._started(context)
        except Unreadable as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        _work = work
        work.thread.start()
        manager = context.window_manager
        self._timer = manager.event_timer_add(0.1, window=context.window)
        manager.modal_handler_add(self)
        manager.progress_begin(0.0, 1.0)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        global _work
        work = _work
        if event.type == "ESC" and event.value == "PRESS":
            work.stopped = True
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        context.window_manager.progress_update(work.share)
        context.workspace.status_text_set(f"Dermis: {work.step} {100 * work.share:.0f} %   (Esc stops)")
        redraw(context)
        if work.thread.is_alive():
            return {"RUNNING_MODAL"}
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        _work = None
        return self._ended(context, work)

    def cancel(self, context):
        """Blender ends the operator: another file is opened, or the window is closed."""
        global _work
        if _work is not None:
            _work.stopped = True
        _work = None


_work = None


def running():
    """The work under way; None if there is none."""
    return _work


def redraw(context):
    """Draws the side bars again."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
