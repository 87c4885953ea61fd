/* Calls with arguments that must be refused, without a communicator: prints code and last-error text of each. */
#include <mccl.h>
#include <stdio.h>
#include <string.h>

static void show(mcclResult_t code) {
  printf("%d %s\n", (int)code, mcclGetLastError(NULL));
}

int main(void) {
  mcclComm_t comm = NULL;
  mcclComm_t wild = (mcclComm_t)0x10;
  mcclUniqueId id;
  mcclConfig_t config = MCCL_CONFIG_INITIALIZER;
  mcclConfig_t raw;
  mcclSimInfo_t info = MCCL_SIM_INFO_INITIALIZER;
  mcclRedOp_t op = mcclSum;
  int number = 0, excluded = 0;
  void *handle = NULL;
  float buffer[4] = {0, 0, 0, 0};
  memset(&id, 0, sizeof id);
  memset(&raw, 0, sizeof raw);

  show(mcclGetVersion(NULL));
  show(mcclGetUniqueId(NULL));
  show(mcclCommInitRank(NULL, 2, id, 0));
  show(mcclCommInitRank(&comm, 0, id, 0));
  show(mcclCommInitRank(&comm, 2, id, 2));
  show(mcclCommInitRank(&comm, 2, id, -1));
  show(mcclCommInitAll(NULL, 2, NULL));
  show(mcclCommInitAll(&comm, 0, NULL));
  number = -3;
  show(mcclCommInitAll(&comm, 1, &number));
  show(mcclCommInitRankConfig(&comm, 1, id, 0, &raw));
  config.blocking = 7;
  show(mcclCommInitRankConfig(&comm, 1, id, 0, &config));
  config.blocking = 1;
  config.minCTAs = 9;
  config.maxCTAs = 8;
  show(mcclCommInitRankConfig(&comm, 1, id, 0, &config));
  show(mcclCommInitRankScalable(&comm, 2, 0, 0, &id, NULL));
  show(mcclCommInitRankScalable(&comm, 2, 0, 3, &id, NULL));
  show(mcclCommInitRankScalable(&comm, 2, 0, 1, NULL, NULL));
  show(mcclCommSplit(wild, 0, 0, &comm, NULL));
  show(mcclCommShrink(wild, &excluded, 1, &comm, NULL, MCCL_SHRINK_DEFAULT));
  show(mcclCommFinalize(wild));
  show(mcclCommDestroy(wild));
  show(mcclCommAbort(wild));
  show(mcclCommGetAsyncError(wild, NULL));
  show(mcclCommCount(wild, &number));
  show(mcclCommMuDevice(NULL, &number));
  show(mcclCommUserRank(wild, &number));
  show(mcclMemAlloc(NULL, 8));
  show(mcclMemAlloc(&handle, (size_t)-1));
  show(mcclCommRegister(wild, buffer, sizeof buffer, &handle));
  show(mcclCommDeregister(wild, handle));
  show(mcclCommWindowRegister(wild, buffer, sizeof buffer, NULL, 0));
  show(mcclCommWindowDeregister(wild, NULL));
  show(mcclRedOpCreatePreMulSum(&op, buffer, mcclFloat, mcclScalarHostImmediate, wild));
  show(mcclRedOpDestroy(mcclSum, wild));
  show(mcclAllReduce(buffer, buffer, 4, mcclFloat, mcclSum, wild, NULL));
  show(mcclReduce(buffer, buffer, 4, mcclFloat, mcclSum, 0, wild, NULL));
  show(mcclBcast(buffer, 4, mcclFloat, 0, wild, NULL));
  show(mcclBroadcast(buffer, buffer, 4, mcclFloat, 0, wild, NULL));
  show(mcclReduceScatter(buffer, buffer, 4, mcclFloat, mcclSum, wild, NULL));
  show(mcclAllGather(buffer, buffer, 4, mcclFloat, wild, NULL));
  show(mcclAlltoAll(buffer, buffer, 4, mcclFloat, wild, NULL));
  show(mcclGather(buffer, buffer, 4, mcclFloat, 0, wild, NULL));
  show(mcclScatter(buffer, buffer, 4, mcclFloat, 0, wild, NULL));
  show(mcclSend(buffer, 4, mcclFloat, 0, wild, NULL));
  show(mcclRecv(buffer, 4, mcclFloat, 0, wild, NULL));
  show(mcclAllToAllv(buffer, NULL, NULL, buffer, NULL, NULL, mcclFloat, wild, NULL));
  show(mcclBatchAllToAllv(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, wild, NULL));
  info.magic = 0;
  show(mcclGroupSimulateEnd(&info));
  show(mcclCommRevoke(wild, MCCL_REVOKE_DEFAULT));
  printf("outputs are left alone: %d\n", comm == NULL && handle == NULL && op == mcclSum);
  return 0;
}
