//! Reading a file that the user names, which may be anything: a pipe that nobody writes to, a device without an end.
use std::{
    fs::OpenOptions,
    io::{self, Read},
    path::Path,
};

/// The text of a file of at most `most` bytes. A pipe is read to its end, as for `<(command)`; one that nobody writes to
/// is empty.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        // Opening a pipe must not wait for its writer.
        let at_once = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, at_once);
    }
    let file = options.open(path)?;
    #[cfg(unix)]
    rustix::io::ioctl_fionbio(&file, false)?;
    let mut text = String::new();
    if file.take(most + 1).read_to_string(&mut text)? as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {} MiB", most >> 20)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_has_no_end_ends() {
        let folder = tempfile::tempdir().unwrap();
        let check = |path: &Path, expected: Result<&str, &str>| {
            let told = read(path, 1 << 20).map_err(|error| error.to_string());
            assert_eq!(told, expected.map(str::to_owned).map_err(str::to_owned), "{}", path.display());
        };
        let file = folder.path().join("file");
        std::fs::write(&file, "{}").unwrap();
        check(&file, Ok("{}"));
        check(Path::new("/dev/zero"), Err("it has more than 1 MiB"));
        check(Path::new("/dev/null"), Ok(""));
        std::fs::write(&file, vec![b'x'; (1 << 20) + 1]).unwrap();
        check(&file, Err("it has more than 1 MiB"));
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        check(&pipe, Ok(""));
        // As a shell hands over `<(command)`.
        let (reader, mut writer) = io::pipe().unwrap();
        io::Write::write_all(&mut writer, b"{\"a\":1}").unwrap();
        drop(writer);
        check(Path::new(&format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader))), Ok("{\"a\":1}"));
    }
}
