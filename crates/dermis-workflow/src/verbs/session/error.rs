//! Why a session cannot go on.

use dermis_files::Phrase;
use std::path::PathBuf;

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder holds no session.
    #[error("\"{}\": there is no session in this folder", folder.display())]
    NoSession {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder is somebody's already.
    #[error("\"{}\": {what}", folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
        /// Whose.
        what: &'static str,
    },
    /// Another program writes.
    #[error("\"{}\": another program works on this session", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// A session of a later program.
    #[error("\"{}\": this session has version {version}; this program reads up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The last one that is read.
        known: u32,
    },
    /// A session file that says nothing that can be.
    #[error("\"{}\": this session is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The rig in the folder is another one.
    #[error("\"{}\": this rig is not the one that the session began with", path.display())]
    RigChanged {
        /// The rig's file.
        path: PathBuf,
    },
    /// A rig that the sculpts of a session cannot be carried to.
    #[error("\"{}\": the sculpts cannot be carried to this rig: {why}", path.display())]
    Rebase {
        /// The rig's file.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// A file of the session is another one, or gone.
    #[error("\"{}\": this file is not the one that the session wrote", path.display())]
    FileChanged {
        /// The file.
        path: PathBuf,
    },
    /// The rig's file needs other files.
    #[error("\"{}\": the rig needs files beside it: {why}", path.display())]
    RigInParts {
        /// The file.
        path: PathBuf,
        /// What its copy lacks.
        why: String,
    },
    /// The rig has no weights.
    #[error("\"{}\": the rig has no skinning weights", path.display())]
    NoWeights {
        /// The file.
        path: PathBuf,
    },
    /// A method that a session cannot fit with.
    #[error("a session fits the joint model over a base made of the rig's weights, not {method}")]
    Method {
        /// What was asked for.
        method: String,
    },
    /// There is no motion to take poses from.
    #[error("this session has no motion to take poses from")]
    NoMotion,
    /// No pose is left to be offered.
    #[error("there is no pose to {what}: every frame of the motions is beside a sculpted one")]
    NoOffer {
        /// What it would be for.
        what: &'static str,
    },
    /// Nothing was taught that could be checked.
    #[error("there is nothing to check yet: no sculpt is switched on")]
    NothingTaught,
    /// A sculpt without a pose.
    #[error("\"{}\": this sculpt names no pose", path.display())]
    NoPose {
        /// The file.
        path: PathBuf,
    },
    /// A pose that the session does not have.
    #[error("there is no pose \"{at}\": {why}")]
    NoSuchPose {
        /// As it was named.
        at: String,
        /// What there is.
        why: String,
    },
    /// What a window asks for and the session's rig does not have.
    #[error("{what}: {why}")]
    NotOfRig {
        /// What was asked for.
        what: String,
        /// What there is.
        why: String,
    },
    /// A file with several sculpts.
    #[error("\"{}\": it holds {count} sculpts ({names}); one is added at a time", path.display())]
    Several {
        /// The file.
        path: PathBuf,
        /// How many.
        count: usize,
        /// The first of them.
        names: String,
    },
    /// A sculpt of the rest pose.
    #[error("\"{name}\" is a sculpt of the rest pose, where no model changes the skin")]
    AtRest {
        /// The sculpt.
        name: String,
    },
    /// A sculpt that changes nothing.
    #[error("\"{name}\" touches no vertex: it is the skin that {shown} shows in its pose")]
    Untouched {
        /// The sculpt.
        name: String,
        /// What showed the skin.
        shown: String,
    },
    /// A mask that cannot be used.
    #[error("\"{}\": {what}", path.display())]
    Mask {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Options that exclude each other.
    #[error("{what}")]
    Together {
        /// Which.
        what: &'static str,
    },
    /// A step that there is not.
    #[error("there is no step {id}: {}", known(*steps))]
    NoStep {
        /// Its id.
        id: u32,
        /// Steps of the session.
        steps: usize,
    },
    /// A step that is so already.
    #[error("step {id} \"{name}\" is {what} already")]
    Already {
        /// Its id.
        id: u32,
        /// Its name.
        name: String,
        /// "on" or "off".
        what: &'static str,
    },
    /// There is nothing to go back to, or forward.
    #[error("there is nothing to {what}")]
    Nothing {
        /// "undo" or "redo".
        what: &'static str,
    },
    /// Nothing was learnt yet.
    #[error("there is no model yet: no sculpt is switched on")]
    NoModel,
}

fn known(steps: usize) -> String {
    match steps {
        0 => "nothing was added yet".into(),
        1 => "the only one is 1".into(),
        steps => format!("they are 1 to {steps}"),
    }
}

impl Error {
    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::NoSession { .. } => "`dermis session new` RIG -o FOLDER begins one".into(),
            Self::Taken { .. } => "choose another folder for the session".into(),
            Self::Busy { .. } => {
                "wait until it is done, or stop it; the lock goes with the program that holds it".into()
            }
            Self::Newer { .. } => "use the program that wrote it, or a later one".into(),
            Self::Damaged { .. } => "take session.json from a copy of the folder".into(),
            Self::RigChanged { .. } => {
                "put the rig's file back from a copy of the folder; `dermis session rebase` carries the sculpts to a \
                 changed rig"
                    .into()
            }
            Self::Rebase { .. } => "begin another session with `dermis session new`, and add the sculpts again".into(),
            Self::FileChanged { .. } => "put the file back from a copy of the folder".into(),
            Self::RigInParts { .. } => "make one file of it: `dermis convert` RIG -o rig.glb".into(),
            Self::NoWeights { .. } => "make weights with `dermis weights` `heat=true`".into(),
            Self::Method { .. } => "choose `base=lbs`, dqs, rigid, ddm, smooth or auto".into(),
            Self::NoMotion => "name one when the session begins: `dermis session new` `motion=walk.glb`".into(),
            Self::NoOffer { .. } => "begin a session with further motions, or sculpt a pose of your own choice".into(),
            Self::NothingTaught | Self::NoModel => "add a sculpt first: `dermis session add`".into(),
            Self::NoPose { .. } => {
                "name the motion and the frame: FILE@walk:12; files that `dermis session next` wrote keep their pose by their names".into()
            }
            Self::NoSuchPose { .. } => "say MOTION:FRAME, frames counted from 0; `dermis session status` lists motions".into(),
            Self::NotOfRig { .. } => "open the session again: it may have another rig now".into(),
            Self::Several { .. } => "name one: FILE#NAME".into(),
            Self::AtRest { .. } => {
                "name the pose that it was made in: FILE@walk:12; change the rest shape in the rig's own file".into()
            }
            Self::Untouched { .. } => {
                "save the sculpt first; to say that the skin is right as it is shown, add it with `anchor=true`".into()
            }
            Self::Mask { .. } => "a mask is a number from 0 to 1 for every vertex of the rig, above 0.5 where it was sculpted".into(),
            Self::NoStep { .. } | Self::Already { .. } => "`dermis session status` lists the steps".into(),
            Self::Nothing { .. } | Self::Together { .. } => Phrase::default(),
        }
    }
}
