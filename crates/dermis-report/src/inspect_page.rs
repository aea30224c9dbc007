//! The page of a rig before anything is learnt: in 3D, with its bones and islands as tables.

use crate::length::LengthUnit;
use crate::page::{
    KeyFigure, Page, PageTable, PageVerdict, Provenance, Quantity, RigArc, RigBone, RigMirror, RigView, Tone,
    shown_positions,
};
use dermis_measure::rig_check::{BoneShare, Islands, Symmetry};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Mesh, Skeleton};

/// What the page of a rig shows.
#[derive(Debug)]
pub struct InspectPage<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// The format of the file and its unit.
    pub subtitle: String,
    /// The mesh at rest.
    pub mesh: &'a Mesh,
    /// The objects of the mesh; those of a mesh that is several are listed.
    pub objects: Vec<InspectedObject>,
    /// The bones, if the file has some.
    pub skeleton: Option<&'a Skeleton>,
    /// The skinning weights.
    pub weights: Option<&'a Influences>,
    /// The influence maps.
    pub maps: Option<&'a Influences>,
    /// How the mesh hangs together.
    pub islands: &'a Islands,
    /// Left and right, where a mirror plane is found.
    pub symmetry: Option<&'a Symmetry>,
    /// What each bone holds; empty without weights.
    pub shares: &'a [BoneShare],
    /// How far each bone's joint turns.
    pub joints: Vec<InspectedJoint>,
    /// What was wrong with the file and is mended.
    pub warnings: Vec<String>,
    /// How lengths are shown.
    pub unit: LengthUnit,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

/// How far the joint of a bone turns from rest.
#[derive(Clone, Debug)]
pub struct InspectedJoint {
    /// The ranges in words, e.g. "bend −10° to 140°"; empty if nothing is known.
    pub limits: String,
    /// Where the ranges come from, e.g. "anatomy".
    pub from: &'static str,
    /// The ranges as arcs.
    pub arcs: Vec<RigArc>,
}

/// One of the meshes of a file.
#[derive(Clone, Debug)]
pub struct InspectedObject {
    /// Its name; may be empty.
    pub name: String,
    /// Number of its vertices.
    pub vertices: usize,
    /// Number of its triangles.
    pub triangles: usize,
    /// Number of its polygons; `None` if the file has triangles alone.
    pub polygons: Option<usize>,
    /// What its triangles are drawn with, in their order, each once.
    pub materials: Vec<String>,
    /// Whether the file shows it.
    pub visible: bool,
}

