//! Reading the libraries that an OBJ file names.

use crate::appearance::{Beside, CLAMP, Description, Images, REPEAT};
use crate::contents::{Flaw, Resolve};
use crate::flaws::{Flaws, short};
use dermis_rig::Appearance;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Libraries that one file may name.
const MOST_LIBRARIES: usize = 64;

/// The materials that the polygons of a file name, and the libraries that may describe them.
#[derive(Default)]
pub(in crate::obj) struct Used {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    libraries: Vec<String>,
}

impl Used {
    /// A library that a line names: `words` behind `mtllib`.
    pub fn library(&mut self, words: &str) {
        if !words.is_empty() && !self.libraries.iter().any(|known| known == words) {
            self.libraries.push(words.to_owned());
        }
    }

    /// The number of the material `name`.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = self.names.len() as u32; // a file would need 32 GB to overflow it
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// The name of a material by its number.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }

    /// The materials, as the libraries beside the file `name` describe them; one that none describes is white. `None` if there are none.
    pub fn appearance(&self, name: &str, resolve: &Resolve<'_>, flaws: &mut Flaws) -> Option<Appearance> {
        if self.names.is_empty() {
            return None;
        }
        let mut files = Files {
            images: Images::default(),
            beside: Beside::new(name, resolve),
            folder: String::new(),
            known: HashMap::new(),
            textures: HashMap::new(),
            made: Description::default(),
        };
        let mut described: HashMap<String, (String, Material)> = HashMap::new();
        for words in self.libraries.iter().take(MOST_LIBRARIES) {
            // The line names one library whose name has blanks, or several.
            let (whole, parts) = (files.beside.read(&[words]), words.split_ascii_whitespace());
            let read = match whole {
                Ok(bytes) => vec![(words.as_str(), Ok(bytes))],
                Err(_) => parts.take(MOST_LIBRARIES).map(|part| (part, files.beside.read(&[part]))).collect(),
            };
            for (path, bytes) in read {
                match bytes {
                    Ok(bytes) => {
                        let folder = path.rsplit_once(['/', '\\']).map_or("", |(folder, _)| folder);
                        for (name, material) in parse(&String::from_utf8_lossy(&bytes)) {
                            if self.numbers.contains_key(&name) {
                                described.entry(name).or_insert((folder.to_owned(), material));
                            }
                        }
                    }
                    Err(reason) => flaws.add(Flaw::Reference, || format!("the library of materials {reason}")),
                }
            }
        }
        let more = self.libraries.len().saturating_sub(MOST_LIBRARIES);
        flaws.many(Flaw::Reference, more, || format!("libraries of materials beyond {MOST_LIBRARIES}"));
        for name in &self.names {
            let (folder, material) = described.remove(name).unwrap_or_default();
            files.folder = folder;
            let made = files.material(name, &material, flaws);
            files.made.materials.push(made);
        }
        Some(files.images.with(files.made))
    }
}

/// What a library says of one material.
#[derive(Default)]
struct Material {
    color: Option<[f64; 3]>,
    glow: Option<[f64; 3]>,
    shininess: Option<f64>,
    roughness: Option<f64>,
    metalness: Option<f64>,
    opacity: Option<f64>,
    base: Option<Picture>,
    emission: Option<Picture>,
    bump: Option<Picture>,
    alpha: Option<Picture>,
    /// What names the pictures that glTF has no place for.
    others: Vec<String>,
}

/// A picture, as a line names it.
struct Picture {
    file: String,
    wrap: u64,
    /// Whether it is moved, scaled or changed in value.
    changes: bool,
    /// How strong bumps are.
    strength: f64,
}

/// The materials of a library, in its order.
fn parse(text: &str) -> Vec<(String, Material)> {
    let mut list: Vec<(String, Material)> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let (word, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
        let (word, rest) = (word.to_ascii_lowercase(), rest.trim());
        if word == "newmtl" {
            list.push((rest.to_owned(), Material::default()));
            continue;
        }
        let Some((_, material)) = list.last_mut() else { continue };
        let numbers: Vec<f64> =
            rest.split_ascii_whitespace().map_while(|word| word.parse().ok()).filter(|x: &f64| x.is_finite()).collect();
        let number = numbers.first().copied();
        // A single number is a grey.
        let color = match numbers[..] {
            [r, g, b, ..] => Some([r, g, b].map(|x| x.clamp(0.0, 1.0))),
            [grey, ..] => Some([grey.clamp(0.0, 1.0); 3]),
            [] => None,
        };
        let unit = number.map(|x| x.clamp(0.0, 1.0));
        match word.as_str() {
            "kd" => material.color = color,
            "ke" => material.glow = color,
            "ns" => material.shininess = number,
            "pr" => material.roughness = unit,
            "pm" => material.metalness = unit,
            "d" => material.opacity = unit,
            "tr" => material.opacity = unit.map(|clear| 1.0 - clear),
            "map_kd" => material.base = picture(rest),
            "map_ke" => material.emission = picture(rest),
            "norm" => material.bump = picture(rest),
            "map_bump" | "bump" => material.bump = material.bump.take().or_else(|| picture(rest)),
            "map_d" => material.alpha = picture(rest),
            "refl" | "disp" | "decal" => material.others.push(word),
            _ if word.starts_with("map_") => material.others.push(word),
            _ => {}
        }
    }
    list
}

