//! Translation of the shaders into the languages of engines.
//!
//! Bindings keep their numbers: binding n of the WGSL is `binding = n` in GLSL and SPIR-V (set 0), register n of space 0 in
//! HLSL (b for the uniform buffer, t for what is read, u for what is written), and `buffer(n)` in MSL. Nothing checks
//! bounds: the buffers must be as docs/gpu.md says.

use crate::Shader;
use naga::back::{glsl, hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};
use std::error::Error;
use std::fmt::Display;

/// A language that engines take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// As it is.
    Wgsl,
    /// GLSL 4.30, compute.
    Glsl,
    /// GLSL ES 3.10, compute. Needs seven storage buffers in a shader, which not every phone has.
    GlslEs,
    /// HLSL, shader model 5.1; 6.0 takes it, too.
    Hlsl,
    /// Metal Shading Language 2.0.
    Msl,
    /// SPIR-V 1.3, little endian.
    SpirV,
}

/// Why a shader was not translated. All shaders of this crate are, which a test checks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shader {shader}: {reason}")]
pub struct TranslationError {
    /// Name of the shader.
    pub shader: String,
    /// What the translator says.
    pub reason: String,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 6] = [Self::Wgsl, Self::Glsl, Self::GlslEs, Self::Hlsl, Self::Msl, Self::SpirV];

    /// How the names of files end. Those of GLSL are what `glslangValidator` expects.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Wgsl => "wgsl",
            Self::Glsl => "comp",
            Self::GlslEs => "es.comp",
            Self::Hlsl => "hlsl",
            Self::Msl => "metal",
            Self::SpirV => "spv",
        }
    }
}

/// A shader in a language, as the bytes of a file. The entry point is `main`, in MSL `main_`.
///
/// # Errors
/// [`TranslationError`].
pub fn translate(shader: Shader, language: Language) -> Result<Vec<u8>, TranslationError> {
    let source = shader.source();
    let failed = |reason: &dyn Display| TranslationError { shader: shader.to_string(), reason: reason.to_string() };
    let module = naga::front::wgsl::parse_str(&source).map_err(|error| failed(&error.emit_to_string(&source)))?;
    // Without optional capabilities: what every card can do.
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| failed(&error.emit_to_string(&source)))?;
    match language {
        Language::Wgsl => Ok(source.into_bytes()),
        Language::Glsl => to_glsl(&module, &info, glsl::Version::Desktop(430)).map_err(|error| failed(&error)),
        Language::GlslEs => to_glsl(&module, &info, glsl::Version::new_gles(310)).map_err(|error| failed(&error)),
        Language::Hlsl => to_hlsl(&module, &info).map_err(|error| failed(&error)),
        Language::Msl => to_msl(&module, &info).map_err(|error| failed(&error)),
        Language::SpirV => to_spirv(&module, &info).map_err(|error| failed(&error)),
    }
}

/// The binding of every buffer, and whether it is written.
fn buffers(module: &Module) -> impl Iterator<Item = (naga::ResourceBinding, bool)> + '_ {
    module.global_variables.iter().filter_map(|(_, variable)| {
        let written = match variable.space {
            AddressSpace::Storage { access } => access.contains(StorageAccess::STORE),
            _ => false,
        };
        variable.binding.map(|binding| (binding, written))
    })
}

fn to_glsl(module: &Module, info: &ModuleInfo, version: glsl::Version) -> Result<Vec<u8>, glsl::Error> {
    let options = glsl::Options {
        version,
        binding_map: buffers(module).map(|(binding, _)| (binding, binding.binding as u8)).collect(),
        ..glsl::Options::default()
    };
    let entry =
        glsl::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: "main".into(), multiview: None };
    let (mut text, policies) = (String::new(), naga::proc::BoundsCheckPolicies::default());
    glsl::Writer::new(&mut text, module, info, &options, &entry, policies)?.write()?;
    Ok(text.into_bytes())
}

fn to_hlsl(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, hlsl::Error> {
    let target = |binding: naga::ResourceBinding| hlsl::BindTarget { register: binding.binding, ..Default::default() };
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V5_1,
        binding_map: buffers(module).map(|(binding, _)| (binding, target(binding))).collect(),
        fake_missing_bindings: false,
        restrict_indexing: false,
        force_loop_bounding: false,
        ..hlsl::Options::default()
    };
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &hlsl::PipelineOptions::default()).write(module, info, None)?;
    Ok(text.into_bytes())
}

/// `buffer(8)` is declared for the sizes of buffers, which bounds checks would read; nothing reads it.
const MSL_SIZES: u8 = 8;

fn to_msl(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, Box<dyn Error>> {
    let target = |(binding, mutable): (naga::ResourceBinding, bool)| {
        (binding, msl::BindTarget { buffer: Some(binding.binding as u8), mutable, ..Default::default() })
    };
    let resources = msl::EntryPointResources {
        resources: buffers(module).map(target).collect(),
        sizes_buffer: Some(MSL_SIZES),
        ..Default::default()
    };
    let options = msl::Options {
        lang_version: (2, 0),
        per_entry_point_map: [("main".to_owned(), resources)].into(),
        fake_missing_bindings: false,
        force_loop_bounding: false,
        ..msl::Options::default()
    };
    let (text, told) = msl::write_string(module, info, &options, &msl::PipelineOptions::default())?;
    // An entry point that cannot be written is left out, and told here.
    told.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(text.into_bytes())
}

fn to_spirv(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, spv::Error> {
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    let entry = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: "main".into() };
    let words = spv::write_vec(module, info, &options, Some(&entry))?;
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}
