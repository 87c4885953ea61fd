/* Devices, memory, streams and events as a plain C program sees them. Started with MCCL_EMU_DEVICES=3,
 * MCCL_EMU_MEMORY=64M and MCCL_EMU_DELAY_US=20000. */
#include "check.h"
#include <musa_runtime.h>
#include <string.h>

static void devices(void) {
    int count, device, value;
    char bus[32];
    musaDeviceProp properties;
    OK(musaGetDeviceCount(&count));
    CHECK(count, 3);
    CHECK(musaSetDevice(3), musaErrorInvalidDevice);
    CHECK(musaPeekAtLastError(), musaErrorInvalidDevice);
    CHECK(musaGetLastError(), musaErrorInvalidDevice);
    CHECK(musaGetLastError(), musaSuccess);
    OK(musaSetDevice(2));
    OK(musaGetDevice(&device));
    CHECK(device, 2);
    OK(musaGetDeviceProperties(&properties, 2));
    TRUE(strcmp(properties.name, "MCCL emulated device") == 0);
    TRUE(properties.totalGlobalMem == 64u << 20);
    OK(musaDeviceGetPCIBusId(bus, sizeof bus, 2));
    TRUE(strcmp(bus, "0000:0f:00.0") == 0);
    CHECK(musaDeviceGetPCIBusId(bus, 12, 2), musaErrorInvalidValue);
    OK(musaDeviceGetByPCIBusId(&device, "0000:0F:00.0"));
    CHECK(device, 2);
    OK(musaDeviceGetByPCIBusId(&device, "0e:00.0"));
    CHECK(device, 1);
    CHECK(musaDeviceGetByPCIBusId(&device, "0000:77:00.0"), musaErrorInvalidDevice);
    OK(musaDeviceGetAttribute(&value, musaDevAttrPciBusId, 2));
    CHECK(value, properties.pciBusID);
    OK(musaDeviceCanAccessPeer(&value, 0, 1));
    CHECK(value, 1);
    OK(musaDeviceEnablePeerAccess(1, 0));
    CHECK(musaDeviceEnablePeerAccess(1, 0), musaErrorPeerAccessAlreadyEnabled);
    OK(musaDeviceDisablePeerAccess(1));
    CHECK(musaDeviceDisablePeerAccess(1), musaErrorPeerAccessNotEnabled);
    musaGetLastError();
    TRUE(strcmp(musaGetErrorName(musaErrorNotReady), "musaErrorNotReady") == 0);
}

static void memory(void) {
    size_t before, after, total;
    char *a, *pinned, *device_view;
    void *nothing;
    static char own[8192];
    musaPointerAttributes attributes;
    OK(musaMemGetInfo(&before, &total));
    TRUE(total == 64u << 20 && before == total);
    CHECK(musaMalloc(&nothing, (64u << 20) + 1), musaErrorMemoryAllocation);
    OK(musaMalloc((void **)&a, 10u << 20));
    OK(musaMemGetInfo(&after, &total));
    TRUE(before - after == 10u << 20);
    a[123] = 7;
    OK(musaPointerGetAttributes(&attributes, a + 1000));
    CHECK(attributes.type, musaMemoryTypeDevice);
    CHECK(attributes.device, 2);
    TRUE(attributes.devicePointer == a + 1000 && attributes.hostPointer == NULL);
    CHECK(musaFree(a + 512), musaErrorInvalidValue);
    OK(musaFree(a));
    CHECK(musaFree(a), musaErrorInvalidValue);
    OK(musaPointerGetAttributes(&attributes, a));
    CHECK(attributes.type, musaMemoryTypeUnregistered);
    OK(musaMalloc((void **)&a, 10u << 20));
    CHECK(a[123], 0); /* freed pages really went back */
    OK(musaFree(a));
    OK(musaFree(NULL));
    OK(musaMemGetInfo(&after, &total));
    TRUE(before == after);

    OK(musaHostAlloc((void **)&pinned, 5000, musaHostAllocMapped));
    OK(musaPointerGetAttributes(&attributes, pinned + 4999));
    CHECK(attributes.type, musaMemoryTypeHost);
    OK(musaHostGetDevicePointer((void **)&device_view, pinned, 0));
    TRUE(device_view == pinned);
    CHECK(musaHostUnregister(pinned), musaErrorHostMemoryNotRegistered);
    OK(musaFreeHost(pinned));
    CHECK(musaFreeHost(pinned), musaErrorInvalidValue);
    OK(musaHostRegister(own, sizeof own, musaHostRegisterDefault));
    CHECK(musaHostRegister(own + 100, 10, 0), musaErrorHostMemoryAlreadyRegistered);
    CHECK(musaFreeHost(own), musaErrorInvalidValue);
    OK(musaHostUnregister(own));
    OK(musaMallocManaged((void **)&a, 100, musaMemAttachGlobal));
    OK(musaPointerGetAttributes(&attributes, a));
    CHECK(attributes.type, musaMemoryTypeManaged);
    OK(musaFree(a));
    musaGetLastError();
}

