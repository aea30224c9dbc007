"""A story in Blender's window, told by simulated clicks and keys. `tools/blender_window.py` starts it; this file runs inside Blender.

A story is a Python file with a generator `story(ui)`. Every step is a `yield from`; between steps Blender handles events and draws.

    import bpy

    def story(ui):
        yield from ui.tab("Dermis")                    # opens the sidebar at that tab
        yield from ui.shot("before")                   # OUT/before.png, the whole window
        yield from ui.click("dermis.fit")              # hovers over the sidebar until it finds the button, and clicks it
        yield from ui.until(lambda: bpy.context.scene.frame_current == 12, "frame 12")   # or an error after 60 s
        yield from ui.shot("after", ui.sidebar())      # cropped to the sidebar

A story that raises ends Blender with 1. `ui.check(holds, text)` does that. These are the steps; positions are pixels of the window,
from its lower left corner, as Blender counts them:

| step | what it does |
|---|---|
| `tab(name)` | opens the sidebar of the largest 3D view at a tab; fails if there is none |
| `click(what, **where)` | clicks the button of an operator (`"dermis.fit"`, `"dermis.go(frame=12)"`) or of a property (`"scene.frame_start"`) |
| `set(what, text)` | double-clicks the field of a property, writes into it and confirms |
| `open(panel)`, `close(panel)` | opens or closes a panel of the sidebar by a click on its header: `"DERMIS_PT_model"` |
| `find(what, **where)` | the position of that button: `x, y = yield from ui.find(…)` |
| `click_at(x, y)`, `drag(start, end)`, `hover(x, y)` | the pointer |
| `at(point)` | the position of a point of the scene in the 3D view |
| `search(name)` | finds an operator by Blender's search (F3) over the 3D view, and runs it |
| `key(name, …)`, `type(text)` | keys, by Blender's names (`"ESC"`, `"RET"`, `"F3"`); `shift=True`, `ctrl=True`, `alt=True` |
| `brush(mode)` | sees to a brush of a mode, such as `"SCULPT"`, before `drag` makes strokes |
| `scroll(steps)` | turns the wheel over the sidebar, down if positive |
| `until(holds, what, limit=60)` | waits for a condition |
| `turns(holds)` | no step, but `with ui.turns(holds) as turns:`; then `turns.longest` is the longest time that Blender's loop was held up, in seconds, while `holds()` was true |
| `put_away()`, `bring_back()` | fills the window with an editor of which nothing changes, so that nothing is drawn, and gives the 3D view back |
| `wait(seconds)`, `drawn()` | waits; `drawn` for the next picture of the 3D view, `drawn("UI")` of the sidebar |
| `shot(name, box=None)` | a picture as PNG; `ui.sidebar()`, `ui.sidebar(400)` (its upper part), `ui.view()` or `ui.around((x, y), width, height)` crop it |

`click` and `find` scroll down where the button is out of sight. They cannot see into a closed panel.
"""

import ctypes
import os
import runpy
import subprocess
import sys
import time
import traceback
from pathlib import Path

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d

# Turns of Blender's loop between an event and what depends on it. Each turn handles what is there, and a button that the pointer leaves or
# enters sends itself one event more: after one turn the last button can still be lit, after two the next one is.
TURNS = 3
# Seconds of a turn, at least.
TURN = 0.01
# Seconds between two looks at a condition.
PAUSE = 0.02
# Pixels between two looks for a button. A button is 20 high at least.
STEP = 9


