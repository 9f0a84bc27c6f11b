//! J: names of folders, people and repositories that are not ASCII.
use std::fs;

use pretty_assertions::assert_eq;
use protocol::WireId;

use super::{
    HARNESSES, place,
    speak::{over, say, shell},
};

on_each_wire!(case_54_headers_are_ascii_and_the_model_sees_the_real_path);

fn case_54_headers_are_ascii_and_the_model_sees_the_real_path(wire: WireId) {
    for harness in HARNESSES {
        let place =
            place(wire, harness, vec![say(vec![shell(harness, "a", "pwd")]).step(wire), over(harness).step(wire)]);
        let folder = place.file("проект 项目");
        fs::create_dir_all(folder.join(".git")).expect("a folder");
        fs::write(folder.join(".git/HEAD"), "ref: refs/heads/größe\n").expect("HEAD");
        let git = "[user]\n\tname = André\n[remote \"origin\"]\n\turl = https://example.org/ü/ü.git\n";
        fs::write(folder.join(".git/config"), git).expect("a config");
        let mut command = place.command(&["exec", "--json", "-s", "workspace-write", "-C", "проект 项目", "do it"]);
        command.env("USER", "André").env("LOGNAME", "André");
        let ran = crate::place::finish(command, None);
        assert_eq!(ran.code, Some(0), "{harness}: {ran:?}");
        let requests = place.requests();
        assert_eq!(requests.len(), 2);
        for request in &requests {
            let odd: Vec<_> = request.headers.iter().filter(|(_, value)| !value.is_ascii()).collect();
            assert!(odd.is_empty() && request.path.is_ascii(), "{harness}: {odd:?}");
        }
        // mini-swe-agent's JSON is in ASCII; read, it is the same.
        let body = String::from_utf8_lossy(&requests[1].body).into_owned();
        let escaped: String = "проект 项目"
            .encode_utf16()
            .map(|u| if u < 128 { char::from(u as u8).to_string() } else { format!("\\\\u{u:04x}") })
            .collect();
        assert!(body.contains("проект 项目") || body.contains(&escaped), "{harness}: {body}");
    }
}
