//! Sessions of an arm whose true skin is known in closed form.

use super::file::{Did, MaskFrom, NAME, Role, SessionFile, ShownBy};
use super::*;
use crate::error::Error as Failure;
use crate::load::{Source, load_model};
use crate::recipe::{Existing, FitRecipe, Input, SessionAct, SessionRecipe, Silent};
use dermis_io::npz::{StoredFloat, write};
use dermis_io::obj::{Normals, write_shape};
use dermis_io::{Contents, Record, to_bytes};
use dermis_report::LengthUnit;
use dermis_rig::Motion;
use dermis_rig::glam::DVec3;
use dermis_testkit::arm::{Arm, ArmPose, JOINTS};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with an arm, its swing, and a session of both.
pub(super) struct Desk {
    folder: TempDir,
    pub(super) arm: Arm,
    pub(super) poses: Vec<ArmPose>,
}

/// Poses that bend the elbow and turn the shoulder and the wrist, none of them alike.
fn poses() -> Vec<ArmPose> {
    let pose = |at: usize| {
        let t = at as f64 / 11.0;
        let shoulder = DVec3::new(0.0, 0.9 * (3.0 * t).sin(), 0.5 * t);
        ArmPose { elbow: 0.2 + 1.7 * t, shoulder, wrist: DVec3::Z * (0.8 * (5.0 * t).cos()), ..ArmPose::REST }
    };
    std::iter::once(ArmPose::REST).chain((0..12).map(pose)).collect()
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap(), arm: Arm::new(20, 10), poses: poses() };
        desk.put("arm.npz", desk.contents(vec![]));
        let motion: Motion = desk.arm.motion("swing", &desk.poses);
        let record = |frame: &dermis_rig::Frame| Record {
            label: format!("swing {}", frame.label),
            time: frame.time,
            pose: Some(frame.pose.clone()),
            positions: None,
            importance: 1.0,
            local: None,
        };
        desk.put("swing.npz", desk.contents(motion.frames.iter().map(record).collect()));
        let truth =
            |(at, record): (usize, Record)| Record { positions: Some(desk.arm.skin(&desk.poses[at])), ..record };
        let truths = motion.frames.iter().map(record).enumerate().map(truth).collect();
        desk.put("truth.npz", desk.contents(truths));
        desk
    }

    /// With a session that has begun.
    pub(super) fn begun(truth: bool) -> Self {
        let desk = Self::new();
        let truths = if truth { vec![desk.input("truth.npz")] } else { vec![] };
        desk.begin("hero.session", truths).unwrap();
        desk
    }

    fn begin(&self, folder: &str, truths: Vec<Input>) -> Result<Session, Failure> {
        let new = NewSession {
            rig: self.input("arm.npz"),
            motions: vec![self.input("swing.npz")],
            truths,
            method: default_method(),
            read: crate::load::ReadOptions::default(),
        };
        Session::begin(&self.path(folder), &new, &Silent)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn input(&self, name: &str) -> Input {
        Input::of_path(&self.path(name))
    }

    fn contents(&self, records: Vec<Record>) -> Contents {
        let rig = &self.arm.rig;
        Contents {
            mesh: Some(rig.mesh().clone()),
            skeleton: Some(rig.skeleton().clone()),
            weights: rig.weights().cloned(),
            records,
            ..Contents::default()
        }
    }

    fn put(&self, name: &str, contents: Contents) {
        let bytes = to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(super) fn session(&self) -> Session {
        Session::open(&self.path("hero.session"), Access::Change).unwrap()
    }

    /// The skin that the session shows in a frame.
    fn shown(&self, frame: usize) -> Vec<DVec3> {
        let session = Session::open(&self.path("hero.session"), Access::Look).unwrap();
        let model = session.present_model().unwrap();
        folder::skin(&model, &self.arm.transforms(&self.poses[frame])).unwrap()
    }

    /// The true skin of a frame within a distance of a joint at rest, and what is shown elsewhere, as a bundle without a pose.
    fn sculpt(&self, name: &str, frame: usize, joint: usize, radius: f64) {
        let (shown, truth) = (self.shown(frame), self.arm.skin(&self.poses[frame]));
        let rest = &self.arm.rig.mesh().positions;
        let near = |p: &DVec3| (1.5 - (p.x - JOINTS[joint]).abs() / radius).clamp(0.0, 0.5) * 2.0;
        let skin = shown.iter().zip(truth).zip(rest).map(|((shown, truth), p)| *shown + near(p) * (truth - *shown));
        self.skin(name, skin.collect());
    }

    fn skin(&self, name: &str, skin: Vec<DVec3>) {
        let record =
            Record { label: name.into(), time: None, pose: None, positions: Some(skin), importance: 1.0, local: None };
        let contents = Contents { skeleton: None, weights: None, ..self.contents(vec![record]) };
        self.put(&format!("{name}.npz"), contents);
    }

    fn sculpted(&self, name: &str, at: &str) -> AddSculpt {
        AddSculpt::new(Some(Source::from(self.path(&format!("{name}.npz")))), Some(at.into()))
    }

    /// Sculpts a frame and adds it.
    fn add(&self, name: &str, frame: usize, joint: usize) -> SessionFile {
        self.sculpt(name, frame, joint, 0.1);
        let mut session = self.session();
        session.add(&self.sculpted(name, &format!("swing:{frame}")), &Silent).unwrap();
        session.file().clone()
    }

    /// The bytes of the present model.
    fn model(&self) -> Vec<u8> {
        let session = self.session();
        let model = session.file().state().model.clone().unwrap();
        std::fs::read(session.model_path(model.number)).unwrap()
    }

    fn fails(&self, sculpt: &AddSculpt, says: &[&str]) {
        let before = std::fs::read(self.path("hero.session").join(NAME)).unwrap();
        let error = self.session().add(sculpt, &Silent).unwrap_err();
        let told = format!("{error} {}", error.remedy().written(|part| format!("{part:?}")));
        says.iter().for_each(|word| assert!(told.contains(word), "\"{word}\" is not in {told}"));
        assert_eq!(std::fs::read(self.path("hero.session").join(NAME)).unwrap(), before);
    }
}

const EIGHT: [(usize, usize); 8] = [(12, 2), (6, 1), (9, 3), (3, 2), (11, 1), (5, 3), (8, 2), (2, 1)];

/// Eight steps, each with the session opened anew: every sculpt is met better than the rig meets it, and going back and forward gives
/// the bytes of each model.
#[test]
fn eight_steps_back_and_forward_to_the_bit() {
    let desk = Desk::begun(true);
    let mut models = Vec::new();
    for (at, (frame, joint)) in EIGHT.into_iter().enumerate() {
        let file = desk.add(&format!("sculpt_{at}"), frame, joint);
        let scores = file.state().scores.as_ref().unwrap();
        let sculpted = file.steps.last().unwrap();
        assert_eq!((sculpted.mask, sculpted.shown_by), (MaskFrom::Found, ShownBy::Rig));
        assert!(0 < sculpted.touched && sculpted.touched < desk.arm.rig.mesh().positions.len());
        assert_eq!(scores.met.as_ref().unwrap().name, format!("sculpt_{at}"));
        models.push(desk.model());
    }
    let file = desk.session().file().clone();
    assert_eq!((file.states.len(), file.present), (9, 8));
    for model in models.iter().rev().skip(1) {
        desk.session().undo(None, &Silent).unwrap();
        assert!(desk.model() == *model);
    }
    desk.session().undo(None, &Silent).unwrap();
    assert_eq!(desk.session().file().state().model, None);
    let error = desk.session().undo(None, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "there is nothing to undo");
    for model in &models {
        desk.session().redo(None, &Silent).unwrap();
        assert!(desk.model() == *model);
    }
    assert_eq!(desk.session().redo(None, &Silent).unwrap_err().to_string(), "there is nothing to redo");
    assert_eq!(*desk.session().file(), file);
    // A session that stays open comes to the same, to the bit.
    std::fs::rename(desk.path("hero.session"), desk.path("first")).unwrap();
    let mut open = desk.begin("hero.session", vec![desk.input("truth.npz")]).unwrap();
    for (at, (frame, joint)) in EIGHT.into_iter().enumerate() {
        let name = format!("sculpt_{at}");
        desk.sculpt(&name, frame, joint, 0.1);
        open.add(&desk.sculpted(&name, &format!("swing:{frame}")), &Silent).unwrap();
    }
    assert_eq!(*open.file(), file);
    drop(open);
    assert!(desk.model() == models[7]);
    // The model knows what it is made of, and is made again from that.
    let (model, _) = load_model(&desk.session().model_path(8)).unwrap();
    let folder = desk.path("hero.session");
    let recipe = FitRecipe::of_model(&model, Path::new("")).unwrap();
    assert_eq!(recipe.rig.file.path.parent(), Some(Path::new("rig")), "paths are those in the session's folder");
    let recipe = recipe.found_from(&folder).unwrap();
    assert_eq!(recipe.examples.inputs().len(), 8);
    let out = desk.path("again.dermis");
    let outputs = crate::recipe::FitOutputs { model: Some(out.clone()), root: Some(folder), ..Default::default() };
    FitRecipe { outputs, ..recipe }.run(&Silent).unwrap();
    assert!(std::fs::read(out).unwrap() == models[7]);
}

/// A step that is switched off is not in the model; switched on again, the model is what it was, though other sculpts of the same pose
/// came after it.
#[test]
fn a_step_is_switched_off_and_on() {
    let desk = Desk::begun(false);
    desk.add("elbow", 12, 2);
    let of_one = desk.model();
    desk.add("shoulder", 12, 1);
    desk.add("again", 12, 2);
    let whole = desk.model();
    desk.session().undo(Some(1), &Silent).unwrap();
    let file = desk.session().file().clone();
    assert_eq!((file.state().did, &file.state().active[..]), (Did::Off(1), &[2, 3][..]));
    assert!(desk.model() != whole);
    desk.session().redo(Some(1), &Silent).unwrap();
    assert_eq!(desk.session().file().state().active, [1, 2, 3]);
    assert!(desk.model() == whole);
    for id in [2, 3] {
        desk.session().undo(Some(id), &Silent).unwrap();
    }
    assert!(desk.model() == of_one);
    desk.session().undo(Some(1), &Silent).unwrap();
    assert_eq!(desk.session().file().state().model, None);
    let refused = |act: fn(&mut Session) -> Result<Vec<String>, Failure>, says: &str| {
        let error = act(&mut desk.session()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(|session| session.undo(Some(1), &Silent), "step 1 \"elbow\" is off already");
    refused(|session| session.redo(Some(7), &Silent), "there is no step 7: they are 1 to 3");
    refused(|session| session.fit(default_method(), &Silent), "there is no model yet");
}

/// What undoing leaves behind stays on disk: neither its models nor its steps lend their names to later ones.
#[test]
fn a_new_step_after_undoing_overwrites_nothing() {
    let desk = Desk::begun(false);
    desk.add("a", 12, 2);
    desk.add("b", 6, 1);
    desk.session().undo(None, &Silent).unwrap();
    let file = desk.add("c", 9, 3);
    assert_eq!((file.states.len(), file.state().model.as_ref().unwrap().number), (3, 3));
    assert_eq!((&file.state().active[..], file.steps.len()), (&[1, 3][..], 3));
    desk.session().redo(Some(2), &Silent).unwrap();
    assert_eq!(desk.session().file().state().active, [1, 2, 3]);
}

/// The poses that were sculpted are not in the headline, and without checks nothing is said to be better.
#[test]
fn trained_poses_are_absent_from_the_headline_and_without_checks_there_is_no_verdict() {
    let unit = LengthUnit::default();
    let text = |file: &SessionFile| lines(file.state().scores.as_ref().unwrap(), &unit, "next --check").join("\n");
    let desk = Desk::begun(true);
    // The rest pose counts as trained in every model.
    for (at, (frame, joint)) in [(12, 2), (6, 2), (9, 2)].into_iter().enumerate() {
        let file = desk.add(&format!("s{at}"), frame, joint);
        let checks = file.state().scores.as_ref().unwrap().checks.as_ref().unwrap();
        assert_eq!(checks.frames + checks.trained, 13, "{checks:?}");
        assert!(checks.trained > at, "{checks:?}");
        let told = text(&file);
        assert!(told.contains(&format!("in {} of 13 poses", checks.frames)), "{told}");
        assert!(!told.contains("no verdict"), "{told}");
        let errors = checks.errors.unwrap();
        assert!(errors.after < errors.rig, "{errors:?}");
    }
    let desk = Desk::begun(false);
    let told = text(&desk.add("elbow", 12, 2));
    assert!(told.contains("no verdict") && !told.contains("checks:"), "{told}");
    assert!(told.starts_with("met: within ") && told.contains("the model had 0 % of this"), "{told}");
    // A check in a sculpted pose tells nothing; one in another pose does. Neither is learnt from.
    let model = desk.model();
    for (name, frame, says) in [("here", 12, true), ("there", 7, false)] {
        desk.sculpt(name, frame, 2, 0.1);
        let check = AddSculpt { role: Some(Role::Check), ..desk.sculpted(name, &format!("swing:{frame}")) };
        desk.session().add(&check, &Silent).unwrap();
        let told = text(desk.session().file());
        assert_eq!(told.contains("no verdict"), says, "{told}");
        assert!(desk.model() == model);
    }
}

/// The check measures what it says: the error on the skin of the check in its pose, computed here again.
#[test]
fn a_check_is_scored_by_its_own_skin() {
    let desk = Desk::begun(false);
    desk.add("elbow", 12, 2);
    desk.sculpt("check", 7, 2, 0.1);
    let check = AddSculpt { role: Some(Role::Check), ..desk.sculpted("check", "swing:7") };
    desk.session().add(&check, &Silent).unwrap();
    let session = desk.session();
    let example = session.sculpt(session.file().steps.last().unwrap()).unwrap();
    let mask = example.local.as_ref().unwrap().mask.as_ref().unwrap();
    let scores = session.file().state().scores.clone().unwrap();
    drop(session);
    let skin = desk.shown(7);
    let squares: Vec<f64> =
        (0..mask.len()).filter(|&v| mask[v]).map(|v| skin[v].distance_squared(example.positions[v])).collect();
    let rms = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    let errors = scores.checks.as_ref().unwrap().errors.unwrap();
    assert!(
        (errors.after - rms).abs() < 1e-12 && errors.before == errors.after && !scores.refitted,
        "{errors:?} {rms}"
    );
}

/// Oracle: the session itself on the same rig; the closed form t' − b' = t − b on a rig whose rest mesh is stretched.
#[test]
fn a_changed_rig_takes_the_steps_over() {
    let desk = Desk::begun(true);
    desk.add("wrist", 4, 3);
    desk.add("elbow", 9, 2);
    let old = desk.session();
    let rebase = |rig: &str, folder: &str| {
        let rebase = Rebase { from: desk.path("hero.session"), rig: desk.input(rig) };
        Session::rebase(&desk.path(folder), &rebase, &Silent)
    };
    // The session that is copied from is open for writing elsewhere: it is only looked at.
    let (same, said) = rebase("arm.npz", "same.session").unwrap();
    assert!(!said.iter().any(|line| line.contains("rest mesh")), "{said:?}");
    let transforms = desk.arm.transforms(&desk.poses[9]);
    let skin = |session: &Session, with: bool| {
        let state = session.file().state().model.clone();
        folder::skin(&session.model(state.as_ref().filter(|_| with)).unwrap(), &transforms).unwrap()
    };
    let far = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(far(&skin(&same, true), &skin(&old, true)) < 1e-6 * desk.arm.length());
    assert_eq!(same.file().steps.len(), 2);
    // Fatter by a tenth.
    let mut mesh = desk.arm.rig.mesh().clone();
    mesh.positions.iter_mut().for_each(|p| *p *= DVec3::new(1.0, 1.1, 1.1));
    desk.put("fat.npz", Contents { mesh: Some(mesh.clone()), ..desk.contents(vec![]) });
    let (fat, said) = rebase("fat.npz", "fat.session").unwrap();
    assert!(said[0].contains("the rest mesh differs"), "{said:?}");
    let added = |session: &Session| -> Vec<DVec3> {
        skin(session, true).iter().zip(skin(session, false)).map(|(with, base)| *with - base).collect()
    };
    let example = old.sculpt(&old.file().steps[1]).unwrap();
    let touched = example.local.unwrap().mask.unwrap();
    let (was, is) = (added(&old), added(&fat));
    let most = (0..was.len()).filter(|&v| touched[v]).map(|v| was[v].distance(is[v])).fold(0.0, f64::max);
    let size = (0..was.len()).map(|v| was[v].length()).fold(0.0, f64::max);
    assert!(most < 1e-5 * desk.arm.length() && size > 0.01 * desk.arm.length(), "{most} of {size}");
    // Faces in another order are the same faces; faces that join other vertices are not.
    mesh.triangles.reverse();
    mesh.triangles[0].rotate_left(1);
    desk.put("order.npz", Contents { mesh: Some(mesh.clone()), ..desk.contents(vec![]) });
    assert!(rebase("order.npz", "order.session").is_ok());
    mesh.triangles[0].swap(0, 1);
    desk.put("other.npz", Contents { mesh: Some(mesh), ..desk.contents(vec![]) });
    let refused = rebase("other.npz", "other.session").unwrap_err();
    assert!(refused.to_string().contains("faces join other vertices") && !refused.remedy().is_empty(), "{refused}");
    assert!(!desk.path("other.session").exists());
}

#[test]
fn another_rig_a_second_writer_and_a_damaged_file_are_refused() {
    let desk = Desk::begun(false);
    let folder = desk.path("hero.session");
    let refused = |access| Session::open(&folder, access).unwrap_err();
    let held = desk.session();
    let busy = refused(Access::Change);
    assert!(busy.to_string().contains("another program works on this session") && !busy.remedy().is_empty());
    assert!(Session::open(&folder, Access::Look).is_ok(), "looking waits for nobody");
    drop(held);
    drop(desk.session());
    let again = desk.begin("hero.session", vec![]).unwrap_err().to_string();
    assert!(again.contains("there is a session in this folder already"), "{again}");
    let rig = std::fs::read(folder.join("rig/arm.npz")).unwrap();
    let mut other = rig.clone();
    other.push(0);
    std::fs::write(folder.join("rig/arm.npz"), other).unwrap();
    let changed = refused(Access::Look);
    assert!(changed.to_string().contains("not the one that the session began with"), "{changed}");
    assert!(changed.remedy().written(|part| format!("{part:?}")).contains("put the rig's file back"));
    std::fs::write(folder.join("rig/arm.npz"), rig).unwrap();
    let good = std::fs::read_to_string(folder.join(NAME)).unwrap();
    for (from, to, says) in [
        ("\"version\": 1", "\"version\": 2", "this session has version 2"),
        ("\"present\": 0", "\"present\": 1", "there is no state 1"),
        ("\"offers\"", "\"ofers\"", "unknown field `ofers`"),
        ("\"rig/arm.npz\"", "\"rig/../arm.npz\"", "no name of a rig"),
        ("{", "", "damaged"),
    ] {
        std::fs::write(folder.join(NAME), good.replacen(from, to, 1)).unwrap();
        let error = refused(Access::Look).to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    std::fs::remove_file(folder.join(NAME)).unwrap();
    assert!(refused(Access::Look).to_string().contains("there is no session in this folder"));
    // A beginning that was cut off is begun again.
    desk.begin("hero.session", vec![]).unwrap();
    std::fs::create_dir(desk.path("mine")).unwrap();
    std::fs::write(desk.path("mine/notes.txt"), "mine").unwrap();
    assert!(desk.begin("mine", vec![]).unwrap_err().to_string().contains("this folder holds other files"));
}

#[test]
fn a_model_that_somebody_changed_is_not_taken_for_the_session_s() {
    let desk = Desk::begun(false);
    desk.add("a", 12, 2);
    desk.add("b", 6, 1);
    let path = desk.session().model_path(1);
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let error = desk.session().undo(None, &Silent).unwrap_err().to_string();
    assert!(error.contains("0001.dermis") && error.contains("not the one that the session wrote"), "{error}");
}

#[test]
fn what_is_no_sculpt_is_named_and_changes_nothing() {
    let desk = Desk::begun(false);
    let count = desk.arm.rig.mesh().positions.len();
    desk.sculpt("elbow", 12, 2, 0.1);
    desk.skin("same", desk.shown(12));
    desk.skin("rest", desk.arm.rig.mesh().positions.iter().map(|p| *p + DVec3::Y * 0.001).collect());
    let other = Arm::new(21, 10);
    let record = |positions| Record {
        label: "o".into(),
        time: None,
        pose: None,
        positions: Some(positions),
        importance: 1.0,
        local: None,
    };
    let contents = Contents {
        mesh: Some(other.rig.mesh().clone()),
        records: vec![record(other.skin(&desk.poses[12]))],
        ..Contents::default()
    };
    desk.put("other.npz", contents);
    let obj = to_bytes(|out| {
        let skin = other.skin(&desk.poses[12]);
        write_shape(other.rig.mesh(), &skin, Normals::LeftOut, None, &dermis_io::Space::default(), out)
    });
    std::fs::write(desk.path("other.obj"), obj.unwrap()).unwrap();
    let two = vec![record(desk.shown(12)), record(desk.shown(12))];
    desk.put("two.npz", Contents { skeleton: None, ..desk.contents(two) });
    std::fs::write(desk.path("zeros.txt"), "0 ".repeat(count)).unwrap();
    std::fs::write(desk.path("short.txt"), "1 ".repeat(count - 1)).unwrap();
    std::fs::write(desk.path("wrong.txt"), "1.5 ".repeat(count)).unwrap();
    let at = |name: &str, at: &str| desk.sculpted(name, at);
    let masked = |mask: &str| AddSculpt { mask: Some(desk.path(mask)), ..at("elbow", "swing:12") };
    desk.fails(&at("other", "swing:12"), &["other.npz", "180 vertices have no counterpart"]);
    let other = AddSculpt::new(Some(Source::from(desk.path("other.obj"))), Some("swing:12".into()));
    desk.fails(&other, &["other.obj", "212", "202"]);
    desk.fails(&at("same", "swing:12"), &["\"same\" touches no vertex", "the rig's own weights", "anchor"]);
    desk.fails(&at("rest", "swing:0"), &["\"rest\" is a sculpt of the rest pose", "FILE@walk:12"]);
    desk.fails(&at("two", "swing:12"), &["two.npz", "names one pose"]);
    desk.fails(&masked("zeros.txt"), &["zeros.txt", "touches no vertex"]);
    desk.fails(&masked("short.txt"), &["short.txt", &format!("{} numbers", count - 1)]);
    desk.fails(&masked("wrong.txt"), &["wrong.txt", "\"1.5\" at vertex 0"]);
    desk.fails(&at("elbow", "swing:13"), &["\"swing:13\"", "0 to 12"]);
    desk.fails(&at("elbow", "walk:1"), &["\"walk:1\"", "swing"]);
    desk.fails(&AddSculpt { strength: f64::NAN, ..at("elbow", "swing:12") }, &["strength"]);
    desk.fails(&AddSculpt { role: Some(Role::Anchor), ..at("elbow", "swing:12") }, &["an anchor is a pose"]);
    desk.fails(&AddSculpt { whole: true, ..masked("zeros.txt") }, &["whole, or it has a mask"]);
    desk.fails(&AddSculpt::new(Some(Source::from(desk.path("gone.npz"))), Some("12".into())), &["gone.npz"]);
    // What was refused left no trace that a later step minds.
    assert_eq!(desk.add("elbow", 12, 2).steps[0].id, 1);
}

/// Frames that are labelled by the numbers of another count, as programs do that count from 1, are found by their labels.
#[test]
fn labels_that_are_numbers_name_their_frames() {
    let desk = Desk::begun(false);
    let plain = desk.add("elbow", 9, 2).steps[0].clone();
    let motion: Motion = desk.arm.motion("swing", &desk.poses);
    let numbered = |(at, frame): (usize, &dermis_rig::Frame)| Record {
        label: (at + 1).to_string(),
        time: frame.time,
        pose: Some(frame.pose.clone()),
        positions: None,
        importance: 1.0,
        local: None,
    };
    desk.put("swing.npz", desk.contents(motion.frames.iter().enumerate().map(numbered).collect()));
    let mut session = desk.begin("numbered.session", vec![]).unwrap();
    session.add(&desk.sculpted("elbow", "swing:10"), &Silent).unwrap();
    let step = session.file().steps[0].clone();
    assert_eq!((step.pose.frame, step.touched, &step.region), (Some(9), plain.touched, &plain.region));
}

/// What is handed out comes back: with the skin of the model that showed it, whichever model is the present one then.
#[test]
fn a_sculpt_is_compared_with_what_its_artist_was_shown() {
    let desk = Desk::begun(false);
    desk.add("elbow", 12, 2);
    let shown = desk.shown(9);
    let wish = NextPoses { count: 4, out: Some(desk.path("todo")), ..NextPoses::default() };
    let offered = desk.session().next(&wish, &Silent).unwrap();
    assert_eq!(offered.offers.iter().filter(|offer| offer.check).count(), 1, "{:?}", offered.offers);
    for offer in &offered.offers {
        assert!(desk.path("todo").join(format!("{}.obj", offer.name)).is_file() && !offer.region.is_empty());
        assert!(offer.pose.frame != Some(12) && offer.pose.frame != Some(0), "{offer:?}");
        assert_eq!(offer.shown_by, ShownBy::Model(1));
    }
    let offer = offered.offers.iter().find(|offer| !offer.check).unwrap();
    let frame = offer.pose.frame.unwrap();
    // The artist sculpts the file, and meanwhile another step changes the model.
    let path = desk.path("todo").join(format!("{}.obj", offer.name));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut vertex = 0;
    let moved: Vec<String> = text
        .lines()
        .map(|line| match line.strip_prefix("v ") {
            Some(numbers) => {
                vertex += 1;
                let mut at: Vec<f64> = numbers.split_whitespace().map(|word| word.parse().unwrap()).collect();
                at[1] += if (90..120).contains(&vertex) { 0.01 } else { 0.0 };
                format!("v {} {} {}", at[0], at[1], at[2])
            }
            None => line.to_owned(),
        })
        .collect();
    std::fs::write(&path, moved.join("\n")).unwrap();
    desk.add("wrist", if frame == 9 { 5 } else { 9 }, 3);
    let sculpt = AddSculpt::new(Some(Source::from(path)), None);
    desk.session().add(&sculpt, &Silent).unwrap();
    let session = desk.session();
    let step = session.file().steps.last().unwrap();
    assert_eq!((step.shown_by, step.touched, &step.name), (ShownBy::Model(1), 30, &offer.name));
    assert_eq!(step.pose, offer.pose);
    let example = session.sculpt(step).unwrap();
    let skin = example.local.unwrap().shown.unwrap();
    if frame == 9 {
        assert!(skin.iter().zip(&shown).all(|(a, b)| a.distance(*b) < 1e-12));
    }
    // The same by a bundle, which says what was shown, and as morph targets.
    drop(session);
    for name in ["todo.npz", "todo.glb"] {
        let wish = NextPoses { count: 2, out: Some(desk.path(name)), ..NextPoses::default() };
        let offered = desk.session().next(&wish, &Silent).unwrap();
        let part = offered.offers.iter().find(|offer| !offer.check).map(|offer| offer.name.clone());
        let sculpt = AddSculpt::new(Some(Source { path: desk.path(name), part: part.clone() }), None);
        desk.fails(&sculpt, &[&format!("\"{}\" touches no vertex", part.unwrap())]);
    }
}

/// An anchor keeps the skin as it is shown, all of it; a strength takes a part of a change; a whole sculpt is all said.
#[test]
fn anchors_strengths_and_whole_sculpts() {
    let desk = Desk::begun(false);
    desk.sculpt("elbow", 12, 2, 0.1);
    desk.session().add(&AddSculpt { strength: 0.5, ..desk.sculpted("elbow", "swing:12") }, &Silent).unwrap();
    let session = desk.session();
    let half = session.sculpt(&session.file().steps[0]).unwrap();
    drop(session);
    desk.session().undo(None, &Silent).unwrap();
    desk.session().add(&desk.sculpted("elbow", "swing:12"), &Silent).unwrap();
    let session = desk.session();
    let all = session.sculpt(&session.file().steps[1]).unwrap();
    let shown = all.local.as_ref().unwrap().shown.as_ref().unwrap();
    for v in 0..shown.len() {
        assert!((2.0 * (half.positions[v] - shown[v])).distance(all.positions[v] - shown[v]) < 1e-12);
    }
    drop(session);
    let anchor = AddSculpt { role: Some(Role::Anchor), ..AddSculpt::new(None, Some("swing:4".into())) };
    desk.session().add(&anchor, &Silent).unwrap();
    let session = desk.session();
    let step = session.file().steps.last().unwrap();
    assert_eq!((step.role, step.mask, step.shown_by), (Role::Anchor, MaskFrom::Whole, ShownBy::Model(2)));
    assert_eq!(session.sculpt(step).unwrap().local, None);
    drop(session);
    desk.sculpt("wrist", 9, 3, 0.1);
    desk.session().add(&AddSculpt { whole: true, ..desk.sculpted("wrist", "swing:9") }, &Silent).unwrap();
    assert_eq!(desk.session().file().steps.last().unwrap().mask, MaskFrom::Whole);
    assert_eq!(desk.session().file().state().active, [2, 3, 4]);
}

/// What a model had of a sculpt before, and how it meets it after, computed here again from skins.
#[test]
fn new_ground_and_met_are_what_they_say() {
    let desk = Desk::begun(false);
    desk.add("elbow", 12, 2);
    let (frame, unit) = (10, desk.arm.rig.mesh().extent());
    let before = desk.shown(frame);
    let file = desk.add("next", frame, 2);
    let session = desk.session();
    let example = session.sculpt(&file.steps[1]).unwrap();
    drop(session);
    let (after, mask) = (desk.shown(frame), example.local.as_ref().unwrap().mask.as_ref().unwrap());
    let mut own = before.clone();
    let pose = desk.arm.transforms(&desk.poses[frame]);
    dermis_deform::lbs(&desk.arm.rig.mesh().positions, desk.arm.weights(), &pose, &mut own);
    let left = |skin: &[DVec3]| -> Vec<f64> {
        (0..mask.len()).filter(|&v| mask[v]).map(|v| skin[v].distance(example.positions[v])).collect()
    };
    let norm = |left: Vec<f64>| left.iter().map(|x| x * x).sum::<f64>().sqrt();
    let known = 1.0 - norm(left(&before)) / norm(left(&own));
    let scores = file.state().scores.as_ref().unwrap();
    // The skin at 90 degrees was taught at 109: a good part of it was known. Evaluation rounds to 32 bits.
    assert!(known > 0.3 && (scores.known.unwrap() - known).abs() < 1e-5, "{known} {scores:?}");
    let worst = left(&after).into_iter().fold(0.0, f64::max);
    let met = scores.met.as_ref().unwrap();
    assert!((met.worst - worst).abs() < 1e-12 && met.unmet.is_empty() == (worst <= 1e-4 * unit), "{met:?} {worst}");
}

/// A sculpt of the elbow moves skin where nobody sculpted; the line names a frame in which it does, by as much as is found here.
#[test]
fn side_effects_are_what_moved_apart_from_the_sculpt() {
    let desk = Desk::begun(false);
    let before: Vec<Vec<DVec3>> = (0..13).map(|frame| desk.shown(frame)).collect();
    let file = desk.add("elbow", 12, 2);
    let session = desk.session();
    let mask = session.sculpt(&file.steps[0]).unwrap().local.unwrap().mask.unwrap();
    drop(session);
    let mut most = 0.0f64;
    for (frame, before) in before.iter().enumerate() {
        let after = desk.shown(frame);
        let apart = (0..mask.len()).filter(|&v| !mask[v]).map(|v| before[v].distance(after[v]));
        most = apart.fold(most, f64::max);
    }
    let scores = file.state().scores.as_ref().unwrap();
    let told = scores.moved.first().map_or(0.0, |moved| moved.distance).max(scores.mirrored);
    // What is too small to be listed is not.
    assert!((told - most).abs() < 1e-12 || (told == 0.0 && most < 1e-4), "{told} {most}");
}

/// Acts are data, and read back as they were written.
#[test]
fn acts_survive_json() {
    let acts = [
        SessionAct::New(Box::new(NewSession {
            rig: Input::of_path(Path::new("a.glb")),
            motions: vec![Input::new(Source::parse("w.glb#walk"))],
            truths: vec![],
            method: default_method(),
            read: crate::load::ReadOptions::default(),
        })),
        SessionAct::Next(NextPoses { check: true, ..NextPoses::default() }),
        SessionAct::Add(Box::new(AddSculpt::new(Some("e.obj".into()), Some("walk:12".into())))),
        SessionAct::Fit { method: None },
        SessionAct::Status,
        SessionAct::Undo { step: Some(3) },
        SessionAct::Redo { step: None },
        SessionAct::Export { out: "m.dermis".into(), existing: Existing::Keep },
    ];
    for act in acts {
        let recipe = SessionRecipe { folder: "hero.session".into(), act };
        let text = serde_json::to_string(&recipe).unwrap();
        assert_eq!(serde_json::from_str::<SessionRecipe>(&text).unwrap(), recipe, "{text}");
    }
    let short: SessionRecipe =
        serde_json::from_str(r#"{"folder": "s", "act": {"add": {"sculpt": "e.obj", "at": "walk:12"}}}"#).unwrap();
    assert_eq!(short.act, SessionAct::Add(Box::new(AddSculpt::new(Some("e.obj".into()), Some("walk:12".into())))));
}
