use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
};

use pretty_assertions::assert_eq;
use protocol::{ApprovalPolicy, SandboxMode, SandboxPolicy, Settings, WireId};

use super::*;

fn scope(private: bool) -> Scope {
    let settings = Settings {
        provider: String::new(),
        model: String::new(),
        wire: WireId::Chat,
        harness: String::new(),
        cwd: "/".into(),
        sandbox: SandboxPolicy::new(SandboxMode::ReadOnly),
        approval: ApprovalPolicy::Never,
        mode: Default::default(),
        effort: None,
        summary: None,
        verbosity: None,
        instructions: None,
        developer_instructions: None,
        compact_prompt: None,
        output_schema: None,
        output_limit: None,
        max_output: None,
        features: Default::default(),
    };
    Scope::new(&settings, Vec::new(), "/nowhere", Path::new("/nowhere")).unwrap().with_private_pages(private)
}

/// Answers each path with the head and body given for it, until the test ends; → its address.
fn server(pages: &'static [(&'static str, &'static str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let _ = reader.read_line(&mut line);
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {}
            let answer = pages.iter().find(|(known, _)| *known == path).map_or("404 Not Found\r\n\r\nnone", |(_, a)| a);
            let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes());
        }
    });
    format!("http://{address}")
}

const PAGES: &[(&str, &str)] = &[
    ("/", "200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n\r\n<h1>Hi</h1><p>there"),
    ("/moved", "301 Moved\r\nlocation: /\r\nconnection: close\r\n\r\n"),
    ("/circle", "302 Found\r\nlocation: /circle\r\nconnection: close\r\n\r\n"),
    ("/file", "302 Found\r\nlocation: file:///etc/passwd\r\nconnection: close\r\n\r\n"),
    ("/pdf", "200 OK\r\ncontent-type: application/pdf\r\nconnection: close\r\n\r\n%PDF"),
];

async fn get(private: bool, url: &str, max_bytes: u64) -> Outcome {
    fetch(&scope(private), url, max_bytes, true).await
}

#[tokio::test]
async fn pages_redirects_and_limits() {
    let base = server(PAGES);
    let page = |text: &str, status, mime: &str, truncated| {
        let (text, mime) = (text.to_owned(), mime.to_owned());
        Outcome::Fetched(Page { url: format!("{base}/"), status, mime, text, truncated })
    };
    assert_eq!(get(true, &format!("{base}/#part"), 1000).await, page("# Hi\n\nthere", 200, "text/html", false));
    assert_eq!(get(true, &format!("{base}/moved"), 1000).await, page("# Hi\n\nthere", 200, "text/html", false));
    assert_eq!(get(true, &base, 6).await, page("# Hi", 200, "text/html", true));
    let failed = |why: String| Outcome::Failed(Failure::Other(why));
    assert_eq!(
        get(true, &format!("{base}/circle"), 9).await,
        failed(format!("more than 10 redirects, the last to {base}/circle"))
    );
    let file = "file:///etc/passwd is no address of a page: only http and https are fetched";
    assert_eq!(get(true, &format!("{base}/file"), 9).await, failed(file.into()));
    assert_eq!(get(true, "file:///etc/passwd", 9).await, failed(file.into()));
    let pdf = format!("{base}/pdf is application/pdf, which is no text");
    assert_eq!(get(true, &format!("{base}/pdf"), 9).await, failed(pdf));
    let Outcome::Fetched(page) = get(true, &format!("{base}/none"), 9).await else { panic!() };
    assert_eq!((page.status, page.text.as_str()), (404, "none"));
}

#[tokio::test]
async fn private_addresses_are_refused() {
    for host in
        ["127.0.0.1:9", "localhost:9", "[::1]:9", "0x7f.1:9", "2130706433:9", "[::ffff:127.0.0.1]:9", "10.0.0.1"]
    {
        let outcome = get(false, &format!("http://{host}/"), 9).await;
        let Outcome::Refused(Refusal::Rule(why)) = &outcome else { panic!("{host}: {outcome:?}") };
        assert!(why.contains("tools.web_fetch.allow_private"), "{why}");
    }
    let outcome = get(true, "http://user:secret@localhost/", 9).await;
    assert_eq!(
        outcome,
        Outcome::Failed(Failure::Other("localhost holds a name and password; they are not sent".into()))
    );
}

#[tokio::test]
async fn a_stop_ends_the_fetch() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let cancel = crate::Cancel::new();
    let scope = scope(true).cancelled_by(&cancel);
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let fetch = fetch(&scope, &url, 9, true);
    let stop = async {
        // Connected to, and never answered.
        let listener = tokio::net::TcpListener::from_std({
            listener.set_nonblocking(true).unwrap();
            listener
        })
        .unwrap();
        let held = listener.accept().await;
        cancel.cancel();
        held
    };
    let (outcome, _held) = tokio::join!(fetch, stop);
    assert_eq!(outcome, Outcome::Interrupted { output: None });
}
