//! C3D and TRC: files of every processor and number format by a writer of the test, a file by another program, every truncation.
#![cfg(feature = "formats")]

use dermis_io::marker_take::{MarkerTake, TakeSpace, read};
use dermis_io::{Flaw, UpAxis};
use dermis_rig::glam::DVec3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Machine {
    Intel,
    Dec,
    Mips,
}

impl Machine {
    fn word(self, value: u16) -> [u8; 2] {
        if self == Self::Mips { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    /// Of DEC: 2^(e−128) 0.1m instead of 2^(e−127) 1.m, so four times the value has the bits, with its words exchanged.
    fn float(self, value: f32) -> [u8; 4] {
        match self {
            Self::Intel => value.to_le_bytes(),
            Self::Mips => value.to_be_bytes(),
            Self::Dec => {
                let [a, b, c, d] = (4.0 * value).to_le_bytes();
                [c, d, a, b]
            }
        }
    }
}

const NAMES: [&str; 3] = ["LKNE", "RKNE", "HEAD"];

/// Millimetres, Z up: in eighths, which all number formats hold exactly. The second marker is not seen in frame 2.
fn place(frame: usize, marker: usize) -> Option<[f32; 3]> {
    let base = 100.0 * marker as f32 + 12.5 * frame as f32;
    (frame != 2 || marker != 1).then_some([base, -base - 0.25, 2.0 * base + 1.125])
}

/// A file of four frames with two analog channels between, as the format's guide describes it.
fn c3d(machine: Machine, is_float: bool) -> Vec<u8> {
    let scale: f32 = if is_float { -1.0 } else { 0.125 };
    let mut header = vec![2, 0x50];
    for word in [3, 2, 1, 4, 10] {
        header.extend(machine.word(word));
    }
    header.extend(machine.float(scale));
    header.extend(machine.word(4));
    header.extend(machine.word(1));
    header.extend(machine.float(120.0));
    header.resize(512, 0);
    let mut parameters = vec![
        0,
        0,
        2,
        match machine {
            Machine::Intel => 84,
            Machine::Dec => 85,
            Machine::Mips => 86,
        },
    ];
    let mut entry = |id: i8, name: &str, rest: &[u8], last: bool| {
        parameters.extend([name.len() as u8, id as u8]);
        parameters.extend(name.as_bytes());
        parameters.extend(machine.word(if last { 0 } else { rest.len() as u16 + 2 }));
        parameters.extend(rest);
    };
    entry(-1, "POINT", &[0], false);
    let integer = |value: u16| [vec![2, 0], machine.word(value).to_vec(), vec![0]].concat();
    let float = |value: f32| [vec![4, 0], machine.float(value).to_vec(), vec![0]].concat();
    entry(1, "USED", &integer(3), false);
    entry(1, "SCALE", &float(scale), false);
    entry(1, "RATE", &float(120.0), false);
    entry(1, "DATA_START", &integer(4), false);
    entry(1, "UNITS", b"\xff\x01\x02mm\0", false);
    let labels: String = NAMES.iter().map(|name| format!("{name:<6}")).collect();
    entry(1, "LABELS", &[&b"\xff\x02\x06\x03"[..], labels.as_bytes(), b"\0"].concat(), true);
    parameters.resize(1024, 0);
    let mut data = Vec::new();
    for frame in 0..4 {
        for marker in 0..3 {
            let at = place(frame, marker);
            let [x, y, z] = at.unwrap_or_default();
            let residual = if at.is_some() { 0.0 } else { -1.0 };
            for value in [x, y, z] {
                match is_float {
                    true => data.extend(machine.float(value)),
                    false => data.extend(machine.word((value / scale) as i16 as u16)),
                }
            }
            match is_float {
                true => data.extend(machine.float(residual)),
                false => data.extend(machine.word(residual as i16 as u16)),
            }
        }
        data.extend(if is_float {
            [machine.float(7.0), machine.float(8.0)].concat()
        } else {
            [machine.word(7), machine.word(8)].concat()
        });
    }
    [header, parameters, data].concat()
}

fn check(take: &MarkerTake, rate: f64, up: UpAxis) {
    assert_eq!((&take.names[..], take.up), (&NAMES.map(String::from)[..], up));
    assert!((take.rate - rate).abs() < 1e-9 && take.frames.len() == 4, "{take:?}");
    for (frame, places) in take.frames.iter().enumerate() {
        for (marker, found) in places.iter().enumerate() {
            let expected = place(frame, marker).map(|[x, y, z]| {
                let [x, y, z] = [x, y, z].map(|v| f64::from(v) * 1e-3);
                if up == UpAxis::Z { DVec3::new(x, z, -y) } else { DVec3::new(x, y, z) }
            });
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert!(found.distance(expected) < 1e-9, "{frame} {marker}: {found} {expected}")
                }
                (None, None) => {}
                _ => panic!("{frame} {marker}: {found:?} for {expected:?}"),
            }
        }
    }
}

