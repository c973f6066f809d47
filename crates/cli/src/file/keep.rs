//! Owner, permissions, access lists and attributes of the file that is replaced: kept, or the work refused.
//!
//! No user may read or write the new file who could not read or write the old one. What cannot be kept is refused before any work.

use std::fs::{File, Metadata};
use std::path::Path;

use anyhow::Result;

use crate::error::On;

/// Gives `new`, which only its owner may touch yet, all that `old` has but its contents. `path` is the old one's.
#[cfg(unix)]
pub fn keep(new: &File, old: &File, metadata: &Metadata, path: &Path) -> Result<()> {
    use anyhow::Context;
    use std::os::unix::fs::{MetadataExt, fchown};
    let made = new.metadata().on("look at the new", path)?;
    let (owner, group) = (metadata.uid(), metadata.gid());
    if (made.uid(), made.gid()) != (owner, group) {
        let name = crate::say::shown(path);
        let what = "which the new file cannot be given; name another file with --output";
        fchown(new, Some(owner), Some(group))
            .with_context(|| format!("{name} belongs to user {owner}, group {group}, {what}"))?;
    }
    attributes::copy(new, old, path)?;
    // After the access list, whose mask the group's bits are.
    new.set_permissions(metadata.permissions()).on("keep the permissions of", path)?;
    let made = new.metadata().on("look at the new", path)?;
    let is_kept = made.mode() & 0o777 == metadata.mode() & 0o777;
    let others = || std::io::Error::other("the file system gives others");
    is_kept.then_some(()).ok_or_else(others).on("keep the permissions of", path)
}

#[cfg(not(unix))]
pub fn keep(new: &File, _: &File, metadata: &Metadata, path: &Path) -> Result<()> {
    new.set_permissions(metadata.permissions()).on("keep the permissions of", path)
}

/// The permissions that a new file may have which holds what `source` holds, before the process's umask: the source's, but
/// the owner's alone where an access list says who else may read it.
#[cfg(unix)]
pub fn mode_of_new(source: &File, metadata: &Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    let mode = metadata.mode() & 0o666;
    if attributes::has_access_list(source) { mode & 0o600 } else { mode }
}

/// Takes from a new file's group what it may not have: it is another group than the source's.
#[cfg(unix)]
pub fn narrow(new: &File, source: &Metadata, path: &Path) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let made = new.metadata().on("look at the new", path)?;
    let mode = made.mode() & 0o777;
    let others = mode & 0o707 | (mode & 0o007) << 3;
    if made.gid() != source.gid() && mode & !others != 0 {
        let narrowed = std::fs::Permissions::from_mode(mode & others);
        new.set_permissions(narrowed).on("set the permissions of", path)?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub fn mode_of_new(_: &File, _: &Metadata) -> u32 {
    0o666
}

#[cfg(not(unix))]
pub fn narrow(_: &File, _: &Metadata, _: &Path) -> Result<()> {
    Ok(())
}

/// Extended attributes, POSIX access lists among them.
#[cfg(unix)]
mod attributes {
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use anyhow::{Context, Result};
    use xattr::FileExt;

    use crate::say::shown;

    const ACCESS_LIST: &str = "system.posix_acl_access";

    /// Of the contents, which become others, or of programs: none of these is kept.
    const OF_CONTENTS: [&str; 3] = ["security.ima", "security.evm", "security.capability"];

    /// Makes the attributes of `new` those of `old`.
    pub fn copy(new: &File, old: &File, path: &Path) -> Result<()> {
        let refused = |name: &OsStr| {
            let what = "which the new file cannot be given; name another file with --output";
            format!("{} has the attribute {name:?}, {what}", shown(path))
        };
        let wanted = names(old).with_context(|| refused(OsStr::new("")))?;
        for name in names(new).with_context(|| refused(OsStr::new("")))? {
            // As the directory gives them to new files.
            if !wanted.contains(&name) && !name.as_encoded_bytes().starts_with(b"security.") {
                new.remove_xattr(&name).with_context(|| refused(&name))?;
            }
        }
        for name in wanted.iter().filter(|name| OF_CONTENTS.iter().all(|other| name != other)) {
            let value = old.get_xattr(name).with_context(|| refused(name))?.unwrap_or_default();
            if !new.get_xattr(name).is_ok_and(|made| made.as_ref() == Some(&value)) {
                new.set_xattr(name, &value).with_context(|| refused(name))?;
            }
        }
        Ok(())
    }

    /// Whether others than owner, group and all may be named in the file's permissions.
    pub fn has_access_list(file: &File) -> bool {
        // What cannot be asked for may be there.
        names(file).map_or(true, |names| names.iter().any(|name| name == ACCESS_LIST))
    }

    fn names(file: &File) -> io::Result<Vec<OsString>> {
        match file.list_xattr() {
            // A file system, or a system, without attributes.
            Err(error) if crate::file::is_unsupported(&error) => Ok(Vec::new()),
            listed => Ok(listed?.collect()),
        }
    }
}
