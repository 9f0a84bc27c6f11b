//! The table: what, bound, ours, codex, verdict.

pub(crate) struct Row {
    pub(crate) what: String,
    /// In the unit of the row; None: shown for comparison only.
    pub(crate) bound: Option<f64>,
    /// The bound is a floor, not a ceiling.
    pub(crate) at_least: bool,
    pub(crate) unit: &'static str,
    /// Err: why it could not be measured.
    pub(crate) ours: Result<f64, String>,
    pub(crate) codex: Option<f64>,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, unit: &'static str, ours: Result<f64, String>) -> Row {
        Row { what: what.into(), bound: None, at_least: false, unit, ours, codex: None }
    }
    pub(crate) fn at_most(mut self, bound: f64) -> Row {
        self.bound = Some(bound);
        self
    }
    pub(crate) fn at_least(mut self, bound: f64) -> Row {
        self.at_least = true;
        self.at_most(bound)
    }
    pub(crate) fn codex(mut self, value: Option<f64>) -> Row {
        self.codex = value;
        self
    }

    /// None: no bound.
    pub(crate) fn kept(&self) -> Option<bool> {
        match (&self.ours, self.bound) {
            (Err(_), _) => Some(false),
            (Ok(_), None) => None,
            (Ok(ours), Some(bound)) => Some(if self.at_least { *ours >= bound } else { *ours <= bound }),
        }
    }

    fn cells(&self) -> [String; 5] {
        let value = |value: f64| format!("{} {}", number(value), self.unit);
        let sign = if self.at_least { "≥" } else { "≤" };
        let bound = self.bound.map_or_else(String::new, |bound| format!("{sign} {}", value(bound)));
        let (ours, verdict) = match (&self.ours, self.kept()) {
            (Err(why), _) => ("–".to_owned(), format!("not measured: {why}")),
            (Ok(ours), Some(true)) => (value(*ours), "kept".to_owned()),
            (Ok(ours), Some(false)) => (value(*ours), "NOT KEPT".to_owned()),
            (Ok(ours), None) => (value(*ours), String::new()),
        };
        [self.what.clone(), bound, ours, self.codex.map_or_else(|| "–".to_owned(), value), verdict]
    }
}

/// Three digits that count.
fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

pub(crate) fn render(rows: &[Row]) -> String {
    let head = ["what", "bound", "ours", "codex", "verdict"].map(str::to_owned);
    let lines: Vec<[String; 5]> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut out = String::new();
    for cells in &lines {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width));
        out.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_whether_the_bound_was_kept() {
        let rows = [
            Row::new("time", "ms", Ok(3.0)).at_most(15.0).codex(Some(340.0)),
            Row::new("speed", "%", Ok(80.0)).at_least(90.0),
            Row::new("size", "MB", Ok(1.0)),
            Row::new("gone", "MB", Err("no file".into())),
        ];
        let expected = "\
what   bound      ours     codex   verdict
time   ≤ 15.0 ms  3.00 ms  340 ms  kept
speed  ≥ 90.0 %   80.0 %   –       NOT KEPT
size              1.00 MB  –
gone              –        –       not measured: no file
";
        assert_eq!(render(&rows), expected);
        assert_eq!(rows.map(|row| row.kept()), [Some(true), Some(false), None, Some(false)]);
    }
}
