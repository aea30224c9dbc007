//! Two folders as a web server on this machine gives them out: modules of JavaScript cannot be imported from a disk.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// Serves the workspace as `/repo/` and `desk` as `/desk/` for as long as the program runs. Returns the address.
pub fn serve(desk: &Path) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let desk = desk.to_path_buf();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let desk = desk.clone();
            // A browser opens connections that it never uses: each has a thread of its own.
            std::thread::spawn(move || answer(stream, &desk));
        }
    });
    address
}

fn answer(mut stream: TcpStream, desk: &Path) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let request = lines.next()?.ok()?;
    lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
    let path = request.split(' ').nth(1)?.split('?').next()?.to_owned();
    let file = match (path.strip_prefix("/repo/"), path.strip_prefix("/desk/")) {
        (Some(rest), _) => repository().join(rest),
        (_, Some(rest)) => desk.join(rest),
        _ => PathBuf::new(),
    };
    let kind = match file.extension().and_then(|ending| ending.to_str()) {
        Some("js" | "mjs") => "text/javascript",
        Some("html") => "text/html",
        _ => "application/octet-stream",
    };
    let (status, body) = std::fs::read(&file).map_or(("404 Not Found", vec![]), |body| ("200 OK", body));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

/// The root of the workspace.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
