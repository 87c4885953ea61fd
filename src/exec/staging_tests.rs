//! The engine over device memory that the host cannot touch: any access to it by the host would end the test program.
use std::sync::Arc;

use smallvec::SmallVec;

use crate::algo::{Lane, Program, Step, pairwise};
use crate::base::types::{Collective, Protocol, Rank, RedOp};
use crate::device::Stream;
use crate::device::staged::mock::{self, KINDS, Kind};
use crate::err;
use crate::exec::tests::{Call, PIECE, bind, bound, expected, extents, value, world};
use crate::exec::{BoundOp, Core, Job, Launch, launch_all};
use crate::plan::{Algorithm, Geometry, Plan};

const UNTOUCHED: i64 = -77;

/// One rank of a communicator with a stream.
struct Member {
    core: Arc<Core>,
    me: Rank,
    stream: Stream,
}

fn members(kind: Kind, n: usize, allowed: &[Algorithm]) -> Vec<Member> {
    let cores = world(n, allowed).into_iter().enumerate();
    cores.map(|(me, core)| Member { core, me, stream: mock::stream(kind) }).collect()
}

impl Member {
    fn launch(&self, ops: impl IntoIterator<Item = BoundOp>) -> Launch {
        let mut job = Job::default();
        for op in ops {
            job.push(op, PIECE);
            job.end_stage();
        }
        let (core, device) = (Arc::clone(&self.core), self.me as i32);
        Launch { core, device, job, stream: self.stream, joined: SmallVec::new() }
    }
}

fn launch(kind: Kind, launches: Vec<Launch>) {
    for one in launches {
        launch_all(mock::runtime(kind), SmallVec::from_buf([one])).unwrap();
    }
}

fn input_of(me: Rank, len: usize) -> Vec<i64> {
    (0..len).map(|i| value(me, i)).collect()
}

fn call(coll: Collective, op: Option<RedOp>, root: Rank) -> Call {
    Call { coll, op, count: 1000, root }
}

fn all_calls(n: usize) -> Vec<Call> {
    let reducing = [Collective::AllReduce, Collective::Reduce, Collective::ReduceScatter];
    let moving = [
        Collective::AllGather,
        Collective::Gather,
        Collective::Scatter,
        Collective::AlltoAll,
        Collective::Broadcast,
    ];
    let reducing = reducing.map(|coll| call(coll, Some(RedOp::Avg), n - 1));
    reducing.into_iter().chain(moving.map(|coll| call(coll, None, n / 2))).collect()
}

#[test]
fn every_collective_is_right_and_writes_only_its_own_outputs() {
    for kind in KINDS {
        for (n, allowed) in [(1, &[][..]), (3, &[]), (4, &[Algorithm::TwoShot]), (4, &[Algorithm::Ring])] {
            let members = members(kind, n, allowed);
            for call in all_calls(n) {
                let (ins, outs) = extents(call.coll, n);
                let inputs: Vec<_> =
                    (0..n).map(|me| mock::device_copy(&input_of(me, ins * call.count))).collect();
                let outputs: Vec<_> =
                    (0..n).map(|_| mock::device_copy(&vec![UNTOUCHED; outs * call.count + 8])).collect();
                let launches =
                    members.iter().map(|m| m.launch([bind(&m.core, call, inputs[m.me], outputs[m.me])]));
                launch(kind, launches.collect());
                for m in &members {
                    mock::synchronize(m.stream);
                    let output = mock::read(outputs[m.me], outs * call.count + 8);
                    for (i, got) in output.into_iter().enumerate() {
                        let inside = i < outs * call.count;
                        let wanted = inside.then(|| expected(call, n, m.me, i)).flatten();
                        assert_eq!(
                            got,
                            wanted.unwrap_or(UNTOUCHED),
                            "{kind:?} {call:?} rank {} at {i}",
                            m.me
                        );
                    }
                    assert_eq!(mock::read(inputs[m.me], ins * call.count), input_of(m.me, ins * call.count));
                }
            }
        }
    }
}

#[test]
fn in_place_calls_and_calls_that_use_results_of_their_group_alias_as_on_the_device() {
    let kind = Kind::WaitsByValue;
    let members = members(kind, 3, &[]);
    let buffers: Vec<_> = (0..3).map(|me| mock::device_copy(&input_of(me, 3000))).collect();
    let launches = members.iter().map(|m| {
        let at = buffers[m.me];
        let mine = at.wrapping_add(m.me * 1000);
        let sum = call(Collective::ReduceScatter, Some(RedOp::Sum), 0);
        // The sum of everything, by way of its parts: reduce-scatter, then all-gather, both in place.
        let gather = call(Collective::AllGather, None, 0);
        m.launch([bind(&m.core, sum, at, mine), bind(&m.core, gather, mine, at)])
    });
    launch(kind, launches.collect());
    for m in &members {
        mock::synchronize(m.stream);
        let sum = |i: usize| (0..3).map(|q| value(q, i)).sum::<i64>();
        assert_eq!(mock::read(buffers[m.me], 3000), (0..3000).map(sum).collect::<Vec<_>>());
    }
}

