//! Sculpts and the poses they were made in, from the files a user has.
//!
//! Files that bring poses and skins together are read as examples are. Other files are shapes: an OBJ file or a mesh is one
//! sculpt, called as the file; every morph target is one, base and displacement added, called as the target; every frame
//! of a sequence is one. Their poses come from a file of their own: the frame or label that the sculpt names, else matched by
//! name; or by order, if there are as many and no name matches. Nothing is guessed beyond that.

mod frame;
mod part;
mod rounding;

use crate::error::FileError;
use crate::load::{
    FileNote, KEEP_ORDER, LOOKED_AT, ReadOptions, Source, check_skins, edges, expect_skins, load_examples,
    load_motion_of, local_of, matching, own_skin, read_contents,
};
use crate::place;
use crate::provenance::name_of;
use dermis_io::{Contents, Format, MatchError, Matching, Space, match_vertices};
use dermis_rig::glam::DVec3;
use dermis_rig::number::decimal;
use dermis_rig::progress::proceed;
use dermis_rig::{BoneTransforms, Example, ExampleSet, Frame, LocalSculpt, Mesh, Progress, Rig, make_unique};
use part::Part;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

/// Names that a message lists at most.
const LISTED: usize = 8;

/// A file of sculpts as the user names it: after `@`, the pose of its sculpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SculptSource {
    /// The file, and the part of it that is meant.
    pub file: Source,
    /// A frame of the poses, counted from zero, or the label of a pose.
    pub at: Option<String>,
}

impl SculptSource {
    /// `elbow_90.obj@12` is the sculpt elbow_90.obj in frame 12 of the poses, unless a file of that whole name exists.
    pub fn parse(text: &str) -> Self {
        match text.rsplit_once('@') {
            Some((file, at)) if !file.is_empty() && !at.is_empty() && !place::exists(Path::new(text)) => {
                Self { file: Source::parse(file), at: Some(at.into()) }
            }
            _ => Source::parse(text).into(),
        }
    }
}

impl From<Source> for SculptSource {
    fn from(file: Source) -> Self {
        Self { file, at: None }
    }
}

impl std::str::FromStr for SculptSource {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

/// Sculpts with their poses.
#[derive(Clone, Debug)]
pub struct Sculpts {
    /// One per sculpt: its name, its pose, its positions in the rig's vertex order. No name occurs twice.
    pub examples: Vec<Example>,
    /// Of each, the vertices of the objects that it covers; `None` if it covers the rig, or its file has a mask. Of such a sculpt those
    /// vertices of the objects were touched that differ from what was shown.
    pub objects: Vec<Option<Vec<u32>>>,
    /// What a user should know, in sentences.
    pub warnings: Vec<String>,
    /// What was read.
    pub notes: Vec<FileNote>,
}

/// What an artist was shown while sculpting.
pub struct ShownSkin<'a> {
    /// What it is called in messages.
    pub name: &'static str,
    /// The skin in a pose; `None` where it is not known.
    pub skin: Box<dyn Fn(&BoneTransforms) -> Option<Vec<DVec3>> + 'a>,
}

impl<'a> ShownSkin<'a> {
    /// Returns what a rig's own weights show, if it has any.
    pub fn of_rig(rig: &'a Rig) -> Self {
        Self { name: "the rig's skin", skin: Box::new(|pose| own_skin(rig, pose)) }
    }
}

/// A sculpt whose pose is not known yet, in the rig's vertex order.
struct Shape {
    name: String,
    /// Of the objects that it covers alone, until its pose says what was shown of the others.
    positions: Vec<DVec3>,
    /// The objects that it covers, if it does not cover the rig.
    part: Option<Rc<Part>>,
    /// The vertices of these objects, if the file says nothing of what was touched.
    object: Option<Vec<u32>>,
    /// Its file, as a place in the list of sources.
    file: usize,
    /// The pose that its source names.
    at: Option<String>,
    /// Whether its faces prove the order of its vertices.
    is_ordered: bool,
    local: Option<LocalSculpt>,
}

