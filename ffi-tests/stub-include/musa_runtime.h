/* Stand-in for the device runtime's header where that header is not there: just what mccl.h names. */
#ifndef MUSA_RUNTIME_H_
#define MUSA_RUNTIME_H_
#include <stddef.h>
#include <stdlib.h>
typedef struct MUstream_st *musaStream_t;
#endif
