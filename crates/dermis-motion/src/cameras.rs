//! From what cameras see to places: triangulation.
//!
//! A camera is a projection P (3 × 4): a place X is seen at (p₁·X, p₂·X) / p₃·X, with X = (x, y, z, 1). From the sights of one marker
//!
//! 1. every pair of cameras gives a place by the direct linear transform: the X of unit length that minimises Σ (u p₃·X − p₁·X)² + (v p₃·X − p₂·X)², rows
//!    scaled to length one;
//! 2. the pair whose place most other cameras see within `tolerance` pixels wins: their sights are kept, the others are outliers. Cameras are few, so all pairs
//!    are tried, where RANSAC draws some;
//! 3. the linear place of all kept sights is moved to the least sum of squared distances in pixels, by Gauss and Newton.
//!
//! Source: Hartley & Zisserman 2004, "Multiple View Geometry", section 12.2; Fischler & Bolles 1981.

use crate::markers::Take;
use dermis_rig::glam::{DMat3, DVec2, DVec3, DVec4};
use dermis_solve::faer::Mat;

/// A camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Its name.
    pub name: String,
    /// Rows of its projection: world, metres, to pixels.
    pub rows: [DVec4; 3],
}

/// What cameras saw of markers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracks {
    /// Names of the markers.
    pub names: Vec<String>,
    /// Frames per second.
    pub rate: f64,
    /// The cameras.
    pub cameras: Vec<Camera>,
    /// Pixels per camera, frame and marker; `None` where it did not see it.
    pub sights: Vec<Vec<Vec<Option<DVec2>>>>,
}

/// A marker in space.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// World, metres.
    pub place: DVec3,
    /// The cameras that were used, by their number.
    pub used: Vec<usize>,
    /// Root mean square distance in these cameras, pixels.
    pub error: f64,
}

/// How well the cameras agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CameraReport {
    /// Per camera: its name, the sights that were used, and those that were outliers.
    pub cameras: Vec<(String, usize, usize)>,
    /// Markers seen by some camera for which no two agreed, over all frames.
    pub lost: usize,
    /// Root mean square distance of the sights that were used, pixels.
    pub rms: f64,
}

/// Finds the markers of every frame. A marker that fewer than two cameras agree on is not seen.
pub fn triangulate_all(tracks: &Tracks, tolerance: f64) -> (Take, CameraReport) {
    let frames = tracks.sights.iter().map(Vec::len).max().unwrap_or(0);
    let mut report = CameraReport {
        cameras: tracks.cameras.iter().map(|camera| (camera.name.clone(), 0, 0)).collect(),
        ..CameraReport::default()
    };
    let (mut squares, mut used) = (0.0, 0);
    let mut take = Take { names: tracks.names.clone(), rate: tracks.rate, frames: Vec::with_capacity(frames) };
    for frame in 0..frames {
        let mut places = Vec::with_capacity(tracks.names.len());
        for marker in 0..tracks.names.len() {
            let sights: Vec<(usize, DVec2)> = (tracks.sights.iter().enumerate())
                .filter_map(|(camera, seen)| Some((camera, (*seen.get(frame)?.get(marker)?)?)))
                .collect();
            let found = triangulate(&tracks.cameras, &sights, tolerance);
            match &found {
                Some(found) => {
                    squares += found.error.powi(2) * found.used.len() as f64;
                    used += found.used.len();
                    for (camera, _) in &sights {
                        let counts = &mut report.cameras[*camera];
                        if found.used.contains(camera) { counts.1 += 1 } else { counts.2 += 1 }
                    }
                }
                None => report.lost += usize::from(!sights.is_empty()),
            }
            places.push(found.map(|found| found.place));
        }
        take.frames.push(places);
    }
    report.rms = (squares / used.max(1) as f64).sqrt();
    (take, report)
}