/// Reads sculpts for a rig. `poses` is where shapes without poses take them from; what their artist was shown tells whether they
/// are sculpts of these poses. Progress counts files.
///
/// # Errors
/// [`FileError`]: unreadable files, vertices or bones that do not match, sculpts without a pose, positions that are no numbers.
pub fn load_sculpts(
    rig: &Rig,
    space: &Space,
    sculpts: &[SculptSource],
    poses: Option<&Source>,
    options: &ReadOptions,
    shown: &ShownSkin<'_>,
    progress: Progress<'_>,
) -> Result<Sculpts, FileError> {
    let sources: Vec<Source> = sculpts.iter().map(|sculpt| sculpt.file.clone()).collect();
    let named = |file: usize| sculpts[file].at.as_deref();
    if let (None, Some(sculpt)) = (poses, sculpts.iter().find(|sculpt| sculpt.at.is_some())) {
        let what =
            format!("\"@{}\" names a pose, but there is no file of poses", sculpt.at.as_deref().unwrap_or_default());
        return Err(FileError::lacks(&sculpt.file.path, what, "name the file with the poses: `poses=walk.glb#Walk`"));
    }
    let mut read = Sculpts { examples: vec![], objects: vec![], warnings: vec![], notes: vec![] };
    let mut shapes: Vec<Shape> = Vec::new();
    // Whether a file has poses, and none of them a shape: the motion of the file after it.
    let mut motions = false;
    let mut whole: Vec<usize> = Vec::new();
    for (file, source) in sources.iter().enumerate() {
        proceed(progress, file, sources.len())?;
        let (mut contents, mut note) = read_contents(&source.path, &options.space_of(&source.path, space))?;
        source.select(&mut contents)?;
        note.role = "sculpts".into();
        if !contents.left_out.is_empty() {
            let left_out =
                format!("{} not finite, left out: {}", counted(&contents.left_out, "sculpt"), list(&contents.left_out));
            if contents.records.is_empty() {
                return Err(FileError::lacks(&source.path, left_out, "export them again: positions must be numbers"));
            }
            read.warnings.push(format!("{}: {left_out}", name_of(&source.path)));
        }
        let posed = contents.records.iter().any(|r| r.pose.is_some());
        let shaped = contents.records.iter().any(|r| r.positions.is_some());
        let by_morphs = poses.is_none() && !contents.morphs.is_empty() && !shaped;
        if shaped {
            expect_skins(&contents, &source.path)?;
        }
        if (posed && shaped) || by_morphs {
            if let Some(at) = named(file) {
                let what = format!("its sculpts have poses of their own, so that \"@{at}\" has no effect");
                return Err(FileError::lacks(&source.path, what, "leave out the @"));
            }
            whole.push(file);
        } else if !shaped && contents.morphs.is_empty() && (posed || !contents.clips.is_empty()) && poses.is_none() {
            motions = true;
        } else {
            let own = bare(rig, &contents, &source.path, file, options, &mut note)?;
            if let (Some(at), 2..) = (named(file), own.len()) {
                let what = format!("it holds {} sculpts, and \"@{at}\" names one pose", own.len());
                return Err(FileError::lacks(&source.path, what, "choose one with FILE#NAME@POSE"));
            }
            shapes.extend(own.into_iter().map(|shape| Shape { at: named(file).map(str::to_owned), ..shape }));
            if poses.is_some() {
                read.notes.push(note);
            }
        }
    }
    let Some(poses) = poses else {
        let lone =
            |s: &&Shape| !motions || sources[s.file].path.extension().is_some_and(|e| e.eq_ignore_ascii_case("obj"));
        let lone: Vec<String> = shapes.iter().filter(lone).map(|s| s.name.clone()).collect();
        if !lone.is_empty() {
            let what = format!("{} without a pose: {}", counted(&lone, "sculpt"), list(&lone));
            let hint = "name the file with their poses: `poses=FILE` (a bundle, or a .glb, .fbx or .usd with a clip)";
            let file = shapes.iter().find(|s| s.name == lone[0]).map_or(0, |s| s.file);
            return Err(FileError::lacks(&sources[file].path, what, hint));
        }
        let (set, notes) = load_examples(rig, space, &sources, options, "sculpts")?;
        read.examples = set.examples().to_vec();
        read.notes.extend(notes);
        return finish(rig, read, options, shown);
    };
    for &file in &whole {
        let (set, notes) = load_examples(rig, space, &sources[file..=file], options, "sculpts")?;
        read.examples.extend(set.examples().iter().cloned());
        read.notes.extend(notes);
    }
    let (contents, motion, mut note) = load_motion_of(rig, space, poses, options)?;
    note.role = "poses".into();
    let found = pair(&shapes, &motion.frames, poses, &mut note)?;
    for (shape, &at) in shapes.iter_mut().zip(&found) {
        shape.complete(rig, &motion.frames[at], shown);
    }
    let moments = frame::Moments { rig, contents: &contents, frames: &motion.frames, poses, options, shown };
    for (shape, &at) in shapes.iter().zip(&found) {
        read.warnings.extend(moments.check(shape, at, &sources[shape.file].path)?);
    }
    let unused: Vec<String> = (motion.frames.iter().enumerate())
        .filter(|(at, _)| !found.contains(at))
        .map(|(_, frame)| frame.label.clone())
        .collect();
    // Whoever names frames of a shot leaves the others out on purpose.
    if !unused.is_empty() && shapes.iter().all(|shape| shape.at.is_none()) {
        read.warnings.push(format!("{} without a sculpt: {}", counted(&unused, "pose"), list(&unused)));
    }
    read.notes.push(note);
    let mut first = 0;
    while first < shapes.len() {
        let file = shapes[first].file;
        let count = shapes[first..].iter().take_while(|s| s.file == file).count();
        let examples = shapes[first..first + count].iter().zip(&found[first..]).map(|(shape, &at)| Example {
            label: shape.name.clone(),
            time: motion.frames[at].time,
            transforms: rig.skeleton().bone_transforms(&motion.frames[at].pose),
            positions: shape.positions.clone(),
            importance: 1.0,
            local: shape.local.clone(),
        });
        let path = &sources[file].path;
        let is_ordered = options.trust_order || shapes[first].is_ordered;
        let set = ExampleSet::new(String::new(), examples.collect(), rig)
            .map_err(|e| FileError::lacks(path, e.to_string(), "export it again: positions must be numbers"))?;
        let covers = shapes[first].covers();
        let check = |some: &[Example]| check_skins(rig, some, covers.as_deref(), &shown.skin, is_ordered, path);
        set.examples().chunks(LOOKED_AT).try_for_each(check)?;
        read.objects.resize(read.examples.len(), None);
        read.objects.extend(shapes[first..first + count].iter().map(|shape| shape.object.clone()));
        read.examples.extend(set.examples().iter().cloned());
        first += count;
    }
    finish(rig, read, options, shown)
}

