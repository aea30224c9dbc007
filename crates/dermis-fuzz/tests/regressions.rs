//! Inputs that once broke something, replayed without the fuzzer: `fuzz/regressions/TARGET/NAME`, where the name says what
//! was wrong. One test in a program of its own: the bound on memory counts every thread.

use dermis_fuzz::{Target, seeds, target, targets};
use std::path::{Path, PathBuf};

/// The folder of the inputs.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions")
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_broke_something_once_breaks_nothing() {
    let replay = |target: &Target, what: &str, bytes: &[u8]| {
        let run = std::panic::catch_unwind(|| (target.run)(bytes));
        run.err().map(|_| format!("{}: {what}", target.name))
    };
    let (mut broken, mut replayed) = (Vec::new(), 0);
    for name in names(&folder()) {
        let Some(target) = target(&name) else { panic!("fuzz/regressions/{name}: there is no such target") };
        for input in names(&folder().join(&name)) {
            replayed += 1;
            broken.extend(replay(target, &input, &std::fs::read(folder().join(&name).join(&input)).unwrap()));
        }
    }
    for (name, what, bytes) in seeds::known() {
        broken.extend(replay(target(name).expect("a target of this name"), what, &bytes));
    }
    for target in targets::ALL {
        for (at, seed) in (target.seeds)().iter().enumerate() {
            broken.extend(replay(target, &format!("seed {at}"), seed));
        }
    }
    assert_eq!(broken, Vec::<String>::new(), "what each said is above");
    assert!(replayed > 0, "no input was found");
}

/// A target without a program is never searched, and a program without a target does not build.
#[test]
fn every_target_has_its_program() {
    let programs = names(&folder().join("../fuzz_targets"));
    let mut expected: Vec<String> = targets::ALL.iter().map(|target| format!("{}.rs", target.name)).collect();
    expected.sort();
    assert_eq!(programs, expected);
    let manifest = std::fs::read_to_string(folder().join("../Cargo.toml")).unwrap();
    for target in targets::ALL {
        assert!(
            manifest.contains(&format!("\nname = \"{}\"\n", target.name)),
            "{} is not in fuzz/Cargo.toml",
            target.name
        );
    }
}
