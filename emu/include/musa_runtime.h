/* Runtime API with the conveniences of C++: typed allocation and both forms of graph instantiation. */
#ifndef MUSA_RUNTIME_H
#define MUSA_RUNTIME_H

#include <stdlib.h>

#include "musa_runtime_api.h"

#ifdef __cplusplus

template <typename T>
inline musaError_t musaMalloc(T **address, size_t size) {
    return ::musaMalloc(reinterpret_cast<void **>(address), size);
}

template <typename T>
inline musaError_t musaMallocHost(T **address, size_t size, unsigned int flags = 0) {
    return ::musaHostAlloc(reinterpret_cast<void **>(address), size, flags);
}

template <typename T>
inline musaError_t musaHostAlloc(T **address, size_t size, unsigned int flags) {
    return ::musaHostAlloc(reinterpret_cast<void **>(address), size, flags);
}

template <typename T>
inline musaError_t musaHostGetDevicePointer(T **address, void *host, unsigned int flags) {
    return ::musaHostGetDevicePointer(reinterpret_cast<void **>(address), host, flags);
}

template <typename T>
inline musaError_t musaMallocManaged(T **address, size_t size, unsigned int flags = musaMemAttachGlobal) {
    return ::musaMallocManaged(reinterpret_cast<void **>(address), size, flags);
}

template <typename T>
inline musaError_t musaMallocAsync(T **address, size_t size, musaStream_t stream) {
    return ::musaMallocAsync(reinterpret_cast<void **>(address), size, stream);
}

/* Form of earlier versions of the API. */
inline musaError_t musaGraphInstantiate(musaGraphExec_t *executable, musaGraph_t graph, musaGraphNode_t *, char *,
                                        size_t) {
    return ::musaGraphInstantiate(executable, graph, 0ULL);
}

/* Six-argument form; the exported function of this name has three. */
inline musaError_t musaStreamGetCaptureInfo(musaStream_t stream, musaStreamCaptureStatus *status,
                                            unsigned long long *id, musaGraph_t *graph,
                                            const musaGraphNode_t **nodes = 0, size_t *count = 0) {
    return ::musaStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
}

#endif

#endif
