//! A deformer that is a program of its own, spoken to over its standard input and output.
//!
//! Nothing it does can stop Dermis: what goes to it and what comes from it passes through threads of their own, an answer
//! is waited for until the time limit and never longer, and a frame is read only if its length is one that is expected. A
//! program that breaks the protocol is ended, together with what it has started.

use dermis_io::Space;
use dermis_io::deformer_protocol::{
    Heard, Listener, MAGIC, VERSION, call_frame, frame, greeting, pose_frame, rig_frame, skin_call, skin_length,
    skin_points,
};
use dermis_rig::clock::Instant;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Rig};
use std::io::{Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Bytes of the program's standard error that are kept, to be quoted.
const LAST_WORDS: usize = 400;

/// Why a program was ended. `call` counts from 1; 0 is the beginning, before the first call.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It could not be started.
    #[error("the program \"{program}\" cannot be started: {source}")]
    Start {
        /// As the user named it.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// The command line is none.
    #[error("the program's command line {reason}")]
    CommandLine {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The rig is too large for a frame.
    #[error("a mesh of {vertices} vertices is too large to be sent to a program")]
    TooLarge {
        /// The rig's vertices.
        vertices: usize,
    },
    /// It broke the protocol.
    #[error("the program \"{program}\"{}: {reason}{}", at(*call), said(last_words))]
    Broke {
        /// As the user named it.
        program: String,
        /// The call it was to answer.
        call: u32,
        /// What was received, and what was expected.
        reason: String,
        /// The end of what it wrote to its standard error.
        last_words: String,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

fn at(call: u32) -> String {
    if call == 0 { " at its start".into() } else { format!(", call {call}") }
}

fn said(last_words: &str) -> String {
    match last_words.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!("; the last it said: {}", line.trim().chars().take(160).collect::<String>()),
        None => String::new(),
    }
}

/// A running program. It is ended when this is dropped.
pub struct Program<'a> {
    name: String,
    space: Space,
    vertices: usize,
    child: Child,
    to: Option<Sender<Vec<u8>>>,
    from: Receiver<Heard>,
    received: Arc<AtomicUsize>,
    last_words: Arc<Mutex<Vec<u8>>>,
    limit: Duration,
    calls: u32,
    pose: Option<u32>,
    stopped: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Program<'a> {
    /// Starts `command` (words separated by blanks; quotes keep blanks together) and waits until it is ready.
    ///
    /// - `space`: axes and unit it is spoken to in, those of the rig's file
    /// - `poses`: names of the poses, by whose numbers it will be called
    /// - `limit`: how long an answer may take, also the first
    /// - `stopped`: asked some ten times a second whether to give up
    ///
    /// # Errors
    /// [`ProgramError`].
    pub fn start(
        command: &str,
        rig: &Rig,
        space: &Space,
        poses: &[&str],
        limit: Duration,
        stopped: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, ProgramError> {
        let words = words(command)?;
        let vertices = rig.mesh().positions.len();
        let too_large = || ProgramError::TooLarge { vertices };
        // Of all frames the rig's is the longest but for a pose of very many bones.
        let first = rig_frame(rig, space, poses).ok_or_else(too_large)?;
        let mut line = Command::new(&words[0]);
        line.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what it starts ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut line, 0);
        let mut child = line.spawn().map_err(|source| ProgramError::Start { program: command.into(), source })?;
        let (received, last_words) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (to, outbox) = channel();
        let (inbox, from) = channel();
        if let Some(pipe) = child.stdin.take() {
            std::thread::spawn(move || speak(pipe, &outbox));
        }
        if let Some(pipe) = child.stdout.take() {
            let received = Arc::clone(&received);
            std::thread::spawn(move || listen(pipe, vertices, &received, &inbox));
        }
        if let Some(pipe) = child.stderr.take() {
            let last_words = Arc::clone(&last_words);
            std::thread::spawn(move || overhear(pipe, &last_words));
        }
        let (name, space) = (command.to_owned(), space.clone());
        let (to, calls, pose) = (Some(to), 0, None);
        let mut program =
            Self { name, space, vertices, child, to, from, received, last_words, limit, calls, pose, stopped };
        program.say(greeting());
        match program.hear(12)? {
            Heard::Greeting(bytes) => program.greeted(&bytes)?,
            other => return Err(program.unexpected(other, "its magic and version", 12)),
        }
        program.say(first);
        match program.hear(8)? {
            Heard::Frame(kind, payload) if &kind == b"REDY" && payload.is_empty() => Ok(program),
            other => Err(program.unexpected(other, "REDY", 8)),
        }
    }

    /// How often it was called.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Where the program puts `points` of the rest pose in a pose: one call. Points are in the axes and unit of the rig's
    /// file, as they are sent; `transforms` are ours.
    ///
    /// # Errors
    /// [`ProgramError`]; the program has been ended then.
    ///
    /// # Panics
    /// If there are not as many points and places as vertices.
    pub fn deform(
        &mut self,
        pose: u32,
        transforms: &BoneTransforms,
        points: &[DVec3],
        out: &mut [DVec3],
    ) -> Result<(), ProgramError> {
        assert!(points.len() == self.vertices && out.len() == self.vertices, "another number of points than vertices");
        let too_large = ProgramError::TooLarge { vertices: self.vertices };
        let told = if self.pose == Some(pose) { Some(vec![]) } else { pose_frame(pose, transforms, &self.space) };
        let call = call_frame(self.calls + 1, pose, points);
        let (Some(told), Some(call)) = (told, call) else { return Err(too_large) };
        self.pose = Some(pose);
        self.calls += 1;
        self.say(told);
        self.say(call);
        let expected = skin_length(self.vertices);
        let heard = self.hear(8 + expected)?;
        let Heard::Frame(kind, payload) = heard else {
            return Err(self.unexpected(heard, "SKIN", 8 + expected));
        };
        if &kind != b"SKIN" || payload.len() != expected {
            return Err(self.unexpected(Heard::Frame(kind, payload), "SKIN", 8 + expected));
        }
        if let Some(answered) = skin_call(&payload).filter(|answered| *answered != self.calls) {
            return Err(self.broke(format!("it answered call {answered}")));
        }
        skin_points(&payload, out);
        match out.iter().position(|p| !p.is_finite()) {
            Some(vertex) => {
                let bad = out.iter().filter(|p| !p.is_finite()).count();
                Err(self.broke(format!("{bad} of {} points are not finite (first: vertex {vertex})", self.vertices)))
            }
            None => Ok(()),
        }
    }

    fn say(&self, bytes: Vec<u8>) {
        // Nobody listens once the pipe is closed; what was heard says why.
        if let (Some(to), false) = (&self.to, bytes.is_empty()) {
            let _ = to.send(bytes);
        }
    }

    /// The next thing it says, of `expected` bytes.
    fn hear(&mut self, expected: usize) -> Result<Heard, ProgramError> {
        let start = Instant::now();
        loop {
            let left = self.limit.saturating_sub(start.elapsed());
            match self.from.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(heard) => return Ok(heard),
                Err(RecvTimeoutError::Disconnected) => return Ok(Heard::Closed(vec![])),
                Err(RecvTimeoutError::Timeout) if (self.stopped)() => {
                    self.end();
                    return Err(ProgramError::Cancelled);
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    let (got, seconds) = (self.received.load(Ordering::Relaxed), self.limit.as_secs_f64());
                    return Err(
                        self.broke(format!("no answer in {seconds} s; {got} of {expected} bytes were received"))
                    );
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn greeted(&mut self, bytes: &[u8; 12]) -> Result<(), ProgramError> {
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        match (bytes[..8] == MAGIC, version) {
            (true, VERSION) => Ok(()),
            (true, _) => Err(self.broke(format!("it speaks version {version} of the protocol, Dermis {VERSION}"))),
            (false, _) => Err(self.broke(format!("it began with {} instead of the protocol's magic", quoted(bytes)))),
        }
    }

    /// Anything but what was awaited, in words.
    fn unexpected(&mut self, heard: Heard, awaited: &str, expected: usize) -> ProgramError {
        let reason = match heard {
            Heard::Frame(kind, text) if &kind == b"FAIL" => {
                let text = String::from_utf8_lossy(&text).into_owned();
                format!("it says: {}", text.chars().take(240).collect::<String>())
            }
            Heard::Frame(kind, payload) if &kind == b"SKIN" && awaited == "SKIN" => {
                let (points, all) = (payload.len().saturating_sub(4) / 24, self.vertices);
                format!("it returned {points} points ({} bytes) for {all}", payload.len())
            }
            Heard::Frame(kind, payload) => {
                format!("a frame {} of {} bytes instead of {awaited}", quoted(&kind), payload.len())
            }
            Heard::Stray(head) => {
                let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
                match &head[..4] {
                    b"SKIN" | b"FAIL" | b"REDY" => {
                        format!(
                            "a frame {} of {length} bytes, where {awaited} has {}",
                            quoted(&head[..4]),
                            expected - 8
                        )
                    }
                    _ => format!("{} instead of a frame; it may print nothing but frames", quoted(&head)),
                }
            }
            Heard::Greeting(bytes) => format!("{} instead of {awaited}", quoted(&bytes)),
            Heard::Closed(part) => {
                let how = self.how_it_ended();
                let what = if part.is_empty() { String::new() } else { format!(": {}", quoted(&part)) };
                format!("it {how} after {} of {expected} bytes of {awaited}{what}", part.len())
            }
        };
        self.broke(reason)
    }

    /// Whether it ended by itself, which shows soon after its pipe is closed.
    fn how_it_ended(&mut self) -> String {
        for _ in 0..20 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return format!("ended ({status})");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        "closed its standard output".into()
    }

    fn broke(&mut self, reason: String) -> ProgramError {
        // What it wrote before it ended may still be on its way.
        std::thread::sleep(Duration::from_millis(50));
        self.end();
        let last_words = self.last_words.lock().map_or_else(|_| vec![], |words| words.clone());
        let last_words = String::from_utf8_lossy(&last_words).into_owned();
        ProgramError::Broke { program: self.name.clone(), call: self.calls, reason, last_words }
    }

    /// Ends it and what it started, now.
    fn end(&mut self) {
        self.to = None;
        #[cfg(unix)]
        if let Ok(group) = i32::try_from(self.child.id())
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), nix::sys::signal::Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program<'_> {
    /// Says goodbye, and gives it a second to leave.
    fn drop(&mut self) {
        if self.to.is_some() {
            self.say(frame(*b"END ", &[]).unwrap_or_default());
            self.to = None;
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(1) && matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.end();
    }
}

/// Writes what is put into the box. Ends when nobody puts anything in, or the pipe is closed.
fn speak(mut pipe: ChildStdin, outbox: &Receiver<Vec<u8>>) {
    while let Ok(bytes) = outbox.recv() {
        if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
            return;
        }
    }
}

/// Reads the greeting and then frames, until the pipe is closed or something strange comes.
fn listen(mut pipe: ChildStdout, vertices: usize, received: &AtomicUsize, inbox: &Sender<Heard>) {
    let mut listener = Listener::new(vertices);
    loop {
        received.store(0, Ordering::Relaxed);
        let heard = listener.hear(&mut pipe, &mut |more| _ = received.fetch_add(more, Ordering::Relaxed));
        let last = matches!(heard, Heard::Closed(_) | Heard::Stray(_));
        if inbox.send(heard).is_err() || last {
            return;
        }
    }
}

/// Keeps the end of what the program writes to its standard error.
fn overhear(mut pipe: ChildStderr, last_words: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        let Ok(mut words) = last_words.lock() else { return };
        words.extend(&buffer[..length]);
        let over = words.len().saturating_sub(LAST_WORDS);
        words.drain(..over);
    }
}

/// The beginning of bytes, as a text if they are one.
fn quoted(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(24)];
    format!("\"{}\"", shown.escape_ascii())
}

/// The words of a command line: blanks separate, single and double quotes keep together.
fn words(line: &str) -> Result<Vec<String>, ProgramError> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (quote, words.first().is_some_and(|first| !first.is_empty())) {
        (None, true) => Ok(words),
        (Some(_), _) => Err(ProgramError::CommandLine { reason: "has a quote that is not closed" }),
        (None, false) => Err(ProgramError::CommandLine { reason: "is empty" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_blanks_together() {
        for (line, expected) in [
            ("python3 deform.py", &["python3", "deform.py"][..]),
            ("  a\t b ", &["a", "b"]),
            (
                "'C:\\Program Files\\x.exe' --name=\"two words\" ''",
                &["C:\\Program Files\\x.exe", "--name=two words", ""],
            ),
            ("it\"'\"s", &["it's"]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
        for line in ["", "  ", "\"", "a 'b", "''"] {
            assert!(words(line).is_err(), "{line}");
        }
    }
}
