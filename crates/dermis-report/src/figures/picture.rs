//! Meshes as pictures: seen from afar, lit, a colour per vertex.

use base64::{Engine, engine::general_purpose::STANDARD};
use dermis_rig::glam::{DMat3, DVec3};

/// Pixels with an opacity, row by row from the top.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Red, green, blue and opacity of every pixel.
    pub rgba: Vec<u8>,
    /// Spoken in place of the picture.
    pub label: String,
}

/// From where a mesh is seen: without perspective, Y up.
#[derive(Clone, Copy, Debug)]
pub struct PictureView {
    /// How far the viewer walks around the mesh, degrees; 0 looks along −Z, onto the front.
    pub yaw: f64,
    /// How far the viewer looks down, degrees.
    pub pitch: f64,
    /// The middle of the picture.
    pub centre: DVec3,
    /// The height of what is seen, in units of the mesh.
    pub height: f64,
    /// Pixels: width and height.
    pub pixels: [u32; 2],
}

impl PictureView {
    /// Returns a view that holds all `points`, with pixels in the proportion of what is seen, `longest` on the longer side.
    pub fn around(points: &[DVec3], yaw: f64, pitch: f64, longest: u32) -> Self {
        let turn = turn(yaw, pitch);
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let seen = points.iter().filter(|p| p.is_finite()).map(|p| turn * *p);
        let (low, high) = seen.fold(start, |(low, high), p| (low.min(p), high.max(p)));
        let (low, high) = if low.is_finite() { (low, high) } else { (-DVec3::ONE, DVec3::ONE) };
        let size = (1.06 * (high - low)).max(DVec3::splat(1e-9));
        let scale = f64::from(longest) / size.x.max(size.y);
        let pixels = [size.x, size.y].map(|s| ((s * scale).round() as u32).clamp(1, longest));
        Self { yaw, pitch, centre: turn.transpose() * (0.5 * (low + high)), height: size.y, pixels }
    }

    /// Returns the views widened to one size in the scene and in pixels, about their own centres, so that pictures beside each
    /// other have one scale; `longest` pixels on the longer side.
    pub fn of_one_size(views: &[Self], longest: u32) -> Vec<Self> {
        let width = |view: &Self| view.height * f64::from(view.pixels[0]) / f64::from(view.pixels[1]);
        let most = |sizes: Vec<f64>| sizes.into_iter().fold(1e-9, f64::max);
        let wide = most(views.iter().map(width).collect());
        let high = most(views.iter().map(|view| view.height).collect());
        let scale = f64::from(longest) / wide.max(high);
        let pixels = [wide, high].map(|s| ((s * scale).round() as u32).clamp(1, longest));
        views.iter().map(|view| Self { height: high, pixels, ..*view }).collect()
    }
}

fn turn(yaw: f64, pitch: f64) -> DMat3 {
    DMat3::from_rotation_x(pitch.to_radians()) * DMat3::from_rotation_y(-yaw.to_radians())
}

/// Returns the colour of an influence between 0 and 1: grey for none, through blue and green to yellow for all.
pub fn influence_colour(share: f64) -> DVec3 {
    const RAMP: [[f64; 3]; 6] = [
        [0.80, 0.82, 0.85],
        [0.36, 0.42, 0.76],
        [0.16, 0.55, 0.68],
        [0.20, 0.70, 0.48],
        [0.62, 0.82, 0.24],
        [0.99, 0.89, 0.15],
    ];
    let at = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let below = (at as usize).min(RAMP.len() - 2);
    DVec3::from(RAMP[below]).lerp(DVec3::from(RAMP[below + 1]), at - below as f64)
}

/// Returns the colour of an error of `share` of the largest that is told apart: the map of the 3D view, from pale by way of orange and red
/// to violet.
pub fn error_colour(share: f64) -> DVec3 {
    const MAGMA: [u32; 9] = [
        0x00fc_fdbf,
        0x00fe_ce91,
        0x00fe_9f6d,
        0x00f7_705c,
        0x00de_4968,
        0x00b7_3779,
        0x008c_2981,
        0x0064_1a80,
        0x003b_0f70,
    ];
    let of = |hex: u32| DVec3::from([16, 8, 0].map(|bits| f64::from(hex >> bits & 0xff) / 255.0));
    let at = share.clamp(0.0, 1.0) * (MAGMA.len() - 1) as f64;
    let below = (at as usize).min(MAGMA.len() - 2);
    of(MAGMA[below]).lerp(of(MAGMA[below + 1]), at - below as f64)
}

