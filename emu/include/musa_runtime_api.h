/* Runtime API of the emulated device runtime. Enum values are those of the CUDA runtime. */
#ifndef MUSA_RUNTIME_API_H
#define MUSA_RUNTIME_API_H

#include <stddef.h>

#define MUSART_VERSION 50200

#if defined(_MSC_VER)
#define MUSARTAPI
#else
#define MUSARTAPI __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define MUSA_DEFAULT(value) = value
extern "C" {
#else
#define MUSA_DEFAULT(value)
#endif

typedef enum musaError {
    musaSuccess = 0,
    musaErrorInvalidValue = 1,
    musaErrorMemoryAllocation = 2,
    musaErrorInitializationError = 3,
    musaErrorInvalidMemcpyDirection = 21,
    musaErrorNoDevice = 100,
    musaErrorInvalidDevice = 101,
    musaErrorInvalidKernelImage = 200,
    musaErrorDeviceUninitialized = 201,
    musaErrorMapBufferObjectFailed = 205,
    musaErrorPeerAccessUnsupported = 217,
    musaErrorInvalidResourceHandle = 400,
    musaErrorIllegalState = 401,
    musaErrorSymbolNotFound = 500,
    musaErrorNotReady = 600,
    musaErrorPeerAccessAlreadyEnabled = 704,
    musaErrorPeerAccessNotEnabled = 705,
    musaErrorHostMemoryAlreadyRegistered = 712,
    musaErrorHostMemoryNotRegistered = 713,
    musaErrorLaunchFailure = 719,
    musaErrorNotPermitted = 800,
    musaErrorNotSupported = 801,
    musaErrorStreamCaptureUnsupported = 900,
    musaErrorStreamCaptureInvalidated = 901,
    musaErrorStreamCaptureMerge = 902,
    musaErrorStreamCaptureUnmatched = 903,
    musaErrorStreamCaptureUnjoined = 904,
    musaErrorStreamCaptureIsolation = 905,
    musaErrorStreamCaptureImplicit = 906,
    musaErrorCapturedEvent = 907,
    musaErrorStreamCaptureWrongThread = 908,
    musaErrorUnknown = 999
} musaError_t;

typedef struct MUstream_st *musaStream_t;
typedef struct MUevent_st *musaEvent_t;
typedef struct MUgraph_st *musaGraph_t;
typedef struct MUgraphNode_st *musaGraphNode_t;
typedef struct MUgraphExec_st *musaGraphExec_t;
typedef struct MUuserObject_st *musaUserObject_t;

/* Handles of the default streams; a null handle is the first. */
#define musaStreamLegacy ((musaStream_t)0x1)
#define musaStreamPerThread ((musaStream_t)0x2)

#define musaStreamDefault 0x00
#define musaStreamNonBlocking 0x01

#define musaEventDefault 0x00
#define musaEventBlockingSync 0x01
#define musaEventDisableTiming 0x02
#define musaEventInterprocess 0x04
#define musaEventRecordDefault 0x00
#define musaEventRecordExternal 0x01
#define musaEventWaitDefault 0x00
#define musaEventWaitExternal 0x01

#define musaHostAllocDefault 0x00
#define musaHostAllocPortable 0x01
#define musaHostAllocMapped 0x02
#define musaHostAllocWriteCombined 0x04
#define musaHostRegisterDefault 0x00
#define musaHostRegisterPortable 0x01
#define musaHostRegisterMapped 0x02
#define musaHostRegisterIoMemory 0x04
#define musaHostRegisterReadOnly 0x08

#define musaMemAttachGlobal 0x01
#define musaMemAttachHost 0x02

#define musaIpcMemLazyEnablePeerAccess 0x01
#define MUSA_IPC_HANDLE_SIZE 64

#define musaDeviceScheduleAuto 0x00
#define musaDeviceScheduleSpin 0x01
#define musaDeviceScheduleYield 0x02
#define musaDeviceScheduleBlockingSync 0x04
#define musaDeviceMapHost 0x08

typedef enum musaMemcpyKind {
    musaMemcpyHostToHost = 0,
    musaMemcpyHostToDevice = 1,
    musaMemcpyDeviceToHost = 2,
    musaMemcpyDeviceToDevice = 3,
    musaMemcpyDefault = 4
} musaMemcpyKind;

typedef enum musaMemoryType {
    musaMemoryTypeUnregistered = 0,
    musaMemoryTypeHost = 1,
    musaMemoryTypeDevice = 2,
    musaMemoryTypeManaged = 3
} musaMemoryType;

typedef enum musaStreamCaptureMode {
    musaStreamCaptureModeGlobal = 0,
    musaStreamCaptureModeThreadLocal = 1,
    musaStreamCaptureModeRelaxed = 2
} musaStreamCaptureMode;

typedef enum musaStreamCaptureStatus {
    musaStreamCaptureStatusNone = 0,
    musaStreamCaptureStatusActive = 1,
    musaStreamCaptureStatusInvalidated = 2
} musaStreamCaptureStatus;

typedef enum musaStreamUpdateCaptureDependenciesFlags {
    musaStreamAddCaptureDependencies = 0,
    musaStreamSetCaptureDependencies = 1
} musaStreamUpdateCaptureDependenciesFlags;

typedef enum musaUserObjectFlags { musaUserObjectNoDestructorSync = 1 } musaUserObjectFlags;
typedef enum musaUserObjectRetainFlags { musaGraphUserObjectMove = 1 } musaUserObjectRetainFlags;

typedef enum musaDeviceAttr {
    musaDevAttrMaxThreadsPerBlock = 1,
    musaDevAttrMaxBlockDimX = 2,
    musaDevAttrMaxBlockDimY = 3,
    musaDevAttrMaxBlockDimZ = 4,
    musaDevAttrMaxGridDimX = 5,
    musaDevAttrMaxGridDimY = 6,
    musaDevAttrMaxGridDimZ = 7,
    musaDevAttrMaxSharedMemoryPerBlock = 8,
    musaDevAttrTotalConstantMemory = 9,
    musaDevAttrWarpSize = 10,
    musaDevAttrMaxPitch = 11,
    musaDevAttrMaxRegistersPerBlock = 12,
    musaDevAttrClockRate = 13,
    musaDevAttrTextureAlignment = 14,
    musaDevAttrGpuOverlap = 15,
    musaDevAttrMultiProcessorCount = 16,
    musaDevAttrKernelExecTimeout = 17,
    musaDevAttrIntegrated = 18,
    musaDevAttrCanMapHostMemory = 19,
    musaDevAttrComputeMode = 20,
    musaDevAttrConcurrentKernels = 31,
    musaDevAttrEccEnabled = 32,
    musaDevAttrPciBusId = 33,
    musaDevAttrPciDeviceId = 34,
    musaDevAttrTccDriver = 35,
    musaDevAttrMemoryClockRate = 36,
    musaDevAttrGlobalMemoryBusWidth = 37,
    musaDevAttrL2CacheSize = 38,
    musaDevAttrMaxThreadsPerMultiProcessor = 39,
    musaDevAttrAsyncEngineCount = 40,
    musaDevAttrUnifiedAddressing = 41,
    musaDevAttrPciDomainId = 50,
    musaDevAttrComputeCapabilityMajor = 75,
    musaDevAttrComputeCapabilityMinor = 76,
    musaDevAttrStreamPrioritiesSupported = 78,
    musaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    musaDevAttrMaxRegistersPerMultiprocessor = 82,
    musaDevAttrManagedMemory = 83,
    musaDevAttrPageableMemoryAccess = 88,
    musaDevAttrConcurrentManagedAccess = 89,
    musaDevAttrCanUseHostPointerForRegisteredMem = 91,
    musaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    musaDevAttrHostRegisterSupported = 99
} musaDeviceAttr;

typedef struct musaUUID_st {
    char bytes[16];
} musaUUID_t;

typedef struct musaPointerAttributes {
    musaMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
} musaPointerAttributes;

typedef struct musaIpcMemHandle_st {
    char reserved[MUSA_IPC_HANDLE_SIZE];
} musaIpcMemHandle_t;

typedef struct musaIpcEventHandle_st {
    char reserved[MUSA_IPC_HANDLE_SIZE];
} musaIpcEventHandle_t;

typedef void (*musaHostFn_t)(void *userData);
typedef void (*musaStreamCallback_t)(musaStream_t stream, musaError_t status, void *userData);

typedef struct musaHostNodeParams {
    musaHostFn_t fn;
    void *userData;
} musaHostNodeParams;

/* Supported: height 1 and elements whose bytes are all equal. */
typedef struct musaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize;
    size_t width;
    size_t height;
} musaMemsetParams;

