//! What of a character survives on the way from one format to another: the table of SUPPORT.md.

use dermis_deform::lbs;
use dermis_files::convert::{gather, write_converted};
use dermis_files::load::{ReadOptions, Source};
use dermis_files::output::{Existing, reserve};
use dermis_io::gltf::{self, MorphNormals};
use dermis_io::{Clip, ClipFrame, Contents, base_colour_image};
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::RenderPart;
use dermis_rig::{BoneIndex, Influences, Mesh, MeshObject, MorphTarget, Polygons, WorldPose};
use dermis_testkit::textured;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Endings of the files that are read and written.
const FORMATS: [&str; 8] = ["glb", "fbx", "usdz", "abc", "npz", "obj", "pc2", "bvh"];

type Survives = fn(&Contents, &Contents) -> bool;

/// What a character is, each by its letter.
const PARTS: [(char, &str, Survives); 10] = [
    ('V', "vertices, in their order", vertices),
    ('P', "polygons", polygons),
    ('O', "objects with their names, and whether they are shown", objects),
    ('U', "texture coordinates", coordinates),
    ('M', "materials with their textures", materials),
    ('B', "bones with their poses", bones),
    ('S', "skinning weights", skin),
    ('T', "morph targets", targets),
    ('C', "clips, between keys too", clips),
    ('F', "frames of the skin, without bones", frames),
];

/// Of the size of the character: geometry, and motion between keys.
const EXACT: f64 = 1e-6;
const BETWEEN: f64 = 1e-4;

/// A body in two materials and a hidden patch beside it, both on two bones; a morph target of the body, and a clip that moves both.
fn character() -> Contents {
    let beside = |name: &str, _| match name {
        textured::BESIDE => Ok(textured::images()[2].clone()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    let mut made = gltf::read(&textured::glb(), "strip.glb", &beside).unwrap();
    let mesh = made.mesh.as_mut().unwrap();
    let first = mesh.positions.len() as u32;
    let square = [(0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)].map(|(x, y)| DVec3::new(x, y, 0.5));
    mesh.positions.extend(square);
    let quads = |mesh: &Mesh| -> Vec<u32> {
        mesh.triangles.chunks(2).flat_map(|pair| [pair[0][0], pair[0][1], pair[0][2], pair[1][2]]).collect()
    };
    let pair = |v: u32| [[v, v + 1, v + 2], [v, v + 2, v + 3]];
    mesh.triangles.extend(pair(first));
    let indices = quads(mesh);
    mesh.polygons = Some(Polygons { counts: vec![4; indices.len() / 4], indices });
    mesh.colors = None;
    let render = mesh.render.as_mut().unwrap();
    let drawn = render.source.len() as u32;
    render.source.extend(first..first + 4);
    render.triangles.extend(pair(drawn));
    let uvs: Vec<_> = render.uvs[..4].to_vec();
    render.uvs.extend(uvs);
    (render.more_uvs, render.colors) = (Vec::new(), Vec::new());
    render.normals.resize(render.source.len(), DVec3::Z);
    let part = RenderPart { start: render.parts[0].count + render.parts[1].count, count: 2, ..render.parts[1].clone() };
    render.parts.push(part);
    // What no other format has: cameras, lights, extensions, and a texture that is moved.
    let plain = r#"{"materials":[
        {"name":"skin","pbrMetallicRoughness":{"baseColorTexture":{"index":0},"metallicFactor":0.25,"roughnessFactor":0.5}},
        {"name":"cloth","pbrMetallicRoughness":{"baseColorTexture":{"index":1},"metallicFactor":0.0,"roughnessFactor":0.75}}],
        "textures":[{"source":0},{"source":2}],"images":[{},{},{}]}"#;
    let mut look = (**render.appearance.as_ref().unwrap()).clone();
    look.description = plain.into();
    render.appearance = Some(Arc::new(look));
    mesh.objects = vec![
        MeshObject { name: "body".into(), vertices: first, visible: true },
        MeshObject { name: "patch".into(), vertices: 4, visible: false },
    ];
    mesh.check().unwrap();
    let weights = made.weights.take().unwrap();
    let rows = (0..first as usize).map(|v| weights.of(v).to_vec());
    let more = (0..4).map(|_| vec![(BoneIndex::new(0), 0.25), (BoneIndex::new(1), 0.75)]);
    made.weights = Some(Influences::from_rows(rows.chain(more)).unwrap());
    for morph in &mut made.morphs {
        morph.deltas.resize(first as usize + 4, DVec3::ZERO);
    }
    let bend = made.clips.remove(0);
    let sample = move |time: f64| ClipFrame { morph_weights: vec![time], ..(bend.sample)(time) };
    made.clips.push(Clip {
        name: "bend".into(),
        duration: 1.0,
        start: 0.0,
        key_times: (0..=24).map(|frame| f64::from(frame) / 24.0).collect(),
        curves: None,
        sample: Box::new(sample),
    });
    (made.default_pose, made.morph_weights) = (None, vec![0.0]);
    (made.warnings, made.unread) = (Vec::new(), Vec::new());
    made.name = "strip".into();
    made
}

