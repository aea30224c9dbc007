//! The jobs of the page, one after another, as `page/worker.js` of `dermis-browser` does them in a browser.

use super::fault::{self, UnderWay};
use super::folder::{Folder, refused};
use super::wire::{Page, part_of, place_of};
use dermis_browser::{answer, live_answer};
use dermis_workflow::fits::Cancelled;
use dermis_workflow::memory::peak;
use dermis_workflow::recipe::{Course, Watch};
use dermis_workflow::verbs::session::live::Live;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// What a page asks for.
pub struct Job {
    /// The number that its answer has.
    pub id: Value,
    /// What it is: `open`, `put`, `run`, `take`, `live`, `files`.
    pub kind: String,
    /// What it is of.
    pub given: Value,
    /// The files that came with it.
    pub files: Vec<NamedTempFile>,
    /// How often the page had said stop before.
    pub stops: u64,
    /// Who asks.
    pub page: Arc<Page>,
}

/// What came of a job: JSON, with [`place_of`] where a byte string stands.
struct Done(Value, Vec<Vec<u8>>);

/// Why a job failed, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    text: String,
    remedy: String,
}

impl Failure {
    /// What went wrong.
    #[cfg(test)]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A failure with its remedy.
    pub fn new(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { text: text.into(), remedy: remedy.into() }
    }
}

/// Does the jobs of pages. What stays from one job to the next is in it.
pub struct Engine {
    folder: Folder,
    /// The session that the page shows.
    live: Live,
}

impl Engine {
    /// An engine on the files of a session.
    pub fn new(folder: Folder) -> Self {
        Self { folder, live: Live::default() }
    }

    /// Does jobs to the end of the program. Ctrl-C, told by `interrupted`, ends what runs.
    pub fn work(mut self, asked: &Receiver<Job>, under_way: &UnderWay, interrupted: &AtomicBool) {
        for job in asked {
            // Nobody waits for what was asked before a stop.
            if job.page.has_left(job.stops) {
                continue;
            }
            let (id, page, stops) = (job.id.clone(), Arc::clone(&job.page), job.stops);
            under_way.begin(&page, &id);
            let watch = Telling { page: &page, stops, interrupted, told: Mutex::default() };
            // What a fault may have left half done is not used again: the page opens the engine anew.
            let done = catch_unwind(AssertUnwindSafe(|| self.done(job, &watch)));
            under_way.end();
            match done {
                Ok(Ok(Done(done, parts))) => page.send(json!({ "id": id, "done": done }), &parts),
                Ok(Err(Failure { text, remedy })) => {
                    let failed = json!({ "text": text, "remedy": remedy, "ended": false });
                    page.send(json!({ "id": id, "failed": failed }), &[]);
                }
                Err(fault) => {
                    let failed = fault::told(fault::words(&*fault));
                    page.send(json!({ "id": id, "failed": failed }), &[]);
                }
            }
        }
    }

    /// Does a job.
    fn done(&mut self, job: Job, watch: &dyn Watch) -> Result<Done, Failure> {
        match job.kind.as_str() {
            // The desk of a page that was just loaded, or that lost its engine, is empty but for the files of the command line.
            "open" => {
                self.folder.empty()?;
                self.live = Live::default();
                Ok(Done(json!({ "named": self.folder.names(), "threads": rayon::current_num_threads() }), vec![]))
            }
            "put" => self.put(&job.given, job.files),
            "run" => self.run(&job.given, watch),
            "take" => {
                let taken = self.folder.take(job.given.as_str().unwrap_or_default())?;
                Ok(taken.map_or(Done(Value::Null, vec![]), |bytes| Done(place_of(0), vec![bytes])))
            }
            // What is asked may name files, as a recipe does.
            "live" => {
                refused(&job.given)?;
                Ok(Done(place_of(0), vec![live_answer(&mut self.live, &job.given.to_string())]))
            }
            "files" => Ok(Done(json!(self.folder.all()?), vec![])),
            #[cfg(test)]
            "fault" => panic!("a fault on purpose"),
            other => Err(Failure::new(format!("\"{other}\" is no job of the studio"), "load the page again")),
        }
    }

