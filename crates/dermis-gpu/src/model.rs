//! A baked model as flat arrays: what the shaders of positions read. Layouts: docs/gpu.md.

use crate::list::{Places, append};
use crate::shaders::{BaseForm, CorrectionForm};
use crate::{GpuError, Unsupported};
use bytemuck::{Pod, Zeroable};
use dermis_deform::baked::{
    BakedBase, BakedCorrection, BakedEnveloping, BakedJoints, BakedLayer, BakedShapes, NO_ANCHOR, Weights,
};
use dermis_deform::joints::CorrectionFrame;
use dermis_deform::pose_space::Carrier;
use dermis_deform::{Baked, EnvelopingForm};
use dermis_rig::Rows;
use dermis_rig::glam::{Vec3, Vec4};

/// Skinned normals are written.
const NORMALS: u32 = 1;
/// The pose is welded.
const WELDED: u32 = 2;
/// After the rows of the bones come those of the world, which a vertex without a bone follows.
const WORLD: u32 = 4;

/// A joint model has a layer.
const LAYER: u32 = 8;
/// The pass corrects the positions that the pass before wrote,
const FOLLOWS: u32 = 16;
/// and another pass follows, so that positions stay without the shift.
const FOLLOWED: u32 = 32;

/// `List` of the shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct List {
    starts: u32,
    counts: u32,
    indices: u32,
    values: u32,
}

/// `Model` of the shaders, the uniform buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Header {
    pub(crate) vertices: u32,
    pub(crate) poses: u32,
    pub(crate) stride: u32,
    pub(crate) row: u32,
    base: List,
    correction: List,
    weights: List,
    shared_part: List,
    anchors: u32,
    relevance: u32,
    flags: u32,
    choice: u32,
    pub(crate) rows: u32,
    pub(crate) quaternions: u32,
    pub(crate) turns: u32,
    pub(crate) bones: u32,
    pub(crate) frames: u32,
    pub(crate) features: u32,
    per_length: f32,
    neighbourhoods: u32,
    layer: List,
    pub(crate) shapes: u32,
    corners: u32,
    centres: u32,
    /// A uniform buffer is read 16 bytes at a time.
    unused: u32,
}

impl Header {
    /// Whether the rows of the bones end with those of the world.
    pub(crate) fn has_world(&self) -> bool {
        self.flags & WORLD != 0
    }
}

/// The arrays of a pass: the base with a model's first correction, or one of the others.
pub(crate) struct Arrays {
    pub(crate) base: BaseForm,
    pub(crate) correction: CorrectionForm,
    pub(crate) header: Header,
    pub(crate) words: Vec<u32>,
    pub(crate) coefficients: Vec<Vec4>,
    pub(crate) extras: Vec<Vec4>,
    /// Rest positions and radii; then, for some forms, what the correction or the normals need.
    pub(crate) rest: Vec<Vec4>,
}

impl Arrays {
    /// The passes of a model whose poses have `bones` bones, one a correction. `normals` are those at rest where skinned normals are
    /// wanted.
    ///
    /// All passes read one buffer of poses: the sections of each come after those of the passes before.
    pub(crate) fn passes(model: &Baked, bones: usize, normals: Option<&[Vec3]>) -> Result<Vec<Self>, GpuError> {
        let corrections = model.corrections();
        let (mut made, mut stride) = (Vec::with_capacity(corrections.len().max(1)), 1);
        for at in 0..corrections.len().max(1) {
            let mut pass = Self::pass(model, corrections.get(at), at > 0, stride, bones, normals)?;
            pass.header.flags |= if at > 0 { FOLLOWS } else { 0 };
            pass.header.flags |= if at + 1 < corrections.len() { FOLLOWED } else { 0 };
            stride = pass.header.stride;
            made.push(pass);
        }
        made.iter_mut().for_each(|pass| pass.header.stride = stride);
        Ok(made)
    }