/// The skin at a time of the first clip.
fn shown(contents: &Contents, time: f64) -> Option<Vec<DVec3>> {
    let (mesh, clip) = (contents.mesh.as_ref()?, contents.clips.first()?);
    let frame = (clip.sample)(time);
    let mut rest = mesh.positions.clone();
    for (morph, weight) in contents.morphs.iter().zip(frame.morph_weights) {
        rest.iter_mut().zip(&morph.deltas).for_each(|(p, delta)| *p += weight * *delta);
    }
    let Some(weights) = &contents.weights else { return Some(rest) };
    let mut skin = vec![DVec3::ZERO; rest.len()];
    lbs(&rest, weights, &contents.skeleton.as_ref()?.bone_transforms(&frame.pose), &mut skin);
    Some(skin)
}

fn apart(a: &[DVec3], b: &[DVec3]) -> f64 {
    let off = a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    if a.len() == b.len() { off / 4.0 } else { f64::INFINITY }
}

fn meshes<'a>(before: &'a Contents, after: &'a Contents) -> Option<(&'a Mesh, &'a Mesh)> {
    before.mesh.as_ref().zip(after.mesh.as_ref())
}

fn vertices(before: &Contents, after: &Contents) -> bool {
    let first = shown(before, 0.0).unwrap();
    let records = || after.records.first().and_then(|record| record.positions.as_ref());
    let found = after.mesh.as_ref().map(|mesh| &mesh.positions).or_else(records);
    let rest = &before.mesh.as_ref().unwrap().positions;
    found.is_some_and(|found| apart(rest, found) < EXACT || apart(&first, found) < EXACT)
}

fn polygons(before: &Contents, after: &Contents) -> bool {
    meshes(before, after).is_some_and(|(before, after)| before.polygons == after.polygons)
}

fn objects(before: &Contents, after: &Contents) -> bool {
    meshes(before, after).is_some_and(|(before, after)| before.objects == after.objects)
}

fn coordinates(before: &Contents, after: &Contents) -> bool {
    let corners = |mesh: &Mesh| -> BTreeSet<(u32, [i64; 2])> {
        let drawn = mesh.render.iter().flat_map(|render| render.source.iter().zip(&render.uvs));
        drawn.map(|(vertex, uv)| (*vertex, uv.to_array().map(|x| (1e6 * x).round() as i64))).collect()
    };
    meshes(before, after).is_some_and(|(before, after)| corners(before) == corners(after))
}

fn materials(before: &Contents, after: &Contents) -> bool {
    let looks = |mesh: &Mesh| -> Vec<(String, u32, Option<Vec<u8>>)> {
        let Some(render) = &mesh.render else { return Vec::new() };
        let image = |part: &RenderPart| {
            let image = base_colour_image(render.appearance.as_deref()?, part.material?)?;
            Some(image.bytes.clone())
        };
        let mut looks: Vec<(String, u32, Option<Vec<u8>>)> = Vec::new();
        for (name, count, image) in render.parts.iter().map(|part| (part.name.clone(), part.count, image(part))) {
            match looks.last_mut().filter(|last| last.0 == name && last.2 == image) {
                Some(last) => last.1 += count, // of two objects
                None => looks.push((name, count, image)),
            }
        }
        looks
    };
    meshes(before, after).is_some_and(|(before, after)| looks(before) == looks(after))
}

fn bones(before: &Contents, after: &Contents) -> bool {
    let (Some(bones), Some(others)) = (&before.skeleton, &after.skeleton) else { return false };
    let clip = &before.clips[0];
    let pose = |time: f64, frame: usize| match after.clips.first() {
        Some(clip) => Some((clip.sample)(time).pose),
        None => after.records.get(frame)?.pose.clone(),
    };
    let joints = |pose: &WorldPose| -> Vec<DVec3> { pose.bones.iter().map(|joint| joint.translation).collect() };
    bones.names() == others.names()
        && (0..25).all(|frame| {
            let time = frame as f64 / 24.0;
            let own = joints(&(clip.sample)(time).pose);
            pose(time, frame).is_some_and(|pose| apart(&own, &joints(&pose)) < BETWEEN)
        })
}

