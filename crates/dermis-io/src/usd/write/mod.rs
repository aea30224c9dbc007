//! A skinned character, or points that move, as a stage.

mod animation;
mod materials;
mod mesh;
mod names;
mod package;
mod shapes;
mod skeleton;
mod text;

use crate::contents::{Format, Space, UpAxis};
use crate::gltf::expect;
use crate::normals::{MorphShading, Shading};
use crate::skinned_scene::motion::Take;
use crate::skinned_scene::{Materials, SceneWritten, SkinnedScene, Surface};
use crate::{Fill, WriteError};
use animation::{Moved, time_code};
use dermis_rig::Mesh;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use materials::{Pictures, displayed};
use mesh::{Corners, Looks};
use names::{identifier, unique};
use skeleton::Joints;
use std::io::Write;
use text::Text;

/// How a stage is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Text (.usda), which holds no pictures.
    Text,
    /// A package (.usdz): the text and its pictures.
    Package,
}

/// Shapes of a mesh over time.
pub struct Frames<'a, 'f> {
    /// Seconds of each, ascending.
    pub times: &'a [f64],
    /// Gives the positions of each.
    pub fill: Fill<'f>,
}

/// Writes a character in the axes and the unit of `space`.
///
/// The default prim is a `SkelRoot` with a `Skeleton`, a `Mesh` for each object, a `SkelAnimation` for each clip and the materials as
/// preview surfaces; without bones, weights and shapes it is an `Xform` with meshes. Polygons stay as they are, unless what is drawn does
/// not follow them. What all corners of a vertex share is stored by vertex, other normals, texture coordinates and colours by corner.
/// Positions, weights and shapes are floats, bind matrices doubles. Every mesh has as many influences per vertex as its vertex with most.
/// Shapes of a scene without a skeleton hang on a joint that stays.
///
/// USD joins keys by straight lines, rotations along the shorter arc. Keys stand at the clip's own key times, and between them wherever
/// the skin is otherwise further off than 1e-4 of the mesh's diagonal, but no closer to those than a fiftieth of a frame. A motion that
/// jumps has a key that long before the jump. Joints turn, move and scale, the latter with eleven binary digits; a bone that shears is two
/// joints, and one that was bound in another size, sheared or mirrored has another frame of its own, which moves no vertex.
///
/// USD has no list of clips. The first clip is bound to the skeleton, and the stage spans its time. With several, the variant set `clip` of
/// the default prim chooses which of them is bound.
///
/// Names are identifiers, each once where it stands; the names as they were are the prims' `displayName` and the skeleton's `jointNames`.
/// The same scene gives the same bytes.
///
/// # Errors
/// [`WriteError`], naming what disagrees.
pub fn write(
    scene: &SkinnedScene<'_>,
    space: &Space,
    container: Container,
    out: &mut dyn Write,
) -> Result<SceneWritten, WriteError> {
    write_stage(scene, None, space, container, out)
}

/// Writes the mesh of a scene whose points move, in the axes and the unit of `space`: positions, normals and boxes at every time. Of the
/// scene, name, mesh and frames per second count.
///
/// # Errors
/// As [`write()`]; without a mesh or a time, for times that do not ascend, and those of the frames.
pub fn write_points(
    scene: &SkinnedScene<'_>,
    frames: Frames<'_, '_>,
    space: &Space,
    container: Container,
    out: &mut dyn Write,
) -> Result<SceneWritten, WriteError> {
    let Some(mesh) = scene.mesh.filter(|_| !frames.times.is_empty()) else {
        return Err(WriteError::Nothing { format: Format::Usd, needs: "a mesh and a shape of it" });
    };
    let mut shapes = Vec::with_capacity(frames.times.len());
    for at in 0..frames.times.len() {
        let mut shape = Vec::new();
        (frames.fill)(at, &mut shape)?;
        expect(&format!("shape {at}"), "vertices", shape.len(), mesh.positions.len())?;
        shapes.push(shape);
    }
    let rate = scene.frames_per_second.filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(24.0);
    let times: Vec<f64> = frames.times.iter().map(|time| time_code(*time, rate)).collect();
    if let Some(at) = (0..times.len()).find(|&at| !times[at].is_finite() || (at > 0 && times[at] <= times[at - 1])) {
        return Err(WriteError::Times { clip: scene.name.into(), at });
    }
    let bare =
        SkinnedScene { name: scene.name, mesh: scene.mesh, frames_per_second: Some(rate), ..SkinnedScene::default() };
    write_stage(&bare, Some((&times, &shapes)), space, container, out)
}

