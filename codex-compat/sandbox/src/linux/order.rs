//! What the parent tells the helper, and its form on the channel: fixed fields, then counted byte strings.
use std::ffi::{CStr, CString};

use crate::{Rung, Size};

/// Everything that the helper does. Paths are canonical; the helper decides nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// None: no walls (danger-full-access).
    pub rung: Option<Rung>,
    pub network: bool,
    /// Build everything and stop short of `exec`.
    pub trial: bool,
    pub own_session: bool,
    pub linger: bool,
    /// We are root and the workspace is another user's: leave the command what root needs to work on it.
    pub foreign_owner: bool,
    pub tty: Option<Size>,
    /// Soft limit of open files for the command; 0: as the helper has it.
    pub open_files: u32,
    pub cwd: CString,
    /// Trees put over the read-only one, outer paths first.
    pub mounts: Vec<Mount>,
    /// `/` itself is a writable root.
    pub whole_disk: bool,
    /// Trees and files that Landlock leaves writable.
    pub grants: Vec<CString>,
    pub argv: Vec<CString>,
    /// `NAME=value`.
    pub env: Vec<CString>,
    /// Number that the command finds each of the sent descriptors under.
    pub targets: Vec<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub path: CString,
    /// Otherwise as the machine has it.
    pub read_only: bool,
    /// May be gone by now: a name in a folder that other programs share with us.
    pub optional: bool,
}

impl Order {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(4096));
        out.byte(self.rung.map_or(0, |rung| 1 + rung as u8));
        let flags = [
            self.network,
            self.trial,
            self.own_session,
            self.linger,
            self.whole_disk,
            self.foreign_owner,
            self.tty.is_some(),
        ];
        for flag in flags {
            out.byte(flag.into());
        }
        let size = self.tty.unwrap_or(Size { rows: 0, cols: 0 });
        out.number((u32::from(size.rows) << 16) | u32::from(size.cols));
        out.number(self.open_files);
        out.string(&self.cwd);
        out.number(self.mounts.len() as u32);
        for mount in &self.mounts {
            out.byte(mount.read_only.into());
            out.byte(mount.optional.into());
            out.string(&mount.path);
        }
        for list in [&self.grants, &self.argv, &self.env] {
            out.number(list.len() as u32);
            list.iter().for_each(|text| out.string(text));
        }
        out.number(self.targets.len() as u32);
        self.targets.iter().for_each(|target| out.number(*target as u32));
        out.0
    }

    /// None: not what `encode` writes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Order> {
        let mut input = Reader(bytes);
        let rung = match input.byte()? {
            0 => None,
            n => Some(*Rung::ALL.get(usize::from(n) - 1)?),
        };
        let [network, trial, own_session, linger, whole_disk, foreign_owner, has_tty] = input.flags()?;
        let size = input.number()?;
        let tty = has_tty.then_some(Size { rows: (size >> 16) as u16, cols: size as u16 });
        let open_files = input.number()?;
        let cwd = input.string()?;
        let mounts = input.list(|input| {
            let [read_only, optional] = input.flags()?;
            Some(Mount { path: input.string()?, read_only, optional })
        })?;
        let [grants, argv, env] =
            [input.list(Reader::string)?, input.list(Reader::string)?, input.list(Reader::string)?];
        let targets = input.list(|input| Some(input.number()? as i32))?;
        let order = Order {
            rung,
            network,
            trial,
            own_session,
            linger,
            foreign_owner,
            tty,
            open_files,
            cwd,
            mounts,
            whole_disk,
            grants,
            argv,
            env,
            targets,
        };
        input.0.is_empty().then_some(order)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }
    fn number(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }
    fn string(&mut self, text: &CStr) {
        let bytes = text.to_bytes_with_nul();
        self.number(bytes.len() as u32);
        self.0.extend(bytes);
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
    fn flags<const N: usize>(&mut self) -> Option<[bool; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(first.map(|byte| byte != 0))
    }
    fn number(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }
    fn string(&mut self) -> Option<CString> {
        let length = self.number()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(CStr::from_bytes_with_nul(text).ok()?.to_owned())
    }
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        // A count is not trusted with memory: every entry takes at least one byte.
        let count = self.number()? as usize;
        if count > self.0.len() {
            return None;
        }
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = CString> {
        prop::collection::vec(1u8.., 0..20).prop_map(|bytes| CString::new(bytes).unwrap())
    }

    fn texts() -> impl Strategy<Value = Vec<CString>> {
        prop::collection::vec(text(), 0..4)
    }

    prop_compose! {
        fn orders()(
            rung in prop::option::of(prop::sample::select(Rung::ALL.to_vec())),
            flags in any::<[bool; 6]>(),
            tty in prop::option::of(any::<(u16, u16)>()),
            open_files in any::<u32>(),
            cwd in text(),
            mounts in prop::collection::vec((any::<[bool; 2]>(), text()), 0..4),
            lists in (texts(), texts(), texts()),
            targets in prop::collection::vec(any::<i32>(), 0..5),
        ) -> Order {
            let [network, trial, own_session, linger, whole_disk, foreign_owner] = flags;
            let mount = |([read_only, optional], path): ([bool; 2], CString)| Mount { path, read_only, optional };
            let mounts = mounts.into_iter().map(mount).collect();
            let (grants, argv, env) = lists;
            let tty = tty.map(|(rows, cols)| Size { rows, cols });
            Order {
                rung, network, trial, own_session, linger, foreign_owner, tty, open_files, cwd, mounts, whole_disk, grants,
                argv, env, targets,
            }
        }
    }

    proptest! {
        #[test]
        fn an_order_arrives_as_it_was_given(order in orders()) {
            prop_assert_eq!(Order::decode(&order.encode()), Some(order));
        }

        #[test]
        fn other_bytes_are_no_order(bytes in prop::collection::vec(any::<u8>(), 0..200), order in orders(), cut in any::<prop::sample::Index>()) {
            let _ = Order::decode(&bytes);
            let whole = order.encode();
            prop_assert_eq!(Order::decode(&whole[..cut.index(whole.len())]), None);
        }
    }
}
