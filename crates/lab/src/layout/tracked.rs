//! Buffers that track the layout of their records and are converted if a use needs another: the run-time part of DL (thesis
//! section 5.5.2). Explicit calls replace DL's interception of OpenCL. DL's compiler (5.5.1) and the paged coherence of 5.2
//! are not built.
//!
//! | before | event | conversion | afterwards |
//! |---|---|---|---|
//! | any | [`write`](Tracked::write) | none | untransformed |
//! | any | [`raw`](Tracked::raw), [`read`](Tracked::read): no layout, or a part | to AoS | untransformed |
//! | requested layout | [`bind`](Tracked::bind), [`fill`](Tracked::fill) | none | unchanged |
//! | untransformed | [`bind`](Tracked::bind) | to the requested layout | requested layout |
//! | another layout of these records | [`bind`](Tracked::bind) | directly to the requested layout | requested layout |
//! | other records | [`bind`](Tracked::bind) | to AoS, then to the requested layout | requested layout |
//! | any | [`fill`](Tracked::fill): all records are overwritten | none | requested layout |
//! | any | [`copied_to`](Tracked::copied_to) | none | the copy has its source's layout |
//!
//! Memory in Rust is never uninitialised: buffers that are uninitialised in the thesis are untransformed here.

use turntile::layout::{RecordConversion, RecordOrder};
use turntile::run::Data;
use turntile::{Error, RawElements, Transpose, Transposer};

/// Memory whose records can be converted: bytes of a host, or GPU memory with a stream.
pub trait Marshal {
    /// Planned conversion.
    type Plan;

    /// Plans a conversion.
    ///
    /// # Errors
    /// Those of planning.
    fn plan(&mut self, conversion: &Transpose) -> Result<Self::Plan, Error>;

    /// Converts the memory, or queues the conversion.
    ///
    /// # Errors
    /// The memory does not fit the plan. It is unchanged.
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

/// Memory that tracks the layout of its records.
///
/// ```
/// use turntile::RawElements;
/// use turntile::layout::{RecordConversion, RecordOrder};
/// use turntile_lab::layout::Tracked;
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
    /// Records that are not in AoS order, and their order. `None`: the memory is untransformed.
    lies: Option<(RecordConversion, RecordOrder)>,
    /// Conversions planned so far, with their plans.
    plans: Vec<(Transposed, M::Plan)>,
    marshals: usize,
}

/// Records, their order before and their order after.
type Transposed = (RecordConversion, RecordOrder, RecordOrder);

impl<M: Marshal> Tracked<M> {
    /// Creates untransformed memory.
    pub fn new(memory: M) -> Self {
        Tracked { memory, lies: None, plans: Vec::new(), marshals: 0 }
    }

    /// Returns the records and their order; `None` if the memory is untransformed.
    pub fn layout(&self) -> Option<(&RecordConversion, RecordOrder)> {
        self.lies.as_ref().map(|(records, layout)| (records, *layout))
    }

    /// Returns the number of conversions that were run.
    pub fn marshals(&self) -> usize {
        self.marshals
    }

    /// Plans a conversion in advance. [`bind`](Self::bind) then allocates at most the workspace.
    ///
    /// # Errors
    /// The records do not have such a layout, or no plan is feasible.
    pub fn plan(
        &mut self,
        records: &RecordConversion,
        from: RecordOrder,
        to: RecordOrder,
    ) -> Result<(), Error> {
        self.planned(records, from, to).map(drop)
    }

    /// Returns the memory for a use that reads or changes these records in this order.
    ///
    /// # Errors
    /// The records do not have such a layout, no plan is feasible, or the memory has another size. The memory is then
    /// unchanged or untransformed.
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
                // The requested conversion is planned first: if that fails, everything is unchanged.
                self.planned(&records, RecordOrder::Aos, layout)?;
                self.raw()?;
                RecordOrder::Aos
            }
        };
        self.convert(&records, from, layout)?;
        Ok(&mut self.memory)
    }

    /// Returns the memory for a use that overwrites all records, in this order. The old contents are not converted.
    pub fn fill(&mut self, records: &RecordConversion, layout: RecordOrder) -> &mut M {
        self.lies = Some((records.clone().from(RecordOrder::Aos), layout));
        self.lies.take_if(|(_, layout)| *layout == RecordOrder::Aos);
        &mut self.memory
    }

    /// Returns the memory, untransformed, for a use that needs no layout or uses a part of the memory.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    pub fn raw(&mut self) -> Result<&mut M, Error> {
        if let Some((records, layout)) = self.lies.clone() {
            self.convert(&records, layout, RecordOrder::Aos)?;
        }
        Ok(&mut self.memory)
    }

    /// Returns the memory, untransformed, to be read.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    pub fn read(&mut self) -> Result<&M, Error> {
        self.raw().map(|memory| &*memory)
    }

    /// Returns the memory, to be overwritten completely in AoS order. The old contents are not converted.
    pub fn write(&mut self) -> &mut M {
        self.lies = None;
        &mut self.memory
    }

    /// Records that `copy` now has the same bytes as this memory.
    pub fn copied_to(&self, copy: &mut Self) {
        copy.lies = self.lies.clone();
    }

    /// Returns the memory itself, untransformed.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
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

    /// Returns the position of the conversion's plan in `plans`, planning it if needed.
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
