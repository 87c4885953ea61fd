//! Error codes with their names and texts; one table for both faces.

/// A code as both faces return it; their values agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error(pub i32);

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub const SUCCESS: Error = Error(0);
    pub const INVALID_VALUE: Error = Error(1);
    pub const MEMORY_ALLOCATION: Error = Error(2);
    pub const INITIALIZATION_ERROR: Error = Error(3);
    pub const INVALID_MEMCPY_DIRECTION: Error = Error(21);
    pub const NO_DEVICE: Error = Error(100);
    pub const INVALID_DEVICE: Error = Error(101);
    pub const INVALID_KERNEL_IMAGE: Error = Error(200);
    pub const DEVICE_UNINITIALIZED: Error = Error(201);
    pub const MAP_BUFFER_OBJECT_FAILED: Error = Error(205);
    pub const PEER_ACCESS_UNSUPPORTED: Error = Error(217);
    pub const INVALID_RESOURCE_HANDLE: Error = Error(400);
    pub const ILLEGAL_STATE: Error = Error(401);
    pub const SYMBOL_NOT_FOUND: Error = Error(500);
    pub const NOT_READY: Error = Error(600);
    pub const PEER_ACCESS_ALREADY_ENABLED: Error = Error(704);
    pub const PEER_ACCESS_NOT_ENABLED: Error = Error(705);
    pub const HOST_MEMORY_ALREADY_REGISTERED: Error = Error(712);
    pub const HOST_MEMORY_NOT_REGISTERED: Error = Error(713);
    pub const LAUNCH_FAILURE: Error = Error(719);
    pub const NOT_PERMITTED: Error = Error(800);
    pub const NOT_SUPPORTED: Error = Error(801);
    pub const STREAM_CAPTURE_UNSUPPORTED: Error = Error(900);
    pub const STREAM_CAPTURE_INVALIDATED: Error = Error(901);
    pub const STREAM_CAPTURE_MERGE: Error = Error(902);
    pub const STREAM_CAPTURE_UNMATCHED: Error = Error(903);
    pub const STREAM_CAPTURE_UNJOINED: Error = Error(904);
    pub const STREAM_CAPTURE_ISOLATION: Error = Error(905);
    pub const STREAM_CAPTURE_IMPLICIT: Error = Error(906);
    pub const CAPTURED_EVENT: Error = Error(907);
    pub const STREAM_CAPTURE_WRONG_THREAD: Error = Error(908);
    pub const UNKNOWN: Error = Error(999);

    /// Code, name in the runtime API, name in the driver API, text.
    fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.code == self.0)
    }

    /// Name in the runtime API, nul-terminated.
    pub fn runtime_name(self) -> &'static str {
        self.row().map_or("unrecognized error code\0", |row| row.runtime)
    }

    /// Name in the driver API, nul-terminated; `None` for a code that does not exist.
    pub fn driver_name(self) -> Option<&'static str> {
        self.row().map(|row| row.driver)
    }

    /// Sentence for people, nul-terminated; `None` for a code that does not exist.
    pub fn text(self) -> Option<&'static str> {
        self.row().map(|row| row.text)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(ENOMEM) => Error::MEMORY_ALLOCATION,
            _ => Error::MAP_BUFFER_OBJECT_FAILED,
        }
    }
}

/// The one number that tells "no memory" from everything else that a mapping call can say.
const ENOMEM: i32 = 12;

struct Row {
    code: i32,
    runtime: &'static str,
    driver: &'static str,
    text: &'static str,
}

const fn row(code: i32, runtime: &'static str, driver: &'static str, text: &'static str) -> Row {
    Row { code, runtime, driver, text }
}