class Ui:
    """The window, its largest 3D view and that view's sidebar."""

    def __init__(self, out):
        self.out = Path(out)
        self.pointer = 0, 0
        self.pictures = {"WINDOW": 0, "UI": 0}
        for region in self.pictures:
            bpy.types.SpaceView3D.draw_handler_add(self._count, (region,), region, "POST_PIXEL")

    def _count(self, region):
        self.pictures[region] += 1

    @property
    def window(self):
        return bpy.context.window_manager.windows[0]

    @property
    def has_view(self):
        """Whether a 3D view is there: a file window takes its place."""
        return any(area.type == "VIEW_3D" for area in self.window.screen.areas)

    @property
    def area(self):
        views = [area for area in self.window.screen.areas if area.type == "VIEW_3D"]
        self.check(views, "there is no 3D view")
        return max(views, key=lambda area: area.width * area.height)

    def region(self, kind):
        return next(region for region in self.area.regions if region.type == kind)

    def at(self, point):
        region = self.region("WINDOW")
        place = location_3d_to_region_2d(region, self.area.spaces.active.region_3d, point)
        self.check(place is not None, f"{tuple(point)} is behind the eye")
        return region.x + place.x, region.y + place.y

    def override(self, kind="WINDOW"):
        """The context of a region of the 3D view, for operators that a story calls by itself."""
        return bpy.context.temp_override(window=self.window, area=self.area, region=self.region(kind))

    @staticmethod
    def check(holds, otherwise):
        if not holds:
            raise AssertionError(otherwise)

    # Waiting.

    def wait(self, seconds):
        yield seconds

    def drawn(self, region="WINDOW"):
        if not self.has_view:
            yield from self.wait(0.5)
            return
        before = self.pictures[region]
        self.region(region).tag_redraw()
        if region == "WINDOW":
            self.area.tag_redraw()
        yield from self.until(lambda: self.pictures[region] > before, "the view to be drawn")

    def until(self, holds, what="the condition", limit=60.0):
        end = time.monotonic() + limit
        while not holds():
            self.check(time.monotonic() < end, f"waited {limit:.0f} s for {what}")
            yield PAUSE

    def turns(self, holds):
        return Turns(holds)

    def put_away(self):
        area = self.area
        area.type = "TEXT_EDITOR"
        with bpy.context.temp_override(window=self.window, area=area):
            bpy.ops.screen.screen_full_area(use_hide_panels=True)
        yield from self.wait(0.5)

    def bring_back(self):
        with bpy.context.temp_override(window=self.window, area=self.window.screen.areas[0]):
            bpy.ops.screen.back_to_previous()
        yield from self.wait(0.5)
        next(area for area in self.window.screen.areas if area.type == "TEXT_EDITOR").type = "VIEW_3D"
        yield from self.drawn()

    # Pointer and keys.

    def event(self, kind, value, **more):
        # An event without a place would lie in the corner of the window, in another editor.
        self.pointer = more.get("x", self.pointer[0]), more.get("y", self.pointer[1])
        self.window.event_simulate(type=kind, value=value, **{"x": self.pointer[0], "y": self.pointer[1]} | more)
        for _ in range(TURNS):
            yield TURN

    def hover(self, x, y):
        yield from self.event("MOUSEMOVE", "NOTHING", x=int(x), y=int(y))

    def click_at(self, x, y, times=1, **modifiers):
        yield from self.hover(x, y)
        for _ in range(times):
            yield from self.event("LEFTMOUSE", "PRESS", x=int(x), y=int(y), **modifiers)
            yield from self.event("LEFTMOUSE", "RELEASE", x=int(x), y=int(y), **modifiers)

    def drag(self, start, end, turns=10):
        yield from self.hover(*start)
        yield from self.event("LEFTMOUSE", "PRESS", x=int(start[0]), y=int(start[1]))
        for turn in range(1, turns + 1):
            yield from self.hover(*(a + (b - a) * turn / turns for a, b in zip(start, end)))
        yield from self.event("LEFTMOUSE", "RELEASE", x=int(end[0]), y=int(end[1]))

    def key(self, name, unicode=None, **modifiers):
        more = {"unicode": unicode} if unicode else {}
        yield from self.event(name, "PRESS", **more, **modifiers)
        yield from self.event(name, "RELEASE", **modifiers)

    def type(self, text):
        for letter in text:
            yield from self.key(KEYS.get(letter, letter.upper()), unicode=letter)

    def search(self, name):
        region = self.region("WINDOW")
        yield from self.hover(region.x + 0.3 * region.width, region.y + 0.3 * region.height)
        yield from self.key("F3")
        yield from self.type(name.lower())
        yield from self.wait(0.5)
        yield from self.key("RET")
        yield from self.drawn()

    def scroll(self, steps):
        region = self.region("UI")
        yield from self.hover(region.x + 0.4 * region.width, region.y + 0.5 * region.height)
        for _ in range(abs(steps)):
            yield from self.event("WHEELDOWNMOUSE" if steps > 0 else "WHEELUPMOUSE", "PRESS")

    def brush(self, mode="SCULPT"):
        """Sees to a brush: Debian's Blender comes without the assets that hold the brushes."""
        paint = getattr(bpy.context.tool_settings, mode.lower())
        if paint.brush is None:
            brush = bpy.data.brushes.new("Draw", mode=mode)
            brush.asset_mark()
            with self.override():
                bpy.ops.brush.asset_activate(asset_library_type="LOCAL", relative_asset_identifier="Brush/Draw")
            yield from self.drawn()
        self.check(paint.brush is not None, "there is no brush")

    # The sidebar.

    def tab(self, name):
        self.area.spaces.active.show_region_ui = True
        yield from self.drawn()
        region = self.region("UI")
        try:
            region.active_panel_category = name
        except TypeError as error:
            raise AssertionError(f"the sidebar has no tab {name}: {error}") from error
        yield from self.drawn()
        self.check(region.active_panel_category == name, f"the sidebar did not open at {name}")

    def find(self, what, columns=(0.35, 0.75, 0.17, 0.83)):
        """Hovers over the sidebar row by row until the button under the pointer is `what`: first in sight, then from the top down."""
        seen, turn = [], 0
        while True:
            before = len(seen)
            for column in columns:
                found = yield from self._look(what, column, seen)
                if found:
                    yield from self.hover(*found)
                    self.check(self._is(what, self._under_pointer() or ""), f"{what} moved away from {found}")
                    return found
            self.check(turn < 2 or len(seen) > before, f"there is no button {what} in the sidebar, but {seen}")
            yield from self.scroll(-40 if turn == 0 else 6)
            turn += 1

    def _look(self, what, column, seen):
        region = self.region("UI")
        x = region.x + column * region.width
        first = None
        for y in range(region.y + region.height - STEP, region.y, -STEP):
            yield from self.hover(x, y)
            under = self._under_pointer()
            if under and under not in seen:
                seen.append(under)
            if under and self._is(what, under):
                # The middle of it, where a click is safest.
                first = y if first is None else first
                last = y
            elif first is not None:
                break
        return (x, (first + last) / 2) if first is not None else None

    def _under_pointer(self):
        """The Python of the button under the pointer, as Blender's menu "Copy Python Command" and "Copy Full Data Path" have it."""
        manager = bpy.context.window_manager
        with self.override("UI"):
            for copy, arguments in ((bpy.ops.ui.copy_python_command_button, {}), (bpy.ops.ui.copy_data_path_button, {"full_path": True})):
                try:
                    if copy.poll():
                        manager.clipboard = ""
                        copy(**arguments)
                        if manager.clipboard:
                            return manager.clipboard
                except RuntimeError:
                    continue  # a button of neither kind
        return None

    @staticmethod
    def _is(what, under):
        if under.startswith("bpy.ops."):
            name, _, arguments = under.removeprefix("bpy.ops.").rstrip(")").partition("(")
            wanted, _, values = what.rstrip(")").partition("(")
            return name == wanted and all(value.strip() in arguments for value in values.split(",") if value.strip())
        return under == what or under.endswith("." + what)

    def click(self, what, **where):
        x, y = yield from self.find(what, **where)
        yield from self.click_at(x, y)
        yield from self.drawn()

    def set(self, what, text, **where):
        x, y = yield from self.find(what, **where)
        yield from self.click_at(x, y, times=2)
        yield from self.key("A", ctrl=True)
        yield from self.type(text)
        yield from self.key("RET")
        yield from self.drawn()

    def open(self, panel):
        yield from self._toggle(panel, True)

    def close(self, panel):
        yield from self._toggle(panel, False)

    def _toggle(self, panel, wanted):
        """Clicks on row after row that has no button, until the panel is as wanted. A click that toggled another panel is taken back."""
        region = self.region("UI")
        x, y = region.x + 0.5 * region.width, region.y + region.height - STEP
        with Watched(panel) as watched:
            while True:
                watched.drawn.clear()
                yield from self.drawn("UI")
                # A panel is not drawn either where the one around it is closed.
                if watched.is_open(panel) == wanted and watched.is_open(watched.parent):
                    return
                if y < region.y + region.height - STEP:
                    yield from self.click_at(x, y + 2 * STEP)
                under = "a button"
                while under is not None:
                    self.check(y > region.y, f"the sidebar has no header of {panel} in sight")
                    yield from self.hover(x, y)
                    under = self._under_pointer()
                    y -= 2 * STEP
                yield from self.click_at(x, y + 2 * STEP)

    # Pictures.

    def sidebar(self, height=None):
        x, y, width, whole = self._box(self.region("UI"))
        height = min(height or whole, whole)
        return x, y + whole - height, width, height

    def view(self):
        return self._box(self.area)

    def around(self, middle, width, height):
        return int(middle[0] - width / 2), int(middle[1] - height / 2), int(width), int(height)

    @staticmethod
    def _box(thing):
        return thing.x, thing.y, thing.width, thing.height

    def shot(self, name, box=None):
        """Parks the pointer, so that no button is lit and no hint opens, and keeps what the window shows."""
        if self.has_view:
            area = self.area
            yield from self.hover(area.x + 0.5 * area.width, area.y + 2 * STEP)
            yield from self.drawn()
        yield 0.3
        path = self.out / f"{name}.png"
        crop = []
        if box:
            x, y, width, height = box
            crop = ["-crop", f"{width}x{height}+{x}+{self.window.height - y - height}", "+repage"]
        # By the X server: Blender's own operator needs a context that a timer does not have.
        subprocess.run(["import", "-silent", "-window", "root", *crop, path], check=True, timeout=60)
        print(f"{path}", flush=True)


