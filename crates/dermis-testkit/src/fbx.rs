//! A small character as an FBX text: a strip of four polygons on two bones, two takes, one blend shape.
//!
//! Written from the format as programs write it, with numbers that can be checked by hand: bone "upper" stands at the
//! origin and "lower" 2 above it; the strip reaches from 0 to 4. Everything is in the file's own units.

/// What varies between files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fbx {
    /// Up, front and right axes as `GlobalSettings` has them: number and sign of each.
    pub axes: [(i32, i32); 3],
    /// Centimetres per unit.
    pub unit: f64,
    /// What the weights of a vertex sum to.
    pub weight_sum: f64,
}

impl Default for Fbx {
    fn default() -> Self {
        Self { axes: [(1, 1), (2, 1), (0, 1)], unit: 100.0, weight_sum: 1.0 }
    }
}

/// Height of each row of two vertices, and the part of "lower" in it.
pub const ROWS: [(f64, f64); 5] = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.5), (3.0, 1.0), (4.0, 1.0)];

/// Degrees by which "lower" is turned about z in each frame of "bend"; it has a key at each.
pub const BEND: [f64; 5] = [0.0, 20.0, 40.0, 60.0, 80.0];

/// Distance along x that "upper" has moved in each frame of "slide", while the blend shape comes in.
pub const SLIDE: [f64; 3] = [0.0, 0.5, 1.0];

/// Ticks per second of the format's clock.
const TICKS: i64 = 46_186_158_000;

