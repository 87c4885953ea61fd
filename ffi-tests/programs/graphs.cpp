// Graphs as C++ writes them: default arguments and both forms of instantiation.
#include <vector>
#include "harness.h"

int main() {
  const std::size_t count = 1009;
  int devices[2] = {0, 1};
  mcclComm_t comms[2];
  MCCL(mcclCommInitAll(comms, 2, devices));
  for (int form = 0; form < 2; form++) {
    musaStream_t streams[2];
    float *buffers[2];
    musaGraphExec_t executables[2];
    for (int i = 0; i < 2; i++) {
      MUSA(musaSetDevice(i));
      MUSA(musaStreamCreate(&streams[i]));
      MUSA(musaMalloc(&buffers[i], count * sizeof(float)));
      musaGraph_t graph;
      MUSA(musaStreamBeginCapture(streams[i]));
      MCCL(mcclAllReduce(buffers[i], buffers[i], count, mcclFloat, mcclSum, comms[i], streams[i]));
      MUSA(musaStreamEndCapture(streams[i], &graph));
      if (form == 0)
        MUSA(musaGraphInstantiate(&executables[i], graph, NULL, NULL, 0));
      else
        MUSA(musaGraphInstantiate(&executables[i], graph));
      MUSA(musaGraphDestroy(graph));
    }
    for (int launch = 1; launch <= 20; launch++) {
      for (int i = 0; i < 2; i++) fill(buffers[i], count, static_cast<float>(launch + i));
      for (int i = 0; i < 2; i++) MUSA(musaGraphLaunch(executables[i], streams[i]));
      for (int i = 0; i < 2; i++) MUSA(musaStreamSynchronize(streams[i]));
      for (int i = 0; i < 2; i++) expect(buffers[i], count, static_cast<float>(2 * launch + 1), "launch");
    }
    for (int i = 0; i < 2; i++) {
      MUSA(musaGraphExecDestroy(executables[i]));
      MUSA(musaStreamDestroy(streams[i]));
      MUSA(musaFree(buffers[i]));
    }
    printf("form %d: 20 launches\n", form);
  }
  for (int i = 0; i < 2; i++) MCCL(mcclCommDestroy(comms[i]));
  return 0;
}
