/* MPI starts the processes and carries the unique id; the collectives are ours. */
#include <mpi.h>
#include "harness.h"

#define COUNT 10007

int main(int argc, char *argv[]) {
  int rank, size, devices, r;
  mcclUniqueId id;
  mcclComm_t comm;
  musaStream_t stream;
  float *send, *recv;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MUSA(musaGetDeviceCount(&devices));
  MUSA(musaSetDevice(rank % devices));
  if (rank == 0) MCCL(mcclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  MCCL(mcclCommInitRank(&comm, size, id, rank));

  MUSA(musaStreamCreate(&stream));
  send = device_floats((size_t)COUNT * size);
  recv = device_floats((size_t)COUNT * size);
  fill(send, (size_t)COUNT * size, (float)(rank + 1));

  MCCL(mcclAllReduce(send, recv, COUNT, mcclFloat, mcclSum, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT, triangle(size), "all-reduce");

  MCCL(mcclReduceScatter(send, recv, COUNT, mcclFloat, mcclMax, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT, (float)size, "reduce-scatter");

  MCCL(mcclAllGather(send, recv, COUNT, mcclFloat, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  for (r = 0; r < size; r++) expect(recv + (size_t)r * COUNT, COUNT, (float)(r + 1), "all-gather");

  MCCL(mcclBroadcast(send, recv, COUNT, mcclFloat, size - 1, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT, (float)size, "broadcast");

  MCCL(mcclAlltoAll(send, recv, COUNT, mcclFloat, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  for (r = 0; r < size; r++) expect(recv + (size_t)r * COUNT, COUNT, (float)(r + 1), "all-to-all");

  MUSA(musaFree(send));
  MUSA(musaFree(recv));
  MUSA(musaStreamDestroy(stream));
  MCCL(mcclCommDestroy(comm));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks agree\n", size);
  MPI_Finalize();
  return 0;
}
