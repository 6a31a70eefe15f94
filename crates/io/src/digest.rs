//! Digests of files.

use std::fs::File;
use std::io::{self, Read as _};

use sha2::{Digest as _, Sha256};

/// The SHA-256 of `bytes` in hexadecimal digits, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The same of a file, which is read in pieces.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of_file(path: &str) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hexadecimal(&digest.finalize())),
            read => digest.update(&piece[..read]),
        }
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_standard_one() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        assert_eq!(sha256_of_file(file.path().to_str().unwrap()).unwrap(), abc);
    }
}
