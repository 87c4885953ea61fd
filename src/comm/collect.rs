//! Small exchanges between the ranks of a working communicator, by its own collectives.
use std::sync::Arc;

use crate::base::Result;
use crate::base::types::{Collective, DataType};
use crate::comm::Comm;
use crate::err;
use crate::exec::{BoundOp, Job, job, run_now};

impl Comm {
    /// Everyone's bytes, by rank. All ranks pass the same number of bytes.
    pub(super) fn all_gather_bytes(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let core = self.core()?;
        let mut all = vec![0u8; mine.len() * self.nranks];
        let mut planner = core.planner.lock().map_err(|_| err!(Internal, "an earlier operation panicked"))?;
        let plan = planner.plan(Collective::AllGather, 0, mine.len(), 1);
        drop(planner);
        let (reduction, scale, op_code) = job::reduction(None, DataType::Uint8, self.nranks);
        let op = BoundOp {
            coll: Collective::AllGather,
            dtype: DataType::Uint8,
            count: mine.len(),
            root: 0,
            nranks: self.nranks,
            plan,
            input: mine.as_ptr(),
            output: all.as_mut_ptr(),
            reduction,
            scale,
            op_code,
        };
        let mut job = Job::default();
        job.push(op, core.piece_bytes);
        job.end_stage();
        run_now(&Arc::clone(core), job)?;
        Ok(all.chunks_exact(mine.len().max(1)).map(<[u8]>::to_vec).collect())
    }
}