/// - `moved`: time codes and positions of points that move
fn write_stage(
    scene: &SkinnedScene<'_>,
    moved: Option<(&[f64], &[Vec<DVec3>])>,
    space: &Space,
    container: Container,
    out: &mut dyn Write,
) -> Result<SceneWritten, WriteError> {
    if (scene.mesh.is_none() && scene.skeleton.is_none()) || !space.is_usable() {
        return Err(WriteError::Nothing { format: Format::Usd, needs: "a mesh or a skeleton, and a unit" });
    }
    let mut done = SceneWritten::default();
    let from_ours = space.to_ours().inverse();
    let turn = Space { metres_per_unit: 1.0, ..space.clone() }.to_ours().matrix3.transpose();
    let stage = scene.stage(turn, space.metres_per_unit)?;
    scene.check(&from_ours)?;
    let takes: Vec<Take<DQuat>> = scene.clips.iter().map(|clip| stage.take(clip)).collect::<Result<_, _>>()?;
    let rate = scene.rate();
    let names = Names::new(scene, &mut done);
    let is_skinned = scene.skeleton.is_some() || !scene.morphs.is_empty();
    let joints = match scene.skeleton {
        Some(skeleton) => Joints::new(&stage, skeleton, &mut done.renamed)?,
        None => Joints::lone(),
    };
    let root = format!("/{}", names.root);

    let mut text = Text::default();
    text.line("#usda 1.0");
    text.line("(");
    let spans = scene.clips.first().map(|clip| [clip.start, clip.start + clip.duration.max(0.0)]);
    let spans = spans.map(|ends| ends.map(|end| time_code(end, rate)));
    let spans = spans.or(moved.map(|(times, _)| [times[0], times[times.len() - 1]]));
    text.block(&header(space, rate, spans, &names.root));
    text.line("");
    let mut about = displayed(scene.name, &names.root);
    if is_skinned {
        about.push("prepend apiSchemas = [\"SkelBindingAPI\"]".into());
    }
    about.push("kind = \"component\"".into());
    let has_variants = names.clips.len() > 1;
    if has_variants {
        about.push("variants = {".into());
        about.push(format!("    string clip = \"{}\"", names.clips[0]));
        about.push("}".into());
        about.push("prepend variantSets = \"clip\"".into());
    }
    text.open(if is_skinned { "SkelRoot" } else { "Xform" }, &names.root, &about);
    if is_skinned {
        // A scene of shapes alone may show some of them without a clip.
        let shows = stage.rest_weights.iter().any(|weight| *weight != 0.0);
        let bound = names.clips.first().or((shows).then_some(&names.still));
        let animation = bound.filter(|_| !has_variants).map(|name| format!("{root}/{name}"));
        joints.write(&names.skeleton, animation.as_deref(), &mut text);
        let has_bones = scene.skeleton.is_some();
        let moved = Moved { joints: &joints, has_bones, shapes: &names.shapes, rest_weights: &stage.rest_weights };
        for ((clip, name), take) in scene.clips.iter().zip(&names.clips).zip(&takes) {
            moved.write(name, take, (clip.start, rate), &mut text);
            done.takes.push((name.clone(), take.keys.len(), take.off));
        }
        if scene.clips.is_empty() && shows {
            moved.write_still(&names.still, &mut text);
        }
    }
    let mut shown = None;
    if let Some(mesh) = scene.mesh {
        let look = mesh.render.as_ref().and_then(|render| render.appearance.as_deref());
        let mut materials = Materials::new(look, Format::Usd)?;
        let surface = Surface::new(mesh, &mut materials, Format::Usd)?;
        if surface.split {
            done.left_out.push("polygons: what is drawn does not follow them, and is written as triangles".into());
        }
        let slots: Vec<_> = (0..names.objects.len()).map(|at| surface.slots(at, &mut materials)).collect();
        let material_names = materials::names(&materials, &mut done.renamed);
        let mut looks = Looks { materials, names: material_names, scope: format!("{root}/{}", names.materials) };
        let (names, joints, from_ours, rest_weights) = (&names, &joints, &from_ours, &stage.rest_weights[..]);
        let meshes = Meshes { scene, names, joints, from_ours, moved, rest_weights, looks: &looks };
        let without = meshes.write((mesh, &surface, &slots), &root, &mut text)?;
        if without > 0 {
            done.left_out
                .push(format!("normals of the shapes of {without} objects with hard edges; USD has one per vertex"));
        }
        let mut pictures = Pictures::new(&looks.materials, container == Container::Package);
        materials::write(&mut looks, &names.materials, &mut pictures, &mut text);
        done.left_out.extend(looks.materials.lost());
        shown = Some((pictures, looks));
    }
    if has_variants {
        text.line("variantSet \"clip\" = {");
        for name in &names.clips {
            text.line(&format!("    \"{name}\" {{"));
            text.line(&format!("        over \"{}\" {{", names.skeleton));
            text.line(&format!("            rel skel:animationSource = <{root}/{name}>"));
            text.line("        }");
            text.line("    }");
        }
        text.line("}");
    }
    text.close();
    let text = text.finish()?;
    match container {
        Container::Text => out.write_all(text.as_bytes())?,
        Container::Package => {
            let stage = format!("{}.usda", names.root);
            let mut members = vec![(stage.as_str(), text.as_bytes())];
            members.extend(shown.iter().flat_map(|(pictures, looks)| pictures.files(&looks.materials)));
            package::write(&members, out)?;
        }
    }
    Ok(done)
}

