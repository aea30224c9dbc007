//! Every shader in every language. Needs no adapter.

use dermis_gpu::Shader;
use dermis_gpu::export::{Language, translate};

/// How a language writes its entry point, the uniform buffer, a buffer that is read and one that is written.
fn marks(language: Language, read: u32, written: u32) -> [String; 4] {
    let [entry, uniform, read, written] = match language {
        Language::Wgsl => [
            "@compute @workgroup_size(64)".into(),
            "@binding(0)".into(),
            format!("@binding({read})"),
            format!("@binding({written})"),
        ],
        Language::Glsl => {
            ["#version 430".into(), "binding = 0".into(), format!("binding = {read}"), format!("binding = {written}")]
        }
        Language::GlslEs => [
            "#version 310 es".into(),
            "binding = 0".into(),
            format!("binding = {read}"),
            format!("binding = {written}"),
        ],
        Language::Hlsl => {
            ["[numthreads(64, 1, 1)]".into(), "(b0)".into(), format!("(t{read})"), format!("(u{written})")]
        }
        Language::Msl => {
            ["kernel void main_".into(), "buffer(0)".into(), format!("buffer({read})"), format!("buffer({written})")]
        }
        Language::SpirV => Default::default(),
    };
    [entry, uniform, read, written]
}

#[test]
fn every_shader_translates_to_every_language_with_its_bindings() {
    let all = Shader::all();
    assert_eq!(all.len(), 6 * 5 + 2);
    for shader in all {
        // Rest and positions; words and face normals.
        let (read, written) = if shader.is_of_positions() { (2, 6) } else { (2, 3) };
        for language in Language::ALL {
            let bytes = translate(shader, language).unwrap_or_else(|error| panic!("{language:?}: {error}"));
            if language == Language::SpirV {
                assert!(bytes.len().is_multiple_of(4) && bytes.starts_with(&0x0723_0203u32.to_le_bytes()), "{shader}");
                continue;
            }
            let text = String::from_utf8(bytes).unwrap();
            for mark in marks(language, read, written) {
                assert!(text.contains(&mark), "{shader} in {language:?} has no {mark}:\n{text}");
            }
        }
    }
}

#[test]
fn names_differ() {
    let mut names: Vec<String> = Shader::all().iter().map(Shader::to_string).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), Shader::all().len());
}
