/* Driver API of the emulated device runtime. Enum values are those of the CUDA driver. */
#ifndef MUSA_H
#define MUSA_H

#include <stddef.h>

#define MUSA_VERSION 50200

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mudaError_enum {
    MUSA_SUCCESS = 0,
    MUSA_ERROR_INVALID_VALUE = 1,
    MUSA_ERROR_OUT_OF_MEMORY = 2,
    MUSA_ERROR_NOT_INITIALIZED = 3,
    MUSA_ERROR_INVALID_MEMCPY_DIRECTION = 21,
    MUSA_ERROR_NO_DEVICE = 100,
    MUSA_ERROR_INVALID_DEVICE = 101,
    MUSA_ERROR_INVALID_IMAGE = 200,
    MUSA_ERROR_INVALID_CONTEXT = 201,
    MUSA_ERROR_MAP_FAILED = 205,
    MUSA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    MUSA_ERROR_INVALID_HANDLE = 400,
    MUSA_ERROR_ILLEGAL_STATE = 401,
    MUSA_ERROR_NOT_FOUND = 500,
    MUSA_ERROR_NOT_READY = 600,
    MUSA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    MUSA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    MUSA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    MUSA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    MUSA_ERROR_LAUNCH_FAILED = 719,
    MUSA_ERROR_NOT_PERMITTED = 800,
    MUSA_ERROR_NOT_SUPPORTED = 801,
    MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    MUSA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    MUSA_ERROR_STREAM_CAPTURE_MERGE = 902,
    MUSA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    MUSA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
    MUSA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    MUSA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    MUSA_ERROR_CAPTURED_EVENT = 907,
    MUSA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
    MUSA_ERROR_UNKNOWN = 999
} MUresult;

typedef int MUdevice;
typedef unsigned long long MUdeviceptr;
typedef struct MUctx_st *MUcontext;
typedef struct MUmod_st *MUmodule;
typedef struct MUfunc_st *MUfunction;
typedef struct MUstream_st *MUstream;
typedef struct MUevent_st *MUevent;
typedef unsigned long long MUmemGenericAllocationHandle;

typedef enum MUpointer_attribute {
    MU_POINTER_ATTRIBUTE_CONTEXT = 1,
    MU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    MU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    MU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    MU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    MU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    MU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    MU_POINTER_ATTRIBUTE_IS_LEGACY_MUSA_IPC_CAPABLE = 10,
    MU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    MU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    MU_POINTER_ATTRIBUTE_MAPPED = 13,
    MU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
    MU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15
} MUpointer_attribute;

typedef enum MUmemorytype {
    MU_MEMORYTYPE_HOST = 1,
    MU_MEMORYTYPE_DEVICE = 2,
    MU_MEMORYTYPE_UNIFIED = 4
} MUmemorytype;

typedef enum MUdevice_attribute {
    MU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    MU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    MU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
    MU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
    MU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    MU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
    MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    MU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
    MU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    MU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
    MU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124
} MUdevice_attribute;

typedef enum MUmemAllocationType { MU_MEM_ALLOCATION_TYPE_PINNED = 1 } MUmemAllocationType;
typedef enum MUmemLocationType { MU_MEM_LOCATION_TYPE_DEVICE = 1 } MUmemLocationType;
typedef enum MUmemAllocationHandleType {
    MU_MEM_HANDLE_TYPE_NONE = 0,
    MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    MU_MEM_HANDLE_TYPE_FABRIC = 8
} MUmemAllocationHandleType;
typedef enum MUmemAccess_flags {
    MU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
    MU_MEM_ACCESS_FLAGS_PROT_READ = 1,
    MU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} MUmemAccess_flags;
typedef enum MUmemAllocationGranularity_flags {
    MU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    MU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1
} MUmemAllocationGranularity_flags;

#define MU_STREAM_WAIT_VALUE_GEQ 0x0
#define MU_STREAM_WAIT_VALUE_EQ 0x1
#define MU_STREAM_WAIT_VALUE_AND 0x2
#define MU_STREAM_WAIT_VALUE_NOR 0x3
#define MU_STREAM_WAIT_VALUE_FLUSH (1 << 30)
#define MU_STREAM_WRITE_VALUE_DEFAULT 0x0
#define MU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER 0x1

typedef struct MUuuid_st {
    char bytes[16];
} MUuuid;

typedef struct MUmemLocation_st {
    MUmemLocationType type;
    int id;
} MUmemLocation;

typedef struct MUmemAllocationProp_st {
    MUmemAllocationType type;
    MUmemAllocationHandleType requestedHandleTypes;
    MUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} MUmemAllocationProp;

typedef struct MUmemAccessDesc_st {
    MUmemLocation location;
    MUmemAccess_flags flags;
} MUmemAccessDesc;

