//! Exported models in JavaScript: `js/` in Node and with three.js in a browser, the viewer page, and the schemas of the extensions.
//!
//! Every skin is compared with the model's own, so the models are ones that morph targets express exactly ([`models`]).

mod models;
mod served;

use dermis_deform::secondary::{Secondary, Spring, Springs, VertexSpring};
use dermis_fit::silent;
use dermis_io::ModelFile;
use dermis_testkit::pages::{Place, with_script};
use dermis_workflow::output::{Existing, reserve_file};
use dermis_workflow::recipe::{ExportForm, ExportOutcome, ExportRecipe, Input, ShapeCount, Silent, ViewerExport};
use dermis_workflow::verbs::export::drivers::{
    DriverSettings, MorphNormals, PoseSpaceSettings, export_driven, export_pose_space, is_pose_space,
};
use models::{Case, POSES, cases, over_dual_quaternions};
use served::{repository, serve};
use std::path::Path;
use std::process::{Command, Output};

/// Exports the model with all its shapes and its motion. What the export loses is checked to be next to nothing.
fn export(case: &Case, folder: &Path) -> String {
    let name = format!("{}.glb", case.name);
    let glb = reserve_file(&folder.join(&name), Existing::Replace).unwrap();
    let (motion, normals) = (Some(&case.motion), MorphNormals::Written);
    let (rms, largest) = if is_pose_space(&case.model) {
        let settings = PoseSpaceSettings::default();
        let made =
            export_pose_space(&case.model, motion, settings, normals, (&glb, None, &Default::default()), &silent)
                .unwrap();
        made.motion.unwrap().shapes
    } else {
        let settings = DriverSettings { shapes: None, influences: None };
        let made =
            export_driven(&case.model, motion, settings, normals, (&glb, None, &Default::default()), &silent).unwrap();
        made.motion.unwrap().shapes
    };
    println!("{}: the export is {rms:.1e} m rms from the model, at most {largest:.1e} m", case.name);
    assert!(largest < 0.5 * case.tolerance(), "{}: {largest}", case.name);
    name
}

/// Runs a program that must succeed, and shows what it said.
fn ran(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.current_dir(repository()).output().unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned();
    println!("{said}");
    assert!(status.success(), "{said}{}", String::from_utf8_lossy(&stderr));
    said
}

/// The tag `<html …>` of a page after its scripts have run.
fn root_tag(page: &str, folder: &Path) -> String {
    let dom = folder.join("dom.html");
    ran(Command::new("sh").arg(repository().join("tools/screenshot.sh")).arg(page).arg(&dom).args(["1200", "1000"]));
    let dom = std::fs::read_to_string(dom).unwrap();
    let start = dom.find("<html").expect("a document");
    dom[start..start + dom[start..].find('>').unwrap()].to_string()
}

/// A number that a page wrote into its root element.
fn number(root: &str, key: &str) -> f64 {
    let value = root.split(&format!("data-{key}=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{key} in {root}"))
}

/// Writes the list that `js/test/conformance.mjs` reads.
fn conformance_table(folder: &Path, cases: &[Case], tolerance: impl Fn(&Case) -> f64) {
    let entries = cases.iter().map(|case| {
        let glb = export(case, folder);
        let (matrices, expected) = (format!("{}.m.npy", case.name), format!("{}.e.npy", case.name));
        std::fs::write(folder.join(&matrices), case.matrices()).unwrap();
        std::fs::write(folder.join(&expected), case.expected()).unwrap();
        serde_json::json!({ "name": case.name, "glb": glb, "pose_matrices": matrices, "expected": expected,
            "tolerance": tolerance(case) })
    });
    let list: serde_json::Value = entries.collect();
    std::fs::write(folder.join("driven.json"), list.to_string()).unwrap();
}

/// Writes a viewer of the case that plays its motion; the outcome, and the text of the page.
fn viewer(case: &Case, folder: &Path) -> (ExportOutcome, String) {
    viewer_of(case, Some("swing.npz"), folder)
}