impl Shape {
    /// Makes a sculpt of some objects one of the whole skin, which was touched nowhere else.
    fn complete(&mut self, rig: &Rig, frame: &Frame, shown: &ShownSkin<'_>) {
        let Some(part) = &self.part else { return };
        let pose = rig.skeleton().bone_transforms(&frame.pose);
        // Where it is not known what was shown, nothing reads it: the mask leaves it out.
        let elsewhere = (shown.skin)(&pose).unwrap_or_else(|| rig.mesh().positions.clone());
        self.local = Some(part.local(self.local.as_ref(), &elsewhere));
        self.positions = part.within(&self.positions, elsewhere);
    }

    /// The vertices of the rig that it covers, if not all.
    fn covers(&self) -> Option<Vec<u32>> {
        self.part.as_ref().map(|part| part.vertices.clone())
    }
}

/// The shapes of a file that knows no poses.
fn bare(
    rig: &Rig,
    contents: &Contents,
    path: &Path,
    file: usize,
    options: &ReadOptions,
    note: &mut FileNote,
) -> Result<Vec<Shape>, FileError> {
    let failed = |source: MatchError| FileError::Match { path: path.into(), source };
    let tolerance = options.match_tolerance * rig.mesh().diagonal();
    let mesh = contents.mesh.as_ref();
    let first = contents.records.iter().find_map(|r| r.positions.as_ref()).or(mesh.map(|mesh| &mesh.positions));
    let part = first.map(|first| Part::of(rig.mesh(), contents, first.len(), path)).transpose()?.flatten().map(Rc::new);
    let own = part.as_ref().map_or(rig.mesh(), |part| &part.mesh);
    let options = &part.as_ref().map_or_else(|| options.clone(), |part| part.options(rig.mesh(), options));
    if let Some(part) = &part {
        note.remarks.push(format!("it covers the {}; the others count as not sculpted", part.names()));
    }
    let records: Vec<(String, &Vec<DVec3>)> =
        contents.records.iter().filter_map(|r| Some((r.label.clone(), r.positions.as_ref()?))).collect();
    let locals = contents.records.iter().filter(|r| r.positions.is_some()).map(|r| r.local.as_ref());
    let (found, named): (Matching, Vec<(String, Vec<DVec3>)>) = if let Some((_, first)) = records.first() {
        let found = matching(own, contents, first.len(), options, path, note)?;
        (found, records.into_iter().map(|(name, p)| (name, p.clone())).collect())
    } else if let (Some(mesh), false) = (mesh, contents.morphs.is_empty()) {
        let count = mesh.positions.len();
        // The base may be the rest mesh, or a pose of it, which has no order to prove.
        let found = match matching(own, contents, count, options, path, note) {
            Err(FileError::Match { source: MatchError::Position { .. }, .. }) => {
                note.remarks.push("the base of the morph targets is not the rest mesh: matched by order".into());
                match_vertices(own, None, count, tolerance).map_err(failed)?
            }
            other => other?,
        };
        let shape = |deltas: &[DVec3]| mesh.positions.iter().zip(deltas).map(|(p, d)| *p + *d).collect();
        (found, contents.morphs.iter().map(|m| (m.name.clone(), shape(&m.deltas))).collect())
    } else if let Some(mesh) = mesh {
        let found = match_vertices(own, None, mesh.positions.len(), tolerance).map_err(failed)?;
        let name = path.file_stem().map_or_else(|| "sculpt".into(), |n| n.to_string_lossy().into_owned());
        (found, vec![(name, mesh.positions.clone())])
    } else {
        let what = format!("there are no shapes in this {} file", contents.format);
        return Err(FileError::lacks(path, what, "a sculpt is a mesh, a morph target, or a frame of a sequence"));
    };
    let mut is_ordered = false;
    if contents.format == Format::Obj || contents.morphs.is_empty() {
        is_ordered = check_faces(own, contents, &found, options.trust_order, path)?;
    }
    note.needs.order = true;
    let shape = |((name, p), local): ((String, Vec<DVec3>), Option<&LocalSculpt>)| Shape {
        name,
        positions: found.gather(&p),
        part: part.clone(),
        object: part.as_ref().filter(|_| local.is_none()).map(|part| part.vertices.clone()),
        file,
        at: None,
        is_ordered,
        local: local.map(|local| local_of(local, &found)),
    };
    Ok(named.into_iter().zip(locals.chain(std::iter::repeat(None))).map(shape).collect())
}

