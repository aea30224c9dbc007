## Computes the weights of morph targets from the table of `dermis export drivers`: of a joint model or a pose space.
##
## Equations and names are those of docs/drivers.md. Godot 4. Needs dermis_rotation.gd and dermis_table.gd beside it;
## dermis_morphs.gd is the node for a scene.
## [codeblock]
## var drivers := Drivers.new(JSON.parse_string(FileAccess.get_file_as_string("res://hero.json")))
## var weights := drivers.weights(func(bone: String) -> Array: return world_matrix(bone))
## [/codeblock]
extends RefCounted

const Rotation := preload("dermis_rotation.gd")
const Table := preload("dermis_table.gd")

## Why the table was refused; empty if it was not.
var refusal := ""
## Names of the bones that the table reads, and of the morph targets in the order of the weights.
var bones := PackedStringArray()
var shapes := PackedStringArray()

var _table: Dictionary


## Takes the parsed JSON. A table of an unknown kind, or whose counts contradict each other, is refused.
func _init(table: Variant) -> void:
	refusal = Table.refusal(table)
	if refusal != "":
		push_error("driver table: " + refusal)
		return
	_table = Table.packed(table)
	shapes = PackedStringArray(_table.shapes)
	for bone: Dictionary in _table.bones:
		bones.append(bone.name)
	# Kernels between the bind pose and the centres do not depend on the pose.
	for joint: Dictionary in _table.joints if _table.has("length") else []:
		joint.at_bind = PackedFloat64Array()
		for psi: PackedFloat64Array in joint.inducing:
			joint.at_bind.append(_g_minus_one(Rotation.zeros(12), psi))
	var space: Dictionary = _table.get("sculpts", _table)
	for region: Dictionary in space.get("regions", []):
		region.at_bind = PackedFloat64Array()
		for centre: PackedFloat64Array in region.centres:
			region.at_bind.append(_phi(space, region, Rotation.zeros(centre.size()), centre))


## Returns a weight for every name in [member shapes]. [param world_of] takes the name of a bone and returns its
## joint-to-world matrix, 16 numbers column by column, in the axes of the GLB. [param channels] has values by name; one
## that it lacks is zero.
func weights(world_of: Callable, channels := {}) -> PackedFloat64Array:
	var linear: Array[PackedFloat64Array] = []
	var translation: Array[PackedFloat64Array] = []
	for bone: Dictionary in _table.bones:
		var world: Array = world_of.call(bone.name)
		linear.append(PackedFloat64Array())
		translation.append(PackedFloat64Array())
		for r in 3:
			for c in 4:
				var entry: float = world[12 + r] if c == 3 else 0.0
				for k in 3:
					entry += world[4 * k + r] * bone.inverse_bind[k][c]
				(translation if c == 3 else linear)[-1].append(entry)
	var result: PackedFloat64Array = _table.offset.duplicate()
	var windows := PackedFloat64Array()
	windows.resize(result.size())
	windows.fill(1.0)
	if _table.has("length"):
		_add_joint_model(result, linear, translation)
	var space: Dictionary = _table.get("sculpts", _table)
	if space.has("regions"):
		_add_pose_space(space, result, linear, channels, windows)
	for i in result.size():
		# A bone scaled to zero has no inverse. NaN would hide the whole mesh; the bind pose's weight replaces it.
		var weight: float = result[i] if is_finite(result[i]) else _table.offset[i]
		result[i] = windows[i] * clampf(weight, _table.clamp[0], _table.clamp[1])
	return result


## Versions 1, 4 and 5: adds `matrix` z.
func _add_joint_model(to: PackedFloat64Array, linear: Array, translation: Array) -> void:
	var z := PackedFloat64Array()
	var share: float = _table.get("arc_cosine", 0.0)
	for joint: Dictionary in _table.joints:
		var inverse := Rotation.inverse(linear[joint.from])
		var turn := Rotation.product(inverse, linear[joint.to])
		var phi := PackedFloat64Array()
		for r in 3:
			turn[4 * r] -= 1.0
			var slide := 0.0
			for c in 3:
				phi.append(turn[3 * r + c] / sqrt(2.0))
				if joint.centre == null:
					continue # the rotation alone is read
				slide += inverse[3 * r + c] * (translation[joint.to][c] - translation[joint.from][c]) / _table.length
				slide += turn[3 * r + c] * joint.centre[c]
			phi.append(slide)
		phi = Rotation.limited(phi, joint.limit)
		var to_origin := _g_minus_one(phi, Rotation.zeros(12))
		var k := PackedFloat64Array()
		for i: int in joint.inducing.size():
			var bracket: float = _g_minus_one(phi, joint.inducing[i]) - to_origin - joint.at_bind[i]
			var gaussian: float = _table.sigma * _table.sigma / 2.0 * bracket
			k.append((1.0 - share) * gaussian + (share * _arc_cosine(phi, joint.inducing[i]) if share > 0.0 else 0.0))
		for row: PackedFloat64Array in joint.inverse_factor:
			z.append(Rotation.dot(row, k))
	for seeing: Dictionary in _table.gravity.bones if _table.has("gravity") else []:
		z.append_array(Rotation.limited(_down_seen(linear[seeing.bone]), seeing.limit))
	for i: int in _table.matrix.size():
		to[i] += Rotation.dot(_table.matrix[i], z)


