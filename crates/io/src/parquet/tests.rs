//! What was written is read back by a reader that shares nothing with the writer.

use std::collections::BTreeMap;
use std::io::Read as _;

use proptest::prelude::*;

use super::*;

/// A value of Thrift's compact protocol.
#[derive(Debug, Clone)]
enum Item {
    Number(i64),
    Bytes(Vec<u8>),
    List(Vec<Item>),
    Record(BTreeMap<u8, Item>),
}

impl Item {
    fn at(&self, id: u8) -> &Item {
        match self {
            Item::Record(fields) => &fields[&id],
            other => panic!("{other:?} has no field {id}"),
        }
    }

    fn has(&self, id: u8) -> bool {
        matches!(self, Item::Record(fields) if fields.contains_key(&id))
    }

    fn number(&self, id: u8) -> usize {
        match self.at(id) {
            Item::Number(number) => usize::try_from(*number).unwrap(),
            other => panic!("{other:?} is no number"),
        }
    }

    fn bytes(&self, id: u8) -> &[u8] {
        match self.at(id) {
            Item::Bytes(bytes) => bytes,
            other => panic!("{other:?} is no text"),
        }
    }

    fn list(&self, id: u8) -> &[Item] {
        match self.at(id) {
            Item::List(items) => items,
            other => panic!("{other:?} is no list"),
        }
    }
}

/// Bytes and how far they have been read.
struct Cursor<'a> {
    from: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (head, rest) = self.from.split_at(count);
        self.from = rest;
        head
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn item(&mut self, tag: u8) -> Item {
        match tag {
            5 | 6 => {
                let value = self.varint();
                Item::Number((value >> 1) as i64 ^ -((value & 1) as i64))
            }
            8 => {
                let count = self.varint() as usize;
                Item::Bytes(self.take(count).to_vec())
            }
            9 => {
                let head = self.byte();
                let count = match head >> 4 {
                    15 => self.varint(),
                    short => u64::from(short),
                };
                Item::List((0..count).map(|_| self.item(head & 15)).collect())
            }
            12 => self.record(),
            other => panic!("type {other} is not used"),
        }
    }

    fn record(&mut self) -> Item {
        let (mut fields, mut id) = (BTreeMap::new(), 0);
        loop {
            let head = self.byte();
            if head == 0 {
                return Item::Record(fields);
            }
            id += head >> 4;
            let item = self.item(head & 15);
            fields.insert(id, item);
        }
    }

    /// `count` numbers of the run-length and bit-packing hybrid.
    fn hybrid(&mut self, count: usize, width: usize) -> Vec<u32> {
        let mut values = Vec::new();
        while values.len() < count {
            let head = self.varint() as usize;
            if head & 1 == 0 {
                let mut value = [0; 4];
                let bytes = width.div_ceil(8);
                value[..bytes].copy_from_slice(self.take(bytes));
                values.extend(std::iter::repeat_n(u32::from_le_bytes(value), head >> 1));
            } else {
                let packed = self.take((head >> 1) * width);
                let bit = |at: usize| u32::from(packed[at / 8] >> (at % 8) & 1);
                let value = |at: usize| (0..width).map(|i| bit(at * width + i) << i).sum::<u32>();
                values.extend((0..(head >> 1) * 8).map(value));
            }
        }
        values.truncate(count);
        values
    }

    /// A page's header and its body, unpacked; the checksum holds.
    fn page(&mut self) -> (Item, Vec<u8>) {
        let header = self.record();
        let packed = self.take(header.number(3));
        let mut crc = flate2::Crc::new();
        crc.update(packed);
        assert!(matches!(header.at(4), Item::Number(sum) if *sum as u32 == crc.sum()));
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut body).unwrap();
        assert_eq!(body.len(), header.number(2));
        (header, body)
    }

    fn text(&mut self) -> String {
        let count = u32::from_le_bytes(self.take(4).try_into().unwrap()) as usize;
        String::from_utf8(self.take(count).to_vec()).unwrap()
    }
}

