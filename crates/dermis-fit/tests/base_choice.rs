//! Which base the joint model chooses.

use dermis_deform::{Base, DirectDeltaMush};
use dermis_fit::joints::joint_validation;
use dermis_fit::method::{BaseChoice, FitInput, JointMethod, Learnt, Method, MethodReport, SmoothingSteps};
use dermis_fit::{JointSettings, Training, silent};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneTransforms, Example, ExampleSet, Mesh, Neighbours};
use dermis_testkit::{Arm, ArmPose, Random, SmoothingModifier};

/// A modelling program's delta mush: the skin smoothed by some steps, and what the rest mesh loses by them put back in the frames of
/// the smoothed surface.
struct DeltaMush {
    graph: Neighbours,
    steps: usize,
    /// Rest detail in the frame of each vertex.
    detail: Vec<DVec3>,
}

impl DeltaMush {
    fn new(mesh: &Mesh, steps: usize) -> Self {
        let mut made = Self { graph: mesh.neighbours(), steps, detail: vec![] };
        let smooth = made.smoothed(&mesh.positions);
        let lost = |v: usize| made.frame(&smooth, v).transpose() * (mesh.positions[v] - smooth[v]);
        made.detail = (0..smooth.len()).map(lost).collect();
        made
    }

    fn smoothed(&self, skin: &[DVec3]) -> Vec<DVec3> {
        let step = |skin: Vec<DVec3>, _| {
            let mean = |v: usize| {
                let near = self.graph.of(v);
                near.iter().map(|&n| skin[n as usize]).sum::<DVec3>() / near.len() as f64
            };
            (0..skin.len()).map(|v| 0.5 * (skin[v] + mean(v))).collect()
        };
        (0..self.steps).fold(skin.to_vec(), step)
    }

    /// The best fitting frame of two edges and their normal.
    fn frame(&self, skin: &[DVec3], v: usize) -> DMat3 {
        let near = self.graph.of(v);
        let edge = |at: usize| skin[near[at % near.len()] as usize] - skin[v];
        let normal: DVec3 = (0..near.len()).map(|at| edge(at).cross(edge(at + 1)) * self.turn(near, at)).sum();
        let normal = normal.normalize();
        let along = edge(0).reject_from(normal).normalize();
        DMat3::from_cols(along, normal.cross(along), normal)
    }

    /// Neighbours are listed by number, not around the vertex: what faces another way counts for little.
    fn turn(&self, near: &[u32], at: usize) -> f64 {
        let [a, b] = [near[at], near[(at + 1) % near.len()]];
        if self.graph.of(a as usize).contains(&b) { 1.0 } else { 0.0 }
    }

    fn skin(&self, blended: &[DVec3]) -> Vec<DVec3> {
        let smooth = self.smoothed(blended);
        (0..smooth.len()).map(|v| smooth[v] + self.frame(&smooth, v) * self.detail[v]).collect()
    }
}

fn examples(arm: &Arm, skin: impl Fn(&[DVec3]) -> Vec<DVec3>) -> (ExampleSet, Vec<(BoneTransforms, Vec<DVec3>)>) {
    skinned(arm, |blended, _| skin(blended))
}

/// Training, and poses kept back, with skins made of linear blending and the pose.
fn skinned(
    arm: &Arm,
    skin: impl Fn(&[DVec3], &BoneTransforms) -> Vec<DVec3>,
) -> (ExampleSet, Vec<(BoneTransforms, Vec<DVec3>)>) {
    let skinned = |pose: &ArmPose| {
        let transforms = arm.transforms(pose);
        let mut blended = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
        dermis_deform::lbs(&arm.rig.mesh().positions, arm.weights(), &transforms, &mut blended);
        let positions = skin(&blended, &transforms);
        (transforms, positions)
    };
    let training = ArmPose::some(24, 71).into_iter().enumerate().map(|(s, pose)| {
        let (transforms, positions) = skinned(&pose);
        Example { label: s.to_string(), time: None, transforms, positions, importance: 1.0, local: None }
    });
    let training = ExampleSet::new(String::new(), training.collect(), &arm.rig).unwrap();
    (training, ArmPose::some(12, 72).iter().map(skinned).collect())
}

fn rms(mut learnt: Learnt, unseen: &[(BoneTransforms, Vec<DVec3>)]) -> f64 {
    let mut out = vec![DVec3::ZERO; learnt.deformer.rest().len()];
    let mut sum = 0.0;
    for (pose, skin) in unseen {
        learnt.deformer.evaluate(pose, None, &mut out).unwrap();
        sum += out.iter().zip(skin).map(|(a, b)| a.distance_squared(*b)).sum::<f64>();
    }
    (sum / (unseen.len() * out.len()) as f64).sqrt()
}