#[test]
fn all_machines_and_number_formats_are_read() {
    for machine in [Machine::Intel, Machine::Dec, Machine::Mips] {
        for is_float in [true, false] {
            let take = read(&c3d(machine, is_float), &TakeSpace::default()).unwrap();
            check(&take, 120.0, UpAxis::Z);
            assert!(take.warnings.is_empty(), "{:?}", take.warnings);
        }
    }
    let space = TakeSpace { up: Some(UpAxis::Y), metres_per_unit: Some(1e-3), rate: None };
    check(&read(&c3d(Machine::Intel, true), &space).unwrap(), 120.0, UpAxis::Y);
}

/// `three_markers.c3d` is written by the Python package c3d 0.6.0, with the places of this file.
#[test]
fn a_file_of_another_program_is_read() {
    check(&read(include_bytes!("data/three_markers.c3d"), &TakeSpace::default()).unwrap(), 120.0, UpAxis::Z);
}

fn trc() -> String {
    trc_of(&[0, 1, 2, 3].map(|frame| (frame, frame as f64 + 1.0, format!("{:.5}", frame as f64 / 60.0))))
}

/// A TRC file of these frames, each with the number and the time that its row begins with.
fn trc_of(rows: &[(usize, f64, String)]) -> String {
    let mut text = String::from(
        "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\n60\t60\t4\t3\tmm\t60\n\
         Frame#\tTime\tLKNE\t\t\tRKNE\t\t\tHEAD\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3\n\n",
    );
    for (frame, number, time) in rows {
        text += &format!("{number}\t{time}");
        for marker in 0..3 {
            match place(*frame, marker) {
                Some([x, y, z]) => text += &format!("\t{x}\t{y}\t{z}"),
                None => text += "\t\t\t",
            }
        }
        text += "\n";
    }
    text
}

#[test]
fn trc_is_read_and_its_mistakes_are_named() {
    let good = read(trc().as_bytes(), &TakeSpace::default()).unwrap();
    check(&good, 60.0, UpAxis::Y);
    assert!(good.warnings.is_empty());
    let why =
        |from: &str, to: &str| read(trc().replace(from, to).as_bytes(), &TakeSpace::default()).unwrap_err().to_string();
    assert!(why("\t-0.25\t", "\tx\t").contains("line 7: \"x\" of marker \"LKNE\" is no number"));
    assert!(why("60\t60\t4", "0\t60\t4").contains("line 3: no DataRate above zero"));
    assert!(why("\n1\t", "\none\t").contains("line 7: it begins with no frame and time"));
    let more = read(trc().replace("60\t4\t3", "60\t9\t3").as_bytes(), &TakeSpace::default()).unwrap();
    assert_eq!(more.warnings[0].flaw, Flaw::CountMismatch);
}

