//! `cargo xtask test`: everything a commit must pass. A step that fails does not hide the ones after it. A check whose tool
//! is missing is reported at the end as NOT RUN, and does not count as passed.
//!
//! This is the one place that counts what was not run, so no test may pass in silence without its tool. A test that needs a
//! tool stands in a module named after it ([`tools::OF_TESTS`]), fails without the tool, and runs in a step of its own that
//! looks for the tool first.

use crate::steps::{Lane, Outcome, Steps, headline, of};
use crate::usage::usage;
use crate::workspace::{Build, cargo, dermis, oracle, root};
use crate::{bench, blender, bpy, conformance, corpus, deny, deps, engine, gpu, python, tools};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs all steps, in the order in which a mistake is found soonest, on the whole workspace: its tools are code, too.
pub fn run(install_tools: bool) -> ExitCode {
    let mut steps = Steps::new();
    let mut notes = Vec::new();
    if install_tools {
        headline("optional tools");
        notes = tools::install();
        notes.extend(engine::install().err().map(|e| format!("a compiler for WebAssembly was not installed: {e}")));
        notes.extend(
            python::make_environment().err().map(|e| format!("what checks the Python package was not installed: {e}")),
        );
        notes.extend(bpy::make_environments());
    }
    steps.run("format", || of(cargo("fmt").args(["--all", "--check"])));
    steps.run("deps", deps::step);
    steps.run("licences", deny::licences);
    steps.run("advisories", deny::advisories);
    steps.run("clippy", || of(cargo("clippy").args(["--workspace", "--all-targets", "--", "-D", "warnings"])));
    let nextest = has_nextest();
    // Tests that need a graphics card or a tool have steps of their own. Every step builds the whole workspace, so that
    // nothing is built twice.
    steps.run("tests", || plain_tests_of(None));
    // Python and Blender keep one core busy. They run beside what follows, since the workspace is built.
    let lane = Lane::start(PYTHON_AND_BLENDER);
    steps.run("gpu", || gpu::tests(nextest));
    for tool in &tools::OF_TESTS {
        steps.run(tool.step, || tests_with(tool, nextest));
    }
    steps.run("exported shaders", gpu::shaders);
    steps.run("documentation tests", || of(cargo("test").args(["--workspace", "--doc", "--no-fail-fast"])));
    // Libraries alone: the program would overwrite the pages of the library of its name.
    let documentation = ["--workspace", "--lib", "--no-deps", "--keep-going"];
    steps.run("documentation", || of(cargo("doc").args(documentation).env("RUSTDOCFLAGS", "-D warnings")));
    // From here on everything runs as the tests are built: whether it works, not how fast.
    steps.run("oracle", || match oracle(Build::Tests) {
        Some(mut oracle) => of(oracle.arg(root().join("crates/dermis-oracle/cases"))),
        None => Outcome::Failed,
    });
    steps.run("bench fit, small", || small_bench("fit"));
    steps.run("bench evaluate, small", || small_bench("evaluate"));
    steps.run("conformance of Rust", conformance::rust);
    steps.run("conformance of C", conformance::c);
    let demo = root().join("target/xtask/demo");
    let program = dermis(Build::Tests);
    let dermis = || program.as_ref().map(Command::new);
    steps.run("demo", || match (dermis(), std::fs::create_dir_all(&demo)) {
        (Some(mut dermis), Ok(())) => of(dermis.arg("demo").arg("--out").arg(&demo)),
        (_, made) => {
            println!("the program does not build, or {} cannot be made: {made:?}", demo.display());
            Outcome::Failed
        }
    });
    steps.run("corpus, miniature", || corpus::step(program.as_ref()));
    steps.run("engine for browsers in Node", || engine::step(program.as_ref()));
    steps.run("report page in a browser", || browser(&demo.join("report.html")));
    steps.run("page of a rig in a browser", || match dermis() {
        Some(mut inspect) => {
            let page = demo.join("rig.html");
            inspect.arg("inspect").arg(demo.join("body.glb")).arg("--force").arg("--report").arg(&page);
            match of(&mut inspect) {
                Outcome::Passed => browser(&page),
                other => other,
            }
        }
        None => Outcome::Failed,
    });
    steps.run("exported walk in the glTF validator", || {
        of(Command::new("node").arg("tools/validate_gltf.mjs").arg(demo.join("body_walk_learnt.glb")))
    });
    for (step, file) in [
        ("exported walk in Blender", "walk.glb"),
        ("exported walk as FBX in Blender", "walk.fbx"),
        ("exported walk as USD in Blender", "walk.usdz"),
    ] {
        steps.run(step, || match (bpy::python(), dermis(), dermis()) {
            (None, ..) => Outcome::NotRun(bpy::MISSING.into()),
            (Some(python), Some(pose), Some(export)) => {
                exported_walk((&demo, file), (pose, export), Command::new(python).arg("tools/check_blender.py"))
            }
            _ => Outcome::Failed,
        });
    }
    for (step, file) in [("exported walk as USD text", "walk.usda"), ("exported walk as USD package", "walk.usdz")] {
        steps.run(step, || match (tools::usd(), dermis(), dermis()) {
            (None, ..) => {
                Outcome::NotRun("a Python that can import pxr and numpy (the packages usd-core and numpy)".into())
            }
            (Some(python), Some(pose), Some(export)) => {
                exported_walk((&demo, file), (pose, export), Command::new(python).arg("tools/check_usd.py"))
            }
            _ => Outcome::Failed,
        });
    }
    steps.run("posed walk as Alembic in Blender", || match (bpy::python(), dermis(), dermis()) {
        (None, ..) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(mut bundle), Some(mut archive)) => {
            let (skins, file) = (demo.join("walk.npz"), demo.join("walk.abc"));
            for (pose, out) in [(&mut bundle, &skins), (&mut archive, &file)] {
                pose.arg("pose").arg(demo.join("body.dermis")).arg("--motion").arg(demo.join("body_walk.npz"));
                pose.args(["--force", "-o"]).arg(out);
            }
            match (of(&mut bundle), of(&mut archive)) {
                (Outcome::Passed, Outcome::Passed) => {
                    let limit = ["--limit", "1e-6"];
                    of(Command::new(python).arg("tools/check_blender.py").arg(&file).arg(&skins).args(limit))
                }
                _ => Outcome::Failed,
            }
        }
        _ => Outcome::Failed,
    });
    steps.run("driven shapes in Blender", || match (bpy::python(), &program) {
        (None, _) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(program)) => driven_shapes(&python, program, &demo),
        _ => Outcome::Failed,
    });
    steps.run("helper bones in Blender", || match (bpy::python(), dermis(), dermis()) {
        (None, ..) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(mut export), Some(mut convert)) => {
            // Blender must show the linear blend of the bones and weights that we read back.
            let (motion, glb, read) = (demo.join("body_walk.npz"), demo.join("lbs.glb"), demo.join("lbs.npz"));
            export
                .args(["export", "bones"])
                .arg(demo.join("body.dermis"))
                .arg("--motion")
                .arg(&motion)
                .arg("-o")
                .arg(&glb);
            export.args(["--helpers", "8", "--weight-bits", "8", "--force"]);
            convert.arg("convert").arg(&glb).arg("--force").arg("-o").arg(&read);
            match (of(&mut export), of(&mut convert)) {
                (Outcome::Passed, Outcome::Passed) => {
                    of(Command::new(python).arg("tools/check_blender.py").arg(&glb).arg(&read).arg("--linear"))
                }
                _ => Outcome::Failed,
            }
        }
        _ => Outcome::Failed,
    });
    steps.run("FBX and Alembic by Blender", || match (bpy::python(), &program) {
        (None, _) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(program)) => {
            let check = root().join("target/xtask/conversions");
            of(Command::new(python).arg("tools/check_conversions.py").arg(program).arg(check))
        }
        _ => Outcome::Failed,
    });
    steps.run("BVH by and for Blender", || match (bpy::python(), &program) {
        (None, _) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(program)) => {
            let check = root().join("target/xtask/bvh");
            of(Command::new(python).arg("tools/check_bvh.py").arg(program).arg(check))
        }
        _ => Outcome::Failed,
    });
    steps.run("bundle by Blender", || match (bpy::python(), &program) {
        (None, _) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(program)) => {
            let check = root().join("target/xtask/bundle");
            of(Command::new(python).arg("tools/check_blender_bundle.py").arg(program).arg(check))
        }
        _ => Outcome::Failed,
    });
    let scenes = root().join("target/xtask/scenes");
    steps.run("scenes in the glTF validator", || match &program {
        Some(program) => scenes_in_validator(program, &scenes),
        None => Outcome::Failed,
    });
    steps.run("scenes in Blender", || match (bpy::python(), &program) {
        (None, _) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(program)) => scenes_in_blender(&python, program, &scenes),
        _ => Outcome::Failed,
    });
    steps.run("curves of scenes in Blender", || match (bpy::python(), &program) {
        (None, _) => Outcome::NotRun(bpy::MISSING.into()),
        (Some(python), Some(program)) => {
            let check = root().join("target/xtask/motion_keys");
            of(Command::new(python).arg("tools/check_motion_keys.py").arg(program).arg(check))
        }
        _ => Outcome::Failed,
    });
    steps.run("bundled body in the glTF validator", || {
        // Blender hangs a skinned mesh below its armature. That node is at the origin, so nothing is lost.
        let ignored = ["--ignore", "NODE_SKINNED_MESH_NON_ROOT"];
        of(Command::new("node").arg("tools/validate_gltf.mjs").args(ignored).arg("assets/body/body.glb"))
    });
    steps.run("bundled body", || match tools::python_with("numpy") {
        Some(python) => of(Command::new(python).args(["tools/make_body.py", "--check", "assets/body"])),
        None => Outcome::NotRun("a Python that can import numpy".into()),
    });
    steps.run("bundled walk in Blender", || match bpy::python() {
        Some(python) => {
            let files = ["assets/body/body.glb", "assets/body/body_walk.npz"];
            of(Command::new(python).arg("tools/check_blender.py").args(files).args(["--clip", "walk", "--linear"]))
        }
        None => Outcome::NotRun(bpy::MISSING.into()),
    });
    match lane {
        Ok(lane) => steps.join(lane),
        Err(error) => steps.run(PYTHON_AND_BLENDER, || {
            println!("it does not start: {error}");
            Outcome::Failed
        }),
    }
    // Its table is written by that of Rust, its package installed by the lane.
    steps.run("conformance of Python", conformance::of_python);
    // It fails where Blender is held up, so nothing may run beside it.
    steps.run("Blender add-on in a window", || match zips() {
        Ok(zips) => bpy::window(&zips),
        Err(other) => other,
    });
    steps.summary("cargo xtask test", &notes)
}

