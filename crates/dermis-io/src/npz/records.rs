//! Poses and skins of a bundle.

use super::archive::Bundle;
use super::inverted::BundleShapes;
use super::{damaged, matrix};
use crate::npy::Array;
use crate::surface::LeftOut;
use crate::{Contents, ReadError, Record, Space};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{Channels, LocalSculpt, Skeleton, WorldPose};
use std::collections::HashSet;
use std::io::{Read, Seek};
use std::sync::Arc;

/// A vertex whose entry of `mask` exceeds this was touched.
const TOUCHED: f64 = 0.5;

impl<R: Read + Seek> Bundle<R> {
    /// Names of channels and their values in each of `count` poses.
    fn channels(&mut self, count: usize) -> Result<(Vec<Arc<str>>, Option<Array>), ReadError> {
        let missing = |key: &str, there: &str| Err(damaged(format!("there is \"{there}\", but no \"{key}\"")));
        match (self.members.contains_key("channel_names"), self.members.contains_key("channels")) {
            (false, false) => return Ok(Default::default()),
            // Names alone would cost a value for each of them and each pose, which the file does not hold.
            (true, false) => return missing("channels", "channel_names"),
            (false, true) => return missing("channel_names", "channels"),
            (true, true) => {}
        }
        let names: Vec<Arc<str>> =
            self.texts("channel_names", None)?.unwrap_or_default().into_iter().map(Arc::from).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(damaged(format!("array \"channel_names\" holds \"{twice}\" twice")));
        }
        let values = self.numbers("channels", [Some(count), Some(names.len())])?;
        Ok((names, values.map(|(array, _)| array)))
    }

    pub(super) fn records(
        &mut self,
        contents: &mut Contents,
        order: Option<&[usize]>,
        wanted: BundleShapes,
    ) -> Result<Vec<Record>, ReadError> {
        let mut posing = match &contents.inverted {
            Some(inverted) if wanted == BundleShapes::Skins => self.posing(contents, inverted)?,
            _ => None,
        };
        let vertices = contents.mesh.as_ref().map(|mesh| mesh.positions.len());
        let mut parts = self.parts(contents, order)?;
        let shapes = self.numbers("vertices", [None, vertices, Some(3)])?;
        let count = match (&parts.poses, &shapes) {
            (Some((_, [posed, ..])), Some((_, [shaped, ..]))) if posed != shaped => {
                return Err(damaged(format!("\"pose_matrices\" holds {posed} poses, but \"vertices\" {shaped}")));
            }
            (Some((_, [count, ..])), _) => *count,
            (None, Some((_, [count, ..]))) => {
                parts.beside(self, *count)?;
                *count
            }
            (None, None) => return Ok(Vec::new()),
        };
        if let Some(posing) = &posing {
            posing.check(count)?;
        }
        let mut records = Vec::with_capacity(count);
        let mut left_out = LeftOut::default();
        for at in 0..count {
            let positions = shapes.as_ref().map(|(array, [_, vertices, _])| {
                (0..*vertices).map(|v| DVec3::from([0, 1, 2].map(|c| array.number([at, v, c])))).collect()
            });
            let record = parts.record(at, positions)?.and_then(|record| match (&mut posing, &record) {
                (Some(posing), Record { pose: Some(pose), positions: Some(shape), .. }) => {
                    let skin = posing.skin(at, pose, shape).ok_or_else(|| (record.label.clone(), Vec::new()))?;
                    Ok(Record { positions: Some(skin), ..record })
                }
                _ => Ok(record),
            });
            match record {
                Ok(record) => {
                    left_out.keep();
                    records.push(record);
                }
                Err((label, positions)) => left_out.leave(label, &positions),
            }
        }
        if let (Some(_), Some(inverted)) = (&posing, &mut contents.inverted) {
            inverted.skins = true;
        }
        left_out.tell(contents);
        Ok(records)
    }

    /// What records are made of, but their skins.
    pub(super) fn parts<'a>(
        &mut self,
        contents: &Contents,
        order: Option<&'a [usize]>,
    ) -> Result<Parts<'a>, ReadError> {
        let bones = contents.skeleton.as_ref().map(Skeleton::len);
        let bones = bones.or((!contents.bone_names.is_empty()).then_some(contents.bone_names.len()));
        let mut parts = Parts {
            space: contents.space.clone(),
            order,
            frames_per_second: contents.frames_per_second,
            poses: self.numbers("pose_matrices", [None, bones, Some(4), Some(4)])?,
            labels: None,
            importances: None,
            mask: None,
            shown: None,
            times: None,
            channel_names: vec![],
            channels: None,
        };
        if let Some((_, [count, ..])) = parts.poses {
            parts.beside(self, count)?;
            (parts.channel_names, parts.channels) = self.channels(count)?;
        }
        Ok(parts)
    }
}

/// What records are made of, but their skins.
pub(super) struct Parts<'a> {
    space: Space,
    order: Option<&'a [usize]>,
    frames_per_second: Option<f64>,
    pub(super) poses: Option<(Array, [usize; 4])>,
    labels: Option<Vec<String>>,
    importances: Option<Array>,
    mask: Option<(Array, [usize; 2])>,
    shown: Option<(Array, [usize; 3])>,
    times: Option<Array>,
    channel_names: Vec<Arc<str>>,
    channels: Option<Array>,
}

