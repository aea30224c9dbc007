//! Pictures of many skins on a ground: a depth buffer, one light, haze with distance, as a PNG.
//!
//! A [`Canvas`] takes skins batch by batch and keeps only pixels, so a crowd of any size can be drawn. Triangles are filled at the
//! centres of samples, two by two for each pixel; the sample of least depth wins, and of equal ones the first drawn. Shadows fall
//! on the ground alone. Bands of rows are drawn in parallel, each in the order of the skins: threads change no bit.

mod camera;

pub use camera::{Camera, CameraError};

use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;

/// Samples per pixel along each side.
const SAMPLES: usize = 2;
/// Rows of samples that one thread draws.
const BAND: usize = 32;
/// Towards the light.
const LIGHT: DVec3 = DVec3::new(-0.45, 0.8, 0.4);
/// The most pixels of a picture.
pub const MOST_PIXELS: usize = 1 << 25;

/// A skin to draw.
#[derive(Clone, Copy, Debug)]
pub struct DrawnSkin<'a> {
    /// Positions, metres.
    pub skin: &'a [Vec3],
    /// From their world to that of the picture.
    pub transform: DAffine3,
    /// Its colour in full light, 0 to 1.
    pub colour: Vec3,
}

/// A picture in the making.
#[derive(Clone, Debug)]
pub struct Canvas {
    camera: Camera,
    /// Pixels across and down.
    size: [usize; 2],
    haze: f64,
    samples: Vec<Sample>,
}

/// What is seen at a point of the picture.
#[derive(Clone, Copy, Debug)]
struct Sample {
    depth: f32,
    colour: [u8; 3],
    /// Whether a shadow falls on the ground there.
    shadow: bool,
}

/// Points of a skin as the camera sees them: samples across and down, and depth in metres.
struct Seen {
    points: Vec<Vec3>,
    /// First and last row that it may touch; none if first is beyond last.
    rows: [f32; 2],
}

impl Canvas {
    /// An empty picture of `size` pixels. Things as far as `haze` metres fade by two thirds.
    ///
    /// # Errors
    /// [`CameraError`]: no pixels or more than [`MOST_PIXELS`], or a haze that is not positive.
    pub fn new(camera: Camera, size: [usize; 2], haze: f64) -> Result<Self, CameraError> {
        let pixels = size[0].checked_mul(size[1]).filter(|pixels| (1..=MOST_PIXELS).contains(pixels));
        let pixels = pixels.ok_or(CameraError::Size { size })?;
        if !(haze > 0.0 && haze.is_finite()) {
            return Err(CameraError::Haze(haze));
        }
        let nothing = Sample { depth: f32::INFINITY, colour: [0; 3], shadow: false };
        Ok(Self { camera, size, haze, samples: vec![nothing; pixels * SAMPLES * SAMPLES] })
    }

    /// Samples across and down.
    fn extent(&self) -> [usize; 2] {
        self.size.map(|pixels| pixels * SAMPLES)
    }

