//! Twins of the functions of other versions.
use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::abi::mccl::types::{
    mcclComm_t, mcclConfig_t, mcclDataType_t, mcclRedOp_t, mcclResult_t, mcclUniqueId, mcclWindow_t,
    musaStream_t,
};
use crate::abi::mccl::unsupported;

/// Twin of [`mcclParamDumpAll`](crate::abi::mccl::extra::mcclParamDumpAll).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamDumpAll() {
    let _ = unsupported("mcclParamDumpAll");
}

/// Twin of [`mcclCommGetUniqueId`](crate::abi::mccl::extra::mcclCommGetUniqueId).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclCommGetUniqueId(_comm: mcclComm_t, _uniqueId: *mut mcclUniqueId) -> mcclResult_t {
    unsupported("mcclCommGetUniqueId")
}

/// Twin of [`mcclCommGrow`](crate::abi::mccl::extra::mcclCommGrow).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclCommGrow(
    _comm: mcclComm_t,
    _nRanks: c_int,
    _uniqueId: *const mcclUniqueId,
    _rank: c_int,
    _newcomm: *mut mcclComm_t,
    _config: *mut mcclConfig_t,
) -> mcclResult_t {
    unsupported("mcclCommGrow")
}

/// Twin of [`mcclCommSuspend`](crate::abi::mccl::extra::mcclCommSuspend).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclCommSuspend(_comm: mcclComm_t, _flags: c_int) -> mcclResult_t {
    unsupported("mcclCommSuspend")
}

/// Twin of [`mcclCommResume`](crate::abi::mccl::extra::mcclCommResume).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclCommResume(_comm: mcclComm_t) -> mcclResult_t {
    unsupported("mcclCommResume")
}

/// Twin of [`mcclCommMemStats`](crate::abi::mccl::extra::mcclCommMemStats).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclCommMemStats(_comm: mcclComm_t, _stat: c_int, _value: *mut u64) -> mcclResult_t {
    unsupported("mcclCommMemStats")
}

/// Twin of [`mcclPutSignal`](crate::abi::mccl::extra::mcclPutSignal).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclPutSignal(
    _localbuff: *const c_void,
    _count: usize,
    _datatype: mcclDataType_t,
    _peer: c_int,
    _peerWin: mcclWindow_t,
    _peerWinOffset: usize,
    _sigIdx: c_int,
    _ctx: c_int,
    _flags: c_uint,
    _comm: mcclComm_t,
    _stream: musaStream_t,
) -> mcclResult_t {
    unsupported("mcclPutSignal")
}

/// Twin of [`mcclSignal`](crate::abi::mccl::extra::mcclSignal).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclSignal(
    _peer: c_int,
    _sigIdx: c_int,
    _ctx: c_int,
    _flags: c_uint,
    _comm: mcclComm_t,
    _stream: musaStream_t,
) -> mcclResult_t {
    unsupported("mcclSignal")
}

/// Twin of [`mcclWaitSignal`](crate::abi::mccl::extra::mcclWaitSignal).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclWaitSignal(
    _nDesc: c_int,
    _descs: *mut c_void,
    _comm: mcclComm_t,
    _stream: musaStream_t,
) -> mcclResult_t {
    unsupported("mcclWaitSignal")
}

/// Twin of [`mcclWinGetUserPtr`](crate::abi::mccl::extra::mcclWinGetUserPtr).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclWinGetUserPtr(
    _comm: mcclComm_t,
    _win: mcclWindow_t,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclWinGetUserPtr")
}

/// Twin of [`mcclCommQueryProperties`](crate::abi::mccl::extra::mcclCommQueryProperties).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclCommQueryProperties(_comm: mcclComm_t, _props: *mut c_void) -> mcclResult_t {
    unsupported("mcclCommQueryProperties")
}

/// Twin of [`mcclDevCommCreate`](crate::abi::mccl::extra::mcclDevCommCreate).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclDevCommCreate(
    _comm: mcclComm_t,
    _reqs: *const c_void,
    _devComm: *mut c_void,
) -> mcclResult_t {
    unsupported("mcclDevCommCreate")
}

/// Twin of [`mcclDevCommDestroy`](crate::abi::mccl::extra::mcclDevCommDestroy).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclDevCommDestroy(_comm: mcclComm_t, _devComm: *const c_void) -> mcclResult_t {
    unsupported("mcclDevCommDestroy")
}

/// Twin of [`mcclGetLsaDevicePointer`](crate::abi::mccl::extra::mcclGetLsaDevicePointer).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclGetLsaDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _lsaRank: c_int,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetLsaDevicePointer")
}

/// Twin of [`mcclGetLsaMultimemDevicePointer`](crate::abi::mccl::extra::mcclGetLsaMultimemDevicePointer).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclGetLsaMultimemDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetLsaMultimemDevicePointer")
}

/// Twin of [`mcclGetMultimemDevicePointer`](crate::abi::mccl::extra::mcclGetMultimemDevicePointer).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclGetMultimemDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _multimem: *mut c_void,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetMultimemDevicePointer")
}

/// Twin of [`mcclGetPeerDevicePointer`](crate::abi::mccl::extra::mcclGetPeerDevicePointer).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclGetPeerDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _peer: c_int,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetPeerDevicePointer")
}

/// Twin of [`mcclParamBind`](crate::abi::mccl::extra::mcclParamBind).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamBind(_out: *mut *mut c_void, _key: *const c_char) -> mcclResult_t {
    unsupported("mcclParamBind")
}

