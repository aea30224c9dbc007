//! The header is the one that the source makes.

use dermis_testkit::snapshot::compare_with_stored;
use std::path::Path;

/// The sources with exported items, in the order in which the header has them.
const SOURCES: [&str; 6] = ["status", "lib", "memory", "matrices", "model", "runner"];

#[test]
fn the_header_is_made_from_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let sources = SOURCES.iter().map(|name| folder.join(format!("src/{name}.rs")));
    let builder = sources.fold(cbindgen::Builder::new().with_config(config), |all, source| all.with_src(source));
    let mut header = Vec::new();
    builder.generate().unwrap().write(&mut header);
    // C89 knows no comments that begin with two slashes.
    let header = String::from_utf8(header).unwrap();
    let header = header.replace("#endif // __cplusplus", "#endif /* __cplusplus */");
    let header = header.replace("#endif  // __cplusplus", "#endif /* __cplusplus */");
    compare_with_stored(&folder.join("include/dermis.h"), header.trim_start());
}
