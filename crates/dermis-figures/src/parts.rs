//! What the papers have: their figures in order, or their topics where they have no number, each with the figure of the page that shows it.
//!
//! Wang & Phillips number their figures. The lecture, the text on skinning, and the works on scans and on pose space are listed by their topics,
//! as docs/papers.md names them.

use crate::Document;
use dermis_report::figures::{Part, Shown};

/// A part: its name in the paper, what it shows, and the name of the figure that shows it, or why none does.
type Row = (&'static str, &'static str, Where);

enum Where {
    In(&'static str),
    Nowhere(&'static str),
}

use Where::{In, Nowhere};

const ENVELOPE: &[Row] = &[
    ("Figures 1–3", "an elbow that collapses with single weights, cured from two poses", In("Figures 1–3, bend")),
    ("Figures 1–3", "a limb that twists shut with single weights, cured from two poses", In("Figures 1–3, twist")),
    ("Figures 1–3", "what two poses cure, and what the way between them needs", In("Figures 1–3, between")),
    ("Figure 4", "influence maps, of the lower arm and the lower leg among others", In("Figure 4")),
    ("Figure 5", "a new pose without regularisation, with an ordinary ridge, with a local ridge", In("Figure 5")),
    (
        "Figure 6",
        "a session in which an artist sculpts poses, fits, looks at motion and sculpts again",
        In("Sculpting session"),
    ),
    ("Figures 7–10", "creatures by single weights, by enveloping and by pose space", In("Figures 7–10")),
    (
        "Figures 7–10",
        "the creatures themselves: a man sculpted by hand and a simulated animal",
        Nowhere("they belong to a film and are not published"),
    ),
    ("text", "a session that reuses simulated shots", In("Simulation session")),
    ("text", "multiplications and additions of equation 3", In("Cost of equation 3")),
    ("text", "which principal axes are left out", In("Threshold of the principal axes")),
    ("text", "time and memory of the fits of two creatures", In("Time and memory")),
];

const SKINNING: &[Row] = &[
    ("weights", "how much of a vertex each bone moves", In("Weights")),
    ("rigid and smooth binding", "a bend by both, beside dual quaternions and pose blend shapes", In("Bend")),
    ("collapsing elbow", "how thin smooth binding makes a bent joint", In("Bend, radius")),
    ("candy wrapper", "a twist by rigid and smooth binding, dual quaternions and pose blend shapes", In("Twist")),
    ("candy wrapper", "how thin smooth binding makes a twisted limb", In("Twist, radius")),
    ("dual quaternions", "a twist that keeps its radius", In("Twist, radius")),
    ("normals", "the inverse transpose of the blended matrix", In("Normals")),
    ("pose blend shapes", "sculpts that joints drive", In("Bend")),
    ("SMPL", "pose blend shapes that are linear in rotations", In("SMPL")),
    (
        "SMPL",
        "shape blend shapes and joints that follow from them",
        Nowhere(
            "they are learnt from scans of many people; Dermis learns the skin of one character, whose joints its rig has",
        ),
    ),
    ("STAR", "pose blend shapes of the joints nearby", In("STAR")),
    (
        "STAR",
        "pose blend shapes that depend on how heavy the body is",
        Nowhere("that, too, is learnt from many people"),
    ),
    ("learnt weights", "skinning weights from examples", In("Learnt weights")),
    (
        "learnt weights",
        "networks that predict weights or corrections of new meshes",
        Nowhere("no method of Dermis is a network; cargo xtask bench neural trains networks of others as rivals"),
    ),
    (
        "wires and lattices",
        "curves and boxes that carry skin",
        Nowhere("the page of pose space has them: it inverts both"),
    ),
    (
        "secondary motion",
        "flesh that swings",
        Nowhere("it depends on the frames before, and the page shows poses; docs/secondary.md measures it"),
    ),
];

const COURSE: &[Row] = &[
    (
        "drawn animation",
        "cels, key drawings and drawings between them",
        Nowhere("it is drawn by hand, and nothing of it can be computed"),
    ),
    (
        "principles of animation",
        "squash and stretch, anticipation, timing",
        Nowhere("they advise an animator and claim no number"),
    ),
    ("keyframed animation", "splines through key frames, rotations as quaternions", In("Keys and in-betweens")),
    ("procedural animation", "a clock whose hands are expressions of one variable", In("Clock")),
    ("physically based animation", "bodies with masses, moved by forces", In("Physically based animation")),
    (
        "physically based animation",
        "keys met by a motion that obeys physics throughout",
        Nowhere("Dermis optimises no motion over space and time; bodies of a scene only follow their keys by springs"),
    ),
    ("motion capture", "markers that become joint angles", In("Motion capture")),
    ("animation controls", "a face of snapshots, and few controls of meaning over them", In("Blend-shape face")),
    (
        "articulated models",
        "forward kinematics, and inverse kinematics that reaches a target",
        In("Forward and inverse kinematics"),
    ),
    ("skinning", "bind pose, then pose: p' = Σ w T B⁻¹ p", In("Bind pose")),
    (
        "skinning",
        "painted weights",
        Nowhere("they are painted by hand; the page of skinning shows the weights of the character"),
    ),
    ("skinning, what goes wrong", "the elbow collapses", In("Collapse at the elbow")),
    ("skinning, what goes wrong", "a twist by half a turn closes the limb", In("Twist by 180°")),
    ("Wang, Pulli & Popović 2007", "rotational regression", In("Rotational regression")),
    ("James & Twigg 2005", "bones and weights of a bare sequence of meshes", In("Skinning mesh animations")),
    (
        "James & Twigg 2005",
        "crowds of animals drawn by the graphics card",
        Nowhere("a page draws no crowd; docs/crowd.md measures what one costs"),
    ),
    ("Baran & Popović 2007", "weights by bone heat", In("Automatic weights")),
    ("Baran & Popović 2007", "a skeleton embedded in a bare mesh", In("Skeleton embedding")),
];

const SCANS: &[Row] = &[
    ("v_min", "when a vertex counts as moved", In("v_min")),
    ("the test", "which bones move a vertex", In("Influences")),
    ("plan of poses", "one joint a pose", In("Plan of poses")),
    ("n nearest bones", "candidates by distance", In("Plan of poses")),
    ("weights", "one scan to weights, step by step", In("One scan")),
    ("results", "the error in the limb's radius", In("Error in the limb's radius")),
    (
        "results",
        "scans of a person",
        Nowhere("they are not published; the scans of the page are meshes of an arm, with vertices of their own"),
    ),
];

const POSE_SPACE: &[Row] = &[
    ("forward and inverse form", "a thumb that was sculpted once", In("Thumb")),
    ("forward and inverse form", "a forearm that twists, and is carried along", In("Arm")),
    ("direction of a correction", "how it turns with the joint", In("Direction experiment")),
    (
        "Lewis, Cordner & Fong 2000",
        "a face between expressions",
        Nowhere("the page of the lecture has a face whose shapes the same kernels blend"),
    ),
    ("Sloan, Rose & Cohen 2001", "shapes by pose and by adjective", In("Shapes by example")),
    ("singular poses", "a second displacement where blending flattens the skin", In("Singular poses")),
    ("Powell's method", "deformers inverted by calls alone", In("Inverse of black boxes")),
    ("Powell's method", "calls over the tolerance", In("Calls against precision")),
    ("cost", "what an example more costs at run time", In("Cost against examples")),
    (
        "Kry, James & Pai 2002",
        "principal shapes of a hand, joint by joint",
        Nowhere(
            "the hand comes from a simulation of its tissue, which Dermis has not; dermis compare --methods psd,eigenskin measures the method on a character",
        ),
    ),
];

/// Returns the parts of a document.
pub(crate) fn of(document: Document) -> Vec<Part> {
    let rows = match document {
        Document::Envelope => ENVELOPE,
        Document::Skinning => SKINNING,
        Document::Course => COURSE,
        Document::Scans => SCANS,
        Document::PoseSpace => POSE_SPACE,
    };
    let part = |(name, what, place): &Row| Part {
        name: (*name).into(),
        what: (*what).into(),
        shown: match place {
            In(figure) => Shown::In((*figure).into()),
            Nowhere(why) => Shown::Nowhere((*why).into()),
        },
    };
    rows.iter().map(part).collect()
}
