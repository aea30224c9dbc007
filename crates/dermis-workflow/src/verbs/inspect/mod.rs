//! What a file holds, and what is wrong with it; of a rig, also what is seen of it before anything is learnt.

pub mod error;
mod objects;
mod page;
pub(crate) mod recipe;
mod rig;
mod take;

use crate::error::Error;
use crate::load::{FileNote, kind_of, read_contents};
use dermis_deform::baked::CoefficientPrecision;
use dermis_io::{Contents, Flaw, Format, Space, UpAxis};
use dermis_rig::number::decimal;
pub(crate) use objects::several;
use objects::{object_json, object_lines, objects};
pub(crate) use rig::moving;
use serde_json::{Value, json};
use std::path::Path;

/// Looks into a file.
///
/// # Errors
/// [`Error`] if it cannot be read at all.
pub fn inspect(path: &Path) -> Result<(Value, FileNote), Error> {
    let looked = look(path)?;
    Ok((looked.value, looked.note))
}

/// A look into a file.
pub(crate) struct Looked {
    pub(crate) contents: Contents,
    /// What `inspect --json` says.
    pub(crate) value: Value,
    pub(crate) note: FileNote,
    /// `None` without a mesh.
    rig: Option<rig::RigFound>,
}

/// Looks into a file, and keeps what it holds.
pub(crate) fn look(path: &Path) -> Result<Looked, Error> {
    if kind_of(path) == Some(Format::Markers) {
        return take::look(path);
    }
    let (contents, note) = read_contents(path, &Space::default())?;
    let mut value = describe(&contents, &note);
    let rig = rig::RigFound::of(&contents);
    value["rig"] = rig.as_ref().map_or(Value::Null, |rig| rig.json(&contents));
    if let Ok((model, _)) = crate::load::load_model(path) {
        value["model"] = json!({
            "method": model.header.method,
            "program": model.header.program,
            "settings": model.header.settings.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<serde_json::Map<_, _>>(),
            "model_bytes": model.baked().bytes(),
            "coefficient_bits": match model.baked().precision() {
                CoefficientPrecision::Single => 32,
                CoefficientPrecision::Sixteen => 16,
            },
        });
    }
    Ok(Looked { contents, value, note, rig })
}

