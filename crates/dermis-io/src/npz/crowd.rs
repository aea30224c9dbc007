//! A crowd as a bundle: where every instance is in every frame, what it plays, and how closely it is shown.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `transforms` | (F, N, 4, 4) | from the world of the clip to the world of the crowd: the skin of `clips` at `clip_times`, moved by it, is where the instance is |
//! | `clip_names`, `clips` | (C) text, (N) integers | the clips, and each instance's |
//! | `clip_times` | (F, N) seconds | the time of the clip's file |
//! | `level_names`, `levels` | text, (F, N) integers | how closely each instance is shown |
//! | `scales` | (N) | the size of each instance, which `transforms` contain |
//! | `frame_times` | (F) seconds | |
//! | `skin_instances`, `skins` | (K) integers, (F, K, V, 3) | skins that were asked for, in the world of the crowd |
//! | `units`, `up_axis` | one value | as of every bundle |

use super::archive::Bundle;
use super::damaged;
use super::space::space_written;
use super::write::{StoredFloat, Writer, refused};
use crate::{ReadError, Space, UpAxis, WriteError};
use dermis_rig::glam::{DAffine3, Vec3};
use dermis_rig::skeleton::row;
use std::io::{Cursor, Write};

/// What a bundle of a crowd holds. Lengths are metres, Y is up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrowdBundle {
    /// The axes and the unit that are written.
    pub space: Space,
    /// Names of the clips.
    pub clip_names: Vec<String>,
    /// Names of the levels.
    pub level_names: Vec<String>,
    /// The clip of each instance.
    pub clips: Vec<u32>,
    /// The size of each instance.
    pub scales: Vec<f64>,
    /// Seconds of each frame.
    pub frame_times: Vec<f64>,
    /// Frame after frame, a transform per instance.
    pub transforms: Vec<DAffine3>,
    /// Frame after frame, a time per instance.
    pub clip_times: Vec<f64>,
    /// Frame after frame, a level per instance.
    pub levels: Vec<u32>,
    /// Instances whose skins are held.
    pub skin_instances: Vec<u32>,
    /// Frame after frame, a skin for each of them.
    pub skins: Vec<Vec<Vec3>>,
}

/// Writes a crowd.
///
/// # Errors
/// [`WriteError::Count`] if arrays disagree in number, [`WriteError::NotFinite`].
pub fn write_crowd(crowd: &CrowdBundle, out: &mut dyn Write) -> Result<(), WriteError> {
    let (frames, count) = (crowd.frame_times.len(), crowd.clips.len());
    let expect = |what: &str, found: usize, expected: usize| match found == expected {
        true => Ok(()),
        false => Err(WriteError::Count { what: format!("\"{what}\""), things: "values", found, expected }),
    };
    expect("scales", crowd.scales.len(), count)?;
    expect("transforms", crowd.transforms.len(), frames * count)?;
    expect("clip_times", crowd.clip_times.len(), frames * count)?;
    expect("levels", crowd.levels.len(), frames * count)?;
    expect("skins", crowd.skins.len(), frames * crowd.skin_instances.len())?;
    let vertices = crowd.skins.first().map_or(0, Vec::len);
    crowd.skins.iter().try_for_each(|skin| expect("skins", skin.len(), vertices))?;
    let mut bundle = Writer::new(StoredFloat::Single, Cursor::new(Vec::new()));
    let (space, unit) = space_written(&crowd.space);
    let (to_ours, from_ours) = (space.to_ours(), space.to_ours().inverse());
    let transform = |m: &DAffine3| {
        let m = from_ours * *m * to_ours;
        [row(&m, 0), row(&m, 1), row(&m, 2), [0.0, 0.0, 0.0, 1.0]].into_iter().flatten()
    };
    bundle.numbers("transforms", &[frames, count, 4, 4], crowd.transforms.iter().flat_map(transform))?;
    let mut clip_names = crowd.clip_names.clone();
    dermis_rig::make_unique(&mut clip_names, " ");
    bundle.texts("clip_names", &clip_names)?;
    bundle.integers("clips", &[count], &crowd.clips)?;
    bundle.numbers("clip_times", &[frames, count], crowd.clip_times.iter().copied())?;
    bundle.texts("level_names", &crowd.level_names)?;
    bundle.integers("levels", &[frames, count], &crowd.levels)?;
    bundle.numbers("scales", &[count], crowd.scales.iter().copied())?;
    bundle.numbers("frame_times", &[frames], crowd.frame_times.iter().copied())?;
    if !crowd.skin_instances.is_empty() {
        let chosen = crowd.skin_instances.len();
        bundle.integers("skin_instances", &[chosen], &crowd.skin_instances)?;
        let position = |p: &Vec3| from_ours.transform_point3(p.as_dvec3()).to_array();
        let values = crowd.skins.iter().flatten().flat_map(position);
        bundle.numbers("skins", &[frames, chosen, vertices, 3], values)?;
    }
    bundle.text("units", &unit)?;
    bundle.text("up_axis", if space.up == UpAxis::Z { "Z" } else { "Y" })?;
    let bytes = bundle.finish().map_err(|e| refused(format!("the archive: {e}")))?;
    Ok(out.write_all(bytes.get_ref())?)
}

