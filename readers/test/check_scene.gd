## Compares dermis_morphs.gd with the weights of a clip, in Godot without a window:
## godot --headless --script readers/test/check_scene.gd -- HERO.glb HERO.json
##
## HERO.glb is of `dermis export drivers --table HERO.json --motion CLIP`, with keys in equal steps. Godot resamples clips on
## import; the check chooses a rate that meets the keys. Exit 0: all weights within 1e-6; 1: not.
extends SceneTree

const Morphs := preload("../dermis_morphs.gd")

var _frames := 0


## Animations act only once the tree runs.
func _process(_seconds: float) -> bool:
	_frames += 1
	if _frames == 3:
		quit(1) # unless the check says otherwise
		_check(OS.get_cmdline_user_args())
	return false


func _check(paths: PackedStringArray) -> void:
	# Without a project, Godot leaves meshes as importers have them.
	GLTFDocument.register_gltf_document_extension(GLTFDocumentExtensionConvertImporterMesh.new())
	var document := GLTFDocument.new()
	var state := GLTFState.new()
	document.append_from_file(paths[0], state)
	var times := _key_times(state)
	var scene := document.generate_scene(state, 200.0 / times[1] if times[0] == 0.0 else 30.0)
	root.add_child(scene)
	var mesh: Node = scene.find_children("*", "MeshInstance3D", true, false)[0]
	var player: AnimationPlayer = scene.find_children("*", "AnimationPlayer", true, false)[0]
	var table := JSON.new()
	table.parse(FileAccess.get_file_as_string(paths[1]))
	mesh.set_script(Morphs)
	mesh.table = table
	mesh.request_ready()
	mesh.propagate_call("_ready")
	player.play(player.get_animation_list()[0])
	var worst := 0.0
	var moved := 0.0
	var first := []
	var microseconds := 0
	for time: float in times:
		player.seek(time, true)
		player.advance(0.0)
		var baked := []
		for i: int in mesh.get_blend_shape_count():
			baked.append(mesh.get_blend_shape_value(i))
		first = baked if first.is_empty() else first
		var start := Time.get_ticks_usec()
		mesh.drive()
		microseconds += Time.get_ticks_usec() - start
		for i in baked.size():
			worst = maxf(worst, absf(mesh.get_blend_shape_value(i) - baked[i]))
			moved = maxf(moved, absf(baked[i] - first[i]))
	print("%d frames: at most %.9f from the clip, whose weights move by %.2f; %.2f ms per frame"
			% [times.size(), worst, moved, microseconds / 1e3 / times.size()])
	quit(0 if worst < 1e-6 and moved > 0.0 else 1)


## The times of the keys of the weights, from the file.
func _key_times(state: GLTFState) -> Array:
	for animation: Dictionary in state.json.animations:
		for channel: Dictionary in animation.channels:
			if channel.target.path == "weights":
				var input: int = animation.samplers[channel.sampler].input
				var accessor: Dictionary = state.json.accessors[input]
				var view: Dictionary = state.json.bufferViews[accessor.bufferView]
				var start: int = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
				var bytes := state.glb_data.slice(start, start + 4 * int(accessor.count))
				return Array(bytes.to_float32_array())
	return [0.0, 1.0]