/// The place of one marker from its sights: pairs of camera number and pixels. `None` if no two cameras agree within `tolerance` pixels.
pub fn triangulate(cameras: &[Camera], sights: &[(usize, DVec2)], tolerance: f64) -> Option<Found> {
    let agrees = |place: DVec3, (camera, at): &(usize, DVec2)| {
        cameras[*camera].apart(place, *at).is_some_and(|d| d <= tolerance)
    };
    let mut best: Option<(usize, f64, Vec<(usize, DVec2)>)> = None;
    for (first, a) in sights.iter().enumerate() {
        for b in &sights[first + 1..] {
            let Some(place) = linear(cameras, &[*a, *b]) else { continue };
            let kept: Vec<(usize, DVec2)> = sights.iter().filter(|sight| agrees(place, sight)).copied().collect();
            let error = kept.iter().filter_map(|(camera, at)| cameras[*camera].apart(place, *at)).map(|d| d * d).sum();
            let is_better =
                |(count, known, _): &(usize, f64, _)| kept.len() > *count || (kept.len() == *count && error < *known);
            if kept.len() >= 2 && best.as_ref().is_none_or(is_better) {
                best = Some((kept.len(), error, kept));
            }
        }
    }
    let kept = best?.2;
    let place = nearest(cameras, &kept, linear(cameras, &kept)?);
    let squares: f64 = kept.iter().filter_map(|(camera, at)| cameras[*camera].apart(place, *at)).map(|d| d * d).sum();
    let error = (squares / kept.len() as f64).sqrt();
    place.is_finite().then(|| Found { place, used: kept.iter().map(|(camera, _)| *camera).collect(), error })
}

impl Camera {
    /// Where a place is seen, pixels; `None` in the plane of the camera.
    pub fn sees(&self, place: DVec3) -> Option<DVec2> {
        let [u, v, w] = self.rows.map(|row| row.dot(place.extend(1.0)));
        let at = DVec2::new(u / w, v / w);
        at.is_finite().then_some(at)
    }

    fn apart(&self, place: DVec3, at: DVec2) -> Option<f64> {
        Some(self.sees(place)?.distance(at))
    }
}

/// The direct linear transform.
fn linear(cameras: &[Camera], sights: &[(usize, DVec2)]) -> Option<DVec3> {
    let rows: Vec<DVec4> = sights
        .iter()
        .flat_map(|(camera, at)| {
            let [p1, p2, p3] = cameras[*camera].rows;
            [p3 * at.x - p1, p3 * at.y - p2].map(|row| row / row.length().max(f64::MIN_POSITIVE))
        })
        .collect();
    let matrix = Mat::from_fn(rows.len(), 4, |i, j| rows[i][j]);
    if !matrix.is_all_finite() {
        return None;
    }
    let svd = matrix.svd().ok()?;
    let v = svd.V();
    let x = DVec4::new(v[(0, 3)], v[(1, 3)], v[(2, 3)], v[(3, 3)]);
    let place = x.truncate() / x.w;
    place.is_finite().then_some(place)
}

