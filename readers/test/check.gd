## Prints the weights of every pose: godot --headless --script readers/test/check.gd -- TABLE.json POSES.json
extends SceneTree

const Drivers := preload("../dermis_drivers.gd")


func _initialize() -> void:
	var paths := OS.get_cmdline_user_args()
	var drivers := Drivers.new(JSON.parse_string(FileAccess.get_file_as_string(paths[0])))
	if drivers.refusal != "":
		quit(1)
		return
	var rows := []
	for pose: Dictionary in JSON.parse_string(FileAccess.get_file_as_string(paths[1])).poses:
		var world_of := func(bone: String) -> Array: return pose.matrices[bone]
		rows.append(Array(drivers.weights(world_of, pose.get("channels", {}))))
	print(JSON.stringify(rows, "", true, true)) # the last argument: all digits
	quit()
