//! The shaders, put together from their parts.

use std::fmt;

/// What a shader of positions starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseForm {
    Lbs,
    Dqs,
    DirectDeltaMush,
    CorrectiveSmooth,
    AnimationSpace,
    Rest,
}

/// What it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CorrectionForm {
    None,
    EnvelopingRow,
    EnvelopingFull,
    Joints,
    Shapes,
}

/// One of the shaders of this crate. Each has one entry point, `main`, of workgroups of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shader(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Positions(BaseForm, CorrectionForm),
    Faces,
    Normals,
}

const BASES: [BaseForm; 6] = [
    BaseForm::Lbs,
    BaseForm::Dqs,
    BaseForm::DirectDeltaMush,
    BaseForm::CorrectiveSmooth,
    BaseForm::AnimationSpace,
    BaseForm::Rest,
];
const CORRECTIONS: [CorrectionForm; 5] = [
    CorrectionForm::None,
    CorrectionForm::EnvelopingRow,
    CorrectionForm::EnvelopingFull,
    CorrectionForm::Joints,
    CorrectionForm::Shapes,
];

impl Shader {
    /// All shaders.
    pub fn all() -> Vec<Self> {
        let positions = BASES.into_iter().flat_map(|b| CORRECTIONS.map(|c| Kind::Positions(b, c)));
        positions.chain([Kind::Faces, Kind::Normals]).map(Self).collect()
    }

    pub(crate) const FACES: Self = Self(Kind::Faces);
    pub(crate) const NORMALS: Self = Self(Kind::Normals);

    pub(crate) fn positions(base: BaseForm, correction: CorrectionForm) -> Self {
        Self(Kind::Positions(base, correction))
    }

    /// Whether the shader is one of positions; the others are of mesh normals.
    pub fn is_of_positions(self) -> bool {
        matches!(self.0, Kind::Positions(..))
    }

    /// The source, WGSL.
    pub fn source(self) -> String {
        let (base, correction) = match self.0 {
            Kind::Faces => {
                return format!("{}\n{}", include_str!("shaders/mesh.wgsl"), include_str!("shaders/faces.wgsl"));
            }
            Kind::Normals => {
                return format!("{}\n{}", include_str!("shaders/mesh.wgsl"), include_str!("shaders/normals.wgsl"));
            }
            Kind::Positions(base, correction) => (base, correction),
        };
        let base = match base {
            BaseForm::Lbs => include_str!("shaders/base_lbs.wgsl"),
            BaseForm::Dqs => include_str!("shaders/base_dqs.wgsl"),
            BaseForm::DirectDeltaMush => include_str!("shaders/base_direct_delta_mush.wgsl"),
            BaseForm::CorrectiveSmooth => include_str!("shaders/base_corrective_smooth.wgsl"),
            BaseForm::AnimationSpace => include_str!("shaders/base_animation_space.wgsl"),
            BaseForm::Rest => include_str!("shaders/base_rest.wgsl"),
        };
        let correction = match correction {
            CorrectionForm::None => include_str!("shaders/correction_none.wgsl"),
            CorrectionForm::EnvelopingRow => include_str!("shaders/correction_enveloping_row.wgsl"),
            CorrectionForm::EnvelopingFull => include_str!("shaders/correction_enveloping_full.wgsl"),
            CorrectionForm::Joints => include_str!("shaders/correction_joints.wgsl"),
            CorrectionForm::Shapes => include_str!("shaders/correction_shapes.wgsl"),
        };
        let parts = [include_str!("shaders/common.wgsl"), base, correction, include_str!("shaders/positions.wgsl")];
        parts.join("\n")
    }
}

/// The name of the shader, as a file would have it.
impl fmt::Display for Shader {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (base, correction) = match self.0 {
            Kind::Faces => return f.write_str("faces"),
            Kind::Normals => return f.write_str("normals"),
            Kind::Positions(base, correction) => (base, correction),
        };
        f.write_str(match base {
            BaseForm::Lbs => "lbs",
            BaseForm::Dqs => "dqs",
            BaseForm::DirectDeltaMush => "direct_delta_mush",
            BaseForm::CorrectiveSmooth => "corrective_smooth",
            BaseForm::AnimationSpace => "animation_space",
            BaseForm::Rest => "rest",
        })?;
        f.write_str(match correction {
            CorrectionForm::None => "",
            CorrectionForm::EnvelopingRow => "_enveloping_row",
            CorrectionForm::EnvelopingFull => "_enveloping_full",
            CorrectionForm::Joints => "_joints",
            CorrectionForm::Shapes => "_shapes",
        })
    }
}
