//! The end of a communicator: finalize, destroy, abort.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::base::env::Env;
use crate::base::{ErrorKind, Result};
use crate::comm::{Comm, lock};
use crate::exec::Core;
use crate::{bail, err, info};

/// How far a communicator's life has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Alive,
    Finalized,
    Ended,
}

/// How long an abort waits for tasks to notice.
const ABORT_PATIENCE: Duration = Duration::from_secs(10);

impl Comm {
    /// Waits until everything that was started on the communicator is complete. Once only.
    pub fn finalize(&self) -> Result<()> {
        {
            let mut stage = lock(&self.stage);
            match *stage {
                Stage::Alive => *stage = Stage::Finalized,
                Stage::Finalized => bail!(InvalidArgument, "the communicator was finalized before"),
                Stage::Ended => bail!(InvalidArgument, "the communicator was destroyed"),
            }
        }
        let core = self.core()?;
        self.drain(core, Env::get().timeout.limit())
    }

    /// An operation may be started.
    ///
    /// # Errors
    /// As for [`Comm::core`]; InvalidUsage after finalize, destroy or abort.
    pub fn usable(&self) -> Result<()> {
        match *lock(&self.stage) {
            Stage::Alive => self.core().map(drop),
            Stage::Finalized => {
                Err(err!(InvalidUsage, "the communicator was finalized: no operation may follow"))
            }
            Stage::Ended => Err(err!(InvalidUsage, "the communicator was destroyed or aborted")),
        }
    }

    /// Finalizes if that was not done, and lets go of everything.
    pub fn destroy(self: &Arc<Self>) -> Result<()> {
        let before = std::mem::replace(&mut *lock(&self.stage), Stage::Ended);
        let core = match self.core.get() {
            Some(Ok(core)) => core,
            Some(Err(_)) => return Ok(()),
            None => return self.abort(),
        };
        let result = match before {
            Stage::Ended => bail!(InvalidArgument, "the communicator was destroyed before"),
            Stage::Finalized => Ok(()),
            Stage::Alive if core.failure().is_some() => Ok(()),
            Stage::Alive => self.drain(core, Env::get().timeout.limit()),
        };
        info!(
            Init,
            "comm {:p} rank {} nranks {} - Destroy COMPLETE",
            Arc::as_ptr(core),
            self.rank,
            self.nranks
        );
        core.retire(err!(InvalidUsage, "the communicator was destroyed"));
        close(core);
        result
    }

    /// Stops everything in progress, here and, through shared memory and closed connections, at the peers.
    pub fn abort(self: &Arc<Self>) -> Result<()> {
        *lock(&self.stage) = Stage::Ended;
        // Pairs with the load in the waits of the bootstrap.
        self.cancelled.store(true, Ordering::Release);
        let Some(Ok(core)) = self.core.get() else { return Ok(()) };
        core.fail(err!(Aborted, "rank {} aborted the communicator", self.rank), None);
        // What failed before was reported then; an abort is how a failed communicator ends.
        let result = self.settle(core, Some(ABORT_PATIENCE));
        info!(
            Init,
            "comm {:p} rank {} nranks {} - Abort COMPLETE",
            Arc::as_ptr(core),
            self.rank,
            self.nranks
        );
        close(core);
        result
    }

    /// Waits until every task is over; the error that ended them.
    fn drain(&self, core: &Core, limit: Option<Duration>) -> Result<()> {
        self.settle(core, limit)?;
        match core.failure() {
            Some(error) if error.kind != ErrorKind::Aborted => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until every task is over, and helps other work of this process along meanwhile.
    fn settle(&self, core: &Core, limit: Option<Duration>) -> Result<()> {
        let start = Instant::now();
        while !core.idle() {
            self.runtime.help();
            if start.elapsed() > Duration::from_millis(1) {
                std::thread::sleep(Duration::from_micros(100));
            } else {
                std::thread::yield_now();
            }
            if limit.is_some_and(|limit| start.elapsed() > limit) {
                bail!(
                    Timeout,
                    "operations of rank {} are not complete after {} s",
                    self.rank,
                    start.elapsed().as_secs()
                );
            }
        }
        Ok(())
    }
}

fn close(core: &Core) {
    core.engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner).close();
}