fn chosen(learnt: &Learnt) -> String {
    let MethodReport::Joint(report) = &learnt.report.details else { panic!("it is the joint model") };
    report.bases().next().unwrap().0.to_owned()
}

#[test]
fn a_smoothed_rig_gets_direct_delta_mush_and_a_blended_one_linear_blending() {
    let arm = Arm::new(28, 14);
    let mush = DeltaMush::new(arm.rig.mesh(), 5);
    let (training, unseen) = examples(&arm, |blended| mush.skin(blended));
    let input = FitInput::new(&arm.rig, &training);
    let learnt = Method::joint().fit(&input, &silent).unwrap();
    let of_base = |base| Method::Joint(JointMethod { base, ..JointMethod::default() }).fit(&input, &silent).unwrap();
    let (auto, over_lbs) = (rms(learnt, &unseen), rms(of_base(BaseChoice::Lbs), &unseen));
    let own = rms(Method::OwnWeights.fit(&input, &silent).unwrap(), &unseen);
    let bare = Method::direct_delta_mush().fit(&input, &silent).unwrap();
    assert!(bare.report.settings.contains(&("smoothing steps".into(), "5 (of least training error)".into())));
    // On a coarse arm, turned this far, the two ways to carry rest detail differ.
    let bare = rms(bare, &unseen);
    assert!(auto < 0.2 * own && auto <= over_lbs, "{auto} of {own}, over linear blending {over_lbs}");
    assert!(bare < 0.5 * own, "{bare} of {own}");
    // A number that is stated is not chosen.
    let stated = of_base(BaseChoice::DirectDeltaMush(Some(3)));
    let MethodReport::Joint(report) = &stated.report.details else { panic!("it is the joint model") };
    assert_eq!(report.bases().count(), 0);

    let planted = DirectDeltaMush::new(arm.rig.mesh(), arm.weights(), 5);
    let (training, _) = skinned(&arm, |_, pose| {
        let rest = arm.rig.mesh().positions.iter().enumerate();
        rest.map(|(v, p)| planted.at(v, *p, pose)).collect()
    });
    let learnt = Method::joint().fit(&FitInput::new(&arm.rig, &training), &silent).unwrap();
    assert_eq!(chosen(&learnt), "ddm:5");
    assert!(matches!(learnt.deformer.base(), Base::DirectDeltaMush(_)));

    let (training, _) = examples(&arm, <[DVec3]>::to_vec);
    let learnt = Method::joint().fit(&FitInput::new(&arm.rig, &training), &silent).unwrap();
    assert_eq!(chosen(&learnt), "lbs");
    assert!(matches!(learnt.deformer.base(), Base::Lbs(_)));
}

/// A rig that ends with the modifier: its steps and factor are found, and the base alone leaves next to nothing on unseen poses, what
/// pairs of small weight had.
#[test]
fn a_rig_with_a_modifier_gets_corrective_smoothing_with_its_settings() {
    let arm = Arm::new(28, 14);
    for (steps, factor, says) in
        [(5, 0.5, "smooth:5"), (3, 1.0, "smooth:3,1"), (26, 0.5, "smooth:26"), (60, 0.5, "smooth:60")]
    {
        let modifier = SmoothingModifier::new(arm.rig.mesh(), steps, factor);
        let (training, unseen) = examples(&arm, |blended| modifier.skin(blended));
        let input = FitInput::new(&arm.rig, &training);
        let learnt = Method::joint().fit(&input, &silent).unwrap();
        assert_eq!(chosen(&learnt), says);
        assert!(matches!(learnt.deformer.base(), Base::CorrectiveSmooth(_)));
        let own = rms(Method::OwnWeights.fit(&input, &silent).unwrap(), &unseen);
        let auto = rms(learnt, &unseen);
        assert!(auto < 1e-2 * own, "{says}: {auto} of {own}");
        // Asked for by name, it finds them as well.
        let asked = Method::Joint(JointMethod { base: BaseChoice::Smooth(None), ..JointMethod::default() });
        let learnt = asked.fit(&input, &silent).unwrap();
        assert!(learnt.report.settings.contains(&("base".into(), says.into())), "{:?}", learnt.report.settings);
    }
}

