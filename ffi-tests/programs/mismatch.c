/* Calls that do not fit together end with an error on every rank, and say what differs. */
#include "harness.h"

#define COUNT 1000

static void attempt(const char *what, int kind) {
  int rank = team_rank(), odd = rank == 1;
  mcclComm_t comm = join(what);
  mcclResult_t state = mcclSuccess, call = mcclSuccess;
  musaStream_t stream;
  float *buffer = device_floats(2 * COUNT);

  MUSA(musaStreamCreate(&stream));
  step(what);
  switch (kind) {
    case 0: call = mcclAllReduce(buffer, buffer, COUNT + odd, mcclFloat, mcclSum, comm, stream); break;
    case 1: call = mcclAllReduce(buffer, buffer, COUNT, odd ? mcclInt32 : mcclFloat, mcclSum, comm, stream); break;
    case 2: call = mcclAllReduce(buffer, buffer, COUNT, mcclFloat, odd ? mcclMax : mcclSum, comm, stream); break;

    default:
      call = odd ? mcclBcast(buffer, COUNT, mcclFloat, 0, comm, stream)
                 : mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclSum, comm, stream);
  }
  if (call == mcclSuccess) {
    (void)musaStreamSynchronize(stream);
    do {
      MCCL(mcclCommGetAsyncError(comm, &state));
    } while (state == mcclSuccess);
  }
  if (call != mcclSuccess) state = call;
  /* Whoever finds it first has the details; over sockets the others see that it has left. */
  printf("%s: error %d\n", what, state == mcclInvalidUsage || state == mcclRemoteError);
  fprintf(stderr, "%s: %s\n", what, mcclGetLastError(comm));
  MCCL(mcclCommAbort(comm));
  MUSA(musaStreamDestroy(stream));
}

int main(void) {
  attempt("counts", 0);
  attempt("types", 1);
  attempt("operations", 2);
  attempt("functions", 3);
  return 0;
}