/// The same with this file as the motion.
fn viewer_of(case: &Case, motion: Option<&str>, folder: &Path) -> (ExportOutcome, String) {
    let (model, out) = (folder.join("arm.dermis"), folder.join("view"));
    case.save(&model);
    case.save_motion(&folder.join("swing.npz"));
    let motion = motion.map(|name| Input::of_path(&folder.join(name)));
    let shapes = (!is_pose_space(&case.model)).then_some(ShapeCount::All);
    let form = ViewerExport { motion, shapes, ..ViewerExport::default() };
    let recipe = ExportRecipe {
        model: Input::of_path(&model),
        form: ExportForm::Viewer(form),
        read: Default::default(),
        write: Default::default(),
        out: out.clone(),
        table: None,
        springs: None,
        compress: None,
        existing: Existing::Keep,
    };
    let outcome = recipe.run(&Silent).unwrap();
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    (outcome, page)
}

#[test]
fn a_viewer_is_a_page_and_a_glb() {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (outcome, page) = viewer(&case, folder.path());
        let names: Vec<String> = std::fs::read_dir(folder.path().join("view"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(outcome.written, folder.path().join("view/arm.glb"));
        assert_eq!(outcome.page, Some((folder.path().join("view/index.html"), page.len())));
        assert_eq!(outcome.json()["page"]["bytes"], page.len());
        // The true skins of the motion are a millimetre away from all of it.
        assert!(page.contains("<b>1.00</b> mm"), "the error is a key figure");
        // A ridge that was given is no cross-validation, but the file was scored.
        assert!(!page.contains("Not validated"), "{}", case.name);
    }
}

mod with_node {
    use super::*;

    #[test]
    fn plain_javascript_shows_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let cases = cases();
        conformance_table(folder.path(), &cases, Case::tolerance);
        let program = || {
            let mut node = Command::new("node");
            node.arg(repository().join("js/test/conformance.mjs")).arg(folder.path());
            node
        };
        let said = ran(&mut program());
        assert!(said.contains(&format!("{} models, {} poses", cases.len(), cases.len() * POSES)), "{said}");
        // A tolerance below the rounding of the GLB is not met, and the program says where.
        conformance_table(folder.path(), &cases, |_| 1e-12);
        let failed = program().output().unwrap();
        let said = String::from_utf8_lossy(&failed.stdout);
        assert_eq!(failed.status.code(), Some(1), "{said}");
        assert!(said.contains("joints, pose 0, vertex "), "{said}");
    }

    #[test]
    fn damaged_extensions_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut node = Command::new("node");
        node.arg(repository().join("js/test/damaged.mjs"));
        cases().iter().for_each(|case| {
            node.arg(folder.path().join(export(case, folder.path())));
        });
        let said = ran(&mut node);
        assert!(said.contains("3 files: 0 failures"), "{said}");
    }
}

mod with_schema_validator {
    use super::*;

    #[test]
    fn exported_extensions_are_what_their_schemas_say() {
        let folder = tempfile::tempdir().unwrap();
        let mut node = Command::new("node");
        node.arg("tools/validate_extensions.mjs");
        cases().iter().for_each(|case| {
            node.arg(folder.path().join(export(case, folder.path())));
        });
        let said = ran(&mut node);
        for name in ["DERMIS_joint_drivers", "DERMIS_pose_space"] {
            assert!(said.contains(&format!("{name} is valid, and ")), "{said}");
        }
    }
}

mod with_three {
    use super::*;

    /// What three.js computes on the processor, and what its vertex shader computes.
    #[test]
    fn three_shows_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let address = serve(folder.path());
        for case in cases() {
            let glb = export(&case, folder.path());
            std::fs::write(folder.path().join("m.npy"), case.matrices()).unwrap();
            std::fs::write(folder.path().join("e.npy"), case.expected()).unwrap();
            let query = format!("glb=/desk/{glb}&matrices=/desk/m.npy&expected=/desk/e.npy");
            let root = root_tag(&format!("http://{address}/repo/js/test/three.html?{query}"), folder.path());
            assert!(root.contains("data-state=\"ready\""), "{root}");
            let (cpu, gpu) = (number(&root, "cpu"), number(&root, "gpu"));
            println!("{}: {POSES} poses, at most {cpu:.1e} m, by the shader {gpu:.1e} m", case.name);
            assert_eq!(number(&root, "poses"), POSES as f64);
            // The pose space is drawn with a seam, in two parts; of the sleeve, the last of three meshes, 74 vertices are drawn twice.
            let vertices = case.skins[0].len() as f64;
            let expected = match case.name {
                "joints" => (1.0, vertices),
                "pose_space" => (2.0, 2.0 * vertices),
                _ => (3.0, 2.0 * 74.0),
            };
            assert_eq!((number(&root, "meshes"), number(&root, "drawn")), expected);
            assert!(cpu < case.tolerance() && gpu < case.tolerance(), "{}: {cpu} {gpu}", case.name);
            assert!(number(&root, "moved") > 0.1, "{root}");
        }
    }

    /// `drive` against the weights that the export baked into the clip, in a scene that is moved, turned and scaled.
    #[test]
    fn the_plugin_has_the_weights_of_the_clip() {
        let folder = tempfile::tempdir().unwrap();
        for case in cases() {
            let glb = folder.path().join(export(&case, folder.path()));
            let mut node = Command::new("node");
            let said = ran(node.arg("js/test/clip.mjs").arg("target/tools/node_modules/three").arg(glb));
            assert!(said.contains(&format!("{POSES} frames")), "{said}");
        }
    }
}

