//! Against closed forms: a walker whose way is known at every time.

use super::*;
use dermis_rig::{BoneIndex, Frame, Motion, Skeleton};
use std::f64::consts::TAU;

const PERIOD: f64 = 2.0;

/// A body that goes along a circle of radius two, a radian a cycle, and bobs and swings once a cycle.
fn walked(time: f64) -> [DAffine3; 2] {
    let turn = DAffine3::from_rotation_y(time / PERIOD);
    let bob = 1.0 + 0.1 * (TAU * time / PERIOD).sin();
    let body = turn * DAffine3::from_translation(DVec3::new(2.0, bob, 0.0));
    let swing = DAffine3::from_rotation_x((TAU * time / PERIOD).cos());
    [body, body * DAffine3::from_translation(DVec3::new(0.5, 0.5, 0.0)) * swing]
}

fn skeleton() -> Skeleton {
    let bind = [DVec3::new(2.0, 1.0, 0.0), DVec3::new(2.5, 1.5, 0.0)].map(DAffine3::from_translation);
    let names = ["body", "arm"].map(String::from).to_vec();
    Skeleton::new(names, vec![None, Some(BoneIndex::new(0))], bind.to_vec()).unwrap()
}

fn motion(frames: usize, step: f64) -> Motion {
    let frame = |at: usize| Frame {
        label: at.to_string(),
        time: Some(3.0 + at as f64 * step),
        pose: WorldPose::new(walked(at as f64 * step).to_vec()),
    };
    Motion { name: "walk".into(), frames: (0..frames).map(frame).collect() }
}

fn settings(instances: u64) -> CrowdSettings {
    CrowdSettings { instances, seed: 7, spacing: 1.5, spread: 0.4, scale: [0.9, 1.1] }
}

/// The same cycle with its closing frame and without.
fn clips() -> [CrowdClip; 2] {
    [41, 40].map(|frames| CrowdClip::new(&motion(frames, 0.05), &skeleton()).unwrap())
}

#[test]
fn a_cycle_without_its_last_frame_is_closed() {
    for clip in clips() {
        assert!((clip.period() - PERIOD).abs() < 1e-12, "{}", clip.period());
        let expected = DAffine3::from_rotation_y(1.0);
        // 40 frames go on as they did in the last step: on a circle that is where the circle goes on.
        assert!(clip.cycle().abs_diff_eq(expected, 1e-9), "{}", clip.cycle());
    }
    let [closed, open] = clips().map(|clip| clip.seam());
    assert!(closed.0 < 1e-9 && open.0 > 0.9 * open.1 && open.0 < 2.0 * open.1, "{closed:?} {open:?}");
}

/// What the formula of the module says, for a walker known in closed form: instance i at time t is the walker at start + t, moved
/// rigidly and scaled, standing at its place at time zero.
#[test]
fn instances_go_on_along_their_way_cycle_after_cycle() {
    let crowd = Crowd::new(clips().to_vec(), &settings(40)).unwrap();
    for (at, instance) in crowd.instances().iter().enumerate() {
        let begin = walked(instance.start)[0];
        // The ground under the root at the start: its place and heading.
        let stand =
            DAffine3::from_rotation_y(instance.start / PERIOD) * DAffine3::from_translation(DVec3::new(2.0, 0.0, 0.0));
        assert!((stand.translation - begin.translation * DVec3::new(1.0, 0.0, 1.0)).length() < 1e-12);
        let to_world = DAffine3::from_translation(instance.place)
            * DAffine3::from_rotation_y(instance.heading)
            * DAffine3::from_scale(DVec3::splat(instance.scale))
            * stand.inverse();
        for time in [0.0, 0.35, 1.0, 7.4] {
            let moment = crowd.at(at, time);
            let expected = walked(instance.start + time).map(|bone| to_world * bone);
            for (bone, expected) in moment.pose.bones.iter().zip(expected) {
                let found = moment.transform * *bone;
                // Slerp of a turn that is no steady one, over a twentieth of a second: (0.05 · 2π/2)² / 8 of a metre at most.
                assert!(found.translation.distance(expected.translation) < 4e-3, "{at} {time}: {found} {expected}");
            }
            let ground =
                moment.place - moment.transform.transform_point3(moment.pose.bones[BoneIndex::new(0)].translation);
            assert!(ground.x.abs() < 1e-9 && ground.z.abs() < 1e-9);
        }
        assert!((crowd.at(at, 0.0).place - instance.place).length() < 1e-9);
    }
}

