//! zstd data, frame after frame.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What zstd data begin with, and what its frames without data begin with, but for the lowest four bits of
/// the first byte.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const SKIPPED: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];

/// Whether these are the first bytes of zstd data.
pub(crate) fn are_begun_by(bytes: &[u8]) -> bool {
    let skipped = |first: &u8, rest: &[u8]| first & 0xf0 == SKIPPED[0] && rest == &SKIPPED[1..];
    match bytes.get(..4) {
        Some(head) => head == FRAME || head.split_first().is_some_and(|(f, r)| skipped(f, r)),
        None => false,
    }
}

/// Unpacks all frames of `source`; checksums are verified where frames have them. In memory is a
/// frame's window, at most 100 MB.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    /// Whether a frame was begun and its checksum not looked at yet.
    is_in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Frames<R> {
        Frames { source, decoder: FrameDecoder::new(), is_in_frame: false }
    }

    /// Begins the next frame.
    fn begin(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.source) {
            Ok(()) => self.is_in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let mut skipped = (&mut self.source).take(length.into());
                if io::copy(&mut skipped, &mut io::sink())? < length.into() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(wrong(error)),
        }
        Ok(())
    }

    /// The frame is over.
    fn end(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let says = self.decoder.get_checksum_from_data();
        match says.is_none_or(|sum| self.decoder.get_calculated_checksum() == Some(sum)) {
            true => Ok(()),
            false => Err(wrong("the checksum does not match")),
        }
    }
}

fn wrong(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(to);
            }
            match (self.is_in_frame, self.decoder.is_finished()) {
                (true, true) => self.end()?,
                (true, false) => {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    self.decoder.decode_blocks(&mut self.source, one).map_err(wrong)?;
                }
                (false, _) if self.source.fill_buf()?.is_empty() => return Ok(0),
                (false, _) => self.begin()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Frames::new(packed).read_to_end(&mut all)?;
        Ok(all)
    }

    fn text() -> Vec<u8> {
        (0..40_000u32).flat_map(|at| format!("{at} {}\n", at % 7).into_bytes()).collect()
    }

    #[test]
    fn frames_one_after_the_other_are_one_text() {
        let text = text();
        let packed = compress_to_vec(text.as_slice(), CompressionLevel::Fastest);
        assert!(are_begun_by(&packed) && packed.len() < text.len());
        assert_eq!(unpacked(&packed).unwrap(), text);
        let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        assert!(are_begun_by(&skipped));
        let all = [skipped.as_slice(), &packed, &skipped, &packed].concat();
        assert_eq!(unpacked(&all).unwrap(), [text.as_slice(), &text].concat());
        assert_eq!(unpacked(&[]).unwrap(), []);
    }

    #[test]
    fn damaged_data_are_errors() {
        let packed = compress_to_vec(text().as_slice(), CompressionLevel::Fastest);
        for cut in [3, 5, packed.len() / 2, packed.len() - 1] {
            assert!(unpacked(&packed[..cut]).is_err(), "cut at {cut}");
        }
        assert!(unpacked(&[packed.as_slice(), b"rubbish"].concat()).is_err());
        assert!(unpacked(&[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]).is_err());
    }
}
