//! Alembic: bytes, and archives whose objects and samples are changed behind right offsets.

use crate::memory::{PACKED, bounded};
use crate::script::Script;
use crate::{seeds, used};
use dermis_io::{Space, alembic};
use dermis_testkit::ogawa::{Archive, Object, Property};

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::archives().iter().map(Archive::bytes).collect()
}

/// Takes the bytes as an Alembic archive.
pub fn bytes(bytes: &[u8]) {
    if let Ok(contents) = bounded(bytes.len(), PACKED, || alembic::read(bytes, "a.abc", &Space::default())) {
        used::contents(&contents);
    }
}

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    let good = seeds::archives();
    let mut script = Script::new(script);
    let mut archive = good[script.below(good.len())].clone();
    for _ in 0..12 {
        if script.is_over() {
            break;
        }
        match script.byte() % 8 {
            0 => {
                let times = (0..script.byte() % 4).map(|_| script.number()).collect();
                archive.samplings.push((script.number(), times));
            }
            1 if archive.objects.len() < 4 => archive.objects.extend(archive.objects.first().cloned()),
            _ => {
                let mut at = script.below(8);
                if let Some(object) = archive.objects.iter_mut().find_map(|object| nth(object, &mut at)) {
                    change_object(object, &mut script);
                }
            }
        }
    }
    bytes(&archive.bytes());
}

/// The object that comes `at` in reading order, or the last before it.
fn nth<'a>(object: &'a mut Object, at: &mut usize) -> Option<&'a mut Object> {
    if *at == 0 || object.children.is_empty() {
        return Some(object);
    }
    *at -= 1;
    object.children.iter_mut().find_map(|below| nth(below, at))
}

fn change_object(object: &mut Object, script: &mut Script<'_>) {
    match script.byte() % 10 {
        0 => object.name = script.text(),
        1 => object.schema = script.pick(&["AbcGeom_PolyMesh_v1", "AbcGeom_SubD_v1", "AbcGeom_Xform_v3", ""]).into(),
        2 if object.children.len() < 3 => object.children.extend(object.children.first().cloned()),
        3 => _ = object.children.pop(),
        _ => {
            let list = lowest(&mut object.properties);
            if !list.is_empty() {
                let at = script.below(list.len());
                change_property(&mut list[at], script);
            }
        }
    }
}

/// The properties below the names that hold nothing else.
fn lowest(list: &mut [Property]) -> &mut [Property] {
    match list {
        [Property::Compound(_, below), ..] => lowest(below),
        list => list,
    }
}

fn change_property(property: &mut Property, script: &mut Script<'_>) {
    let (name, array, pod, extent, sampling, samples) = match property {
        Property::Samples { name, array, pod, extent, sampling, samples } => {
            (name, array, pod, extent, sampling, samples)
        }
        Property::Compound(_, below) => {
            let at = script.below(below.len().max(1));
            return below.get_mut(at).map_or((), |property| change_property(property, script));
        }
        Property::Said(said, below) => match script.byte() % 4 {
            0 => {
                let scope = script.pick(&["con", "uni", "vtx", "fvr", ""]);
                let meaning = script.pick(&["normal", "vector", "rgb", "rgba", ""]);
                *said = format!("geoScope={scope};interpretation={meaning}");
                return;
            }
            _ => return change_property(below, script),
        },
    };
    match script.byte() % 12 {
        0 => {
            *name = script
                .pick(&[
                    "P",
                    ".faceIndices",
                    ".faceCounts",
                    ".inherits",
                    ".ops",
                    ".vals",
                    "N",
                    "uv",
                    "visible",
                    ".faces",
                    "",
                ])
                .into()
        }
        1 => *array = !*array,
        2 => *pod = u32::from(script.byte() % 16),
        3 => *extent = u32::from(script.byte()),
        4 => *sampling = u32::from(script.byte() % 4),
        5 => _ = samples.pop(),
        6 if samples.len() < 16 => samples.extend(samples.last().cloned()),
        7 => {
            let at = script.below(samples.len());
            let length = usize::from(script.byte());
            if let Some(sample) = samples.get_mut(at) {
                sample.resize(length, 0);
            }
        }
        _ => {
            let at = script.below(samples.len());
            if let Some(sample) = samples.get_mut(at) {
                script.overwrite(sample);
            }
        }
    }
}
