//! Why nothing can be carried from a body to a mesh.

use dermis_files::Phrase;
use dermis_transfer::TransferError;
use std::path::PathBuf;

/// Why nothing is carried.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The body and the mesh do not go together.
    #[error("\"{}\": {source}", mesh.display())]
    Transfer {
        /// The mesh.
        mesh: PathBuf,
        /// Why.
        source: TransferError,
    },
    /// The body has nothing to carry.
    #[error("\"{}\" has no {what}", body.display())]
    Nothing {
        /// The body.
        body: PathBuf,
        /// What it lacks.
        what: &'static str,
    },
    /// Skinning weights of the mesh's own file that name bones which the body has not.
    #[error("\"{}\" is skinned to {count} bones that the body has not, the first is {first:?}", mesh.display())]
    OtherSkeleton {
        /// The mesh.
        mesh: PathBuf,
        /// How many.
        count: usize,
        /// One of them.
        first: String,
    },
    /// Another character that stands in another pose.
    #[error("\"{}\" rests in another pose than the body: {bone:?} points {degrees:.0} degrees away", mesh.display())]
    RestsApart {
        /// The mesh.
        mesh: PathBuf,
        /// The bone of the body that is farthest from its counterpart.
        bone: String,
        /// The angle between the two.
        degrees: f64,
    },
    /// Another character, of whose bones too few have a counterpart.
    #[error("\"{}\" is a character whose bones are not found in \"{}\"", body.display(), mesh.display())]
    Unpaired {
        /// The body.
        body: PathBuf,
        /// The other character.
        mesh: PathBuf,
    },
    /// Marked pairs that cannot be read.
    #[error("\"{}\", line {line}: {text:?} is no pair of vertices", file.display())]
    Pairs {
        /// The file.
        file: PathBuf,
        /// The line, from one.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A page of several characters.
    #[error("\"{}\" is another character, and a page shows it alone: {count} meshes are named", mesh.display())]
    PageOfSeveral {
        /// Another character than the body.
        mesh: PathBuf,
        /// Meshes that were named.
        count: usize,
    },
    /// Corrections asked for in a file that cannot hold them.
    #[error("\"{}\" cannot hold {what}", out.display())]
    Holds {
        /// The output.
        out: PathBuf,
        /// What it cannot hold.
        what: &'static str,
    },
    /// Meshes, and objects of the body's own mesh.
    #[error("meshes and objects of the body's own mesh are not carried to in one call")]
    MeshesAndObjects,
    /// An object that the body's mesh has not.
    #[error("\"{}\" has no object {name:?}{}", body.display(), if objects.is_empty() { ": its mesh is one".into() } else { format!("; its objects are {}", objects.join(", ")) })]
    NoObject {
        /// The body.
        body: PathBuf,
        /// What was asked for.
        name: String,
        /// What there is.
        objects: Vec<String>,
    },
    /// Several meshes of one name.
    #[error("two meshes are named {name:?}")]
    SameName {
        /// The name.
        name: String,
    },
}

impl Error {
    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::Transfer { source: TransferError::Unmatched { .. }, .. } => {
                "place clothes and levels of detail where the body rests, state `up` and `unit` of files that do not state them, \
                 and name the bones of another character with `map`"
                    .into()
            }
            Self::Transfer { source: TransferError::Part { .. }, .. } => {
                "carry its weights alone with `weights`, or fit the joint model, which is carried".into()
            }
            Self::Transfer { .. } => Phrase::default(),
            Self::Nothing { .. } => "name a skinned rig or a model".into(),
            Self::OtherSkeleton { .. } => "carry the body's weights as well, with `weights`".into(),
            Self::RestsApart { .. } => {
                "joints count from the rest pose: bind the character in the pose in which the body rests"
                    .into()
            }
            Self::Unpaired { .. } => {
                "carry it with `dermis transfer` and a `map` of bones, and fit over the result: `base=model:FILE`".into()
            }
            Self::Pairs { .. } => {
                "a line has two numbers, from zero: a vertex of the body and the vertex of the character that it is"
                    .into()
            }
            Self::PageOfSeveral { .. } => "carry to one character at a time, or leave `report` out".into(),
            Self::Holds { .. } => "write a model (.dermis); `dermis export` makes files for engines of it".into(),
            Self::MeshesAndObjects => "name the one or the other".into(),
            Self::NoObject { .. } => "`dermis inspect` lists the objects of a file".into(),
            Self::SameName { .. } => "rename one of the files: outputs are named as the meshes are".into(),
        }
    }
}