typedef struct musaDeviceProp {
    char name[256];
    musaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int cooperativeLaunch;
    size_t sharedMemPerBlockOptin;
    int reserved[32];
} musaDeviceProp;

/* A program compiled with this macro has null stream handles mean the calling thread's own default stream. */
#ifdef MUSA_API_PER_THREAD_DEFAULT_STREAM
#define musaStreamQuery musaStreamQuery_ptsz
#define musaStreamSynchronize musaStreamSynchronize_ptsz
#define musaStreamWaitEvent musaStreamWaitEvent_ptsz
#define musaStreamGetFlags musaStreamGetFlags_ptsz
#define musaStreamGetPriority musaStreamGetPriority_ptsz
#define musaStreamGetId musaStreamGetId_ptsz
#define musaStreamAddCallback musaStreamAddCallback_ptsz
#define musaLaunchHostFunc musaLaunchHostFunc_ptsz
#define musaStreamBeginCapture musaStreamBeginCapture_ptsz
#define musaStreamEndCapture musaStreamEndCapture_ptsz
#define musaStreamIsCapturing musaStreamIsCapturing_ptsz
#define musaStreamGetCaptureInfo musaStreamGetCaptureInfo_ptsz
#define musaStreamGetCaptureInfo_v2 musaStreamGetCaptureInfo_v2_ptsz
#define musaStreamUpdateCaptureDependencies musaStreamUpdateCaptureDependencies_ptsz
#define musaEventRecord musaEventRecord_ptsz
#define musaEventRecordWithFlags musaEventRecordWithFlags_ptsz
#define musaMallocAsync musaMallocAsync_ptsz
#define musaFreeAsync musaFreeAsync_ptsz
#define musaMemcpyAsync musaMemcpyAsync_ptsz
#define musaMemcpyPeerAsync musaMemcpyPeerAsync_ptsz
#define musaMemsetAsync musaMemsetAsync_ptsz
#define musaGraphLaunch musaGraphLaunch_ptsz
#define musaMemcpy musaMemcpy_ptds
#define musaMemset musaMemset_ptds
#endif

