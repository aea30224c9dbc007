//! Model files of corrections one after another.

#[allow(dead_code)]
mod headers;
#[allow(dead_code)]
mod models;

use dermis_deform::joints::CorrectionFrame;
use dermis_deform::pose_space::Carrier;
use dermis_io::model_file::{read, write};
use dermis_io::to_bytes;
use headers::changed;
use models::{Guard, joint_model, model, pose_space, skin};
use serde_json::json;

fn refused(bytes: &[u8]) -> String {
    read(bytes).map(|_| ()).expect_err("refused").to_string()
}

#[test]
fn corrections_one_after_another_come_back_bit_for_bit() {
    let parts = [
        model("lbs", Some(dermis_deform::EnvelopingForm::Row), Guard::On),
        joint_model("lbs", CorrectionFrame::Blend, Guard::On),
        pose_space(Carrier::Base, Guard::Off),
        model("lbs", Some(dermis_deform::EnvelopingForm::Full), Guard::OnWithConstants),
    ];
    let corrections = parts.iter().flat_map(|part| part.baked().corrections()).cloned();
    let mut written = parts[0].clone();
    let baked = written.baked().clone().with_corrections(corrections).unwrap();
    written.model = written.model.with_baked(baked).unwrap();
    let bytes = to_bytes(|out| write(&written, out)).unwrap();
    let back = read(&bytes).unwrap();
    assert_eq!(back.baked().corrections().len(), 4);
    assert_eq!(skin(&back), skin(&written));
    assert_eq!(to_bytes(|out| write(&back, out)).unwrap(), bytes);
    for end in (0..bytes.len()).step_by(97) {
        assert!(read(&bytes[..end]).is_err(), "{end}");
    }
    // A correction without a form, and one without its arrays.
    let formless = changed(&bytes, |header| header["corrections"][1] = json!({ "length": 1.0 }));
    assert!(refused(&formless).contains("correction 1 has no form"));
    let longer = changed(&bytes, |header| {
        let again = header["corrections"][0].clone();
        header["corrections"].as_array_mut().unwrap().push(again);
    });
    assert!(refused(&longer).contains("\"corrections.3."), "{}", refused(&longer));
}