/// The numbers of an array of a crowd, in the order of their indices, the last running fastest; `None` if there is none of that name.
///
/// # Errors
/// [`ReadError`]: no bundle, or an array of texts, or of as many indices as no array of a crowd has.
pub fn crowd_numbers(bytes: &[u8], key: &str) -> Result<Option<Vec<f64>>, ReadError> {
    let Some(array) = Bundle::open(Cursor::new(bytes), bytes.len() as u64)?.take(key)? else { return Ok(None) };
    let shape = array.shape().to_vec();
    if !array.is_number() || !(1..=4).contains(&shape.len()) {
        return Err(damaged(format!("array \"{key}\": numbers with one to four indices are expected")));
    }
    let count: usize = shape.iter().product();
    // Indices that an array does not have count to one.
    let extent = |from_last: usize| shape.len().checked_sub(1 + from_last).map_or(1, |at| shape[at]);
    let at = |place: usize| {
        let mut rest = place;
        let mut index = [0; 4];
        for from_last in 0..shape.len() {
            index[shape.len() - 1 - from_last] = rest % extent(from_last);
            rest /= extent(from_last);
        }
        let [a, b, c, d] = index;
        match shape.len() {
            1 => array.number([a]),
            2 => array.number([a, b]),
            3 => array.number([a, b, c]),
            _ => array.number([a, b, c, d]),
        }
    };
    Ok(Some((0..count).map(at).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::{DQuat, DVec3};

    fn crowd() -> CrowdBundle {
        let turn = DQuat::from_rotation_y(0.3);
        let of = |x: f64| DAffine3::from_scale_rotation_translation(DVec3::splat(1.1), turn, DVec3::new(x, 0.5, 2.0));
        CrowdBundle {
            space: Space { up: UpAxis::Z, metres_per_unit: 0.01, ..Space::default() },
            clip_names: vec!["walk".into()],
            level_names: vec!["full".into()],
            clips: vec![0, 0],
            scales: vec![1.1, 1.1],
            frame_times: vec![0.0],
            transforms: vec![of(1.0), of(4.0)],
            clip_times: vec![0.25, 0.75],
            levels: vec![0, 0],
            skin_instances: vec![1],
            skins: vec![vec![Vec3::new(1.0, 2.0, 3.0)]],
        }
    }

    /// In centimetres with Z up, a point of the file moved by the file's matrix is the point moved by ours.
    #[test]
    fn transforms_and_skins_are_written_in_the_file_s_axes_and_unit() {
        let (crowd, mut bytes) = (crowd(), Vec::new());
        write_crowd(&crowd, &mut bytes).unwrap();
        let read = |key: &str| crowd_numbers(&bytes, key).unwrap().unwrap();
        let m = read("transforms");
        assert_eq!(m.len(), 32);
        let ours = DVec3::new(0.1, 0.7, -0.4);
        let in_file = |p: DVec3| DVec3::new(p.x, -p.z, p.y) * 100.0;
        let (p, moved) = (in_file(ours), in_file(crowd.transforms[1].transform_point3(ours)));
        for axis in 0..3 {
            let r = &m[16 + 4 * axis..];
            let found = r[0] * p.x + r[1] * p.y + r[2] * p.z + r[3];
            // Rows of 32 bits, of numbers up to 500.
            assert!((found - moved[axis]).abs() < 1e-3, "{axis}: {found} {moved}");
        }
        assert_eq!(read("skins"), [100.0, -300.0, 200.0]);
        assert_eq!((read("clip_times"), read("levels")), (vec![0.25, 0.75], vec![0.0, 0.0]));
    }

    #[test]
    fn arrays_that_disagree_are_refused() {
        for change in [
            (|c| c.transforms.truncate(1)) as fn(&mut CrowdBundle),
            |c| c.levels.push(0),
            |c| c.clip_times.clear(),
            |c| c.scales.clear(),
            |c| c.skins.clear(),
        ] {
            let mut crowd = crowd();
            change(&mut crowd);
            assert!(matches!(write_crowd(&crowd, &mut Vec::new()), Err(WriteError::Count { .. })));
        }
        let mut crowd = crowd();
        crowd.transforms[0].translation.x = f64::NAN;
        assert!(matches!(write_crowd(&crowd, &mut Vec::new()), Err(WriteError::NotFinite { .. })));
    }
}
