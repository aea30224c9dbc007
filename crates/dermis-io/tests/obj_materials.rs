//! Materials of OBJ files: libraries as programs write them, and as they are written here.

use dermis_io::obj::{self, Normals};
use dermis_io::{Contents, Flaw, Space, base_colour_image, to_bytes};
use dermis_rig::Mesh;
use serde_json::Value;
use std::io::{Error, ErrorKind};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0";
const JPEG: &[u8] = b"\xff\xd8\xff0";

/// Reads `text` with files beside it.
fn read(text: &str, beside: &[(&str, &[u8])]) -> Contents {
    let resolve = |path: &str, _| {
        let found = beside.iter().find(|(name, _)| *name == path);
        found.map(|(_, bytes)| bytes.to_vec()).ok_or_else(|| Error::from(ErrorKind::NotFound))
    };
    obj::read(text.as_bytes(), "a.obj", &Space::default(), &resolve).unwrap()
}

fn materials(mesh: &Mesh) -> Vec<Value> {
    let appearance = mesh.render.as_ref().unwrap().appearance.as_ref().unwrap();
    let described: Value = serde_json::from_str(&appearance.description).unwrap();
    described["materials"].as_array().unwrap().clone()
}

fn parts(mesh: &Mesh) -> Vec<(String, u32, u32, Option<u32>)> {
    let parts = mesh.render.iter().flat_map(|render| &render.parts);
    parts.map(|p| (p.name.clone(), p.start, p.count, p.material)).collect()
}

const SQUARES: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 0\nv 2 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n";

#[test]
fn libraries_of_other_programs_are_read() {
    let text = format!(
        "mtllib my looks.mtl\n{SQUARES}usemtl skin one\nf 1/1 2/2 3/3 4/4\nusemtl steel\nf 2/1 5/2 6/3 3/4\nusemtl gone\nf 1/1 2/2 6/3\n"
    );
    let library = "# Blender\n\nnewmtl steel\nNs 250.0\nKa 1 1 1\nKd 0.1 0.2 .3\nKs .5 .5 .5\nKe 0 0 0\nNi 1.5\nd 0.25\nillum 2\n\
                   NEWMTL skin one\nKd 1 0 0\nTr 0\nPr .3\nPm 0.75\nKe 1 1 1\nmap_Kd -clamp on -s 1 1 1 tex\\my skin.png\nmap_d tex/other.png\n\
                   map_Bump -bm 0.5 bumps.jpg\nmap_Ks gloss.png\nnewmtl unused\nmap_Kd missing.png\n";
    let beside: [(&str, &[u8]); 3] =
        [("my looks.mtl", library.as_bytes()), ("tex/my skin.png", PNG), ("textures/bumps.jpg", JPEG)];
    let contents = read(&text, &beside);
    let mesh = contents.mesh.unwrap();
    let named = |name: &str, start, count, at| (name.to_owned(), start, count, Some(at));
    assert_eq!(parts(&mesh), [named("skin one", 0, 2, 0), named("steel", 2, 2, 1), named("gone", 4, 1, 2)]);
    let made = materials(&mesh);
    let surface = |at: usize| &made[at]["pbrMetallicRoughness"];
    assert_eq!(made[0]["name"], "skin one");
    assert_eq!(surface(0)["baseColorFactor"], serde_json::json!([1.0, 1.0, 1.0, 1.0]), "the picture takes its place");
    assert_eq!(
        (surface(0)["roughnessFactor"].as_f64(), surface(0)["metallicFactor"].as_f64()),
        (Some(0.3), Some(0.75))
    );
    assert_eq!(made[0]["normalTexture"]["scale"], 0.5);
    assert_eq!(made[0]["emissiveFactor"], serde_json::json!([1.0, 1.0, 1.0]));
    assert_eq!(surface(1)["baseColorFactor"], serde_json::json!([0.1, 0.2, 0.3, 0.25]));
    assert_eq!((surface(1)["roughnessFactor"].as_f64(), &made[1]["alphaMode"]), (Some(0.5), &Value::from("BLEND")));
    assert_eq!(made[2]["name"], "gone", "a material that no library describes has its name");
    let appearance = mesh.render.as_ref().unwrap().appearance.as_ref().unwrap();
    assert_eq!(appearance.images.len(), 2);
    assert_eq!(base_colour_image(appearance, 0).unwrap().bytes, PNG);
    let flaws: Vec<_> = contents.warnings.iter().map(|w| (w.flaw, w.count)).collect();
    assert_eq!(flaws, [(Flaw::Material, 2)], "{:?}", contents.warnings);
}

