//! Keys and in-betweens, the clock of one variable, and a face with controls of meaning.

use crate::FigureError;
use dermis_motion::map::{Between, Example};
use dermis_motion::turn::{TurnCurve, TurnEase, TurnKey};
use dermis_motion::{Beyond, Curve, Ease, Expression, Key, KeyPath, Map};
use dermis_report::figures::{
    CaptionedDrawing, Drawing, Exhibit, Figure, LineChart, Measured, Picture, PictureView, Series, Verdict,
};
use dermis_rig::glam::{DQuat, DVec3};

/// Returns the figures.
///
/// # Errors
/// [`FigureError`].
pub(super) fn figures() -> Result<Vec<Figure>, FigureError> {
    Ok(vec![face()?, keys()?, clock()?])
}

/// Keys of the figure: seconds, value.
const KEYS: [[f64; 2]; 5] = [[0.0, 0.0], [1.0, 1.0], [1.8, 0.2], [3.0, 0.9], [4.0, 0.4]];

fn keys() -> Result<Figure, FigureError> {
    let curve = |ease: Ease| {
        let keys: Vec<Key> = KEYS.iter().map(|[t, v]| Key::new(*t, *v).eased(ease)).collect();
        Curve::new(&keys, Beyond::Hold, Beyond::Hold).map_err(FigureError::of("curve"))
    };
    let eases =
        [("step", Ease::Step), ("linear", Ease::Linear), ("Catmull–Rom", Ease::CatmullRom), ("Bézier", Ease::Bezier)];
    let (mut series, mut off, mut jump) = (Vec::new(), 0.0f64, 0.0f64);
    for (name, ease) in eases {
        let curve = curve(ease)?;
        off = KEYS.iter().map(|[t, v]| (curve.value(*t) - v).abs()).fold(off, f64::max);
        if !matches!(ease, Ease::Step | Ease::Linear) {
            // Slopes left and right of the keys between the ends.
            let h = 1e-5;
            let slope = |t: f64, by: f64| (curve.value(t + by) - curve.value(t)) / by;
            jump = KEYS[1..4].iter().map(|[t, _]| (slope(*t, h) - slope(*t, -h)).abs()).fold(jump, f64::max);
        }
        let points = (0..=400).map(|i| 0.01 * f64::from(i)).map(|t| [t, curve.value(t)]).collect();
        series.push(Series { name: name.into(), points, ..Series::default() });
    }
    series.push(Series { name: "keys".into(), points: KEYS.to_vec(), dots: true, dashed: true });
    let chart = LineChart {
        label: "a value between keys".into(),
        across: "seconds".into(),
        up: "value".into(),
        series,
        ..LineChart::default()
    };
    let legend = chart.legend();
    // The speed of slerp between two rotations is constant.
    let turns = [DQuat::IDENTITY, DQuat::from_scaled_axis(DVec3::new(0.4, 1.1, -0.7))];
    let keys = [TurnKey { time: 0.0, turn: turns[0] }, TurnKey { time: 1.0, turn: turns[1] }];
    let slerp = TurnCurve::new(&keys, TurnEase::Slerp, Beyond::Hold, Beyond::Hold)
        .map_err(FigureError::of("rotation curve"))?;
    let step = |i: u32| slerp.rotation(0.01 * f64::from(i)).angle_between(slerp.rotation(0.01 * f64::from(i + 1)));
    let (slow, fast) = (0..100).map(step).fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), s| (a.min(s), b.max(s)));
    let uneven = (fast - slow) / fast;
    Ok(Figure {
        name: "Keys and in-betweens".into(),
        title: "what happens between two poses".into(),
        paper: "The animator gives poses at key frames; the program makes the frames between by splines. Rotations are interpolated as quaternions, at \
                constant speed."
            .into(),
        ours: "One value through five keys. The lines differ in their slopes at the keys.".into(),
        outcome: Verdict::Reproduced,
        measured: vec![
            Measured::claimed("largest distance of any curve from its keys", format!("{off:.1e}"), "0", off < 1e-12),
            Measured::claimed("largest jump of a spline's slope at a key", format!("{jump:.1e}"), "0: smooth", jump < 1e-3),
            Measured::claimed("variation of speed along slerp", format!("{uneven:.1e}"), "0", uneven < 1e-6),
        ],
        exhibits: vec![Exhibit::Drawings(vec![CaptionedDrawing { drawing: Drawing::Svg(chart.to_svg()), caption: String::new(), legend }])],
    })
}

