/* A communicator of one rank: what its functions refuse, and that its handle ends with it. */
#include <mccl.h>
#include <stdio.h>

static void show(mcclResult_t code) {
  printf("%d%s%s\n", (int)code, code == mcclSuccess ? "" : " ", code == mcclSuccess ? "" : mcclGetLastError(NULL));
}

int main(void) {
  mcclComm_t comm = NULL;
  mcclRedOp_t op = mcclSum;
  mcclWindow_t window = (mcclWindow_t)&op;
  mcclResult_t state = mcclInternalError;
  int count = 0, rank = -1, device = -1, factor = 3;
  float buffer[4] = {1, 2, 3, 4};
  size_t counts[1] = {1}, displs[1] = {(size_t)-1};

  show(mcclCommInitAll(&comm, 1, NULL));
  show(mcclCommCount(comm, &count));
  show(mcclCommUserRank(comm, &rank));
  show(mcclCommMuDevice(comm, &device));
  show(mcclCommGetAsyncError(comm, &state));
  printf("count %d rank %d device %d state %d\n", count, rank, device, (int)state);

  show(mcclAllReduce(buffer, buffer, 4, (mcclDataType_t)42, mcclSum, comm, NULL));
  show(mcclAllReduce(buffer, buffer, 4, (mcclDataType_t)-1, mcclSum, comm, NULL));
  show(mcclAllReduce(buffer, buffer, 4, mcclFloat, (mcclRedOp_t)-3, comm, NULL));
  show(mcclAllReduce(NULL, buffer, 4, mcclFloat, mcclSum, comm, NULL));
  show(mcclAllReduce(buffer, NULL, 4, mcclFloat, mcclSum, comm, NULL));
  show(mcclAllReduce(buffer, buffer, (size_t)-1, mcclFloat, mcclSum, comm, NULL));
  show(mcclAllReduce(NULL, NULL, 0, mcclFloat, mcclSum, comm, NULL));
  show(mcclReduce(buffer, NULL, 4, mcclFloat, mcclSum, 0, comm, NULL));
  show(mcclReduce(buffer, buffer, 4, mcclFloat, mcclSum, 9, comm, NULL));
  show(mcclBroadcast(NULL, buffer, 4, mcclFloat, 0, comm, NULL));
  show(mcclBcast(buffer, 4, mcclFloat, -1, comm, NULL));
  show(mcclSend(buffer, 4, mcclFloat, 1, comm, NULL));
  show(mcclRecv(NULL, 4, mcclFloat, 0, comm, NULL));
  show(mcclAllToAllv(buffer, NULL, displs, buffer, counts, displs, mcclFloat, comm, NULL));
  show(mcclAllToAllv(buffer, counts, displs, buffer, counts, displs, mcclFloat, comm, NULL));
  show(mcclBatchAllToAllv(NULL, counts, displs, NULL, counts, displs, NULL, -1, comm, NULL));
  show(mcclRedOpDestroy(mcclAvg, comm));
  show(mcclRedOpCreatePreMulSum(&op, &factor, mcclInt32, (mcclScalarResidence_t)5, comm));
  show(mcclRedOpCreatePreMulSum(&op, NULL, mcclInt32, mcclScalarHostImmediate, comm));
  printf("op %d\n", (int)op);
  show(mcclCommWindowRegister(comm, (void *)4096, 4096, &window, MCCL_WIN_COLL_SYMMETRIC));
  printf("window %d\n", window != NULL);
  show(mcclCommWindowDeregister(comm, window));
  show(mcclCommRegister(comm, NULL, 16, (void **)&window));
  show(mcclCommSplit(comm, -7, 0, &comm, NULL));

  show(mcclCommDestroy(comm));
  printf("%d %d\n", (int)mcclCommDestroy(comm), (int)mcclCommCount(comm, &count));
  show(mcclCommDestroy(NULL));
  show(mcclCommFinalize(NULL));
  show(mcclCommAbort(NULL));
  return 0;
}
