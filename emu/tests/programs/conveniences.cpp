/* What C++ programs expect of the headers: default arguments, typed allocation, both forms of instantiation. */
#include "check.h"
#include <musa_bf16.h>
#include <musa_fp16.h>
#include <musa_runtime.h>

static void add_one(void *counter) { ++*static_cast<int *>(counter); }

int main() {
    float *numbers = NULL;
    int *pinned = NULL, launches = 0;
    musaStream_t stream;
    musaEvent_t event;
    musaGraph_t graph;
    musaGraphExec_t three, five;
    musaStreamCaptureStatus status;
    unsigned long long id = 0;
    OK(musaMalloc(&numbers, 1024 * sizeof(float)));
    OK(musaMallocHost(&pinned, 64));
    OK(musaStreamCreate(&stream));
    OK(musaEventCreate(&event));
    OK(musaEventRecord(event));
    OK(musaEventRecordWithFlags(event));
    OK(musaStreamWaitEvent(stream, event));
    OK(musaMemsetAsync(numbers, 0, 4096));
    OK(musaDeviceSynchronize());

    OK(musaStreamBeginCapture(stream));
    OK(musaStreamGetCaptureInfo(stream, &status, &id));
    CHECK(status, musaStreamCaptureStatusActive);
    OK(musaStreamGetCaptureInfo(stream, &status, &id, &graph));
    OK(musaLaunchHostFunc(stream, add_one, &launches));
    OK(musaStreamEndCapture(stream, &graph));
    OK(musaGraphInstantiate(&five, graph, NULL, NULL, 0));
    OK(musaGraphInstantiate(&three, graph));
    OK(musaGraphLaunch(three, stream));
    OK(musaGraphLaunch(five, stream));
    OK(musaStreamSynchronize(stream));
    CHECK(launches, 2);
    OK(musaGraphExecDestroy(three));
    OK(musaGraphExecDestroy(five));
    OK(musaGraphDestroy(graph));

    __half h = __float2half(1.5f);
    __mt_bfloat16 b = 2.25f;
    TRUE(__half2float(h) + __bfloat162float(b) == 3.75f);
    TRUE(sizeof(half) == 2 && sizeof(mt_bfloat16) == 2);
    OK(musaFree(numbers));
    OK(musaFreeHost(pinned));
    return 0;
}
