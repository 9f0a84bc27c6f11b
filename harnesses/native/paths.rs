//! Paths as text: joined and tidied without a look at the disk.
use std::path::{Component, Path, PathBuf};

/// `path` below `base`, absolute if `base` is, without `.` and `..`.
pub(crate) fn absolute(base: &Path, path: impl AsRef<Path>) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_taken_out() {
        let check = |path: &str, expected: &str| assert_eq!(absolute(Path::new("/w/s"), path), PathBuf::from(expected));
        check("a", "/w/s/a");
        check("./a/../b", "/w/s/b");
        check("../x", "/w/x");
        check("../../../x", "/x");
        check("/etc/./x", "/etc/x");
        check("", "/w/s");
    }
}
