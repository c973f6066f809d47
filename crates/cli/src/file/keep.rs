//! Owner, permissions, access lists and attributes of the file that is replaced: kept, or the work refused.
//!
//! A new file lets nobody read or write who could not read or write the old one. What cannot be kept is told before any work.

use std::fs::{File, Metadata};
use std::path::Path;

use crate::error::Error;

/// Gives `new`, which only its owner may touch yet, all that `old` has but its contents. `path` is the old one's.
#[cfg(unix)]
pub fn keep(new: &File, old: &File, metadata: &Metadata, path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let made = new.metadata().map_err(Error::io("look at the new", path))?;
    let (owner, group) = (metadata.uid(), metadata.gid());
    if (made.uid(), made.gid()) != (owner, group) {
        fchown(new, Some(owner), Some(group)).map_err(|source| {
            let path = path.to_path_buf();
            Error::Owner { path, owner, group, source }
        })?;
    }
    attributes::copy(new, old, path)?;
    // After the access list, whose mask the group's bits are.
    new.set_permissions(metadata.permissions())
        .map_err(Error::io("keep the permissions of", path))?;
    let made = new.metadata().map_err(Error::io("look at the new", path))?;
    if made.mode() & 0o777 != metadata.mode() & 0o777 {
        let source = std::io::Error::other("the file system gives others");
        return Err(Error::io("keep the permissions of", path)(source));
    }
    Ok(())
}

#[cfg(not(unix))]
pub fn keep(new: &File, _: &File, metadata: &Metadata, path: &Path) -> Result<(), Error> {
    new.set_permissions(metadata.permissions()).map_err(Error::io("keep the permissions of", path))
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
pub fn narrow(new: &File, source: &Metadata, path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let made = new.metadata().map_err(Error::io("look at the new", path))?;
    let mode = made.mode() & 0o777;
    let others = mode & 0o707 | (mode & 0o007) << 3;
    if made.gid() != source.gid() && mode & !others != 0 {
        let narrowed = std::fs::Permissions::from_mode(mode & others);
        new.set_permissions(narrowed).map_err(Error::io("set the permissions of", path))?;
    }
    Ok(())
}

/// Extended attributes, POSIX access lists among them.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod attributes {
    use std::ffi::{CStr, CString};
    use std::fs::File;
    use std::path::Path;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;

    use crate::error::Error;

    /// Most bytes of a value, or of all names, that Linux has.
    const MOST: usize = 64 << 10;

    const ACCESS_LIST: &CStr = c"system.posix_acl_access";

    /// Of the contents, which become others, or of programs: none of these is kept.
    const OF_CONTENTS: [&CStr; 3] = [c"security.ima", c"security.evm", c"security.capability"];

    /// Makes the attributes of `new` those of `old`.
    pub fn copy(new: &File, old: &File, path: &Path) -> Result<(), Error> {
        let refused = |name: &CStr, errno: Errno| Error::Attribute {
            path: path.to_path_buf(),
            name: name.to_string_lossy().into_owned(),
            source: errno.into(),
        };
        let (wanted, made) = (names(old), names(new));
        let wanted = wanted.map_err(|errno| refused(c"", errno))?;
        let made = made.map_err(|errno| refused(c"", errno))?;
        // As the directory gives them to new files.
        for name in made.iter().filter(|name| !wanted.contains(name)) {
            if !name.to_bytes().starts_with(b"security.") {
                fremovexattr(new, name.as_c_str()).map_err(|errno| refused(name, errno))?;
            }
        }
        for name in wanted.iter().filter(|name| !OF_CONTENTS.contains(&name.as_c_str())) {
            let value = value(old, name).map_err(|errno| refused(name, errno))?;
            if self::value(new, name).is_ok_and(|made| made == value) {
                continue;
            }
            fsetxattr(new, name.as_c_str(), &value, XattrFlags::empty())
                .map_err(|errno| refused(name, errno))?;
        }
        Ok(())
    }

    /// Whether others than owner, group and all may be named in the file's permissions.
    pub fn has_access_list(file: &File) -> bool {
        // What cannot be asked for may be there.
        names(file).map_or(true, |names| names.iter().any(|name| name.as_c_str() == ACCESS_LIST))
    }

    fn names(file: &File) -> Result<Vec<CString>, Errno> {
        let mut buffer = vec![0; MOST];
        let length = match flistxattr(file, &mut buffer[..]) {
            // A file system without attributes.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
            length => length?,
        };
        let names = buffer[..length].split_inclusive(|&byte| byte == 0);
        Ok(names.filter_map(|name| CStr::from_bytes_with_nul(name).ok()).map(Into::into).collect())
    }

    fn value(file: &File, name: &CStr) -> Result<Vec<u8>, Errno> {
        let mut buffer = vec![0; MOST];
        let length = fgetxattr(file, name, &mut buffer[..])?;
        buffer.truncate(length);
        Ok(buffer)
    }
}

/// Systems whose attributes nobody here can read.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android", target_vendor = "apple"))))]
mod attributes {
    use std::fs::File;
    use std::path::Path;

    use crate::error::Error;

    pub fn copy(_: &File, _: &File, _: &Path) -> Result<(), Error> {
        Ok(())
    }

    pub fn has_access_list(_: &File) -> bool {
        false
    }
}
