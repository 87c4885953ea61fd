//! Functions of other versions of the API: present so that programs load, answering that they are not supported.
use std::ffi::{c_char, c_int, c_uint, c_void};

use super::types::musaStream_t;
use super::types::{
    mcclComm_t, mcclConfig_t, mcclDataType_t, mcclRedOp_t, mcclResult_t, mcclUniqueId, mcclWindow_t,
};
use super::unsupported;

/// Appeared in 2.30; prints nothing but that it is not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamDumpAll() {
    let _ = unsupported("mcclParamDumpAll");
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclCommGetUniqueId(_comm: mcclComm_t, _uniqueId: *mut mcclUniqueId) -> mcclResult_t {
    unsupported("mcclCommGetUniqueId")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclCommGrow(
    _comm: mcclComm_t,
    _nRanks: c_int,
    _uniqueId: *const mcclUniqueId,
    _rank: c_int,
    _newcomm: *mut mcclComm_t,
    _config: *mut mcclConfig_t,
) -> mcclResult_t {
    unsupported("mcclCommGrow")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclCommSuspend(_comm: mcclComm_t, _flags: c_int) -> mcclResult_t {
    unsupported("mcclCommSuspend")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclCommResume(_comm: mcclComm_t) -> mcclResult_t {
    unsupported("mcclCommResume")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclCommMemStats(_comm: mcclComm_t, _stat: c_int, _value: *mut u64) -> mcclResult_t {
    unsupported("mcclCommMemStats")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclPutSignal(
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

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclSignal(
    _peer: c_int,
    _sigIdx: c_int,
    _ctx: c_int,
    _flags: c_uint,
    _comm: mcclComm_t,
    _stream: musaStream_t,
) -> mcclResult_t {
    unsupported("mcclSignal")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclWaitSignal(
    _nDesc: c_int,
    _descs: *mut c_void,
    _comm: mcclComm_t,
    _stream: musaStream_t,
) -> mcclResult_t {
    unsupported("mcclWaitSignal")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclWinGetUserPtr(
    _comm: mcclComm_t,
    _win: mcclWindow_t,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclWinGetUserPtr")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclCommQueryProperties(_comm: mcclComm_t, _props: *mut c_void) -> mcclResult_t {
    unsupported("mcclCommQueryProperties")
}

/// Appeared in 2.28; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclDevCommCreate(
    _comm: mcclComm_t,
    _reqs: *const c_void,
    _devComm: *mut c_void,
) -> mcclResult_t {
    unsupported("mcclDevCommCreate")
}

/// Appeared in 2.28; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclDevCommDestroy(_comm: mcclComm_t, _devComm: *const c_void) -> mcclResult_t {
    unsupported("mcclDevCommDestroy")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclGetLsaDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _lsaRank: c_int,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetLsaDevicePointer")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclGetLsaMultimemDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetLsaMultimemDevicePointer")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclGetMultimemDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _multimem: *mut c_void,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetMultimemDevicePointer")
}

/// Appeared in 2.29; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclGetPeerDevicePointer(
    _win: mcclWindow_t,
    _offset: usize,
    _peer: c_int,
    _ptr: *mut *mut c_void,
) -> mcclResult_t {
    unsupported("mcclGetPeerDevicePointer")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamBind(_out: *mut *mut c_void, _key: *const c_char) -> mcclResult_t {
    unsupported("mcclParamBind")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetI8(_handle: *mut c_void, _out: *mut i8) -> mcclResult_t {
    unsupported("mcclParamGetI8")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetI16(_handle: *mut c_void, _out: *mut i16) -> mcclResult_t {
    unsupported("mcclParamGetI16")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetI32(_handle: *mut c_void, _out: *mut i32) -> mcclResult_t {
    unsupported("mcclParamGetI32")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetI64(_handle: *mut c_void, _out: *mut i64) -> mcclResult_t {
    unsupported("mcclParamGetI64")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetU8(_handle: *mut c_void, _out: *mut u8) -> mcclResult_t {
    unsupported("mcclParamGetU8")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetU16(_handle: *mut c_void, _out: *mut u16) -> mcclResult_t {
    unsupported("mcclParamGetU16")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetU32(_handle: *mut c_void, _out: *mut u32) -> mcclResult_t {
    unsupported("mcclParamGetU32")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetU64(_handle: *mut c_void, _out: *mut u64) -> mcclResult_t {
    unsupported("mcclParamGetU64")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetStr(_handle: *mut c_void, _out: *mut *const c_char) -> mcclResult_t {
    unsupported("mcclParamGetStr")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGet(
    _handle: *mut c_void,
    _out: *mut c_void,
    _maxLen: c_int,
    _len: *mut c_int,
) -> mcclResult_t {
    unsupported("mcclParamGet")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetParameter(
    _key: *const c_char,
    _value: *mut *const c_char,
    _valueLen: *mut c_int,
) -> mcclResult_t {
    unsupported("mcclParamGetParameter")
}

/// Appeared in 2.30; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclParamGetAllParameterKeys(
    _table: *mut *mut *const c_char,
    _len: *mut c_int,
) -> mcclResult_t {
    unsupported("mcclParamGetAllParameterKeys")
}

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclReduceConfig(
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

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclBroadcastConfig(
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

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclAllReduceConfig(
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

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclReduceScatterConfig(
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

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclAllGatherConfig(
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

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclAlltoAllConfig(
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

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclGatherConfig(
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

/// Appeared in 2.31; not supported.
#[unsafe(no_mangle)]
pub extern "C" fn mcclScatterConfig(
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
