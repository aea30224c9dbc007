//! What comes after a panic: a sentence for the page, and a program that goes on.
//!
//! The engine catches panics. The program that is given away is compiled so that a panic ends the process, which makes it smaller; there
//! the process begins anew in its own place, at the same address, and the page connects to it again and brings its files.

use super::wire::Page;
use serde_json::{Value, json};
use std::any::Any;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The job under way: who asked for it, and its number.
#[derive(Clone, Default)]
pub struct UnderWay(Arc<Mutex<Option<(Arc<Page>, Value)>>>);

impl UnderWay {
    /// A job begins.
    pub fn begin(&self, page: &Arc<Page>, id: &Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::clone(page), id.clone()));
    }

    /// No job is under way.
    pub fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether one is.
    pub fn is_one(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// What a panic said.
pub fn words(fault: &(dyn Any + Send)) -> &str {
    let text = fault.downcast_ref::<&str>().copied();
    text.or_else(|| fault.downcast_ref::<String>().map(String::as_str)).unwrap_or("it gave no reason")
}

/// What the page hears of a panic.
pub fn told(words: &str) -> Value {
    let remedy = "This is a fault of Dermis: please report it. Your files are still here.";
    json!({ "text": format!("the engine ended: {words}"), "remedy": remedy, "ended": true })
}

/// The variable that a program finds which began anew: the port and the token that it had.
const AGAIN: &str = "DERMIS_STUDIO_AGAIN";

/// The port and the token of the program before this one, if this one began anew.
pub fn begun_again() -> Option<(u16, String)> {
    let before = std::env::var(AGAIN).ok()?;
    let (port, token) = before.split_once('/')?;
    Some((port.parse().ok()?, token.to_owned()))
}

/// Where a panic ends the process, has it begin anew with the same arguments, in the folder that it was started in, at the same port and with
/// the same token. `session` is the folder of its files, which goes.
#[cfg(unix)]
pub fn begin_again_after_one(from: &Path, port: u16, token: &str, session: &Path, under_way: &UnderWay) {
    use std::os::unix::process::CommandExt;
    let Ok(program) = std::env::current_exe() else { return };
    if cfg!(not(panic = "abort")) {
        return;
    }
    let (from, session, again) = (from.to_owned(), session.to_owned(), format!("{port}/{token}"));
    let (under_way, said) = (under_way.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        said(panic);
        if let Ok(job) = under_way.0.try_lock()
            && let Some((page, id)) = &*job
        {
            page.send_last(id, told(words(panic.payload())));
        }
        let _ = std::fs::remove_dir_all(&session);
        // It comes back only if there is no such program any longer; then the process ends.
        let mut anew = std::process::Command::new(&program);
        let _ = anew.args(std::env::args_os().skip(1)).current_dir(&from).env(AGAIN, &again).exec();
    }));
}

/// Elsewhere the process ends, and the page says so.
#[cfg(not(unix))]
pub fn begin_again_after_one(_: &Path, _: u16, _: &str, _: &Path, _: &UnderWay) {}