    /// Draws skins of one mesh, in front of what is nearer already.
    ///
    /// - `triangles`: three vertices each, counter-clockwise seen from outside; one that names a vertex beyond a skin is not drawn
    pub fn draw(&mut self, skins: &[DrawnSkin<'_>], triangles: &[[u32; 3]]) {
        let [width, height] = self.extent();
        let view = self.camera.view([width, height]);
        let seen: Vec<[Seen; 2]> = (skins.par_iter())
            .map(|drawn| {
                let world = |p: &Vec3| drawn.transform.transform_point3(p.as_dvec3());
                let skin = Seen::new(drawn.skin.iter().map(|p| view.see(world(p))), [width, height]);
                // Along the light, onto the ground.
                let fallen = |p: DVec3| p - LIGHT * (p.y / LIGHT.y);
                let shadow = match skin.is_seen() {
                    true => Seen::new(drawn.skin.iter().map(|p| view.see(fallen(world(p)))), [width, height]),
                    false => Seen::nothing(),
                };
                [skin, shadow]
            })
            .collect();
        let (haze, air) = (self.haze, horizon());
        self.samples.par_chunks_mut(BAND * width).enumerate().for_each(|(band, samples)| {
            let first = band * BAND;
            let rows = [first as f32, (first + samples.len() / width - 1) as f32];
            for (drawn, [skin, shadow]) in skins.iter().zip(&seen) {
                if skin.touches(rows) {
                    for triangle in triangles {
                        let Some([a, b, c]) = skin.corners(triangle) else { continue };
                        // Seen from outside, corners go round against the clock; rows are counted downwards.
                        let facing = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
                        if facing >= 0.0 {
                            continue;
                        }
                        let mut colour = None;
                        fill([a, b, c], rows, width, |at, depth| {
                            let sample = &mut samples[at - first * width];
                            if depth < sample.depth {
                                let lit = || lit(drawn, triangle, f64::from(depth) / haze, air);
                                *sample = Sample { depth, colour: *colour.get_or_insert_with(lit), ..*sample };
                            }
                        });
                    }
                }
                if shadow.touches(rows) {
                    for triangle in triangles {
                        let Some(corners) = shadow.corners(triangle) else { continue };
                        fill(corners, rows, width, |at, _| samples[at - first * width].shadow = true);
                    }
                }
            }
        });
    }

    /// The picture: rows from the top, three bytes per pixel.
    pub fn pixels(&self) -> Vec<u8> {
        let [width, height] = self.extent();
        let view = self.camera.view([width, height]);
        let colour = |row: usize, column: usize| -> Vec3 {
            let sample = &self.samples[row * width + column];
            match sample.depth.is_finite() {
                true => Vec3::from(sample.colour.map(f32::from)),
                false => self.behind(&view, row, column, sample.shadow),
            }
        };
        let pixel = |at: usize| {
            let (row, column) = (at / self.size[0] * SAMPLES, at % self.size[0] * SAMPLES);
            let mut sum = Vec3::ZERO;
            for across in 0..SAMPLES {
                for down in 0..SAMPLES {
                    sum += colour(row + down, column + across);
                }
            }
            (sum / (SAMPLES * SAMPLES) as f32).round().to_array().map(|x| x.clamp(0.0, 255.0) as u8)
        };
        (0..self.size[0] * self.size[1]).into_par_iter().flat_map_iter(pixel).collect()
    }

    /// The picture as a PNG.
    ///
    /// # Errors
    /// A text, if it cannot be encoded.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let [width, height] = self.size.map(|pixels| pixels as u32);
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
        writer.write_image_data(&self.pixels()).map_err(|e| e.to_string())?;
        writer.finish().map_err(|e| e.to_string())?;
        Ok(bytes)
    }

    /// Ground and sky where nothing stands before them.
    fn behind(&self, view: &camera::View, row: usize, column: usize, shadow: bool) -> Vec3 {
        let ray = view.ray(column as f64 + 0.5, row as f64 + 0.5);
        let eye = self.camera.eye;
        let along = -eye.y / ray.y;
        if ray.y * eye.y < 0.0 && along.is_finite() {
            let earth = Vec3::new(150.0, 138.0, 112.0) * if shadow { 0.55 } else { 1.0 };
            return hazed(earth, along * ray.dot(view.forward()) / self.haze, horizon());
        }
        let up = (ray.normalize_or_zero().y.max(0.0) * 3.0).min(1.0) as f32;
        horizon().lerp(Vec3::new(142.0, 172.0, 208.0), up)
    }
}

/// The colour of the air far away.
fn horizon() -> Vec3 {
    Vec3::new(214.0, 214.0, 206.0)
}

/// A colour behind so many lengths of haze.
fn hazed(colour: Vec3, lengths: f64, air: Vec3) -> Vec3 {
    air.lerp(colour, (-lengths).exp() as f32)
}