    /// A pass whose sections of a pose begin at `stride`.
    fn pass(
        model: &Baked,
        correction: Option<&BakedCorrection>,
        follows: bool,
        stride: u32,
        bones: usize,
        normals: Option<&[Vec3]>,
    ) -> Result<Self, GpuError> {
        let vertices = model.vertices();
        let mut made = Self {
            base: BaseForm::Rest,
            correction: CorrectionForm::None,
            header: Header { vertices: vertices as u32, stride, ..Header::default() },
            words: vec![],
            coefficients: vec![],
            extras: vec![],
            rest: vec![],
        };
        let radii = correction.map_or(&[][..], BakedCorrection::radii);
        if !radii.is_empty() {
            counts("radii", radii.len(), vertices)?;
        }
        let radius = |v: usize| radii.get(v).copied().unwrap_or(-1.0);
        made.rest = model.rest().iter().enumerate().map(|(v, p)| p.extend(radius(v))).collect();
        // Of a base whose positions are corrected already only shapes read more: its linear map.
        let reads_base =
            matches!(correction, Some(BakedCorrection::Shapes(shapes)) if shapes.model.carrier == Carrier::Base);
        let weights = if follows && !reads_base { None } else { made.add_base(model.base(), bones)? };
        match correction {
            None => {
                if let Some(normals) = normals {
                    counts("normals at rest", normals.len(), vertices)?;
                    made.header.flags |= NORMALS;
                    made.add_second_plane();
                    for (v, n) in normals.iter().enumerate() {
                        made.rest[vertices + v] = n.as_dvec3().normalize_or_zero().as_vec3().extend(0.0);
                    }
                }
            }
            Some(_) if normals.is_some() => return Err(Unsupported::SkinnedNormals.into()),
            Some(BakedCorrection::PoseSpace(_)) => return Err(Unsupported::PoseSpace.into()),
            Some(BakedCorrection::Enveloping(correction)) => made.add_enveloping(correction, bones)?,
            Some(BakedCorrection::Joints(correction)) => made.add_joints(correction, bones, weights)?,
            Some(BakedCorrection::Shapes(correction)) => made.add_shapes(correction, bones)?,
        }
        for (what, len) in [
            ("words of a model", made.words.len()),
            ("coefficients of a model", made.coefficients.len()),
            ("extra numbers of a model", made.extras.len()),
            ("numbers of a pose", made.header.stride as usize),
        ] {
            if u32::try_from(len).is_err() {
                return Err(GpuError::TooLarge { what, size: len as u64, most: u32::MAX.into() });
            }
        }
        Ok(made)
    }