/// Returns the colour of a bone among others, as the rig's 3D view has it: hues a golden section of the circle apart, at three strengths.
pub fn bone_colour(bone: usize) -> DVec3 {
    let hue = (bone as f64 * 0.618_033_988_75).fract();
    let (light, strength) = [(0.62, 0.62), (0.5, 0.7), (0.74, 0.5)][bone % 3];
    let reach = strength * f64::min(light, 1.0 - light);
    DVec3::from([0.0, 8.0, 4.0].map(|n| {
        let k = (n + hue * 12.0) % 12.0;
        light - reach * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0)
    }))
}

impl Picture {
    /// Draws a mesh, both sides of its faces.
    ///
    /// - `positions`: vertices; triangles with one that is not finite are left out, as are those that name none
    /// - `colours`: red, green and blue per vertex, 0 to 1; a vertex beyond their end is grey
    ///
    /// Every pixel is the mean of four, so that edges are smooth.
    pub fn of(label: &str, view: PictureView, positions: &[DVec3], triangles: &[[u32; 3]], colours: &[DVec3]) -> Self {
        const FINE: u32 = 2;
        let [width, height] = view.pixels.map(|p| FINE * p.clamp(1, 4096));
        let (turn, scale) = (turn(view.yaw, view.pitch), f64::from(height) / view.height);
        let middle = DVec3::new(0.5 * f64::from(width), 0.5 * f64::from(height), 0.0);
        let place = |p: &DVec3| middle + scale * DVec3::new(1.0, -1.0, 1.0) * (turn * (*p - view.centre));
        let placed: Vec<DVec3> = positions.iter().map(place).collect();
        let mut nearest = vec![f64::NEG_INFINITY; (width * height) as usize];
        let mut fine = vec![[0u8; 4]; (width * height) as usize];
        let light = DVec3::new(-0.35, 0.55, 0.75).normalize();
        for corners in triangles {
            let corners = corners.map(|v| v as usize);
            let Some([a, b, c]) = corner_places(&placed, corners) else { continue };
            let normal = (b - a).cross(c - a) * DVec3::new(1.0, -1.0, 1.0);
            let normal = (if normal.z < 0.0 { -normal } else { normal }).normalize_or_zero();
            let lit = 0.45 + 0.55 * normal.dot(light).max(0.0);
            let area = (b - a).truncate().perp_dot((c - a).truncate());
            if area == 0.0 {
                continue;
            }
            let (low, high) = (a.min(b).min(c), a.max(b).max(c));
            let span = |low: f64, high: f64, size: u32| {
                (low.floor().clamp(0.0, f64::from(size)) as u32)..(high.ceil().clamp(0.0, f64::from(size)) as u32)
            };
            let colour = |v: usize| colours.get(v).copied().unwrap_or(DVec3::splat(0.8));
            for y in span(low.y, high.y, height) {
                for x in span(low.x, high.x, width) {
                    let p = DVec3::new(f64::from(x) + 0.5, f64::from(y) + 0.5, 0.0);
                    let share = |from: DVec3, to: DVec3| (to - from).truncate().perp_dot((p - from).truncate()) / area;
                    let (u, v) = (share(b, c), share(c, a));
                    let w = 1.0 - u - v;
                    if u.min(v).min(w) < 0.0 {
                        continue;
                    }
                    let depth = u * a.z + v * b.z + w * c.z;
                    let at = (y * width + x) as usize;
                    if depth > nearest[at] {
                        nearest[at] = depth;
                        let mixed = u * colour(corners[0]) + v * colour(corners[1]) + w * colour(corners[2]);
                        let [r, g, b] = (255.0 * lit * mixed).to_array().map(|c| c.clamp(0.0, 255.0) as u8);
                        fine[at] = [r, g, b, 255];
                    }
                }
            }
        }
        let (w, h) = (width / FINE, height / FINE);
        let mean = |x: u32, y: u32| {
            let four = (0..FINE * FINE).map(|i| fine[((FINE * y + i / FINE) * width + FINE * x + i % FINE) as usize]);
            let sum = four.fold([0u32; 4], |sum, p| {
                let inked = |i: usize| u32::from(p[i]) * u32::from(p[3]) / 255;
                [sum[0] + inked(0), sum[1] + inked(1), sum[2] + inked(2), sum[3] + u32::from(p[3])]
            });
            let ink = (sum[3] / 255).max(1);
            [sum[0] / ink, sum[1] / ink, sum[2] / ink, sum[3] / (FINE * FINE)].map(|c| c.min(255) as u8)
        };
        let rgba = (0..h).flat_map(|y| (0..w).flat_map(move |x| mean(x, y))).collect();
        Self { width: w, height: h, rgba, label: label.into() }
    }