/// One base leaves a millimetre of noise at every vertex. Another fits every vertex exactly, but it tears one in a hundred by three
/// centimetres, differently in every pose. No correction can follow noise, so that cross-validation sees the bases themselves: 1.2 mm
/// against 3 mm, where the mean over vertices of each one's rms would see 1.2 mm against 0.3 mm.
#[test]
fn a_base_that_tears_few_vertices_is_not_taken() {
    const NOISE: f64 = 1e-3;
    let (arm, mut random) = (Arm::new(28, 14), Random::new(73));
    let (training, _) = examples(&arm, <[DVec3]>::to_vec);
    let examples = training.examples();
    let skins: Vec<Vec<DVec3>> = examples.iter().map(|example| example.positions.clone()).collect();
    let mut beside = |every: usize, size: f64| -> Vec<Vec<DVec3>> {
        let mut off = |v: usize| if v.is_multiple_of(every) { random.direction() * size } else { DVec3::ZERO };
        skins.iter().map(|skin| skin.iter().enumerate().map(|(v, p)| *p + off(v)).collect()).collect()
    };
    let (noisy, torn) = (beside(1, NOISE), beside(100, 30.0 * NOISE));
    let mean = |base: &[Vec<DVec3>]| -> f64 {
        let of_vertex = |v: usize| {
            let squares = base.iter().zip(&skins).map(|(base, skin)| base[v].distance_squared(skin[v])).sum::<f64>();
            (squares / skins.len() as f64).sqrt()
        };
        let vertices = skins[0].len();
        (0..vertices).map(of_vertex).sum::<f64>() / vertices as f64
    };
    assert!(mean(&torn) < 0.4 * mean(&noisy), "{} {}", mean(&torn), mean(&noisy));
    let validated = |base: &Vec<Vec<DVec3>>| {
        let training = Training {
            skeleton: arm.rig.skeleton(),
            rest: &arm.rig.mesh().positions,
            length: arm.length(),
            examples,
            base: base.into(),
        };
        joint_validation(&training, arm.weights(), &JointSettings::new(false), &silent).unwrap().rms
    };
    // A fit follows some of the noise, and errs by that on the poses left out.
    let (calm, tearing) = (validated(&noisy), validated(&torn));
    assert!((NOISE..1.6 * NOISE).contains(&calm), "{calm}");
    assert!((3.0 * NOISE..4.8 * NOISE).contains(&tearing), "{tearing}");
}

#[test]
fn bases_have_names_and_bounds() {
    for text in [
        "rigid",
        "lbs",
        "dqs",
        "ddm",
        "ddm:7",
        "smooth",
        "smooth:7",
        "smooth:7,0.25",
        "smooth:1,1",
        "auto",
        "rest",
        "given",
        "stack",
        "model",
    ] {
        assert_eq!(BaseChoice::try_from(text.to_owned()).unwrap().to_string(), text);
    }
    assert_eq!(BaseChoice::try_from("smooth:7,0.5".to_owned()).unwrap().to_string(), "smooth:7");
    for text in ["ddm:", "ddm:x", "ddm:-1", "mush", "", "smooth:", "smooth:x", "smooth:3,", "smooth:,1", "smooth:3,1,1"]
    {
        assert!(BaseChoice::try_from(text.to_owned()).is_err(), "{text}");
    }
    let arm = Arm::new(6, 6);
    let nothing = ExampleSet::new(String::new(), vec![], &arm.rig).unwrap();
    let smooth = |steps, factor| BaseChoice::Smooth(Some(SmoothingSteps { steps, factor }));
    for (base, says) in [
        (BaseChoice::DirectDeltaMush(Some(0)), "1..200"),
        (BaseChoice::DirectDeltaMush(Some(201)), "1..200"),
        (smooth(0, 0.5), "1..200"),
        (smooth(201, 0.5), "1..200"),
        (smooth(5, 0.0), "above 0"),
        (smooth(5, -1.0), "above 0"),
        (smooth(5, 1.5), "1 at most"),
        (smooth(5, f64::NAN), "1 at most"),
    ] {
        let method = Method::Joint(JointMethod { base, ..JointMethod::default() });
        let error = method.fit(&FitInput::new(&arm.rig, &nothing), &silent).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let mwe = Method::Mwe(dermis_fit::method::MweMethod { base: BaseChoice::Auto, ..Default::default() });
    assert!(mwe.check().unwrap_err().to_string().contains("auto"));
    let error = Method::direct_delta_mush().fit(&FitInput::new(&arm.rig, &nothing), &silent).unwrap_err();
    assert!(error.to_string().contains("smoothing steps"), "{error}");
}
