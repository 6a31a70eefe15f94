//! Listening and stopping.

mod connections;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;

use crate::api::Api;
use crate::auth::hosts::Hosts;
use crate::auth::ours::Scheme;
use crate::auth::places::Connections;
use crate::context::Context;
use crate::feed::Events;
use crate::follow::follow;
use crate::routes;
use connections::Counted;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// Port 0: any.
    pub address: SocketAddr,
    /// Needed beyond loopback.
    pub tls: Option<Tls>,
    /// Names or origins by which it may be addressed on loopback, besides `localhost`, addresses and
    /// [`crate::SignIn::url`].
    pub hosts: Vec<String>,
}

/// Files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, and those that it hangs on.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Tokens would cross the network in the clear.
    #[error(
        "{0} is beyond this machine, and there is no TLS: tokens could be read on the way; give a \
         certificate and its key, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The address is not available.
    #[error("cannot listen on {address}: {what}")]
    Bind {
        /// The address that the server cannot listen on.
        address: SocketAddr,
        /// What the system says.
        what: std::io::Error,
    },
    /// Certificate or key cannot be used.
    #[error("{path}: {what}")]
    Tls {
        /// Path of the file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// Something that is always there is not.
    #[error("{0}")]
    System(String),
}

/// The server, on threads of its own.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    context: Context,
    handle: Handle<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// All events from the server's beginning on, for code that forwards them.
    pub fn events(&self) -> Events {
        Events::new(Arc::clone(&self.context.feed))
    }

    /// All events from this moment on.
    pub fn events_from_now(&self) -> Events {
        Events::from_now(Arc::clone(&self.context.feed))
    }

    /// Takes no more requests, lets those that run come to an end within
    /// [`crate::Limits::patience`], and returns then.
    pub fn stop(self) {
        self.context.feed.stop();
        self.handle.graceful_shutdown(Some(self.context.limits.patience));
        for thread in self.threads {
            drop(thread.join());
        }
    }
}

/// Threads that turn the wheel; those that wait for the market come on top.
const WORKERS: usize = 2;
/// Requests that may wait for the market at the same time.
const WAITING: usize = 256;

/// How often idle connections are looked for.
const SWEEP: Duration = Duration::from_millis(500);

/// Starts to listen, and returns once it does.
///
/// # Errors
/// [`ServeError`]: nothing runs then.
pub fn serve(api: Api, listen: Listen) -> Result<Server, ServeError> {
    let Listen { address, tls, hosts } = listen;
    if tls.is_none() && !address.ip().to_canonical().is_loopback() {
        return Err(ServeError::Open(address));
    }
    let tls = tls.as_ref().map(tls::config).transpose()?;
    let bind = |what| ServeError::Bind { address, what };
    let listener = TcpListener::bind(address).map_err(bind)?;
    listener.set_nonblocking(true).map_err(bind)?;
    let address = listener.local_addr().map_err(bind)?;
    let scheme = if tls.is_some() { Scheme::Https } else { Scheme::Http };
    let hosts = hosts.iter().chain(&api.sign_in.url).map(String::as_str);
    let hosts = Hosts::new(address.ip(), hosts);
    let context = Context::new(api, (scheme, hosts)).map_err(ServeError::System)?;
    let events = follow(&context).map_err(ServeError::System)?;
    let system = |wrong: std::io::Error| ServeError::System(format!("no threads: {wrong}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(WAITING)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(system)?;
    let handle = Handle::new();
    let (inside, stopper) = (context.clone(), handle.clone());
    let thread = std::thread::Builder::new().name("http".to_owned()).spawn(move || {
        let ended = runtime.block_on(run(&inside, listener, tls, stopper));
        if let Err(wrong) = ended {
            tracing::error!(%wrong, "the server has stopped");
        }
        // Long looks ahead may go on; their answers are no longer awaited.
        runtime.shutdown_background();
    });
    let threads = vec![thread.map_err(system)?, events];
    tracing::info!(%address, "listening");
    Ok(Server { address, context, handle, threads })
}

/// Closes connections that never showed a valid token, again and again; ends with the runtime.
async fn sweep(places: Arc<Connections>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        places.sweep(Instant::now());
    }
}

async fn run(
    context: &Context,
    listener: TcpListener,
    tls: Option<RustlsConfig>,
    handle: Handle<SocketAddr>,
) -> std::io::Result<()> {
    let limits = &context.limits;
    let places = &context.auth.places;
    tokio::spawn(sweep(Arc::clone(places)));
    let counted = Counted::new(Arc::clone(places));
    let mut server = axum_server::from_tcp(listener)?.handle(handle).http1_only();
    let http = server.http_builder();
    let mut http = http.http1();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.request_time)
        .max_buf_size(limits.header_bytes.max(8_192));
    let service = routes::router(context).into_make_service_with_connect_info::<SocketAddr>();
    match tls {
        None => server.acceptor(counted).serve(service).await,
        Some(config) => {
            let secure = RustlsAcceptor::new(config).handshake_timeout(limits.request_time);
            server.acceptor(secure.acceptor(counted)).serve(service).await
        }
    }
}