/// The colour of a triangle: diffuse light from one side, a little from the sky, behind haze.
fn lit(drawn: &DrawnSkin<'_>, triangle: &[u32; 3], lengths: f64, air: Vec3) -> [u8; 3] {
    let [a, b, c] = triangle.map(|v| drawn.transform.transform_point3(drawn.skin[v as usize].as_dvec3()));
    let normal = (b - a).cross(c - a).normalize_or_zero();
    let light = 0.30 + 0.12 * normal.y + 0.62 * normal.dot(LIGHT.normalize()).max(0.0);
    let colour = hazed(drawn.colour * (255.0 * light as f32), lengths, air);
    colour.to_array().map(|x| x.clamp(0.0, 255.0) as u8)
}

impl Seen {
    fn nothing() -> Self {
        Self { points: Vec::new(), rows: [1.0, 0.0] }
    }

    /// Points that lie within the picture; nothing if all lie beside it on one side.
    fn new(points: impl Iterator<Item = Vec3>, [width, height]: [usize; 2]) -> Self {
        let points: Vec<Vec3> = points.collect();
        let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for p in points.iter().filter(|p| p.z > 0.0) {
            (low, high) = (low.min(*p), high.max(*p));
        }
        let outside = !(high.x >= 0.0 && low.x <= width as f32 && high.y >= 0.0 && low.y <= height as f32);
        if outside { Self::nothing() } else { Self { points, rows: [low.y, high.y] } }
    }

    fn is_seen(&self) -> bool {
        self.rows[0] <= self.rows[1]
    }

    fn touches(&self, rows: [f32; 2]) -> bool {
        self.is_seen() && self.rows[0] <= rows[1] + 1.0 && self.rows[1] >= rows[0]
    }

    /// The corners of a triangle that lies before the camera as a whole.
    fn corners(&self, triangle: &[u32; 3]) -> Option<[Vec3; 3]> {
        let [a, b, c] = triangle.map(|v| self.points.get(v as usize).copied().filter(|p| p.z > 0.0));
        Some([a?, b?, c?])
    }
}

