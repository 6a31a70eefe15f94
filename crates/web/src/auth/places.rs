//! Connections: who has how many, and which one is closed when places are short.
//!
//! A connection is a stranger until a request on it showed a valid token. Strangers have a limit
//! per address and leave some places free; when there are too many, the one that has been idle
//! longest is closed, and the new one is accepted. So connections that do nothing keep no other
//! client out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tradewind_daemon::live::Usage;

use crate::api::Limits;

/// A stranger's request that takes longer than this is regarded as idle.
const BRIEF: Duration = Duration::from_secs(5);

/// By which its owner gets the request to close a connection.
#[derive(Debug, Default)]
pub(crate) struct CloseSignal {
    closed: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl CloseSignal {
    /// Whether it is to be closed; if not, the task is woken when it is.
    pub(crate) fn is_closed(&self, context: &Context<'_>) -> bool {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !waker.as_ref().is_some_and(|it| it.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        self.closed.load(Ordering::Acquire)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// All open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    max: usize,
    strangers: usize,
    per_address: usize,
    per_user: usize,
    /// How long a stranger may be idle.
    idle: Duration,
    /// How long a request without a valid token may take.
    request: Duration,
    inside: Mutex<ConnectionsInner>,
}

#[derive(Debug, Default)]
struct ConnectionsInner {
    last: u64,
    /// By number: the oldest first.
    all: BTreeMap<u64, SignInPlace>,
    by_peer: BTreeMap<SocketAddr, u64>,
}

#[derive(Debug)]
struct SignInPlace {
    peer: SocketAddr,
    address: IpAddr,
    /// Whose valid token was shown last.
    user: Option<String>,
    /// Requests that are being answered.
    busy: u32,
    /// Since when it is idle, or busy.
    since: Instant,
    line: Arc<CloseSignal>,
}

impl SignInPlace {
    /// Small for what is closed first: idle for long.
    fn rank(&self, now: Instant) -> (bool, Instant) {
        let brief = self.busy > 0 && now.saturating_duration_since(self.since) < BRIEF;
        (brief, self.since)
    }
}

/// A request that is being answered on a connection.
#[derive(Debug)]
pub(crate) struct Busy {
    places: Arc<Connections>,
    number: u64,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.places.turn(self.number, |busy| busy.saturating_sub(1));
    }
}

impl Connections {
    pub(crate) fn new(limits: &Limits) -> Connections {
        Connections {
            max: limits.connections,
            strangers: limits.connections.saturating_sub(limits.connections_reserved).max(1),
            per_address: limits.connections_per_address.max(1),
            per_user: limits.connections_per_user.max(1),
            idle: limits.stranger_time,
            request: limits.request_time * 2,
            inside: Mutex::default(),
        }
    }

    fn inside(&self) -> MutexGuard<'_, ConnectionsInner> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a place for a new connection, for which another one may be closed. Linear in the
    /// number of connections. `None`: all are busy.
    pub(crate) fn arrive(
        &self,
        peer: SocketAddr,
        line: Arc<CloseSignal>,
        now: Instant,
    ) -> Option<u64> {
        let address = network(peer.ip());
        let mut inside = self.inside();
        if inside.strangers_of(address) >= self.per_address {
            inside.give_up(now, |it| it.user.is_none() && it.address == address);
        }
        let strangers = inside.all.values().filter(|it| it.user.is_none()).count();
        if strangers >= self.strangers || inside.all.len() >= self.max {
            let crowd = inside.crowd();
            inside.give_up(now, |it| it.user.is_none() && Some(it.address) == crowd);
        }
        if inside.all.len() >= self.max {
            let user = inside.largest_user();
            inside.give_up(now, |it| it.busy == 0 && it.user == user);
        }
        if inside.all.len() >= self.max {
            return None;
        }
        inside.last += 1;
        let number = inside.last;
        let place = SignInPlace { peer, address, user: None, busy: 0, since: now, line };
        inside.all.insert(number, place);
        inside.by_peer.insert(peer, number);
        Some(number)
    }

    /// The connection is closed.
    pub(crate) fn leave(&self, number: u64) {
        self.inside().remove(number);
    }

