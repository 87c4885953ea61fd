/* Reductions with a factor, from host and device, and averages of integers and floats. */
#include "harness.h"

#define COUNT 1025

int main(void) {
  int rank = team_rank(), size = team_size(), i;
  mcclComm_t comm = join("redops");
  musaStream_t stream;
  mcclRedOp_t host_op, device_op;
  float factor = (float)(rank + 1), *send, *recv, *scalar;
  int *integers, host[COUNT];
  void *memory = NULL;

  MUSA(musaStreamCreate(&stream));
  send = device_floats(COUNT);
  recv = device_floats(COUNT);
  scalar = device_floats(1);
  MUSA(musaMalloc(&memory, sizeof host));
  integers = (int *)memory;

  step("host factor");
  fill(send, COUNT, 2);
  MCCL(mcclRedOpCreatePreMulSum(&host_op, &factor, mcclFloat, mcclScalarHostImmediate, comm));
  factor = -1;
  MCCL(mcclAllReduce(send, recv, COUNT, mcclFloat, host_op, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT, 2 * triangle(size), "factor of the host");
  printf("factor of the host, read at creation: %g\n", (double)(2 * triangle(size)));

  step("device factor");
  fill(scalar, 1, 1);
  MCCL(mcclRedOpCreatePreMulSum(&device_op, scalar, mcclFloat, mcclScalarDevice, comm));
  fill(scalar, 1, (float)(3 * (rank + 1)));
  MCCL(mcclAllReduce(send, recv, COUNT, mcclFloat, device_op, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT, 6 * triangle(size), "factor of the device");
  printf("factor of the device, read when it runs: %g\n", (double)(6 * triangle(size)));
  MCCL(mcclReduceScatter(send, recv, COUNT / size, mcclFloat, device_op, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  expect(recv, COUNT / size, 6 * triangle(size), "reduce-scatter with a factor");

  step("other type");
  printf("for another type: %d\n", (int)mcclAllReduce(integers, integers, COUNT, mcclInt32, host_op, comm, stream));
  MCCL(mcclRedOpDestroy(host_op, comm));
  MCCL(mcclRedOpDestroy(device_op, comm));
  printf("after its end: %d\n", (int)mcclAllReduce(send, recv, COUNT, mcclFloat, host_op, comm, stream));
  printf("second end: %d\n", (int)mcclRedOpDestroy(host_op, comm));

  step("averages");
  fill(send, COUNT, (float)(rank * 2));
  MCCL(mcclAllReduce(send, recv, COUNT, mcclFloat, mcclAvg, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  printf("average of floats: %g\n", (double)at(recv, 0));
  for (i = 0; i < COUNT; i++) host[i] = -(rank * 2 + 1);
  MUSA(musaMemcpy(integers, host, sizeof host, musaMemcpyHostToDevice));
  MCCL(mcclAllReduce(integers, integers, COUNT, mcclInt32, mcclAvg, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  MUSA(musaMemcpy(host, integers, sizeof host, musaMemcpyDeviceToHost));
  for (i = 1; i < COUNT; i++) CHECK(host[i] == host[0]);
  printf("average of integers: %d\n", host[0]);

  MCCL(mcclCommDestroy(comm));
  return 0;
}
