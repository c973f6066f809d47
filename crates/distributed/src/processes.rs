//! Agreement between processes on whether they map each other's GPU memory, and on its results.
//!
//! No function uses a GPU: a closure maps memory.

use crate::barrier::{Barrier, PageFile};
use crate::communicator::{CommError, Communicator};
use crate::error::Error;

/// Length in bytes of an [`Offer`] on the wire.
const OFFER_BYTES: usize = 128;

/// Length in bytes of a handle.
const HANDLE_BYTES: usize = 64;

/// State of one rank before data moves, for all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Hash of the request.
    pub request: u64,
    /// Required bytes of the rank's buffer, and its length in bytes.
    pub bytes: [u64; 2],
    /// Number that identifies the host until it restarts.
    pub host: u64,
    /// Side of the tiles that the rank swaps.
    pub side: u64,
    /// Number of the page of memory that rank 0 shares, or 0.
    pub page: u64,
    /// Memory of the rank, the reason why it cannot be mapped, or `None` after an error.
    pub memory: Option<Result<Exported, String>>,
}

/// Memory of a rank as its host's other processes map it: the allocation's handle, and the offset
/// in bytes of the rank's buffer.
pub type Exported = ([u8; HANDLE_BYTES], u64);

impl Offer {
    fn encode(&self) -> [u8; OFFER_BYTES] {
        let (kind, offset, handle) = match &self.memory {
            None => (0, 0, [0; HANDLE_BYTES]),
            Some(Ok((handle, offset))) => (1, *offset, *handle),
            Some(Err(why)) => (2, 0, text_bytes(why)),
        };
        let [need, have] = self.bytes;
        let mut all = [0; OFFER_BYTES];
        all[..HANDLE_BYTES].copy_from_slice(&handle);
        let words = [self.request, need, have, self.host, self.side, kind, offset, self.page];
        for (at, word) in all[HANDLE_BYTES..].chunks_mut(8).zip(words) {
            at.copy_from_slice(&word.to_le_bytes());
        }
        all
    }

    /// Returns `None` if the bytes do not encode an offer, for example if their length differs.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (handle, words) = bytes.split_first_chunk::<HANDLE_BYTES>()?;
        let words = words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let [request, need, have, host, side, kind, offset, page] =
            words.collect::<Vec<_>>().try_into().ok()?;
        let memory = match kind {
            0 => None,
            1 => Some(Ok((*handle, offset))),
            _ => Some(Err(text(handle))),
        };
        Some(Offer { request, bytes: [need, have], host, side, page, memory })
    }
}