static TABLE: [Row; 32] = [
    row(0, "musaSuccess\0", "MUSA_SUCCESS\0", "no error\0"),
    row(1, "musaErrorInvalidValue\0", "MUSA_ERROR_INVALID_VALUE\0", "invalid argument\0"),
    row(2, "musaErrorMemoryAllocation\0", "MUSA_ERROR_OUT_OF_MEMORY\0", "out of memory\0"),
    row(3, "musaErrorInitializationError\0", "MUSA_ERROR_NOT_INITIALIZED\0", "initialization error\0"),
    row(
        21,
        "musaErrorInvalidMemcpyDirection\0",
        "MUSA_ERROR_INVALID_MEMCPY_DIRECTION\0",
        "invalid copy direction for memcpy\0",
    ),
    row(100, "musaErrorNoDevice\0", "MUSA_ERROR_NO_DEVICE\0", "no MUSA-capable device is detected\0"),
    row(101, "musaErrorInvalidDevice\0", "MUSA_ERROR_INVALID_DEVICE\0", "invalid device ordinal\0"),
    row(
        200,
        "musaErrorInvalidKernelImage\0",
        "MUSA_ERROR_INVALID_IMAGE\0",
        "device kernel image is invalid\0",
    ),
    row(201, "musaErrorDeviceUninitialized\0", "MUSA_ERROR_INVALID_CONTEXT\0", "invalid device context\0"),
    row(
        205,
        "musaErrorMapBufferObjectFailed\0",
        "MUSA_ERROR_MAP_FAILED\0",
        "mapping of buffer object failed\0",
    ),
    row(
        217,
        "musaErrorPeerAccessUnsupported\0",
        "MUSA_ERROR_PEER_ACCESS_UNSUPPORTED\0",
        "peer access is not supported between these two devices\0",
    ),
    row(400, "musaErrorInvalidResourceHandle\0", "MUSA_ERROR_INVALID_HANDLE\0", "invalid resource handle\0"),
    row(
        401,
        "musaErrorIllegalState\0",
        "MUSA_ERROR_ILLEGAL_STATE\0",
        "the operation cannot be performed in the present state\0",
    ),
    row(500, "musaErrorSymbolNotFound\0", "MUSA_ERROR_NOT_FOUND\0", "named symbol not found\0"),
    row(600, "musaErrorNotReady\0", "MUSA_ERROR_NOT_READY\0", "device not ready\0"),
    row(
        704,
        "musaErrorPeerAccessAlreadyEnabled\0",
        "MUSA_ERROR_PEER_ACCESS_ALREADY_ENABLED\0",
        "peer access is already enabled\0",
    ),
    row(
        705,
        "musaErrorPeerAccessNotEnabled\0",
        "MUSA_ERROR_PEER_ACCESS_NOT_ENABLED\0",
        "peer access has not been enabled\0",
    ),
    row(
        712,
        "musaErrorHostMemoryAlreadyRegistered\0",
        "MUSA_ERROR_HOST_MEMORY_ALREADY_REGISTERED\0",
        "part or all of the requested memory range is already mapped\0",
    ),
    row(
        713,
        "musaErrorHostMemoryNotRegistered\0",
        "MUSA_ERROR_HOST_MEMORY_NOT_REGISTERED\0",
        "pointer does not correspond to a registered memory region\0",
    ),
    row(719, "musaErrorLaunchFailure\0", "MUSA_ERROR_LAUNCH_FAILED\0", "unspecified launch failure\0"),
    row(800, "musaErrorNotPermitted\0", "MUSA_ERROR_NOT_PERMITTED\0", "operation not permitted\0"),
    row(801, "musaErrorNotSupported\0", "MUSA_ERROR_NOT_SUPPORTED\0", "operation not supported\0"),
    row(
        900,
        "musaErrorStreamCaptureUnsupported\0",
        "MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED\0",
        "operation not permitted when stream is capturing\0",
    ),
    row(
        901,
        "musaErrorStreamCaptureInvalidated\0",
        "MUSA_ERROR_STREAM_CAPTURE_INVALIDATED\0",
        "operation failed due to a previous error during capture\0",
    ),
    row(
        902,
        "musaErrorStreamCaptureMerge\0",
        "MUSA_ERROR_STREAM_CAPTURE_MERGE\0",
        "operation would result in a merge of separate capture sequences\0",
    ),
    row(
        903,
        "musaErrorStreamCaptureUnmatched\0",
        "MUSA_ERROR_STREAM_CAPTURE_UNMATCHED\0",
        "capture was not ended in the same stream as it began\0",
    ),
    row(
        904,
        "musaErrorStreamCaptureUnjoined\0",
        "MUSA_ERROR_STREAM_CAPTURE_UNJOINED\0",
        "capturing stream has unjoined work\0",
    ),
    row(
        905,
        "musaErrorStreamCaptureIsolation\0",
        "MUSA_ERROR_STREAM_CAPTURE_ISOLATION\0",
        "dependency created on uncaptured work in another stream\0",
    ),
    row(
        906,
        "musaErrorStreamCaptureImplicit\0",
        "MUSA_ERROR_STREAM_CAPTURE_IMPLICIT\0",
        "operation would make the legacy stream depend on a capturing blocking stream\0",
    ),
    row(
        907,
        "musaErrorCapturedEvent\0",
        "MUSA_ERROR_CAPTURED_EVENT\0",
        "operation not permitted on an event last recorded in a capturing stream\0",
    ),
    row(
        908,
        "musaErrorStreamCaptureWrongThread\0",
        "MUSA_ERROR_STREAM_CAPTURE_WRONG_THREAD\0",
        "attempt to terminate a thread-local capture sequence from another thread\0",
    ),
    row(999, "musaErrorUnknown\0", "MUSA_ERROR_UNKNOWN\0", "unknown error\0"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_with_terminated_texts() {
        for (i, row) in TABLE.iter().enumerate() {
            assert!(TABLE[..i].iter().all(|other| other.code < row.code), "{}", row.code);
            assert!([row.runtime, row.driver, row.text].iter().all(|s| s.ends_with('\0')));
        }
        assert_eq!(Error(12345).driver_name(), None);
    }
}
