//! Every target, by name.

mod alembic;
mod bundle;
mod fbx;
mod glb;
mod plain;
mod protocol;
mod recipe;
mod scene;
mod stack;
mod stored;
mod table;
mod usd;

/// A function that takes any bytes.
pub struct Target {
    /// Its name, which is that of its folder below `fuzz/regressions` and of its program in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Panics if the bytes break a promise.
    pub run: fn(&[u8]),
    /// Bytes to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that the format is made of.
    pub words: &'static [&'static str],
}

/// A target by its name.
pub fn target(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}

/// All of them. A reader has a target of its own name; `..._edits` changes good files instead of taking bytes.
pub const ALL: &[Target] = &[
    Target { name: "gltf", run: glb::bytes, seeds: glb::seeds, words: glb::WORDS },
    Target { name: "gltf_edits", run: glb::edits, seeds: scripts, words: &[] },
    Target { name: "npz", run: bundle::bytes, seeds: bundle::seeds, words: bundle::WORDS },
    Target { name: "npz_edits", run: bundle::edits, seeds: scripts, words: &[] },
    Target { name: "model", run: stored::model_bytes, seeds: stored::model_seeds, words: stored::WORDS },
    Target { name: "model_edits", run: stored::model_edits, seeds: scripts, words: &[] },
    Target { name: "part", run: stored::part_bytes, seeds: stored::part_seeds, words: stored::WORDS },
    Target { name: "part_edits", run: stored::part_edits, seeds: scripts, words: &[] },
    Target { name: "fbx", run: fbx::bytes, seeds: fbx::seeds, words: fbx::WORDS },
    Target { name: "fbx_edits", run: fbx::edits, seeds: scripts, words: &[] },
    Target { name: "fbx_cache", run: fbx::cache, seeds: fbx::cache_seeds, words: fbx::CACHE_WORDS },
    Target { name: "alembic", run: alembic::bytes, seeds: alembic::seeds, words: &[] },
    Target { name: "alembic_edits", run: alembic::edits, seeds: scripts, words: &[] },
    Target { name: "usda", run: usd::bytes, seeds: usd::text_seeds, words: usd::WORDS },
    Target { name: "usdc", run: usd::bytes, seeds: usd::binary_seeds, words: &[] },
    Target { name: "obj", run: plain::obj, seeds: plain::obj_seeds, words: plain::OBJ_WORDS },
    Target { name: "bvh", run: plain::bvh, seeds: plain::bvh_seeds, words: plain::BVH_WORDS },
    Target { name: "take", run: plain::take, seeds: plain::take_seeds, words: plain::TAKE_WORDS },
    Target { name: "point_cache", run: plain::point_cache, seeds: plain::point_cache_seeds, words: &[] },
    Target { name: "table", run: table::bytes, seeds: table::seeds, words: &[] },
    Target { name: "table_edits", run: table::edits, seeds: scripts, words: &[] },
    Target { name: "stack", run: stack::bytes, seeds: stack::seeds, words: stack::WORDS },
    Target { name: "stack_edits", run: stack::edits, seeds: scripts, words: &[] },
    Target { name: "scene", run: scene::bytes, seeds: scene::seeds, words: scene::WORDS },
    Target { name: "scene_edits", run: scene::edits, seeds: scripts, words: &[] },
    Target { name: "recipe", run: recipe::bytes, seeds: recipe::seeds, words: &[] },
    Target { name: "recipe_edits", run: recipe::edits, seeds: scripts, words: &[] },
    Target { name: "protocol", run: protocol::bytes, seeds: protocol::seeds, words: protocol::WORDS },
];

/// Scripts to start from: the good files as they are, and some with a change.
fn scripts() -> Vec<Vec<u8>> {
    let mut random = dermis_testkit::Random::new(1);
    let mut made: Vec<Vec<u8>> = (0..32).map(|document| vec![document]).collect();
    made.extend((0..64).map(|at| (0..2 + at).map(|_| random.bits() as u8).collect()));
    made
}
