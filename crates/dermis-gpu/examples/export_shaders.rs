//! Writes every shader in every language into a folder: `cargo run -p dermis-gpu --example export_shaders -- DIR`.

use dermis_gpu::Shader;
use dermis_gpu::export::{Language, translate};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        return Err("usage: export_shaders DIR".into());
    };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    let mut written = 0;
    for shader in Shader::all() {
        for language in Language::ALL {
            let bytes = translate(shader, language)?;
            std::fs::write(folder.join(format!("{shader}.{}", language.extension())), bytes)?;
            written += 1;
        }
    }
    println!("{written} files in {}", folder.display());
    Ok(())
}
