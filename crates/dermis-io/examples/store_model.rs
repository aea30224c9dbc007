//! Stores a model of today's format for `tests/stored_models.rs`, and prints its skin in the test's pose.
//!
//! `cargo run -p dermis-io --example store_model -- FILE.dermis KIND > FILE.txt`, with a kind of `models::tiny`, for files in
//! `tests/data`. Never replace a file that is there: the test needs what an older program wrote.

#[allow(dead_code)]
#[path = "../tests/models/mod.rs"]
mod models;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, kind] = words.as_slice() else { return Err("usage: store_model FILE KIND".into()) };
    let model = models::tiny(kind);
    let mut file = std::fs::File::create_new(path)?;
    dermis_io::model_file::write(&model, &mut file)?;
    for p in models::skin(&model) {
        println!("{:?},", p.map(f32::from_bits));
    }
    Ok(())
}
