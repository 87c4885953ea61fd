/* Sends and receives: a ring in a group, a pair in turn, to oneself, everybody with everybody; what cannot be matched is refused. */
#include "harness.h"

#define COUNT 70001

int main(void) {
  int rank = team_rank(), size = team_size(), next = (rank + 1) % size, before = (rank + size - 1) % size, k, r;
  mcclComm_t comm = join("p2p");
  musaStream_t stream;
  float *send, *recv;

  MUSA(musaStreamCreate(&stream));
  send = device_floats((size_t)COUNT * size);
  recv = device_floats((size_t)COUNT * size);

  step("ring");
  fill(send, COUNT, (float)rank);
  for (k = 0; k < 20; k++) {
    MCCL(mcclGroupStart());
    MCCL(mcclSend(send, COUNT, mcclFloat, next, comm, stream));
    MCCL(mcclRecv(recv, COUNT, mcclFloat, before, comm, stream));
    MCCL(mcclGroupEnd());
  }
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT, (float)before, "ring");
  printf("ring: from %d\n", before);

  step("in order");
  MCCL(mcclGroupStart());
  for (k = 0; k < 5; k++) {
    fill(send + k, 1, (float)(100 * rank + k));
    MCCL(mcclSend(send + k, 1, mcclFloat, next, comm, stream));
    MCCL(mcclRecv(recv + k, 1, mcclFloat, before, comm, stream));
  }
  MCCL(mcclGroupEnd());
  MUSA(musaStreamSynchronize(stream));
  for (k = 0; k < 5; k++) CHECK(at(recv, k) == (float)(100 * before + k));
  printf("five messages of a group in order\n");

  step("pair");
  if (rank < 2) {
    fill(send, COUNT, (float)(rank + 5));
    if (rank == 0) {
      MCCL(mcclSend(send, COUNT, mcclFloat, 1, comm, stream));
      MCCL(mcclRecv(recv, COUNT, mcclFloat, 1, comm, stream));
    } else {
      MCCL(mcclRecv(recv, COUNT, mcclFloat, 0, comm, stream));
      MCCL(mcclSend(send, COUNT, mcclFloat, 0, comm, stream));
    }
    MUSA(musaStreamSynchronize(stream));
    expect(recv, COUNT, (float)(1 - rank + 5), "pair");
  }
  printf("a pair without a group\n");

  step("self");
  fill(send, COUNT, (float)(rank + 50));
  MCCL(mcclGroupStart());
  MCCL(mcclSend(send, COUNT, mcclFloat, rank, comm, stream));
  MCCL(mcclRecv(recv, COUNT, mcclFloat, rank, comm, stream));
  MCCL(mcclGroupEnd());
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT, (float)(rank + 50), "self");
  printf("to oneself\n");

  step("unmatched");
  MCCL(mcclGroupStart());
  MCCL(mcclSend(send, COUNT, mcclFloat, rank, comm, stream));
  CHECK(mcclGroupEnd() == mcclInvalidUsage);
  CHECK(mcclSend(send, COUNT, mcclFloat, rank, comm, stream) == mcclInvalidUsage);
  printf("a send to oneself without its receive is invalid usage\n");

  step("everybody");
  for (r = 0; r < size; r++) fill(send + (size_t)r * COUNT, COUNT, (float)(10 * rank + r));
  MCCL(mcclGroupStart());
  for (r = 0; r < size; r++) {
    MCCL(mcclSend(send + (size_t)r * COUNT, COUNT, mcclFloat, r, comm, stream));
    MCCL(mcclRecv(recv + (size_t)r * COUNT, COUNT, mcclFloat, r, comm, stream));
  }
  MCCL(mcclGroupEnd());
  MUSA(musaStreamSynchronize(stream));
  for (r = 0; r < size; r++) expect(recv + (size_t)r * COUNT, COUNT, (float)(10 * r + rank), "everybody");
  printf("everybody with everybody\n");

  MCCL(mcclCommDestroy(comm));
  return 0;
}
