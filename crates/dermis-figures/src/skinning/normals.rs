//! Normals of a skin that blending squeezes: by the inverse transpose of the blended matrix, and by the matrix itself.

use crate::FigureError;
use crate::limb::{TUBE, TubeRig};
use dermis_deform::{blend, mesh_normals, skinned_normals};
use dermis_measure::Movement;
use dermis_report::figures::{CaptionedDrawing, Drawing, Exhibit, Figure, LineChart, Measured, Series, Verdict};
use dermis_rig::glam::DVec3;

/// Bends looked at, degrees.
const BENDS: [f64; 6] = [15.0, 30.0, 60.0, 90.0, 120.0, 150.0];

/// Returns the figure.
///
/// # Errors
/// [`FigureError`].
pub(super) fn figure(tube: &TubeRig) -> Result<Figure, FigureError> {
    let of_mesh = |skin: &[DVec3]| {
        let mut normals = vec![DVec3::ZERO; skin.len()];
        mesh_normals(&tube.mesh.triangles, skin, &mut normals).map_err(FigureError::of("mesh"))?;
        Ok::<_, FigureError>(normals)
    };
    let rest = of_mesh(&tube.mesh.positions)?;
    let mut lines = [Vec::new(), Vec::new()];
    for degrees in BENDS {
        let pose = TUBE.transforms(Movement::Bend, degrees.to_radians());
        let wanted = of_mesh(&tube.smooth(&pose))?;
        let mut inverse = vec![DVec3::ZERO; rest.len()];
        skinned_normals(&rest, &tube.weights, &pose, &mut inverse);
        let plain = |v: usize| blend(tube.weights.of(v), &pose).transform_vector3(rest[v]).normalize_or_zero();
        let plain: Vec<DVec3> = (0..rest.len()).map(plain).collect();
        // The zone in which bones blend, without the ends of the tube.
        let blended = |v: &usize| (tube.mesh.positions[*v].x - 0.5 * TUBE.length).abs() < TUBE.half_width;
        let zone: Vec<usize> = (0..rest.len()).filter(blended).collect();
        for (line, normals) in lines.iter_mut().zip([&inverse, &plain]) {
            let off: f64 = zone.iter().map(|&v| normals[v].angle_between(wanted[v]).to_degrees()).sum();
            line.push([degrees, off / zone.len().max(1) as f64]);
        }
    }
    let series = |name: &str, points: &[[f64; 2]]| Series {
        name: name.into(),
        points: points.to_vec(),
        dots: true,
        ..Series::default()
    };
    let chart = LineChart {
        label: "error of normals over the bend".into(),
        across: "bend, degrees".into(),
        up: "mean angle from the skin's own normals, degrees".into(),
        series: vec![series("inverse transpose", &lines[0]), series("the matrix itself", &lines[1])],
        ..LineChart::default()
    };
    let [inverse, plain] = &lines;
    let nearer = inverse.iter().zip(plain).all(|(a, b)| a[1] < b[1]);
    let listed = |line: &[[f64; 2]]| line.iter().map(|p| format!("{:.1}", p[1])).collect::<Vec<_>>().join(" · ");
    Ok(Figure {
        name: "Normals".into(),
        title: "which way the deformed skin looks".into(),
        paper: "Normals are transformed by the inverse transpose of the matrix that transforms the points.".into(),
        ours: "The tube, bent. Each normal is turned by the blended matrix of its vertex, and held against the normal of the deformed faces. The \
               blend squeezes the cross-section, and the matrix itself turns normals the wrong way. What is left by the inverse transpose comes \
               from weights that change along the tube, which no matrix of a vertex knows."
            .into(),
        outcome: Verdict::Reproduced,
        measured: vec![
            Measured::claimed(
                "mean angle from the skin's own normals, degrees, over bends of 15° to 150°: inverse transpose",
                listed(inverse),
                "less than by the matrix itself, at every bend",
                nearer,
            ),
            Measured::plain("the same by the matrix itself", listed(plain)),
        ],
        exhibits: vec![Exhibit::Drawings(vec![CaptionedDrawing {
            drawing: Drawing::Svg(chart.to_svg()),
            caption: "Where bones blend".into(),
            legend: chart.legend(),
        }])],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_transpose_is_nearer_at_every_bend() {
        let figure = figure(&TubeRig::new().unwrap()).unwrap();
        assert_eq!(figure.verdict(), Verdict::Reproduced, "{:?}", figure.measured);
    }
}
