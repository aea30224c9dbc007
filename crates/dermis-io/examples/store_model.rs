//! Writes a small model of the current version and prints its skin in the test's pose, for a new file beside
//! `tests/data/version_1.dermis`: `cargo run -p dermis-io --example store_model -- FILE KIND`, with the kinds of
//! `models::tiny`. Never replace a file that is there: the point of it is that it is old.

#[allow(dead_code)]
#[path = "../tests/models/mod.rs"]
mod models;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, kind] = words.as_slice() else { return Err("usage: store_model FILE KIND".into()) };
    let model = models::tiny(kind);
    let mut file = std::fs::File::create_new(path)?;
    std::io::Write::write_all(&mut file, &dermis_io::model_file::write(&model)?)?;
    for p in models::skin(&model) {
        println!("{:?},", p.map(f32::from_bits));
    }
    Ok(())
}