/* Errors and versions */
MUSARTAPI musaError_t musaGetLastError(void);
MUSARTAPI musaError_t musaPeekAtLastError(void);
MUSARTAPI const char *musaGetErrorName(musaError_t error);
MUSARTAPI const char *musaGetErrorString(musaError_t error);
MUSARTAPI musaError_t musaDriverGetVersion(int *version);
MUSARTAPI musaError_t musaRuntimeGetVersion(int *version);

/* Devices */
MUSARTAPI musaError_t musaGetDeviceCount(int *count);
MUSARTAPI musaError_t musaGetDevice(int *device);
MUSARTAPI musaError_t musaSetDevice(int device);
MUSARTAPI musaError_t musaSetDeviceFlags(unsigned int flags);
MUSARTAPI musaError_t musaGetDeviceFlags(unsigned int *flags);
MUSARTAPI musaError_t musaDeviceSynchronize(void);
MUSARTAPI musaError_t musaDeviceReset(void);
MUSARTAPI musaError_t musaGetDeviceProperties(musaDeviceProp *properties, int device);
MUSARTAPI musaError_t musaGetDeviceProperties_v2(musaDeviceProp *properties, int device);
MUSARTAPI musaError_t musaDeviceGetAttribute(int *value, musaDeviceAttr attribute, int device);
MUSARTAPI musaError_t musaDeviceGetPCIBusId(char *text, int length, int device);
MUSARTAPI musaError_t musaDeviceGetByPCIBusId(int *device, const char *text);
MUSARTAPI musaError_t musaDeviceGetStreamPriorityRange(int *least, int *greatest);
MUSARTAPI musaError_t musaDeviceCanAccessPeer(int *can, int device, int peer);
MUSARTAPI musaError_t musaDeviceEnablePeerAccess(int peer, unsigned int flags);
MUSARTAPI musaError_t musaDeviceDisablePeerAccess(int peer);