mod with_chromium {
    use super::*;

    /// Buttons, keys, fingers and sliders, each followed by what must have changed; the first that has not is named.
    const USE_THE_VIEWER: &str = include_str!("use_the_viewer.js");

    #[test]
    fn the_viewer_shows_the_model_and_can_be_used() {
        for case in cases() {
            let folder = tempfile::tempdir().unwrap();
            let (_, page) = viewer(&case, folder.path());
            let skins: Vec<Vec<f64>> =
                case.skins.iter().map(|skin| skin.iter().flat_map(|p| p.to_array()).collect()).collect();
            let times: Vec<f64> = case.motion.frames.iter().map(|frame| frame.time.unwrap()).collect();
            let expected = serde_json::json!({ "skins": skins, "times": times });
            // A browser without a screen may leave out frames when it is busy: here every one asked for is drawn.
            let frames = "window.requestAnimationFrame = (draw) => setTimeout(draw, 16);";
            let page = with_script(&page, Place::First, frames);
            let page = with_script(&page, Place::Last, &format!("const EXPECTED = {expected};\n{USE_THE_VIEWER}"));
            let file = folder.path().join("view/index.html");
            std::fs::write(&file, page).unwrap();
            for fragment in ["", "#renderer=software"] {
                let root = root_tag(&format!("{}{fragment}", file.display()), folder.path());
                assert!(root.contains("data-use=\"fine\"") && root.contains("data-state=\"ready\""), "{root}");
                let deviation = number(&root, "deviation");
                println!("{}{fragment}: the viewer is {deviation:.1e} m from the model", case.name);
                assert!(deviation < case.tolerance(), "{}: {deviation}", case.name);
            }
        }
    }

    /// The page swings as the library does: every vertex of the last frame, after all frames before it.
    #[test]
    fn the_viewer_plays_what_was_learnt_to_swing() {
        for case in cases() {
            let mesh = case.model.rig().mesh().clone();
            let vertex = |v: usize| VertexSpring {
                spring: Spring::new(2.0 + 0.1 * (v % 20) as f64, 0.05 + 0.1 * (v % 13) as f64).unwrap(),
                stiffening: 500.0 * (v % 3) as f64,
                limit: if v.is_multiple_of(7) { 0.05 } else { 0.5 },
            };
            let springs = Springs::new((0..mesh.positions.len()).map(vertex).collect(), 150.0).unwrap();
            let mut motion = Secondary::learnt([&springs], &mesh).unwrap();
            let times: Vec<f64> = case.motion.frames.iter().map(|frame| frame.time.unwrap()).collect();
            let (mut swung, mut farthest) = (vec![], 0.0f64);
            for (at, skin) in case.skins.iter().enumerate() {
                swung.clone_from(skin);
                motion.apply(if at > 0 { times[at] - times[at - 1] } else { 0.0 }, &mut swung).unwrap();
                farthest = farthest.max(motion.largest());
            }
            assert!(farthest > 0.05, "it swings by {farthest}");
            let taught = case.model.model.clone().with_springs(Some(springs)).unwrap();
            let case = Case { model: ModelFile { model: taught, ..case.model.clone() }, ..case };
            let expected: Vec<f64> = swung.iter().flat_map(|p| p.to_array()).collect();
            let script = format!(
                "const WANTED = {expected:?}, found = dermis.swing({}), still = dermis.positions(); \
                 let far = 0, moved = 0; \
                 WANTED.forEach((x, i) => {{ far = Math.max(far, Math.abs(x - found[i])); moved = Math.max(moved, Math.abs(found[i] - still[i])); }}); \
                 document.documentElement.dataset.deviation = far; document.documentElement.dataset.moved = moved;",
                times.len() - 1
            );
            let root = shown(&case, &script, "");
            let (deviation, moved) = (number(&root, "deviation"), number(&root, "moved"));
            println!("{}: the viewer swings {deviation:.1e} m apart from the library", case.name);
            assert!(deviation < 10.0 * case.tolerance() && moved > 0.01, "{}: {deviation} {moved}", case.name);
        }
    }

