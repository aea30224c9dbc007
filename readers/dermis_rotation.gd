## Matrices, and the coordinate of a joint in a pose space: step 3 of docs/drivers.md. Godot 4.
##
## Basis and Transform3D are in single precision. These are in double: nine numbers, row by row.
extends RefCounted

## How many numbers a coordinate of each kind has.
const SIZES := {"chord": 9, "rotation-vector": 3, "euler": 3, "swing-twist": 5}


## Returns the coordinate of Q. [param kinds] is `coordinates` of the table; [param axis] is the joint's.
static func coordinate(q: PackedFloat64Array, axis: PackedFloat64Array, kinds: Dictionary) -> PackedFloat64Array:
	var x := PackedFloat64Array()
	if kinds.kind == "chord":
		for i in 9:
			x.append((q[3 * (i % 3) + i / 3] - (1.0 if i % 4 == 0 else 0.0)) / sqrt(2.0))
		return x
	var m := nearest_rotation(q)
	if kinds.kind == "euler":
		var sine := clampf(-m[6], -1.0, 1.0) # rounding may leave the domain of asin
		return PackedFloat64Array([atan2(m[7], m[8]), asin(sine), atan2(m[3], m[0])])
	var wxyz := quaternion(m)
	var w := wxyz[0]
	var v := wxyz.slice(1)
	if kinds.kind == "rotation-vector":
		var norm := sqrt(dot(v, v))
		for number in v:
			x.append(0.0 if norm == 0.0 else number / norm * 2.0 * atan2(norm, w))
		return x
	var along := dot(v, axis)
	var n := sqrt(along * along + w * w)
	var h := 0.0 if n < 1e-12 else along / n
	var g := 1.0 if n < 1e-12 else w / n
	for r in 3:
		x.append(kinds.swing * (dot(m.slice(3 * r, 3 * r + 3), axis) - axis[r]))
	x.append(-2.0 * h * h * kinds.twist)
	x.append(2.0 * h * g * kinds.twist)
	return x


## Returns the orthogonal polar factor. Newton's iteration squares its error: a step below 1e-9 is the last.
static func nearest_rotation(q: PackedFloat64Array) -> PackedFloat64Array:
	for step in 50:
		var other := inverse(q)
		var change := 0.0
		var next := PackedFloat64Array()
		for i in 9:
			next.append((q[i] + other[3 * (i % 3) + i / 3]) / 2.0)
			change += absf(next[i] - q[i])
		q = next
		if not change > 1e-9:
			break
	return q


## Returns (w, x, y, z) with w ≥ 0, from the row of 4 q qᵀ that is longest, which is accurate at every angle.
static func quaternion(m: PackedFloat64Array) -> PackedFloat64Array:
	var xy := m[1] + m[3]
	var yz := m[5] + m[7]
	var zx := m[6] + m[2]
	var wx := m[7] - m[5]
	var wy := m[2] - m[6]
	var wz := m[3] - m[1]
	var longest := PackedFloat64Array()
	var most := -1.0
	for row: Array in [
		[1.0 + m[0] + m[4] + m[8], wx, wy, wz],
		[wx, 1.0 + m[0] - m[4] - m[8], xy, zx],
		[wy, xy, 1.0 - m[0] + m[4] - m[8], yz],
		[wz, zx, yz, 1.0 - m[0] - m[4] + m[8]],
	]:
		var numbers := PackedFloat64Array(row)
		if not dot(numbers, numbers) <= most:
			most = dot(numbers, numbers)
			longest = numbers
	var length := sqrt(most) * (-1.0 if longest[0] < 0.0 else 1.0)
	for i in 4:
		longest[i] /= length
	return longest


static func product(a: PackedFloat64Array, b: PackedFloat64Array) -> PackedFloat64Array:
	var made := PackedFloat64Array()
	for r in [0, 3, 6]:
		for c in 3:
			made.append(a[r] * b[c] + a[r + 1] * b[c + 3] + a[r + 2] * b[c + 6])
	return made


static func inverse(m: PackedFloat64Array) -> PackedFloat64Array:
	var made := PackedFloat64Array([
		m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
		m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
		m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3],
	])
	var determinant := m[0] * made[0] + m[1] * made[3] + m[2] * made[6]
	for i in 9:
		made[i] /= determinant
	return made


## Returns the inner product over the length of [param a].
static func dot(a: PackedFloat64Array, b: PackedFloat64Array) -> float:
	var sum := 0.0
	for i in a.size():
		sum += a[i] * b[i]
	return sum


## Returns the squared distance of [param count] numbers of each list, from [param at].
static func squared_distance(a: PackedFloat64Array, b: PackedFloat64Array, at: int, count: int) -> float:
	var sum := 0.0
	for i in range(at, at + count):
		sum += (a[i] - b[i]) * (a[i] - b[i])
	return sum


## Scales x to the length [param limit] if it is longer; null is no limit.
static func limited(x: PackedFloat64Array, limit: Variant) -> PackedFloat64Array:
	var norm := sqrt(dot(x, x))
	if limit != null and norm > limit:
		for i in x.size():
			x[i] *= limit / norm
	return x


static func zeros(count: int) -> PackedFloat64Array:
	var made := PackedFloat64Array()
	made.resize(count)
	return made