impl Parts<'_> {
    /// Takes what goes with each of `count` records.
    fn beside<R: Read + Seek>(&mut self, bundle: &mut Bundle<R>, count: usize) -> Result<(), ReadError> {
        self.labels = bundle.texts("pose_labels", Some(count))?;
        self.importances = bundle.numbers("pose_weights", [Some(count)])?.map(|(array, _)| array);
        self.times = bundle.numbers("frame_times", [Some(count)])?.map(|(array, _)| array);
        self.mask = bundle.numbers("mask", [Some(count), None])?;
        self.shown = bundle.numbers("shown", [Some(count), None, Some(3)])?;
        Ok(())
    }

    /// A record from its positions in the file's own axes and unit; of one that is not finite the label and the positions.
    pub(super) fn record(
        &self,
        at: usize,
        positions: Option<Vec<DVec3>>,
    ) -> Result<Result<Record, (String, Vec<DVec3>)>, ReadError> {
        let label = self.labels.as_ref().map_or_else(|| at.to_string(), |labels| labels[at].clone());
        let mut finite = true;
        let mut pose = None;
        if let Some((array, [_, bones, ..])) = &self.poses {
            let mut world = Vec::with_capacity(*bones);
            for new in 0..*bones {
                let bone = self.order.map_or(new, |order| order[new]);
                let matrix = matrix(|row, column| array.number([at, bone, row, column]))
                    .map_err(|e| damaged(format!("array \"pose_matrices\", pose \"{label}\", bone {bone}: {e}")))?;
                world.push(self.space.joint_to_ours(matrix));
            }
            finite &= world.iter().all(DAffine3::is_finite);
            let value = |c: usize| self.channels.as_ref().map_or(0.0, |array| array.number([at, c]));
            let channels: Channels =
                self.channel_names.iter().cloned().enumerate().map(|(c, name)| (name, value(c))).collect();
            finite &= channels.iter().all(|(_, value)| value.is_finite());
            pose = Some(WorldPose { channels, ..WorldPose::new(world) });
        }
        let to_ours = self.space.to_ours();
        let positions: Option<Vec<DVec3>> =
            positions.map(|list| list.into_iter().map(|p| to_ours.transform_point3(p)).collect());
        finite &= positions.iter().flatten().all(|p| p.is_finite());
        let importance = self.importances.as_ref().map_or(1.0, |array| array.number([at]));
        if !importance.is_finite() || importance < 0.0 {
            return Err(damaged(format!("array \"pose_weights\": pose \"{label}\" has weight {importance}")));
        }
        let time = match &self.times {
            Some(array) => Some(array.number([at])),
            None => self.frames_per_second.map(|rate| at as f64 / rate),
        };
        if time.is_some_and(|t| !t.is_finite()) {
            return Err(damaged(format!("array \"frame_times\": the time of pose \"{label}\" is not finite")));
        }
        let local = self.local(at, &label, positions.as_ref().map(Vec::len))?;
        finite &= local.iter().flat_map(|local| &local.shown).flatten().all(|p| p.is_finite());
        Ok(match finite {
            true => Ok(Record { label, time, pose, positions, importance, local }),
            false => Err((label, positions.unwrap_or_default())),
        })
    }

    /// Returns the part of a record that somebody sculpted, of so many vertices; `None` without arrays that say so.
    fn local(&self, at: usize, label: &str, vertices: Option<usize>) -> Result<Option<LocalSculpt>, ReadError> {
        let (mask, shown) = (self.mask.as_ref(), self.shown.as_ref());
        let extents = [("mask", mask.map(|(_, [_, v])| *v)), ("shown", shown.map(|(_, [_, v, _])| *v))];
        for (key, found) in extents {
            let Some(found) = found else { continue };
            match vertices {
                None => return Err(damaged(format!("there is \"{key}\", but no \"vertices\""))),
                Some(vertices) if vertices != found => {
                    let reason = format!("array \"{key}\" has {found} vertices, but \"vertices\" has {vertices}");
                    return Err(damaged(reason));
                }
                Some(_) => {}
            }
        }
        let touched = |(array, [_, vertices]): &(Array, [usize; 2])| {
            let bit = |v: usize| match array.number([at, v]) {
                x if (0.0..=1.0).contains(&x) => Ok(x > TOUCHED),
                x => Err(damaged(format!("array \"mask\": pose \"{label}\", vertex {v} is {x}; 0 to 1 is expected"))),
            };
            let bits = (0..*vertices).map(bit).collect::<Result<Vec<bool>, _>>()?;
            match bits.contains(&true) {
                true => Ok(bits),
                false => Err(damaged(format!("array \"mask\": pose \"{label}\" has no vertex above {TOUCHED}"))),
            }
        };
        let to_ours = self.space.to_ours();
        let skin = |(array, [_, vertices, _]): &(Array, [usize; 3])| -> Vec<DVec3> {
            let position = |v: usize| DVec3::from([0, 1, 2].map(|c| array.number([at, v, c])));
            (0..*vertices).map(|v| to_ours.transform_point3(position(v))).collect()
        };
        if mask.is_none() && shown.is_none() {
            return Ok(None);
        }
        Ok(Some(LocalSculpt { mask: mask.map(touched).transpose()?, shown: shown.map(skin) }))
    }
}
