/* More than 4 GiB in one operation: one rank and two, marks around every boundary that a 32-bit number would miss. */
#include "harness.h"

#define COUNT (((size_t)1 << 32) + 5)

static const size_t marks[] = {0, 1, ((size_t)1 << 31) - 1, (size_t)1 << 31, ((size_t)1 << 32) - 1, (size_t)1 << 32, COUNT - 1};

int main(void) {
  mcclComm_t comms[2];
  musaStream_t streams[2];
  void *buffers[2];
  size_t m;
  int ranks, i;
  for (i = 0; i < 2; i++) {
    MUSA(musaSetDevice(i));
    MUSA(musaStreamCreate(&streams[i]));
    MUSA(musaMalloc(&buffers[i], COUNT));
  }
  for (ranks = 1; ranks <= 2; ranks++) {
    MCCL(mcclCommInitAll(comms, ranks, NULL));
    for (i = 0; i < ranks; i++)
      for (m = 0; m < sizeof marks / sizeof *marks; m++)
        MUSA(musaMemset((char *)buffers[i] + marks[m], (int)m + 1 + i, 1));
    MCCL(mcclGroupStart());
    for (i = 0; i < ranks; i++)
      MCCL(mcclAllReduce(buffers[i], buffers[i], COUNT, mcclInt8, mcclSum, comms[i], streams[i]));
    MCCL(mcclGroupEnd());
    for (i = 0; i < ranks; i++) MUSA(musaStreamSynchronize(streams[i]));
    for (i = 0; i < ranks; i++)
      for (m = 0; m < sizeof marks / sizeof *marks; m++) {
        signed char value = 0;
        MUSA(musaMemcpy(&value, (char *)buffers[i] + marks[m], 1, musaMemcpyDeviceToHost));
        CHECK(value == (ranks == 1 ? (int)m + 1 : 2 * ((int)m + 1) + 1));
      }
    for (i = 0; i < ranks; i++) MCCL(mcclCommDestroy(comms[i]));
    printf("%d rank(s): %zu bytes\n", ranks, COUNT);
  }
  return 0;
}
