//! Good files to start from, all made by code: small, and together with as much of every format as our writers and
//! `dermis-testkit` can make. [`known`] are files that once broke something and that code can make again.

mod scenes;
mod texts;

pub use scenes::{archives, bundles, fbx_files, glbs, known, models, parts, point_caches, shares};
pub use texts::{bvh_files, obj_files, played_scenes, recipes, stacks, tables, takes, talks};

#[cfg(test)]
mod tests {
    use crate::targets;

    /// Seeds are good files: most of a search that starts at errors never leaves them.
    #[test]
    fn seeds_are_read() {
        use dermis_io::{Space, alembic, bvh, fbx, gltf, model_file, npz, obj, part_file, share_file};
        let space = Space::default();
        let check = |name: &str, files: Vec<Vec<u8>>, read: &dyn Fn(&[u8]) -> Result<(), String>| {
            assert!(!files.is_empty(), "{name}");
            for (at, file) in files.iter().enumerate() {
                if let Err(error) = read(file) {
                    panic!("{name} {at}: {error}");
                }
            }
        };
        fn said<T>(result: Result<T, impl std::fmt::Display>) -> Result<(), String> {
            result.map(|_| ()).map_err(|error| error.to_string())
        }
        check("gltf", super::glbs(), &|bytes| said(gltf::read(bytes, "a.glb", &crate::used::no_file)));
        check("npz", super::bundles(), &|bytes| said(npz::read(bytes, "a.npz")));
        check("model", super::models(), &|bytes| said(model_file::read(bytes)));
        check("part", super::parts(), &|bytes| said(part_file::read(bytes)));
        check("share", super::shares(), &|bytes| said(share_file::read(bytes)));
        check("fbx", super::fbx_files(), &|bytes| said(fbx::read(bytes, "a.fbx", &crate::used::no_file)));
        let archives = super::archives().iter().map(dermis_testkit::ogawa::Archive::bytes).collect();
        check("alembic", archives, &|bytes| said(alembic::read(bytes, "a.abc", &space)));
        let single = super::obj_files().into_iter().filter(|file| !file.contains(&0)).collect();
        check("obj", single, &|bytes| said(obj::read(bytes, "a.obj", &space, &crate::used::no_file)));
        check("bvh", super::bvh_files(), &|bytes| said(bvh::read(bytes, "a.bvh", &space)));
        let arm = dermis_testkit::Arm::new(4, 5);
        check("stack", super::stacks(), &|bytes| said(dermis_io::stack_file::read(bytes, &arm.rig, &space)));
        check("scene", super::played_scenes(), &|bytes| said(dermis_io::scene::read(bytes, "scene")));
        let place = std::path::Path::new("recipe.json");
        check("recipe", super::recipes(), &|bytes| {
            said(dermis_workflow::recipe::Recipe::from_json(&String::from_utf8_lossy(bytes), place))
        });
        check("table", super::tables(), &|bytes| {
            said(dermis_io::driver_table::read_joints(bytes)).or(said(dermis_io::driver_table::read_helpers(bytes)))
        });
    }

    #[test]
    fn names_of_targets_differ_and_every_target_has_seeds() {
        let mut names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), targets::ALL.len());
        assert!(targets::ALL.iter().all(|target| !(target.seeds)().is_empty()));
    }
}