/// The steps that run beside the others.
const PYTHON_AND_BLENDER: &str = "python-and-blender";

/// Runs the steps of a lane, and writes how they ended to a file; a name that is none is a mistake of the caller.
pub fn run_lane(name: &str, told: &Path) -> ExitCode {
    if name != PYTHON_AND_BLENDER {
        return usage(&format!("there is no lane \"{name}\""));
    }
    let mut steps = Steps::new();
    steps.run("Python package", python::step);
    steps.run("gallery", python::gallery);
    let mut made = None;
    steps.run("Blender add-on, zips", || match zips() {
        Ok(zips) => {
            made = Some(zips);
            Outcome::Passed
        }
        Err(other) => other,
    });
    for release in bpy::RELEASES {
        steps.run(release.step, || match &made {
            Some(zips) => bpy::check(release, zips),
            None => Outcome::NotRun("the zips of the add-on, made by their own step".into()),
        });
    }
    steps.tell(told)
}

/// The add-on as zips, if what makes them is here.
fn zips() -> Result<blender::Zips, Outcome> {
    if !python::is_ready() {
        return Err(Outcome::NotRun("what the Python package is checked with (cargo xtask python makes it)".into()));
    }
    blender::zips(python::Made::WithTests).map_err(|error| {
        println!("{error}");
        Outcome::Failed
    })
}