    /// Returns the picture as a PNG file; empty if pixels and size disagree.
    pub fn png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&self.rgba));
        if written.is_err() {
            bytes.clear();
        }
        bytes
    }

    /// Returns the picture as an element of a page that needs no other file.
    pub fn html(&self) -> String {
        let label = crate::page::html::escape(&self.label);
        let (width, height, data) = (self.width, self.height, STANDARD.encode(self.png()));
        format!("<img alt=\"{label}\" width=\"{width}\" height=\"{height}\" src=\"data:image/png;base64,{data}\">")
    }
}

/// Returns the places of three vertices, if they are there and finite.
fn corner_places(placed: &[DVec3], corners: [usize; 3]) -> Option<[DVec3; 3]> {
    let [a, b, c] = corners.map(|v| placed.get(v).copied().filter(|p| p.is_finite()));
    Some([a?, b?, c?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square twice as wide as another: both are seen whole, at one scale, each in the middle.
    #[test]
    fn pictures_of_one_size_have_one_scale() {
        let square = |half: f64, at: DVec3| {
            [(-half, -half), (half, -half), (0.0, half)].map(|(x, y)| at + DVec3::new(x, y, 0.0)).to_vec()
        };
        let shapes = [square(1.0, DVec3::ZERO), square(2.0, DVec3::new(5.0, 0.0, 0.0))];
        let views: Vec<PictureView> = shapes.iter().map(|points| PictureView::around(points, 0.0, 0.0, 100)).collect();
        let same = PictureView::of_one_size(&views, 100);
        for (view, middle) in same.iter().zip([0.0, 5.0]) {
            assert_eq!((view.pixels, view.height), (views[1].pixels, views[1].height));
            assert!((view.centre.x - middle).abs() < 1e-12);
        }
        assert!(PictureView::of_one_size(&[], 100).is_empty());
    }

    /// Two triangles, one behind the other: the nearer one is seen, and the ground stays clear.
    #[test]
    fn the_nearer_face_covers_the_farther_one() {
        let far = [DVec3::new(-1.0, -1.0, -1.0), DVec3::new(1.0, -1.0, -1.0), DVec3::new(0.0, 1.0, -1.0)];
        let near = far.map(|p| 0.4 * p + DVec3::Z);
        let positions: Vec<DVec3> = far.into_iter().chain(near).collect();
        let colours: Vec<DVec3> = [DVec3::X, DVec3::Z].into_iter().flat_map(|c| [c; 3]).collect();
        let view = PictureView { yaw: 0.0, pitch: 0.0, centre: DVec3::ZERO, height: 2.0, pixels: [40, 40] };
        let at = |picture: &Picture, x: usize, y: usize| {
            let start = 4 * (y * picture.width as usize + x);
            <[u8; 4]>::try_from(&picture.rgba[start..start + 4]).unwrap()
        };
        for order in [[[0, 1, 2], [3, 4, 5]], [[3, 4, 5], [2, 1, 0]]] {
            let picture = Picture::of("two", view, &positions, &order, &colours);
            let middle = at(&picture, 20, 22);
            assert!(middle[2] > 100 && middle[0] == 0 && middle[3] == 255, "{middle:?}");
            let below = at(&picture, 20, 38);
            assert!(below[0] > 100 && below[2] == 0, "{below:?}");
            assert_eq!(at(&picture, 1, 1), [0; 4]);
        }
        // From behind, the other face is in front.
        let behind = PictureView { yaw: 180.0, ..view };
        let picture = Picture::of("two", behind, &positions, &[[0, 1, 2], [3, 4, 5]], &colours);
        assert!(at(&picture, 20, 22)[0] > 100);
    }

    /// The ends of the map are its first and last entry, and colours of bones are red at first, as HSL has it.
    #[test]
    fn colours_are_those_of_the_page() {
        let bytes = |colour: DVec3| (255.0 * colour).round().to_array();
        assert_eq!(bytes(error_colour(0.0)), [252.0, 253.0, 191.0]);
        assert_eq!(bytes(error_colour(0.5)), [222.0, 73.0, 104.0]);
        assert_eq!(bytes(error_colour(7.0)), [59.0, 15.0, 112.0]);
        // hsl(0, 62 %, 62 %)
        assert_eq!(bytes(bone_colour(0)), [218.0, 98.0, 98.0]);
    }

    #[test]
    fn what_does_not_fit_leaves_no_trace() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::splat(f64::NAN)];
        let view = PictureView::around(&positions, 20.0, 10.0, 16);
        let picture = Picture::of("none", view, &positions, &[[0, 1, 2], [0, 1, 7]], &[]);
        assert!(picture.rgba.iter().all(|x| *x == 0));
        let decoder = png::Decoder::new(std::io::Cursor::new(picture.png()));
        let info = decoder.read_info().unwrap();
        assert_eq!((info.info().width, info.info().height), (picture.width, picture.height));
    }
}