/// Twin of [`mcclParamGetI8`](crate::abi::mccl::extra::mcclParamGetI8).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetI8(_handle: *mut c_void, _out: *mut i8) -> mcclResult_t {
    unsupported("mcclParamGetI8")
}

/// Twin of [`mcclParamGetI16`](crate::abi::mccl::extra::mcclParamGetI16).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetI16(_handle: *mut c_void, _out: *mut i16) -> mcclResult_t {
    unsupported("mcclParamGetI16")
}

/// Twin of [`mcclParamGetI32`](crate::abi::mccl::extra::mcclParamGetI32).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetI32(_handle: *mut c_void, _out: *mut i32) -> mcclResult_t {
    unsupported("mcclParamGetI32")
}

/// Twin of [`mcclParamGetI64`](crate::abi::mccl::extra::mcclParamGetI64).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetI64(_handle: *mut c_void, _out: *mut i64) -> mcclResult_t {
    unsupported("mcclParamGetI64")
}

/// Twin of [`mcclParamGetU8`](crate::abi::mccl::extra::mcclParamGetU8).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetU8(_handle: *mut c_void, _out: *mut u8) -> mcclResult_t {
    unsupported("mcclParamGetU8")
}

/// Twin of [`mcclParamGetU16`](crate::abi::mccl::extra::mcclParamGetU16).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetU16(_handle: *mut c_void, _out: *mut u16) -> mcclResult_t {
    unsupported("mcclParamGetU16")
}

/// Twin of [`mcclParamGetU32`](crate::abi::mccl::extra::mcclParamGetU32).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetU32(_handle: *mut c_void, _out: *mut u32) -> mcclResult_t {
    unsupported("mcclParamGetU32")
}

/// Twin of [`mcclParamGetU64`](crate::abi::mccl::extra::mcclParamGetU64).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetU64(_handle: *mut c_void, _out: *mut u64) -> mcclResult_t {
    unsupported("mcclParamGetU64")
}

/// Twin of [`mcclParamGetStr`](crate::abi::mccl::extra::mcclParamGetStr).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetStr(_handle: *mut c_void, _out: *mut *const c_char) -> mcclResult_t {
    unsupported("mcclParamGetStr")
}

/// Twin of [`mcclParamGet`](crate::abi::mccl::extra::mcclParamGet).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGet(
    _handle: *mut c_void,
    _out: *mut c_void,
    _maxLen: c_int,
    _len: *mut c_int,
) -> mcclResult_t {
    unsupported("mcclParamGet")
}

/// Twin of [`mcclParamGetParameter`](crate::abi::mccl::extra::mcclParamGetParameter).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetParameter(
    _key: *const c_char,
    _value: *mut *const c_char,
    _valueLen: *mut c_int,
) -> mcclResult_t {
    unsupported("mcclParamGetParameter")
}

/// Twin of [`mcclParamGetAllParameterKeys`](crate::abi::mccl::extra::mcclParamGetAllParameterKeys).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclParamGetAllParameterKeys(
    _table: *mut *mut *const c_char,
    _len: *mut c_int,
) -> mcclResult_t {
    unsupported("mcclParamGetAllParameterKeys")
}

/// Twin of [`mcclReduceConfig`](crate::abi::mccl::extra::mcclReduceConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclReduceConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _count: usize,
    _datatype: mcclDataType_t,
    _op: mcclRedOp_t,
    _root: c_int,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclReduceConfig")
}

/// Twin of [`mcclBroadcastConfig`](crate::abi::mccl::extra::mcclBroadcastConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclBroadcastConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _count: usize,
    _datatype: mcclDataType_t,
    _root: c_int,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclBroadcastConfig")
}

/// Twin of [`mcclAllReduceConfig`](crate::abi::mccl::extra::mcclAllReduceConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclAllReduceConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _count: usize,
    _datatype: mcclDataType_t,
    _op: mcclRedOp_t,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclAllReduceConfig")
}

/// Twin of [`mcclReduceScatterConfig`](crate::abi::mccl::extra::mcclReduceScatterConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclReduceScatterConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _recvcount: usize,
    _datatype: mcclDataType_t,
    _op: mcclRedOp_t,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclReduceScatterConfig")
}

/// Twin of [`mcclAllGatherConfig`](crate::abi::mccl::extra::mcclAllGatherConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclAllGatherConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _sendcount: usize,
    _datatype: mcclDataType_t,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclAllGatherConfig")
}

/// Twin of [`mcclAlltoAllConfig`](crate::abi::mccl::extra::mcclAlltoAllConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclAlltoAllConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _count: usize,
    _datatype: mcclDataType_t,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclAlltoAllConfig")
}

/// Twin of [`mcclGatherConfig`](crate::abi::mccl::extra::mcclGatherConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclGatherConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _count: usize,
    _datatype: mcclDataType_t,
    _root: c_int,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclGatherConfig")
}

/// Twin of [`mcclScatterConfig`](crate::abi::mccl::extra::mcclScatterConfig).
#[unsafe(no_mangle)]
pub extern "C" fn pmcclScatterConfig(
    _sendbuff: *const c_void,
    _recvbuff: *mut c_void,
    _count: usize,
    _datatype: mcclDataType_t,
    _root: c_int,
    _comm: mcclComm_t,
    _stream: musaStream_t,
    _config: *const c_void,
) -> mcclResult_t {
    unsupported("mcclScatterConfig")
}
