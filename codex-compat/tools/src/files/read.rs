//! Reading: text, documents, and what is there at all. Never waits on a pipe or device, never reads beyond its limit.
use std::{
    fs::{File, Metadata, OpenOptions},
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use protocol::{Blob, Failure, FileKind, Outcome, Stamp};

use super::{stamp, text};
use crate::fail;

/// A regular file's bytes. Also files of /proc, which say length 0 and have content.
pub(crate) fn bytes(path: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), Failure> {
    // Without O_NONBLOCK, opening a named pipe would wait for its writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|e| special_or_io(path, &e))?;
    from_open(path, file, limit)
}

/// A socket cannot be opened at all (ENXIO); say what it is.
fn special_or_io(path: &Path, error: &std::io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::ENXIO) => Failure::NotAFile { path: path.to_owned(), kind: FileKind::Special },
        _ => fail::io(path, error),
    }
}

pub(super) fn from_open(path: &Path, mut file: File, limit: u64) -> Result<(Vec<u8>, Metadata), Failure> {
    let meta = file.metadata().map_err(|e| fail::io(path, &e))?;
    if !meta.is_file() {
        return Err(Failure::NotAFile { path: path.to_owned(), kind: stamp::kind(&meta) });
    }
    let too_large = |bytes| Failure::TooLarge { path: path.to_owned(), bytes, limit };
    if meta.len() > limit {
        return Err(too_large(meta.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    (&mut file).take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| fail::io(path, &e))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok((bytes, meta))
}

pub(crate) fn read_text(path: &Path, limit: u64) -> Result<Outcome, Failure> {
    let (bytes, meta) = bytes(path, limit)?;
    let stamp = stamp::of(&meta, &bytes);
    let (text, form) = text::decode(bytes);
    Ok(Outcome::Text { text, form, stamp })
}

pub(crate) fn read_document(path: &Path, limit: u64) -> Result<Outcome, Failure> {
    let (bytes, meta) = bytes(path, limit)?;
    let stamp = stamp::of(&meta, &bytes);
    let mime = if bytes.starts_with(b"%PDF-") { "application/pdf" } else { "application/octet-stream" };
    Ok(Outcome::Media { blob: Blob::new(stamp.hash.clone(), mime, bytes), original: None, shown: None, stamp })
}

pub(crate) fn stat(path: &Path) -> Result<Outcome, Failure> {
    let meta = std::fs::metadata(path).map_err(|e| fail::io(path, &e))?;
    let stamp: Stamp = stamp::unread(&meta);
    let link = path.is_symlink().then(|| path.canonicalize().ok()).flatten();
    Ok(Outcome::Stat { kind: stamp::kind(&meta), stamp, link })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::{Eol, TextForm};

    use super::*;

    #[test]
    fn text_comes_without_bom_and_with_its_form() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        std::fs::write(&path, b"\xEF\xBB\xBFa\r\nb\r\n").unwrap();
        let Ok(Outcome::Text { text, form, stamp }) = read_text(&path, 100) else { panic!() };
        assert_eq!(
            (text.as_str(), form),
            ("a\r\nb\r\n", TextForm { bom: true, eol: Eol::Crlf, ..TextForm::default() })
        );
        assert_eq!((stamp.len, stamp.hash), (9, super::stamp::hash(b"\xEF\xBB\xBFa\r\nb\r\n")));
    }

    #[test]
    fn what_is_not_a_file_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().to_owned();
        let fifo = dir.join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let socket = dir.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::fs::write(dir.join("big"), "12345").unwrap();
        let check = |path: &Path, expected: Failure| assert_eq!(read_text(path, 4), Err(expected));
        check(&dir, Failure::NotAFile { path: dir.clone(), kind: FileKind::Folder });
        check(&fifo, Failure::NotAFile { path: fifo.clone(), kind: FileKind::Special });
        check(&socket, Failure::NotAFile { path: socket.clone(), kind: FileKind::Special });
        check(Path::new("/dev/zero"), Failure::NotAFile { path: "/dev/zero".into(), kind: FileKind::Special });
        check(&dir.join("big"), Failure::TooLarge { path: dir.join("big"), bytes: 5, limit: 4 });
        check(
            &dir.join("no"),
            Failure::Io { path: dir.join("no"), errno: libc::ENOENT, message: "No such file or directory".into() },
        );
        check(
            &dir.join("big/x"),
            Failure::Io { path: dir.join("big/x"), errno: libc::ENOTDIR, message: "Not a directory".into() },
        );
    }

    #[test]
    fn a_link_says_where_it_leads() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        std::fs::create_dir(dir.join("d")).unwrap();
        std::fs::write(dir.join("d/f"), "").unwrap();
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, dir.join(name)).unwrap();
        link("d/f", "one");
        link("one", "two");
        link("d", "folder");
        link("no", "dangling");
        let check = |name: &str, kind: FileKind, leads: Option<&str>| {
            let Ok(Outcome::Stat { kind: seen, link, .. }) = stat(&dir.join(name)) else { panic!("{name}") };
            assert_eq!((seen, link), (kind, leads.map(|to| dir.join(to))), "{name}");
        };
        check("d", FileKind::Folder, None);
        check("d/f", FileKind::File, None);
        check("one", FileKind::File, Some("d/f"));
        check("two", FileKind::File, Some("d/f"));
        check("folder", FileKind::Folder, Some("d"));
        // A link on the way is none at the end.
        check("folder/f", FileKind::File, None);
        assert!(matches!(stat(&dir.join("dangling")), Err(Failure::Io { errno: libc::ENOENT, .. })));
    }

    #[test]
    fn files_that_hide_their_length_are_read() {
        let Ok(Outcome::Text { text, .. }) = read_text(Path::new("/proc/self/status"), 1 << 20) else { panic!() };
        assert!(text.starts_with("Name:"));
    }
}
