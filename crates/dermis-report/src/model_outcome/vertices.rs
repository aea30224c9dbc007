//! Errors per vertex as CSV.

use dermis_measure::Scores;
use dermis_rig::Rig;

/// Returns errors per vertex as CSV, in the model's unit.
///
/// Columns: the vertex, its strongest bone, rms and largest error of the model, the same of the rig's own weights. Cells
/// without a value are empty.
pub fn vertex_csv(rig: &Rig, scores: &Scores) -> String {
    let mut csv = String::from("vertex,bone,rms,max,baseline_rms,baseline_max\n");
    for (v, (rms, max)) in scores.model.per_vertex_rms.iter().zip(&scores.model.per_vertex_max).enumerate() {
        let bone = rig.weights().and_then(|w| w.dominant(v)).map_or("", |b| &rig.skeleton().names()[b]);
        let bone = if bone.contains([',', '"', '\n']) {
            format!("\"{}\"", bone.replace('"', "\"\""))
        } else {
            bone.to_owned()
        };
        let base = scores
            .baseline
            .as_ref()
            .map_or(String::from(","), |b| format!("{:e},{:e}", b.per_vertex_rms[v], b.per_vertex_max[v]));
        csv += &format!("{v},{bone},{rms:e},{max:e},{base}\n");
    }
    csv
}
