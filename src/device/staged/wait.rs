//! How a stream waits for work on the host: by a stream memory operation where the runtime has one that works, else in a
//! host function.
//!
//! Blocking in a host function needs a runtime that runs the host functions of different streams independently: on one
//! that has a single thread for all, operations on several streams that wait for each other would stop it.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::base::Result;
use crate::device::Stream;
use crate::device::staged::api::{Api, WaitValue};
use crate::device::staged::node::{self, Node};
use crate::device::staged::pinned::{Pinned, Pool};
use crate::device::staged::proxy::DONE;
use crate::{err, info};

/// `MU_STREAM_WAIT_VALUE_EQ`.
const EQUAL: u32 = 1;
/// How long the first wait, on a flag that is set already, may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How streams of this runtime wait, outside of capture and inside.
#[derive(Clone, Copy)]
pub struct Waits {
    eager: Option<WaitValue>,
    captured: Option<WaitValue>,
}

impl Waits {
    /// Tries the stream memory operation on a stream of its own, and says at INFO what was chosen.
    pub fn choose(api: &Api, pool: &Arc<Pool>) -> Self {
        let Some(wait) = api.wait_value else {
            info!(Init, "Staged operations: streams wait in host functions (no muStreamWaitValue32)");
            return Self { eager: None, captured: None };
        };
        match api.relaxed(|| probe(api, pool, wait)) {
            Ok(waits) => {
                let how = if waits.captured.is_some() { "" } else { ", in graphs in host functions" };
                info!(Init, "Staged operations: streams wait by muStreamWaitValue32{how}");
                waits
            }
            Err(error) => {
                api.forget_error();
                info!(Init, "Staged operations: streams wait in host functions ({error})");
                Self { eager: None, captured: None }
            }
        }
    }

    /// Puts the wait for `node` on the stream.
    ///
    /// # Safety
    /// The node is not released before the stream (or the graph) is past the wait.
    pub unsafe fn put(self, api: &Api, stream: Stream, node: *const Node, captured: bool) -> Result<()> {
        let wait = if captured { self.captured } else { self.eager };
        match wait {
            // SAFETY: the caller's promise keeps the node and so its flag.
            Some(wait) => unsafe { wait_value(api, wait, stream, &(*node).buffer) },
            // SAFETY: the caller's promise.
            None => unsafe { api.call(stream, node::hold, node.cast_mut().cast()) },
        }
    }
}

/// # Safety
/// The buffer lives until the stream is past the wait.
unsafe fn wait_value(api: &Api, wait: WaitValue, stream: Stream, buffer: &Pinned) -> Result<()> {
    // SAFETY: a registered word; the caller's promise.
    let code = unsafe { wait(stream.0, buffer.flag_view(), DONE, EQUAL) };
    api.musa.check("muStreamWaitValue32", code)
}

fn probe(api: &Api, pool: &Arc<Pool>, wait: WaitValue) -> Result<Waits> {
    let buffer = pool.take(0)?;
    buffer.flag().store(DONE, Ordering::Release);
    let stream = api.new_stream()?;
    // SAFETY: the buffer is kept for good if the stream does not come past the wait.
    let result = unsafe { wait_value(api, wait, stream, &buffer) }.and_then(|()| passes(api, stream));
    if let Err(error) = result {
        std::mem::forget(buffer);
        return Err(error);
    }
    // SAFETY: the graph is thrown away without a launch.
    let captured = api.try_capture(stream, || unsafe { wait_value(api, wait, stream, &buffer) });
    let captured = captured.is_some_and(|result| result.is_ok());
    if !captured {
        api.forget_error();
    }
    api.destroy_stream(stream)?;
    Ok(Waits { eager: Some(wait), captured: captured.then_some(wait) })
}

fn passes(api: &Api, stream: Stream) -> Result<()> {
    let start = Instant::now();
    while !api.idle(stream)? {
        if start.elapsed() > PATIENCE {
            return Err(err!(
                Device,
                "muStreamWaitValue32: a stream did not see a flag in host memory within {} s",
                PATIENCE.as_secs()
            ));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}
