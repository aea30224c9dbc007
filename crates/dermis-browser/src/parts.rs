//! The parts of the page, and how they become one file. `cargo xtask browser` makes the page with the engine inside of them, and
//! `dermis studio` the one that it serves; both take the list from here.

/// The page with a place for every part, such as `/*STYLE*/`.
pub const TEMPLATE: &str = include_str!("../page/page.html");

/// Its styles: those of a report, and its own.
pub const STYLES: [&str; 2] =
    [include_str!("../../dermis-report/src/page/html/page.css"), include_str!("../page/page.css")];

/// Scripts of the report and its viewer, which draw the page's skins.
const DRAWING: [&str; 10] = [
    include_str!("../../dermis-report/src/page/html/tools.js"),
    include_str!("../../dermis-report/src/page/html/view/data.js"),
    include_str!("../../dermis-report/src/page/html/view/shapes.js"),
    include_str!("../../dermis-report/src/page/html/view/camera.js"),
    include_str!("../../dermis-report/src/page/html/view/webgl.js"),
    include_str!("../../dermis-report/src/page/html/view/software.js"),
    include_str!("../../dermis-report/src/page/html/view/overlay.js"),
    include_str!("../../dermis-report/src/page/html/view/pointer.js"),
    include_str!("../../dermis-report/src/page/html/view/controls.js"),
    include_str!("../../dermis-report/src/viewer/stage.js"),
];

/// The page's own scripts, in the order in which they need each other.
const SCRIPTS: [&str; 13] = [
    include_str!("../page/recipe.js"),
    include_str!("../page/roles.js"),
    include_str!("../page/socket.js"),
    include_str!("../page/desk.js"),
    include_str!("../page/zip.js"),
    include_str!("../page/session.js"),
    include_str!("../page/surface.js"),
    include_str!("../page/brush.js"),
    include_str!("../page/gizmo.js"),
    include_str!("../page/maps.js"),
    include_str!("../page/loop.js"),
    include_str!("../page/compare.js"),
    include_str!("../page/app.js"),
];

/// Returns what runs in the page.
pub fn app() -> String {
    [&DRAWING[..], &SCRIPTS[..]].concat().join("\n")
}

/// Returns the page with its parts, each in the place that names it.
///
/// # Errors
/// A text for people, if a place has no end or no part.
pub fn filled(parts: &[(&str, String)]) -> Result<String, String> {
    let mut html = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("/*") {
        let (name, after) = after.split_once("*/").ok_or("a place of the page has no end")?;
        let part = parts.iter().find(|(known, _)| *known == name);
        html += before;
        html += &part.ok_or_else(|| format!("the page has a place for {name}, which nothing fills"))?.1;
        rest = after;
    }
    Ok(html + rest)
}