/// The walk of the demo, exported to a file of its folder, and what a check says of it beside the skins of the model.
fn exported_walk(
    (demo, file): (&Path, &str),
    (mut pose, mut export): (Command, Command),
    check: &mut Command,
) -> Outcome {
    // With as many targets as frames nothing is lost: what is shown must be the model itself.
    let (motion, skins, file) = (demo.join("body_walk.npz"), demo.join("walk.npz"), demo.join(file));
    let model = demo.join("body.dermis");
    pose.arg("pose").arg(&model).arg("--motion").arg(&motion).arg("--force").arg("-o").arg(&skins);
    export.args(["export", "shapes"]).arg(&model).arg("--motion").arg(&motion);
    export.args(["--shapes", "64", "--force", "-o"]);
    match (of(&mut pose), of(export.arg(&file))) {
        (Outcome::Passed, Outcome::Passed) => of(check.arg(&file).arg(&skins)),
        _ => Outcome::Failed,
    }
}

fn has_nextest() -> bool {
    tools::answers(cargo("nextest").arg("--version"))
}

/// The tests that need nothing but the workspace: all, or those of some crates.
pub fn plain_tests_of(crates: Option<&BTreeSet<&str>>) -> Outcome {
    let modules = || ["on_card"].into_iter().chain(tools::OF_TESTS.iter().map(|tool| tool.module));
    if has_nextest() {
        let mut filter: Vec<String> = modules().map(|module| format!("not test(/{}/)", in_module(module))).collect();
        filter.extend(crates.map(|names| {
            let of: Vec<String> = names.iter().map(|name| format!("package(={name})")).collect();
            format!("({})", of.join(" or "))
        }));
        return of(cargo("nextest").args(["run", "--workspace", "--no-fail-fast", "-E", &filter.join(" and ")]));
    }
    let mut command = cargo("test");
    match crates {
        None => command.arg("--workspace"),
        Some(names) => command.args(names.iter().flat_map(|name| ["--package", name])),
    };
    command.args(["--tests", "--no-fail-fast", "--"]);
    for module in modules() {
        command.args(["--skip", &format!("{module}::")]);
    }
    of(&mut command)
}

