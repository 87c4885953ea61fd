//! What each exported function does, as docs/COMPAT.md tells it.

/// A function and its state.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub name: &'static str,
    pub state: State,
}

/// How far a function goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Behaves as documented; the named test shows it.
    Done(&'static str),
    /// Checks its arguments and reaches the engine; the named test shows that much.
    Entry(&'static str),
    /// Succeeds without the effect, for this reason.
    Accepted(&'static str),
    /// Answers that it is not supported.
    Stub,
}

/// Proof for functions of which only the way into the engine is shown.
const REFUSED: &str = "refused_arguments_are_named_with_value_and_range";

/// Proof for what one communicator of one rank can show.
const LIVE: &str = "a_live_communicator_refuses_bad_arguments_and_ends_with_its_handle";

/// Proof by every collective against a reference.
const PROCESSES: &str = "process_ranks_agree_with_the_reference";

/// Proof by programs of the users' documentation.
const ONE_THREAD: &str = "one_thread_drives_many_devices_with_and_without_groups";
const SCALABLE: &str = "several_ids_start_a_communicator_and_registered_buffers_work";
const SPLIT: &str = "splits_make_working_communicators";
const ENDS: &str = "communicators_end_in_any_order_and_an_abort_wakes_the_waiting";
const FACTORS: &str = "factors_and_averages_are_right";
const ROOTS: &str = "operations_with_roots_and_counts_are_right";

const fn f(name: &'static str, state: State) -> Function {
    Function { name, state }
}

/// Every function without its twin, in the order of the header.
#[rustfmt::skip]
pub const FUNCTIONS: &[Function] = &[
    f("mcclGetVersion", State::Done("a_program_reads_version_and_texts")),
    f("mcclGetUniqueId", State::Done(PROCESSES)),
    f("mcclGetErrorString", State::Done("a_program_reads_version_and_texts")),
    f("mcclGetLastError", State::Done("the_last_error_is_the_sentence_of_the_last_refused_call")),
    f("mcclResetDebugInit", State::Accepted("does nothing, as in the original since 2.24")),
    f("mcclCommInitRank", State::Done(PROCESSES)),
    f("mcclCommInitAll", State::Done(ONE_THREAD)),
    f("mcclCommInitRankConfig", State::Entry(REFUSED)),
    f("mcclCommInitRankScalable", State::Done(SCALABLE)),
    f("mcclCommSplit", State::Done(SPLIT)),
    f("mcclCommShrink", State::Stub),
    f("mcclCommFinalize", State::Done(ENDS)),
    f("mcclCommDestroy", State::Done(ENDS)),
    f("mcclCommAbort", State::Done(ENDS)),
    f("mcclCommRevoke", State::Stub),
    f("mcclCommGetAsyncError", State::Done(ENDS)),
    f("mcclCommCount", State::Done(LIVE)),
    f("mcclCommMuDevice", State::Done(LIVE)),
    f("mcclCommCuDevice", State::Done(ONE_THREAD)),
    f("mcclCommUserRank", State::Done(LIVE)),
    f("mcclMemAlloc", State::Done(SCALABLE)),
    f("mcclMemFree", State::Done(SCALABLE)),
    f("mcclCommRegister", State::Done(SCALABLE)),
    f("mcclCommDeregister", State::Done(SCALABLE)),
    f("mcclCommWindowRegister", State::Accepted("checks arguments and writes a NULL window")),
    f("mcclCommWindowDeregister", State::Accepted("takes the NULL window")),
    f("mcclRedOpCreatePreMulSum", State::Done(FACTORS)),
    f("mcclRedOpDestroy", State::Done(FACTORS)),
    f("mcclReduce", State::Done(PROCESSES)),
    f("mcclBcast", State::Done(PROCESSES)),
    f("mcclBroadcast", State::Done(PROCESSES)),
    f("mcclAllReduce", State::Done(PROCESSES)),
    f("mcclReduceScatter", State::Done(PROCESSES)),
    f("mcclAllGather", State::Done(PROCESSES)),
    f("mcclAlltoAll", State::Done(PROCESSES)),
    f("mcclAllToAll", State::Entry(REFUSED)),
    f("mcclGather", State::Done(PROCESSES)),
    f("mcclScatter", State::Done(PROCESSES)),
    f("mcclSend", State::Done(PROCESSES)),
    f("mcclRecv", State::Done(PROCESSES)),
    f("mcclAllToAllv", State::Done(PROCESSES)),
    f("mcclBatchAllToAllv", State::Done(ROOTS)),
    f("mcclGroupStart", State::Done(ONE_THREAD)),
    f("mcclGroupEnd", State::Done(ONE_THREAD)),
    f("mcclGroupSimulateEnd", State::Entry(REFUSED)),
    f("mcclAllGatherConfig", State::Stub),
    f("mcclAllReduceConfig", State::Stub),
    f("mcclAlltoAllConfig", State::Stub),
    f("mcclBroadcastConfig", State::Stub),
    f("mcclCommGetUniqueId", State::Stub),
    f("mcclCommGrow", State::Stub),
    f("mcclCommMemStats", State::Stub),
    f("mcclCommQueryProperties", State::Stub),
    f("mcclCommResume", State::Stub),
    f("mcclCommSuspend", State::Stub),
    f("mcclDevCommCreate", State::Stub),
    f("mcclDevCommDestroy", State::Stub),
    f("mcclGatherConfig", State::Stub),
    f("mcclGetLsaDevicePointer", State::Stub),
    f("mcclGetLsaMultimemDevicePointer", State::Stub),
    f("mcclGetMultimemDevicePointer", State::Stub),
    f("mcclGetPeerDevicePointer", State::Stub),
    f("mcclParamBind", State::Stub),
    f("mcclParamDumpAll", State::Stub),
    f("mcclParamGet", State::Stub),
    f("mcclParamGetAllParameterKeys", State::Stub),
    f("mcclParamGetI16", State::Stub),
    f("mcclParamGetI32", State::Stub),
    f("mcclParamGetI64", State::Stub),
    f("mcclParamGetI8", State::Stub),
    f("mcclParamGetParameter", State::Stub),
    f("mcclParamGetStr", State::Stub),
    f("mcclParamGetU16", State::Stub),
    f("mcclParamGetU32", State::Stub),
    f("mcclParamGetU64", State::Stub),
    f("mcclParamGetU8", State::Stub),
    f("mcclPutSignal", State::Stub),
    f("mcclReduceConfig", State::Stub),
    f("mcclReduceScatterConfig", State::Stub),
    f("mcclScatterConfig", State::Stub),
    f("mcclSignal", State::Stub),
    f("mcclWaitSignal", State::Stub),
    f("mcclWinGetUserPtr", State::Stub),
];
