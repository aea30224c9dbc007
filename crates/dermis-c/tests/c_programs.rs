//! The library as C sees it. Tests stand in modules named after the tool that they need.

mod compiled;
mod table;

mod with_cc {
    use super::compiled::{Library, STRICT, compile, include, printed, source};
    use super::table::{Table, arm, folder, poses, skins};
    use dermis::Method;
    use dermis::glam::DQuat;
    use dermis::internals::rig::Frame;
    use dermis::internals::workflow::recipe::{Existing, Input, Outcome, PoseRecipe, Recipe, Silent};
    use std::process::Command;

    /// Oracle: the runner of the façade, to the last bit, for the model of every method.
    #[test]
    fn a_program_in_c_evaluates_every_method_to_the_same_bits() {
        let folder = folder("every-method");
        let mut table = Table::new(&folder);
        for (at, method) in Method::all().iter().enumerate() {
            let (model, poses) = (arm(method), poses(at as u64));
            table.add(&method.name().replace(' ', "-"), &model, &poses, &skins(&model, &poses));
        }
        for library in [Library::Static, Library::Shared] {
            let program = compile(&source("conformance.c"), &folder, library, &[&STRICT[..], &["-lm"]].concat());
            let said = printed(Command::new(program).arg(&folder));
            assert!(said.starts_with("13 models, 78 poses: largest deviation 0 "), "{said}");
        }
    }

    /// Oracle: what `dermis pose` writes for the bundled walk.
    #[test]
    fn a_program_in_c_gives_the_bits_of_dermis_pose() {
        let folder = folder("pose");
        let (rig, exercise, _, _) = dermis::internals::workflow::verbs::demo::body().unwrap();
        let fitted = dermis::fit(&rig.into(), &exercise.into(), &Method::animation_space()).unwrap();
        let (model, out) = (folder.join("body.dermis"), folder.join("walk.npz"));
        fitted.model().save(&model).unwrap();
        let assets = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/body");
        let input = |path: std::path::PathBuf| Input { file: path.into(), sha256: None };
        let pose = PoseRecipe {
            model: input(model),
            motion: input(assets.join("body_walk.npz")),
            base_cache: None,
            swing: None,
            still: false,
            cuts: vec![],
            normals: false,
            read: Default::default(),
            out: out.clone(),
            existing: Existing::Replace,
        };
        let Outcome::Pose(outcome) = Recipe::Pose(pose).run(&Silent).unwrap() else { panic!("it was a pose") };
        let bundle = dermis::internals::io::npz::read(&std::fs::read(out).unwrap(), "walk").unwrap();
        let skins: Vec<_> = bundle.records.into_iter().map(|record| record.positions.unwrap()).collect();
        let transforms = |frame: Frame| fitted.model().skeleton().bone_transforms(&frame.pose);
        let poses: Vec<_> = outcome.motion.frames.into_iter().map(transforms).collect();
        // A few frames are as good as all.
        let few = |at: usize| at.is_multiple_of(8);
        let skins: Vec<_> = skins.into_iter().enumerate().filter(|(at, _)| few(*at)).map(|(_, skin)| skin).collect();
        let poses: Vec<_> = poses.into_iter().enumerate().filter(|(at, _)| few(*at)).map(|(_, pose)| pose).collect();
        let mut table = Table::new(&folder);
        table.add("walk", fitted.model(), &poses, &skins);
        let program = compile(&source("conformance.c"), &folder, Library::Shared, &[&STRICT[..], &["-lm"]].concat());
        let said = printed(Command::new(program).arg(&folder));
        assert!(said.ends_with("poses: largest deviation 0 of its tolerance\n"), "{said}");
    }

    /// A table that expects something else: every deviating vertex is named, and the program ends with 1.
    #[test]
    fn a_deviation_is_named_by_model_pose_and_vertex() {
        let folder = folder("deviation");
        let (model, poses) = (arm(&Method::Dqs), poses(3));
        let mut skins = skins(&model, &poses);
        skins[2][17].y += 1e-6;
        Table::new(&folder).add("arm", &model, &poses, &skins);
        let program = compile(&source("conformance.c"), &folder, Library::Static, &STRICT);
        let run = Command::new(program).arg(&folder).output().unwrap();
        let said = String::from_utf8(run.stdout).unwrap();
        assert!(run.status.code() == Some(1), "{said}");
        assert!(said.lines().count() == 2 && said.starts_with("arm, pose 2, vertex 17: "), "{said}");
    }

    #[test]
    fn bad_input_is_refused() {
        let folder = folder("bad-inputs");
        let model = folder.join("arm.dermis");
        arm(&Method::joint()).save(&model).unwrap();
        for library in [Library::Static, Library::Shared] {
            let program = compile(&source("bad_inputs.c"), &folder, library, &STRICT);
            let said = printed(Command::new(program).arg(&model));
            assert!(said.ends_with(", 0 not as expected\n"), "{said}");
        }
    }

    /// A child without its parent's threads is told so, and does not wait for them. Oracle: the parent.
    #[cfg(unix)]
    #[test]
    fn a_forked_process_is_told_that_it_has_no_threads() {
        let folder = folder("forked");
        let saved = |method: &Method| {
            let path = folder.join(format!("{}.dermis", method.name().replace(' ', "-")));
            arm(method).save(&path).unwrap();
            path
        };
        let models: Vec<_> = Method::all().iter().map(saved).collect();
        let program = compile(&source("forked.c"), &folder, Library::Shared, &STRICT);
        assert_eq!(printed(Command::new(program).args(&models)), format!("{} models\n", models.len()));
    }

