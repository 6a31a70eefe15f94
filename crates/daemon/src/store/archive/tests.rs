use super::*;
use crate::store::Row;

fn origin() -> Origin {
    Origin { market: "test".to_owned(), created: 7 }
}

fn rows() -> Vec<Row> {
    let bodies = [b"{\"a\":1}".to_vec(), vec![], b"two\nlines\n".to_vec(), vec![0xff; 10_000]];
    let row = |(place, body): (usize, &Vec<u8>)| {
        let seq = 41 + place as u64;
        Row { seq, at: 100 + seq as i64, body: body.clone() }
    };
    bodies.iter().enumerate().map(row).collect()
}

fn written() -> (tempfile::TempDir, PathBuf, Segment) {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive");
    let segment = write(&archive, &origin(), Digest([9; 32]), &rows()).unwrap();
    (folder, archive, segment)
}

fn read(archive: &Path, segment: &Segment) -> Result<Vec<Row>, StoreError> {
    let mut reader = SegmentReader::open(archive, &origin(), segment)?;
    let mut found = Vec::new();
    while let Some(row) = reader.next()? {
        found.push(row);
    }
    Ok(found)
}

#[test]
fn rows_are_read_as_they_were_written() {
    let (_folder, archive, segment) = written();
    assert_eq!((segment.first, segment.last, segment.times), (41, 44, (141, 144)));
    assert_eq!(segment.name(), "000000000041-000000000044.tw.gz");
    assert_eq!(rows_of(&segment.name()), Some((41, 44)));
    assert_eq!(read(&archive, &segment).unwrap(), rows());
    let again = write(&archive, &origin(), Digest([9; 32]), &rows()).unwrap_err();
    assert!(again.to_string().contains("File exists"), "{again}");
    let names: Vec<_> = std::fs::read_dir(&archive).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing unfinished is left: {names:?}");
}

#[test]
fn each_damaged_byte_is_found_and_the_file_is_named() {
    let (_folder, archive, segment) = written();
    let path = file_of(&archive, &segment);
    let whole = std::fs::read(&path).unwrap();
    // Behind the ten bytes of gzip's own header, which say nothing of rows.
    for place in 10..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        let name = path.display().to_string();
        match read(&archive, &segment) {
            Err(StoreError::Damaged { path, seq: 41..=44, .. }) => assert_eq!(path, name),
            // Other bytes that mean the same text: nothing is lost.
            Ok(found) => assert!(found == rows(), "byte {place}"),
            Err(wrong) => panic!("byte {place}: {wrong}"),
        }
    }
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(read(&archive, &segment), Err(StoreError::Damaged { .. })));
    std::fs::remove_file(&path).unwrap();
    let missing = read(&archive, &segment).unwrap_err().to_string();
    assert!(missing.ends_with("damaged at row 41: the archive file is missing"), "{missing}");
}

#[test]
fn a_file_of_another_journal_is_refused() {
    let (_folder, archive, segment) = written();
    let other = Origin { created: 8, ..origin() };
    let found =
        SegmentReader::open(&archive, &other, &segment).map(|_| ()).unwrap_err().to_string();
    assert!(found.contains("archive of the market `test`"), "{found}");
    let noted = Segment { after: Digest([1; 32]), ..segment };
    let found =
        SegmentReader::open(&archive, &origin(), &noted).map(|_| ()).unwrap_err().to_string();
    assert!(found.contains("not the one that the journal has noted"), "{found}");
}
