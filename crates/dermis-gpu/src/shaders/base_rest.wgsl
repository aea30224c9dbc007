// The rest pose itself.
fn base(v: u32, pose: u32) -> Posed {
    return Posed(rest[v].xyz, vec3f(1.0, 0.0, 0.0), vec3f(0.0, 1.0, 0.0), vec3f(0.0, 0.0, 1.0), NONE);
}