/// What the stage says of itself.
fn header(space: &Space, rate: f64, spans: Option<[f64; 2]>, root: &str) -> Vec<String> {
    let up = if space.up == UpAxis::Y { "Y" } else { "Z" };
    let mut lines =
        vec![format!("defaultPrim = \"{root}\""), concat!("doc = \"Dermis ", env!("CARGO_PKG_VERSION"), "\"").into()];
    if let Some([start, end]) = spans {
        lines.push(format!("endTimeCode = {end}"));
        lines.push(format!("framesPerSecond = {rate}"));
        lines.push(format!("metersPerUnit = {}", space.metres_per_unit));
        lines.push(format!("startTimeCode = {start}"));
        lines.push(format!("timeCodesPerSecond = {rate}"));
    } else {
        lines.push(format!("metersPerUnit = {}", space.metres_per_unit));
    }
    lines.push(format!("upAxis = \"{up}\""));
    lines
}

/// Names as the file has them.
struct Names {
    root: String,
    objects: Vec<String>,
    clips: Vec<String>,
    skeleton: String,
    materials: String,
    /// Of the animation that shows shapes without a clip.
    still: String,
    shapes: Vec<String>,
}

impl Names {
    fn new(scene: &SkinnedScene<'_>, done: &mut SceneWritten) -> Self {
        let shown = scene.objects();
        let own = ["Skeleton", "Materials", "Shown"].map(|name| ("node", name));
        let given: Vec<(&'static str, &str)> = (shown.iter().map(|(name, _, _)| ("object", *name)))
            .chain(scene.clips.iter().map(|clip| ("clip", clip.name.as_str())))
            .chain(own)
            .collect();
        let mut objects = unique(&given, &mut done.renamed);
        done.renamed.retain(|one| one.kind != "node"); // whose names nobody gave
        let more = objects.split_off(shown.len() + scene.clips.len());
        let clips = objects.split_off(shown.len());
        let given: Vec<(&'static str, &str)> =
            scene.morphs.iter().map(|morph| ("shape", morph.name.as_str())).collect();
        let shapes = unique(&given, &mut done.renamed);
        let [skeleton, materials, still] = [0, 1, 2].map(|at| more[at].clone());
        Self { root: identifier(scene.name, "Character"), objects, clips, skeleton, materials, still, shapes }
    }
}

/// What the meshes of a file are written from.
struct Meshes<'a> {
    scene: &'a SkinnedScene<'a>,
    names: &'a Names,
    joints: &'a Joints,
    from_ours: &'a DAffine3,
    /// Time codes and positions of points that move.
    moved: Option<(&'a [f64], &'a [Vec<DVec3>])>,
    /// Of the morph targets, without a clip.
    rest_weights: &'a [f64],
    looks: &'a Looks<'a>,
}

impl Meshes<'_> {
    /// Returns how many objects have shapes without normals.
    fn write(
        &self,
        (mesh, surface, slots): (&Mesh, &Surface<'_>, &[(Vec<i32>, Vec<usize>)]),
        root: &str,
        text: &mut Text,
    ) -> Result<usize, WriteError> {
        let Self { scene, names, from_ours, .. } = *self;
        let shading = (self.moved.is_some() || !scene.morphs.is_empty()).then(|| Shading::new(mesh, surface.render()));
        let turns = shading.as_ref().filter(|_| !scene.morphs.is_empty());
        let turns = turns.map(|shading| MorphShading::new(shading, &mesh.positions, scene.morphs, self.rest_weights));
        let mut without = 0;
        for (number, (given, visible, range)) in scene.objects().into_iter().enumerate() {
            let name = names.objects[number].as_str();
            let own = shapes::chosen(scene.morphs, &range, number == 0);
            let is_bound = scene.weights.is_some() && scene.skeleton.is_some();
            let is_shaped = scene.skeleton.is_none() && !scene.morphs.is_empty();
            let mut about = displayed(given, name);
            let apis = if is_bound || is_shaped {
                "\"MaterialBindingAPI\", \"SkelBindingAPI\""
            } else {
                "\"MaterialBindingAPI\""
            };
            about.push(format!("prepend apiSchemas = [{apis}]"));
            text.open("Mesh", name, &about);
            if !visible {
                text.line("token visibility = \"invisible\"");
            }
            let corners = Corners::new(surface, number, &range);
            corners.write(text);
            let (times, positions, normals): (&[f64], Vec<Vec<DVec3>>, Vec<Vec<DVec3>>) = match (self.moved, &shading) {
                (Some((times, frames)), Some(shading)) => {
                    let place = |p: &DVec3| from_ours.transform_point3(*p);
                    let turned = |n: DVec3| from_ours.transform_vector3(n).normalize_or_zero();
                    let positions = frames.iter().map(|frame| frame[range.clone()].iter().map(place).collect());
                    let normals = frames.iter().map(|frame| {
                        let all = shading.moved(frame);
                        corners.drawn.iter().map(|&at| turned(all[at as usize])).collect()
                    });
                    (times, positions.collect(), normals.collect())
                }
                _ => {
                    let normals = surface.normals(&corners.drawn, from_ours);
                    (&[0.0], vec![surface.positions(range.clone(), from_ours)?], vec![normals])
                }
            };
            mesh::write_points(times, &positions, text);
            let is_smooth = corners.write_normals(times, &normals, text);
            corners.write_primvars(surface, text)?;
            if is_bound || is_shaped {
                text.line(&format!("rel skel:skeleton = <{root}/{}>", names.skeleton));
                match scene.weights.filter(|_| is_bound) {
                    Some(weights) => mesh::write_skin(weights, range.clone(), self.joints, text),
                    None => mesh::write_bound(range.len(), text),
                }
                shapes::write_list(&names.shapes, &own, &format!("{root}/{name}"), text);
            }
            let taken: Vec<&str> = own.iter().map(|&at| names.shapes[at].as_str()).collect();
            mesh::write_bindings(&slots[number], self.looks, &taken, text);
            if is_bound || is_shaped {
                let drawn = corners.drawn_of_vertices();
                let turns = turns.as_ref().filter(|_| is_smooth).map(|turns| (turns, &drawn[..]));
                shapes::write(scene.morphs, (&names.shapes, &own), &range, from_ours, turns, text);
                without += usize::from(!is_smooth && !own.is_empty());
            }
            text.close();
        }
        Ok(without)
    }
}