    /// A request has come on the connection from `peer`.
    pub(crate) fn begin(self: &Arc<Connections>, peer: SocketAddr) -> Option<Busy> {
        let number = self.inside().by_peer.get(&peer).copied()?;
        self.turn(number, |busy| busy + 1);
        Some(Busy { places: Arc::clone(self), number })
    }

    fn turn(&self, number: u64, change: impl Fn(u32) -> u32) {
        if let Some(place) = self.inside().all.get_mut(&number) {
            (place.busy, place.since) = (change(place.busy), Instant::now());
        }
    }

    /// The connection from `peer` has shown a valid token of `user`. If the user has too many, the
    /// one that has been idle longest is closed.
    ///
    /// # Errors
    /// If all of them are busy.
    pub(crate) fn known(&self, peer: SocketAddr, user: &str, now: Instant) -> Result<(), Usage> {
        let mut inside = self.inside();
        let Some(number) = inside.by_peer.get(&peer).copied() else { return Ok(()) };
        let is_same = |place: &SignInPlace| place.user.as_deref() == Some(user);
        if inside.all.get(&number).is_none_or(is_same) {
            return Ok(());
        }
        let own = inside.all.values().filter(|it| is_same(it)).count();
        if own >= self.per_user {
            let Some(victim) = inside.victim(now, |it| it.busy == 0 && is_same(it)) else {
                let limit = "connections_per_user".to_owned();
                let (used, allowed) = (own as u64, self.per_user as u64);
                return Err(Usage { limit, used, allowed, wait: 1 });
            };
            inside.close(Some(victim));
        }
        if let Some(place) = inside.all.get_mut(&number) {
            place.user = Some(user.to_owned());
        }
        Ok(())
    }

    /// Closes connections that never showed a valid token and have done nothing for long.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut inside = self.inside();
        let late = |(number, it): (&u64, &SignInPlace)| {
            let max = if it.busy == 0 { self.idle } else { self.request };
            let late = it.user.is_none() && now.saturating_duration_since(it.since) >= max;
            late.then_some(*number)
        };
        let late: Vec<u64> = inside.all.iter().filter_map(late).collect();
        late.into_iter().for_each(|number| inside.close(Some(number)));
    }
}

impl ConnectionsInner {
    fn strangers_of(&self, address: IpAddr) -> usize {
        self.all.values().filter(|it| it.user.is_none() && it.address == address).count()
    }

    /// The address with most strangers.
    fn crowd(&self) -> Option<IpAddr> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for place in self.all.values().filter(|it| it.user.is_none()) {
            *counts.entry(place.address).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(address, _)| address)
    }

    /// The user with most connections.
    fn largest_user(&self) -> Option<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for user in self.all.values().filter_map(|it| it.user.as_deref()) {
            *counts.entry(user).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(user, _)| user.to_owned())
    }

    fn victim(&self, now: Instant, may_go: impl Fn(&SignInPlace) -> bool) -> Option<u64> {
        let all = self.all.iter().filter(|(_, it)| may_go(it));
        all.min_by_key(|(_, it)| it.rank(now)).map(|(number, _)| *number)
    }

    fn give_up(&mut self, now: Instant, may_go: impl Fn(&SignInPlace) -> bool) {
        let victim = self.victim(now, may_go);
        self.close(victim);
    }

    fn close(&mut self, number: Option<u64>) {
        if let Some(place) = number.and_then(|number| self.remove(number)) {
            place.line.close();
        }
    }

    fn remove(&mut self, number: u64) -> Option<SignInPlace> {
        let place = self.all.remove(&number)?;
        // The port may have been used again.
        if self.by_peer.get(&place.peer) == Some(&number) {
            self.by_peer.remove(&place.peer);
        }
        Some(place)
    }
}

