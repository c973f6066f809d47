//! Threads of one process as ranks: for tests, and for a host whose data lie in several buffers.

use std::panic;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::communicator::{CommError, Communicator};

/// A thread's connections with all others.
#[derive(Debug)]
pub struct ThreadComm {
    rank: usize,
    /// To each rank, itself included, and from each.
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// So many ranks, connected with one another. Each is for a thread of its own.
pub fn ranks(ranks: usize) -> Vec<ThreadComm> {
    let mut all: Vec<ThreadComm> =
        (0..ranks).map(|rank| ThreadComm { rank, to: Vec::new(), from: Vec::new() }).collect();
    for from in 0..ranks {
        for to in 0..ranks {
            let (sender, receiver) = channel();
            all[from].to.push(sender);
            all[to].from.push(receiver);
        }
    }
    all
}

/// Runs `work` on so many ranks, each on a thread of its own, and returns what they return.
///
/// # Panics
/// When a rank does, after all have ended.
pub fn run<T: Send>(count: usize, work: impl Fn(ThreadComm) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let start = |rank| scope.spawn(move || work(rank));
        let all: Vec<_> = ranks(count).into_iter().map(start).collect();
        let ended: Vec<_> = all.into_iter().map(|rank| rank.join()).collect();
        ended
            .into_iter()
            .map(|end| end.unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect()
    })
}

impl ThreadComm {
    fn lost(&self, partner: usize, why: &str) -> CommError {
        CommError { rank: self.rank, partner, why: why.to_owned() }
    }

    fn send(&self, partner: usize, bytes: &[u8]) -> Result<(), CommError> {
        self.to[partner]
            .send(bytes.to_vec())
            .map_err(|_| self.lost(partner, "its thread has ended"))
    }

    fn receive(&self, partner: usize) -> Result<Vec<u8>, CommError> {
        self.from[partner].recv().map_err(|_| self.lost(partner, "its thread has ended"))
    }
}

impl Communicator for ThreadComm {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError> {
        if !send.is_empty() {
            self.send(partner, send)?;
        }
        if !receive.is_empty() {
            let bytes = self.receive(partner)?;
            if bytes.len() != receive.len() {
                let why = format!("{} bytes came in place of {}", bytes.len(), receive.len());
                return Err(self.lost(partner, &why));
            }
            receive.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        (0..self.ranks()).try_for_each(|partner| self.send(partner, &own.to_ne_bytes()))?;
        let value = |partner| {
            let bytes = self.receive(partner)?;
            let bytes = bytes.try_into().map_err(|_| self.lost(partner, "it was elsewhere"))?;
            Ok(u64::from_ne_bytes(bytes))
        };
        (0..self.ranks()).map(value).collect()
    }
}