fn clock() -> Result<Figure, FigureError> {
    let hands = [("second", "-6 * seconds"), ("minute", "-6 * seconds / 60"), ("hour", "-30 * seconds / 3600")];
    let made = hands.map(|(_, text)| Expression::new(text).map_err(FigureError::of("expression")));
    let [second, minute, hour] = made;
    let hands_at = [second?, minute?, hour?];
    let at = |hand: &Expression, seconds: f64| {
        let value = hand.evaluate(&|name: &str| (name == "seconds").then_some(seconds));
        value.map_err(FigureError::of("expression"))
    };
    let mut drawings = Vec::new();
    let times = [("3:00:00", 10_800.0), ("9:30:15", 34_215.0), ("10:10:10", 36_610.0)];
    let mut off = 0.0f64;
    for (label, seconds) in times {
        let angles = [at(&hands_at[0], seconds)?, at(&hands_at[1], seconds)?, at(&hands_at[2], seconds)?];
        // The angle of a hand from the digits of the time, clockwise from twelve.
        let digits: Vec<f64> = label.split(':').filter_map(|d| d.parse().ok()).collect();
        let minutes = digits[1] + digits[2] / 60.0;
        let expected = [6.0 * digits[2], 6.0 * minutes, 30.0 * (digits[0] + minutes / 60.0)];
        for (angle, expected) in angles.iter().zip(expected) {
            let apart = (-angle - expected).rem_euclid(360.0);
            off = off.max(apart.min(360.0 - apart));
        }
        drawings.push(CaptionedDrawing {
            drawing: Drawing::Svg(clock_face(label, angles)),
            caption: label.into(),
            legend: vec![],
        });
    }
    Ok(Figure {
        name: "Clock".into(),
        title: "three hands, one variable".into(),
        paper: "A clock has one control, the seconds; expressions of it turn the three hands.".into(),
        ours: "The expressions of assets/scenes/clock.json without its tick, evaluated at three times and held against angles from the digits. \
               dermis animate assets/scenes/clock.json -o clock.glb plays it."
            .into(),
        outcome: Verdict::Reproduced,
        measured: vec![Measured::claimed("largest error of a hand, degrees", format!("{off:.1e}"), "0", off < 1e-9)],
        exhibits: vec![Exhibit::Drawings(drawings)],
    })
}

/// A clock with hands at angles, degrees counter-clockwise from twelve: second, minute, hour.
fn clock_face(label: &str, angles: [f64; 3]) -> String {
    let mut svg = format!(
        "<svg viewBox=\"-110 -110 220 220\" role=\"img\" aria-label=\"clock at {label}\"><circle r=\"100\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"3\"/>"
    );
    for hour in 0..12 {
        let (sin, cos) = f64::to_radians(30.0 * f64::from(hour)).sin_cos();
        svg += &format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"currentColor\" stroke-width=\"3\"/>",
            88.0 * sin,
            -88.0 * cos,
            97.0 * sin,
            -97.0 * cos
        );
    }
    for (angle, length, width, colour) in
        [(angles[2], 52.0, 8.0, "#1f66c1"), (angles[1], 78.0, 5.0, "#b5651d"), (angles[0], 84.0, 2.0, "#a3201d")]
    {
        let (sin, cos) = (-angle).to_radians().sin_cos();
        svg += &format!(
            "<line x1=\"0\" y1=\"0\" x2=\"{:.2}\" y2=\"{:.2}\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\"/>",
            length * sin,
            -length * cos
        );
    }
    svg + "</svg>"
}

/// Shapes of the face: smile left and right, frown left and right, jaw, brows.
const SHAPES: usize = 6;
/// Examples of the map from (smile, frown) to the weights of the shapes, as an artist gives them.
const EXAMPLES: [([f64; 2], [f64; SHAPES]); 5] = [
    ([0.0, 0.0], [0.0; SHAPES]),
    ([0.5, 0.0], [0.5, 0.5, 0.0, 0.0, 0.0, 0.1]),
    ([1.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.6, 0.6]),
    ([0.0, 1.0], [0.0, 0.0, 1.0, 1.0, 0.0, -0.8]),
    ([1.0, 1.0], [1.0, 0.0, 0.0, 0.8, 0.1, -0.4]),
];

