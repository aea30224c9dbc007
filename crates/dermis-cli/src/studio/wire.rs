//! How jobs and answers cross: `page/socket.js` of `dermis-browser` is the other end.
//!
//! A message is a text, JSON, with the lengths of its byte strings in `parts`. In it a byte string stands as `{"$bytes": its number}`; the
//! bytes follow, in frames that belong to one string each. Bytes of files go to the disk as they come.

use super::engine::Job;
use serde_json::{Map, Value, json};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;
use tungstenite::error::CapacityError;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

/// The most bytes of a frame. A text holds the positions of a sculpt at most, and the page sends bytes in shorter pieces.
pub const MOST_FRAME: usize = 64 << 20;
/// The most bytes of a file that a page sends.
pub const MOST_FILE: u64 = 4 << 30;

/// How long a page that is refused is listened to.
const FAREWELL: Duration = Duration::from_secs(2);

/// A connection that is read in one thread and written in another. Whatever is written is one or several whole frames, and goes out as one.
#[derive(Debug)]
struct Half {
    from: TcpStream,
    to: Arc<Mutex<TcpStream>>,
}

impl Read for Half {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.from.read(buffer)
    }
}

impl Write for Half {
    fn write(&mut self, frames: &[u8]) -> io::Result<usize> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner).write_all(frames)?;
        Ok(frames.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A page, as the engine sees it.
#[derive(Debug)]
pub struct Page {
    to: Mutex<WebSocket<Half>>,
    /// How often it said stop; a job is for nothing once this has changed.
    stops: AtomicU64,
    is_gone: AtomicBool,
}

/// The end of a page that the program reads.
#[derive(Debug)]
pub struct Hearing {
    from: WebSocket<Half>,
    page: Arc<Page>,
}

/// Both ends of a page whose handshake is done.
///
/// # Errors
/// Those of the system.
pub fn page(stream: TcpStream) -> io::Result<(Arc<Page>, Hearing)> {
    stream.set_nodelay(true)?;
    let to = Arc::new(Mutex::new(stream.try_clone()?));
    let half = |from| Half { from, to: Arc::clone(&to) };
    let config = || WebSocketConfig::default().max_message_size(Some(MOST_FRAME)).max_frame_size(Some(MOST_FRAME));
    let [writes, reads] = [stream.try_clone()?, stream]
        .map(|stream| WebSocket::from_raw_socket(half(stream), Role::Server, Some(config())));
    let page = Arc::new(Page { to: Mutex::new(writes), stops: AtomicU64::new(0), is_gone: AtomicBool::new(false) });
    Ok((Arc::clone(&page), Hearing { from: reads, page }))
}

impl Page {
    /// How often the page said stop.
    pub fn stops(&self) -> u64 {
        self.stops.load(Ordering::Relaxed)
    }

    /// Whether nobody waits for a job any longer that came after so many stops.
    pub fn has_left(&self, stops: u64) -> bool {
        self.is_gone.load(Ordering::Relaxed) || self.stops() != stops
    }

    /// Sends a message with its byte strings. A page that is gone hears nothing.
    pub fn send(&self, mut message: Value, parts: &[Vec<u8>]) {
        if !parts.is_empty() {
            message["parts"] = parts.iter().map(Vec::len).collect();
        }
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let frames = parts.iter().flat_map(|part| part.chunks(MOST_FRAME));
        let mut sent = to.send(Message::text(message.to_string()));
        for frame in frames {
            sent = sent.and_then(|()| to.send(Message::binary(frame.to_vec())));
        }
        // What cannot be written is seen by who reads.
        drop(sent);
    }

    /// Sends that a job failed, unless another message is under way: for a process that ends.
    pub fn send_last(&self, id: &Value, failed: Value) {
        if let Ok(mut to) = self.to.try_lock() {
            let _ = to.send(Message::text(json!({ "id": id, "failed": failed }).to_string()));
        }
    }

    /// Closes the connection with a sentence for the person.
    fn close(&self, code: CloseCode, reason: &str) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = to.close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = to.flush();
    }
}

/// A message whose bytes are still under way.
struct Under {
    job: Job,
    lengths: Vec<u64>,
}