    /// The program of the guide, as it stands there. Oracle: the façade.
    #[test]
    fn the_program_of_the_guide_says_what_the_library_does() {
        let folder = folder("guide");
        let (file, saved) = (folder.join("hero.c"), folder.join("arm.dermis"));
        let guide = include_str!("../../../docs/c.md");
        let program = guide.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
        std::fs::write(&file, program).unwrap();
        let model = arm(&Method::joint());
        model.save(&saved).unwrap();
        let mut runner = model.runner();
        let last = model.skeleton().bones().last().unwrap();
        let mut pose = model.skeleton().pose();
        let rest = runner.skin(&pose).unwrap().to_vec();
        pose.turn(last, DQuat::from_rotation_z(0.5));
        let moved = runner.skin(&pose).unwrap().iter().zip(&rest).map(|(a, b)| (*a - *b).abs().max_element());
        let (vertices, bones) = (rest.len(), model.skeleton().len());
        let (name, most) = (&model.skeleton().names()[last], moved.fold(0.0, f32::max));
        let expected = format!("{vertices} vertices, {bones} bones; \"{name}\" moves a coordinate by {most:.3} m\n");
        for library in [Library::Static, Library::Shared] {
            let program = compile(&file, &folder, library, &STRICT);
            assert_eq!(printed(Command::new(program).arg(&saved)), expected);
        }
    }

    /// The header alone is a program without a warning, in the oldest and the newest C that the compiler has names for.
    #[test]
    fn the_header_is_clean_c() {
        let folder = folder("header-c");
        let file = folder.join("header.c");
        std::fs::write(&file, "#include \"dermis.h\"\n#include \"dermis.h\"\nint main(void) { return 0; }\n").unwrap();
        for standard in ["-std=c89", "-std=c99", "-std=c11", "-std=c17"] {
            let mut compiler = Command::new("cc");
            compiler.arg(standard).args(&STRICT[1..]).arg("-fsyntax-only").arg("-I").arg(include());
            printed(compiler.arg(&file));
        }
    }
}

mod with_cpp {
    use super::compiled::{built, include, printed};
    use super::table::folder;
    use std::process::Command;

    /// C++ includes the header without a warning, and links what it declares.
    #[test]
    fn the_header_is_clean_cpp() {
        let folder = folder("header-cpp");
        let (file, program) = (folder.join("header.cpp"), folder.join("header"));
        let text = "#include \"dermis.h\"\nint main() { return dermis_abi_version() == DERMIS_ABI_VERSION ? 0 : 1; }\n";
        std::fs::write(&file, text).unwrap();
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(include());
        compiler.arg("-o").arg(&program).arg(&file).arg("-L").arg(built()).arg("-ldermis_c");
        printed(compiler.arg(format!("-Wl,-rpath,{}", built().display())));
        printed(&mut Command::new(program));
    }
}

mod with_sanitizers {
    use super::compiled::{Library, STRICT, compile, printed, source};
    use super::table::{arm, folder};
    use dermis::Method;
    use std::process::Command;

    /// Bad input under the address and undefined-behaviour sanitizers: no call steps beyond a buffer, and nothing is left over.
    #[test]
    fn bad_input_leaves_memory_alone() {
        let folder = folder("sanitized");
        let model = folder.join("arm.dermis");
        arm(&Method::joint()).save(&model).unwrap();
        let checked = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        let program = compile(&source("bad_inputs.c"), &folder, Library::Static, &[&STRICT[..], &checked].concat());
        let said = printed(Command::new(program).arg(&model));
        assert!(said.ends_with(", 0 not as expected\n"), "{said}");
    }
}

mod with_mono {
    use super::compiled::{built, csharp, printed};
    use super::table::{Table, arm, folder, poses, skins};
    use dermis::Method;
    use std::process::Command;

    /// Oracle: the runner of the façade. The classes for C# alone, then with the component for Unity on stand-ins for its types.
    #[test]
    fn csharp_evaluates_every_method_to_the_same_bits() {
        let folder = folder("csharp");
        let mut table = Table::new(&folder);
        for (at, method) in Method::all().iter().enumerate() {
            let (model, poses) = (arm(method), poses(at as u64));
            table.add(method.name(), &model, &poses, &skins(&model, &poses));
        }
        let unity: &[&str] = &["DermisSkin.cs", "UnityStandIns.cs"];
        for (options, further) in [(&[][..], &[][..]), (&["-define:UNITY_5_3_OR_NEWER"][..], unity)] {
            let program = folder.join(format!("conformance{}.exe", further.len()));
            let mut compiler = Command::new("mcs");
            compiler.arg("-warnaserror").args(options).arg(format!("-out:{}", program.display()));
            let sources = ["Conformance.cs", "DermisNative.cs", "DermisModel.cs"];
            printed(compiler.args(sources.iter().chain(further).map(|name| csharp().join(name))));
            let said = printed(Command::new("mono").arg(program).arg(&folder).env("LD_LIBRARY_PATH", built()));
            assert!(said.starts_with("13 models, 78 poses: largest deviation 0 "), "{said}");
        }
    }
}