## Where down is, as the axes of a bone see it, less what they see at the bind pose.
func _down_seen(turn: PackedFloat64Array) -> PackedFloat64Array:
	var seen := PackedFloat64Array()
	for axis in 3:
		var column := PackedFloat64Array([turn[axis], turn[3 + axis], turn[6 + axis]])
		var length := sqrt(Rotation.dot(column, column))
		var down: PackedFloat64Array = _table.gravity.down
		seen.append(Rotation.dot(column, down) / length - down[axis] if length > 0.0 else 0.0)
	return seen


## The arc-cosine kernel of order one.
func _arc_cosine(x: PackedFloat64Array, y: PackedFloat64Array) -> float:
	var lengths := sqrt(Rotation.dot(x, x) * Rotation.dot(y, y))
	if lengths == 0.0:
		return 0.0
	var cosine := clampf(Rotation.dot(x, y) / lengths, -1.0, 1.0)
	var angle := acos(cosine)
	return lengths * (sin(angle) + (PI - angle) * cosine) / PI


## The ones of g(φ, ψ) − g(φ, 0) − g(0, ψ) + 1 cancel. Double precision needs no expm1.
func _g_minus_one(x: PackedFloat64Array, y: PackedFloat64Array) -> float:
	return exp(-Rotation.squared_distance(x, y, 0, 12) / (_table.sigma * _table.sigma)) - 1.0


## A pose space, a table of version 2 or 3 or the sculpts of version 4: adds the values of all regions, and multiplies the windows.
func _add_pose_space(
		space: Dictionary, to: PackedFloat64Array, linear: Array, channels: Dictionary, windows: PackedFloat64Array) -> void:
	var x: Array[PackedFloat64Array] = []
	for joint: Dictionary in space.joints:
		var q := PackedFloat64Array([1, 0, 0, 0, 1, 0, 0, 0, 1])
		for pair: Array in joint.path:
			q = Rotation.product(q, Rotation.product(Rotation.inverse(linear[pair[0]]), linear[pair[1]]))
		var kinds: Dictionary = space.coordinates.duplicate()
		if joint.has("part"): # the scale of the other part is zero
			kinds["twist" if joint.part == "swing" else "swing"] = 0.0
		x.append(Rotation.limited(Rotation.coordinate(q, joint.axis, kinds), joint.limit))
	for channel: Dictionary in space.channels:
		x.append(Rotation.limited(PackedFloat64Array([channel.scale * channels.get(channel.name, 0.0)]), channel.limit))
	for region: Dictionary in space.regions:
		var here := PackedFloat64Array()
		var tail := PackedFloat64Array() # the coordinates as values
		for pair: Array in region.relevance:
			here.append_array(x[pair[0]])
			for number in x[pair[0]] if space.linear else PackedFloat64Array():
				tail.append(sqrt(pair[1]) * number)
		var to_origin := _phi(space, region, here, Rotation.zeros(here.size()))
		var values := PackedFloat64Array()
		for i: int in region.centres.size():
			var to_centre := _phi(space, region, here, region.centres[i])
			if space.kernel.kind == "polyharmonic":
				values.append((to_centre - to_origin - region.at_bind[i]) / 2.0)
			else:
				values.append(to_centre - to_origin * region.at_bind[i])
		values.append_array(tail)
		for i: int in region.shapes.size():
			to[region.shapes[i]] += Rotation.dot(region.matrix[i], values)
		for i: int in region.get("windows", []).size():
			windows[region.shapes[i]] *= _window(space, region, region.windows[i], here)


## A window: one up to r = ¾, zero from r = 1, and smooth between.
func _window(space: Dictionary, region: Dictionary, window: Dictionary, here: PackedFloat64Array) -> float:
	var centre: PackedFloat64Array = region.centres[window.centre]
	var square := 0.0
	var at := 0
	for n: int in region.relevance.size():
		var size := Table.size_of(space, region.relevance[n][0])
		square += window.relevance[n] * Rotation.squared_distance(here, centre, at, size)
		at += size
	var t := clampf(4.0 * sqrt(square) - 3.0, 0.0, 1.0)
	return 1.0 - t * t * (3.0 - 2.0 * t)


## The kernel of two points, each with the numbers of all coordinates of the region.
func _phi(space: Dictionary, region: Dictionary, x: PackedFloat64Array, y: PackedFloat64Array) -> float:
	var sum := 0.0
	var product := 1.0
	var at := 0
	for pair: Array in region.relevance:
		var size := Table.size_of(space, pair[0])
		var square: float = pair[1] * Rotation.squared_distance(x, y, at, size) / space.kernel.sigma ** 2
		var r := sqrt(square)
		sum += square
		product *= pow(1.0 - r, 7.0) * (7.0 * r + 1.0) if r < 1.0 else 0.0
		at += size
	match space.kernel.kind:
		"gaussian": return exp(-sum)
		"wendland": return product
		_: return -sqrt(sum)
