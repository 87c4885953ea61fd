/* Start with several unique ids; registered buffers and memory of mcclMemAlloc in many in-place all-reduces. */
#include "harness.h"

#define IDS 3
#define COUNT 65537

int main(void) {
  mcclUniqueId ids[IDS];
  mcclComm_t comm;
  musaStream_t stream;
  void *handle = NULL, *memory = NULL;
  int i, rank = team_rank(), size = team_size(), count = 0, mine = -1;
  float *buffer;

  MUSA(musaSetDevice(rank));
  MUSA(musaStreamCreate(&stream));
  step("ids");
  for (i = 0; i < IDS; i++) {
    char name[16];
    snprintf(name, sizeof name, "id%d", i);
    ids[i] = shared_id(name);
  }
  MCCL(mcclCommInitRankScalable(&comm, size, rank, IDS, ids, NULL));
  MCCL(mcclCommCount(comm, &count));
  MCCL(mcclCommUserRank(comm, &mine));
  printf("rank %d of %d by %d ids\n", mine, count, IDS);

  step("registered");
  buffer = device_floats(COUNT);
  MCCL(mcclCommRegister(comm, buffer, COUNT * sizeof(float), &handle));
  for (i = 1; i <= 30; i++) {
    fill(buffer, COUNT, (float)(i * (rank + 1)));
    MCCL(mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclSum, comm, stream));
    MUSA(musaStreamSynchronize(stream));
    expect(buffer, COUNT, (float)i * triangle(size), "registered buffer");
  }
  MCCL(mcclCommDeregister(comm, handle));
  printf("30 in-place all-reduces in a registered buffer\n");
  printf("second deregistration: %d\n", (int)mcclCommDeregister(comm, handle));

  step("allocated");
  MCCL(mcclMemAlloc(&memory, COUNT * sizeof(float)));
  MCCL(mcclCommRegister(comm, memory, COUNT * sizeof(float), &handle));
  buffer = (float *)memory;
  for (i = 1; i <= 30; i++) {
    fill(buffer, COUNT, (float)(i + rank));
    MCCL(mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclMin, comm, stream));
    MUSA(musaStreamSynchronize(stream));
    expect(buffer, COUNT, (float)i, "memory of mcclMemAlloc");
  }
  MCCL(mcclCommDeregister(comm, handle));
  MCCL(mcclMemFree(memory));
  MCCL(mcclMemFree(NULL));
  printf("30 in-place all-reduces in memory of mcclMemAlloc\n");

  MCCL(mcclCommFinalize(comm));
  MCCL(mcclCommDestroy(comm));
  return 0;
}
