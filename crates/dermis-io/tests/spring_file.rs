//! Springs in a model file: they come back, and none that a step does not bear come in.

mod headers;
#[allow(dead_code)] // every test program uses a part of it
mod models;

use dermis_deform::secondary::{Spring, Springs, VertexSpring};
use dermis_io::model_file::{read, write};
use dermis_io::{ModelFile, to_bytes};
use headers::{assemble, changed, parts};
use models::tiny;
use serde_json::{Value, json};

/// A tiny model whose vertices swing, each on its own.
fn swinging() -> ModelFile {
    let mut made = tiny("joints");
    let vertex = |v: usize| VertexSpring {
        spring: Spring::new(2.0 + 0.3 * v as f64, 0.1 * v as f64).unwrap(),
        stiffening: 30.0 * v as f64,
        limit: 0.01 * v as f64,
    };
    let springs = Springs::new((0..made.baked().vertices()).map(vertex).collect(), 12.5).unwrap();
    made.model = made.model.with_springs(Some(springs)).unwrap();
    made
}

#[test]
fn springs_come_back_bit_for_bit() {
    let made = swinging();
    let again = read(&to_bytes(|out| write(&made, out)).unwrap()).unwrap();
    assert_eq!(again.springs(), made.springs());
    assert!(read(&to_bytes(|out| write(&tiny("joints"), out)).unwrap()).unwrap().springs().is_none());
}

/// What a step bears bounds the time that a frame takes.
#[test]
fn springs_beyond_what_a_step_bears_are_refused() {
    let bytes = to_bytes(|out| write(&swinging(), out)).unwrap();
    let coupled = |coupling: Value| {
        let made = changed(&bytes, |header| header["spring_coupling"] = coupling.clone());
        read(&made).map(|_| ()).unwrap_err().to_string()
    };
    assert!(coupled(json!(1e300)).contains("springs: the coupling"), "{}", coupled(json!(1e300)));
    assert!(coupled(json!(-1.0)).contains("springs: the coupling"));
    let (header, arrays) = parts(&bytes);
    let vertices = tiny("joints").baked().vertices();
    let with = |row: [f64; 4]| {
        let mut header = header.clone();
        let mut data = arrays.clone();
        let (start, end) =
            (header["springs"]["data_offsets"][0].as_u64(), header["springs"]["data_offsets"][1].as_u64());
        let (start, end) = (start.unwrap() as usize, end.unwrap() as usize);
        data[start..end]
            .copy_from_slice(&row.repeat(vertices).iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
        header["springs"]["shape"] = json!([vertices, 4]);
        read(&assemble(&header, &data)).map(|_| ()).map_err(|e| e.to_string())
    };
    assert!(with([12.0, 0.1, 5.0, 0.1]).is_ok());
    let nan = f64::NAN;
    for row in [
        [1e6, 0.1, 0.0, 0.1],
        [nan, 0.1, 0.0, 0.1],
        [12.0, -0.1, 0.0, 0.1],
        [12.0, 0.1, 1e9, 1.0],
        [12.0, 0.1, nan, 0.1],
        [12.0, 0.1, 0.0, nan],
    ] {
        assert!(with(row).unwrap_err().contains("springs: "), "{row:?}");
    }
}