#[test]
fn shared_poses_stand_where_their_instances_are() {
    let crowd = Crowd::new(clips().to_vec(), &settings(40)).unwrap();
    let root = BoneIndex::new(0);
    for at in 0..40 {
        let (own, (slot, shared)) = (crowd.at(at, 3.1), crowd.at_slot(at, 3.1, 8));
        let apart = (own.phase - shared.phase).abs();
        assert!(apart.min(PERIOD - apart) <= PERIOD / 16.0 + 1e-12, "{} {}", own.phase, shared.phase);
        assert_eq!(shared.phase, crowd.slot_phase(crowd.instances()[at].clip, slot, 8));
        let stands = |moment: &Moment| moment.transform.transform_point3(moment.pose.bones[root].translation);
        let (own, shared) = (stands(&own), stands(&shared));
        assert!((own - shared).length() < 0.2 && (own.x - shared.x).hypot(own.z - shared.z) < 1e-9);
    }
    assert_eq!((crowd.slots(0, 0.25), crowd.slots(0, 100.0), crowd.slots(0, 0.0)), (8, 1, 1));
}

#[test]
fn a_crowd_follows_from_its_seed_and_fills_its_ground() {
    let of = |seed, count| Crowd::new(clips().to_vec(), &CrowdSettings { seed, ..settings(count) }).unwrap();
    let (one, again, other, more) = (of(1, 500), of(1, 500), of(2, 500), of(1, 900));
    assert_eq!(one.instances(), again.instances());
    assert_ne!(one.instances(), other.instances());
    for (a, b) in one.instances().iter().zip(more.instances()) {
        assert_eq!((a.clip, a.start, a.heading, a.scale), (b.clip, b.start, b.heading, b.scale));
    }
    let all = one.instances();
    for (at, a) in all.iter().enumerate() {
        assert!(a.heading.abs() <= 0.4 && (0.9..=1.1).contains(&a.scale) && (0.0..PERIOD).contains(&a.start));
        // Cells of 1.5 m with a shift of a third at most leave half a metre.
        assert!(all[..at].iter().all(|b| a.place.distance(b.place) > 0.5 - 1e-9));
    }
    // Means of uniform numbers, within four standard deviations.
    let mean = |of: &dyn Fn(&Instance) -> f64| all.iter().map(of).sum::<f64>() / 500.0;
    assert!((mean(&|i| i.clip as f64) - 0.5).abs() < 4.0 * 0.5 / 500f64.sqrt());
    assert!((mean(&|i| i.start) - 1.0).abs() < 4.0 * 2.0 / 12f64.sqrt() / 500f64.sqrt());
    assert!(mean(&|i| i.heading).abs() < 4.0 * 0.8 / 12f64.sqrt() / 500f64.sqrt());
}

#[test]
fn what_makes_no_crowd_is_refused() {
    let with = |change: &dyn Fn(&mut CrowdSettings)| {
        let mut settings = settings(10);
        change(&mut settings);
        Crowd::new(clips().to_vec(), &settings).unwrap_err().to_string()
    };
    assert_eq!(with(&|s| s.instances = 0), "instances 0: it must lie in 1..1000000");
    assert!(with(&|s| s.instances = 1_000_000_000_000).starts_with("instances 1000000000000: "));
    assert!(with(&|s| s.scale[0] = f64::NAN).starts_with("scale NaN: "));
    assert!(with(&|s| s.scale = [1.0, 0.5]).starts_with("scale 0.5: it must lie in 1..1000"));
    assert!(with(&|s| s.scale[0] = -1.0).starts_with("scale -1: "));
    assert!(with(&|s| s.spacing = f64::INFINITY).starts_with("spacing inf: "));
    assert!(with(&|s| s.spread = 4.0).starts_with("spread 4: "));
    assert_eq!(Crowd::new(vec![], &settings(1)).unwrap_err(), CrowdError::NoClips);
    let told = |change: &dyn Fn(&mut Motion)| {
        let mut motion = motion(4, 0.1);
        change(&mut motion);
        CrowdClip::new(&motion, &skeleton()).unwrap_err().to_string()
    };
    assert_eq!(told(&|m| m.frames.clear()), "the clip \"walk\": it has no frames");
    assert_eq!(told(&|m| m.frames[1].time = None), "the clip \"walk\": its frames have no times");
    assert_eq!(told(&|m| m.frames[1].time = Some(9.0)), "the clip \"walk\": its times do not ascend");
    assert!(told(&|m| m.frames[2].pose.bones[BoneIndex::new(1)].translation.x = f64::NAN).contains("of \"2\" is not"));
    assert!(told(&|m| m.frames[2].pose = WorldPose::new(vec![])).contains("has 0 bones, and the skeleton 2"));
    let still = CrowdClip::new(&motion(1, 0.1), &skeleton()).unwrap();
    assert_eq!((still.period(), still.within(5.0)), (0.0, (0.0, 0.0)));
    assert!(Crowd::new(vec![still], &settings(3)).unwrap().at(2, 9.0).transform.is_finite());
}
