// No correction: skinned normals instead.
fn correction(v: u32, pose: u32, posed: Posed) -> vec3f {
    return vec3f();
}
