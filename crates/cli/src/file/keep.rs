//! Owner, permissions, access lists and attributes of the file that is replaced. If one of them cannot be kept, the work is
//! rejected before it begins: no user may gain access to the new file who had none to the old one.

use std::fs::{File, Metadata};
use std::path::Path;

use anyhow::Result;

use crate::error::On;

/// Copies everything but the contents from `old` to `new`, which only its owner can access until then. `path` is the old file's.
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

/// Returns the permissions of a new file with the contents of `source`, before the process's umask: the source's, or the
/// owner's only if the source has an access list.
#[cfg(unix)]
pub fn mode_of_new(source: &File, metadata: &Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    let mode = metadata.mode() & 0o666;
    if attributes::has_access_list(source) { mode & 0o600 } else { mode }
}

/// Removes permissions of a new file's group that is not the source's group.
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

    /// Attributes of the contents, or of programs: not kept.
    const OF_CONTENTS: [&str; 3] = ["security.ima", "security.evm", "security.capability"];

    /// Copies the attributes of `old` to `new`.
    pub fn copy(new: &File, old: &File, path: &Path) -> Result<()> {
        let refused = |name: &OsStr| {
            let what = "which the new file cannot be given; name another file with --output";
            format!("{} has the attribute {name:?}, {what}", shown(path))
        };
        let wanted = names(old).with_context(|| refused(OsStr::new("")))?;
        for name in names(new).with_context(|| refused(OsStr::new("")))? {
            // Given by the directory to new files.
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

    /// Returns whether the file has an access list.
    pub fn has_access_list(file: &File) -> bool {
        // If the attributes cannot be listed, the file may have one.
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
