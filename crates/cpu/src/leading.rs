//! A plan for a matrix with leading dimensions, and the threads to run it on.

use std::mem::MaybeUninit;

use turntile_perm::Padding;
use turntile_plan::{Flaw, LeadingPlan, LeadingWay, Plan, Stage};
use turntile_simd::Byte;

use crate::exchange::Exchange;
use crate::executor::{Executor, RunError, Workspace, run_way, way_of};
use crate::finish::Finish;
use crate::pitched::{self, Matrix};
use crate::views;
use crate::way::HostWay;

/// Runs one plan, as often as wanted.
#[derive(Clone, Debug)]
pub struct LeadingExecutor {
    plan: LeadingPlan,
    steps: Steps,
    threads: usize,
}

/// What is run of a plan's way.
#[derive(Clone, Debug)]
enum Steps {
    Nothing,
    Turned { parts: usize },
    Buffered,
    Slid,
    Around { together: Option<Box<HostWay>>, dense: Box<Executor>, apart: Option<Box<HostWay>> },
    Exchanged { dense: Box<Executor> },
}

impl LeadingExecutor {
    /// For `plan`, over at most `threads` threads.
    ///
    /// # Errors
    /// [`RunError::Plan`]: the plan was put together wrongly.
    pub fn new(plan: LeadingPlan, threads: usize) -> Result<Self, RunError> {
        plan.check()?;
        let (threads, problem) = (threads.max(1), plan.problem);
        let (leading, elem_bytes) = (*problem.leading(), problem.elem_bytes());
        let dense = |plan: &Plan| Executor::new(plan.clone(), threads).map(Box::new);
        let rows = |stage: &Option<Box<Stage>>| {
            let way = stage.as_ref().map(|stage| way_of(stage, 1, elem_bytes, threads));
            way.transpose().map(|way| way.map(Box::new))
        };
        let steps = match &plan.way {
            LeadingWay::Nothing => Steps::Nothing,
            LeadingWay::Turned => {
                let parts = Matrix { leading, elem_bytes }.turning_parts(threads);
                Steps::Turned { parts }
            }
            LeadingWay::Buffered => Steps::Buffered,
            LeadingWay::Slid => Steps::Slid,
            LeadingWay::Around { together, dense: plan, apart, .. } => Steps::Around {
                together: rows(together)?,
                dense: dense(plan)?,
                apart: rows(apart)?,
            },
            LeadingWay::Exchanged { dense: plan } => Steps::Exchanged { dense: dense(plan)? },
            way => {
                let (problem, way) = (problem.to_string(), way.name());
                return Err(Flaw::Leading { problem, way }.into());
            }
        };
        Ok(LeadingExecutor { plan, steps, threads })
    }

    /// The plan.
    pub fn plan(&self) -> &LeadingPlan {
        &self.plan
    }

    /// Bytes of workspace that a run needs.
    pub fn workspace_bytes(&self) -> usize {
        let stage = |way: &Option<Box<HostWay>>| way.as_ref().map_or(0, |way| way.needs().bytes());
        match &self.steps {
            Steps::Nothing | Steps::Turned { .. } | Steps::Slid => 0,
            Steps::Buffered => self.plan.problem.bytes(),
            Steps::Around { together, dense, apart } => {
                let stages = stage(together).max(stage(apart)).max(dense.workspace_bytes());
                self.kept_words() * 8 + stages
            }
            Steps::Exchanged { dense } => dense.workspace_bytes(),
        }
    }

    /// Whether elements can be [finished](Finish) in the pass that brings them to their places.
    pub fn can_finish(&self) -> bool {
        matches!(self.steps, Steps::Turned { .. })
    }

    fn kept_words(&self) -> usize {
        self.plan.kept_workspace() / 8
    }

    /// Moves the matrix at the start of `data`, which are at least as long as both its places. Elements of the
    /// source's place that are none of the result hold elements of before, of which nothing is said; every other byte
    /// is as it was.
    ///
    /// `finish`, if given, is told of every element of the result, where [`can_finish`](Self::can_finish) says so, and
    /// of no other. `done` is told after each pass how many are done, of [`LeadingPlan::passes`].
    ///
    /// # Errors
    /// [`RunError::Span`] and [`RunError::Workspace`], before anything is touched.
    pub fn run(
        &self,
        data: &mut [Byte],
        workspace: &mut Workspace,
        finish: Option<&Finish>,
        done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        self.run_in(data, workspace.words_mut(), finish, done)
    }

    /// The same with a workspace that lies in memory of any origin.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_in(
        &self,
        data: &mut [Byte],
        words: &mut [MaybeUninit<u64>],
        finish: Option<&Finish>,
        mut done: impl FnMut(usize),
    ) -> Result<(), RunError> {
        let problem = &self.plan.problem;
        let (expected, got) = (problem.span_bytes(), data.len());
        if got < expected {
            return Err(RunError::Span { expected, got });
        }
        let (need, have) = (self.workspace_bytes(), size_of_val(words));
        if need > have {
            return Err(RunError::Workspace { need, have });
        }
        let data = &mut data[..expected];
        let matrix = Matrix { leading: *problem.leading(), elem_bytes: problem.elem_bytes() };
        let mut passes = 0;
        let mut pass = |count: usize| {
            passes += count;
            done(passes);
        };
        match &self.steps {
            Steps::Nothing => {}
            Steps::Turned { parts } => {
                matrix.turn(data, *parts, finish);
                pass(1);
            }
            Steps::Buffered => {
                matrix.turn_through(data, bytes(words, problem.bytes()));
                pass(2);
            }
            Steps::Slid => {
                matrix.slide(data, self.threads);
                pass(1);
            }
            Steps::Around { together, dense, apart } => {
                let (kept, words) = words.split_at_mut(self.kept_words());
                let kept = bytes(kept, self.plan.kept_bytes());
                // To look for gaps takes time where there are none in the way too.
                if !kept.is_empty() {
                    matrix.keep(data, kept);
                }
                if let Some(way) = together {
                    run_way(way, data, words);
                    pass(1);
                }
                dense.run_checked(&mut data[..problem.bytes()], words, &mut |_| pass(1));
                if let Some(way) = apart {
                    run_way(way, data, words);
                    pass(1);
                }
                if !kept.is_empty() {
                    matrix.restore(data, kept);
                }
            }
            Steps::Exchanged { dense } => {
                let [source, result] = matrix.in_bytes();
                let rows = Padding::new(source.rows(), source.cols(), source.pitch());
                let exchange = Exchange::new(rows.expect("a matrix has rows"), self.threads);
                exchange.together(&mut data[..source.span()]);
                pass(1);
                dense.run_checked(&mut data[..problem.bytes()], words, &mut |_| pass(1));
                exchange.apart(&mut data[..source.span()]);
                pass(1);
                pitched::slide(data, source, result, self.threads);
                pass(1);
            }
        }
        Ok(())
    }
}

/// The first bytes of words.
fn bytes(words: &mut [MaybeUninit<u64>], count: usize) -> &mut [Byte] {
    &mut views::split_flags(words, 0).1[..count]
}
