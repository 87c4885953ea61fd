//! The engine against the definition of each collective: ranks as threads of this process, over one region.
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use crate::algo::{Lane, Program, pairwise};
use crate::bail;
use crate::base::Result;
use crate::base::types::{Collective, DataType, Protocol, Rank, RedOp, Scalar};
use crate::channel::layout::{FifoId, test_region};
use crate::channel::slots::Slots;
use crate::device::{Claim, Export, Runtime, Stream, Work};
use crate::exec::{BoundOp, Core, Engine, HostView, Job, Links, Parts, PeerMemory, Wire, job, run_now};
use crate::plan::{Algorithm, Choice, Geometry, Plan, Planner, Shape};
use crate::transport::shm::{ShmRecv, ShmSend};
use crate::transport::{RecvEnd, SendEnd};

/// A runtime without devices: memory is the test's own.
struct NoDevice;

impl Runtime for NoDevice {
    fn version_name(&self) -> String {
        "test".into()
    }
    fn device_count(&self) -> Result<i32> {
        Ok(1)
    }
    fn current_device(&self) -> Result<i32> {
        Ok(0)
    }
    fn set_device(&self, _: i32) -> Result<()> {
        Ok(())
    }
    fn bus_id(&self, _: i32) -> Result<String> {
        Ok(String::new())
    }
    fn alloc(&self, _: usize) -> Result<*mut std::ffi::c_void> {
        bail!(Unsupported, "no device")
    }
    fn free(&self, _: *mut std::ffi::c_void) -> Result<()> {
        Ok(())
    }
    fn export(&self) -> Result<Option<Export>> {
        Ok(None)
    }
    fn export_offset(&self, _: *const u8) -> Option<u64> {
        None
    }
    fn store(&self, _: *mut std::ffi::c_void, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn claim(&self, _: Stream) -> Result<Claim> {
        Ok(Claim::Inline)
    }
    fn release(&self, _: Stream) {}
    fn hand_over(&self, _: Stream, _: Box<dyn Work>) {}
    fn enqueue(&self, _: Stream, _: Box<dyn Work>) -> Result<()> {
        Ok(())
    }
    fn help(&self) {}
}

struct RegionLinks(HostView);

impl Links for RegionLinks {
    fn send_end(&mut self, to: Rank, wire: Wire) -> Result<Box<dyn SendEnd>> {
        let which = FifoId { lane: wire as usize, from: self.0.me, to };
        Ok(Box::new(ShmSend::new(self.0.region.clone(), which)))
    }
    fn recv_end(&mut self, from: Rank, wire: Wire) -> Result<Box<dyn RecvEnd>> {
        let which = FifoId { lane: wire as usize, from, to: self.0.me };
        Ok(Box::new(ShmRecv::new(self.0.region.clone(), which)))
    }
}

pub(super) const PIECE: usize = 4096;

/// The ranks of one communicator; `allowed` forces algorithms.
pub(super) fn world(n: usize, allowed: &[Algorithm]) -> Vec<Arc<Core>> {
    let region = test_region(n, PIECE);
    let core = |me: Rank| {
        let host = HostView { region: region.clone(), me, ranks: (0..n).collect() };
        let shape = Shape { nranks: n, one_region: n > 1, direct: n > 1, cores: 2 };
        let choice = Choice { allowed: allowed.to_vec().into(), ..Choice::default() };
        let planner = Planner::new(me, shape, choice, (0..n).collect());
        let slots = (n > 1).then(|| Slots::new(region.clone(), me));
        let links = Box::new(RegionLinks(host.clone()));
        let engine = Engine::new(me, slots, vec![PeerMemory::Same; n], &NoDevice, links);
        let parts = Parts {
            nranks: n,
            name: "test".into(),
            host: Some(host),
            planner,
            crowded: true,
            networked: false,
            timeout_ns: 60_000_000_000,
            piece_bytes: PIECE,
        };
        Arc::new(Core::new(parts, engine))
    };
    (0..n).map(core).collect()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) coll: Collective,
    pub(super) op: Option<RedOp>,
    pub(super) count: usize,
    pub(super) root: Rank,
}

pub(super) fn bind(core: &Core, call: Call, input: *const i64, output: *mut i64) -> BoundOp {
    let plan = core.planner.lock().unwrap().plan(call.coll, call.root, call.count, 8);
    bound(core, call, plan, input, output)
}