#[test]
fn what_is_missing_is_counted_and_no_path_leads_out() {
    let text = format!("mtllib a.mtl b.mtl\nmtllib ../c.mtl\n{SQUARES}usemtl x\nf 1 2 3 4\n");
    let library = b"newmtl x\nmap_Kd ../../secret.png\nmap_Ke /etc/glow.png\nmap_Bump C:\\bump.png\nKd nan 1 1\nPr x\n";
    let asked = std::cell::RefCell::new(Vec::new());
    let resolve = |path: &str, _| {
        asked.borrow_mut().push(path.to_owned());
        if path == "b.mtl" { Ok(library.to_vec()) } else { Err(ErrorKind::NotFound.into()) }
    };
    let contents = obj::read(text.as_bytes(), "a.obj", &Space::default(), &resolve).unwrap();
    let out: Vec<String> =
        asked.into_inner().into_iter().filter(|p| p.contains("..") || p.starts_with('/') || p.contains(':')).collect();
    assert!(out.is_empty(), "{out:?}");
    let flaws: Vec<_> = contents.warnings.iter().map(|w| (w.flaw, w.count)).collect();
    assert_eq!(flaws[..2], [(Flaw::Reference, 2), (Flaw::Image, 3)], "{:?}", contents.warnings);
    let mesh = contents.mesh.unwrap();
    assert_eq!(mesh.render.as_ref().unwrap().uvs, [], "materials need no texture coordinates");
    assert_eq!(parts(&mesh), [("x".to_owned(), 0, 2, Some(0))]);
}

#[test]
fn materials_are_written_and_read_again() {
    let text = format!(
        "mtllib a.mtl\n{SQUARES}usemtl skin\nf 1/1 2/2 3/3 4/4\nusemtl steel\nf 2/1 5/2 6/3 3/4\nusemtl skin\nf 1/2 2/2 6/3\n"
    );
    let library = b"newmtl skin\nmap_Kd skin.png\nmap_d skin.png\nnorm -bm 0.5 bumps.jpg\nPr 0.125\nKe 1 1 1\nmap_Ke -clamp on bumps.jpg\n\
                    newmtl steel\nKd 0.25 0.5 1\nPr 0.0625\nPm 1\nd 0.5\n";
    let before = read(&text, &[("a.mtl", library), ("skin.png", PNG), ("bumps.jpg", JPEG)]).mesh.unwrap();
    let library = obj::library(&before, "b").unwrap();
    assert_eq!((library.materials, library.images.len(), &library.left_out), (2, 2, &vec![]));
    let bytes = to_bytes(|out| {
        obj::write_shape(&before, &before.positions, Normals::LeftOut, Some("b.mtl"), &Space::default(), out)
    });
    let mut beside: Vec<(&str, &[u8])> = vec![("b.mtl", library.text.as_bytes())];
    beside.extend(library.images.iter().map(|(name, image)| (name.as_str(), &image.bytes[..])));
    let again = read(&String::from_utf8(bytes.unwrap()).unwrap(), &beside);
    assert_eq!(again.warnings, []);
    assert_eq!(again.mesh.unwrap(), before);
    // Without a library the names stay.
    let bytes = to_bytes(|out| obj::write(&before, &before.positions, &Space::default(), out)).unwrap();
    let again = read(&String::from_utf8(bytes).unwrap(), &[]).mesh.unwrap();
    assert_eq!(parts(&again), parts(&before));
}