fn footer(file: &[u8]) -> Item {
    assert_eq!((&file[..4], &file[file.len() - 4..]), (&MAGIC[..], &MAGIC[..]));
    let end = file.len() - 8;
    let size = u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
    let mut from = Cursor { from: &file[end - size..end] };
    let footer = from.record();
    assert!(from.from.is_empty());
    footer
}

/// The cells of one chunk, words as texts.
fn chunk(file: &[u8], about: &Item, kind: Kind) -> Cells {
    let data_at = about.number(9);
    let begin = if about.has(11) { about.number(11) } else { data_at };
    let mut from = Cursor { from: &file[begin..begin + about.number(7)] };
    let mut words = Vec::new();
    if kind == Kind::Word {
        let (header, body) = from.page();
        let mut body = Cursor { from: &body };
        words.extend((0..header.at(7).number(1)).map(|_| body.text()));
        assert!(body.from.is_empty());
        assert_eq!(data_at, begin + about.number(7) - from.from.len());
    }
    let (header, body) = from.page();
    assert!(from.from.is_empty());
    let rows = header.at(5).number(1);
    let mut body = Cursor { from: &body };
    let size = u32::from_le_bytes(body.take(4).try_into().unwrap()) as usize;
    let levels = Cursor { from: body.take(size) }.hybrid(rows, 1);
    let there = levels.iter().filter(|level| **level == 1).count();
    let nulls = about.at(12).number(3);
    assert_eq!((rows, rows - there), (about.number(5), nulls));
    fn spread<T>(levels: &[u32], mut next: impl FnMut() -> T) -> Vec<Option<T>> {
        levels.iter().map(|level| (*level == 1).then(&mut next)).collect()
    }
    let eight = |body: &mut Cursor<'_>| -> [u8; 8] { body.take(8).try_into().unwrap() };
    match kind {
        Kind::Int32 => {
            Cells::Int32(spread(&levels, || i32::from_le_bytes(body.take(4).try_into().unwrap())))
        }
        Kind::Int64 => Cells::Int64(spread(&levels, || i64::from_le_bytes(eight(&mut body)))),
        Kind::Double => Cells::Double(spread(&levels, || f64::from_le_bytes(eight(&mut body)))),
        Kind::Flag => {
            let mut at = 0;
            Cells::Flag(spread(&levels, || {
                at += 1;
                body.from[(at - 1) / 8] >> ((at - 1) % 8) & 1 == 1
            }))
        }
        Kind::Text => Cells::Text(spread(&levels, || body.text())),
        Kind::Word => {
            let width = usize::from(body.byte());
            let mut indices = body.hybrid(there, width).into_iter();
            Cells::Text(spread(&levels, || words[indices.next().unwrap() as usize].clone()))
        }
    }
}

const ALL: &[Field] = &[
    Field { name: "int32", kind: Kind::Int32 },
    Field { name: "int64", kind: Kind::Int64 },
    Field { name: "double", kind: Kind::Double },
    Field { name: "flag", kind: Kind::Flag },
    Field { name: "text", kind: Kind::Text },
    Field { name: "word", kind: Kind::Word },
];

fn written(groups: &[Vec<Cells>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), ALL).unwrap();
    groups.iter().for_each(|group| writer.group(group).unwrap());
    writer.finish(&[("key".to_owned(), "värde".to_owned())]).unwrap()
}

/// Cells in stretches, so that runs and nulls come in all lengths.
fn cells<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
    stretches: usize,
) -> BoxedStrategy<Vec<Option<T>>> {
    let stretch = (proptest::option::weighted(0.8, value), 1..20usize);
    proptest::collection::vec(stretch, stretches)
        .prop_map(|all| all.into_iter().flat_map(|(it, n)| std::iter::repeat_n(it, n)).collect())
        .boxed()
}

