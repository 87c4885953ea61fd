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

const fn f(name: &'static str, state: State) -> Function {
    Function { name, state }
}

/// Every function without its twin, in the order of the header.
#[rustfmt::skip]
pub const FUNCTIONS: &[Function] = &[
    f("mcclGetVersion", State::Done("a_program_reads_version_and_texts")),
    f("mcclGetUniqueId", State::Entry(REFUSED)),
    f("mcclGetErrorString", State::Done("a_program_reads_version_and_texts")),
    f("mcclGetLastError", State::Done("the_last_error_is_the_sentence_of_the_last_refused_call")),
    f("mcclResetDebugInit", State::Accepted("does nothing, as in the original since 2.24")),
    f("mcclCommInitRank", State::Entry(REFUSED)),
    f("mcclCommInitAll", State::Entry(REFUSED)),
    f("mcclCommInitRankConfig", State::Entry(REFUSED)),
    f("mcclCommInitRankScalable", State::Entry(REFUSED)),
    f("mcclCommSplit", State::Entry(REFUSED)),
    f("mcclCommShrink", State::Stub),
    f("mcclCommFinalize", State::Entry(REFUSED)),
    f("mcclCommDestroy", State::Entry(REFUSED)),
    f("mcclCommAbort", State::Entry(REFUSED)),
    f("mcclCommRevoke", State::Stub),
    f("mcclCommGetAsyncError", State::Entry(REFUSED)),
    f("mcclCommCount", State::Done(LIVE)),
    f("mcclCommMuDevice", State::Done(LIVE)),
    f("mcclCommCuDevice", State::Entry(REFUSED)),
    f("mcclCommUserRank", State::Done(LIVE)),
    f("mcclMemAlloc", State::Entry(REFUSED)),
    f("mcclMemFree", State::Entry(REFUSED)),
    f("mcclCommRegister", State::Entry(REFUSED)),
    f("mcclCommDeregister", State::Entry(REFUSED)),
    f("mcclCommWindowRegister", State::Accepted("checks arguments and writes a NULL window")),
    f("mcclCommWindowDeregister", State::Accepted("takes the NULL window")),
    f("mcclRedOpCreatePreMulSum", State::Entry(REFUSED)),
    f("mcclRedOpDestroy", State::Entry(REFUSED)),
    f("mcclReduce", State::Entry(REFUSED)),
    f("mcclBcast", State::Entry(REFUSED)),
    f("mcclBroadcast", State::Entry(REFUSED)),
    f("mcclAllReduce", State::Entry(REFUSED)),
    f("mcclReduceScatter", State::Entry(REFUSED)),
    f("mcclAllGather", State::Entry(REFUSED)),
    f("mcclAlltoAll", State::Entry(REFUSED)),
    f("mcclAllToAll", State::Entry(REFUSED)),
    f("mcclGather", State::Entry(REFUSED)),
    f("mcclScatter", State::Entry(REFUSED)),
    f("mcclSend", State::Entry(REFUSED)),
    f("mcclRecv", State::Entry(REFUSED)),
    f("mcclAllToAllv", State::Entry(REFUSED)),
    f("mcclBatchAllToAllv", State::Entry(REFUSED)),
    f("mcclGroupStart", State::Entry(REFUSED)),
    f("mcclGroupEnd", State::Entry(REFUSED)),
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
