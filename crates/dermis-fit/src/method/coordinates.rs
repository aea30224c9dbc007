//! The setting `coordinates` as text: how rotations become points before poses are compared.

use dermis_deform::pose_space::Coordinates;

/// Reads coordinates from text.
pub(super) fn coordinates(text: &str) -> Result<Coordinates, String> {
    Ok(match (text, text.split_once(':')) {
        ("chord", _) => Coordinates::Chord,
        ("rotation-vector", _) => Coordinates::RotationVector,
        ("euler", _) => Coordinates::Euler,
        ("swing-twist", _) => Coordinates::SwingTwist { swing: 1.0, twist: 1.0 },
        (_, Some(("swing-twist", scales))) if let Some((swing, twist)) = two_scales(scales) => {
            Coordinates::SwingTwist { swing, twist }
        }
        _ => {
            let scales = "two scales of 0 or more, of which one is positive";
            return Err(format!("use chord, rotation-vector, euler, or swing-twist:SWING,TWIST with {scales}"));
        }
    })
}

/// Scales of swing and twist; zero leaves one of them out.
fn two_scales(text: &str) -> Option<(f64, f64)> {
    let (swing, twist) = text.split_once(',')?;
    let scale = |text: &str| text.parse::<f64>().ok().filter(|scale| scale.is_finite() && *scale >= 0.0);
    let both = (scale(swing)?, scale(twist)?);
    (both.0.max(both.1) > 0.0).then_some(both)
}

/// How coordinates are called in reports.
pub(super) fn coordinates_line(coordinates: Coordinates) -> String {
    match coordinates {
        Coordinates::Chord => "chord".into(),
        Coordinates::RotationVector => "rotation vector".into(),
        Coordinates::Euler => "euler".into(),
        Coordinates::SwingTwist { swing, twist } => format!("swing {swing}, twist {twist}"),
    }
}
