# SPDX-License-Identifier: GPL-3.0-or-later
"""Sculpts through the real stack of modifiers: a shape becomes a shape key that acts at rest, and what no shape key makes is kept
as an offset behind the stack.
"""

import bpy
import numpy as np
from bpy.props import BoolProperty, IntProperty

from . import character, examples, jobs, live, reading, stack_inverse
from .package import MISSING
from .reading import Unreadable

REMAINDER = "Dermis Remainder"
# Calls of the stack in one tick of the timer.
PER_TICK = 2


class DERMIS_OT_invert_shape(bpy.types.Operator):
    """Make a shape key of the selected example, through all modifiers as they are. What no shape key reaches is added behind them"""

    bl_idname = "dermis.invert_shape"
    bl_label = "Make Corrective Key"
    bl_options = {"REGISTER", "UNDO"}

    max_calls: IntProperty(
        name="Calls", description="Calls of the modifiers at most", default=stack_inverse.MAX_CALLS, min=8, max=1000
    )
    keep_remainder: BoolProperty(name="Keep the Remainder", description="Add what no shape key reaches, behind all modifiers", default=True)

    _search = None

    @classmethod
    def poll(cls, context):
        thing = character.active(context)
        if MISSING or thing is None or not thing.dermis.is_set_up or not len(thing.dermis.examples):
            cls.poll_message_set(MISSING or "Select a character that has an example")
            return False
        return jobs.running() is None

    def _started(self, context):
        thing = character.active(context)
        character.checked(thing)
        own = thing.dermis
        if not 0 <= own.active < len(own.examples):
            raise Unreadable("Select an example")
        example = own.examples[own.active]
        if example.kind != "SHAPE":
            raise Unreadable(f"{example.label} is shown by the modifiers already. Select a shape")
        one = examples.read_shape(thing, own.active)
        rig, place = character.armature(thing), character.place(thing)
        self.subject, self.label = thing.name, one.label
        self._was_live, self._basis = own.live, examples.basis_of(rig)
        own.live = False
        examples.show_pose(thing, own.active)
        if np.abs(reading.pose_matrices(rig, place) - one.pose).max() > 1e-4 * max(1.0, np.abs(one.pose).max()):
            raise Unreadable(f"{rig.name} does not take the pose of {one.label}: constraints or drivers hold its bones. Mute them")
        target = reading.points(np.linalg.inv(reading.to_place(thing, rig, place)), one.skin)
        off = [m.name for m in thing.modifiers if m.name == REMAINDER and m.show_viewport]
        return stack_inverse.steps(thing, target, max_calls=self.max_calls, without=off)

    def _step(self):
        """One call of the stack; what was found once the search has ended."""
        try:
            self._said = next(self._search)
        except StopIteration as ended:
            return ended.value
        return None

    def _ended(self, context, found):
        thing = context.scene.objects[self.subject]
        add_key(thing, self.label, found, self.keep_remainder)
        thing.dermis.live = self._was_live
        self.report({"INFO"} if found.reason == "reached" else {"WARNING"}, found.text())
        return {"FINISHED"}

    def _refused(self, context, wrong):
        thing = context.scene.objects.get(getattr(self, "subject", ""))
        if thing is not None:
            examples.set_basis(character.armature(thing), self._basis)
            thing.dermis.live = self._was_live
        self.report({"ERROR"}, str(wrong))
        return {"CANCELLED"}

    def execute(self, context):
        found = None
        try:
            self._search = self._started(context)
            while found is None:
                found = self._step()
        except (Unreadable, stack_inverse.StackError, ValueError) as wrong:
            return self._refused(context, wrong)
        return self._ended(context, found)

    def invoke(self, context, event):
        try:
            self._search = self._started(context)
        except (Unreadable, stack_inverse.StackError, ValueError) as wrong:
            return self._refused(context, wrong)
        self._timer = context.window_manager.event_timer_add(0.1, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            self._search.close()
            return self._done(context, self._refused(context, "Stopped; nothing has changed"))
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        try:
            for _ in range(PER_TICK):
                if (found := self._step()) is not None:
                    return self._done(context, self._ended(context, found))
        except (stack_inverse.StackError, ValueError) as wrong:
            return self._done(context, self._refused(context, wrong))
        said = self._said
        context.workspace.status_text_set(f"Dermis: call {said.calls} of {said.max_calls}, {said.largest_mm:.3g} mm left   (Esc stops)")
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        """Blender ends the operator: another file is opened, or the window is closed."""
        self._search.close()

    def _done(self, context, result):
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)
        return result