/// Returns the start of a text in a fixed number of bytes, filled with zeros.
fn text_bytes(text: &str) -> [u8; HANDLE_BYTES] {
    let mut bytes = [0; HANDLE_BYTES];
    bytes.iter_mut().zip(text.bytes()).for_each(|(to, byte)| *to = byte);
    bytes
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

/// Returns the reason why ranks exchange messages, or `None` if each maps the memory of all others.
/// All ranks decide the same.
///
/// # Errors
/// [`Error::Disagree`], [`Error::PeerFailed`] and [`Error::Short`], the same on all ranks.
pub fn reason_for_messages(offers: &[Offer]) -> Result<Option<String>, Error> {
    let first = |is: &dyn Fn(&Offer) -> bool| offers.iter().position(is);
    if let Some(rank) = first(&|offer| offer.request != offers[0].request) {
        return Err(Error::Disagree { rank });
    }
    if let Some(rank) = first(&|offer| offer.memory.is_none()) {
        return Err(Error::PeerFailed { rank });
    }
    if let Some(rank) = first(&|offer| offer.bytes[1] < offer.bytes[0]) {
        let [need, have] = offers[rank].bytes.map(|bytes| bytes as usize);
        return Err(Error::Short { rank, need, have });
    }
    if let Some(rank) = first(&|offer| matches!(offer.memory, Some(Err(_)))) {
        let why = offers[rank].memory.as_ref().and_then(|memory| memory.as_ref().err());
        return Ok(why.map(|why| format!("rank {rank}: {why}")));
    }
    if let Some(rank) = first(&|offer| offer.host != offers[0].host) {
        return Ok(Some(format!("ranks 0 and {rank} are on different hosts")));
    }
    let other = first(&|offer| offer.side != offers[0].side);
    let why = |rank| format!("the GPUs or workspace limits of ranks 0 and {rank} differ");
    Ok(other.map(why))
}

/// Mappings of the memory of all ranks, `None` for this rank and for empty parts; and the barrier
/// of all ranks, or the reason why they wait for each other by messages.
pub type Mapped<M> = (Vec<Option<M>>, Result<Barrier, String>);

/// Maps the memory of all other ranks by `open(rank, memory)`. Returns the mappings and the barrier,
/// or the reason why ranks exchange messages. All ranks return values of the same kind. Collective.
///
/// # Errors
/// The errors of [`reason_for_messages`] and [`Error::Unreachable`].
pub fn connect<M>(
    comm: &mut impl Communicator,
    mut own: Offer,
    mut open: impl FnMut(usize, Exported) -> Result<M, String>,
) -> Result<Result<Mapped<M>, String>, Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    // The file has a name until all ranks have opened it.
    let file = (rank == 0).then(|| PageFile::create(ranks));
    own.page = file.as_ref().and_then(|file| file.as_ref().ok()).map_or(0, |file| file.0);
    let encoded = gather_bytes(comm, &own.encode())?;
    let offers: Option<Vec<Offer>> = encoded.iter().map(|bytes| Offer::decode(bytes)).collect();
    let message = "a rank sent bytes that do not encode an offer of memory".into();
    let unread = CommError { rank, partner: rank, message };
    let offers = offers.ok_or(Error::Unreachable(unread))?;
    if let Some(why) = reason_for_messages(&offers)? {
        return Ok(Err(why));
    }
    let mut map = |(other, offer): (usize, &Offer)| match offer.memory {
        Some(Ok(memory)) if other != rank && offer.bytes[0] > 0 => {
            open(other, memory).map(Some).map_err(|why| format!("memory of rank {other}: {why}"))
        }
        _ => Ok(None),
    };
    let mapped: Result<Vec<Option<M>>, String> = offers.iter().enumerate().map(&mut map).collect();
    // Mappings are closed at once if another rank has none.
    let barrier = match file {
        Some(Err(error)) => Err(error),
        _ => Barrier::open(offers[0].page, rank, ranks),
    };
    let barrier = barrier.map_err(|error| format!("no shared page: {error}"));
    let own = [mapped.as_ref().err(), barrier.as_ref().err()];
    let own = own.map(|why| text_bytes(why.map_or("", String::as_str)));
    let failures = gather_bytes(comm, own.as_flattened())?;
    let failed = |kind: usize| {
        let why = |bytes: &Vec<u8>| text(bytes.chunks(HANDLE_BYTES).nth(kind).unwrap_or(&[]));
        let mut all = failures.iter().map(why).enumerate().filter(|(_, why)| !why.is_empty());
        all.next().map_or(Ok(()), |(rank, why)| Err(format!("rank {rank}: {why}")))
    };
    let barrier = failed(1).and(barrier).map(|mut barrier| {
        barrier.watch();
        barrier
    });
    Ok(failed(0).and(mapped).map(|mapped| (mapped, barrier)))
}

/// Compares `request` on all ranks by `gather`, and whether `own` is an error on one of them.
/// Collective.
///
/// # Errors
/// `own` if it is an error, [`Error::PeerFailed`], [`Error::Disagree`] or [`Error::Unreachable`].
pub fn confirm(
    gather: impl FnOnce(u64) -> Result<Vec<u64>, Error>,
    request: u64,
    own: Result<(), Error>,
) -> Result<(), Error> {
    let all = gather(if own.is_ok() { request.max(1) } else { 0 });
    own?;
    let all = all?;
    match (all.iter().position(|&word| word == 0), all.iter().position(|word| *word != all[0])) {
        (Some(rank), _) => Err(Error::PeerFailed { rank }),
        (_, Some(rank)) => Err(Error::Disagree { rank }),
        _ => Ok(()),
    }
}

/// Waits for all ranks by `gather`. If one passes an error, all ranks return [`Error::Lost`].
/// Collective.
pub fn finish(
    gather: impl FnOnce(u64) -> Result<Vec<u64>, Error>,
    rank: usize,
    own: Result<(), String>,
) -> Result<(), Error> {
    let lost = |partner, message: String| Err(Error::Lost(CommError { rank, partner, message }));
    let all = gather(own.is_ok().into());
    if let Err(why) = own {
        return lost(rank, why);
    }
    match all {
        Err(Error::Unreachable(error)) => Err(Error::Lost(error)),
        Err(error) => Err(error),
        Ok(all) => match all.iter().position(|&ended| ended != 1) {
            Some(partner) => lost(partner, "the partner failed during the swaps".into()),
            None => Ok(()),
        },
    }
}

/// Returns the bytes that all ranks passed. Checks that the communicator returns one string per rank.
fn gather_bytes(comm: &mut impl Communicator, own: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let all = comm.all_gather_bytes(own).map_err(Error::Unreachable)?;
    if all.len() == ranks {
        return Ok(all);
    }
    let message = format!("all_gather_bytes returned {} strings for {ranks} ranks", all.len());
    Err(Error::Unreachable(CommError { rank, partner: rank, message }))
}

#[cfg(test)]
mod tests;