    /// Puts `[[name, bytes], …]`.
    fn put(&mut self, given: &Value, files: Vec<NamedTempFile>) -> Result<Done, Failure> {
        let mut files: Vec<Option<NamedTempFile>> = files.into_iter().map(Some).collect();
        for put in given.as_array().into_iter().flatten() {
            let name = put[0].as_str().unwrap_or_default();
            let file = part_of(&put[1]).and_then(|part| files.get_mut(part)?.take());
            let file =
                file.ok_or_else(|| Failure::new(format!("\"{name}\" came without its bytes"), "load the page again"))?;
            self.folder.put(name, file)?;
        }
        Ok(Done(Value::Null, vec![]))
    }

    /// Runs a recipe.
    fn run(&self, recipe: &Value, watch: &dyn Watch) -> Result<Done, Failure> {
        refused(recipe)?;
        let start = Instant::now();
        let mut answer = answer(&recipe.to_string(), watch);
        if let Some(error) = answer.get("error") {
            let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
            return Err(Failure::new(text("text"), text("remedy")));
        }
        answer["seconds"] = start.elapsed().as_secs_f64().into();
        answer["memory"] = peak().into();
        Ok(Done(answer, vec![]))
    }
}

/// Tells a page how far its recipe is, at most twenty times a second, and stops the recipe of a page that wants no more of it.
struct Telling<'a> {
    page: &'a Page,
    stops: u64,
    interrupted: &'a AtomicBool,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    course: Course,
    step: String,
    at: Option<Instant>,
}

/// How long the page hears nothing of a step that goes on.
const PAUSE: Duration = Duration::from_millis(50);

impl Watch for Telling<'_> {
    fn plan(&self, steps: &[(&str, f64)]) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).course.plan(steps);
    }

    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        if self.page.has_left(self.stops) || self.interrupted.load(Ordering::Relaxed) {
            return ControlFlow::Break(Cancelled);
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.course.go_to(step, done, total);
        let is_early = told.at.is_some_and(|at| at.elapsed() < PAUSE);
        if told.step != step || !is_early {
            step.clone_into(&mut told.step);
            told.at = Some(Instant::now());
            let (course, left) = (&told.course, told.course.remaining().unwrap_or_default());
            self.page.send(json!({ "step": course.name(), "fraction": course.fraction(), "left": left }), &[]);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire;
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::channel;
    use tungstenite::WebSocket;
    use tungstenite::protocol::Role;

    #[test]
    fn a_fault_is_told_and_the_next_job_is_done() {
        let session = tempfile::tempdir().unwrap();
        let engine = Engine::new(Folder::new(session.path().to_path_buf(), &[]).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (page, _hearing) = wire::page(listener.accept().unwrap().0).unwrap();
        let mut client = WebSocket::from_raw_socket(stream, Role::Client, None);
        let (jobs, asked) = channel();
        for (id, kind, stops) in [(1, "fault", 0), (2, "take", 1), (3, "take", 0)] {
            let (kind, given) = (kind.to_owned(), Value::from("none"));
            jobs.send(Job { id: id.into(), kind, given, files: vec![], stops, page: Arc::clone(&page) }).unwrap();
        }
        drop(jobs);
        let under_way = UnderWay::default();
        engine.work(&asked, &under_way, &AtomicBool::new(false));
        assert!(!under_way.is_one());
        let mut hear = || serde_json::from_str::<Value>(client.read().unwrap().to_text().unwrap()).unwrap();
        let told = hear();
        assert_eq!((&told["id"], &told["failed"]["ended"]), (&1.into(), &true.into()));
        assert!(told["failed"]["text"].as_str().unwrap().contains("a fault on purpose"), "{told}");
        // The second was asked before a stop that did not come: it is for nothing.
        assert_eq!(hear(), json!({"id": 3, "done": null}));
    }
}
