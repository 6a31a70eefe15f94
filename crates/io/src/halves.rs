//! Work on two threads.

use std::io::{self, Write};
use std::sync::mpsc;

/// Writes so many pieces in order, while two threads make the next ones: one the even pieces, one
/// the odd ones.
///
/// # Errors
/// Those of `to`.
pub(crate) fn write_pieces(
    to: &mut impl Write,
    pieces: usize,
    make: impl Fn(usize) -> Vec<u8> + Sync,
) -> io::Result<()> {
    const AHEAD: usize = 2;
    std::thread::scope(|scope| {
        let makers = [0, 1].map(|first| {
            let (give, made) = mpsc::sync_channel(AHEAD);
            let make = &make;
            // A receiver that no longer takes pieces needs no more of them.
            scope.spawn(move || {
                let mut mine = (first..pieces).step_by(2);
                mine.try_for_each(|piece| give.send(make(piece)))
            });
            made
        });
        // A maker that ends early has panicked, and so will this scope.
        let made = (0..pieces).map_while(|piece| makers[piece % 2].recv().ok());
        made.into_iter().try_for_each(|piece| to.write_all(&piece))
    })
}