/// Gauss's and Newton's steps on the distances in pixels, as long as they lower the sum of squares.
fn nearest(cameras: &[Camera], sights: &[(usize, DVec2)], from: DVec3) -> DVec3 {
    let cost = |place: DVec3| -> f64 {
        sights.iter().map(|(camera, at)| cameras[*camera].apart(place, *at).map_or(f64::INFINITY, |d| d * d)).sum()
    };
    let (mut place, mut value) = (from, cost(from));
    for _ in 0..20 {
        let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
        for (camera, at) in sights {
            let [p1, p2, p3] = cameras[*camera].rows;
            let Some(seen) = cameras[*camera].sees(place) else { return place };
            let w = p3.dot(place.extend(1.0));
            for (row, (seen, at)) in [(p1, (seen.x, at.x)), (p2, (seen.y, at.y))] {
                // d(p·X / p₃·X) = (p − (p·X / p₃·X) p₃) dX / p₃·X
                let slope = (row - p3 * seen).truncate() / w;
                right += slope * (at - seen);
                normal += DMat3::from_cols(slope * slope.x, slope * slope.y, slope * slope.z);
            }
        }
        let next = place + normal.inverse() * right;
        let better = if next.is_finite() { cost(next) } else { f64::INFINITY };
        if better >= value {
            break;
        }
        let gained = value - better;
        (place, value) = (next, better);
        if gained <= 1e-14 * value {
            break;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_solve::Random;

    /// Cameras on a circle of three metres that look at its middle, 1000 pixels per radian.
    fn ring(count: usize) -> Vec<Camera> {
        let camera = |at: usize| {
            let angle = std::f64::consts::TAU * at as f64 / count as f64;
            let place = DVec3::new(3.0 * angle.cos(), 1.0 + 0.3 * (at % 3) as f64, 3.0 * angle.sin());
            let ahead = (DVec3::new(0.0, 1.0, 0.0) - place).normalize();
            let right = ahead.cross(DVec3::Y).normalize();
            let down = ahead.cross(right);
            let row = |axis: DVec3| axis.extend(-axis.dot(place));
            let (x, y, z) = (row(right), row(down), row(ahead));
            Camera { name: format!("camera {at}"), rows: [x * 1000.0 + z * 640.0, y * 1000.0 + z * 360.0, z] }
        };
        (0..count).map(camera).collect()
    }

    fn planted(random: &mut Random) -> DVec3 {
        let mut part = || random.unit() - 0.5;
        DVec3::new(part(), 1.0 + part(), part())
    }

    fn seen(cameras: &[Camera], place: DVec3) -> Vec<(usize, DVec2)> {
        cameras.iter().enumerate().map(|(at, camera)| (at, camera.sees(place).unwrap())).collect()
    }

    #[test]
    fn planted_places_come_back() {
        let cameras = ring(5);
        let mut random = Random::seeded(3);
        for _ in 0..100 {
            let place = planted(&mut random);
            let found = triangulate(&cameras, &seen(&cameras, place), 1.0).unwrap();
            assert!(found.place.distance(place) < 1e-12 && found.used == [0, 1, 2, 3, 4] && found.error < 1e-9);
            let two = triangulate(&cameras, &seen(&cameras, place)[1..3], 1.0).unwrap();
            assert!(two.place.distance(place) < 1e-12);
        }
    }

    /// At the least sum of squares the gradient vanishes; one pixel of noise is 3 mm a camera, less for five.
    #[test]
    fn noisy_sights_give_the_least_squares_in_pixels() {
        let cameras = ring(5);
        let mut random = Random::seeded(4);
        for _ in 0..50 {
            let place = planted(&mut random);
            let mut sights = seen(&cameras, place);
            sights.iter_mut().for_each(|(_, at)| *at += DVec2::new(random.unit() - 0.5, random.unit() - 0.5) * 2.0);
            let found = triangulate(&cameras, &sights, 5.0).unwrap();
            assert!(found.place.distance(place) < 5e-3, "{}", found.place.distance(place));
            let cost = |place: DVec3| -> f64 {
                sights.iter().map(|(camera, at)| cameras[*camera].sees(place).unwrap().distance_squared(*at)).sum()
            };
            for axis in DVec3::AXES {
                let slope = (cost(found.place + axis * 1e-5) - cost(found.place - axis * 1e-5)) / 2e-5;
                // The curvature is about 5 (1000 / 3)² · 2 per metre: a slope of 0.1 is a tenth of a micrometre.
                assert!(slope.abs() < 0.1, "{slope}");
            }
        }
    }

    #[test]
    fn outliers_are_left_out_and_lone_sights_lost() {
        let cameras = ring(6);
        let mut random = Random::seeded(5);
        for round in 0..50 {
            let place = planted(&mut random);
            let mut sights = seen(&cameras, place);
            let wrong = [round % 6, (round + 2) % 6];
            wrong.iter().for_each(|camera| sights[*camera].1 += DVec2::new(60.0 + 10.0 * *camera as f64, -45.0));
            let found = triangulate(&cameras, &sights, 2.0).unwrap();
            assert!(found.place.distance(place) < 1e-11 && found.used.len() == 4);
            assert!(wrong.iter().all(|camera| !found.used.contains(camera)));
        }
        let sights = vec![(0, DVec2::ZERO)];
        assert_eq!(triangulate(&cameras, &sights, 2.0), None);
    }

    #[test]
    fn whole_takes_are_counted() {
        let cameras = ring(3);
        let place = DVec3::new(0.1, 1.2, -0.2);
        let sights: Vec<Vec<Vec<Option<DVec2>>>> =
            cameras.iter().map(|camera| vec![vec![camera.sees(place), None]; 4]).collect();
        let mut tracks = Tracks { names: vec!["a".into(), "b".into()], rate: 50.0, cameras, sights };
        tracks.sights[1][2][0] = Some(DVec2::new(9.0, 9.0));
        tracks.sights[2][0][1] = Some(DVec2::new(9.0, 9.0));
        let (take, report) = triangulate_all(&tracks, 2.0);
        assert!(take.frames.iter().all(|frame| frame[0].unwrap().distance(place) < 1e-11 && frame[1].is_none()));
        let counts: Vec<(usize, usize)> = report.cameras.iter().map(|(_, used, out)| (*used, *out)).collect();
        assert_eq!((counts, report.lost), (vec![(4, 0), (3, 1), (4, 0)], 1));
    }
}
