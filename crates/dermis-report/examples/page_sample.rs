//! What does a report look like? Writes the sample page to the given path (`page_sample.html` by default).

#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "page_sample.html".into());
    std::fs::write(&path, sample::page().to_html())?;
    println!("{path}");
    Ok(())
}
