//! The page of `inspect --report`: the rig in 3D, with what is known of its bones as tables.

use super::Looked;
use super::rig::{RigFound, origin};
use crate::joint_limits::{JointEntry, LimitsFile};
use crate::report::page::{
    KeyFigure, Page, PageTable, PageVerdict, Provenance, Quantity, RigArc, RigBone, RigMirror, RigView, Tone,
    shown_positions,
};
use crate::report::unit_of;
use crate::shown::file_stamps;
use dermis_motion::ik::JointLimits;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Influences, Skeleton};

impl Looked {
    /// Returns the page of the rig, or `None` for a file without a mesh.
    pub(crate) fn page(&self, command: Option<String>) -> Option<Page> {
        let (found, mesh) = (self.rig.as_ref()?, self.contents.mesh.as_ref()?);
        let contents = &self.contents;
        let skeleton = contents.skeleton.as_ref();
        let rows = |given: &Option<Influences>| -> Vec<Vec<(u32, f32)>> {
            let fits = given.as_ref().filter(|rows| rows.vertices() == mesh.positions.len());
            let row = |row: &[(BoneIndex, f64)]| row.iter().map(|(b, w)| (b.get() as u32, *w as f32)).collect();
            fits.map(|rows| rows.rows().map(row).collect()).unwrap_or_default()
        };
        let mirror = found.symmetry.as_ref().map(|symmetry| RigMirror {
            normal: vector(symmetry.mirror.normal),
            plane: symmetry.mirror.plane as f32,
            partners: symmetry.mirror.vertices.clone(),
            bones: symmetry.mirror.bones.iter().map(|bone| bone.get() as u32).collect(),
            asymmetry: symmetry.asymmetry.iter().map(|a| a.map_or(f32::NAN, |a| a as f32)).collect(),
        });
        let rig = RigView {
            triangles: mesh.triangles.clone(),
            rest: shown_positions(&mesh.positions),
            bones: skeleton.map(|skeleton| bones(skeleton, found)).unwrap_or_default(),
            weights: rows(&contents.weights),
            maps: rows(&contents.influence_maps),
            mirror,
            islands: found.islands.of.clone(),
            seams: found.islands.seams.clone(),
            borders: found.islands.borders.clone(),
        };
        let tables = skeleton.map(|skeleton| bone_table(skeleton, found)).into_iter().chain([island_table(found)]);
        Some(Page {
            title: format!("{}: rig", contents.name),
            subtitle: format!("{}, unit {}", contents.format, contents.space.unit),
            verdict: Some(verdict(found)),
            warnings: contents.warnings.iter().map(|w| format!("{}: {}", w.count, w.flaw).into()).collect(),
            unit: unit_of(&contents.space),
            figures: figures(found, &rig),
            rig: Some(rig),
            tables: tables.filter(|table| !table.rows.is_empty()).collect(),
            provenance: Provenance {
                program: crate::PROGRAM.into(),
                date: None,
                command,
                files: file_stamps(std::slice::from_ref(&self.note)),
            },
            ..Page::default()
        })
    }
}

fn vector(v: DVec3) -> [f32; 3] {
    v.to_array().map(|x| x as f32)
}

/// The sentence to take away: what one looks for before learning.
fn verdict(found: &RigFound) -> PageVerdict {
    let unskinned = found.shares.iter().all(|share| share.vertices == 0);
    let (text, tone) = match &found.symmetry {
        _ if found.anatomy.is_none() => ("The file has a mesh and no bones.".to_owned(), Tone::Caution),
        _ if unskinned => ("The rig has bones and no weights: dermis weights makes some.".to_owned(), Tone::Caution),
        None => ("No mirror plane is found: left and right are learnt apart.".to_owned(), Tone::Caution),
        Some(found) if found.largest() > 0.05 || !found.unpaired.is_empty() || !found.unpaired_bones.is_empty() => (
            format!(
                "A mirror plane is found. Weights of partners differ by up to {:.0} %; {} vertices and {} bones have no partner.",
                100.0 * found.largest(),
                found.unpaired.len(),
                found.unpaired_bones.len()
            ),
            Tone::Caution,
        ),
        Some(_) => {
            ("A mirror plane is found; vertices, bones and weights agree left and right.".to_owned(), Tone::Good)
        }
    };
    PageVerdict { text, tone }
}

fn figures(found: &RigFound, rig: &RigView) -> Vec<KeyFigure> {
    let figure = |label: &str, value: Quantity, note: String| KeyFigure { label: label.into(), value, note };
    let used = found.shares.iter().filter(|share| share.vertices > 0).count();
    let most = rig.weights.iter().map(Vec::len).max().unwrap_or(0);
    let mut figures =
        vec![figure("Vertices", Quantity::Count(rig.rest.len() as u64), format!("{} triangles", rig.triangles.len()))];
    if !rig.bones.is_empty() {
        figures.push(figure("Bones", Quantity::Count(rig.bones.len() as u64), format!("{used} move skin")));
    }
    if most > 0 {
        let all: usize = rig.weights.iter().map(Vec::len).sum();
        let mean = all as f64 / rig.rest.len().max(1) as f64;
        figures.push(figure("Influences", Quantity::Count(most as u64), format!("at most; {mean:.2} on average")));
    }
    let islands = &found.islands;
    figures.push(figure(
        "Islands",
        Quantity::Count(islands.sizes.len() as u64),
        format!("{} edges of seams, {} of borders", islands.seams.len(), islands.borders.len()),
    ));
    if let Some(symmetry) = &found.symmetry {
        let note = format!("largest difference of partners' weights; {:.2} % on average", 100.0 * symmetry.mean());
        figures.push(figure("Asymmetry", Quantity::Share(symmetry.largest() as f32), note));
    }
    figures
}