static void forbidden(void *result) {
    void *address;
    ((int *)result)[0] = musaMalloc(&address, 64);
    ((int *)result)[1] = musaStreamSynchronize(NULL);
}

static void callback(musaStream_t stream, musaError_t status, void *result) {
    *(musaStream_t *)result = status == musaSuccess ? stream : NULL;
}

static void streams(void) {
    musaStream_t a, b, seen = NULL;
    musaEvent_t start, middle, end;
    unsigned char *x, *y;
    unsigned int flags;
    int priority, least, greatest, results[2] = {0, 0};
    float milliseconds;
    OK(musaDeviceGetStreamPriorityRange(&least, &greatest));
    TRUE(greatest < least);
    OK(musaStreamCreateWithPriority(&a, musaStreamNonBlocking, -100));
    OK(musaStreamGetPriority(a, &priority));
    CHECK(priority, greatest);
    OK(musaStreamGetFlags(a, &flags));
    CHECK(flags, musaStreamNonBlocking);
    OK(musaStreamCreate(&b));
    OK(musaEventCreate(&start));
    OK(musaEventCreate(&middle));
    OK(musaEventCreateWithFlags(&end, musaEventDisableTiming));
    CHECK(musaEventCreateWithFlags(&end, musaEventInterprocess), musaErrorInvalidValue);
    OK(musaMalloc((void **)&x, 4096));
    OK(musaMalloc((void **)&y, 4096));
    memset(x, 0, 4096);

    OK(musaEventRecord(start, a));
    OK(musaMemsetAsync(x, 3, 4096, a));
    CHECK(x[0], 0); /* the delay shows that submission does not wait */
    OK(musaEventRecord(middle, a));
    CHECK(musaEventQuery(middle), musaErrorNotReady);
    CHECK(musaGetLastError(), musaErrorInvalidValue); /* of the event above: not ready is no error */
    OK(musaStreamWaitEvent(b, middle, 0));
    OK(musaMemcpyAsync(y, x, 4096, musaMemcpyDeviceToDevice, b));
    OK(musaEventRecord(end, b));
    CHECK(musaStreamQuery(b), musaErrorNotReady);
    OK(musaEventSynchronize(end));
    CHECK(y[4095], 3);
    OK(musaEventElapsedTime(&milliseconds, start, middle));
    TRUE(milliseconds >= 20);
    CHECK(musaEventElapsedTime(&milliseconds, start, end), musaErrorInvalidResourceHandle);

    OK(musaMemsetAsync(x, 4, 4096, b));
    OK(musaMemcpy(y, x, 4096, musaMemcpyDefault)); /* the null stream comes after the blocking one */
    CHECK(y[0], 4);
    OK(musaMemsetAsync(x, 5, 4096, NULL));
    OK(musaStreamSynchronize(b));
    OK(musaMemcpyAsync(y, x, 4096, musaMemcpyDefault, b));
    OK(musaStreamSynchronize(b));
    CHECK(y[0], 5);
    CHECK(musaMemcpyAsync(y, x, 1, (musaMemcpyKind)9, b), musaErrorInvalidMemcpyDirection);

    OK(musaLaunchHostFunc(a, forbidden, results));
    OK(musaStreamAddCallback(a, callback, &seen, 0));
    OK(musaStreamSynchronize(a));
    CHECK(results[0], musaErrorNotPermitted);
    CHECK(results[1], musaErrorNotPermitted);
    TRUE(seen == a);

    OK(musaMemsetAsync(x, 6, 4096, a));
    OK(musaStreamDestroy(a));
    CHECK(musaStreamSynchronize(a), musaErrorInvalidResourceHandle);
    OK(musaDeviceSynchronize());
    CHECK(x[9], 6);
    OK(musaMemsetAsync(x, 8, 4096, musaStreamPerThread));
    OK(musaFree(x)); /* waits for the fill */
    OK(musaMallocAsync((void **)&x, 4096, b));
    OK(musaMemsetAsync(x, 8, 4096, b));
    OK(musaFreeAsync(x, b));
    OK(musaStreamSynchronize(b));
    OK(musaEventDestroy(start));
    CHECK(musaEventQuery(start), musaErrorInvalidResourceHandle);
    OK(musaDeviceReset());
}

static void pend(void *nothing) {
    (void)nothing;
    for (;;) {
    }
}

int main(void) {
    musaStream_t s;
    devices();
    memory();
    streams();
    /* Leaves with work that never ends. */
    OK(musaStreamCreate(&s));
    OK(musaLaunchHostFunc(s, pend, NULL));
    OK(musaLaunchHostFunc(s, pend, NULL));
    return 0;
}
