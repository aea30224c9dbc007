## What a driver table must hold for dermis_drivers.gd to read it, by docs/drivers.md. Godot 4.
extends RefCounted

const Rotation := preload("dermis_rotation.gd")

const FIELDS: Array[String] = ["bones", "shapes", "offset", "clamp", "joints"]
const JOINT_MODEL_FIELDS: Array[String] = ["length", "sigma", "matrix"]
const POSE_SPACE_FIELDS: Array[String] = ["coordinates", "kernel", "linear", "channels", "regions"]


## Returns why a table cannot be read: it is of an unknown kind, or its counts contradict each other. Empty if it can.
static func refusal(table: Variant) -> String:
	if not table is Dictionary or table.get("format") != "dermis-drivers":
		return "format is not dermis-drivers"
	var is_pose_space: bool = table.get("version") in [2.0, 3.0] and table.get("kind") == "pose-space"
	if not table.get("version") in [1.0, 4.0, 5.0] and not is_pose_space:
		return "this reader does not know version %s, kind %s" % [table.get("version"), table.get("kind")]
	for field: String in FIELDS + (POSE_SPACE_FIELDS if is_pose_space else JOINT_MODEL_FIELDS):
		if not table.has(field):
			return "there is no field " + field
	for bone: Dictionary in table.bones:
		if not _are_rows(bone.inverse_bind, 3, 4):
			return "inverse_bind of %s is not three rows of four numbers" % bone.name
	if not _are_rows([table.offset], 1, table.shapes.size()) or not _are_rows([table.clamp], 1, 2):
		return "offset has not a number per shape, or clamp not two"
	if is_pose_space:
		return _pose_space_refusal(table)
	if table.version == 1.0 or (table.version == 5.0 and not table.has("sculpts")):
		return _joint_model_refusal(table, table.shapes.size())
	# With sculpts the first shapes alone are those of the joints.
	var space: Variant = table.get("sculpts")
	if not space is Dictionary:
		return "there is no field sculpts"
	for field: String in POSE_SPACE_FIELDS + ["joints"]:
		if not space.has(field):
			return "sculpts has no field " + field
	var refused := _joint_model_refusal(table, mini(table.matrix.size(), table.shapes.size()))
	return refused if refused != "" else _pose_space_refusal(space.merged({"bones": table.bones, "shapes": table.shapes}))


static func _joint_model_refusal(table: Dictionary, rows: int) -> String:
	var columns := 0
	for joint: Dictionary in table.joints:
		var count: int = joint.inverse_factor.size()
		if not _is_place(joint.from, table.bones) or not _is_place(joint.to, table.bones):
			return "a joint names a bone that is not in the table"
		var has_centre: bool = joint.centre != null
		if (has_centre and not _are_rows([joint.centre], 1, 3)) or not _are_rows(joint.inducing, count, 12):
			return "centre is not three numbers, or inducing not %s times twelve" % count
		for i in count:
			if not _are_rows([joint.inverse_factor[i]], 1, i + 1):
				return "row %s of inverse_factor has not %s numbers" % [i, i + 1]
		columns += count
	var gravity: Dictionary = table.get("gravity", {"down": [0.0, 0.0, 0.0], "bones": []})
	if not _are_rows([gravity.get("down")], 1, 3) or not gravity.get("bones") is Array:
		return "gravity has no down of three numbers, or no list of bones"
	for seeing: Dictionary in gravity.bones:
		if not _is_place(seeing.bone, table.bones):
			return "gravity names a bone that is not in the table"
		columns += 3
	if not _are_rows(table.matrix, rows, columns):
		return "matrix is not %s rows of %s numbers" % [rows, columns]
	return ""


static func _pose_space_refusal(table: Dictionary) -> String:
	if not Rotation.SIZES.has(table.coordinates.kind):
		return "this reader does not know coordinates %s" % table.coordinates.kind
	if not table.kernel.kind in ["gaussian", "wendland", "polyharmonic"]:
		return "this reader does not know kernel %s" % table.kernel.kind
	for joint: Dictionary in table.joints:
		if not _are_rows([joint.axis], 1, 3):
			return "axis of a joint is not three numbers"
		if joint.has("part") and (table.coordinates.kind != "swing-twist" or not joint.part in ["swing", "twist"]):
			return "a joint reads the part %s of coordinates %s" % [joint.part, table.coordinates.kind]
		for pair: Array in joint.path:
			if pair.size() != 2 or not _is_place(pair[0], table.bones) or not _is_place(pair[1], table.bones):
				return "a path names a bone that is not in the table"
	for region: Dictionary in table.regions:
		var size := 0
		for pair: Array in region.relevance:
			if pair.size() != 2 or not _is_place(pair[0], table.joints + table.channels):
				return "a region names a coordinate that is not in the table"
			size += size_of(table, pair[0])
		for shape: Variant in region.shapes:
			if not _is_place(shape, table.shapes):
				return "a region names a shape that is not in the table"
		var count: int = region.centres.size()
		if not _are_rows(region.centres, count, size):
			return "a centre has not %s numbers" % size
		if not _are_rows(region.matrix, region.shapes.size(), count + (size if table.linear else 0)):
			return "matrix of a region has not a row per shape and a column per value"
		var windows: Array = region.get("windows", [])
		if not windows.is_empty() and windows.size() != region.shapes.size():
			return "a region has not a window per shape"
		for window: Dictionary in windows:
			if not _is_place(window.centre, region.centres) or not _are_rows([window.relevance], 1, region.relevance.size()):
				return "a window has no centre of its region, or not a number per coordinate"
	return ""


## Returns how many numbers the coordinate at a place has: joints come first, then channels.
static func size_of(table: Dictionary, place: int) -> int:
	return Rotation.SIZES[table.coordinates.kind] if place < table.joints.size() else 1


## Returns a copy of a table whose lists of numbers are packed, which are faster to read.
static func packed(table: Variant) -> Variant:
	if table is Dictionary:
		var made := {}
		for key: String in table:
			made[key] = packed(table[key]) if key not in ["path", "relevance"] else table[key]
		return made
	if table is Array and table.all(func(item: Variant) -> bool: return item is float):
		return PackedFloat64Array(table)
	if table is Array:
		return table.map(packed)
	return table


static func _is_place(place: Variant, things: Array) -> bool:
	return place is float and place >= 0 and place < things.size() and place == floorf(place)


static func _are_rows(rows: Variant, count: int, size: int) -> bool:
	if not rows is Array or rows.size() != count:
		return false
	return rows.all(func(row: Variant) -> bool:
		return row is Array and row.size() == size and row.all(func(number: Variant) -> bool: return number is float))