    /// The base; the weights it stored, where they are weights.
    fn add_base<'a>(&mut self, base: &'a BakedBase, bones: usize) -> Result<Option<(&'a Weights, List)>, GpuError> {
        let vertices = self.header.vertices as usize;
        match base {
            BakedBase::RotationalRegression(_) => Err(Unsupported::RotationalRegression.into()),
            BakedBase::Stack(_) => Err(Unsupported::Stack.into()),
            BakedBase::Given => Err(Unsupported::Given.into()),
            BakedBase::Rest => Ok(None),
            BakedBase::Rigid(bone_of) => {
                // A blend of one bone; the one after the last is the world.
                self.base = BaseForm::Lbs;
                let moving: Vec<u32> = bone_of.iter().copied().filter(|&bone| bone != NO_ANCHOR).collect();
                below("bone", &moving, moving.len(), bones)?;
                let bone_of: Vec<u32> = bone_of.iter().map(|&bone| bone.min(bones as u32)).collect();
                let rows = if moving.len() < bone_of.len() { bones + 1 } else { bones };
                self.header.flags |= if rows > bones { WORLD } else { 0 };
                let one_each = Rows::by_row(bone_of.len(), (0..).zip(bone_of).collect());
                self.header.base = self.weights(&one_each, &vec![1.0; vertices], rows)?;
                self.header.rows = self.section(3 * rows)?;
                Ok(None)
            }
            BakedBase::Lbs(weights) | BakedBase::Dqs(weights, _) => {
                self.header.base = self.weights(&weights.bones, &weights.weights, bones)?;
                if let BakedBase::Dqs(_, blend) = base {
                    counts("bones", bones, blend.pivots().len())?;
                    self.base = BaseForm::Dqs;
                    self.header.quaternions = self.section(8 * bones)?;
                } else {
                    self.base = BaseForm::Lbs;
                    self.header.rows = self.section(3 * bones)?;
                }
                Ok(Some((weights, self.header.base)))
            }
            BakedBase::DirectDeltaMush(mush) => {
                self.base = BaseForm::DirectDeltaMush;
                let offsets: Vec<u32> = mush.offsets().collect();
                let (bone_of, moments): (Vec<u32>, Vec<[f32; 10]>) = mush.terms().unzip();
                below("bone", &bone_of, moments.len(), bones)?;
                let places = Places::new(&offsets)?;
                let three = |t: usize| {
                    let [w, x, y, z, second @ ..] = moments[t];
                    let [xx, xy, xz, yy, yz, zz] = second;
                    [Vec4::new(w, x, y, z), Vec4::new(xx, xy, xz, yy), Vec4::new(yz, zz, 0.0, 0.0)]
                };
                let values = append(&mut self.coefficients, &places.blocks::<_, 3>(three));
                self.header.base = self.list(&places, |t| bone_of[t], values);
                self.header.rows = self.section(3 * bones)?;
                let centres = mush.of_vertices().map(|[x, y, z, _, _, _, square]| Vec4::new(x, y, z, square));
                let offsets = mush.of_vertices().map(|[_, _, _, x, y, z, _]| Vec4::new(x, y, z, 0.0));
                let planes: Vec<Vec4> = centres.chain(offsets).collect();
                self.header.neighbourhoods = append(&mut self.extras, &planes);
                Ok(None)
            }
            BakedBase::CorrectiveSmooth(smooth) => {
                self.base = BaseForm::CorrectiveSmooth;
                self.add_animation_space(smooth.bones(), smooth.coefficients(), bones)?;
                let corners = smooth.wide().corners();
                // Where the corners of every vertex begin, and the last end, then the corners.
                let first = self.words.len() + corners.offsets().len();
                let starts: Vec<u32> = corners.offsets().iter().map(|&at| (first + 2 * at as usize) as u32).collect();
                self.header.corners = append(&mut self.words, &starts);
                self.words.extend(corners.entries().iter().flatten());
                let centres: Vec<Vec4> = smooth.wide().centres().iter().map(|q| q.as_vec3().extend(0.0)).collect();
                self.header.centres = append(&mut self.extras, &centres);
                Ok(None)
            }
            BakedBase::AnimationSpace { bones: rows, a } => {
                self.base = BaseForm::AnimationSpace;
                self.add_animation_space(rows, a, bones)?;
                Ok(None)
            }
        }
    }

    fn add_animation_space(&mut self, rows: &Rows<u32>, a: &[Vec4], bones: usize) -> Result<(), GpuError> {
        counts("vertices with bones", rows.len(), self.header.vertices as usize)?;
        let bone_of = rows.entries();
        below("bone", bone_of, a.len(), bones)?;
        let places = Places::new(rows.offsets())?;
        let values = append(&mut self.extras, &places.plane(|t| a[t]));
        self.header.base = self.list(&places, |t| bone_of[t], values);
        self.header.rows = self.section(3 * bones)?;
        Ok(())
    }

    fn add_enveloping(&mut self, correction: &BakedEnveloping, bones: usize) -> Result<(), GpuError> {
        let BakedEnveloping { shared, anchors, terms: rows, coefficients, constants, .. } = correction;
        let vertices = self.header.vertices as usize;
        counts("vertices with terms", rows.len(), vertices)?;
        let (offsets, terms) = (rows.offsets(), rows.entries());
        below("pair", terms, terms.len(), shared.pairs.len())?;
        let size = shared.rows.coefficients();
        counts("coefficients", coefficients.len(), terms.len() * size)?;
        let coefficients = &coefficients.widened(offsets.iter().map(|&at| at as usize * size));
        self.add_anchors(anchors, bones)?;
        self.add_second_plane();
        if !constants.is_empty() {
            counts("constants", constants.len(), vertices)?;
            constants.iter().enumerate().for_each(|(v, c)| self.rest[vertices + v] = c.extend(-1.0));
        }
        let places = Places::new(offsets)?;
        let four = |at: usize| Vec4::from_slice(&coefficients[4 * at..4 * at + 4]);
        let values = match shared.rows {
            EnvelopingForm::Full => {
                self.correction = CorrectionForm::EnvelopingFull;
                append(&mut self.coefficients, &places.blocks::<_, 9>(|t| std::array::from_fn(|j| four(9 * t + j))))
            }
            EnvelopingForm::Row => {
                self.correction = CorrectionForm::EnvelopingRow;
                append(&mut self.coefficients, &places.blocks::<_, 3>(|t| std::array::from_fn(|j| four(3 * t + j))))
            }
        };
        self.header.correction = self.list(&places, |t| terms[t], values);
        self.header.turns = self.section(3 * bones)?;
        self.header.features = self.section(3 * shared.pairs.len())?;
        Ok(())
    }

    fn add_joints(
        &mut self,
        correction: &BakedJoints,
        bones: usize,
        of_base: Option<(&Weights, List)>,
    ) -> Result<(), GpuError> {
        let BakedJoints { model, weights, anchors, free, .. } = correction;
        let vertices = self.header.vertices as usize;
        self.correction = CorrectionForm::Joints;
        counts("free terms", free.vertices(), vertices)?;
        let starts = free.coefficient_starts();
        let coefficients = free.coefficients().widened(starts.iter().copied());
        counts("vertices with shared terms", correction.shared.len(), vertices)?;
        self.add_anchors(anchors, bones)?;
        self.header.weights = match of_base {
            Some((same, list)) if same == weights => list,
            _ => self.weights(&weights.bones, &weights.weights, bones)?,
        };
        // Four coordinates of a joint make a term of their own.
        let (mut first, mut width) = (Vec::new(), 0u32);
        for count in model.numbers() {
            first.push(width);
            width += (dermis_deform::baked::padded(count) / 4) as u32;
        }
        first.push(width);
        let (mut unit_offsets, mut units) = (vec![0u32], Vec::<(u32, [usize; 3])>::new());
        for v in 0..vertices {
            let mut at = starts[v];
            for &joint in free.terms().of(v) {
                let (from, to) = (first[joint as usize], first[joint as usize + 1]);
                let row = 4 * (to - from) as usize;
                units.extend((from..to).map(|z| {
                    let start = at + 4 * (z - from) as usize;
                    (z, [start, start + row, start + 2 * row])
                }));
                at += 3 * row;
            }
            unit_offsets.push(units.len() as u32);
        }
        let places = Places::new(&unit_offsets)?;
        let of = |t: usize| units[t].1.map(|at| Vec4::from_slice(&coefficients[at..at + 4]));
        let values = append(&mut self.coefficients, &places.blocks::<_, 3>(of));
        self.header.correction = self.list(&places, |t| units[t].0, values);
        // The shared part.
        let shared = correction.shared.entries();
        let bone_of: Vec<u32> = shared.iter().map(|term| term.bone).collect();
        below("bone", &bone_of, shared.len(), bones)?;
        let places = Places::new(correction.shared.offsets())?;
        let values = append(&mut self.extras, &places.plane(|t| shared[t].offset.extend(shared[t].weight)));
        self.header.shared_part = self.list(&places, |t| bone_of[t], values);
        self.add_second_plane();
        self.header.relevance = append(&mut self.words, &places.plane(|t| shared[t].relevance.to_bits()));
        if !correction.limits.is_empty() {
            counts("limits", correction.limits.len(), vertices)?;
            correction.limits.iter().enumerate().for_each(|(v, &limit)| self.rest[vertices + v].w = limit);
        }
        self.header.per_length = 10.0 / model.length as f32;
        self.header.choice = match model.frame {
            CorrectionFrame::Anchor => 0,
            CorrectionFrame::Rest => 1,
            CorrectionFrame::Blend => 2,
        };
        self.header.bones = self.section(3 * bones)?;
        if model.frame == CorrectionFrame::Blend {
            self.header.frames = self.section(bones)?;
        }
        if model.weld.frozen().next().is_some() {
            self.header.flags |= WELDED;
            self.header.turns = self.section(3 * bones)?;
        }
        self.header.features = self.section(width as usize)?;
        match &model.layer {
            Some(layer) => self.add_layer(layer.count(), &correction.layer),
            None => Ok(()),
        }
    }

    /// The layer of a joint model, of so many shapes.
    fn add_layer(&mut self, shapes: usize, layer: &BakedLayer) -> Result<(), GpuError> {
        counts("vertices with shapes", layer.terms.len(), self.header.vertices as usize)?;
        self.header.layer = self.shapes(&layer.terms, &layer.displacements, shapes)?;
        self.header.flags |= LAYER;
        self.header.shapes = self.section(shapes)?;
        Ok(())
    }

    /// A list of shapes: displacements, with the number of the shape as the last entry.
    fn shapes(&mut self, rows: &Rows<u32>, displacements: &[Vec3], shapes: usize) -> Result<List, GpuError> {
        let terms = rows.entries();
        below("shape", terms, displacements.len(), shapes)?;
        // The number of a shape is stored as a float.
        if shapes > 1 << 24 {
            return Err(GpuError::TooLarge { what: "shapes", size: shapes as u64, most: 1 << 24 });
        }
        let places = Places::new(rows.offsets())?;
        let values = append(&mut self.coefficients, &places.plane(|t| displacements[t].extend(terms[t] as f32)));
        let (starts, counts) = places.tables(&mut self.words);
        Ok(List { starts, counts, indices: 0, values })
    }

    fn add_shapes(&mut self, correction: &BakedShapes, bones: usize) -> Result<(), GpuError> {
        let (model, displacements) = (&correction.model, &correction.displacements);
        let vertices = self.header.vertices as usize;
        self.correction = CorrectionForm::Shapes;
        counts("vertices with terms", model.terms.len(), vertices)?;
        self.header.correction = self.shapes(&model.terms, displacements, model.count())?;
        self.header.choice = match &model.carrier {
            Carrier::Base => 0,
            Carrier::Bones(bone_of) => {
                let anchors: Vec<u32> = bone_of.iter().map(|bone| bone.get() as u32).collect();
                below("bone", &anchors, vertices, bones)?;
                self.header.anchors = append(&mut self.words, &anchors);
                self.header.turns = self.section(3 * bones)?;
                1
            }
            Carrier::World => 2,
        };
        self.header.features = self.section(model.count().div_ceil(4))?;
        Ok(())
    }

    /// Room beside the rest positions for what the correction or the normals need per vertex.
    fn add_second_plane(&mut self) {
        self.rest.resize(2 * self.header.vertices as usize, Vec4::new(0.0, 0.0, 0.0, -1.0));
    }

    fn add_anchors(&mut self, anchors: &[u32], bones: usize) -> Result<(), GpuError> {
        counts("anchors", anchors.len(), self.header.vertices as usize)?;
        let known: Vec<u32> = anchors.iter().copied().filter(|&a| a != NO_ANCHOR).collect();
        below("anchor", &known, known.len(), bones)?;
        self.header.anchors = append(&mut self.words, anchors);
        Ok(())
    }

    fn weights(&mut self, rows: &Rows<u32>, weights: &[f32], bones: usize) -> Result<List, GpuError> {
        counts("vertices with weights", rows.len(), self.header.vertices as usize)?;
        let bone_of = rows.entries();
        below("bone", bone_of, weights.len(), bones)?;
        let places = Places::new(rows.offsets())?;
        let values = append(&mut self.words, &places.plane(|t| weights[t].to_bits()));
        Ok(self.list(&places, |t| bone_of[t], values))
    }

    fn list(&mut self, places: &Places, index: impl Fn(usize) -> u32, values: u32) -> List {
        let (starts, counts) = places.tables(&mut self.words);
        List { starts, counts, indices: append(&mut self.words, &places.plane(index)), values }
    }

    /// Room in every pose, in vec4; where it begins.
    fn section(&mut self, len: usize) -> Result<u32, GpuError> {
        let start = self.header.stride;
        let end = start as u64 + len as u64;
        let too_large = |_| GpuError::TooLarge { what: "numbers of a pose", size: end, most: u32::MAX.into() };
        self.header.stride = u32::try_from(end).map_err(too_large)?;
        Ok(start)
    }
}

fn counts(what: &'static str, found: usize, needed: usize) -> Result<(), GpuError> {
    if found == needed { Ok(()) } else { Err(GpuError::Mismatch { what, found, needed }) }
}

/// As many indices as needed, each below a bound.
fn below(what: &'static str, indices: &[u32], needed: usize, bound: usize) -> Result<(), GpuError> {
    counts(what, indices.len(), needed)?;
    match indices.iter().find(|&&i| i as usize >= bound) {
        Some(&i) => Err(GpuError::Mismatch { what, found: i as usize, needed: bound }),
        None => Ok(()),
    }
}
