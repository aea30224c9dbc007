//! `dermis studio`, spoken to by a plain client of WebSockets: who is let in, what recipes may do, and when it ends.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::client::Response;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

/// A running program, with a temporary folder of its own.
struct Studio {
    child: Child,
    /// Without its end, the program could not print.
    _said: BufReader<ChildStdout>,
    address: String,
    token: String,
}

impl Studio {
    fn start(desk: &Desk, line: &str) -> Self {
        let temporary = desk.path("temporary");
        std::fs::create_dir_all(&temporary).unwrap();
        let mut command = desk.command(&format!("studio --no-open {line}"));
        let mut child = command.env("TMPDIR", temporary).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        let (_, url) = first.trim().split_once("http://").unwrap_or_else(|| panic!("no address: {first}"));
        let (address, token) = url.split_once("/?token=").unwrap();
        Self { child, _said: said, address: address.into(), token: token.into() }
    }

    /// What a request of a page gets: status line, headers and text.
    fn get(&self, target: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\n{headers}\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn host(&self) -> String {
        format!("Host: {}\r\n", self.address)
    }

    /// Connects with these headers in the place of those that a browser sends; `None` leaves one out.
    fn connect_as(&self, query: &str, headers: &[(&'static str, Option<&str>)]) -> Result<Page, tungstenite::Error> {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut request = format!("ws://{}/{query}", self.address).into_client_request().unwrap();
        request.headers_mut().insert("Origin", format!("http://{}", self.address).parse().unwrap());
        for (name, value) in headers {
            request.headers_mut().remove(*name);
            if let Some(value) = value {
                request.headers_mut().insert(*name, value.parse().unwrap());
            }
        }
        match tungstenite::client(request, stream) {
            Ok((socket, Response { .. })) => Ok(Page { socket, next: 1, progress: 0 }),
            Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }

    fn connect(&self) -> Page {
        self.connect_as(&format!("?token={}", self.token), &[]).unwrap()
    }

    /// The exit code, if the program ends in this time.
    fn end(&mut self, within: Duration) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < within {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A page that is let in.
struct Page {
    socket: WebSocket<TcpStream>,
    next: u64,
    progress: usize,
}

/// An answer, with its byte strings.
struct Answer(Value, Vec<Vec<u8>>);

impl Answer {
    fn done(self) -> Value {
        assert!(self.0.get("failed").is_none(), "{}", self.0);
        self.0["done"].clone()
    }
    fn failed(self) -> String {
        format!("{} | {}", self.0["failed"]["text"].as_str().unwrap(), self.0["failed"]["remedy"].as_str().unwrap())
    }
}

impl Page {
    fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    /// The next message, with its byte strings.
    fn hear(&mut self) -> Answer {
        let message: Value = serde_json::from_str(self.socket.read().unwrap().to_text().unwrap()).unwrap();
        let lengths = message["parts"].as_array().cloned().unwrap_or_default();
        let whole = |length: &Value| {
            let mut part = Vec::new();
            while (part.len() as u64) < length.as_u64().unwrap() {
                part.extend(self.socket.read().unwrap().into_data());
            }
            part
        };
        let parts = lengths.iter().map(whole).collect();
        Answer(message, parts)
    }

    /// Begins a job; result: its number.
    fn ask(&mut self, mut job: Value) -> u64 {
        self.next += 1;
        job["id"] = self.next.into();
        self.send(&job);
        self.next
    }

    /// Hears to the answer of a job, and counts how often the program said how far it is.
    fn answer_to(&mut self, id: u64) -> Answer {
        loop {
            let answer = self.hear();
            match answer.0.get("id") {
                Some(of) if *of == id => return answer,
                Some(_) => {}
                None => {
                    assert!((0.0..=1.0).contains(&answer.0["fraction"].as_f64().unwrap()), "{}", answer.0);
                    self.progress += 1;
                }
            }
        }
    }

    fn job(&mut self, job: Value) -> Answer {
        let id = self.ask(job);
        self.answer_to(id)
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Answer {
        let id = self.ask(json!({"put": [[name, {"$bytes": 0}]], "parts": [bytes.len()]}));
        for piece in bytes.chunks(10_000) {
            self.socket.send(Message::binary(piece.to_vec())).unwrap();
        }
        self.answer_to(id)
    }

    fn take(&mut self, name: &str) -> Vec<u8> {
        let Answer(message, mut parts) = self.job(json!({"take": name}));
        assert_eq!(message["done"], json!({"$bytes": 0}), "{name}");
        parts.remove(0)
    }

    /// What the program says when it closes the connection.
    fn refusal(&mut self) -> (CloseCode, String) {
        loop {
            match self.socket.read().unwrap() {
                Message::Close(Some(frame)) => return (frame.code, frame.reason.to_string()),
                Message::Close(None) => panic!("closed without a reason"),
                _ => {}
            }
        }
    }
}

/// The fit of `rig.npz`, which holds the examples as well, with `walk.npz` held out.
fn fit() -> Value {
    json!({"fit": {
        "rig": {"file": "rig.npz"},
        "examples": {"held": [{"file": "rig.npz"}]},
        "hold-out": [{"file": "walk.npz"}],
        "folds": 0,
        "outputs": {"model": "results/model.dermis", "report": "results/report.html", "existing": "replace"}
    }})
}

#[test]
fn a_page_inspects_fits_and_takes_what_came_of_it() {
    let desk = Desk::new();
    let rig = Tube::new(9, 30, 0.0, Flesh::Planted).with_maps().bundle();
    desk.put("rig.npz", &rig);
    let walk = Tube::new(9, 12, 0.8, Flesh::Planted).bundle();
    let mut studio = Studio::start(&desk, "rig.npz");
    // The page names this program alone, and has no engine inside.
    let page = studio.get(&format!("/?token={}", studio.token), &studio.host());
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("Referrer-Policy: no-referrer"), "{page:.600}");
    assert!(page.contains(&format!("connect-src ws://{};", studio.address)) && !page.contains("connect-src 'none'"));
    assert!(page.contains("class Socket") && page.len() < 200_000, "{} bytes", page.len());

    let mut page = studio.connect();
    let told = page.job(json!({"open": null})).done();
    assert_eq!(told["named"], json!(["rig.npz"]));
    assert!(told["threads"].as_u64().unwrap() >= 1);
    assert_eq!(page.put("walk.npz", &walk).done(), Value::Null);
    page.put("results/.here", b"").done();
    let inspected =
        page.job(json!({"run": {"inspect": {"files": [{"file": "rig.npz"}, {"file": "walk.npz"}]}}})).done();
    assert_eq!(inspected["outcome"][0]["mesh"]["vertices"], 9 * 8 + 2);
    assert_eq!(inspected["outcome"][1]["poses"], 12);
    page.progress = 0;
    let fitted = page.job(json!({"run": fit()})).done();
    assert!(page.progress > 3, "{} times", page.progress);
    assert!(fitted["seconds"].as_f64().unwrap() > 0.0 && fitted["memory"].as_u64().unwrap_or(1) > 0);
    assert!(fitted["outcome"]["held_out"].is_object(), "{}", fitted["outcome"]);
    let model = page.take("results/model.dermis");
    assert!(page.take("results/report.html").starts_with(b"<!doctype html>"));
    assert_eq!(page.job(json!({"take": "results/model.dermis"})).done(), Value::Null, "it was taken");
    // The same recipe beside the same files makes the same model, byte for byte.
    desk.put("walk.npz", &walk);
    desk.put("results/.here", "");
    desk.put("fit.json", fit().to_string());
    desk.good("run fit.json");
    assert!(model == desk.bytes("results/model.dermis"), "the model of the page is the program's");

    // Enveloping finds what the set was planted with: 30 poses determine 24 features, and the ridge is 1e-9.
    let mut planted = fit();
    planted["fit"]["method"] = json!({"mwe": {"anchor": {"bone": "root"}, "rows": "full", "ridge-mode": "absolute", "ridge": {"fixed": 1e-9}}});
    let found = page.job(json!({"run": planted})).done();
    let (left, base) = (number(&found["outcome"], "error.rms"), number(&found["outcome"], "baseline.error.rms"));
    assert!(base > 5e-3 && left < 1e-4 * base, "{left} of {base}");
    // A session stays open from one question to the next.
    let session = json!({"session": {"folder": "s", "act": {"new": {
        "rig": {"file": "rig.npz"}, "motions": [{"file": "walk.npz"}], "truths": []
    }}}});
    page.job(json!({"run": session})).done();
    let files = page.job(json!({"files": true})).done();
    assert!(files.as_array().unwrap().iter().any(|file| file[0] == "s/session.json"), "{files}");
    let facts = |Answer(message, parts): Answer| -> Value {
        assert_eq!(message["done"], json!({"$bytes": 0}));
        let (length, told) = parts[0].split_first_chunk().unwrap();
        let told: Value = serde_json::from_slice(&told[..u32::from_le_bytes(*length) as usize]).unwrap();
        told["facts"].clone()
    };
    let pose = json!({"live": {"pose": {"pose": {}, "skins": ["rig"]}}});
    assert!(facts(page.job(pose.clone())).get("error").is_some(), "no session is open");
    assert_eq!(facts(page.job(json!({"live": {"open": {"folder": "s"}}}))).get("error"), None);
    let told = page.job(pose);
    assert!(told.1[0].len() > 9 * 8 * 12, "the skin at rest: {} bytes", told.1[0].len());
    assert_eq!(facts(told).get("error"), None);

    // The user's file is as it was, and the folder of the session goes with the page.
    page.put("rig.npz", b"another").done();
    assert_eq!(page.take("rig.npz"), b"another");
    assert!(desk.bytes("rig.npz") == rig, "the user's file is changed");
    assert_eq!(desk.names("temporary").len(), 1);
    page.socket.close(None).unwrap();
    assert_eq!(studio.end(Duration::from_secs(30)), Some(0));
    assert!(desk.names("temporary").is_empty());
}

#[test]
fn who_has_no_token_or_comes_from_elsewhere_is_refused() {
    let desk = Desk::new();
    let studio = Studio::start(&desk, "");
    let (token, host) = (studio.token.clone(), studio.host());
    assert_eq!((token.len(), token.chars().all(|x| x.is_ascii_hexdigit())), (32, true), "128 bits: {token}");
    let another: String = token.chars().rev().collect();
    let port = studio.address.rsplit(':').next().unwrap().to_owned();
    let localhost = format!("localhost:{port}");

    let refused = |target: &str, headers: &str, status: &str| {
        let text = studio.get(target, headers);
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status}")) && !text.contains(&token),
            "{target} {headers}\n{text:.200}"
        );
        assert!(!text.contains("<script"), "{target} {headers}");
    };
    let own = format!("/?token={token}");
    refused("/", &host, "403");
    refused(&format!("/?token={another}"), &host, "403");
    refused(&format!("/?token={}", &token[1..]), &host, "403");
    refused(&format!("/x?token={token}"), &host, "403");
    for other in [
        format!("Host: {localhost}\r\n"),
        format!("Host: example.org:{port}\r\n"),
        "Host: 127.0.0.1\r\n".into(),
        String::new(),
    ] {
        refused(&own, &other, "403");
    }
    refused(&own, &format!("{host}{host}"), "400");
    refused(&own, &format!("{host}Origin: http://example.org\r\n"), "403");
    assert!(studio.get(&own, &host).starts_with("HTTP/1.1 200"));

    let status = |query: &str, headers: &[(&'static str, Option<&str>)]| match studio.connect_as(query, headers) {
        Err(tungstenite::Error::Http(response)) => response.status().as_u16(),
        Err(other) => panic!("{other}"),
        Ok(_) => 101,
    };
    let query = format!("?token={token}");
    assert_eq!(status("", &[]), 403);
    assert_eq!(status(&format!("?token={another}"), &[]), 403);
    assert_eq!(status(&query, &[("Origin", None)]), 403);
    for origin in [
        "null",
        "http://example.org",
        "https://127.0.0.1",
        &format!("http://{localhost}"),
        &format!("https://{}", studio.address),
    ] {
        assert_eq!(status(&query, &[("Origin", Some(origin))]), 403, "{origin}");
    }
    for host in [localhost.as_str(), "example.org", &format!("rebound.example.org:{port}")] {
        assert_eq!(status(&query, &[("Host", Some(host))]), 403, "{host}");
    }
    // One page at a time; the second hears why, and the first goes on.
    let mut first = studio.connect();
    first.job(json!({"open": null})).done();
    let mut second = studio.connect();
    second.ask(json!({"open": null}));
    let (code, why) = second.refusal();
    assert_eq!(code, CloseCode::Policy);
    assert!(why.contains("Another page of this studio is open"), "{why}");
    first.job(json!({"open": null})).done();
}

#[test]
fn more_than_the_program_takes_is_refused() {
    let desk = Desk::new();
    let studio = Studio::start(&desk, "");
    let with = |code: CloseCode, says: &str, what: &dyn Fn(&mut Page)| {
        let mut page = studio.connect();
        page.job(json!({"open": null})).done();
        what(&mut page);
        let (found, why) = page.refusal();
        assert!(found == code && why.contains(says), "{found} {why}");
    };
    // The program may have closed the connection before all was sent.
    let sends = |page: &mut Page, message: Message| drop(page.socket.send(message));
    with(CloseCode::Size, "longer than", &|page| sends(page, Message::text(" ".repeat((64 << 20) + 1))));
    with(CloseCode::Size, "larger than 4 GB", &|page| {
        page.send(&json!({"id": 2, "put": [["a", {"$bytes": 0}]], "parts": [(4u64 << 30) + 1]}));
    });
    with(CloseCode::Policy, "only files are put", &|page| page.send(&json!({"id": 2, "run": {}, "parts": [1]})));
    with(CloseCode::Policy, "bytes that no job", &|page| sends(page, Message::binary(vec![1])));
    with(CloseCode::Policy, "more bytes", &|page| {
        page.send(&json!({"id": 2, "put": [["a", {"$bytes": 0}]], "parts": [1]}));
        sends(page, Message::binary(vec![1, 2]));
    });
    for message in [
        "[]",
        "{",
        "{\"id\": 1}",
        "{\"take\": \"a\"}",
        "{\"id\": 1, \"take\": 1, \"put\": 1}",
        "{\"id\": 1, \"put\": [], \"parts\": [-1]}",
    ] {
        with(CloseCode::Policy, "not understood", &|page| sends(page, Message::text(message)));
    }
}

#[test]
fn a_recipe_reaches_no_file_outside_and_no_program() {
    let desk = Desk::new();
    desk.put("secret.npz", Tube::new(24, 4, 0.0, Flesh::Weights).bundle());
    desk.put("own/rig.npz", Tube::new(24, 4, 0.0, Flesh::Weights).bundle());
    let studio = Studio::start(&desk, "own");
    let mut page = studio.connect();
    assert_eq!(page.job(json!({"open": null})).done()["named"], json!(["own/rig.npz"]));
    let secret = desk.path("secret.npz").display().to_string();
    for file in [secret.as_str(), "../secret.npz", "../../secret.npz", "own/../../secret.npz", "/etc/hostname"] {
        let says = page.job(json!({"run": {"inspect": {"files": [{"file": file}]}}})).failed();
        assert!(says.contains(file) && says.contains("leads out") && says.contains("drop the file"), "{says}");
        assert!(page.job(json!({"take": file})).failed().contains("leads out"));
        assert!(page.put(file, b"x").failed().contains("leads out"));
    }
    assert!(page.job(json!({"live": {"open": {"folder": "../own"}}})).failed().contains("leads out"));
    let out = desk.path("out.npz").display().to_string();
    let convert = |out: &str| json!({"run": {"convert": {"inputs": [{"file": "own/rig.npz"}], "out": out}}});
    assert!(page.job(convert(&out)).failed().contains("leads out"));
    let program = json!({"run": {"invert": {
        "rig": {"file": "own/rig.npz"}, "sculpts": [], "poses": {"file": "own/rig.npz"}, "out": "o.npz",
        "deformer": {"program": {"command": "touch ran"}}
    }}});
    assert!(page.job(program).failed().contains("runs another program"));
    // What is wrong with a recipe is said, and the page goes on.
    let without =
        json!({"run": {"pose": {"model": {"file": "none.dermis"}, "motion": {"file": "own/rig.npz"}, "out": "o.pc2"}}});
    assert!(page.job(without).failed().contains("none.dermis"));
    assert!(page.job(json!({"run": {"no such verb": {}}})).failed().contains("no recipe"));
    assert!(page.job(json!({"dance": 1})).failed().contains("dance"));
    assert_eq!(
        page.job(json!({"run": {"inspect": {"files": [{"file": "own/rig.npz"}]}}})).done()["outcome"][0]["poses"],
        4
    );
    assert_eq!(desk.names("."), ["own", "secret.npz", "temporary"]);
}

#[test]
fn a_fit_that_is_stopped_ends_and_the_page_goes_on() {
    let desk = Desk::new();
    // Seconds of work.
    desk.put("rig.npz", Tube::new(1500, 48, 0.0, Flesh::Bulge).bundle());
    desk.put("walk.npz", Tube::new(1500, 4, 0.5, Flesh::Bulge).bundle());
    let mut studio = Studio::start(&desk, "rig.npz walk.npz");
    let mut page = studio.connect();
    page.job(json!({"open": null})).done();
    page.put("results/.here", b"").done();
    let begun = page.ask(json!({"run": fit()}));
    while page.hear().0["fraction"].as_f64().unwrap() < 0.02 {}
    page.send(&json!({"stop": true}));
    let opened = page.ask(json!({"open": null}));
    let stopped = Instant::now();
    let first = loop {
        let answer = page.hear().0;
        if let Some(id) = answer.get("id") {
            break (id.as_u64().unwrap(), answer["failed"]["text"].clone());
        }
    };
    assert_eq!(first, (begun, "cancelled".into()));
    assert!(stopped.elapsed() < Duration::from_secs(20), "{:?}", stopped.elapsed());
    page.answer_to(opened).done();
    assert_eq!(page.job(json!({"take": "results/model.dermis"})).done(), Value::Null);
    // A page that goes ends its fit as well; another may come at once, as when a page is loaded again.
    page.put("results/.here", b"").done();
    page.ask(json!({"run": fit()}));
    while page.hear().0.get("fraction").is_none() {}
    drop(page);
    let mut page = studio.connect();
    page.job(json!({"open": null})).done();
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(studio.child.try_wait().unwrap(), None, "it goes on with a page");
    page.job(json!({"open": null})).done();
    drop(page);
    assert_eq!(studio.end(Duration::from_secs(30)), Some(0), "and ends without");
    assert!(desk.names("temporary").is_empty());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it() {
    let desk = Desk::new();
    desk.put("rig.npz", Tube::new(1500, 48, 0.0, Flesh::Bulge).bundle());
    desk.put("walk.npz", Tube::new(1500, 4, 0.5, Flesh::Bulge).bundle());
    let interrupt = |studio: &Studio| {
        let id = studio.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    };
    let mut idle = Studio::start(&desk, "");
    interrupt(&idle);
    assert_eq!(idle.end(Duration::from_secs(20)), Some(130));
    let mut busy = Studio::start(&desk, "rig.npz walk.npz");
    let mut page = busy.connect();
    page.job(json!({"open": null})).done();
    page.put("results/.here", b"").done();
    page.ask(json!({"run": fit()}));
    while page.hear().0.get("fraction").is_none() {}
    interrupt(&busy);
    assert_eq!(busy.end(Duration::from_secs(30)), Some(130));
    assert!(desk.names("temporary").is_empty());
}

#[test]
fn what_the_command_line_names_must_be_there() {
    let desk = Desk::new();
    desk.bad("studio --no-open nothing.glb", &["nothing.glb"]);
    desk.bad("studio --no-open --port 0", &["--port"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    desk.bad(&format!("studio --no-open --port {port}"), &[&port, "cannot be used", "leave --port out"]);
}