fn bones(skeleton: &Skeleton, found: &RigFound) -> Vec<RigBone> {
    let limits = found.anatomy.as_ref().map(|anatomy| LimitsFile::of(anatomy, skeleton));
    let bone = |bone: BoneIndex| {
        let name = &skeleton.names()[bone];
        let bind = &skeleton.bind()[bone];
        let anatomy = found.anatomy.as_ref();
        let words = limits.as_ref().and_then(|l| l.joints.get(name)).map(words).unwrap_or_default();
        let from = anatomy.map_or("", |anatomy| origin(anatomy.from[bone]));
        RigBone {
            name: name.clone(),
            parent: skeleton.parents()[bone].map(|parent| parent.get() as u32),
            head: vector(bind.translation),
            axes: [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| vector(turned(bind, axis))),
            arcs: anatomy.map(|anatomy| arcs(&anatomy.limits[bone], bind)).unwrap_or_default(),
            limits: format!("{words} ({from})"),
        }
    };
    skeleton.bones().map(bone).collect()
}

/// A direction of the bone's own frame in the world, a unit vector.
fn turned(bind: &DAffine3, direction: DVec3) -> DVec3 {
    bind.transform_vector3(direction).normalize_or_zero()
}

/// The limits as arcs: bending and leaning carry the bone's axis along, twist carries its side.
fn arcs(limits: &JointLimits, bind: &DAffine3) -> Vec<RigArc> {
    let arc = |name: &str, about: DVec3, zero: DVec3, range: [f64; 2]| RigArc {
        name: name.into(),
        about: vector(turned(bind, about)),
        zero: vector(turned(bind, zero)),
        range: range.map(|x| x.to_degrees() as f32),
    };
    match limits {
        JointLimits::Free | JointLimits::Locked => vec![],
        JointLimits::Hinge(hinge) => {
            vec![arc("turn", hinge.axis(), hinge.axis().any_orthonormal_vector(), hinge.range())]
        }
        JointLimits::Cone(cone) => {
            let (axis, side) = (cone.axis(), cone.side());
            let [bend, lean] = cone.swing();
            vec![
                arc("bend", side, axis, bend),
                arc("lean", axis.cross(side), axis, lean),
                arc("twist", axis, side, cone.twist()),
            ]
        }
    }
}

/// The limits of a joint in words.
fn words(entry: &JointEntry) -> String {
    if entry.locked == Some(true) {
        return "locked".into();
    }
    if entry.cone == Some(180.0) {
        return "free".into();
    }
    let ranges = [("turn", entry.range), ("bend", entry.bend), ("lean", entry.lean), ("twist", entry.twist)];
    let named = ranges.into_iter().filter_map(|(name, range)| range.map(|[from, to]| (name, from, to)));
    named
        .map(|(name, from, to)| format!("{name} {from:.0}° to {to:.0}°"))
        .collect::<Vec<_>>()
        .join(", ")
        .replace('-', "−")
}

fn bone_table(skeleton: &Skeleton, found: &RigFound) -> PageTable {
    let names = skeleton.names();
    let limits = found.anatomy.as_ref().map(|anatomy| LimitsFile::of(anatomy, skeleton));
    let text = |text: &str| Quantity::Text(text.into());
    let rows = skeleton.bones().map(|bone| {
        let share = found.shares.get(bone.get());
        let partner = found.symmetry.as_ref().map(|s| s.mirror.bones[bone.get()]);
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
            limits
                .as_ref()
                .and_then(|l| l.joints.get(&names[bone]))
                .map_or(Quantity::Missing, |l| Quantity::Text(words(l))),
            found.anatomy.as_ref().map_or(Quantity::Missing, |anatomy| text(origin(anatomy.from[bone]))),
        ]
    });
    PageTable {
        title: "Bones".into(),
        note: "Vertices on which a bone has weight, and those on which none has more; its mirror partner; how far its joint turns from rest, as dermis exercise and inverse kinematics take it.".into(),
        columns: ["bone", "parent", "vertices", "dominates", "largest weight", "partner", "limits", "limits from"].map(String::from).to_vec(),
        rows: rows.collect(),
    }
}

fn island_table(found: &RigFound) -> PageTable {
    /// Rows at most; a crowd of islands says what it has to say by its number.
    const MOST: usize = 40;
    let mut first = vec![None; found.islands.sizes.len()];
    found.islands.of.iter().enumerate().for_each(|(v, &island)| {
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
        rows: found.islands.sizes.iter().enumerate().take(MOST).map(row).collect(),
    }
}