impl Fbx {
    /// The file.
    pub fn text(&self) -> String {
        let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let array = |name: &str, numbers: &[f64]| format!("{name}: *{} {{ a: {} }}\n", numbers.len(), list(numbers));
        let matrix = |name: &str, up: f64| {
            let m = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, up, 0.0, 1.0];
            array(name, &m)
        };
        let points: Vec<f64> = ROWS.iter().flat_map(|(y, _)| [-0.5, *y, 0.0, 0.5, *y, 0.0]).collect();
        // A face ends with the complement of its last corner.
        let corners: Vec<f64> =
            (0..4).flat_map(|row| [0, 1, 3, -3 - 4 * row].map(|c| f64::from(c + 2 * row))).collect();
        let weights = |lower: bool| {
            let part = |at: &usize| if lower { ROWS[*at / 2].1 } else { 1.0 - ROWS[*at / 2].1 };
            let vertices: Vec<usize> = (0..10).filter(|at| part(at) > 0.0).collect();
            let values: Vec<f64> = vertices.iter().map(|at| part(at) * self.weight_sum).collect();
            array("Indexes", &vertices.iter().map(|at| *at as f64).collect::<Vec<_>>()) + &array("Weights", &values)
        };
        let mut text = String::from(
            "; FBX 7.4.0 project file\nFBXHeaderExtension: { FBXHeaderVersion: 1003\n FBXVersion: 7400 }\n",
        );
        text += "GlobalSettings: { Version: 1000\n Properties70: {\n";
        for (name, (axis, sign)) in ["Up", "Front", "Coord"].iter().zip(self.axes) {
            text += &format!("P: \"{name}Axis\", \"int\", \"Integer\", \"\",{axis}\n");
            text += &format!("P: \"{name}AxisSign\", \"int\", \"Integer\", \"\",{sign}\n");
        }
        text += &format!("P: \"UnitScaleFactor\", \"double\", \"Number\", \"\",{}\n", self.unit);
        text += "P: \"TimeMode\", \"enum\", \"\", \"\",11\n } }\nObjects: {\n"; // 24 frames per second
        text += "Geometry: 10, \"Geometry::strip\", \"Mesh\" {\n";
        text += &(array("Vertices", &points) + &array("PolygonVertexIndex", &corners) + "}\n");
        text += "Geometry: 11, \"Geometry::fuller\", \"Shape\" { Version: 100\n Indexes: *2 { a: 8,9 }\n Vertices: *6 { a: 0,0,1,0,0,1 }\n Normals: *6 { a: 0,0,0,0,0,0 } }\n";
        text += "Model: 20, \"Model::strip\", \"Mesh\" { Version: 232\n }\n";
        for (id, name, up) in [(21, "upper", 0.0), (22, "lower", 2.0)] {
            text += &format!("Model: {id}, \"Model::{name}\", \"LimbNode\" {{ Version: 232\n Properties70: {{\n");
            text += &format!("P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",0,{up},0\n }} }}\n");
            text += &format!(
                "NodeAttribute: {}, \"NodeAttribute::{name}\", \"LimbNode\" {{ TypeFlags: \"Skeleton\" }}\n",
                id + 10
            );
        }
        text += "Deformer: 40, \"Deformer::skin\", \"Skin\" { Version: 101 }\n";
        for (id, lower) in [(41, false), (42, true)] {
            let up = if lower { 2.0 } else { 0.0 };
            text += &format!("Deformer: {id}, \"SubDeformer::\", \"Cluster\" {{ Version: 100\n{}", weights(lower));
            text += &(matrix("Transform", -up) + &matrix("TransformLink", up) + "}\n");
        }
        text += "Deformer: 43, \"Deformer::\", \"BlendShape\" { Version: 100 }\n";
        text += "Deformer: 44, \"SubDeformer::fuller\", \"BlendShapeChannel\" { Version: 100\n DeformPercent: 0\n FullWeights: *1 { a: 100 } }\n";
        let mut links = vec![(20, 0), (10, 20), (21, 0), (22, 21), (31, 21), (32, 22), (40, 10), (41, 40), (42, 40)];
        links.extend([(21, 41), (22, 42), (43, 10), (44, 43), (11, 44)]);
        let mut named: Vec<(i32, i32, &str)> = Vec::new();
        let tracks: [(i32, &str, usize, Vec<(i32, &str, &str, Vec<f64>)>); 2] = [
            (50, "bend", BEND.len(), vec![(22, "Lcl Rotation", "d|Z", BEND.to_vec())]),
            (
                60,
                "slide",
                SLIDE.len(),
                vec![
                    (21, "Lcl Translation", "d|X", SLIDE.to_vec()),
                    (44, "DeformPercent", "d|DeformPercent", SLIDE.iter().map(|x| 100.0 * x).collect()),
                ],
            ),
        ];
        let tick = |frame: usize| frame as i64 * TICKS / 24;
        for (id, name, frames, curves) in &tracks {
            text += &format!("AnimationStack: {id}, \"AnimStack::{name}\", \"\" {{ Properties70: {{\n");
            text += "P: \"LocalStart\", \"KTime\", \"Time\", \"\",0\n";
            text += &format!("P: \"LocalStop\", \"KTime\", \"Time\", \"\",{}\n }} }}\n", tick(frames - 1));
            text += &format!("AnimationLayer: {}, \"AnimLayer::{name}\", \"\" {{ }}\n", id + 1);
            links.push((id + 1, *id));
            for (at, (target, property, channel, values)) in curves.iter().enumerate() {
                let (node, curve) = (id + 2 + 2 * at as i32, id + 3 + 2 * at as i32);
                text += &format!("AnimationCurveNode: {node}, \"AnimCurveNode::\", \"\" {{ Properties70: {{\n");
                // Axes without a curve keep what the bone has at rest.
                text += &format!("P: \"{channel}\", \"Number\", \"\", \"A\",{}\n }} }}\n", values[0]);
                let times: Vec<String> = (0..values.len()).map(|frame| tick(frame).to_string()).collect();
                text += &format!("AnimationCurve: {curve}, \"AnimCurve::\", \"\" {{ Default: 0\n KeyVer: 4008\n");
                text += &format!("KeyTime: *{} {{ a: {} }}\n", values.len(), times.join(","));
                text += &array("KeyValueFloat", values);
                // One run of keys, linear between them.
                text += &format!(
                    "KeyAttrFlags: *1 {{ a: 4 }}\n KeyAttrDataFloat: *4 {{ a: 0,0,0,0 }}\n KeyAttrRefCount: *1 {{ a: {} }} }}\n",
                    values.len()
                );
                links.push((node, id + 1));
                named.push((node, *target, property));
                named.push((curve, node, channel));
            }
        }
        text += "}\nConnections: {\n";
        for (from, to) in links {
            text += &format!("C: \"OO\",{from},{to}\n");
        }
        for (from, to, property) in named {
            text += &format!("C: \"OP\",{from},{to}, \"{property}\"\n");
        }
        text + "}\n"
    }
}

/// The strip with texts replaced, each of which must be there: the first of each.
pub fn changed(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(Fbx::default().text(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replacen(old, new, 1)
    })
}

/// What a channel of the blend shape says of itself.
pub const CHANNEL: &str = "DeformPercent: 0\n FullWeights: *1 { a: 100 }";

/// Corners of the strip's polygons as rows and sides, those of one polygon after another.
pub const CORNERS: [(usize, usize); 16] = {
    let mut corners = [(0, 0); 16];
    let mut at = 0;
    while at < 16 {
        let row = at / 4;
        corners[at] = [(row, 0), (row, 1), (row + 1, 1), (row + 1, 0)][at % 4];
        at += 1;
    }
    corners
};

/// Texture coordinates of a corner of polygon `polygon`, from the lower left: the upper two polygons lie beside the lower two.
pub fn texture_coordinates(polygon: usize, (row, side): (usize, usize)) -> [f64; 2] {
    let shift = if polygon < 2 { 0.0 } else { 0.5 };
    [shift + 0.25 * side as f64, ROWS[row].0 / 4.0]
}

/// The normal of polygon `polygon`: the edge above the first is hard.
pub fn normal(polygon: usize) -> [f64; 3] {
    if polygon == 0 { [0.0, 0.6, 0.8] } else { [0.0, 0.0, 1.0] }
}