class Turns:
    """A timer that is due every 10 ms, and the longest that it waited while a condition held."""

    PERIOD = 0.01

    def __init__(self, holds):
        self.holds = holds
        self.longest = self.seconds = 0.0
        # Blender knows a timer by its object, and a bound method is a new one at each look.
        self.timer = self._turn

    def __enter__(self):
        self.begin = self.last = time.monotonic()
        bpy.app.timers.register(self.timer, first_interval=self.PERIOD)
        return self

    def _turn(self):
        now = time.monotonic()
        gap, self.last = now - self.last, now
        if self.holds():
            self.longest, self.seconds = max(self.longest, gap), now - self.begin
        return self.PERIOD

    def __exit__(self, *_):
        self._turn()
        bpy.app.timers.unregister(self.timer)


class Watched:
    """Notes that Blender draws a panel, or the one around it. It does not draw a panel that is closed."""

    def __init__(self, panel):
        self.parent = getattr(getattr(bpy.types, panel), "bl_parent_id", "")
        self.types = [getattr(bpy.types, name) for name in (panel, self.parent) if name]
        self.drawn = set()

    def is_open(self, name):
        return not name or name in self.drawn

    def __enter__(self):
        self.draws = [kind.draw for kind in self.types]
        for kind, draw in zip(self.types, self.draws):
            kind.draw = self._noting(kind.__name__, draw)
        return self

    def _noting(self, name, draw):
        def noting(panel, context):
            self.drawn.add(name)
            draw(panel, context)

        return noting

    def __exit__(self, *_):
        for kind, draw in zip(self.types, self.draws):
            kind.draw = draw