pub(super) fn bound(
    core: &Core,
    call: Call,
    plan: Arc<Plan>,
    input: *const i64,
    output: *mut i64,
) -> BoundOp {
    let (reduction, scale, op_code) = job::reduction(call.op, DataType::Int64, core.nranks);
    BoundOp {
        coll: call.coll,
        dtype: DataType::Int64,
        count: call.count,
        root: call.root,
        nranks: core.nranks,
        plan,
        input: input.cast(),
        output: output.cast(),
        reduction,
        scale,
        op_code,
    }
}

pub(super) fn value(rank: Rank, index: usize) -> i64 {
    (rank as i64 + 2) * 1_000_003 + index as i64 * 7
}

fn run(core: &Arc<Core>, op: BoundOp) -> Result<()> {
    let mut job = Job::default();
    job.push(op, PIECE);
    job.end_stage();
    run_now(core, job)
}

/// Elements of input and output, in counts.
pub(super) fn extents(coll: Collective, n: usize) -> (usize, usize) {
    match coll {
        Collective::AllGather | Collective::Gather => (1, n),
        Collective::ReduceScatter | Collective::Scatter => (n, 1),
        Collective::AlltoAll => (n, n),
        _ => (1, 1),
    }
}

/// What element `i` of the output of `me` must be; `None` where the output is not defined.
pub(super) fn expected(call: Call, n: usize, me: Rank, i: usize) -> Option<i64> {
    let (block, at) = (i / call.count, i % call.count);
    let reduce = |index: usize| {
        let all = (0..n).map(|q| value(q, index));
        match call.op {
            Some(RedOp::Max) => all.max().unwrap(),
            Some(RedOp::Min) => all.min().unwrap(),
            Some(RedOp::Prod) => all.fold(1, i64::wrapping_mul),
            Some(RedOp::Avg) => all.sum::<i64>() / n as i64,
            Some(RedOp::PreMulSum(Scalar(k))) => all.map(|v| v * k as i64).sum(),
            _ => all.sum(),
        }
    };
    match call.coll {
        Collective::AllReduce => Some(reduce(i)),
        Collective::Reduce => (me == call.root).then(|| reduce(i)),
        Collective::ReduceScatter => Some(reduce(me * call.count + i)),
        Collective::AllGather => Some(value(block, at)),
        Collective::Gather => (me == call.root).then(|| value(block, at)),
        Collective::Scatter => Some(value(call.root, me * call.count + i)),
        Collective::AlltoAll => Some(value(block, me * call.count + at)),
        _ => Some(value(call.root, i)),
    }
}

