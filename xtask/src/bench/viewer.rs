//! `cargo xtask bench viewer [--json OUT] [--vertices N] [--quick]`: bytes of the page that `dermis export viewer` writes, and the
//! milliseconds of JavaScript that a frame takes in Chromium.
//!
//! The character is the bundled body with more vertices, and a joint model with the default number of morph targets. The page shows 100
//! moments of its walk and times each (`window.dermis.frames`). What the graphics card does after the last call of a frame is not counted, so
//! that a machine without one measures the same.

use super::driver::{self, dermis_bench, short};
use super::{fail, machine, machine_line};
use crate::tools;
use crate::workspace::{Build, dermis, root};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// What a page may take: megabytes, and milliseconds of JavaScript in the median frame.
const MOST_MEGABYTES: f64 = 25.0;
const MOST_MILLISECONDS: f64 = 10.0;
/// Frames before the ones that count, and those.
const FRAMES: [usize; 2] = [10, 100];
/// How long the page may take to open and to play.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs the bench.
pub fn run(arguments: &[&str]) -> ExitCode {
    const USAGE: &str = "bench viewer takes: [--json OUT] [--vertices N] [--quick]";
    let (mut out, mut vertices, mut quick) = (None, 100_000, false);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match (argument, rest.as_slice().first()) {
            ("--quick", _) => quick = true,
            ("--json", Some(path)) => out = Some(PathBuf::from(path)),
            ("--vertices", Some(n)) if n.parse().is_ok_and(|n: usize| n > 0) => {
                vertices = n.parse().unwrap_or(vertices);
            }
            _ => return crate::usage::usage(USAGE),
        }
        if argument != "--quick" {
            rest.next();
        }
    }
    match measure(vertices, quick) {
        Err(reason) => fail(&reason),
        Ok(row) => {
            let machine = machine();
            let of = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
            println!("{}.\n", machine_line(&machine));
            println!(
                "| {vertices} vertices, {} morph targets | measured | limit | of the limit |\n|---|---|---|---|",
                row["shapes"]
            );
            let limited = |name: &str, value: f64, unit: &str, limit: f64| {
                println!("| {name} | {} {unit} | {limit} {unit} | {:.2} |", short(value), value / limit);
            };
            limited("page", of("megabytes"), "MB", MOST_MEGABYTES);
            limited("JavaScript, median of 100 frames", of("median_ms"), "ms", MOST_MILLISECONDS);
            println!("| JavaScript, largest of 100 frames | {} ms | – | – |", short(of("largest_ms")));
            match driver::write(out.as_deref(), &json!({ "machine": machine, "page": row })) {
                Ok(()) => ExitCode::SUCCESS,
                Err(reason) => fail(&reason),
            }
        }
    }
}

/// Makes the character and its page, and opens it.
fn measure(vertices: usize, quick: bool) -> Result<Value, String> {
    let browser = tools::browser().ok_or("no Chromium was found (Debian's package chromium, or CHROMIUM)")?;
    let folder = root().join("target/bench-viewer");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let desk = folder.to_string_lossy().into_owned();
    let count = vertices.to_string();
    let body = root().join("assets/body").to_string_lossy().into_owned();
    let mut made = vec!["viewer", &count, &body, &desk];
    made.extend(quick.then_some("--quick"));
    dermis_bench(&made)?;
    let program = dermis(if quick { Build::Tests } else { Build::Release }).ok_or("the program does not build")?;
    let dermis = |line: &str| {
        let mut command = Command::new(&program);
        driver::json_of(command.args(line.split(' ')).args(["--force", "--json", "--quiet"]).current_dir(&folder))
    };
    dermis("fit character.npz --examples character.npz -s 0.01 --folds 0 -o character.dermis")?;
    let exported = dermis("export viewer character.dermis --motion motion.npz -o page")?;
    let page = folder.join("page/index.html");
    let mut row = play(&browser, &page, &folder)?;
    row["megabytes"] = json!(exported["page"]["bytes"].as_f64().ok_or("the program printed no bytes of a page")? / 1e6);
    row["shapes"] = exported["shapes"].clone();
    Ok(row)
}

/// Opens a page in Chromium. It tells its times by going to an address of this program.
fn play(browser: &Path, page: &Path, folder: &Path) -> Result<Value, String> {
    let told = |error: std::io::Error| error.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(told)?;
    let address = listener.local_addr().map_err(told)?;
    let script = format!(
        "<script>dermisReady.then((dermis) => {{ dermis.frames({}); return dermis.frames({}); }}).catch(String)
        .then((said) => {{ location.href = 'http://{address}/?' + (Array.isArray(said) ? said.map((ms) => ms.toFixed(3)).join() : 'failed'); }});
        </script></body>",
        FRAMES[0], FRAMES[1]
    );
    let text = std::fs::read_to_string(page).map_err(told)?;
    let timed = folder.join("timed.html");
    std::fs::write(&timed, text.replacen("</body>", &script, 1)).map_err(told)?;
    let profile = folder.join("profile");
    let mut chromium = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--window-size=1400,1000", "--remote-debugging-port=0"])
        .args(["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", timed.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(told)?;
    let said = listen(&listener);
    let _ = chromium.kill().and_then(|()| chromium.wait());
    let mut times: Vec<f64> = said?.split(',').filter_map(|ms| ms.parse().ok()).collect();
    times.sort_by(f64::total_cmp);
    if times.len() != FRAMES[1] {
        return Err(format!("{} shows no skin", timed.display()));
    }
    Ok(json!({ "median_ms": times[times.len() / 2], "largest_ms": times[times.len() - 1] }))
}

/// What follows the question mark of the first request that has one.
fn listen(listener: &TcpListener) -> Result<String, String> {
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let Ok((mut stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let mut line = String::new();
        let read = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(Duration::from_secs(5))));
        if read.and_then(|()| BufReader::new(&stream).read_line(&mut line)).is_err() {
            continue;
        }
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        if let Some(said) = line.split(' ').nth(1).and_then(|path| path.strip_prefix("/?")) {
            return Ok(said.to_owned());
        }
    }
    Err(format!("the page said nothing for {} seconds", PATIENCE.as_secs()))
}