/* Memory */
MUSARTAPI musaError_t musaMalloc(void **address, size_t size);
MUSARTAPI musaError_t musaFree(void *address);
MUSARTAPI musaError_t musaMallocHost(void **address, size_t size);
MUSARTAPI musaError_t musaHostAlloc(void **address, size_t size, unsigned int flags);
MUSARTAPI musaError_t musaFreeHost(void *address);
MUSARTAPI musaError_t musaHostRegister(void *address, size_t size, unsigned int flags);
MUSARTAPI musaError_t musaHostUnregister(void *address);
MUSARTAPI musaError_t musaHostGetDevicePointer(void **address, void *host, unsigned int flags);
MUSARTAPI musaError_t musaHostGetFlags(unsigned int *flags, void *host);
MUSARTAPI musaError_t musaMallocManaged(void **address, size_t size,
                                        unsigned int flags MUSA_DEFAULT(musaMemAttachGlobal));
MUSARTAPI musaError_t musaMallocAsync(void **address, size_t size, musaStream_t stream);
MUSARTAPI musaError_t musaFreeAsync(void *address, musaStream_t stream);
MUSARTAPI musaError_t musaMemGetInfo(size_t *free, size_t *total);
MUSARTAPI musaError_t musaPointerGetAttributes(musaPointerAttributes *attributes, const void *address);
MUSARTAPI musaError_t musaMemcpy(void *dst, const void *src, size_t count, musaMemcpyKind kind);
MUSARTAPI musaError_t musaMemcpyAsync(void *dst, const void *src, size_t count, musaMemcpyKind kind,
                                      musaStream_t stream MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count);
MUSARTAPI musaError_t musaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                                          musaStream_t stream MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaMemset(void *dst, int value, size_t count);
MUSARTAPI musaError_t musaMemsetAsync(void *dst, int value, size_t count, musaStream_t stream MUSA_DEFAULT(0));