/// Columns parted by spaces are read where every row has all of them; a missing marker would shift the others, and is refused with the reason.
#[test]
fn trc_of_spaces_is_read_where_nothing_is_missing() {
    let rows: Vec<_> = [0, 1, 3].map(|frame| (frame, frame as f64, format!("{:.4}", frame as f64 / 60.0))).to_vec();
    let tabs = trc_of(&rows);
    let expected = read(tabs.as_bytes(), &TakeSpace::default()).unwrap();
    assert_eq!(expected.names, NAMES);
    for blank in [" ", "   "] {
        assert_eq!(read(tabs.replace('\t', blank).as_bytes(), &TakeSpace::default()).unwrap(), expected, "{blank:?}");
    }
    // A header of tabs above rows of spaces, and the other way round.
    let (head, body) = tabs.split_at(tabs.find("\n\n").unwrap());
    for mixed in [format!("{head}{}", body.replace('\t', " ")), format!("{}{body}", head.replace('\t', "  "))] {
        assert_eq!(read(mixed.as_bytes(), &TakeSpace::default()).unwrap(), expected);
    }
    let why = |text: &str| read(text.replace('\t', " ").as_bytes(), &TakeSpace::default()).unwrap_err().to_string();
    // In frame 2 a marker was not seen.
    let gap = trc_of(&[(0, 0.0, "0".into()), (2, 1.0, "0.01667".into())]);
    let said = why(&gap);
    for part in ["line 8", "there are 8", "3 markers (NumMarkers: 3) need 11", "not tabs"] {
        assert!(said.contains(part), "{said}");
    }
    // A name of two words counts as two: the header says how many markers there are.
    assert!(why(&tabs.replace("LKNE", "LEFT KNEE")).contains("4 markers (NumMarkers: 3) need 14"));
}