/// Where no rest positions tell the order of a file's vertices, its faces do: they must join the vertices that the rig's
/// faces join. Result: whether they all do, which proves the order.
fn check_faces(
    rig: &Mesh,
    contents: &Contents,
    found: &Matching,
    trusted: bool,
    path: &Path,
) -> Result<bool, FileError> {
    let Some(mesh) = contents.mesh.as_ref().filter(|m| m.positions.len() == found.report.other_vertices) else {
        return Ok(false);
    };
    let mut place = vec![None; mesh.positions.len()];
    for (vertex, &at) in (0u32..).zip(found.source()) {
        place[at as usize] = Some(vertex);
    }
    let as_ours = |edges: HashSet<(u32, u32)>| -> HashSet<(u32, u32)> {
        let pairs = edges.into_iter().filter_map(|(a, b)| Some((place[a as usize]?, place[b as usize]?)));
        pairs.map(|(a, b)| (a.min(b), a.max(b))).collect()
    };
    let (own, theirs): (HashSet<_>, _) = (edges(&rig.triangles).collect(), as_ours(edges(&mesh.triangles).collect()));
    let shared = theirs.iter().filter(|edge| own.contains(edge)).count();
    // Between polygons cut along the other diagonal, which keep two edges of three, and a part of the mesh moved elsewhere.
    let agree = |shared: usize, all: usize| 10 * shared >= 6 * all;
    if !(own.is_empty() || trusted || agree(shared, theirs.len())) {
        let what = format!(
            "its vertices are in another order than the rig's: only {shared} of {} edges of its faces join vertices that the rig's faces join",
            theirs.len()
        );
        return Err(FileError::lacks(path, what, KEEP_ORDER));
    }
    // Programs cut polygons in their own ways, but keep their sides.
    let (own_sides, their_sides) = (sides(rig), as_ours(sides(mesh)));
    let whole = agree(theirs.len(), own.len()) || agree(their_sides.len(), own_sides.len());
    Ok(whole && !theirs.is_empty() && (their_sides.is_subset(&own) || own_sides.is_subset(&theirs)))
}