    /// The page with a script that runs when it shows its skin; the tag `<html …>` afterwards.
    fn shown(case: &Case, script: &str, fragment: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let (_, page) = viewer(case, folder.path());
        let script = format!("dermisReady.then(async (dermis) => {{ {script} }});");
        let file = folder.path().join("view/index.html");
        std::fs::write(&file, with_script(&page, Place::Last, &script)).unwrap();
        let root = root_tag(&format!("{}{fragment}", file.display()), folder.path());
        assert!(root.contains("data-state=\"ready\""), "{root}");
        root
    }

    /// Positions and normals by the vertex shader beside those of `js/`: in every pose of the motion and with a joint turned, of the skin
    /// weights alone and of driven shapes, and of true skins.
    #[test]
    fn the_card_computes_what_javascript_does() {
        const COMPARE: &str = "
            document.querySelector('[data-key=all]').click();
            const joints = [...document.querySelector('#viewer-joint').options], worst = { positions: 0, normals: 0, moved: 0 };
            const compare = (...kinds) => kinds.forEach((kind) => {
                const { card, script } = dermis.picture(kind);
                for (const key of ['positions', 'normals']) script[key].forEach((x, i) => {
                    const off = Math.abs(x - card[key][i]);
                    worst[key] = off <= worst[key] ? worst[key] : off;
                });
            });
            const rest = dermis.picture('base').card.positions;
            for (const time of TIMES) {
                dermis.show(time);
                compare('learnt', 'base', 'target');
                dermis.picture('learnt').card.positions.forEach((x, i) => { worst.moved = Math.max(worst.moved, Math.abs(x - rest[i])); });
            }
            dermis.turn(joints[joints.length - 1].textContent, [40, -30, 70]);
            compare('learnt', 'base');
            Object.assign(document.documentElement.dataset, worst);";
        let mut all = Vec::from(cases());
        all.push(over_dual_quaternions());
        for case in all {
            let times: Vec<f64> = case.motion.frames.iter().map(|frame| frame.time.unwrap()).collect();
            let root = shown(&case, &COMPARE.replace("TIMES", &format!("{times:?}")), "");
            assert!(root.contains("data-renderer=\"webgl2\""), "{root}");
            let of = |key: &str| number(&root, key);
            println!("{}: {:.1e} m, normals {:.1e}", case.name, of("positions"), of("normals"));
            assert!(of("positions") < 0.2 * case.tolerance() && of("normals") < 1e-4, "{}: {root}", case.name);
            assert!(of("moved") > 0.1, "{root}");
        }
    }

    /// The picture of the card beside that of the software renderer, as the means of squares: edges are smoothed by the card alone.
    #[test]
    fn the_card_shows_what_the_software_renderer_does() {
        const SQUARES: &str = "
            document.querySelector('[data-key=COLOUR]').click();
            dermis.show(TIME);
            dermis.picture();
            const small = document.createElement('canvas');
            [small.width, small.height] = [48, 48];
            const ink = small.getContext('2d');
            ink.imageSmoothingQuality = 'high';
            ink.fillStyle = '#fff';
            ink.fillRect(0, 0, 48, 48);
            ink.drawImage(document.querySelector('canvas.skins'), 0, 0, 48, 48);
            document.documentElement.dataset.squares = [...ink.getImageData(0, 0, 48, 48).data].join(' ');";
        for case in cases() {
            for colour in ["plain", "error"] {
                let time = case.motion.frames[7].time.unwrap();
                let script = SQUARES.replace("COLOUR", colour).replace("TIME", &time.to_string());
                let [card, software] = ["", "#renderer=software"].map(|fragment| {
                    let root = shown(&case, &script, fragment);
                    let list = root.split("data-squares=\"").nth(1).unwrap().split('"').next().unwrap();
                    let numbers: Vec<f64> = list.split(' ').map(|x| x.parse().unwrap()).collect();
                    numbers
                });
                let off: Vec<f64> = card.iter().zip(&software).map(|(a, b)| (a - b).abs()).collect();
                let (mean, most) =
                    (off.iter().sum::<f64>() / off.len() as f64, off.iter().copied().fold(0.0, f64::max));
                let drawn = card.chunks_exact(4).filter(|square| square[2] < 250.0).count();
                println!("{}, {colour}: {mean:.2} of 255, at most {most}; {drawn} squares", case.name);
                assert!(drawn > 30 && mean < 1.0 && most < 40.0, "{}: {mean} {most} {drawn}", case.name);
            }
        }
    }

