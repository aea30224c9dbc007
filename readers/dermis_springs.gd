## Springs of bone chains from the table of `dermis export --springs`. Godot 4.4 or newer.
##
## Goes on a SpringBoneSimulator3D below the Skeleton3D of the imported GLB. The import must keep rests and names of bones: no retargeting by a
## bone map, and no scale. Godot has the axes and the unit of glTF. The springs mean steps of a sixtieth of a second, so a game that draws
## faster or slower swings otherwise; set the skeleton's `modifier_callback_mode_process` to physics at 60 ticks to keep them.
extends SpringBoneSimulator3D

## The JSON that dermis export wrote.
@export var table: JSON

const AXES: Array[Vector3] = [Vector3.RIGHT, Vector3.LEFT, Vector3.UP, Vector3.DOWN, Vector3.BACK, Vector3.FORWARD]
const DIRECTIONS := [
	BONE_DIRECTION_PLUS_X, BONE_DIRECTION_MINUS_X, BONE_DIRECTION_PLUS_Y,
	BONE_DIRECTION_MINUS_Y, BONE_DIRECTION_PLUS_Z, BONE_DIRECTION_MINUS_Z,
]


func _ready() -> void:
	var refusal := build()
	if refusal != "":
		push_error(refusal)


## Sets the chains; what is wrong with the table or the skeleton, in words, or nothing.
func build() -> String:
	if table == null or not table.data is Dictionary or table.data.get("format") != "dermis-springs":
		return "the table is none of springs"
	if table.data.get("version") != 1.0:
		return "the table has version %s; this reader knows 1" % table.data.get("version")
	var rig := get_skeleton()
	if rig == null:
		return "the node stands below no Skeleton3D"
	var chains: Array = table.data.chains
	for chain: Dictionary in chains:
		for bone: String in chain.bones:
			if rig.find_bone(_godot(bone)) < 0:
				return "the rig has no bone " + bone
	setting_count = chains.size()
	for i in chains.size():
		var chain: Dictionary = chains[i]
		var bones: Array = chain.bones
		set_root_bone_name(i, _godot(bones[0]))
		set_end_bone_name(i, _godot(bones[-1]))
		set_extend_end_bone(i, chain.end != null)
		if chain.end != null:
			var end := Vector3(chain.end[0], chain.end[1], chain.end[2])
			set_end_bone_direction(i, DIRECTIONS[_nearest(end)])
			set_end_bone_length(i, end.length())
		set_radius(i, chain.radius)
		set_stiffness(i, chain.stiffness)
		set_drag(i, chain.drag)
		set_gravity(i, chain.gravity)
		var down: Array = chain.gravity_direction
		set_gravity_direction(i, Vector3(down[0], down[1], down[2]))
	return ""


## Godot lets an end point along an axis of its bone alone: the number of the nearest.
func _nearest(way: Vector3) -> int:
	var best := 0
	for axis in AXES.size():
		if way.dot(AXES[axis]) > way.dot(AXES[best]):
			best = axis
	return best


## Godot's importer replaces two characters of names.
func _godot(name_in_table: String) -> String:
	return name_in_table.replace(":", "_").replace("/", "_")
