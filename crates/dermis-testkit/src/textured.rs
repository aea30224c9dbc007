//! A small character as a GLB with everything that a file may hold beside shape and motion.
//!
//! A strip of four polygons on two bones, as in [`fbx`](crate::fbx), in two materials with three images: one in the file's
//! buffer, one in a data URI, one in a file beside it ([`BESIDE`]). A camera and an empty node hang on the upper bone's child, a light
//! hangs on the scene. Extras stand wherever they may, and extensions that this toolkit knows nothing of.

/// The image beside the file: its name, as the system has it.
pub const BESIDE: &str = "skin colour.png";

/// Height of each row of two vertices.
const ROWS: [f32; 5] = [0.0, 1.0, 2.0, 3.0, 4.0];

/// A picture of one pixel, red, green and blue.
pub fn png(pixel: [u8; 3]) -> Vec<u8> {
    let mut bytes = vec![0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A];
    let raw = [0, pixel[0], pixel[1], pixel[2]]; // no filter
    // One stored block of deflate.
    let mut data = vec![0x78, 0x01, 0x01, 4, 0, !4, !0];
    data.extend(raw);
    data.extend(adler(&raw).to_be_bytes());
    for (kind, content) in
        [(b"IHDR", vec![0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]), (b"IDAT", data), (b"IEND", Vec::new())]
    {
        bytes.extend((content.len() as u32).to_be_bytes());
        let chunk: Vec<u8> = kind.iter().copied().chain(content).collect();
        bytes.extend(&chunk);
        bytes.extend(crc(&chunk).to_be_bytes());
    }
    bytes
}

fn adler(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), &x| {
        let a = (a + u32::from(x)) % 65521;
        (a, (b + a) % 65521)
    });
    b << 16 | a
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |mut crc, &byte| {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
        }
        crc
    })
}

/// Base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().chain(&[0, 0]).take(3).fold(0u32, |word, &byte| word << 8 | u32::from(byte));
        for at in 0..4 {
            let letter = char::from(LETTERS[(word >> (18 - 6 * at)) as usize & 63]);
            text.push(if at <= three.len() { letter } else { '=' });
        }
    }
    text
}

/// The images of the file by number.
pub fn images() -> [Vec<u8>; 3] {
    [png([200, 40, 40]), png([127, 127, 255]), png([40, 200, 40])]
}