MUresult muInit(unsigned int flags);
MUresult muDriverGetVersion(int *version);
MUresult muGetErrorString(MUresult error, const char **text);
MUresult muGetErrorName(MUresult error, const char **text);
MUresult muDeviceGetCount(int *count);
MUresult muDeviceGet(MUdevice *device, int ordinal);
MUresult muDeviceGetAttribute(int *value, MUdevice_attribute attribute, MUdevice device);
MUresult muDeviceGetName(char *text, int length, MUdevice device);
MUresult muDeviceGetPCIBusId(char *text, int length, MUdevice device);
MUresult muDeviceGetUuid(MUuuid *uuid, MUdevice device);
MUresult muDeviceTotalMem(size_t *bytes, MUdevice device);

MUresult muCtxGetCurrent(MUcontext *context);
MUresult muCtxSetCurrent(MUcontext context);
MUresult muCtxGetDevice(MUdevice *device);
MUresult muCtxSynchronize(void);
MUresult muDevicePrimaryCtxRetain(MUcontext *context, MUdevice device);
MUresult muDevicePrimaryCtxRelease(MUdevice device);
MUresult muDevicePrimaryCtxGetState(MUdevice device, unsigned int *flags, int *active);

MUresult muPointerGetAttribute(void *data, MUpointer_attribute attribute, MUdeviceptr address);
MUresult muPointerGetAttributes(unsigned int count, MUpointer_attribute *attributes, void **data,
                                MUdeviceptr address);
MUresult muPointerSetAttribute(const void *value, MUpointer_attribute attribute, MUdeviceptr address);
MUresult muMemGetAddressRange(MUdeviceptr *base, size_t *size, MUdeviceptr address);
MUresult muMemGetAddressRange_v2(MUdeviceptr *base, size_t *size, MUdeviceptr address);
MUresult muMemGetHandleForAddressRange(void *handle, MUdeviceptr address, size_t size, int kind,
                                       unsigned long long flags);

MUresult muMemCreate(MUmemGenericAllocationHandle *handle, size_t size, const MUmemAllocationProp *properties,
                     unsigned long long flags);
MUresult muMemRelease(MUmemGenericAllocationHandle handle);
MUresult muMemGetAllocationGranularity(size_t *granularity, const MUmemAllocationProp *properties,
                                       MUmemAllocationGranularity_flags option);
MUresult muMemGetAllocationPropertiesFromHandle(MUmemAllocationProp *properties, MUmemGenericAllocationHandle handle);
MUresult muMemAddressReserve(MUdeviceptr *address, size_t size, size_t alignment, MUdeviceptr wish,
                             unsigned long long flags);
MUresult muMemAddressFree(MUdeviceptr address, size_t size);
MUresult muMemMap(MUdeviceptr address, size_t size, size_t offset, MUmemGenericAllocationHandle handle,
                  unsigned long long flags);
MUresult muMemUnmap(MUdeviceptr address, size_t size);
MUresult muMemSetAccess(MUdeviceptr address, size_t size, const MUmemAccessDesc *access, size_t count);
MUresult muMemGetAccess(unsigned long long *flags, const MUmemLocation *location, MUdeviceptr address);
MUresult muMemExportToShareableHandle(void *shareable, MUmemGenericAllocationHandle handle,
                                      MUmemAllocationHandleType kind, unsigned long long flags);
MUresult muMemImportFromShareableHandle(MUmemGenericAllocationHandle *handle, void *shareable,
                                        MUmemAllocationHandleType kind);
MUresult muMemRetainAllocationHandle(MUmemGenericAllocationHandle *handle, void *address);

MUresult muStreamWaitValue32(MUstream stream, MUdeviceptr address, unsigned int value, unsigned int flags);
MUresult muStreamWaitValue64(MUstream stream, MUdeviceptr address, unsigned long long value, unsigned int flags);
MUresult muStreamWriteValue32(MUstream stream, MUdeviceptr address, unsigned int value, unsigned int flags);
MUresult muStreamWriteValue64(MUstream stream, MUdeviceptr address, unsigned long long value, unsigned int flags);

/* Not supported: these answer MUSA_ERROR_NOT_SUPPORTED. */
MUresult muStreamBatchMemOp(MUstream stream, unsigned int count, void *operations, unsigned int flags);
MUresult muModuleLoadData(MUmodule *module, const void *image);
MUresult muModuleUnload(MUmodule module);
MUresult muModuleGetFunction(MUfunction *function, MUmodule module, const char *name);
MUresult muLaunchKernel(MUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ,
                        unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes,
                        MUstream stream, void **parameters, void **extra);

#ifdef __cplusplus
}
#endif

#endif
