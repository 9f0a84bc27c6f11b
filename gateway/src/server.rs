//! Connections: how many, how long they may take to say what they want, and their end.
use std::{convert::Infallible, net::SocketAddr, rc::Rc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_local,
};

use crate::{access::Access, answer::answer, routes::Routes};

/// Connections at a time; more wait to be taken.
const MOST_CONNECTIONS: usize = 1_024;
/// For the head of a request, also of the next one on an open connection.
const HEAD: Duration = Duration::from_secs(90);
/// Where no more files can be opened, the next connection is not taken at once.
const BREATH: Duration = Duration::from_millis(50);

pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Rc<(Access, Routes)>,
}

impl Server {
    pub(crate) async fn bind(listen: SocketAddr, access: Access, routes: Routes) -> Result<Server, String> {
        let listener =
            TcpListener::bind(listen).await.map_err(|why| format!("Error: cannot listen on {listen}: {why}"))?;
        let address = listener.local_addr().map_err(|why| format!("Error: cannot listen on {listen}: {why}"))?;
        Ok(Server { listener, address, shared: Rc::new((access, routes)) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.shared.1
    }

    /// In a `LocalSet`. Ends never by itself: a signal ends the process, and with it what is under way.
    pub(crate) async fn serve(self) {
        let room = std::sync::Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok(permit) = room.clone().acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => drop(spawn_local(connection(stream, self.shared.clone(), permit))),
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
    }
}

async fn connection(stream: TcpStream, shared: Rc<(Access, Routes)>, _permit: OwnedSemaphorePermit) {
    // Deltas are small and must not wait for company.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(request, &shared.0, &shared.1).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    // A connection that breaks is its client's business.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}