impl InspectPage<'_> {
    /// Returns the page.
    pub fn page(self) -> Page {
        let rig = self.view();
        let bones = self.skeleton.map(|skeleton| self.bone_table(skeleton));
        let tables = [self.object_table()].into_iter().chain(bones).chain([self.island_table()]);
        Page {
            title: format!("{}: rig", self.name),
            verdict: Some(self.verdict()),
            figures: self.figures(&rig),
            tables: tables.filter(|table| !table.rows.is_empty()).collect(),
            rig: Some(rig),
            subtitle: self.subtitle,
            warnings: self.warnings.into_iter().map(Into::into).collect(),
            unit: self.unit,
            provenance: self.provenance,
            ..Page::default()
        }
    }

    fn view(&self) -> RigView {
        let rows = |given: Option<&Influences>| -> Vec<Vec<(u32, f32)>> {
            let fits = given.filter(|rows| rows.vertices() == self.mesh.positions.len());
            let row = |row: &[(BoneIndex, f64)]| row.iter().map(|(b, w)| (b.get() as u32, *w as f32)).collect();
            fits.map(|rows| rows.rows().map(row).collect()).unwrap_or_default()
        };
        let mirror = self.symmetry.map(|symmetry| RigMirror {
            normal: vector(symmetry.mirror.normal),
            plane: symmetry.mirror.plane as f32,
            partners: symmetry.mirror.vertices.clone(),
            bones: symmetry.mirror.bones.iter().map(|bone| bone.get() as u32).collect(),
            asymmetry: symmetry.asymmetry.iter().map(|a| a.map_or(f32::NAN, |a| a as f32)).collect(),
        });
        RigView {
            triangles: self.mesh.triangles.clone(),
            rest: shown_positions(&self.mesh.positions),
            bones: self.skeleton.map(|skeleton| self.bones(skeleton)).unwrap_or_default(),
            weights: rows(self.weights),
            maps: rows(self.maps),
            mirror,
            islands: self.islands.of.clone(),
            seams: self.islands.seams.clone(),
            borders: self.islands.borders.clone(),
        }
    }

    fn bones(&self, skeleton: &Skeleton) -> Vec<RigBone> {
        let bone = |bone: BoneIndex| {
            let bind = &skeleton.bind()[bone];
            let joint = self.joints.get(bone.get());
            RigBone {
                name: skeleton.names()[bone].clone(),
                parent: skeleton.parents()[bone].map(|parent| parent.get() as u32),
                head: vector(bind.translation),
                axes: [DVec3::X, DVec3::Y, DVec3::Z]
                    .map(|axis| vector(bind.transform_vector3(axis).normalize_or_zero())),
                arcs: joint.map(|joint| joint.arcs.clone()).unwrap_or_default(),
                limits: joint.map(|joint| format!("{} ({})", joint.limits, joint.from)).unwrap_or_default(),
            }
        };
        skeleton.bones().map(bone).collect()
    }

    /// The sentence to take away: what one looks for before learning.
    fn verdict(&self) -> PageVerdict {
        let unskinned = self.shares.iter().all(|share| share.vertices == 0);
        let (text, tone) = match self.symmetry {
            _ if self.skeleton.is_none() => ("The file has a mesh and no bones.".to_owned(), Tone::Caution),
            _ if unskinned => {
                ("The rig has bones and no weights: dermis weights makes some.".to_owned(), Tone::Caution)
            }
            None => ("No mirror plane is found: left and right are learnt apart.".to_owned(), Tone::Caution),
            Some(found) if found.largest() > 0.05 || !found.unpaired.is_empty() || !found.unpaired_bones.is_empty() => {
                (
                    format!(
                        "A mirror plane is found. Weights of partners differ by up to {:.0} %; {} vertices and {} bones have no partner.",
                        100.0 * found.largest(),
                        found.unpaired.len(),
                        found.unpaired_bones.len()
                    ),
                    Tone::Caution,
                )
            }
            Some(_) => {
                ("A mirror plane is found; vertices, bones and weights agree left and right.".to_owned(), Tone::Good)
            }
        };
        PageVerdict { text, tone }
    }

    fn figures(&self, rig: &RigView) -> Vec<KeyFigure> {
        let figure = |label: &str, value: Quantity, note: String| KeyFigure { label: label.into(), value, note };
        let used = self.shares.iter().filter(|share| share.vertices > 0).count();
        let most = rig.weights.iter().map(Vec::len).max().unwrap_or(0);
        let mut figures = vec![figure(
            "Vertices",
            Quantity::Count(rig.rest.len() as u64),
            format!("{} triangles", rig.triangles.len()),
        )];
        if !rig.bones.is_empty() {
            figures.push(figure("Bones", Quantity::Count(rig.bones.len() as u64), format!("{used} move skin")));
        }
        if most > 0 {
            let all: usize = rig.weights.iter().map(Vec::len).sum();
            let mean = all as f64 / rig.rest.len().max(1) as f64;
            figures.push(figure("Influences", Quantity::Count(most as u64), format!("at most; {mean:.2} on average")));
        }
        let islands = self.islands;
        figures.push(figure(
            "Islands",
            Quantity::Count(islands.sizes.len() as u64),
            format!("{} edges of seams, {} of borders", islands.seams.len(), islands.borders.len()),
        ));
        if let Some(symmetry) = self.symmetry {
            let note = format!("largest difference of partners' weights; {:.2} % on average", 100.0 * symmetry.mean());
            figures.push(figure("Asymmetry", Quantity::Share(symmetry.largest() as f32), note));
        }
        figures
    }

    fn bone_table(&self, skeleton: &Skeleton) -> PageTable {
        let names = skeleton.names();
        let text = |text: &str| Quantity::Text(text.into());
        let rows = skeleton.bones().map(|bone| {
            let share = self.shares.get(bone.get());
            let joint = self.joints.get(bone.get());
            let partner = self.symmetry.map(|s| s.mirror.bones[bone.get()]);
            vec![
                text(&names[bone]),
                skeleton.parents()[bone].map_or(Quantity::Missing, |parent| text(&names[parent])),
                share.map_or(Quantity::Missing, |share| Quantity::Count(share.vertices as u64)),
                share.map_or(Quantity::Missing, |share| Quantity::Count(share.dominates as u64)),
                share.map_or(Quantity::Missing, |share| Quantity::Share(share.largest as f32)),
                partner.map_or(
                    Quantity::Missing,
                    |partner| if partner == bone { text("itself") } else { text(&names[partner]) },
                ),
                joint.filter(|joint| !joint.limits.is_empty()).map_or(Quantity::Missing, |joint| text(&joint.limits)),
                joint.map_or(Quantity::Missing, |joint| text(joint.from)),
            ]
        });
        PageTable {
            title: "Bones".into(),
            note: "Vertices on which a bone has weight, and those on which none has more; its mirror partner; how far its joint turns from rest, as dermis exercise and inverse kinematics take it.".into(),
            columns: ["bone", "parent", "vertices", "dominates", "largest weight", "partner", "limits", "limits from"].map(String::from).to_vec(),
            rows: rows.collect(),
        }
    }

    /// Without rows for a mesh that is not several.
    fn object_table(&self) -> PageTable {
        let row = |object: &InspectedObject| {
            let text = |text: &str| if text.is_empty() { Quantity::Missing } else { Quantity::Text(text.into()) };
            vec![
                text(&object.name),
                Quantity::Count(object.vertices as u64),
                Quantity::Count(object.triangles as u64),
                object.polygons.map_or(Quantity::Missing, |polygons| Quantity::Count(polygons as u64)),
                text(&object.materials.join(", ")),
                text(if object.visible { "" } else { "hidden" }),
            ]
        };
        let several = self.objects.iter().filter(|_| self.objects.len() > 1);
        PageTable {
            title: "Objects".into(),
            note: "The meshes of the file, in its order. They keep their names and materials in every file that is made of it.".into(),
            columns: ["object", "vertices", "triangles", "polygons", "materials", "shown"].map(String::from).to_vec(),
            rows: several.map(row).collect(),
        }
    }

    fn island_table(&self) -> PageTable {
        /// Rows at most; a crowd of islands says what it has to say by its number.
        const MOST: usize = 40;
        let mut first = vec![None; self.islands.sizes.len()];
        self.islands.of.iter().enumerate().for_each(|(v, &island)| {
            first[island as usize].get_or_insert(v);
        });
        let row = |(at, size): (usize, &usize)| {
            let first = first[at].map_or(Quantity::Missing, |v| Quantity::Count(v as u64));
            vec![Quantity::Count(at as u64 + 1), Quantity::Count(*size as u64), first]
        };
        PageTable {
            title: "Islands".into(),
            note: format!("Connected components of the mesh; the largest {MOST} at most."),
            columns: ["island", "vertices", "first vertex"].map(String::from).to_vec(),
            rows: self.islands.sizes.iter().enumerate().take(MOST).map(row).collect(),
        }
    }
}

fn vector(v: DVec3) -> [f32; 3] {
    v.to_array().map(|x| x as f32)
}