fn skin(before: &Contents, after: &Contents) -> bool {
    let (Some(bones), Some(others)) = (&before.skeleton, &after.skeleton) else { return false };
    let same_weights = match (&before.weights, &after.weights) {
        (Some(a), Some(b)) if a.vertices() == b.vertices() => (0..a.vertices()).all(|v| {
            bones.bones().all(|bone| {
                let name = &bones.names()[bone];
                let of =
                    |weights: &Influences, at: BoneIndex| weights.of(v).iter().find(|w| w.0 == at).map_or(0.0, |w| w.1);
                let other = others.bones().find(|other| others.names()[*other] == *name);
                other.is_some_and(|other| (of(a, bone) - of(b, other)).abs() < EXACT)
            })
        }),
        _ => false,
    };
    same_weights && bones.names() == others.names()
}

fn targets(before: &Contents, after: &Contents) -> bool {
    let same = |(a, b): (&MorphTarget, &MorphTarget)| a.name == b.name && apart(&a.deltas, &b.deltas) < EXACT;
    before.morphs.len() == after.morphs.len() && before.morphs.iter().zip(&after.morphs).all(same)
}

fn clips(before: &Contents, after: &Contents) -> bool {
    let times = || (0..=60).map(|at| f64::from(at) / 60.0);
    times().all(|time| match (shown(before, time), shown(after, time)) {
        (Some(before), Some(after)) => apart(&before, &after) < BETWEEN,
        _ => false,
    })
}

fn frames(before: &Contents, after: &Contents) -> bool {
    let skins: Vec<Vec<DVec3>> = match after.clips.is_empty() {
        true => after.records.iter().filter_map(|record| record.positions.clone()).collect(),
        false if after.skeleton.is_none() => (0..25).filter_map(|at| shown(after, f64::from(at) / 24.0)).collect(),
        false => Vec::new(),
    };
    let mut found = skins.iter().enumerate();
    skins.len() == 25 && found.all(|(at, found)| apart(&shown(before, at as f64 / 24.0).unwrap(), found) < EXACT)
}

fn write(contents: &Contents, path: &Path) -> Result<(), String> {
    let source = Source { path: contents.name.clone().into(), part: None };
    let output = reserve(path, Existing::Replace).map_err(|error| error.to_string())?;
    let written = write_converted(contents, &source, &ReadOptions::default(), MorphNormals::LeftOut, &output);
    written.map(|_| ()).map_err(|error| error.to_string())
}

/// What survives, or a dash where nothing is to be written.
fn survivors(before: &Contents, after: Option<&Contents>) -> String {
    let Some(after) = after else { return "–".into() };
    PARTS.iter().filter(|(_, _, survives)| survives(before, after)).map(|(letter, ..)| *letter).collect()
}

#[test]
fn the_table_of_pairs_is_as_support_says() {
    let (folder, character) = (tempfile::tempdir().unwrap(), character());
    // Formats that state no unit have that of what they were made of.
    let read = |name: &str, unit: f64| {
        let source = Source { path: folder.path().join(name), part: None };
        let is_silent = ["abc", "obj", "pc2", "bvh"].iter().any(|ending| name.ends_with(ending));
        let options = ReadOptions { unit: is_silent.then_some(unit), ..ReadOptions::default() };
        gather(std::slice::from_ref(&source), &options).map(|(contents, _)| contents).ok()
    };
    let mut table = String::from("| from | held |");
    FORMATS.iter().for_each(|to| write!(table, " {to} |").unwrap());
    write!(table, "\n|---|---|{}\n", "---|".repeat(FORMATS.len())).unwrap();
    for from in FORMATS {
        let name = format!("strip.{from}");
        write(&character, &folder.path().join(&name)).unwrap();
        let held = read(&name, 1.0).unwrap();
        let mut row = format!("| {from} | {} |", survivors(&character, Some(&held)));
        for to in FORMATS {
            let again = format!("{from}.{to}");
            let written =
                write(&held, &folder.path().join(&again)).ok().and_then(|()| read(&again, held.space.metres_per_unit));
            write!(row, " {} |", survivors(&character, written.as_ref())).unwrap();
        }
        table += &row;
        table.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SUPPORT.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- pairs of formats -->\n", "<!-- end of pairs -->");
    let (before, rest) = text.split_once(begin).expect("SUPPORT.md has a place for the table");
    let (stored, after) = rest.split_once(end).expect("SUPPORT.md says where the table ends");
    if std::env::var("DERMIS_UPDATE_SNAPSHOTS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(stored, table, "DERMIS_UPDATE_SNAPSHOTS=1 stores it");
}

/// The legend of the table names every letter.
#[test]
fn the_letters_are_explained() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SUPPORT.md");
    let text = std::fs::read_to_string(path).unwrap();
    for (letter, what, _) in PARTS {
        assert!(text.contains(&format!("`{letter}` {what}")), "{letter}: {what}");
    }
}