#[test]
fn a_vector_exchange_leaves_gaps_alone_and_a_factor_is_read_from_the_device() {
    let kind = Kind::WaitsInHostFunctions;
    let n = 3;
    let members = members(kind, n, &[]);
    let inputs: Vec<_> = (0..n).map(|me| mock::device_copy(&input_of(me, 300))).collect();
    let outputs: Vec<_> = (0..n).map(|_| mock::device_copy(&[UNTOUCHED; 300])).collect();
    let counts = |from: Rank, to: Rank| from * 5 + to * 3;
    let launches = members.iter().map(|m| {
        let shape = Call { coll: Collective::AlltoAll, op: None, count: 1, root: 0 };
        let mut op = bind(&m.core, shape, inputs[m.me], outputs[m.me]);
        let starts: Vec<usize> = (0..n).map(|q| 90 * q + 7).collect();
        let program = pairwise::program(Collective::AlltoAllv, m.me, n, 0).unwrap();
        op.coll = Collective::AlltoAllv;
        op.plan = Arc::new(Plan {
            algorithm: Algorithm::Pairwise,
            protocol: Protocol::Simple,
            program: Arc::new(program),
            input: Geometry::Vector {
                starts: starts.clone(),
                counts: (0..n).map(|q| counts(m.me, q)).collect(),
            },
            output: Geometry::Vector { starts, counts: (0..n).map(|q| counts(q, m.me)).collect() },
        });
        m.launch([op])
    });
    launch(kind, launches.collect());
    for m in &members {
        mock::synchronize(m.stream);
        for (i, got) in mock::read(outputs[m.me], 300).into_iter().enumerate() {
            let (q, at) = (i.saturating_sub(7) / 90, i.saturating_sub(7) % 90);
            let moved = i >= 7 && q < n && at < counts(q, m.me);
            let wanted = if moved { value(q, 90 * m.me + 7 + at) } else { UNTOUCHED };
            assert_eq!(got, wanted, "rank {} at {i}", m.me);
        }
    }
    let factor = mock::device_copy(&[3]);
    let scaled = call(Collective::AllReduce, Some(RedOp::PreMulSumAt(factor as usize)), 0);
    let inputs: Vec<_> = (0..n).map(|me| mock::device_copy(&input_of(me, 1000))).collect();
    let launches = members.iter().map(|m| m.launch([bind(&m.core, scaled, inputs[m.me], inputs[m.me])]));
    launch(kind, launches.collect());
    for m in &members {
        mock::synchronize(m.stream);
        let sum = |i: usize| (0..n).map(|q| 3 * value(q, i)).sum::<i64>();
        assert_eq!(mock::read(inputs[m.me], 1000), (0..1000).map(sum).collect::<Vec<_>>());
    }
}

#[test]
fn messages_move_between_device_and_host_memory_and_to_oneself() {
    let kind = Kind::WaitsByValue;
    let members = members(kind, 2, &[]);
    let source = mock::device_copy(&input_of(0, 5000));
    let copied = mock::device_copy(&[UNTOUCHED; 5000]);
    let mut host = vec![UNTOUCHED; 5000];
    let message = |core: &Core, coll, step, input, output| {
        let whole = Geometry::Whole { count: 5000 };
        let program = Arc::new(Program { lanes: vec![Lane::new(vec![step])] });
        let plan = Plan {
            algorithm: Algorithm::Pairwise,
            protocol: Protocol::Simple,
            program,
            input: whole.clone(),
            output: whole,
        };
        bound(core, Call { coll, op: None, count: 5000, root: 1 - core.rank }, Arc::new(plan), input, output)
    };
    let (none, into) = (std::ptr::null_mut(), host.as_mut_ptr());
    let send = message(&members[0].core, Collective::Send, pairwise::send(1), source, none);
    let to_self = Step::Copy { src: crate::algo::input(0), dst: crate::algo::output(0) };
    let own = message(&members[0].core, Collective::Send, to_self, source, copied);
    let recv = message(&members[1].core, Collective::Recv, pairwise::recv(0), none, into);
    launch(kind, vec![members[0].launch([own, send]), members[1].launch([recv])]);
    members.iter().for_each(|m| mock::synchronize(m.stream));
    assert_eq!(host, input_of(0, 5000));
    assert_eq!(mock::read(copied, 5000), input_of(0, 5000));
}

