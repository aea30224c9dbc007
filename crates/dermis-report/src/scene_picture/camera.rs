//! A camera: where it stands, where it looks, and how much it sees.

use dermis_rig::glam::{DVec3, Vec3};

/// A pinhole camera whose up is the world's, Y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it stands, metres.
    pub(super) eye: DVec3,
    forward: DVec3,
    right: DVec3,
    /// The tangent of half the field of view, from top to bottom.
    tangent: f64,
}

/// Why nothing can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CameraError {
    /// A camera without a direction.
    #[error("a camera at ({}, {}, {}) cannot look at ({}, {}, {}): it needs another point that is not straight above or below", eye.x, eye.y, eye.z, at.x, at.y, at.z)]
    Direction {
        /// Where it stands.
        eye: DVec3,
        /// Where it should look.
        at: DVec3,
    },
    /// A field of view that is none.
    #[error("a field of view of {0} degrees: it must lie between 0 and 180")]
    Field(f64),
    /// No picture, or too large a one.
    #[error("a picture of {} by {} pixels: it must have a pixel and at most {}", size[0], size[1], super::MOST_PIXELS)]
    Size {
        /// Pixels across and down.
        size: [usize; 2],
    },
    /// Haze that is no length.
    #[error("haze at {0} metres: it must be positive and finite")]
    Haze(f64),
}

/// A camera over a picture of so many samples.
pub(super) struct View {
    camera: Camera,
    up: DVec3,
    /// Samples per unit of tangent.
    scale: f64,
    middle: [f64; 2],
}

impl Camera {
    /// A camera at `eye` that looks at `at` and sees `field` radians from top to bottom.
    ///
    /// # Errors
    /// [`CameraError::Direction`] if both are one point, one is straight above the other, or a number is not finite;
    /// [`CameraError::Field`] if the field does not lie between 0 and π.
    pub fn new(eye: DVec3, at: DVec3, field: f64) -> Result<Self, CameraError> {
        if !(field > 0.0 && field < std::f64::consts::PI) {
            return Err(CameraError::Field(field.to_degrees()));
        }
        let forward = (at - eye).try_normalize();
        let right = forward.and_then(|forward| forward.cross(DVec3::Y).try_normalize());
        match (forward, right) {
            (Some(forward), Some(right)) if eye.is_finite() => {
                Ok(Self { eye, forward, right, tangent: (0.5 * field).tan() })
            }
            _ => Err(CameraError::Direction { eye, at }),
        }
    }

    pub(super) fn view(&self, [width, height]: [usize; 2]) -> View {
        let middle = [0.5 * width as f64, 0.5 * height as f64];
        View { camera: *self, up: self.right.cross(self.forward), scale: middle[1] / self.tangent, middle }
    }
}

impl View {
    /// Where a point of the world is seen: samples across and down, and depth in metres; behind the camera the depth is not positive.
    pub(super) fn see(&self, point: DVec3) -> Vec3 {
        /// Metres; nearer than this nothing is seen.
        const NEAR: f64 = 0.01;
        let from = point - self.camera.eye;
        let depth = from.dot(self.camera.forward);
        if depth.is_nan() || depth <= NEAR || !point.is_finite() {
            return Vec3::new(0.0, 0.0, -1.0);
        }
        let x = self.middle[0] + self.scale * from.dot(self.camera.right) / depth;
        let y = self.middle[1] - self.scale * from.dot(self.up) / depth;
        DVec3::new(x, y, depth).as_vec3()
    }

    /// The direction of a point of the picture, one unit deep.
    pub(super) fn ray(&self, x: f64, y: f64) -> DVec3 {
        let (across, up) = ((x - self.middle[0]) / self.scale, (self.middle[1] - y) / self.scale);
        self.camera.forward + self.camera.right * across + self.up * up
    }

    pub(super) fn forward(&self) -> DVec3 {
        self.camera.forward
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_lies_on_the_ray_of_where_it_is_seen() {
        let camera = Camera::new(DVec3::new(1.0, 2.0, 3.0), DVec3::new(-4.0, 0.5, 1.0), 0.8).unwrap();
        let view = camera.view([64, 48]);
        for point in [DVec3::new(-3.0, 1.0, 2.0), DVec3::new(-9.0, 4.0, -2.0)] {
            let seen = view.see(point).as_dvec3();
            let back = camera.eye + view.ray(seen.x, seen.y) * seen.z;
            assert!(back.distance(point) < 1e-5, "{back} {point}");
        }
        assert!(view.see(DVec3::new(6.0, 2.0, 5.0)).z < 0.0, "it is behind");
        assert!(view.see(camera.eye + camera.forward + view.up * 0.1).y < 24.0, "up is up");
    }

    #[test]
    fn cameras_that_see_nothing_are_refused() {
        let (eye, at) = (DVec3::Y, DVec3::X);
        for (eye, at, field) in [
            (eye, eye, 1.0),
            (eye, DVec3::ZERO, 1.0),
            (eye, DVec3::NAN, 1.0),
            (DVec3::INFINITY, at, 1.0),
            (eye, at, 0.0),
            (eye, at, f64::NAN),
            (eye, at, 3.2),
        ] {
            assert!(Camera::new(eye, at, field).is_err(), "{eye} {at} {field}");
        }
    }
}
