/* How communicators end: finalize and destroy in every order, twice, and by an abort while a peer waits. */
#include "harness.h"

#define COUNT 100001

int main(void) {
  int rank = team_rank();
  mcclComm_t comm;
  mcclResult_t state;
  musaStream_t stream;
  float *buffer = device_floats(COUNT);

  comm = join("finalize");
  MUSA(musaStreamCreate(&stream));
  fill(buffer, COUNT, 1);
  MCCL(mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclSum, comm, stream));
  MCCL(mcclCommFinalize(comm));
  expect(buffer, COUNT, (float)team_size(), "finalize completes the work");
  printf("second finalize: %d\n", (int)mcclCommFinalize(comm));
  printf("all-reduce after finalize: %d\n",
         (int)mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclSum, comm, stream));
  MCCL(mcclCommDestroy(comm));
  printf("second destroy: %d\n", (int)mcclCommDestroy(comm));
  printf("finalize after destroy: %d\n", (int)mcclCommFinalize(comm));

  comm = join("destroy");
  fill(buffer, COUNT, 2);
  MCCL(mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclMax, comm, stream));
  MCCL(mcclCommDestroy(comm));
  expect(buffer, COUNT, 2, "destroy completes the work");
  printf("destroy alone completes the work\n");

  comm = join("one ends early");
  if (rank == 0) MCCL(mcclCommDestroy(comm));
  meet("rank 0 is gone");
  if (rank != 0) MCCL(mcclCommDestroy(comm));
  printf("ranks end one after the other\n");

  comm = join("abort");
  MCCL(mcclCommGetAsyncError(comm, &state));
  CHECK(state == mcclSuccess);
  if (rank == 0) {
    meet("before the abort");
    MCCL(mcclCommAbort(comm));
    printf("aborted\n");
  } else {
    MCCL(mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclSum, comm, stream));
    meet("before the abort");
    (void)musaStreamSynchronize(stream);
    do {
      MCCL(mcclCommGetAsyncError(comm, &state));
    } while (state == mcclSuccess);
    printf("woken with %d\n", (int)state);
    fprintf(stderr, "%s\n", mcclGetLastError(comm));
    MCCL(mcclCommAbort(comm));
  }
  printf("abort of nothing: %d\n", (int)mcclCommAbort(NULL));
  return 0;
}
