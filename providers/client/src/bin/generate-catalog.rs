//! Renews `providers/catalog/catalog.tsv` from models.dev's data; providers/catalog/README.md tells when and how.
use std::{error::Error, io::IsTerminal, path::PathBuf, process::ExitCode};

use providers::catalog::generate::{Order, generate};

const USAGE: &str = "generate-catalog --from FILE|URL [--out FILE] [--only PROVIDER,..] [--date YYYY-MM-DD]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generate-catalog: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut from = None;
    let mut out = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog/catalog.tsv"));
    let mut only = Vec::new();
    let mut date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        if flag == "--help" || flag == "-h" {
            println!("{USAGE}");
            return Ok(());
        }
        let value = words.next().ok_or_else(|| format!("{flag} wants a value\n{USAGE}"))?;
        match flag.as_str() {
            "--from" => from = Some(value),
            "--out" => out = value.into(),
            "--only" => only.extend(value.split(',').map(|id| id.trim().to_owned())),
            "--date" => date = value,
            _ => return Err(format!("no flag {flag}\n{USAGE}").into()),
        }
    }
    let data = read(&from.ok_or_else(|| format!("--from is missing\n{USAGE}"))?)?;
    let old = std::fs::read(&out).ok();
    let made = generate(&Order { data: &data, date: &date, only: &only, old: old.as_deref() })?;
    eprint!("{}", made.summary);
    if out.as_os_str() == "-" {
        print!("{}", made.text);
        return Ok(());
    }
    let beside = out.with_extension("tsv.new");
    std::fs::write(&beside, &made.text)
        .and_then(|()| std::fs::rename(&beside, &out))
        .map_err(|why| format!("cannot write {}: {why}", out.display()))?;
    if std::io::stderr().is_terminal() {
        eprintln!("wrote {}", out.display());
    }
    Ok(())
}

fn read(from: &str) -> Result<String, Box<dyn Error>> {
    if !from.starts_with("http://") && !from.starts_with("https://") {
        return std::fs::read_to_string(from).map_err(|why| format!("cannot read {from}: {why}").into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(providers::catalog::fetch(from))?)
}
