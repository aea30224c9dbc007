//! Alembic archives as their own library writes them: enough of the format for a mesh below transforms.
//!
//! Written from the description of the format, apart from the reader that it tests.

/// An archive that is to be written.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    /// Objects at the top.
    pub objects: Vec<Object>,
    /// Time samplings after the first, which every archive has: seconds per cycle, and the times stored.
    pub samplings: Vec<(f64, Vec<f64>)>,
}

/// An object with its properties and the objects below it.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Its schema, such as "AbcGeom_PolyMesh_v1".
    pub schema: String,
    /// Its properties.
    pub properties: Vec<Property>,
    /// Objects below.
    pub children: Vec<Object>,
}

/// A property.
#[derive(Clone, Debug)]
pub enum Property {
    /// Properties below a name.
    Compound(String, Vec<Property>),
    /// A property, and what the format says of it.
    Said(String, Box<Property>),
    /// Samples of numbers.
    Samples {
        /// Its name.
        name: String,
        /// Array, or scalar.
        array: bool,
        /// Type of the numbers: 0 bool, 1 byte, 6 i32, 10 f32, 11 f64.
        pod: u32,
        /// Numbers per element.
        extent: u32,
        /// Number of its time sampling.
        sampling: u32,
        /// Bytes of each sample.
        samples: Vec<Vec<u8>>,
    },
}

/// An array property of 32-bit floats, three per element.
pub fn points(name: &str, sampling: u32, samples: &[Vec<[f32; 3]>]) -> Property {
    let bytes = |sample: &Vec<[f32; 3]>| sample.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    let samples = samples.iter().map(bytes).collect();
    Property::Samples { name: name.into(), array: true, pod: 10, extent: 3, sampling, samples }
}

/// A parameter of a mesh: its scope ("vtx", "fvr", ...), what it means ("normal", "vector", "rgba"), and 32-bit floats of each value.
pub fn param(name: &str, scope: &str, meaning: &str, extent: u32, values: &[f32]) -> Property {
    let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let (name, samples) = (name.into(), vec![bytes]);
    let values = Property::Samples { name, array: true, pod: 10, extent, sampling: 0, samples };
    Property::Said(format!("geoScope={scope};interpretation={meaning};isGeomParam=true"), Box::new(values))
}

/// The same with the number of the value of each thing.
pub fn indexed(name: &str, scope: &str, meaning: &str, extent: u32, values: &[f32], indices: &[u32]) -> Property {
    let Property::Said(said, values) = param(".vals", scope, meaning, extent, values) else { unreachable!() };
    let bytes = indices.iter().flat_map(|x| x.to_le_bytes()).collect();
    let (own, samples) = (".indices".into(), vec![bytes]);
    let indices = Property::Samples { name: own, array: true, pod: 5, extent: 1, sampling: 0, samples };
    Property::Said(said, Box::new(Property::Compound(name.into(), vec![*values, indices])))
}

/// Whether an object is shown, in each sample: 1, 0, or 0xff for as the object above.
pub fn visible(sampling: u32, samples: &[u8]) -> Property {
    let samples = samples.iter().map(|shown| vec![*shown]).collect();
    Property::Samples { name: "visible".into(), array: false, pod: 2, extent: 1, sampling, samples }
}

/// Faces of a mesh that belong together, an object below it.
pub fn face_set(name: &str, faces: &[i32]) -> Object {
    let list = vec![integers(".faces", 0, &[faces])];
    Object {
        name: name.into(),
        schema: "AbcGeom_FaceSet_v1".into(),
        properties: vec![Property::Compound(".faceset".into(), list)],
        children: vec![],
    }
}