/// The address; of IPv6 the /64, which one host has to itself.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(it) => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() >> 64 << 64)),
        it @ IpAddr::V4(_) => it,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of 8 places, 2 of them for those who showed a token, and a clock.
    struct World(Arc<Connections>, Instant, u16);

    impl World {
        fn new() -> World {
            let limits = Limits {
                connections: 8,
                connections_reserved: 2,
                connections_per_address: 4,
                connections_per_user: 3,
                stranger_time: Duration::from_secs(10),
                ..Limits::default()
            };
            World(Arc::new(Connections::new(&limits)), Instant::now(), 0)
        }

        fn arrive(&mut self, host: u8) -> Option<(SocketAddr, u64, Arc<CloseSignal>)> {
            (self.1, self.2) = (self.1 + Duration::from_millis(1), self.2 + 1);
            let peer = SocketAddr::from(([10, 0, 0, host], self.2));
            let line = Arc::new(CloseSignal::default());
            Some((peer, self.0.arrive(peer, Arc::clone(&line), self.1)?, line))
        }
    }

    fn is_closed(line: &CloseSignal) -> bool {
        line.closed.load(Ordering::Acquire)
    }

    #[test]
    fn idle_strangers_of_one_address_push_out_only_each_other() {
        let mut world = World::new();
        let (other, _, line) = world.arrive(2).unwrap();
        let (known, _, known_line) = world.arrive(1).unwrap();
        world.0.known(known, "ana", world.1).unwrap();
        let crowd: Vec<_> = (0..50).map(|_| world.arrive(1).unwrap().2).collect();
        let open = crowd.iter().filter(|line| !is_closed(line)).count();
        assert_eq!(open, 4, "the newest ones");
        assert!(!is_closed(crowd.last().unwrap()) && !is_closed(&known_line) && !is_closed(&line));
        world.0.known(other, "bob", world.1).unwrap();
        world.0.sweep(world.1 + Duration::from_secs(11));
        assert!(crowd.iter().all(|line| is_closed(line)));
        assert!(!is_closed(&known_line) && !is_closed(&line));
    }

    #[test]
    fn strangers_of_many_addresses_leave_places_to_those_with_a_token() {
        let mut world = World::new();
        let crowd: Vec<_> = (1..=40).map(|host| world.arrive(host).unwrap()).collect();
        let open = crowd.iter().filter(|(_, _, line)| !is_closed(line)).count();
        assert_eq!(open, 6);
        let (peer, _, line) = world.arrive(99).unwrap();
        world.0.known(peer, "ana", world.1).unwrap();
        (1..=40).for_each(|host| drop(world.arrive(host).unwrap()));
        assert!(!is_closed(&line));
    }

    #[test]
    fn a_request_that_has_just_come_is_not_cut_off_by_idle_ones() {
        let mut world = World::new();
        let (peer, _, line) = world.arrive(1).unwrap();
        let busy = world.0.begin(peer).unwrap();
        (0..50).for_each(|_| drop(world.arrive(1)));
        assert!(!is_closed(&line));
        drop(busy);
        world.1 = Instant::now() + BRIEF;
        (0..50).for_each(|_| drop(world.arrive(1)));
        assert!(is_closed(&line));
    }

    #[test]
    fn a_user_with_too_many_loses_idle_ones_and_is_refused_if_there_are_none() {
        let mut world = World::new();
        let mut all = Vec::new();
        for _ in 0..4 {
            let (peer, _, line) = world.arrive(1).unwrap();
            world.0.known(peer, "ana", world.1).unwrap();
            all.push((world.0.begin(peer), peer, line));
            if all.len() == 1 {
                all[0].0 = None;
            }
        }
        assert!(is_closed(&all[0].2) && !is_closed(&all[1].2), "the idle one");
        let (peer, _, _) = world.arrive(1).unwrap();
        let usage = world.0.known(peer, "ana", world.1).unwrap_err();
        assert_eq!((usage.used, usage.allowed), (3, 3));
        world.0.known(peer, "bob", world.1).unwrap();
    }

    #[test]
    fn where_all_places_are_taken_the_user_with_most_loses_the_idlest() {
        let mut world = World::new();
        let mut all = Vec::new();
        for user in ["bob", "ana", "carl", "ana", "bob", "dan", "ana", "carl"] {
            let (peer, _, line) = world.arrive(1).unwrap();
            world.0.known(peer, user, world.1).unwrap();
            all.push(line);
        }
        let (peer, _, line) = world.arrive(2).unwrap();
        let closed: Vec<usize> = (0..8).filter(|place| is_closed(&all[*place])).collect();
        assert_eq!(closed, [1], "the first one of ana");
        world.0.known(peer, "eve", world.1).unwrap();
        assert!(!is_closed(&line));
    }

    #[test]
    fn hosts_with_ipv6_are_counted_by_their_network() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
