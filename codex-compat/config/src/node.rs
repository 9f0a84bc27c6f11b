//! A config value that knows where it stands: the tree that layers are parsed into and merged as.
use std::collections::BTreeMap;

/// Where a value was written: a layer of [`crate::Loaded::layers`] and, for files, line and column (from 1, in characters).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Origin {
    pub layer: usize,
    /// 0 where the layer is no file.
    pub line: u32,
    pub column: u32,
}

/// A value and where it stands; inside a table, the place of its key.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub value: Value,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

impl Node {
    pub fn table(origin: Origin) -> Node {
        Node { value: Value::Table(BTreeMap::new()), origin }
    }

    /// The value at a path of keys and array positions (`["hooks", "Stop", "0"]`).
    pub fn get<S: AsRef<str>>(&self, path: &[S]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| match &node.value {
            Value::Table(table) => table.get(key.as_ref()),
            Value::Array(items) => items.get(key.as_ref().parse::<usize>().ok()?),
            _ => None,
        })
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_table(&self) -> Option<&BTreeMap<String, Node>> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn as_table_mut(&mut self) -> Option<&mut BTreeMap<String, Node>> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Puts `node` at `path`; what stands in the way of a table becomes one.
    pub(crate) fn put(&mut self, path: &[String], node: Node) {
        let Some((key, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if !matches!(self.value, Value::Table(_)) {
            *self = Node::table(node.origin);
        }
        let origin = node.origin;
        if let Some(table) = self.as_table_mut() {
            table.entry(key.clone()).or_insert_with(|| Node::table(origin)).put(rest, node);
        }
    }

    pub(crate) fn remove(&mut self, path: &[String]) -> Option<Node> {
        let (key, rest) = path.split_first()?;
        match &mut self.value {
            Value::Table(table) if rest.is_empty() => table.remove(key),
            Value::Table(table) => table.get_mut(key)?.remove(rest),
            Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?)?.remove(rest),
            _ => None,
        }
    }

    /// Lays `over` on top: tables key by key, all else as a whole. Hooks of all layers run, so their lists are joined.
    pub(crate) fn merge(&mut self, over: Node) {
        self.merge_at(over, 0, false);
    }

    fn merge_at(&mut self, over: Node, depth: usize, hooks: bool) {
        match (&mut self.value, over.value) {
            (Value::Table(below), Value::Table(above)) => {
                for (key, node) in above {
                    let hooks = hooks || (depth == 0 && key == "hooks");
                    match below.get_mut(&key) {
                        Some(old) => old.merge_at(node, depth + 1, hooks),
                        None => drop(below.insert(key, node)),
                    }
                }
                self.origin = over.origin;
            }
            (Value::Array(below), Value::Array(above)) if hooks && depth == 2 => below.extend(above),
            (_, value) => *self = Node { value, origin: over.origin },
        }
    }

    /// Moves everything to another layer (a profile's table counts as the profile, not as its file).
    pub(crate) fn relayer(&mut self, layer: usize) {
        self.origin.layer = layer;
        match &mut self.value {
            Value::Array(items) => items.iter_mut().for_each(|node| node.relayer(layer)),
            Value::Table(table) => table.values_mut().for_each(|node| node.relayer(layer)),
            _ => {}
        }
    }

    /// The kind of value, in the words of error messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a boolean",
            Value::Datetime(_) => "a date or time",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;
    use pretty_assertions::assert_eq;

    fn check(below: &str, above: &str, expected: &str) {
        let mut merged = parse(below, 0).expect("below");
        merged.merge(parse(above, 0).expect("above"));
        let plain = |node| serde_json::Value::from(&node);
        assert_eq!(plain(merged), plain(parse(expected, 0).expect("expected")));
    }

    #[test]
    fn tables_merge_and_the_rest_replaces() {
        check("a = 1\nb = 2", "b = 3", "a = 1\nb = 3");
        check("[t]\nx = 1\ny = 2", "[t]\ny = 3", "[t]\nx = 1\ny = 3");
        check("l = [1, 2]", "l = [3]", "l = [3]");
        check("x = 1", "[x]\ny = 1", "[x]\ny = 1");
        check("[x]\ny = 1", "x = 1", "x = 1");
    }

    #[test]
    fn hooks_of_all_layers_are_kept() {
        check(
            "[[hooks.Stop]]\nmatcher = 'a'",
            "[[hooks.Stop]]\nmatcher = 'b'",
            "[[hooks.Stop]]\nmatcher = 'a'\n[[hooks.Stop]]\nmatcher = 'b'",
        );
        check("[x]\nhooks = [1]", "[x]\nhooks = [2]", "[x]\nhooks = [2]");
    }
}