KEYS = {
    "0": "ZERO", "1": "ONE", "2": "TWO", "3": "THREE", "4": "FOUR", "5": "FIVE", "6": "SIX", "7": "SEVEN", "8": "EIGHT", "9": "NINE",
    ".": "PERIOD", ",": "COMMA", " ": "SPACE", "-": "MINUS", "_": "MINUS", "/": "SLASH",
}  # fmt: skip


def install(path):
    """The add-on, as a person installs it. Returns its module."""
    before = set(bpy.context.preferences.addons.keys())
    bpy.ops.extensions.package_install_files(filepath=path, repo="user_default", enable_on_install=True)
    new = set(bpy.context.preferences.addons.keys()) - before
    if len(new) != 1:
        raise AssertionError(f"{path} was not installed and enabled: {sorted(new)}")
    return new.pop()


def tell(out, path, zip_path):
    """Runs the story, a step at each tick of a timer; Blender ends with it."""
    ui = Ui(out)

    def beginning():
        yield 1.0
        yield from ui.drawn()
        if zip_path:
            module = install(zip_path)
            print(f"Blender {bpy.app.version_string}: {module}", flush=True)
        yield from runpy.run_path(path)["story"](ui)

    steps = beginning()

    def tick():
        try:
            return max(next(steps), 0.001)
        except StopIteration:
            code = 0
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        # What Blender itself has printed.
        ctypes.CDLL(None).fflush(None)
        # An add-on's handlers could keep Python from ending.
        os._exit(code)

    bpy.app.timers.register(tick, first_interval=0.5, persistent=True)


if __name__ == "__main__":
    preferences = bpy.context.preferences
    preferences.view.show_splash = False
    # Pictures of one state do not differ by when they were taken.
    preferences.view.smooth_view = 0
    preferences.view.show_tooltips = False
    # In the one window whose events a story makes.
    preferences.view.filebrowser_display_type = "SCREEN"
    preferences.view.ui_scale = float(os.environ["DERMIS_UI_SCALE"])
    tell(*(sys.argv[sys.argv.index("--") + 1 :] + [None])[:3])
