/* Version and texts, as a program asks for them first. */
#include <mccl.h>
#include <stdio.h>

int main(void) {
  int version = 0, code;
  if (mcclGetVersion(&version) != mcclSuccess || version != MCCL_VERSION_CODE) return 1;
  printf("%d.%d.%d%s\n", MCCL_MAJOR, MCCL_MINOR, MCCL_PATCH, MCCL_SUFFIX);
  for (code = 0; code <= (int)mcclNumResults; code++) printf("%d %s\n", code, mcclGetErrorString((mcclResult_t)code));
  return 0;
}
