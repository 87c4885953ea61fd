/* Two processes: an allocation and two events shared by handles; physical memory by a descriptor. */
#include "check.h"
#include <musa.h>
#include <musa_runtime.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct handles {
    musaIpcMemHandle_t memory, small;
    musaIpcEventHandle_t filled, answered;
    int pid, fd;
};

enum { SIZE = 1 << 20 };

static MUmemAllocationProp properties(void) {
    MUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = MU_MEM_ALLOCATION_TYPE_PINNED;
    p.requestedHandleTypes = MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    p.location.type = MU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = 1;
    return p;
}

static void child(int in, int out) {
    struct handles h;
    unsigned char *memory, *again, *small;
    musaEvent_t filled, answered;
    musaStream_t stream;
    musaPointerAttributes attributes;
    char byte = 1;
    CHECK(read(in, &h, sizeof h), sizeof h);
    OK(musaIpcOpenMemHandle((void **)&memory, h.memory, musaIpcMemLazyEnablePeerAccess));
    OK(musaIpcOpenMemHandle((void **)&again, h.memory, musaIpcMemLazyEnablePeerAccess));
    TRUE(memory == again);
    OK(musaIpcOpenMemHandle((void **)&small, h.small, musaIpcMemLazyEnablePeerAccess));
    TRUE(strcmp((char *)small, "small") == 0);
    OK(musaPointerGetAttributes(&attributes, memory + SIZE - 1));
    CHECK(attributes.type, musaMemoryTypeDevice);
    CHECK(attributes.device, 1);
    OK(musaIpcOpenEventHandle(&filled, h.filled));
    OK(musaIpcOpenEventHandle(&answered, h.answered));
    OK(musaStreamCreateWithFlags(&stream, musaStreamNonBlocking));
    CHECK(musaEventQuery(filled), musaErrorNotReady);
    OK(musaStreamWaitEvent(stream, filled, 0));
    OK(musaMemsetAsync(memory + 1, 2, 1, stream));
    OK(musaEventRecord(answered, stream));
    CHECK(musaStreamQuery(stream), musaErrorNotReady);
    CHECK(write(out, &byte, 1), 1);
    OK(musaStreamSynchronize(stream));
    CHECK(memory[0], 1);
    OK(musaIpcCloseMemHandle(memory));
    CHECK(memory[1], 2); /* one opening is left */
    OK(musaIpcCloseMemHandle(memory));
    CHECK(musaIpcCloseMemHandle(memory), musaErrorInvalidValue);
    h.memory.reserved[0] ^= 1;
    CHECK(musaIpcOpenMemHandle((void **)&memory, h.memory, 1), musaErrorInvalidResourceHandle);
    h.memory.reserved[0] ^= 1;
    h.memory.reserved[16] ^= 1; /* the key */
    CHECK(musaIpcOpenMemHandle((void **)&memory, h.memory, 1), musaErrorMapBufferObjectFailed);
    exit(0);
}

static void hold(void *gate) {
    while (!*(volatile int *)gate) {
        usleep(100);
    }
}

static void parent(int in, int out) {
    static int gate;
    struct handles h;
    unsigned char *memory, *offset, *small;
    void *refused;
    musaEvent_t filled, answered, plain;
    musaStream_t stream;
    char byte;
    OK(musaSetDevice(1));
    OK(musaMalloc((void **)&memory, SIZE));
    OK(musaMalloc((void **)&offset, 512));
    OK(musaMalloc((void **)&small, 600));
    strcpy((char *)small, "small");
    OK(musaStreamCreate(&stream));
    OK(musaEventCreateWithFlags(&filled, musaEventInterprocess | musaEventDisableTiming));
    OK(musaEventCreateWithFlags(&answered, musaEventInterprocess | musaEventDisableTiming));
    OK(musaEventCreate(&plain));
    OK(musaIpcGetMemHandle(&h.memory, memory));
    OK(musaIpcGetMemHandle(&h.small, small));
    OK(musaIpcGetEventHandle(&h.filled, filled));
    OK(musaIpcGetEventHandle(&h.answered, answered));
    CHECK(musaIpcGetEventHandle(&h.answered, plain), musaErrorInvalidResourceHandle);
    CHECK(musaIpcOpenMemHandle(&refused, h.memory, 1), musaErrorDeviceUninitialized);
    OK(musaLaunchHostFunc(stream, hold, &gate));
    OK(musaMemsetAsync(memory, 1, 1, stream));
    OK(musaEventRecord(filled, stream));
    CHECK(write(out, &h, sizeof h), sizeof h);
    CHECK(read(in, &byte, 1), 1);
    /* The child has recorded its answer and waits for the fill. */
    OK(musaStreamWaitEvent(stream, answered, 0));
    CHECK(musaEventQuery(answered), musaErrorNotReady);
    gate = 1;
    OK(musaEventSynchronize(answered));
    CHECK(memory[1], 2);
    OK(musaStreamSynchronize(stream));
}