/// What the numbers and times of rows say against the header's 60 per second, by hand: rate, frame of each place, flaws.
#[test]
fn times_of_trc_are_believed_if_they_say_something() {
    type Rows<'a> = &'a dyn Fn(usize) -> Option<(f64, String)>;
    let at = |rate: f64, frame: usize| format!("{:.5}", frame as f64 / rate);
    let gap = |frame: usize| !(4..9).contains(&frame);
    let all: Vec<Option<usize>> = (0..20).map(Some).collect();
    let gaps: Vec<Option<usize>> = (0..20).map(|frame| gap(frame).then_some(frame)).collect();
    let closed: Vec<Option<usize>> = gaps.iter().copied().filter(Option::is_some).collect();
    let missing = (Flaw::FramesMissing, 5);
    let (left_out, disagree) = (Flaw::TimesLeftOut, (Flaw::TimesDisagree, 1));
    let cases: [(&str, Rows<'_>, f64, &[Option<usize>], Vec<(Flaw, usize)>); 12] = [
        ("as it should be", &|f| Some((f as f64 + 1.0, at(60.0, f))), 60.0, &all, vec![]),
        ("two digits", &|f| Some((f as f64 + 1.0, format!("{:.2}", f as f64 / 60.0))), 60.0, &all, vec![]),
        ("from 7.5 s and frame 451", &|f| Some((f as f64 + 451.0, at(60.0, f + 450))), 60.0, &all, vec![]),
        ("rows missing", &|f| gap(f).then(|| (f as f64 + 1.0, at(60.0, f))), 60.0, &gaps, vec![missing]),
        (
            "missing, numbered anew",
            &|f| gap(f).then(|| (f as f64 - if f > 4 { 5.0 } else { 0.0 }, at(60.0, f))),
            60.0,
            &gaps,
            vec![disagree, missing],
        ),
        ("missing, no numbers", &|f| gap(f).then(|| (0.0, at(60.0, f))), 60.0, &gaps, vec![missing]),
        ("no times", &|f| Some((f as f64, "0".into())), 60.0, &all, vec![(left_out, 20)]),
        (
            "no times, rows missing",
            &|f| gap(f).then(|| (f as f64, "0.000".into())),
            60.0,
            &gaps,
            vec![(left_out, 15), missing],
        ),
        ("neither", &|f| gap(f).then(|| (1.0, "2.5".into())), 60.0, &closed, vec![(left_out, 15)]),
        ("another rate", &|f| Some((f as f64, at(100.0, f))), 100.0, &all, vec![disagree]),
        (
            "another rate, missing, no numbers",
            &|f| gap(f).then(|| (0.0, at(100.0, f))),
            100.0,
            &gaps,
            vec![disagree, missing],
        ),
        ("milliseconds", &|f| Some((f as f64, at(0.06, f))), 60.0, &all, vec![disagree]),
    ];
    for (what, rows, rate, frames, flaws) in cases {
        let rows: Vec<_> = (0..20).filter_map(|f| rows(f).map(|(number, time)| (f, number, time))).collect();
        let text = trc_of(&rows).replacen("60\t60\t4\t", &format!("60\t60\t{}\t", rows.len()), 1);
        let take = read(text.as_bytes(), &TakeSpace::default()).unwrap();
        // Times of five digits and 19 frames: 2 · 1e-5 · 100² / 19 at most.
        assert!((take.rate - rate).abs() < 0.011, "{what}: {}", take.rate);
        let head = |frame: &Option<usize>| frame.and_then(|f| place(f, 2)).map(|[x, ..]| f64::from(x) * 1e-3);
        let found: Vec<Option<f64>> = take.frames.iter().map(|places| places[2].map(|p| p.x)).collect();
        assert_eq!(found.len(), frames.len(), "{what}");
        for (found, frame) in found.iter().zip(frames) {
            assert_eq!(found.is_some(), frame.is_some(), "{what}");
            assert!((found.unwrap_or(0.0) - head(frame).unwrap_or(0.0)).abs() < 1e-9, "{what}: {frame:?}");
        }
        let told: Vec<(Flaw, usize)> = take.warnings.iter().map(|w| (w.flaw, w.count)).collect();
        assert_eq!(told, flaws, "{what}: {:?}", take.warnings);
        // A rate that the caller states counts where the times say nothing, whatever the header says.
        let space = TakeSpace { rate: Some(50.0), ..TakeSpace::default() };
        // Two digits alone say 59.4.
        for (text, least) in [(text.clone(), 0.011), (text.replacen("60\t60\t", "0\t60\t", 1), 0.7)] {
            let stated = read(text.as_bytes(), &space).unwrap();
            let expected = if take.is_timed { rate } else { 50.0 };
            assert!(
                (stated.rate - expected).abs() < least && stated.is_timed == take.is_timed,
                "{what}: {}",
                stated.rate
            );
        }
    }
    let far = trc_of(&[(0, 1.0, "0".into()), (1, 1e9, "0".into())]);
    let error = read(far.as_bytes(), &TakeSpace::default()).unwrap_err().to_string();
    assert!(error.contains("its 2 rows are numbered or timed as 1000000000 frames"), "{error}");
}

/// Every cut is an error or has fewer frames and a warning, but in the padding of parameters; no byte changed makes a panic.
#[test]
fn damage_is_an_error_or_counted() {
    for bytes in [c3d(Machine::Intel, true), c3d(Machine::Mips, false), trc().into_bytes()] {
        let whole = read(&bytes, &TakeSpace::default()).unwrap();
        for length in 0..bytes.len() {
            if let Ok(cut) = read(&bytes[..length], &TakeSpace::default()) {
                let last_number = length + 8 >= bytes.len();
                assert!(
                    !cut.warnings.is_empty() || (cut.frames.len() == whole.frames.len() && last_number),
                    "{length}"
                );
            }
        }
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                if let Ok(take) = read(&damaged, &TakeSpace::default()) {
                    assert!(take.frames.iter().all(|frame| frame.len() == take.names.len()));
                    assert!(take.frames.iter().flatten().flatten().all(|place| place.is_finite()));
                }
            }
        }
    }
}
