//! Threads of one process as ranks: for tests, and for a host whose array is stored in several
//! buffers.

use std::panic;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::communicator::{CommError, Communicator};

/// A thread as a rank, connected to the other threads by channels.
#[derive(Debug)]
pub struct ThreadComm {
    rank: usize,
    /// Channels to all ranks, this one included.
    senders: Vec<Sender<Vec<u8>>>,
    /// Channels from all ranks, this one included.
    receivers: Vec<Receiver<Vec<u8>>>,
}

/// Creates `ranks` connected ranks. Each is used on its own thread.
pub fn ranks(ranks: usize) -> Vec<ThreadComm> {
    let new = |rank| ThreadComm { rank, senders: Vec::new(), receivers: Vec::new() };
    let mut all: Vec<ThreadComm> = (0..ranks).map(new).collect();
    for from in 0..ranks {
        for to in 0..ranks {
            let (sender, receiver) = channel();
            all[from].senders.push(sender);
            all[to].receivers.push(receiver);
        }
    }
    all
}

/// Runs `work` on `count` ranks, each on its own thread, and returns their results in rank order.
///
/// # Panics
/// Panics if a rank panics, after all ranks have ended.
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
    fn error(&self, partner: usize, why: &str) -> CommError {
        CommError { rank: self.rank, partner, message: why.to_owned() }
    }

    fn send(&self, partner: usize, bytes: &[u8]) -> Result<(), CommError> {
        self.senders[partner]
            .send(bytes.to_vec())
            .map_err(|_| self.error(partner, "the partner's thread has ended"))
    }

    fn receive(&self, partner: usize) -> Result<Vec<u8>, CommError> {
        self.receivers[partner]
            .recv()
            .map_err(|_| self.error(partner, "the partner's thread has ended"))
    }
}

impl Communicator for ThreadComm {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.senders.len()
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
                let why = format!("received {} bytes instead of {}", bytes.len(), receive.len());
                return Err(self.error(partner, &why));
            }
            receive.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        (0..self.size()).try_for_each(|partner| self.send(partner, &own.to_ne_bytes()))?;
        let value = |partner| {
            let bytes = self.receive(partner)?;
            let mismatch = |_| self.error(partner, "the partner did not call all_gather");
            let bytes = bytes.try_into().map_err(mismatch)?;
            Ok(u64::from_ne_bytes(bytes))
        };
        (0..self.size()).map(value).collect()
    }
}
