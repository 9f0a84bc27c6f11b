//! One writer per thread: an exclusive lock on `thread-writer-locks/<thread id>`, which holds the owner's process id. The
//! system lets go of it when the process dies, however it dies.
use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use protocol::ThreadId;

use crate::{Error, layout};

/// Held as long as it lives; the file goes with it.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    pub(crate) fn take(home: &Path, id: &ThreadId) -> Result<Lock, Error> {
        let folder = home.join("thread-writer-locks");
        let path = folder.join(id.as_str());
        let error = |source| Error::Create { path: path.clone(), source };
        layout::make_folder(&folder).map_err(error)?;
        loop {
            let mut file =
                layout::private().create(true).read(true).write(true).truncate(false).open(&path).map_err(error)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::InUse { id: id.clone(), pid: holder(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(error(source)),
            }
            // The owner before us may have removed the file between our opening and locking it.
            if !same_file(&file, &path) {
                continue;
            }
            file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(error)?;
            return Ok(Lock { path, _file: file });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still locked: whoever opened it meanwhile finds out in `take`. A leftover does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    io::Read::by_ref(file).take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(unix)]
pub(crate) fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// An open file cannot be removed there.
#[cfg(not(unix))]
pub(crate) fn same_file(_file: &File, _path: &Path) -> bool {
    true
}