/// The picture that a line names behind its options.
fn picture(line: &str) -> Option<Picture> {
    let mut made = Picture { file: String::new(), wrap: REPEAT, changes: false, strength: 1.0 };
    let mut rest = line;
    loop {
        let (word, after) = rest.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((rest, ""));
        let (least, most) = match word {
            "-blendu" | "-blendv" | "-cc" | "-clamp" | "-texres" | "-bm" | "-boost" | "-imfchan" | "-type" => (1, 1),
            "-mm" => (2, 2),
            "-o" | "-s" | "-t" => (1, 3),
            _ => break,
        };
        let (mut values, mut left) = (Vec::new(), after.trim_start());
        for at in 0..most {
            let (value, after) = left.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((left, ""));
            if at >= least && value.parse::<f64>().is_err() {
                break;
            }
            values.push(value);
            left = after.trim_start();
        }
        let number = |at: usize| values.get(at).and_then(|value| value.parse::<f64>().ok());
        match word {
            "-clamp" if values.first() == Some(&"on") => made.wrap = CLAMP,
            "-bm" => made.strength = number(0).filter(|x| x.is_finite()).unwrap_or(1.0),
            "-o" | "-t" => made.changes |= (0..most).filter_map(number).any(|x| x != 0.0),
            "-s" => made.changes |= (0..most).filter_map(number).any(|x| x != 1.0),
            "-mm" => made.changes |= number(0) != Some(0.0) || number(1) != Some(1.0),
            _ => {}
        }
        rest = left;
    }
    made.file = rest.trim().to_owned();
    (!made.file.is_empty()).then_some(made)
}

/// Pictures as they are met.
struct Files<'a> {
    images: Images,
    beside: Beside<'a>,
    /// Of the library whose material is made.
    folder: String,
    /// Number of each file's image; `None` for one that is none.
    known: HashMap<String, Option<usize>>,
    /// Number of the texture that repeats or clamps an image.
    textures: HashMap<(usize, u64), usize>,
    made: Description,
}

impl Files<'_> {
    fn material(&mut self, name: &str, found: &Material, flaws: &mut Flaws) -> Value {
        let base = self.texture(found.base.as_ref(), name, flaws);
        let emission = self.texture(found.emission.as_ref(), name, flaws);
        let bump = self.texture(found.bump.as_ref(), name, flaws);
        let alpha = found.alpha.as_ref();
        let is_alpha = |alpha: &&Picture| base.is_some() && found.base.as_ref().is_some_and(|b| b.file == alpha.file);
        let others = alpha.filter(|alpha| !is_alpha(alpha)).map(|_| "map_d").into_iter();
        for word in others.chain(found.others.iter().map(String::as_str)) {
            flaws.add(Flaw::Material, || format!("{} of \"{}\"", short(word), short(name)));
        }
        // None at all is what exporters write that mean the opposite.
        let opacity = found.opacity.filter(|opacity| *opacity > 0.0).unwrap_or(1.0);
        // A texture takes the place of the colour.
        let [r, g, b] = if base.is_some() { [1.0; 3] } else { found.color.unwrap_or([1.0; 3]) };
        let shown = |shininess: f64| 1.0 - (shininess.clamp(0.0, 1000.0) / 1000.0).sqrt();
        let roughness = found.roughness.or_else(|| found.shininess.map(shown)).unwrap_or(0.8);
        let mut surface = json!({
            "baseColorFactor": [r, g, b, opacity],
            "metallicFactor": found.metalness.unwrap_or(0.0),
            "roughnessFactor": roughness,
        });
        if let Some(base) = base {
            surface["baseColorTexture"] = json!({ "index": base });
        }
        let mut made = json!({ "name": short(name), "pbrMetallicRoughness": surface });
        let glow = if emission.is_some() { [1.0; 3] } else { found.glow.unwrap_or_default() };
        if glow != [0.0; 3] {
            made["emissiveFactor"] = json!(glow);
        }
        if let Some(emission) = emission {
            made["emissiveTexture"] = json!({ "index": emission });
        }
        if let (Some(bump), Some(picture)) = (bump, &found.bump) {
            made["normalTexture"] = json!({ "index": bump });
            if picture.strength != 1.0 {
                made["normalTexture"]["scale"] = json!(picture.strength);
            }
        }
        if opacity < 1.0 || alpha.as_ref().is_some_and(is_alpha) {
            made["alphaMode"] = json!("BLEND");
        }
        made
    }

    /// The number of the texture of a picture; `None` if there is no such picture.
    fn texture(&mut self, picture: Option<&Picture>, material: &str, flaws: &mut Flaws) -> Option<usize> {
        let picture = picture?;
        if picture.changes {
            flaws.add(Flaw::Material, || format!("the move of a texture of \"{}\"", short(material)));
        }
        let path = match self.folder.as_str() {
            "" => picture.file.clone(),
            folder => format!("{folder}/{}", picture.file),
        };
        let image = match self.known.get(&path) {
            Some(known) => (*known)?,
            None => {
                let found = self.beside.read(&[&path, &picture.file]);
                let image = match found.and_then(|bytes| self.images.add(bytes, &picture.file)) {
                    Ok(image) => Some(image),
                    Err(reason) => {
                        flaws.add(Flaw::Image, || reason);
                        None
                    }
                };
                self.known.insert(path, image);
                image?
            }
        };
        let made = self.textures.get(&(image, picture.wrap)).copied();
        Some(made.unwrap_or_else(|| {
            let made = self.images.texture(image, [picture.wrap; 2], &mut self.made);
            self.textures.insert((image, picture.wrap), made);
            made
        }))
    }
}
