// The C++ form: typed allocation, several devices per process in a group, the id through MPI.
#include <mpi.h>
#include <vector>
#include "harness.h"

int main(int argc, char *argv[]) {
  const int each = 2;
  const std::size_t count = 4099;
  int rank = 0, size = 0, devices = 0;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MUSA(musaGetDeviceCount(&devices));
  mcclUniqueId id;
  if (rank == 0) MCCL(mcclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);

  std::vector<mcclComm_t> comms(each);
  std::vector<musaStream_t> streams(each);
  std::vector<double *> send(each), recv(each);
  MCCL(mcclGroupStart());
  for (int i = 0; i < each; i++) {
    MUSA(musaSetDevice((rank * each + i) % devices));
    MCCL(mcclCommInitRank(&comms[i], size * each, id, rank * each + i));
  }
  MCCL(mcclGroupEnd());

  const std::vector<double> mine(count, rank + 0.5);
  for (int i = 0; i < each; i++) {
    MUSA(musaSetDevice((rank * each + i) % devices));
    MUSA(musaStreamCreate(&streams[i]));
    MUSA(musaMalloc(&send[i], count * sizeof(double)));
    MUSA(musaMalloc(&recv[i], count * sizeof(double)));
    MUSA(musaMemcpyAsync(send[i], mine.data(), count * sizeof(double), musaMemcpyHostToDevice, streams[i]));
  }
  MCCL(mcclGroupStart());
  for (int i = 0; i < each; i++)
    MCCL(mcclAllReduce(send[i], recv[i], count, mcclDouble, mcclSum, comms[i], streams[i]));
  MCCL(mcclGroupEnd());

  double expected = 0;
  for (int r = 0; r < size; r++) expected += each * (r + 0.5);
  for (int i = 0; i < each; i++) {
    MUSA(musaSetDevice((rank * each + i) % devices));
    std::vector<double> sum(count);
    MUSA(musaStreamSynchronize(streams[i]));
    MUSA(musaMemcpy(sum.data(), recv[i], count * sizeof(double), musaMemcpyDeviceToHost));
    for (double value : sum) CHECK(value == expected);
    MUSA(musaFree(send[i]));
    MUSA(musaFree(recv[i]));
    MUSA(musaStreamDestroy(streams[i]));
    MCCL(mcclCommDestroy(comms[i]));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks agree\n", size * each);
  MPI_Finalize();
  return 0;
}