fn face() -> Result<Figure, FigureError> {
    let examples = EXAMPLES.iter().map(|(at, give)| Example { at: at.to_vec(), give: give.to_vec() }).collect();
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let map = Map::new(
        names(&["smile", "frown"]),
        names(&["smile left", "smile right", "frown left", "frown right", "jaw", "brows"]),
        examples,
        Between::Gaussian { width: None },
        &KeyPath::new(),
    )
    .map_err(FigureError::of("map"))?;
    let met = EXAMPLES.iter().flat_map(|(at, give)| {
        let made = map.evaluate(at);
        made.into_iter().zip(give.to_vec()).map(|(a, b)| (a - b).abs()).collect::<Vec<_>>()
    });
    let met = met.fold(0.0, f64::max);
    let (neutral, triangles) = head();
    let view = PictureView::around(&neutral, 0.0, 0.05, 260);
    let grey = vec![DVec3::new(0.82, 0.72, 0.64); neutral.len()];
    let skin = |weights: &[f64]| -> Vec<DVec3> {
        let moved = |p: &DVec3| *p + (0..SHAPES).map(|s| shape(s, *p) * weights[s]).sum::<DVec3>();
        neutral.iter().map(moved).collect()
    };
    let drawing = |(label, at): (&str, [f64; 2])| CaptionedDrawing {
        drawing: Drawing::Picture(Picture::of(label, view, &skin(&map.evaluate(&at)), &triangles, &grey)),
        caption: format!("{label}: smile {}, frown {}", at[0], at[1]),
        legend: vec![],
    };
    let shown = [
        ("neutral", [0.0, 0.0]),
        ("half a smile", [0.5, 0.0]),
        ("smile", [1.0, 0.0]),
        ("frown", [0.0, 1.0]),
        ("both", [1.0, 1.0]),
        ("between", [0.6, 0.4]),
    ];
    // Blend shapes are linear: two weights give the sum of their displacements.
    let (a, b) = ([0.7, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.3, 0.2, 0.0]);
    let both: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + b).collect();
    let linear = skin(&both)
        .iter()
        .zip(skin(&a))
        .zip(skin(&b))
        .zip(&neutral)
        .map(|(((s, x), y), n)| s.distance(x + y - *n))
        .fold(0.0, f64::max);
    Ok(Figure {
        name: "Blend-shape face".into(),
        title: "controls of meaning over shapes".into(),
        paper: "A face is a weighted sum of sculpted snapshots. Few controls of meaning, such as a smile, drive many shapes.".into(),
        ours: "A face made for the purpose, six shapes, and a map from smile and frown through five examples. dermis animate assets/scenes/face.json -o face.glb \
               plays another with eight shapes."
            .into(),
        outcome: Verdict::Reproduced,
        measured: vec![
            Measured::claimed("largest error of the map at its examples", format!("{met:.1e}"), "0: examples are met", met < 1e-6),
            Measured::claimed("face of two weights against the sum of their displacements", format!("{linear:.1e}"), "0: linear", linear < 1e-12),
        ],
        exhibits: vec![Exhibit::Drawings(shown.into_iter().map(drawing).collect())],
    })
}

/// The displacement of a shape at a place of the neutral face.
fn shape(number: usize, p: DVec3) -> DVec3 {
    let bump = |x: f64, y: f64, width: f64| {
        if p.z < 0.0 { 0.0 } else { (-((p.x - x).powi(2) + (p.y - y).powi(2)) / (width * width)).exp() }
    };
    let (side, corner) = (if number.is_multiple_of(2) { -1.0 } else { 1.0 }, 0.33);
    match number {
        0 | 1 => {
            DVec3::new(0.07 * side, 0.16, -0.04) * bump(corner * side, -0.42, 0.17)
                + DVec3::Z * 0.07 * bump(0.42 * side, -0.12, 0.16)
        }
        2 | 3 => DVec3::new(0.02 * side, -0.14, -0.02) * bump(corner * side, -0.42, 0.17),
        4 => DVec3::Y * -0.22 * bump(0.0, -0.62, 0.24),
        _ => DVec3::new(0.0, 0.1, 0.05) * (bump(-0.3, 0.36, 0.2) + bump(0.3, 0.36, 0.2)),
    }
}

/// A head: an ellipsoid with brows, nose, mouth and eyes pressed into it, as a grid.
fn head() -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let (rows, columns) = (120u32, 160u32);
    let place = |row: u32, column: u32| {
        let (up, round) = (
            std::f64::consts::PI * (f64::from(row) / f64::from(rows) - 0.5),
            std::f64::consts::TAU * f64::from(column) / f64::from(columns),
        );
        let p = DVec3::new(0.74 * up.cos() * round.sin(), up.sin(), 0.85 * up.cos() * round.cos());
        if p.z < 0.0 {
            return p;
        }
        let bump =
            |x: f64, y: f64, wide: f64, high: f64| (-((p.x - x) / wide).powi(2) - ((p.y - y) / high).powi(2)).exp();
        let eyes = bump(-0.28, 0.16, 0.13, 0.08) + bump(0.28, 0.16, 0.13, 0.08);
        let brows = bump(-0.28, 0.36, 0.2, 0.06) + bump(0.28, 0.36, 0.2, 0.06);
        let lips = bump(0.0, -0.36, 0.27, 0.05) + bump(0.0, -0.48, 0.25, 0.05);
        let nose = bump(0.0, -0.06, 0.1, 0.16) + 0.5 * bump(0.0, -0.14, 0.16, 0.06);
        p + DVec3::Z * (0.16 * nose - 0.12 * eyes + 0.05 * brows + 0.06 * lips - 0.1 * bump(0.0, -0.42, 0.27, 0.025))
    };
    let positions = (0..=rows).flat_map(|row| (0..columns).map(move |column| place(row, column))).collect();
    let at = |row: u32, column: u32| row * columns + column % columns;
    let cell = |(row, column): (u32, u32)| {
        let [a, b, c, d] = [at(row, column), at(row, column + 1), at(row + 1, column + 1), at(row + 1, column)];
        [[a, b, c], [a, c, d]]
    };
    let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    (positions, cells.flat_map(cell).collect())
}