/// Sides of polygons; edges of triangles of a mesh without polygons.
fn sides(mesh: &Mesh) -> HashSet<(u32, u32)> {
    let Some(polygons) = &mesh.polygons else { return edges(&mesh.triangles).collect() };
    let mut sides = HashSet::new();
    let mut rest = &polygons.indices[..];
    for &count in &polygons.counts {
        let Some((corners, after)) = rest.split_at_checked(count as usize) else { break };
        let next = corners.iter().cycle().skip(1);
        sides.extend(corners.iter().zip(next).map(|(&a, &b)| (a.min(b), a.max(b))));
        rest = after;
    }
    sides
}

/// The pose of every shape: the one that its source names, else by name, or by order if no name matches and there are as
/// many.
fn pair(shapes: &[Shape], frames: &[Frame], poses: &Source, note: &mut FileNote) -> Result<Vec<usize>, FileError> {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, frame) in frames.iter().enumerate() {
        by_name.entry(&frame.label).or_default().push(at);
    }
    let mut of_shape: Vec<Option<usize>> = Vec::new();
    for shape in shapes {
        let at = shape.at.as_deref().map(|at| frame_at(at, frames, &by_name, poses)).transpose()?;
        if let Some(at) = at {
            let time = frames[at].time.map_or_else(String::new, |time| format!(", at {} s", decimal(time, 3)));
            note.remarks.push(format!("\"{}\" is a sculpt of \"{}\"{time}", shape.name, frames[at].label));
        }
        of_shape.push(at);
    }
    let all = shapes;
    let shapes: Vec<&Shape> =
        all.iter().zip(&of_shape).filter(|(_, at)| at.is_none()).map(|(shape, _)| shape).collect();
    if shapes.is_empty() {
        return Ok(of_shape.into_iter().flatten().collect());
    }
    let known = |shape: &Shape| by_name.get(shape.name.as_str());
    let hint = "give sculpts the names of their poses (`dermis inspect` FILE `json` lists the labels), or as many poses as \
                sculpts, in the same order";
    let failed = |what: String| Err(FileError::lacks(&poses.path, what, hint));
    let lost: Vec<String> = shapes.iter().filter(|&s| known(s).is_none()).map(|s| s.name.clone()).collect();
    if lost.len() == shapes.len() {
        if shapes.len() == frames.len() {
            note.remarks.push(format!("no name of a sculpt is that of a pose: {} matched by order", shapes.len()));
            return Ok((0..frames.len()).collect());
        }
        let labels: Vec<String> = frames.iter().map(|f| f.label.clone()).collect();
        let (lone, there) = (counted(&lost, "sculpt"), counted(&labels, "pose"));
        return failed(format!(
            "no pose here for {lone} ({}): there are {there} of other names ({})",
            list_few(&lost, 4),
            list_few(&labels, 4)
        ));
    }
    if !lost.is_empty() {
        return failed(format!("no pose here is called as {}: {}", counted(&lost, "sculpt"), list(&lost)));
    }
    let twice = shapes.iter().find(|s| known(s).is_some_and(|at| at.len() > 1));
    if let Some(shape) = twice {
        let count = known(shape).map_or(0, Vec::len);
        return failed(format!("{count} poses are called \"{}\", as a sculpt is", shape.name));
    }
    note.remarks.push(format!("{} matched with poses by name", counted(&shapes, "sculpt")));
    let of = |(shape, at): (&Shape, &Option<usize>)| at.or_else(|| known(shape)?.first().copied());
    Ok(all.iter().zip(&of_shape).filter_map(of).collect())
}