impl Hearing {
    /// Hears the page to its end, and hands on its jobs. Files under way are in the folder `incoming`.
    pub fn jobs(mut self, incoming: &Path, hand: &dyn Fn(Job)) {
        let mut under: Option<Under> = None;
        let refusal = loop {
            let heard = match self.from.read() {
                Ok(Message::Text(text)) if under.is_none() => self.begun(&text, incoming),
                Ok(Message::Binary(bytes)) => match under.take() {
                    Some(begun) => begun.with(&bytes),
                    None => Err((CloseCode::Policy, "bytes that no job has named")),
                },
                Ok(Message::Text(_)) => Err((CloseCode::Policy, "a job before the bytes of the last one")),
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Ok(Message::Close(_)) => {
                    // The answer to it is under way.
                    let _ = self.from.flush();
                    break None;
                }
                Err(Error::Capacity(CapacityError::MessageTooLong { .. })) => {
                    break Some((CloseCode::Size, "a frame is longer than the program takes"));
                }
                Err(_) => break None,
            };
            match heard {
                Ok(Some(begun)) if begun.is_whole() => hand(begun.job),
                Ok(begun) => under = begun,
                Err(refusal) => break Some(refusal),
            }
        };
        self.page.is_gone.store(true, Ordering::Relaxed);
        if let Some((code, reason)) = refusal {
            self.refuse(code, reason);
        }
    }

    /// Closes the connection with a sentence for the person. What the page sent meanwhile is read and forgotten: a connection that is closed
    /// over unread bytes takes the sentence with it.
    pub fn refuse(mut self, code: CloseCode, reason: &str) {
        self.page.close(code, reason);
        let (from, begun) = (&mut self.from.get_mut().from, Instant::now());
        let _ = from.set_read_timeout(Some(FAREWELL));
        let mut forgotten = vec![0; 64 << 10];
        while begun.elapsed() < FAREWELL && from.read(&mut forgotten).is_ok_and(|count| count > 0) {}
    }

    /// What a text begins; nothing where it says stop.
    fn begun(&self, text: &str, incoming: &Path) -> Result<Option<Under>, (CloseCode, &'static str)> {
        let not_understood = (CloseCode::Policy, "a message that is not understood");
        let Ok(Value::Object(mut message)) = serde_json::from_str(text) else { return Err(not_understood) };
        if message.contains_key("stop") {
            self.page.stops.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let lengths = lengths(message.remove("parts")).ok_or(not_understood)?;
        let id = message.remove("id").ok_or(not_understood)?;
        let mut jobs = message.into_iter();
        let (Some((kind, given)), None) = (jobs.next(), jobs.next()) else { return Err(not_understood) };
        if !lengths.is_empty() && kind != "put" {
            return Err((CloseCode::Policy, "only files are put"));
        }
        if lengths.iter().any(|length| *length > MOST_FILE) {
            return Err((CloseCode::Size, "a file is larger than 4 GB: name it on the command line of dermis studio"));
        }
        let unwritten = (CloseCode::Error, "a file cannot be stored: there may be no room in the temporary folder");
        let made = lengths.iter().map(|_| NamedTempFile::new_in(incoming)).collect::<io::Result<_>>();
        let files = made.map_err(|_| unwritten)?;
        let job = Job { id, kind, given, files, stops: self.page.stops(), page: Arc::clone(&self.page) };
        Ok(Some(Under { job, lengths }))
    }
}

/// The lengths of the byte strings of a message.
fn lengths(parts: Option<Value>) -> Option<Vec<u64>> {
    match parts {
        None => Some(Vec::new()),
        Some(Value::Array(parts)) => parts.iter().map(Value::as_u64).collect(),
        Some(_) => None,
    }
}

impl Under {
    /// The first byte string that is not full.
    fn next(&self) -> Option<usize> {
        let written = |at: &usize| self.job.files[*at].as_file().metadata().map_or(0, |file| file.len());
        (0..self.lengths.len()).find(|at| written(at) < self.lengths[*at])
    }

    fn is_whole(&self) -> bool {
        self.next().is_none()
    }

    /// The same with further bytes.
    fn with(mut self, bytes: &[u8]) -> Result<Option<Self>, (CloseCode, &'static str)> {
        let Some(at) = self.next() else { return Err((CloseCode::Policy, "more bytes than were named")) };
        let file = self.job.files[at].as_file_mut();
        let there = file.metadata().map_or(0, |file| file.len());
        if there + bytes.len() as u64 > self.lengths[at] {
            return Err((CloseCode::Policy, "more bytes than were named"));
        }
        match file.write_all(bytes) {
            Ok(()) => Ok(Some(self)),
            Err(_) => Err((CloseCode::Error, "a file cannot be stored: there may be no room in the temporary folder")),
        }
    }
}

/// Where a byte string stands in a message.
pub fn place_of(part: usize) -> Value {
    Value::Object(Map::from_iter([("$bytes".to_owned(), part.into())]))
}

/// The number of the byte string that stands here.
pub fn part_of(place: &Value) -> Option<usize> {
    usize::try_from(place.get("$bytes")?.as_u64()?).ok()
}