static void physical(void) {
    MUmemAllocationProp p = properties();
    MUmemAccessDesc access;
    MUmemGenericAllocationHandle handle, same, imported;
    MUdeviceptr first, second;
    size_t size;
    int fd;
    OK(muInit(0));
    OK(muMemGetAllocationGranularity(&size, &p, MU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(muMemCreate(&handle, size, &p, 0));
    CHECK(muMemCreate(&same, size + 1, &p, 0), MUSA_ERROR_INVALID_VALUE);
    OK(muMemExportToShareableHandle(&fd, handle, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(muMemExportToShareableHandle(&fd, handle, MU_MEM_HANDLE_TYPE_FABRIC, 0), MUSA_ERROR_NOT_SUPPORTED);
    OK(muMemImportFromShareableHandle(&imported, (void *)(size_t)fd, MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    OK(muMemAddressReserve(&first, 2 * size, 0, 0, 0));
    OK(muMemAddressReserve(&second, size, 0, 0, 0));
    OK(muMemMap(first + size, size, 0, handle, 0));
    CHECK(muMemMap(first + size, size, 0, imported, 0), MUSA_ERROR_INVALID_VALUE);
    OK(muMemMap(second, size, 0, imported, 0));
    access.location = p.location;
    access.flags = MU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(muMemSetAccess(first + size, size, &access, 1));
    CHECK(muMemSetAccess(first, size, &access, 1), MUSA_ERROR_INVALID_VALUE);
    *(int *)(size_t)(first + size) = 77;
    CHECK(*(int *)(size_t)second, 77);
    OK(muMemRetainAllocationHandle(&same, (void *)(size_t)second));
    OK(muMemRelease(same));
    CHECK(muMemRelease(same), MUSA_ERROR_INVALID_VALUE);
    CHECK(muMemAddressFree(second, size), MUSA_ERROR_INVALID_VALUE);
    OK(muMemUnmap(second, size));
    OK(muMemAddressFree(second, size));
    OK(muMemUnmap(first + size, size));
    OK(muMemAddressFree(first, 2 * size));
    OK(muMemRelease(handle));
    OK(muMemRelease(imported));
}

static void driver(void) {
    MUcontext context;
    MUdevice device;
    MUdeviceptr base;
    musaStream_t stream;
    size_t size;
    unsigned int kind, yes = 1;
    int active, ordinal;
    unsigned int *word;
    const char *text;
    OK(musaSetDevice(1));
    OK(muCtxGetDevice(&device));
    CHECK(device, 1);
    OK(muDevicePrimaryCtxRetain(&context, 0));
    OK(muCtxSetCurrent(context));
    OK(musaGetDevice(&ordinal));
    CHECK(ordinal, 0);
    CHECK(muCtxSetCurrent((MUcontext)&context), MUSA_ERROR_INVALID_CONTEXT);
    OK(muDevicePrimaryCtxGetState(0, &kind, &active));
    CHECK(active, 1);
    OK(musaMalloc((void **)&word, 1000));
    OK(muMemGetAddressRange(&base, &size, (MUdeviceptr)(size_t)word + 10));
    TRUE(base == (MUdeviceptr)(size_t)word && size == 1000);
    OK(muPointerGetAttribute(&kind, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, base));
    CHECK(kind, MU_MEMORYTYPE_DEVICE);
    OK(muPointerSetAttribute(&yes, MU_POINTER_ATTRIBUTE_SYNC_MEMOPS, base));
    CHECK(muPointerGetAttribute(&kind, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, (MUdeviceptr)(size_t)&kind),
          MUSA_ERROR_INVALID_VALUE);
    OK(musaStreamCreateWithFlags(&stream, musaStreamNonBlocking));
    word[0] = 0;
    OK(muStreamWaitValue32((MUstream)stream, base, 5, MU_STREAM_WAIT_VALUE_GEQ));
    OK(muStreamWriteValue32((MUstream)stream, base + 4, 9, MU_STREAM_WRITE_VALUE_DEFAULT));
    CHECK(musaStreamQuery(stream), musaErrorNotReady);
    *(volatile unsigned int *)word = 6;
    OK(musaStreamSynchronize(stream));
    CHECK(word[1], 9);
    CHECK(muStreamWaitValue32((MUstream)stream, base + 1, 5, 0), MUSA_ERROR_INVALID_VALUE);
    OK(muGetErrorName(MUSA_ERROR_NOT_READY, &text));
    TRUE(strcmp(text, "MUSA_ERROR_NOT_READY") == 0);
    CHECK(muGetErrorName((MUresult)12345, &text), MUSA_ERROR_INVALID_VALUE);
    CHECK(muModuleLoadData(NULL, NULL), MUSA_ERROR_NOT_SUPPORTED);
}

int main(void) {
    int down[2], up[2], status;
    pid_t pid;
    OK(pipe(down));
    OK(pipe(up));
    pid = fork(); /* before the first use: both may use the runtime */
    if (pid == 0) {
        child(down[0], up[1]);
    }
    parent(up[0], down[1]);
    TRUE(waitpid(pid, &status, 0) == pid);
    CHECK(status, 0);
    physical();
    driver();
    pid = fork(); /* after use: the child is told */
    if (pid == 0) {
        int count;
        musaStream_t stream;
        CHECK(musaGetDeviceCount(&count), musaErrorInitializationError);
        CHECK(musaStreamCreate(&stream), musaErrorInitializationError);
        CHECK(musaDeviceSynchronize(), musaErrorInitializationError);
        exit(0);
    }
    TRUE(waitpid(pid, &status, 0) == pid);
    CHECK(status, 0);
    return 0;
}
