//! Buffers that know how their records lie, and are converted when a use wants them to lie otherwise: the run-time part of DL
//! (thesis section 5.5.2), with explicit calls where DL intercepts those of OpenCL. DL's compiler (5.5.1) and the paged
//! coherence of 5.2 are not built.
//!
//! | before | event | conversion | afterwards |
//! |---|---|---|---|
//! | any | [`write`](Tracked::write) | none | untransformed |
//! | any | [`raw`](Tracked::raw), [`read`](Tracked::read): no layout, or a part | back | untransformed |
//! | as wanted | [`bind`](Tracked::bind), [`fill`](Tracked::fill) | none | the same |
//! | untransformed | [`bind`](Tracked::bind) | to what is wanted | as wanted |
//! | the same records in another layout | [`bind`](Tracked::bind) | straight to what is wanted | as wanted |
//! | other records | [`bind`](Tracked::bind) | back, then to what is wanted | as wanted |
//! | any | [`fill`](Tracked::fill): all is written anew | none | as wanted |
//! | any | [`copied_to`](Tracked::copied_to) | none | the copy lies as its source |
//!
//! Memory in Rust is never uninitialised; the thesis's buffers that are, are untransformed here.

use crate::record_conversion::{RecordConversion, RecordOrder};
use crate::run::Data;
use crate::{Error, RawElements, Transpose, Transposer};

/// Memory whose records can be converted: a host's bytes, or a GPU's on a stream.
pub trait Marshal {
    /// A conversion, planned.
    type Plan;

    /// Plans a conversion.
    ///
    /// # Errors
    /// There is no such plan.
    fn plan(&mut self, conversion: &Transpose) -> Result<Self::Plan, Error>;

    /// Converts the memory, or queues that.
    ///
    /// # Errors
    /// The memory is not what was planned for, and as it was.
    fn marshal(&mut self, plan: &Self::Plan) -> Result<(), Error>;
}

impl<B> Marshal for RawElements<B>
where
    RawElements<B>: Data,
{
    type Plan = Transposer;

    fn plan(&mut self, conversion: &Transpose) -> Result<Transposer, Error> {
        conversion.plan()
    }

    fn marshal(&mut self, plan: &Transposer) -> Result<(), Error> {
        plan.run(self)
    }
}

/// Memory that knows how its records lie.
///
/// ```
/// use turntile::RawElements;
/// use turntile::layout::{RecordOrder, RecordConversion, Tracked};
///
/// let foos = RecordConversion::new(3, &[1, 2]);
/// let mut buffer = Tracked::new(RawElements(b"aA1bB2cC3".to_vec()));
/// // A kernel that wants columns, twice: one conversion.
/// for _ in 0..2 {
///     assert_eq!(buffer.bind(&foos, RecordOrder::Soa)?.0, b"abcA1B2C3");
/// }
/// assert_eq!(buffer.read()?.0, b"aA1bB2cC3");
/// assert_eq!(buffer.marshals(), 2);
/// # Ok::<(), turntile::Error>(())
/// ```
#[derive(Debug)]
pub struct Tracked<M: Marshal> {
    memory: M,
    /// The records that lie otherwise than one after the other, and how; none are untransformed.
    lies: Option<(RecordConversion, RecordOrder)>,
    /// Every conversion that was made, from and to, with its plan.
    plans: Vec<(Transposed, M::Plan)>,
    marshals: usize,
}

/// Records that go from a layout to another.
type Transposed = (RecordConversion, RecordOrder, RecordOrder);

impl<M: Marshal> Tracked<M> {
    /// Memory that is untransformed.
    pub fn new(memory: M) -> Self {
        Tracked { memory, lies: None, plans: Vec::new(), marshals: 0 }
    }

    /// How the records lie, and which; `None` of memory that is untransformed.
    pub fn layout(&self) -> Option<(&RecordConversion, RecordOrder)> {
        self.lies.as_ref().map(|(records, layout)| (records, *layout))
    }

    /// Conversions that were run.
    pub fn marshals(&self) -> usize {
        self.marshals
    }

    /// Plans what [`bind`](Self::bind) will ask for, so that it allocates nothing but workspace.
    ///
    /// # Errors
    /// The records have no such layout, or there is no plan.
    pub fn plan(
        &mut self,
        records: &RecordConversion,
        from: RecordOrder,
        to: RecordOrder,
    ) -> Result<(), Error> {
        self.planned(records, from, to).map(drop)
    }

    /// For a use that reads or changes those records in that layout.
    ///
    /// # Errors
    /// The records have no such layout, there is no plan, or the memory is not of their size: it is as it was, or
    /// untransformed.
    pub fn bind(
        &mut self,
        records: &RecordConversion,
        layout: RecordOrder,
    ) -> Result<&mut M, Error> {
        let records = records.clone().from(RecordOrder::Aos);
        let from = match &self.lies {
            Some((known, lies)) if *known == records => *lies,
            None => RecordOrder::Aos,
            Some(_) => {
                // What is wanted is planned first: what there is none of leaves everything as it is.
                self.planned(&records, RecordOrder::Aos, layout)?;
                self.raw()?;
                RecordOrder::Aos
            }
        };
        self.convert(&records, from, layout)?;
        Ok(&mut self.memory)
    }

    /// For a use that writes all records anew, in that layout: what is there is not converted.
    pub fn fill(&mut self, records: &RecordConversion, layout: RecordOrder) -> &mut M {
        self.lies = Some((records.clone().from(RecordOrder::Aos), layout));
        self.lies.take_if(|(_, layout)| *layout == RecordOrder::Aos);
        &mut self.memory
    }

    /// For a use that wants no layout, or a part of the memory.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn raw(&mut self) -> Result<&mut M, Error> {
        if let Some((records, layout)) = self.lies.clone() {
            self.convert(&records, layout, RecordOrder::Aos)?;
        }
        Ok(&mut self.memory)
    }

    /// To be read, record after record.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn read(&mut self) -> Result<&M, Error> {
        self.raw().map(|memory| &*memory)
    }

    /// To be written as a whole, record after record: what is there is not converted.
    pub fn write(&mut self) -> &mut M {
        self.lies = None;
        &mut self.memory
    }

    /// Says that `copy` now has what this memory has, byte by byte.
    pub fn copied_to(&self, copy: &mut Self) {
        copy.lies = self.lies.clone();
    }

    /// The memory, record after record.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn into_inner(mut self) -> Result<M, Error> {
        self.raw()?;
        Ok(self.memory)
    }

    fn convert(
        &mut self,
        records: &RecordConversion,
        from: RecordOrder,
        to: RecordOrder,
    ) -> Result<(), Error> {
        if from != to {
            let place = self.planned(records, from, to)?;
            self.memory.marshal(&self.plans[place].1)?;
            self.marshals += 1;
        }
        self.lies = (to != RecordOrder::Aos).then(|| (records.clone(), to));
        Ok(())
    }

    /// The place of that conversion's plan.
    fn planned(
        &mut self,
        records: &RecordConversion,
        from: RecordOrder,
        to: RecordOrder,
    ) -> Result<usize, Error> {
        let wanted = (records.clone().from(RecordOrder::Aos), from, to);
        if let Some(place) = self.plans.iter().position(|(known, _)| *known == wanted) {
            return Ok(place);
        }
        let plan = self.memory.plan(&records.clone().from(from).to(to))?;
        self.plans.push((wanted, plan));
        Ok(self.plans.len() - 1)
    }
}