fn describe(contents: &Contents, note: &FileNote) -> Value {
    let mesh = contents.mesh.as_ref().map(|mesh| {
        let (low, high) = mesh.bounds();
        json!({
            "vertices": mesh.positions.len(),
            "drawn_vertices": mesh.render.as_ref().map(|r| r.source.len()),
            "triangles": mesh.triangles.len(),
            "polygons": mesh.polygons.as_ref().map(|p| p.counts.len()),
            "parts": mesh.render.as_ref().map(|r| r.parts.iter().map(|p| p.name.clone()).collect::<Vec<_>>()),
            "objects": objects(mesh).iter().map(object_json).collect::<Vec<_>>(),
            "colors": mesh.colors.is_some(),
            "closed": mesh.is_closed(),
            "size": (high - low).to_array(),
            "diagonal": mesh.diagonal(),
        })
    });
    let skeleton = contents.skeleton.as_ref().map(|skeleton| {
        let off = contents.warnings.iter().find(|w| w.flaw == Flaw::NotAtBind);
        json!({
            "bones": skeleton.len(),
            "roots": skeleton.parents().iter().filter(|p| p.is_none()).count(),
            "deepest": skeleton.depths().iter().max(),
            "names": skeleton.names().to_vec(),
            "identity_at_bind": off.is_none(),
            "bones_off_bind": off.map_or(0, |w| w.count),
        })
    });
    let influences = contents.weights.as_ref().map(|weights| {
        let mut histogram: Vec<usize> = vec![0; weights.largest_count() + 1];
        weights.rows().for_each(|row| histogram[row.len()] += 1);
        let used = contents.skeleton.as_ref().map(|s| dermis_fit::maps::used_bones(s, weights));
        json!({
            "most_per_vertex": weights.largest_count(),
            "mean_per_vertex": weights.count() as f64 / weights.vertices().max(1) as f64,
            "vertices_by_count": histogram,
            "bones_used": used.map(|u| u.iter().filter(|b| **b).count()),
        })
    });
    let poses = contents.records.iter().filter(|r| r.pose.is_some()).count();
    let inverted = contents.inverted.as_ref();
    // Rest shapes that nothing brings into their poses are no skins.
    let are_skins = inverted.is_none_or(|inverted| inverted.skins);
    let skins = contents.records.iter().filter(|r| are_skins && r.positions.is_some()).count();
    let clips: Vec<Value> = contents
        .clips
        .iter()
        .map(|clip| json!({"name": clip.name, "seconds": clip.duration, "keys": clip.key_times.len()}))
        .collect();
    json!({
        "file": note.path,
        "bytes": note.bytes,
        "format": contents.format.to_string(),
        "unit": contents.space.unit,
        "metres_per_unit": contents.space.metres_per_unit,
        "up_axis": if contents.space.up == UpAxis::Y { "Y" } else { "Z" },
        "space_stated": !note.needs.space && !contents.warnings.iter().any(|w| w.flaw == Flaw::UnknownSpace),
        "mesh": mesh,
        "skeleton": skeleton,
        "influences": influences,
        "influence_maps": contents.influence_maps.is_some(),
        "poses": poses,
        "skins": skins,
        "skin_vertices": contents.records.iter().find_map(|r| r.positions.as_ref().map(Vec::len)),
        "corrections": inverted.map(|inverted| json!({
            "vertices_space": inverted.vertices.name(),
            "deformer": inverted.deformer.words(),
            "skins": inverted.skins,
            "text": inverted.sentence(),
        })),
        "labels": contents.records.iter().map(|r| r.label.clone()).collect::<Vec<_>>(),
        "clips": clips,
        "morph_targets": contents.morphs.iter().map(|m| m.name.clone()).collect::<Vec<_>>(),
        "frames_per_second": contents.frames_per_second,
        "unread": contents.unread,
        "flaws": contents.warnings.iter().map(|w| json!({
            "what": w.flaw.to_string(), "count": w.count, "first": w.first,
        })).collect::<Vec<_>>(),
    })
}

