//! Who is let in: a browser on this machine that has the address with its token, and one page at a time.
//!
//! Three things are asked of every request. Its host is this address, to the letter: a name of another site that was made to lead here (DNS
//! rebinding) is refused. A request that another page sends has that page's origin, and is refused. And it has the token.

use super::engine::Job;
use super::wire::{Page, page};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::CloseCode;

/// What is needed to let somebody in.
pub struct Door {
    /// This program's address, such as 127.0.0.1:41234.
    pub address: String,
    /// The random number in the address of the page.
    pub token: String,
    /// The page.
    pub page: String,
    /// Where files under way are.
    pub incoming: PathBuf,
    /// Where the page sits that was let in.
    pub seat: Arc<Seat>,
    /// Where its jobs go.
    pub jobs: Sender<Job>,
}

/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest head of a request.
const MOST_HEAD: usize = 16 << 10;
/// How long a page waits for the seat, as one that is loaded again may be here before the old one is gone.
const QUEUE: Duration = Duration::from_millis(1500);

/// The place of the one page.
#[derive(Default)]
pub struct Seat(Mutex<Sitting>);

#[derive(Default)]
struct Sitting {
    page: Option<Arc<Page>>,
    /// When the last page left.
    left: Option<Instant>,
}

impl Seat {
    fn sitting(&self) -> MutexGuard<'_, Sitting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when no page is here, after there was one.
    pub fn left(&self) -> Option<Instant> {
        self.sitting().left
    }

    /// Whether there is a page, or was one.
    pub fn was_taken(&self) -> bool {
        let sitting = self.sitting();
        sitting.page.is_some() || sitting.left.is_some()
    }

    /// Takes the seat if it is free.
    fn take(&self, page: &Arc<Page>) -> bool {
        let mut sitting = self.sitting();
        let is_free = sitting.page.is_none();
        if is_free {
            *sitting = Sitting { page: Some(Arc::clone(page)), left: None };
        }
        is_free
    }

    fn leave(&self) {
        *self.sitting() = Sitting { page: None, left: Some(Instant::now()) };
    }
}

/// What is said of a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It gets the page.
    Page,
    /// It becomes a connection, by the key that the answer is made of.
    Connection(String),
    /// It is refused: the status, and a sentence.
    Refused(&'static str, &'static str),
}

impl Door {
    /// Lets in whoever may come, to the end of the program.
    pub fn stand(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().filter_map(Result::ok) {
            let door = Arc::clone(self);
            // Whoever breaks off is gone, and that is all.
            std::thread::spawn(move || door.meet(stream));
        }
    }

    fn meet(&self, mut stream: TcpStream) -> io::Result<()> {
        let head = head_of(&mut stream)?;
        match self.judge(&head) {
            Verdict::Page => answer(&mut stream, "200 OK", "text/html", &self.page),
            Verdict::Refused(status, why) => answer(&mut stream, status, "text/plain", why),
            Verdict::Connection(key) => {
                let accepted = derive_accept_key(key.as_bytes());
                let head = format!(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accepted}\r\n\r\n"
                );
                stream.write_all(head.as_bytes())?;
                stream.set_read_timeout(None)?;
                self.seat(stream)
            }
        }
    }

    /// Seats a page, and hears it to its end.
    fn seat(&self, stream: TcpStream) -> io::Result<()> {
        let (page, hearing) = page(stream)?;
        let came = Instant::now();
        while !self.seat.take(&page) {
            if came.elapsed() > QUEUE {
                hearing.refuse(
                    CloseCode::Policy,
                    "Another page of this studio is open. Close that one, then load this one again.",
                );
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        hearing.jobs(&self.incoming, &|job| {
            // The engine ends with the program.
            let _ = self.jobs.send(job);
        });
        self.seat.leave();
        Ok(())
    }

    /// Says what a request gets.
    fn judge(&self, head: &[u8]) -> Verdict {
        const BAD: Verdict = Verdict::Refused("400 Bad Request", "This is no request that the studio answers.\n");
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        if !request.parse(head).is_ok_and(|parsed| parsed.is_complete()) || request.method != Some("GET") {
            return BAD;
        }
        let target = request.path.unwrap_or_default();
        // A header that comes twice is none that a browser sends.
        let header = |name: &str| {
            let mut found = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
            match (found.next(), found.next()) {
                (None, _) => Ok(None),
                (Some(header), None) => std::str::from_utf8(header.value).map(Some).map_err(drop),
                _ => Err(()),
            }
        };
        let (Ok(host), Ok(origin), Ok(upgrade), Ok(key)) =
            (header("Host"), header("Origin"), header("Upgrade"), header("Sec-WebSocket-Key"))
        else {
            return BAD;
        };
        if host != Some(&self.address) {
            return Verdict::Refused(
                "403 Forbidden",
                "This is not the address of the studio. Open the one that dermis studio printed.\n",
            );
        }
        let connects = upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"));
        let own = format!("http://{}", self.address);
        // A browser says the origin of every connection; of a page that a person opens it says none.
        if origin.map_or(connects, |origin| origin != own) {
            return Verdict::Refused(
                "403 Forbidden",
                "Another page asks. Open the address that dermis studio printed.\n",
            );
        }
        if !is_same(target, &format!("/?token={}", self.token)) {
            return Verdict::Refused(
                "403 Forbidden",
                "The token is missing or is another one. Open the whole address that dermis studio printed.\n",
            );
        }
        match (connects, key, header("Sec-WebSocket-Version")) {
            (false, ..) => Verdict::Page,
            (true, Some(key), Ok(Some("13"))) => Verdict::Connection(key.to_owned()),
            _ => BAD,
        }
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && differ == 0
}

/// The head of a request, with the empty line at its end.
fn head_of(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let begun = Instant::now();
    let mut head = Vec::new();
    let mut byte = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        let left =
            PATIENCE.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()).ok_or(io::ErrorKind::TimedOut)?;
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut byte)?;
        if count == 0 || head.len() + count > MOST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&byte[..count]);
    }
    Ok(head)
}

/// Answers a request. The page is stored nowhere, shows its address to nobody, and stands in no other page.
fn answer(stream: &mut TcpStream, status: &str, kind: &str, text: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: frame-ancestors 'none'\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}
