//! The n-th step of a write fails, for every n until none does: the old file is whole, nothing else is left, and the error
//! names the file.

use super::{Existing, Output, Step, is_unfinished};
use crate::FileError;
use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::Path;

thread_local! {
    /// Steps that are still to succeed.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// Steps that were asked for.
    static ASKED: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// Lets some steps succeed and the next one fail.
fn failing(step: Step) -> io::Result<()> {
    ASKED.with_borrow_mut(|asked| asked.push(step));
    match LEFT.get() {
        0 => Err(io::Error::other("the cable was pulled")),
        left => {
            LEFT.set(left - 1);
            Ok(())
        }
    }
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Calls `attempt` with 0, 1, 2, ... steps that succeed, until it succeeds; `failed` sees each error and its step.
fn for_every_step(
    mut attempt: impl FnMut() -> Result<(), FileError>,
    mut failed: impl FnMut(Step, &FileError),
) -> Vec<Step> {
    for steps in 0..100 {
        LEFT.set(steps);
        ASKED.take();
        match attempt() {
            Ok(()) => {
                assert_eq!(LEFT.get(), 0, "every step before was made to fail once");
                return ASKED.take();
            }
            Err(error) => {
                let asked = ASKED.take();
                assert_eq!(asked.len(), steps + 1, "nothing is tried after a failure");
                failed(asked[steps], &error);
            }
        }
    }
    panic!("it never succeeds");
}

#[test]
fn a_file_is_old_or_new_whichever_step_fails() {
    for (existing, replaces) in [(Existing::Keep, false), (Existing::Replace, true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let old: &[&str] = if replaces { &["a.bin"] } else { &[] };
        if replaces {
            fs::write(&path, "old").unwrap();
        }
        let output = Output { path: path.clone(), existing, compress: None, before: failing };
        let attempt = || {
            output.write_with(|out| {
                out.write_all(b"ne")?;
                out.write_all(b"w")?;
                Ok(out.flush()?)
            })
        };
        let mut renamed = false;
        let steps = for_every_step(attempt, |step, error| {
            let said = error.to_string();
            assert!(said.contains("a.bin") && said.contains("the cable was pulled"), "{step:?}: {said}");
            // The one step after the file has its name: it is whole, though its name may be lost with the power.
            renamed = step == Step::SyncFolder;
            let (held, expected) = match renamed {
                true => (Some(b"new".to_vec()), vec!["a.bin".to_owned()]),
                false => (replaces.then(|| b"old".to_vec()), old.iter().map(|name| (*name).to_owned()).collect()),
            };
            assert_eq!((fs::read(&path).ok(), names(folder.path())), (held, expected), "{step:?}");
            if renamed && !replaces {
                fs::remove_file(&path).unwrap();
            }
        });
        let all = [Step::Create, Step::Write, Step::Write, Step::Sync, Step::Rename];
        assert_eq!(steps[..5], all);
        #[cfg(unix)]
        assert!(steps[5..] == [Step::SyncFolder] && renamed);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["a.bin".to_owned()]));
    }
}

#[test]
fn a_folder_of_frames_is_refused_whichever_step_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames");
    let output = Output { path: path.clone(), existing: Existing::Replace, compress: None, before: failing };
    let frames = [("1.obj", b"v 1 0 0"), ("2.obj", b"v 2 0 0")];
    let attempt =
        || output.sequence::<FileError>(|write| frames.iter().try_for_each(|(name, bytes)| write(name, *bytes)));
    let steps = for_every_step(attempt, |step, error| {
        let said = error.to_string();
        assert!(said.contains("frames") && said.contains("the cable was pulled"), "{step:?}: {said}");
        if step == Step::MakeFolder {
            return assert!(!path.exists());
        }
        let left = names(&path);
        let known = |name: &String| name == super::UNFINISHED || frames.iter().any(|(frame, _)| frame == name);
        assert!(left.iter().all(known), "{step:?}: {left:?}");
        assert!(is_unfinished(&path) || left.is_empty(), "{step:?}: a reader would take {left:?} for the whole");
        for (name, bytes) in frames.iter().filter(|(name, _)| path.join(name).exists()) {
            assert_eq!(fs::read(path.join(name)).unwrap(), *bytes, "{step:?}: every frame is whole");
        }
    });
    assert_eq!((steps[0], steps[1], *steps.last().unwrap()), (Step::MakeFolder, Step::Mark, Step::Unmark));
    assert_eq!((names(&path), is_unfinished(&path)), (vec!["1.obj".to_owned(), "2.obj".to_owned()], false));
}