/// The tests of a tool's module, if the tool is here.
fn tests_with(tool: &tools::OfTests, nextest: bool) -> Outcome {
    if !(tool.is_here)() {
        return Outcome::NotRun(tool.name.into());
    }
    match nextest {
        true => {
            let filter = format!("test(/{}/)", in_module(tool.module));
            of(cargo("nextest").args(["run", "--workspace", "--no-fail-fast", "-E", &filter]))
        }
        false => of(cargo("test").args(["--workspace", "--tests", "--no-fail-fast", &format!("{}::", tool.module)])),
    }
}

/// A regular expression for the names of tests in a module, wherever it stands.
fn in_module(module: &str) -> String {
    format!("(^|::){module}::")
}

/// Whether a bench works; what it measures does not matter here. Without NumPy nothing checks its numbers.
fn small_bench(what: &str) -> Outcome {
    println!("Not optimised: what follows shows that the benchmark works, not how fast anything is.");
    match (bench::run(&[what, "--quick"]) == ExitCode::SUCCESS, tools::python_with("numpy")) {
        (false, _) => Outcome::Failed,
        (true, None) => Outcome::NotRun("a Python that can import numpy".into()),
        (true, Some(_)) => Outcome::Passed,
    }
}

/// A pose space that is compiled when it is fitted is delivered as it is, but for the ball, which is off: Blender must show the model
/// itself, and the validator no more than an extension that it does not know.
fn driven_shapes(python: &Path, program: &Path, demo: &Path) -> Outcome {
    let dermis = || Command::new(program);
    let (model, glb, skins) = (demo.join("shapes.dermis"), demo.join("shapes.glb"), demo.join("shapes.npz"));
    let motion = demo.join("body_walk.npz");
    let (mut fit, mut export, mut pose) = (dermis(), dermis(), dermis());
    let exercise = "assets/body/body_exercise.npz";
    fit.args(["fit", exercise, "--examples", exercise, "--method", "psd"]);
    // How well it learns does not matter here, so nothing is held out.
    fit.args(["--set", "budget=48,12", "--guard", "off", "--folds", "0", "--force", "-o"]).arg(&model);
    export.args(["export", "shapes"]).arg(&model).arg("--motion").arg(&motion).args(["--force", "-o"]).arg(&glb);
    pose.arg("pose").arg(&model).arg("--motion").arg(&motion).args(["--force", "-o"]).arg(&skins);
    for step in [&mut fit, &mut export, &mut pose] {
        match of(step) {
            Outcome::Passed => {}
            other => return other,
        }
    }
    match of(Command::new(python).arg("tools/check_blender.py").arg(&glb).arg(&skins)) {
        Outcome::Passed => of(Command::new("node").arg("tools/validate_gltf.mjs").arg(&glb)),
        other => other,
    }
}