    /// Without a motion there is the bind pose, nothing to play and no error; joints turn all the same.
    #[test]
    fn a_viewer_without_a_motion_poses_joints() {
        for case in cases() {
            let folder = tempfile::tempdir().unwrap();
            let (_, page) = viewer_of(&case, None, folder.path());
            let script = "dermisReady.then((dermis) => {
                const rest = dermis.positions().slice(), names = [...document.querySelector('#viewer-joint').options];
                dermis.turn(names[names.length - 1].textContent, [0, 0, 60]);
                const turned = dermis.positions(), moved = turned.reduce((most, x, i) => Math.max(most, Math.abs(x - rest[i])), 0);
                const hidden = ['.playback', '.ramp'].every((part) => document.querySelector(part).hidden);
                for (const key of [' ', ',', '.', 'e', 'b']) document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
                document.querySelector('[data-key=all]').click();
                Object.assign(document.documentElement.dataset, { moved, hidden, panes: document.querySelectorAll('.pane').length });
                });";
            let file = folder.path().join("view/index.html");
            std::fs::write(&file, with_script(&page, Place::Last, script)).unwrap();
            let root = root_tag(&file.display().to_string(), folder.path());
            assert!(root.contains("data-state=\"ready\"") && root.contains("data-hidden=\"true\""), "{root}");
            assert!(number(&root, "moved") > 0.01 && number(&root, "panes") == 2.0, "{root}");
        }
    }

    /// A page in a frame as wide as a telephone: nothing is wider than the frame.
    #[test]
    fn the_viewer_fits_a_telephone() {
        let folder = tempfile::tempdir().unwrap();
        let [case, ..] = cases();
        viewer(&case, folder.path());
        let outer = "<!doctype html><html><body><iframe src=\"index.html\" width=\"390\" height=\"900\"></iframe><script>
            onload = () => setTimeout(() => { const d = document.querySelector('iframe').contentDocument?.documentElement;
                document.documentElement.dataset.seen = d ? d.scrollWidth + ' ' + d.dataset.state : 'nothing'; }, 1000);
            </script></body></html>";
        // A page of a disk may not look into another: the frame is given its text.
        let inner =
            serde_json::to_string(&std::fs::read_to_string(folder.path().join("view/index.html")).unwrap()).unwrap();
        let outer = outer.replace("src=\"index.html\"", "").replace(
            "onload =",
            &format!("document.querySelector('iframe').srcdoc = {};\n onload =", inner.replace('<', "\\u003c")),
        );
        let file = folder.path().join("outer.html");
        std::fs::write(&file, outer).unwrap();
        let root = root_tag(&file.display().to_string(), folder.path());
        assert!(root.contains("data-seen=\"390 ready\""), "{root}");
    }

    /// A GLB that is cut or of an unknown version: the page says so, and shows nothing.
    #[test]
    fn a_damaged_page_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let [case, ..] = cases();
        let (_, page) = viewer(&case, folder.path());
        let file = folder.path().join("broken.html");
        let start = page.find("id=\"page-glb\">").unwrap() + "id=\"page-glb\">".len();
        let end = start + page[start..].find('<').unwrap();
        for (from, to) in [((start + end) / 2, end), (start, start + 4)] {
            std::fs::write(&file, format!("{}{}", &page[..from], &page[to..])).unwrap();
            let root = root_tag(&file.display().to_string(), folder.path());
            assert!(root.contains("data-state=\"error\"") && root.contains("GLB: "), "{root}");
        }
    }
}