fn group() -> impl Strategy<Value = Vec<Cells>> {
    let most = 12;
    let words = proptest::collection::vec("[a-zå]{0,9}", 1..40);
    (
        cells(any::<i32>(), most),
        cells(any::<i64>(), most),
        cells(-1e300..1e300, most),
        cells(any::<bool>(), most),
        cells("\\PC{0,5}".prop_map(String::from), most),
        (words, cells(any::<proptest::sample::Index>(), most)),
    )
        .prop_map(|(mut a, mut b, mut c, mut d, mut e, (words, mut f))| {
            let rows =
                [a.len(), b.len(), c.len(), d.len(), e.len(), f.len()].into_iter().min().unwrap();
            a.truncate(rows);
            b.truncate(rows);
            c.truncate(rows);
            d.truncate(rows);
            e.truncate(rows);
            f.truncate(rows);
            let of = f.iter().map(|it| it.map(|it| it.index(words.len()) as u32)).collect();
            vec![
                Cells::Int32(a),
                Cells::Int64(b),
                Cells::Double(c),
                Cells::Flag(d),
                Cells::Text(e),
                Cells::Word { words, of },
            ]
        })
}

fn plain(cells: &Cells) -> Cells {
    match cells {
        Cells::Word { words, of } => {
            Cells::Text(of.iter().map(|it| it.map(|it| words[it as usize].clone())).collect())
        }
        other => other.clone(),
    }
}

fn check_bounds(about: &Item, cells: &Cells) {
    let (least, most) = match cells {
        Cells::Int64(cells) => {
            let values = || cells.iter().flatten();
            (values().min(), values().max())
        }
        _ => return,
    };
    let statistics = about.at(12);
    match (least, most) {
        (Some(least), Some(most)) => {
            assert_eq!(statistics.bytes(6), least.to_le_bytes());
            assert_eq!(statistics.bytes(5), most.to_le_bytes());
        }
        _ => assert!(!statistics.has(5)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_comes_back(groups in proptest::collection::vec(group(), 0..3)) {
        let file = written(&groups);
        let footer = footer(&file);
        let rows: usize = groups.iter().map(|group| group[0].len()).sum();
        prop_assert_eq!(footer.number(3), rows);
        prop_assert_eq!(footer.list(2).len(), ALL.len() + 1);
        prop_assert_eq!(footer.list(7).len(), ALL.len());
        let mut at = MAGIC.len();
        for (about, group) in footer.list(4).iter().zip(&groups) {
            for (index, (column, cells)) in about.list(1).iter().zip(group).enumerate() {
                let about = column.at(3);
                let begin = about.number(if about.has(11) { 11 } else { 9 });
                prop_assert_eq!(begin, at, "chunks leave gaps");
                at += about.number(7);
                prop_assert_eq!(chunk(&file, about, ALL[index].kind), plain(cells));
                check_bounds(about, cells);
            }
        }
        prop_assert_eq!(written(&groups), file);
    }

    #[test]
    fn runs_come_back(stretches in cells(0..9u32, 30), width in 4..33u32) {
        let values: Vec<u32> = stretches.into_iter().map(Option::unwrap_or_default).collect();
        let mut to = Vec::new();
        runs::encode(&mut to, &values, width);
        let mut from = Cursor { from: &to };
        prop_assert_eq!(from.hybrid(values.len(), width as usize), values);
        prop_assert!(from.from.is_empty());
    }
}

#[test]
fn widths_are_just_enough() {
    let widths = [0, 1, 2, 3, 4, 5, 256, 257].map(runs::width);
    assert_eq!(widths, [1, 1, 1, 2, 2, 3, 8, 9]);
}

#[test]
fn long_runs_are_short() {
    let mut to = Vec::new();
    runs::encode(&mut to, &[1; 100_000], 1);
    assert_eq!(to.len(), 4);
}

#[test]
fn columns_must_fit() {
    let mut writer = Writer::new(Vec::new(), &ALL[5..]).unwrap();
    let beyond = Cells::Word { words: vec!["a".to_owned()], of: vec![Some(1)] };
    assert!(writer.group(&[beyond]).is_err());
    assert!(writer.group(&[Cells::Int32(vec![None])]).is_err());
    assert!(writer.group(&[]).is_err());
    let mut writer = Writer::new(Vec::new(), &ALL[..2]).unwrap();
    let uneven = [Cells::Int32(vec![None]), Cells::Int64(vec![])];
    assert!(writer.group(&uneven).is_err());
}