#[test]
fn graphs_take_new_inputs_at_each_launch_and_mix_with_calls_on_the_same_streams() {
    for kind in KINDS {
        let n = 3;
        let members = members(kind, n, &[]);
        let sum = call(Collective::AllReduce, Some(RedOp::Sum), 0);
        let inputs: Vec<_> = (0..n).map(|_| mock::device_copy(&[0; 1000])).collect();
        let outputs: Vec<_> = (0..n).map(|_| mock::device_copy(&[0; 1000])).collect();
        let totals: Vec<_> = (0..n).map(|_| mock::device_copy(&[0; 1000])).collect();
        members.iter().for_each(|m| mock::begin_capture(m.stream));
        let captured = members.iter().map(|m| m.launch([bind(&m.core, sum, inputs[m.me], outputs[m.me])]));
        launch(kind, captured.collect());
        let graphs: Vec<_> = members.iter().map(|m| mock::end_capture(m.stream)).collect();
        for round in 1..4 {
            members.iter().for_each(|m| mock::write(inputs[m.me], &[round * (m.me as i64 + 1); 1000]));
            members.iter().zip(&graphs).for_each(|(m, graph)| graph.launch(m.stream));
            // Not synchronised: the call stands behind the launch, and must not take its turn before it.
            let calls = members.iter().map(|m| m.launch([bind(&m.core, sum, outputs[m.me], totals[m.me])]));
            launch(kind, calls.collect());
            for m in &members {
                mock::synchronize(m.stream);
                assert_eq!(mock::read(outputs[m.me], 1000), [6 * round; 1000], "{kind:?}");
                assert_eq!(mock::read(totals[m.me], 1000), [18 * round; 1000], "{kind:?}");
                assert!(m.core.idle());
            }
        }
    }
}

#[test]
fn calls_on_streams_that_come_up_in_another_order_still_run_in_the_order_of_the_calls() {
    let kind = Kind::WaitsByValue;
    let members = members(kind, 2, &[]);
    let held = Member { core: Arc::clone(&members[0].core), me: 0, stream: mock::stream(kind) };
    let gate = crate::exec::gate::Gate::new(1);
    let blocker = Box::new(crate::exec::gate::Joined::new(Arc::clone(&gate)));
    crate::device::Runtime::enqueue(mock::runtime(kind), held.stream, blocker).unwrap();
    let sum = call(Collective::AllReduce, Some(RedOp::Sum), 0);
    let max = call(Collective::AllReduce, Some(RedOp::Max), 0);
    let at: Vec<_> = (0..4).map(|i| mock::device_copy(&[i + 1; 1000])).collect();
    // The first call is on a stream that is held up; the second one is ready at once.
    launch(kind, vec![held.launch([bind(&held.core, sum, at[0], at[0])])]);
    launch(kind, vec![members[0].launch([bind(&held.core, max, at[1], at[1])])]);
    let other = &members[1];
    launch(kind, vec![other.launch([bind(&other.core, sum, at[2], at[2])])]);
    launch(kind, vec![other.launch([bind(&other.core, max, at[3], at[3])])]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(!other.core.idle(), "the second call did not wait for the first");
    gate.open();
    [held.stream, members[0].stream, other.stream].into_iter().for_each(mock::synchronize);
    let first: Vec<i64> = at.iter().map(|at| mock::read(*at, 1)[0]).collect();
    assert_eq!(first, [4, 4, 4, 4]);
}

#[test]
fn an_abort_frees_a_stream_whose_peer_never_comes() {
    for kind in KINDS {
        let members = members(kind, 2, &[]);
        let at = mock::device_copy(&[1; 1000]);
        let sum = call(Collective::AllReduce, Some(RedOp::Sum), 0);
        let alone = &members[0];
        launch(kind, vec![alone.launch([bind(&alone.core, sum, at, at)])]);
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(!alone.core.idle());
        alone.core.fail(err!(Aborted, "the test aborts"), None);
        mock::synchronize(alone.stream);
        assert!(alone.core.idle());
    }
}

#[test]
fn a_graph_launched_after_its_communicator_ended_does_nothing_and_ends() {
    let kind = Kind::WaitsByValue;
    let members = members(kind, 1, &[]);
    let one = &members[0];
    let at = mock::device_copy(&[4; 1000]);
    mock::begin_capture(one.stream);
    let sum = call(Collective::AllReduce, Some(RedOp::Sum), 0);
    launch(kind, vec![one.launch([bind(&one.core, sum, at, at)])]);
    let graph = mock::end_capture(one.stream);
    one.core.retire(err!(InvalidUsage, "the communicator was destroyed"));
    graph.launch(one.stream);
    mock::synchronize(one.stream);
    assert_eq!(mock::read(at, 1000), [4; 1000]);
}