impl Fbx {
    /// The file with texture coordinates, normals and two materials: polygons 1 and 3 are of "skin", with a texture in the file
    /// `..\maps\skin.png` and one of a kind that no engine knows; 0 and 2 of "cloth", with `embedded` as its normal map.
    pub fn textured(&self, embedded: &[u8]) -> String {
        let list = |numbers: Vec<f64>| {
            let texts: Vec<String> = numbers.iter().map(f64::to_string).collect();
            format!("*{} {{ a: {} }}", numbers.len(), texts.join(","))
        };
        let uvs = CORNERS.iter().enumerate().flat_map(|(at, corner)| texture_coordinates(at / 4, *corner)).collect();
        let normals = (0..16).flat_map(|at| normal(at / 4)).collect();
        let layers = format!(
            "LayerElementUV: 0 {{ Version: 101\n Name: \"map1\"\n MappingInformationType: \"ByPolygonVertex\"\n ReferenceInformationType: \"IndexToDirect\"\n UV: {}\n UVIndex: {} }}\n\
             LayerElementNormal: 0 {{ Version: 101\n Name: \"\"\n MappingInformationType: \"ByPolygonVertex\"\n ReferenceInformationType: \"Direct\"\n Normals: {} }}\n\
             LayerElementMaterial: 0 {{ Version: 101\n Name: \"\"\n MappingInformationType: \"ByPolygon\"\n ReferenceInformationType: \"IndexToDirect\"\n Materials: *4 {{ a: 1,0,1,0 }} }}\n\
             Layer: 0 {{ Version: 100\n LayerElement: {{ Type: \"LayerElementNormal\"\n TypedIndex: 0 }}\n LayerElement: {{ Type: \"LayerElementMaterial\"\n TypedIndex: 0 }}\n LayerElement: {{ Type: \"LayerElementUV\"\n TypedIndex: 0 }} }}\n",
            list(uvs),
            list((0..16).map(f64::from).collect()),
            list(normals),
        );
        let material = |id: usize, name: &str, color: &str| {
            format!(
                "Material: {id}, \"Material::{name}\", \"\" {{ Version: 102\n ShadingModel: \"lambert\"\n Properties70: {{\n P: \"DiffuseColor\", \"Color\", \"\", \"A\",{color}\n P: \"DiffuseFactor\", \"Number\", \"\", \"A\",1\n }} }}\n"
            )
        };
        let texture = |id: usize, name: &str, file: &str, relative: &str| {
            format!(
                "Texture: {id}, \"Texture::{name}\", \"\" {{ Type: \"TextureVideoClip\"\n Version: 202\n TextureName: \"Texture::{name}\"\n FileName: \"{file}\"\n RelativeFilename: \"{relative}\" }}\n"
            )
        };
        let objects = [
            material(70, "skin", "0.5,0.25,0.125"),
            material(71, "cloth", "0.5,0.25,0.125"),
            texture(72, "colour", "C:\\art\\maps\\skin.png", "..\\maps\\skin.png"),
            texture(73, "bumps", "bumps.png", "bumps.png"),
            texture(75, "sheen", "sheen.png", "sheen.png"),
            format!(
                "Video: 74, \"Video::bumps\", \"Clip\" {{ Type: \"Clip\"\n FileName: \"bumps.png\"\n RelativeFilename: \"bumps.png\"\n Content: ,\n\"{}\" }}\n",
                crate::textured::base64(embedded)
            ),
        ]
        .concat();
        let links = "C: \"OO\",70,20\nC: \"OO\",71,20\nC: \"OP\",72,70, \"DiffuseColor\"\nC: \"OP\",75,70, \"SpecularColor\"\nC: \"OP\",73,71, \"NormalMap\"\nC: \"OO\",74,73\n";
        let mesh = "Geometry: 10, \"Geometry::strip\", \"Mesh\" {\n";
        self.text()
            .replacen(mesh, &format!("{mesh}{layers}"), 1)
            .replacen("Deformer: 40,", &format!("{objects}Deformer: 40,"), 1)
            .replacen("Connections: {\n", &format!("Connections: {{\n{links}"), 1)
    }

    /// The textured file with a colour at every corner: that of corner `at` has `red(at)` and an opacity of one half.
    pub fn colored(&self, red: impl Fn(usize) -> f64) -> String {
        let numbers: Vec<String> = (0..16).map(|at| format!("{},0.25,0.5,0.5", red(at))).collect();
        let colors = format!(
            "LayerElementColor: 0 {{ Version: 101\n Name: \"painted\"\n MappingInformationType: \"ByPolygonVertex\"\n ReferenceInformationType: \"Direct\"\n Colors: *64 {{ a: {} }} }}\n",
            numbers.join(",")
        );
        let text = self.textured(&[]);
        let layer = "Layer: 0 { Version: 100\n";
        let named = format!("{colors}{layer} LayerElement: {{ Type: \"LayerElementColor\"\n TypedIndex: 0 }}\n");
        text.replacen(layer, &named, 1)
    }
}
