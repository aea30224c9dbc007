//! The library section of the README is the tour of the documentation, which compiles.

/// The lines of the first block of Rust, without those that documentation hides.
fn block(text: &str, fence: &str) -> Vec<String> {
    let lines =
        text.lines().map(|line| line.strip_prefix("//!").map_or(line, |line| line.strip_prefix(' ').unwrap_or(line)));
    let inside = lines.skip_while(|line| *line != fence).skip(1).take_while(|line| *line != "```");
    inside.filter(|line| !line.starts_with("# ")).map(str::to_owned).collect()
}

#[test]
fn the_readme_shows_the_tour() {
    let readme = block(include_str!("../../../README.md"), "```rust");
    let tour = block(include_str!("../src/lib.rs"), "```no_run");
    assert!(tour.len() > 15, "{tour:?}");
    assert_eq!(readme, tour);
}