/// Calls `at` with index and depth of every sample whose centre lies in a triangle, in the rows named. Depth is interpolated as its
/// inverse, which is linear in the picture. A sample on an edge belongs to both triangles.
fn fill([a, b, c]: [Vec3; 3], rows: [f32; 2], width: usize, mut at: impl FnMut(usize, f32)) {
    let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    if area == 0.0 || !area.is_finite() {
        return;
    }
    let (low, high) = (a.min(b).min(c), a.max(b).max(c));
    let from_row = (low.y - 0.5).ceil().max(rows[0]);
    let to_row = (high.y - 0.5).floor().min(rows[1]);
    let from_column = (low.x - 0.5).ceil().max(0.0);
    let to_column = (high.x - 0.5).floor().min(width as f32 - 1.0);
    if from_row > to_row || from_column > to_column {
        return;
    }
    let over = 1.0 / area;
    for row in from_row as usize..=to_row as usize {
        for column in from_column as usize..=to_column as usize {
            let (x, y) = (column as f32 + 0.5, row as f32 + 0.5);
            let u = ((x - a.x) * (c.y - a.y) - (y - a.y) * (c.x - a.x)) * over;
            let v = ((b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x)) * over;
            if u >= 0.0 && v >= 0.0 && u + v <= 1.0 {
                let inverse = (1.0 - u - v) / a.z + u / b.z + v / c.z;
                at(row * width + column, 1.0 / inverse);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From ten metres, along −z, with a field of view in which a metre is ten pixels there.
    fn canvas() -> Canvas {
        let camera = Camera::new(DVec3::new(0.0, 1.0, 10.0), DVec3::new(0.0, 1.0, 0.0), 2.0 * 0.2f64.atan()).unwrap();
        Canvas::new(camera, [60, 40], 1e9).unwrap()
    }

    fn square(z: f32, half: f32) -> Vec<Vec3> {
        [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| Vec3::new(x * half, 1.0 + y * half, z)).into()
    }

    const FACES: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

    fn red(skin: &[Vec3]) -> DrawnSkin<'_> {
        DrawnSkin { skin, transform: DAffine3::IDENTITY, colour: Vec3::X }
    }

    fn is_red(canvas: &Canvas, x: usize, y: usize) -> bool {
        let at = 3 * (y * 60 + x);
        let pixel = &canvas.pixels()[at..at + 3];
        pixel[0] > 60 && pixel[1] < 20
    }

    /// A square of two metres, ten metres away, covers twenty pixels by twenty in the middle: the projection in closed form.
    #[test]
    fn a_square_covers_the_pixels_of_its_projection() {
        let (mut picture, skin) = (canvas(), square(0.0, 1.0));
        picture.draw(&[red(&skin)], &FACES);
        for y in 0..40 {
            for x in 0..60 {
                assert_eq!(is_red(&picture, x, y), (20..40).contains(&x) && (10..30).contains(&y), "{x} {y}");
            }
        }
    }

    #[test]
    fn the_nearer_is_seen_in_any_order_and_backs_are_not() {
        let (near, far) = (square(1.0, 0.5), square(-1.0, 1.0));
        let green = |skin| DrawnSkin { colour: Vec3::Y, ..red(skin) };
        let [one, other] = [[red(&near), green(&far)], [green(&far), red(&near)]].map(|skins| {
            let mut picture = canvas();
            picture.draw(&skins, &FACES);
            picture.pixels()
        });
        assert_eq!(one, other);
        let mut picture = canvas();
        picture.draw(&[red(&near), green(&far)], &FACES);
        assert!(is_red(&picture, 30, 20) && !is_red(&picture, 22, 20));
        let mut back = canvas();
        back.draw(&[red(&near)], &FACES.map(|[a, b, c]| [a, c, b]));
        assert!(!is_red(&back, 30, 20));
    }

    /// The shadow of a point at height h lies h · (L_x, L_z) / L_y away.
    #[test]
    fn shadows_fall_along_the_light() {
        let camera = Camera::new(DVec3::new(0.0, 20.0, 0.01), DVec3::ZERO, 2.0 * 0.5f64.atan()).unwrap();
        let mut picture = Canvas::new(camera, [40, 40], 1e9).unwrap();
        let skin = [(-0.6, -0.6), (-0.6, 0.6), (0.6, 0.6), (0.6, -0.6)].map(|(x, z)| Vec3::new(x, 4.0, z));
        let empty = picture.pixels();
        picture.draw(&[red(&skin)], &FACES);
        let pixels = picture.pixels();
        let darker = |x: usize, y: usize| pixels[3 * (40 * y + x)] + 20 < empty[3 * (40 * y + x)];
        // Two pixels a metre on the ground; the light comes from −x and +z, so the shadow lies to +x and −z, up in the picture.
        let (x, z) = (4.0 * 0.45 / 0.8, -4.0 * 0.4 / 0.8);
        assert!(darker((20.0 + 2.0 * x) as usize, (20.0 + 2.0 * z) as usize));
        assert!(!darker((20.0 - 2.0 * x) as usize, (20.0 - 2.0 * z) as usize));
    }

    #[test]
    fn the_same_bits_for_any_number_of_threads_and_a_png_that_reads_back() {
        let (near, far) = (square(1.0, 0.5), square(-1.0, 1.3));
        let draw = || {
            let mut picture = canvas();
            picture.draw(&[red(&near), red(&far)], &FACES);
            picture.png().unwrap()
        };
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(draw);
        let bytes = on(1);
        assert_eq!(bytes, on(3));
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let mut picture = canvas();
        picture.draw(&[red(&near), red(&far)], &FACES);
        assert_eq!(pixels, picture.pixels());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_or_left_out() {
        let camera = canvas().camera;
        assert!(Canvas::new(camera, [0, 9], 1.0).is_err() && Canvas::new(camera, [usize::MAX, 2], 1.0).is_err());
        assert!(Canvas::new(camera, [9, 9], f64::NAN).is_err());
        let skin = [Vec3::NAN, Vec3::new(0.0, 1.0, 11.0), Vec3::new(0.0, f32::MAX, 0.0), Vec3::ZERO];
        let mut picture = canvas();
        let empty = picture.pixels();
        picture.draw(&[red(&skin)], &[[0, 1, 2], [1, 2, 3], [2, 3, 90]]);
        assert_eq!(picture.pixels(), empty);
    }
}