/// The scenes of `assets/scenes`.
const SCENES: [&str; 8] = ["clock", "grass", "ball", "body", "face", "bounce", "tail", "ragdoll"];

/// Every scene is played, and its GLB is valid.
fn scenes_in_validator(program: &Path, folder: &Path) -> Outcome {
    if let Err(error) = std::fs::create_dir_all(folder) {
        println!("{}: {error}", folder.display());
        return Outcome::Failed;
    }
    let mut validate = Command::new("node");
    validate.arg("tools/validate_gltf.mjs");
    for name in SCENES {
        let glb = folder.join(format!("{name}.glb"));
        let scene = format!("assets/scenes/{name}.json");
        match of(Command::new(program).args(["animate", &scene, "--force", "-o"]).arg(&glb)) {
            Outcome::Passed => validate.arg(&glb),
            other => return other,
        };
    }
    of(&mut validate)
}

/// Blender shows every scene as the program reads it back.
fn scenes_in_blender(python: &Path, program: &Path, folder: &Path) -> Outcome {
    for name in SCENES {
        let (glb, read) = (folder.join(format!("{name}.glb")), folder.join(format!("{name}.npz")));
        let mut check = Command::new(python);
        check.arg("tools/check_blender.py").arg(&glb).arg(&read);
        // The bundle of a face holds what its morph targets make; of the others the poses alone.
        if name != "face" {
            check.arg("--linear");
        }
        let convert = of(Command::new(program).arg("convert").arg(&glb).arg("--force").arg("-o").arg(&read));
        match (convert, &mut check) {
            (Outcome::Passed, check) => match of(check) {
                Outcome::Passed => {}
                other => return other,
            },
            (other, _) => return other,
        }
    }
    Outcome::Passed
}

/// A page in a browser: its scripts must run to the end.
fn browser(page: &Path) -> Outcome {
    let dom = page.with_extension("dom.html");
    let outcome = of(Command::new("sh").arg("tools/screenshot.sh").arg(page).arg(&dom));
    let ready = |text: String| text.contains("data-state=\"ready\"");
    match outcome {
        Outcome::Passed if !std::fs::read_to_string(&dom).is_ok_and(ready) => {
            println!("{}: the page did not get ready", page.display());
            Outcome::Failed
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_neither_passed_nor_failed() {
        let exits = |code: &str| of(Command::new("sh").args(["-c", &format!("exit {code}")]));
        assert!(matches!(exits("0"), Outcome::Passed));
        assert!(matches!(exits("1"), Outcome::Failed));
        assert!(matches!(exits("3"), Outcome::NotRun(_)));
        let missing = of(&mut Command::new("dermis-tool-that-nobody-has"));
        assert!(matches!(missing, Outcome::NotRun(what) if what == "dermis-tool-that-nobody-has"));
    }
}