/// The JSON and the buffer of the file.
pub fn parts() -> (String, Vec<u8>) {
    let (mut buffer, mut views, mut accessors) = (Vec::<u8>::new(), Vec::new(), Vec::new());
    let mut view = |bytes: &[u8]| {
        buffer.resize(buffer.len().next_multiple_of(4), 0);
        views.push(format!(r#"{{"buffer":0,"byteOffset":{},"byteLength":{}}}"#, buffer.len(), bytes.len()));
        buffer.extend(bytes);
        views.len() - 1
    };
    let mut accessor = |bytes: &[u8], component: u32, shape: &str, count: usize, more: &str| {
        let view = view(bytes);
        accessors.push(format!(
            r#"{{"bufferView":{view},"componentType":{component},"type":"{shape}","count":{count}{more}}}"#
        ));
        accessors.len() - 1
    };
    let floats = |values: Vec<f32>| values.into_iter().flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    let rows = |of: &dyn Fn(f32, f32) -> Vec<f32>| {
        floats(ROWS.iter().flat_map(|&y| [-0.5, 0.5].map(|x| of(x, y))).flatten().collect())
    };
    let bounds = r#","min":[-0.5,0,0],"max":[0.5,4,0]"#;
    let position = accessor(&rows(&|x, y| vec![x, y, 0.0]), 5126, "VEC3", 10, bounds);
    let normal = accessor(&rows(&|_, _| vec![0.0, 0.0, 1.0]), 5126, "VEC3", 10, "");
    let tangent = accessor(&rows(&|_, _| vec![1.0, 0.0, 0.0, 1.0]), 5126, "VEC4", 10, "");
    let uv = accessor(&rows(&|x, y| vec![x + 0.5, 1.0 - y / 4.0]), 5126, "VEC2", 10, "");
    let more = accessor(&rows(&|x, y| vec![y / 8.0, 0.25 + x / 4.0]), 5126, "VEC2", 10, "");
    let color = accessor(&rows(&|x, y| vec![1.0, y / 4.0, x + 0.5, 1.0]), 5126, "VEC4", 10, "");
    let joints = accessor(&[0, 1, 0, 0].repeat(10), 5121, "VEC4", 10, "");
    let lower = |y: f32| ((y - 1.0) / 2.0).clamp(0.0, 1.0);
    let weights = accessor(&rows(&|_, y| vec![1.0 - lower(y), lower(y), 0.0, 0.0]), 5126, "VEC4", 10, "");
    let bulge = r#","min":[0,0,0],"max":[0,0,1]"#;
    let target = accessor(&rows(&|_, y| vec![0.0, 0.0, if y > 3.5 { 1.0 } else { 0.0 }]), 5126, "VEC3", 10, bulge);
    let quads = |from: u16| -> Vec<u8> {
        (from..from + 2)
            .flat_map(|row| [0, 1, 3, 0, 3, 2].map(|corner| corner + 2 * row))
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    let low = accessor(&quads(0), 5123, "SCALAR", 12, "");
    let high = accessor(&quads(2), 5123, "SCALAR", 12, "");
    let matrix = |up: f32| {
        let mut m = vec![0.0; 16];
        [0, 5, 10, 15].iter().for_each(|&at| m[at] = 1.0);
        m[13] = -up;
        m
    };
    let binds = accessor(&floats([matrix(0.0), matrix(2.0)].concat()), 5126, "MAT4", 2, "");
    let times = accessor(&floats(vec![0.0, 1.0]), 5126, "SCALAR", 2, r#","min":[0],"max":[1]"#);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let turn = accessor(&floats(vec![0.0, 0.0, 0.0, 1.0, half, 0.0, 0.0, half]), 5126, "VEC4", 2, "");
    let [within, encoded, _] = images();
    let within = view(&within);
    let encoded = base64(&encoded);
    let beside = BESIDE.replace(' ', "%20");
    let attributes = format!(
        r#"{{"POSITION":{position},"NORMAL":{normal},"TANGENT":{tangent},"TEXCOORD_0":{uv},"TEXCOORD_1":{more},"COLOR_0":{color},"JOINTS_0":{joints},"WEIGHTS_0":{weights}}}"#
    );
    let primitive = |indices: usize, material: usize| {
        format!(
            r#"{{"attributes":{attributes},"indices":{indices},"material":{material},"targets":[{{"POSITION":{target}}}]}}"#
        )
    };
    let (views, accessors) = (views.join(","), accessors.join(","));
    let (low, high, bytes) = (primitive(low, 0), primitive(high, 1), buffer.len());
    let json = format!(
        r#"{{
"asset":{{"version":"2.0","copyright":"2001 A. N. Artist","extras":{{"made":"by hand"}}}},
"scene":0,
"scenes":[{{"nodes":[0,1],"extras":{{"mood":"calm"}}}}],
"extensionsUsed":["KHR_lights_punctual","KHR_texture_transform","KHR_materials_emissive_strength","ACME_mood","ACME_physics"],
"extensions":{{"KHR_lights_punctual":{{"lights":[{{"type":"point","intensity":40,"name":"bulb"}}]}},"ACME_mood":{{"colour":"blue","level":3}},"ACME_physics":{{"bodies":[{{"node":3}}]}}}},
"extras":{{"project":"strip"}},
"nodes":[
{{"name":"body","mesh":0,"skin":0,"extras":{{"kind":"body"}}}},
{{"name":"armature","children":[2,5],"extras":{{"rig":"simple"}}}},
{{"name":"upper","children":[3],"extras":{{"twist":1}}}},
{{"name":"lower","translation":[0,2,0],"children":[4,6]}},
{{"name":"eye","camera":0,"translation":[0,1,0.5],"rotation":[0,1,0,0],"scale":[1,1,1]}},
{{"name":"stand","translation":[1,0,0],"children":[7]}},
{{"name":"socket","matrix":[1,0,0,0,0,1,0,0,0,0,1,0,0,1.5,0,1]}},
{{"name":"lamp","translation":[0,3,0],"extensions":{{"KHR_lights_punctual":{{"light":0}}}}}}
],
"cameras":[{{"type":"perspective","perspective":{{"yfov":0.8,"znear":0.1}},"name":"lens"}}],
"meshes":[{{"name":"strip","primitives":[{low},{high}],"weights":[0],"extras":{{"targetNames":["fuller"],"cloth":false}}}}],
"skins":[{{"joints":[2,3],"inverseBindMatrices":{binds}}}],
"animations":[{{"name":"bend","channels":[{{"sampler":0,"target":{{"node":3,"path":"rotation"}}}}],"samplers":[{{"input":{times},"output":{turn}}}]}}],
"materials":[
{{"name":"skin","pbrMetallicRoughness":{{"baseColorTexture":{{"index":0,"extensions":{{"KHR_texture_transform":{{"offset":[0.5,0],"texCoord":1}}}}}},"metallicFactor":0.25}},"normalTexture":{{"index":1,"scale":0.5,"texCoord":1}},"emissiveFactor":[0.1,0.2,0.3],"extensions":{{"KHR_materials_emissive_strength":{{"emissiveStrength":4}}}},"extras":{{"pores":12}}}},
{{"name":"cloth","pbrMetallicRoughness":{{"baseColorFactor":[0.5,0.25,1,0.5],"baseColorTexture":{{"index":2}}}},"alphaMode":"BLEND","doubleSided":true}}
],
"textures":[{{"source":0,"sampler":0,"name":"colour"}},{{"source":1}},{{"source":2,"sampler":1}}],
"samplers":[{{"wrapS":33071,"magFilter":9728}},{{"minFilter":9987}}],
"images":[{{"bufferView":{within},"mimeType":"image/png","name":"red"}},{{"uri":"data:image/png;base64,{encoded}"}},{{"uri":"{beside}","extras":{{"year":2001}}}}],
"accessors":[{accessors}],
"bufferViews":[{views}],
"buffers":[{{"byteLength":{bytes}}}]
}}"#
    );
    (json, buffer)
}

/// The file.
pub fn glb() -> Vec<u8> {
    let (json, buffer) = parts();
    container(&json, &buffer)
}

/// JSON and a buffer as a GLB.
pub fn container(json: &str, buffer: &[u8]) -> Vec<u8> {
    let (mut json, mut buffer) = (json.as_bytes().to_vec(), buffer.to_vec());
    json.resize(json.len().next_multiple_of(4), b' ');
    buffer.resize(buffer.len().next_multiple_of(4), 0);
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend((28 + json.len() as u32 + buffer.len() as u32).to_le_bytes());
    for (kind, chunk) in [(b"JSON", json), (b"BIN\0", buffer)] {
        bytes.extend((chunk.len() as u32).to_le_bytes());
        bytes.extend(kind);
        bytes.extend(chunk);
    }
    bytes
}