def add_key(thing, label, found, keep_remainder):
    """Adds the shape key, and the remainder behind the stack where there is one to see."""
    if thing.data.shape_keys is None:
        thing.shape_key_add(name="Basis", from_mix=False)
    basis = reading.rest_positions(thing.data)
    displacement = found.displacement
    key = thing.data.shape_keys.key_blocks.get(label)
    if key is None:
        key = thing.shape_key_add(name=label, from_mix=False)
    elif not key.mute:
        # The search began from what the key made already.
        flat = np.empty(3 * len(basis), dtype=np.float32)
        key.data.foreach_get("co", flat)
        displacement = displacement + key.value * (flat.reshape(-1, 3) - basis)
    key.data.foreach_set("co", (basis + displacement).astype(np.float32).ravel())
    key.mute, key.value = False, 1.0
    # A pinned key would hide the new one.
    thing.show_only_shape_key = False
    _remove_remainder(thing)
    if keep_remainder and found.largest_mm > 10.0 * stack_inverse.TOLERANCE_MM:
        _add_remainder(thing, key, found.remainder)


def _remove_remainder(thing):
    modifier = thing.modifiers.get(REMAINDER)
    if modifier is not None:
        group = modifier.node_group
        thing.modifiers.remove(modifier)
        if group is not None and group.users == 0:
            bpy.data.node_groups.remove(group)
    if (found := thing.data.attributes.get(REMAINDER)) is not None:
        thing.data.attributes.remove(found)


def _add_remainder(thing, key, remainder):
    """Offsets behind all modifiers, as strong as the shape key."""
    stored = thing.data.attributes.new(REMAINDER, "FLOAT_VECTOR", "POINT")
    stored.data.foreach_set("vector", remainder.astype(np.float32).ravel())
    group = bpy.data.node_groups.new(f"{REMAINDER} {thing.name}", "GeometryNodeTree")
    group.is_modifier = True
    group.interface.new_socket(name="Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket(name="Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    nodes, links = group.nodes, group.links
    come, go = nodes.new("NodeGroupInput"), nodes.new("NodeGroupOutput")
    named, factor = nodes.new("GeometryNodeInputNamedAttribute"), nodes.new("ShaderNodeValue")
    named.data_type = "FLOAT_VECTOR"
    named.inputs["Name"].default_value = REMAINDER
    scaled, place = nodes.new("ShaderNodeVectorMath"), nodes.new("GeometryNodeSetPosition")
    scaled.operation = "SCALE"
    factor.name = "Factor"
    links.new(named.outputs["Attribute"], scaled.inputs[0])
    links.new(factor.outputs[0], scaled.inputs["Scale"])
    links.new(come.outputs[0], place.inputs["Geometry"])
    links.new(scaled.outputs[0], place.inputs["Offset"])
    links.new(place.outputs["Geometry"], go.inputs[0])
    for column, node in enumerate((named, factor, scaled, come, place, go)):
        node.location = (180.0 * column, 0.0)
    driver = group.driver_add('nodes["Factor"].outputs[0].default_value').driver
    driver.type = "AVERAGE"
    target = driver.variables.new().targets[0]
    target.id_type, target.id = "KEY", thing.data.shape_keys
    target.data_path = f"{key.path_from_id('value')}"
    modifier = thing.modifiers.new(REMAINDER, "NODES")
    modifier.node_group = group
    modifier.show_expanded = False
    stack = list(thing.modifiers)
    behind = [at for at, m in enumerate(stack) if m.type in live.CHANGES_TOPOLOGY and m.name not in (REMAINDER, live.MODIFIER)]
    if behind:
        thing.modifiers.move(len(stack) - 1, behind[0])


CLASSES = (DERMIS_OT_invert_shape,)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