/// The description in lines for people.
pub fn lines(value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    out.push(format!("{}  ({}, {} bytes)", text(&value["file"]), text(&value["format"]), value["bytes"]));
    let unit = match text(&value["unit"]) {
        metres if metres == "m" => metres,
        other => format!("\"{other}\""),
    };
    let stated = match value["space_stated"] == true {
        true => "",
        false => " (not stated by the file: --unit and --up say otherwise where it is read with a rig)",
    };
    out.push(format!("  space       unit {unit}, {} up{stated}", text(&value["up_axis"])));
    if let Value::Object(mesh) = &value["mesh"] {
        let mut line = format!("  mesh        {} vertices, {} triangles", mesh["vertices"], mesh["triangles"]);
        if !mesh["polygons"].is_null() {
            line += &format!(", {} polygons", mesh["polygons"]);
        }
        if !mesh["drawn_vertices"].is_null() && mesh["drawn_vertices"] != mesh["vertices"] {
            line += &format!(", drawn as {} vertices", mesh["drawn_vertices"]);
        }
        line += if mesh["closed"] == true { ", closed" } else { ", open" };
        line += &format!(", diagonal {}", decimal(mesh["diagonal"].as_f64().unwrap_or(0.0), 4));
        out.push(line);
        object_lines(&mesh["objects"], &mut out);
    }
    if let Value::Object(bones) = &value["skeleton"] {
        let bind = match bones["identity_at_bind"] == true {
            true => "at identity in its bind pose".to_owned(),
            false => format!("{} bones are not at their bind pose by default", bones["bones_off_bind"]),
        };
        out.push(format!(
            "  skeleton    {} bones, {} {}, {} deep; {bind}",
            bones["bones"],
            bones["roots"],
            if bones["roots"] == 1 { "root" } else { "roots" },
            bones["deepest"]
        ));
    }
    if let Value::Object(influences) = &value["influences"] {
        out.push(format!(
            "  influences  at most {}, {:.2} on average; vertices by number of influences: {}; {} bones used",
            influences["most_per_vertex"],
            influences["mean_per_vertex"].as_f64().unwrap_or(0.0),
            influences["vertices_by_count"],
            influences["bones_used"],
        ));
    }
    take::lines(&value["take"], &mut out);
    if value["influence_maps"] == true {
        out.push("  influence maps are in the file".into());
    }
    rig_lines(&value["rig"], &mut out);
    if value["poses"] != 0 || value["skins"] != 0 {
        let labels = value["labels"].as_array().map(|l| (l.first().map(&text), l.last().map(&text)));
        let (first, last) = labels.map_or((None, None), |l| l);
        out.push(format!(
            "  records     {} poses, {} skins ({} … {})",
            value["poses"],
            value["skins"],
            first.unwrap_or_default(),
            last.unwrap_or_default()
        ));
    }
    if let Value::Object(corrections) = &value["corrections"] {
        out.push(format!("  corrections {}", text(&corrections["text"])));
    }
    for clip in value["clips"].as_array().into_iter().flatten() {
        out.push(format!(
            "  clip        \"{}\", {} s, {} keys",
            text(&clip["name"]),
            decimal(clip["seconds"].as_f64().unwrap_or(0.0), 3),
            clip["keys"]
        ));
    }
    if let Some(morphs) = value["morph_targets"].as_array().filter(|m| !m.is_empty()) {
        let names: Vec<String> = morphs.iter().take(6).map(&text).collect();
        let more = if morphs.len() > 6 { ", …" } else { "" };
        out.push(format!("  morphs      {}: {}{more}", morphs.len(), names.join(", ")));
    }
    if let Value::Object(model) = &value["model"] {
        out.push(format!(
            "  model       {}, {} bytes to evaluate, coefficients of {} bits, by {}",
            text(&model["method"]),
            model["model_bytes"],
            model["coefficient_bits"],
            text(&model["program"])
        ));
    }
    let unread = value["unread"].as_array().filter(|u| !u.is_empty());
    if let Some(unread) = unread {
        out.push(format!("  not read    {}", unread.iter().map(&text).collect::<Vec<_>>().join(", ")));
    }
    let flaws = value["flaws"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Whoever leaves something out cannot know that it has no flaw.
    if flaws.is_empty() && unread.is_none() {
        out.push("  flaws       none found".into());
    }
    for flaw in flaws {
        let first = if flaw["first"].is_null() { String::new() } else { format!(" (first: {})", text(&flaw["first"])) };
        out.push(format!("  flaw        {}: {}{first}", flaw["count"], text(&flaw["what"])));
    }
    out
}

/// Islands and symmetry in lines.
fn rig_lines(rig: &Value, out: &mut Vec<String>) {
    let Value::Object(found) = rig else { return };
    let islands = &found["islands"];
    let loose = match &islands["loose_vertices"] {
        none if *none == 0 => String::new(),
        loose => format!(" ({loose} vertices in no triangle)"),
    };
    out.push(format!(
        "  islands     {}{loose}; {} edges of seams, {} of one triangle, {} of more than two",
        islands["count"], islands["seam_edges"], islands["border_edges"], islands["crowded_edges"]
    ));
    if let Value::Object(mirror) = &found["symmetry"] {
        let number = |value: &Value| value.as_f64().unwrap_or(0.0);
        let alone = mirror["unpaired_bones"].as_array().map_or(0, Vec::len);
        out.push(format!(
            "  symmetry    plane ({}) · p = {}; {} vertices and {alone} bones without partner; weights differ by {:.2} % on average, at most {:.0} %",
            mirror["normal"].as_array().into_iter().flatten().map(|x| format!("{:.3}", (1e3 * number(x)).round() / 1e3 + 0.0)).collect::<Vec<_>>().join(", "),
            decimal(number(&mirror["plane"]), 4),
            mirror["unpaired_vertices"],
            100.0 * number(&mirror["asymmetry"]["mean"]),
            100.0 * number(&mirror["asymmetry"]["max"]),
        ));
    }
}