/// An array property of 32-bit integers.
pub fn integers(name: &str, sampling: u32, samples: &[&[i32]]) -> Property {
    let samples = samples.iter().map(|sample| sample.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    Property::Samples { name: name.into(), array: true, pod: 6, extent: 1, sampling, samples }
}

/// A polygon mesh. Corners of faces are clockwise from outside, as the format has them.
pub fn mesh(name: &str, counts: &[i32], corners: &[i32], sampling: u32, frames: &[Vec<[f32; 3]>]) -> Object {
    let geometry = vec![
        points("P", sampling, frames),
        integers(".faceIndices", sampling, &vec![corners; frames.len()]),
        integers(".faceCounts", sampling, &vec![counts; frames.len()]),
    ];
    Object {
        name: name.into(),
        schema: "AbcGeom_PolyMesh_v1".into(),
        properties: vec![Property::Compound(".geom".into(), geometry)],
        children: vec![],
    }
}

/// A transform: codes of its operations (0 scale, 1 translate, 2 rotate, 3 matrix, 4 to 6 rotate about x, y, z), and their
/// values in every sample.
pub fn transform(
    name: &str,
    inherits: bool,
    codes: &[u8],
    sampling: u32,
    values: &[Vec<f64>],
    child: Object,
) -> Object {
    let scalar = |name: &str, pod: u32, extent: usize, sampling: u32, samples: Vec<Vec<u8>>| Property::Samples {
        name: name.into(),
        array: false,
        pod,
        extent: extent as u32,
        sampling,
        samples,
    };
    let size = values.first().map_or(0, Vec::len);
    let numbers = values.iter().map(|sample| sample.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let form = vec![
        scalar(".inherits", 0, 1, 0, vec![vec![u8::from(inherits)]]),
        scalar(".ops", 1, codes.len(), 0, vec![codes.iter().map(|code| code << 4).collect()]),
        scalar(".vals", 11, size, sampling, numbers),
    ];
    Object {
        name: name.into(),
        schema: "AbcGeom_Xform_v3".into(),
        properties: vec![Property::Compound(".xform".into(), form)],
        children: vec![child],
    }
}

impl Archive {
    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = b"Ogawa\xff\x00\x01".to_vec();
        file.extend([0; 8]);
        let version = [block(&mut file, &0i32.to_le_bytes()), block(&mut file, &10709i32.to_le_bytes())];
        let top =
            Object { name: String::new(), schema: String::new(), properties: vec![], children: self.objects.clone() };
        let top = object(&mut file, &top);
        let about = block(&mut file, b"_ai_Application=test");
        let first = (1.0, vec![0.0]);
        let mut times = Vec::new();
        for (cycle, stored) in [&first].into_iter().chain(&self.samplings) {
            times.extend(1u32.to_le_bytes());
            times.extend(cycle.to_le_bytes());
            times.extend((stored.len() as u32).to_le_bytes());
            times.extend(stored.iter().flat_map(|time| time.to_le_bytes()));
        }
        let times = block(&mut file, &times);
        let metadata = block(&mut file, b"\x08geo=test");
        let root = group(&mut file, &[version[0], version[1], top, about, times, metadata]);
        file[8..16].copy_from_slice(&root.to_le_bytes());
        file
    }
}

/// Appends a block; result: its offset, marked as one.
pub fn block(file: &mut Vec<u8>, bytes: &[u8]) -> u64 {
    let at = file.len() as u64;
    file.extend((bytes.len() as u64).to_le_bytes());
    file.extend(bytes);
    at | 1 << 63
}

/// Appends a group; result: its offset.
pub fn group(file: &mut Vec<u8>, children: &[u64]) -> u64 {
    let at = file.len() as u64;
    file.extend((children.len() as u64).to_le_bytes());
    file.extend(children.iter().flat_map(|child| child.to_le_bytes()));
    at
}

fn object(file: &mut Vec<u8>, this: &Object) -> u64 {
    let mut children = vec![properties(file, &this.properties)];
    let mut headers = Vec::new();
    for child in &this.children {
        children.push(object(file, child));
        headers.extend((child.name.len() as u32).to_le_bytes());
        headers.extend(child.name.as_bytes());
        let metadata = format!("schema={};schemaBaseType=test", child.schema);
        headers.push(0xff);
        headers.extend((metadata.len() as u32).to_le_bytes());
        headers.extend(metadata.as_bytes());
    }
    headers.extend([7; 32]); // hashes, which a reader of meshes has no use for
    children.push(block(file, &headers));
    group(file, &children)
}

fn properties(file: &mut Vec<u8>, list: &[Property]) -> u64 {
    if list.is_empty() {
        return 0;
    }
    let (mut children, mut headers) = (Vec::new(), Vec::new());
    for property in list {
        let (said, property) = match property {
            Property::Said(said, property) => (said.as_str(), &**property),
            plain => ("", plain),
        };
        // Metadata that is not in the table follows the name.
        let said_bit = if said.is_empty() { 0 } else { 0xffu32 << 20 };
        let name = match property {
            Property::Said(..) => unreachable!("said twice"),
            Property::Compound(name, below) => {
                children.push(properties(file, below));
                headers.extend((2u32 << 2 | said_bit).to_le_bytes());
                name
            }
            Property::Samples { name, array, pod, extent, sampling, samples } => {
                let changes: Vec<usize> = (1..samples.len()).filter(|&at| samples[at] != samples[at - 1]).collect();
                let (first, last) = (changes.first().copied().unwrap_or(0), changes.last().copied().unwrap_or(0));
                let every = (first, last) == (1, samples.len().saturating_sub(1));
                // Counts of four bytes (2 << 2); bits 8, 9, 11: a sampling, first and last change, never changes.
                let info = if *array { 2 } else { 1 } | 2 << 2 | pod << 4 | 1 << 8 | extent << 12;
                let info = info | if last == 0 { 1 << 11 } else { 0 } | if last > 0 && !every { 1 << 9 } else { 0 };
                headers.extend((info | said_bit).to_le_bytes());
                headers.extend((samples.len() as u32).to_le_bytes());
                if last > 0 && !every {
                    headers.extend((first as u32).to_le_bytes());
                    headers.extend((last as u32).to_le_bytes());
                }
                headers.extend(sampling.to_le_bytes());
                let mut stored = Vec::new();
                let kept = (0..1).chain(if last > 0 { first..last + 1 } else { 0..0 });
                for sample in kept.filter_map(|at| samples.get(at)) {
                    stored.push(block(file, &[&[9; 16], sample.as_slice()].concat()));
                    if *array {
                        stored.push(1 << 63); // one dimension, which follows from the length
                    }
                }
                children.push(group(file, &stored));
                name
            }
        };
        headers.extend((name.len() as u32).to_le_bytes());
        headers.extend(name.as_bytes());
        if !said.is_empty() {
            headers.extend((said.len() as u32).to_le_bytes());
            headers.extend(said.as_bytes());
        }
    }
    children.push(block(file, &headers));
    group(file, &children)
}