/// Runs the calls one after the other on `n` ranks and checks every output.
fn check(n: usize, allowed: &[Algorithm], calls: &[Call]) {
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (me, core) in world(n, allowed).into_iter().enumerate() {
            let failures = &failures;
            scope.spawn(move || {
                for call in calls {
                    let (ins, outs) = extents(call.coll, n);
                    let input: Vec<i64> = (0..ins * call.count).map(|i| value(me, i)).collect();
                    let mut output = vec![-1i64; outs * call.count];
                    let op = bind(&core, *call, input.as_ptr(), output.as_mut_ptr());
                    run(&core, op).unwrap();
                    let wrong = (0..output.len())
                        .find(|i| expected(*call, n, me, *i).is_some_and(|w| w != output[*i]));
                    if let Some(i) = wrong {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{call:?} n={n} rank {me}: element {i} is {}", output[i]));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

const COLLECTIVES: [Collective; 8] = [
    Collective::AllReduce,
    Collective::Reduce,
    Collective::ReduceScatter,
    Collective::AllGather,
    Collective::Gather,
    Collective::Scatter,
    Collective::AlltoAll,
    Collective::Broadcast,
];

#[test]
fn every_collective_is_right_on_every_algorithm_and_rank_count() {
    for n in 1..=8 {
        for algorithm in Algorithm::ALL {
            let mut calls = Vec::new();
            for coll in COLLECTIVES {
                for count in [1, 3, 17, 1021, 5000] {
                    for root in [0, n - 1] {
                        calls.push(Call { coll, op: Some(RedOp::Sum), count, root });
                    }
                }
            }
            check(n, &[algorithm], &calls);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_sequence_of_calls_is_right(
        n in 1usize..=5,
        picks in prop::collection::vec((0usize..8, 1usize..3000, 0usize..5, 0usize..6), 1..40),
    ) {
        let ops = [RedOp::Sum, RedOp::Prod, RedOp::Max, RedOp::Min, RedOp::Avg, RedOp::PreMulSum(Scalar(3))];
        let call = |(coll, count, root, op): (usize, usize, usize, usize)| Call {
            coll: COLLECTIVES[coll],
            op: Some(ops[op]),
            count,
            root: root % n,
        };
        let calls: Vec<Call> = picks.into_iter().map(call).collect();
        check(n, &[], &calls);
    }
}

fn p2p(core: &Core, coll: Collective, peer: Rank, data: &mut [i64]) -> BoundOp {
    let step = if coll == Collective::Send { pairwise::send(peer) } else { pairwise::recv(peer) };
    let geometry = Geometry::Whole { count: data.len() };
    let plan = Plan {
        algorithm: Algorithm::Pairwise,
        protocol: Protocol::Simple,
        program: Arc::new(Program { lanes: vec![Lane::new(vec![step])] }),
        input: geometry.clone(),
        output: geometry,
    };
    let call = Call { coll, op: None, count: data.len(), root: peer };
    bound(core, call, Arc::new(plan), data.as_ptr(), data.as_mut_ptr())
}

#[test]
fn sends_and_receives_of_a_group_do_not_wait_for_each_other() {
    for len in [0, 1, 700, 20_000] {
        let n = 3;
        std::thread::scope(|scope| {
            for (me, core) in world(n, &[]).into_iter().enumerate() {
                scope.spawn(move || {
                    let mut out = vec![me as i64; len];
                    let mut ins = vec![vec![-1i64; len]; n];
                    let mut job = Job::default();
                    for peer in (0..n).filter(|p| *p != me) {
                        job.push(p2p(&core, Collective::Send, peer, &mut out), PIECE);
                        job.push(p2p(&core, Collective::Recv, peer, &mut ins[peer]), PIECE);
                    }
                    job.end_stage();
                    run_now(&core, job).unwrap();
                    for peer in (0..n).filter(|p| *p != me) {
                        assert!(ins[peer].iter().all(|v| *v == peer as i64));
                    }
                });
            }
        });
    }
}

#[test]
fn different_calls_are_an_error_on_all_ranks() {
    let results: Vec<_> = std::thread::scope(|scope| {
        let spawn = |(me, core): (Rank, Arc<Core>)| {
            scope.spawn(move || {
                let count = if me == 1 { 5 } else { 4 };
                let mut data = vec![0i64; 8];
                let call = Call { coll: Collective::AllReduce, op: Some(RedOp::Sum), count, root: 0 };
                run(&core, bind(&core, call, data.as_ptr(), data.as_mut_ptr()))
            })
        };
        let threads: Vec<_> = world(3, &[]).into_iter().enumerate().map(spawn).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(results.iter().all(|r| r.is_err()), "{results:?}");
    assert!(results.iter().any(|r| r.as_ref().is_err_and(|e| e.message.contains("count 5"))), "{results:?}");
}

#[test]
fn different_roots_of_a_broadcast_are_found_by_the_next_call() {
    let results: Vec<_> = std::thread::scope(|scope| {
        let spawn = |(me, core): (Rank, Arc<Core>)| {
            scope.spawn(move || {
                let mut data = vec![0i64; 8];
                let mut call =
                    Call { coll: Collective::Broadcast, op: None, count: 4, root: usize::from(me == 1) };
                let first = run(&core, bind(&core, call, data.as_ptr(), data.as_mut_ptr()));
                call = Call { coll: Collective::AllReduce, op: Some(RedOp::Sum), count: 4, root: 0 };
                first.and(run(&core, bind(&core, call, data.as_ptr(), data.as_mut_ptr())))
            })
        };
        let threads: Vec<_> = world(3, &[]).into_iter().enumerate().map(spawn).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(results.iter().all(|r| r.is_err()), "{results:?}");
}

#[test]
fn an_abort_wakes_a_rank_that_waits() {
    let cores = world(2, &[]);
    let waiter = Arc::clone(&cores[0]);
    let thread = std::thread::spawn(move || {
        let mut data = [0i64];
        let call = Call { coll: Collective::AllReduce, op: Some(RedOp::Sum), count: 1, root: 0 };
        run(&waiter, bind(&waiter, call, data.as_ptr(), data.as_mut_ptr()))
    });
    std::thread::sleep(std::time::Duration::from_millis(30));
    cores[1].fail(crate::err!(Aborted, "test"), None);
    let error = thread.join().unwrap().unwrap_err();
    assert!(error.message.contains("rank 1 aborted"), "{error}");
}