/// The frame that a sculpt names: by label, else by number.
fn frame_at(
    at: &str,
    frames: &[Frame],
    by_name: &HashMap<&str, Vec<usize>>,
    poses: &Source,
) -> Result<usize, FileError> {
    let failed = |what: String| {
        let hint = "frames are counted from 0, at the clip's own keys or at the rate of `fps`; `dermis inspect` FILE `json` lists labels";
        Err(FileError::lacks(&poses.path, what, hint))
    };
    match (by_name.get(at).map(Vec::as_slice), at.parse::<usize>()) {
        (Some([one]), _) => Ok(*one),
        (Some(several), _) => failed(format!("{} poses are called \"{at}\"", several.len())),
        (None, Ok(number)) if number < frames.len() => Ok(number),
        (None, Ok(number)) => {
            failed(format!("there is no frame {number}: {} are there, 0 to {}", frames.len(), frames.len() - 1))
        }
        (None, Err(_)) => failed(format!("no pose here is called \"{at:.60}\"")),
    }
}

/// Names that occur once, and what the sculpts say about each other and about the rig.
fn finish(rig: &Rig, mut read: Sculpts, options: &ReadOptions, shown: &ShownSkin<'_>) -> Result<Sculpts, FileError> {
    if read.examples.is_empty() {
        return Err(FileError::NoSculpts);
    }
    read.objects.resize(read.examples.len(), None);
    let mut names: Vec<String> = read.examples.iter().map(|example| example.label.clone()).collect();
    for (at, name) in make_unique(&mut names, ".") {
        read.warnings.push(format!("two sculpts are called \"{name}\"; one is now \"{}\"", names[at]));
    }
    read.examples.iter_mut().zip(names).for_each(|(example, name)| example.label = name);
    let tolerance = options.match_tolerance * rig.mesh().diagonal();
    read.warnings.extend(rounding::clear(rig, &mut read.examples, tolerance, shown));
    for (example, object) in read.examples.iter_mut().zip(&read.objects) {
        if let Some((object, skin)) = object.as_ref().zip((shown.skin)(&example.transforms)) {
            example.local = part::found(rig, example, object, &skin);
        }
    }
    read.warnings.extend(read.examples.iter().filter_map(|e| far_away(rig, e, shown)));
    Ok(read)
}

/// A sculpt far from what was shown in its pose is perhaps the sculpt of another pose.
fn far_away(rig: &Rig, sculpt: &Example, shown: &ShownSkin<'_>) -> Option<String> {
    let skin = (shown.skin)(&sculpt.transforms)?;
    let squares: f64 = skin.iter().zip(&sculpt.positions).map(|(a, b)| a.distance_squared(*b)).sum();
    let rms = (squares / skin.len() as f64).sqrt();
    // Between the flesh simulation of a fox (0.01) and a pose of a body taken for another (0.1 and more).
    (rms > 0.05 * rig.mesh().diagonal()).then(|| {
        format!(
            "\"{}\" is {rms:.3e} m (rms) from {} in its pose: is it the sculpt of this pose?",
            sculpt.label, shown.name
        )
    })
}

fn counted<T>(things: &[T], one: &str) -> String {
    if things.len() == 1 { format!("1 {one}") } else { format!("{} {one}s", things.len()) }
}

fn list(names: &[String]) -> String {
    list_few(names, LISTED)
}

fn list_few(names: &[String], most: usize) -> String {
    let mut shown: Vec<String> = names.iter().take(most).map(|n| format!("\"{n:.60}\"")).collect();
    if names.len() > most {
        shown.push("…".into());
    }
    shown.join(", ")
}
