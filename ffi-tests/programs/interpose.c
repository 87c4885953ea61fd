/* A profiling tool in the program: its mcclGetVersion stands before the library's and calls the twin. */
#include <mccl.h>
#include <stdio.h>

static int calls = 0;

mcclResult_t mcclGetVersion(int *version) {
  calls++;
  return pmcclGetVersion(version);
}

mcclResult_t mcclCommCount(const mcclComm_t comm, int *count) {
  calls++;
  return pmcclCommCount(comm, count);
}

int main(void) {
  int version = 0, count = -1;
  mcclResult_t first = mcclGetVersion(&version);
  mcclResult_t second = mcclCommCount(NULL, &count);
  printf("%d %d %d calls %d\n", (int)first, version, (int)second, calls);
  printf("%s\n", mcclGetLastError(NULL));
  return 0;
}
