//! So many connections and no more: `auth/places.rs` says which.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::auth::places::{Line, Places};

/// Hangs up on those for whom there is no room.
#[derive(Debug, Clone)]
pub(super) struct Counted(Arc<Places>);

impl Counted {
    pub(super) fn new(places: Arc<Places>) -> Counted {
        Counted(places)
    }

    fn take(&self, stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        let line = Arc::new(Line::default());
        let number = self.0.arrive(stream.peer_addr()?, Arc::clone(&line), Instant::now());
        let number = number.ok_or_else(|| io::Error::other("too many connections"))?;
        Ok(Connection { stream, line, places: Arc::clone(&self.0), number })
    }
}

impl<S> Accept<TcpStream, S> for Counted {
    type Stream = Connection;
    type Service = S;
    type Future = Ready<io::Result<(Connection, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        ready(self.take(stream).map(|connection| (connection, service)))
    }
}

/// A connection that is counted as long as it lives.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    line: Arc<Line>,
    places: Arc<Places>,
    number: u64,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.places.leave(self.number);
    }
}

impl Connection {
    fn check(&self, context: &Context<'_>) -> io::Result<()> {
        match self.line.is_closed(context) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        all: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, all)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