/* Streams */
MUSARTAPI musaError_t musaStreamCreate(musaStream_t *stream);
MUSARTAPI musaError_t musaStreamCreateWithFlags(musaStream_t *stream, unsigned int flags);
MUSARTAPI musaError_t musaStreamCreateWithPriority(musaStream_t *stream, unsigned int flags, int priority);
MUSARTAPI musaError_t musaStreamDestroy(musaStream_t stream);
MUSARTAPI musaError_t musaStreamQuery(musaStream_t stream);
MUSARTAPI musaError_t musaStreamSynchronize(musaStream_t stream);
MUSARTAPI musaError_t musaStreamWaitEvent(musaStream_t stream, musaEvent_t event,
                                          unsigned int flags MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaStreamGetFlags(musaStream_t stream, unsigned int *flags);
MUSARTAPI musaError_t musaStreamGetPriority(musaStream_t stream, int *priority);
MUSARTAPI musaError_t musaStreamGetId(musaStream_t stream, unsigned long long *id);
MUSARTAPI musaError_t musaStreamGetDevice(musaStream_t stream, int *device);
MUSARTAPI musaError_t musaStreamAddCallback(musaStream_t stream, musaStreamCallback_t callback, void *userData,
                                            unsigned int flags);
MUSARTAPI musaError_t musaLaunchHostFunc(musaStream_t stream, musaHostFn_t fn, void *userData);

/* Events */
MUSARTAPI musaError_t musaEventCreate(musaEvent_t *event);
MUSARTAPI musaError_t musaEventCreateWithFlags(musaEvent_t *event, unsigned int flags);
MUSARTAPI musaError_t musaEventRecord(musaEvent_t event, musaStream_t stream MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaEventRecordWithFlags(musaEvent_t event, musaStream_t stream MUSA_DEFAULT(0),
                                               unsigned int flags MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaEventQuery(musaEvent_t event);
MUSARTAPI musaError_t musaEventSynchronize(musaEvent_t event);
MUSARTAPI musaError_t musaEventDestroy(musaEvent_t event);
MUSARTAPI musaError_t musaEventElapsedTime(float *milliseconds, musaEvent_t start, musaEvent_t end);

/* Capture */
MUSARTAPI musaError_t musaStreamBeginCapture(musaStream_t stream,
                                             musaStreamCaptureMode mode MUSA_DEFAULT(musaStreamCaptureModeGlobal));
MUSARTAPI musaError_t musaStreamEndCapture(musaStream_t stream, musaGraph_t *graph);
MUSARTAPI musaError_t musaStreamIsCapturing(musaStream_t stream, musaStreamCaptureStatus *status);
MUSARTAPI musaError_t musaStreamGetCaptureInfo(musaStream_t stream, musaStreamCaptureStatus *status,
                                               unsigned long long *id);
MUSARTAPI musaError_t musaStreamGetCaptureInfo_v2(musaStream_t stream, musaStreamCaptureStatus *status,
                                                  unsigned long long *id MUSA_DEFAULT(0),
                                                  musaGraph_t *graph MUSA_DEFAULT(0),
                                                  const musaGraphNode_t **nodes MUSA_DEFAULT(0),
                                                  size_t *count MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaStreamUpdateCaptureDependencies(musaStream_t stream, musaGraphNode_t *nodes, size_t count,
                                                          unsigned int flags MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaThreadExchangeStreamCaptureMode(musaStreamCaptureMode *mode);

/* Graphs */
MUSARTAPI musaError_t musaGraphCreate(musaGraph_t *graph, unsigned int flags);
MUSARTAPI musaError_t musaGraphDestroy(musaGraph_t graph);
MUSARTAPI musaError_t musaGraphAddHostNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *needs,
                                           size_t count, const musaHostNodeParams *params);
MUSARTAPI musaError_t musaGraphAddMemcpyNode1D(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *needs,
                                               size_t count, void *dst, const void *src, size_t length,
                                               musaMemcpyKind kind);
MUSARTAPI musaError_t musaGraphAddMemsetNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *needs,
                                             size_t count, const musaMemsetParams *params);
MUSARTAPI musaError_t musaGraphAddEmptyNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *needs,
                                            size_t count);
MUSARTAPI musaError_t musaGraphAddDependencies(musaGraph_t graph, const musaGraphNode_t *from,
                                               const musaGraphNode_t *to, size_t count);
MUSARTAPI musaError_t musaGraphGetNodes(musaGraph_t graph, musaGraphNode_t *nodes, size_t *count);
/* The function looks at its first two arguments alone; versions of the API differ in what follows them. */
#ifdef __cplusplus
MUSARTAPI musaError_t musaGraphInstantiate(musaGraphExec_t *executable, musaGraph_t graph,
                                           unsigned long long flags = 0);
#else
MUSARTAPI musaError_t musaGraphInstantiate(musaGraphExec_t *executable, musaGraph_t graph, musaGraphNode_t *errorNode,
                                           char *log, size_t length);
#endif
MUSARTAPI musaError_t musaGraphInstantiateWithFlags(musaGraphExec_t *executable, musaGraph_t graph,
                                                    unsigned long long flags);
MUSARTAPI musaError_t musaGraphLaunch(musaGraphExec_t executable, musaStream_t stream);
MUSARTAPI musaError_t musaGraphExecDestroy(musaGraphExec_t executable);
MUSARTAPI musaError_t musaGraphDebugDotPrint(musaGraph_t graph, const char *path, unsigned int flags);
MUSARTAPI musaError_t musaUserObjectCreate(musaUserObject_t *object, void *pointer, musaHostFn_t destroy,
                                           unsigned int count, unsigned int flags);
MUSARTAPI musaError_t musaUserObjectRetain(musaUserObject_t object, unsigned int count MUSA_DEFAULT(1));
MUSARTAPI musaError_t musaUserObjectRelease(musaUserObject_t object, unsigned int count MUSA_DEFAULT(1));
MUSARTAPI musaError_t musaGraphRetainUserObject(musaGraph_t graph, musaUserObject_t object,
                                                unsigned int count MUSA_DEFAULT(1),
                                                unsigned int flags MUSA_DEFAULT(0));
MUSARTAPI musaError_t musaGraphReleaseUserObject(musaGraph_t graph, musaUserObject_t object,
                                                 unsigned int count MUSA_DEFAULT(1));

/* Between processes */
MUSARTAPI musaError_t musaIpcGetMemHandle(musaIpcMemHandle_t *handle, void *address);
MUSARTAPI musaError_t musaIpcOpenMemHandle(void **address, musaIpcMemHandle_t handle, unsigned int flags);
MUSARTAPI musaError_t musaIpcCloseMemHandle(void *address);
MUSARTAPI musaError_t musaIpcGetEventHandle(musaIpcEventHandle_t *handle, musaEvent_t event);
MUSARTAPI musaError_t musaIpcOpenEventHandle(musaEvent_t *event, musaIpcEventHandle_t handle);

#ifdef __cplusplus
}
#endif

#endif
