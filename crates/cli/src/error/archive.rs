//! What is wrong with a .npz archive, or with what is asked of it.

use zip::result::ZipError;

/// What is wrong with a .npz archive, or with what is asked of it.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is no archive, or a broken one.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// A member of something else.
    #[error("not a .npz archive, of which --member could name an array")]
    NotAnArchive,
    /// Several arrays, and no word on which.
    #[error("several arrays are in it; --member says which: {}", listed(names))]
    Several {
        /// Names of all arrays.
        names: Vec<String>,
    },
    /// Nothing in it is an array.
    #[error("there is no array in it")]
    Empty,
    /// No array of that name.
    #[error("no array in it is named {name:?}; there are: {}", listed(names))]
    NoMember {
        /// The name asked for.
        name: String,
        /// Names of all arrays.
        names: Vec<String>,
    },
    /// Several members of a name: which one a reader takes is up to it.
    #[error("several of its members have the same name")]
    Duplicates,
    /// Records of the archive that make no sense.
    #[error("the archive is damaged: {what}")]
    Books {
        /// What is wrong.
        what: &'static str,
    },
    /// Two records of a member that are to say the same, of which one reader takes one and others the other.
    #[error(
        "the archive is damaged: of {name:?} the directory and the header have different {what}"
    )]
    Disagree {
        /// The member, as the directory has it.
        name: String,
        /// What differs.
        what: &'static str,
    },
    /// A member's bytes are not those that were packed.
    #[error("{name:?} is damaged, its data are not what was packed: {source}")]
    Damaged {
        /// The member.
        name: String,
        /// What told so: a check sum, or a stream that cannot be unpacked.
        source: std::io::Error,
    },
    /// Something before the archive, which would be lost.
    #[error("{bytes} bytes are before the archive, and would be lost")]
    Prefix {
        /// How many.
        bytes: u64,
    },
    /// Something behind the archive, which would be lost.
    #[error("there are bytes behind the archive, which would be lost")]
    Suffix,
    /// A member that cannot be read, or not be written the same way.
    #[error("{name:?} is encrypted, or compressed in a way ({method}) that is not known here")]
    Method {
        /// The member.
        name: String,
        /// How it is compressed.
        method: String,
    },
    /// The result is an archive, the output's name says otherwise.
    #[error("the result is an archive of all members: name it .npz")]
    OutputName,
    /// An archive is read from its end on.
    #[error("an archive does not come from standard input; name the file")]
    FromStdin,
    /// The result is an archive.
    #[error("an archive does not go to standard output; name a file with --output")]
    ToStdout,
}

fn listed(names: &[String]) -> String {
    // Names are anybody's: what moves a terminal's cursor is told, not done.
    let plain = |name: &String| name.escape_default().to_string();
    match names {
        [] => "none".to_string(),
        names if names.iter().all(|name| !name.contains(char::is_control)) => names.join(", "),
        names => names.iter().map(plain).collect::<Vec<_>>().join(", "),
    }
}
