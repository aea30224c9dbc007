## Drives the blend shapes of a character from the table of `dermis export drivers`. Godot 4.3 or newer.
##
## Goes on the MeshInstance3D of the imported GLB that the table names. The import must keep rests and names of bones:
## no retargeting by a bone map. Godot has the axes and the unit of glTF, so matrices pass as they are.
extends MeshInstance3D

const Drivers := preload("dermis_drivers.gd")

## The JSON that dermis export drivers wrote.
@export var table: JSON
## Values of a pose beside its joints, by name.
@export var channels: Dictionary = {}

var _drivers: Drivers
var _rig: Skeleton3D


func _ready() -> void:
	_drivers = Drivers.new(table.data)
	if _drivers.refusal != "":
		return
	if get_blend_shape_count() < _drivers.shapes.size(): # further ones are the scene's own
		push_error("the mesh has %s blend shapes, the table %s" % [get_blend_shape_count(), _drivers.shapes.size()])
		return
	_rig = get_node(skeleton)
	for bone in _drivers.bones:
		if _bone(bone) < 0:
			push_error("the rig has no bone " + bone)
			return
	_rig.skeleton_updated.connect(drive) # the pose of this frame is final


## Sets the blend shapes for the pose that the skeleton has now.
func drive() -> void:
	var weights := _drivers.weights(_world_of, channels)
	for i in weights.size():
		set_blend_shape_value(i, weights[i])


func _world_of(bone: String) -> Array:
	var world := _rig.get_bone_global_pose(_bone(bone))
	var columns := [world.basis.x, world.basis.y, world.basis.z, world.origin]
	var numbers := []
	for c in 4:
		numbers.append_array([columns[c].x, columns[c].y, columns[c].z, 1.0 if c == 3 else 0.0])
	return numbers


## Godot's importer replaces two characters of names.
func _bone(name_in_table: String) -> int:
	return _rig.find_bone(name_in_table.replace(":", "_").replace("/", "_"))
