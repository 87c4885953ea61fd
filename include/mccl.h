/* mccl.h: collective communication between the devices of a program. */

#ifndef MCCL_H_
#define MCCL_H_

/* Generated: see cbindgen.toml. */

#include <limits.h>
#include <stddef.h>
#include <musa_runtime.h>

#define MCCL_MAJOR 2
#define MCCL_MINOR 28
#define MCCL_PATCH 9
#define MCCL_SUFFIX ""

#define MCCL_VERSION_CODE 22809
#define MCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X) * 1000 + (Y) * 100 + (Z) : (X) * 10000 + (Y) * 100 + (Z))

/* Bytes of a mcclUniqueId. */
#define MCCL_UNIQUE_ID_BYTES 128

/* The handle that names no communicator. */
#define MCCL_COMM_NULL NULL

/* Fields of mcclConfig_t that were not set. */
#define MCCL_CONFIG_UNDEF_INT INT_MIN
#define MCCL_CONFIG_UNDEF_PTR NULL
#define MCCL_UNDEF_FLOAT -1.0f

/* Color of mcclCommSplit for a rank that gets no communicator. */
#define MCCL_SPLIT_NOCOLOR -1

/* Flags of mcclCommShrink and mcclCommRevoke. */
#define MCCL_SHRINK_DEFAULT 0x00
#define MCCL_SHRINK_ABORT 0x01
#define MCCL_REVOKE_DEFAULT 0x00

/* Values of mcclConfig_t.CTAPolicy. */
#define MCCL_CTA_POLICY_DEFAULT 0x00
#define MCCL_CTA_POLICY_EFFICIENCY 0x01
#define MCCL_CTA_POLICY_ZERO 0x02

/* Flags of mcclCommWindowRegister, and the alignment of its buffers. */
#define MCCL_WIN_DEFAULT 0x00
#define MCCL_WIN_COLL_SYMMETRIC 0x01
#define MCCL_WIN_STRICT_ORDERING 0x02
#define MCCL_WIN_REQUIRED_ALIGNMENT 4096

/* An unset mcclConfig_t. */
#define MCCL_CONFIG_INITIALIZER { \
  sizeof(mcclConfig_t),                              /* size */ \
  0xcafebeef,                                        /* magic */ \
  MCCL_VERSION(MCCL_MAJOR, MCCL_MINOR, MCCL_PATCH),  /* version */ \
  MCCL_CONFIG_UNDEF_INT,                             /* blocking */ \
  MCCL_CONFIG_UNDEF_INT,                             /* cgaClusterSize */ \
  MCCL_CONFIG_UNDEF_INT,                             /* minCTAs */ \
  MCCL_CONFIG_UNDEF_INT,                             /* maxCTAs */ \
  MCCL_CONFIG_UNDEF_PTR,                             /* netName */ \
  MCCL_CONFIG_UNDEF_INT,                             /* splitShare */ \
  MCCL_CONFIG_UNDEF_INT,                             /* trafficClass */ \
  MCCL_CONFIG_UNDEF_PTR,                             /* commName */ \
  MCCL_CONFIG_UNDEF_INT,                             /* collnetEnable */ \
  MCCL_CONFIG_UNDEF_INT,                             /* CTAPolicy */ \
  MCCL_CONFIG_UNDEF_INT,                             /* shrinkShare */ \
  MCCL_CONFIG_UNDEF_INT,                             /* nvlsCTAs */ \
  MCCL_CONFIG_UNDEF_INT,                             /* nChannelsPerNetPeer */ \
  MCCL_CONFIG_UNDEF_INT,                             /* nvlinkCentricSched */ \
}

/* An unset mcclSimInfo_t. */
#define MCCL_SIM_INFO_INITIALIZER { \
  sizeof(mcclSimInfo_t),                             /* size */ \
  0x74685283,                                        /* magic */ \
  MCCL_VERSION(MCCL_MAJOR, MCCL_MINOR, MCCL_PATCH),  /* version */ \
  MCCL_UNDEF_FLOAT                                   /* estimatedTime */ \
}

/* A communicator of one rank. */
typedef struct mcclComm *mcclComm_t;

/* A window of memory that peers can reach. */
typedef struct mcclWindow *mcclWindow_t;

/* Result of a call; mcclGetErrorString has the sentences. */
typedef enum {
  mcclSuccess = 0,
  mcclUnhandledMusaError = 1,
  mcclUnhandledCudaError = 1,
  mcclSystemError = 2,
  mcclInternalError = 3,
  mcclInvalidArgument = 4,
  mcclInvalidUsage = 5,
  mcclRemoteError = 6,
  mcclInProgress = 7,
  mcclNumResults = 8
} mcclResult_t;

/* Reduction operation. Values of mcclNumOps and above are made by mcclRedOpCreatePreMulSum. */
typedef enum {
  mcclSum = 0,
  mcclProd = 1,
  mcclMax = 2,
  mcclMin = 3,
  mcclAvg = 4,
  mcclNumOps = 5,
  mcclMaxRedOp = 0x7fffffff
} mcclRedOp_t;

/* Element type of a buffer. */
typedef enum {
  mcclInt8 = 0,
  mcclChar = 0,
  mcclUint8 = 1,
  mcclInt32 = 2,
  mcclInt = 2,
  mcclUint32 = 3,
  mcclInt64 = 4,
  mcclUint64 = 5,
  mcclFloat16 = 6,
  mcclHalf = 6,
  mcclFloat32 = 7,
  mcclFloat = 7,
  mcclFloat64 = 8,
  mcclDouble = 8,
  mcclBfloat16 = 9,
  mcclFp8E4M3 = 10,
  mcclFloat8e4m3 = 10,
  mcclFp8E5M2 = 11,
  mcclFloat8e5m2 = 11,
  mcclNumTypes = 12
} mcclDataType_t;

/* Where the scalar of mcclRedOpCreatePreMulSum lies. */
typedef enum {
  mcclScalarDevice = 0,
  mcclScalarHostImmediate = 1
} mcclScalarResidence_t;

/* Names a communicator; made by mcclGetUniqueId on one rank and carried to the others by the program. */
typedef struct {
  char internal[128];
} mcclUniqueId;

/* Settings of a communicator. Start from MCCL_CONFIG_INITIALIZER and set what differs. */
typedef struct {
  /* Set by the initializer; do not change. */
  size_t size;
  /* Set by the initializer; do not change. */
  unsigned int magic;
  /* Set by the initializer; do not change. */
  unsigned int version;
  /* 1 (default): calls return when their work is done; 0: they may return mcclInProgress. */
  int blocking;
  /* Blocks per cluster, 0 to 8. */
  int cgaClusterSize;
  /* Fewest blocks per operation, 1 or more. */
  int minCTAs;
  /* Most blocks per operation, 1 or more and not below minCTAs. */
  int maxCTAs;
  /* Network to use, or NULL. */
  const char *netName;
  /* 1: children of mcclCommSplit share this communicator's resources. */
  int splitShare;
  /* Traffic class of the network. */
  int trafficClass;
  /* Name of the communicator in logs, or NULL. */
  const char *commName;
  /* 1: use collectives of the network. */
  int collnetEnable;
  /* MCCL_CTA_POLICY_ flags. */
  int CTAPolicy;
  /* 1: children of mcclCommShrink share this communicator's resources. */
  int shrinkShare;
  /* Blocks for reductions in the switch, 1 or more. */
  int nvlsCTAs;
  /* Channels to one peer on another host, 1 to 64. */
  int nChannelsPerNetPeer;
  /* 1: schedule for use of the device links. */
  int nvlinkCentricSched;
} mcclConfig_t;

/* Receives the estimate of mcclGroupSimulateEnd. Start from MCCL_SIM_INFO_INITIALIZER. */
typedef struct {
  /* Set by the initializer; do not change. */
  size_t size;
  /* Set by the initializer; do not change. */
  unsigned int magic;
  /* Set by the initializer; do not change. */
  unsigned int version;
  /* Time of the group in microseconds. */
  float estimatedTime;
} mcclSimInfo_t;

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/* Allocates size bytes of device memory that peers can reach. Free it with mcclMemFree.
 * Output pointers must be good to write. */
mcclResult_t mcclMemAlloc(void **ptr, size_t size);

/* Frees memory of mcclMemAlloc.
 * ptr must be NULL or come from mcclMemAlloc and not be used any more. */
mcclResult_t mcclMemFree(void *ptr);

/* Tells the communicator of a buffer of size bytes that operations will use often. Local to this rank.
 * Output pointers must be good to write. The buffer must live until it is deregistered. */
mcclResult_t mcclCommRegister(mcclComm_t comm, void *buff, size_t size, void **handle);

/* Ends a registration.
 * Any handle is fine: it is checked. */
mcclResult_t mcclCommDeregister(mcclComm_t comm, void *handle);

/* Writes the version of the library as major * 10000 + minor * 100 + patch.
 * Output pointers must be good to write. */
mcclResult_t mcclGetVersion(int *version);

/* The sentence for a result code; a static string, never NULL.
 * Any value has a text. */
const char *mcclGetErrorString(mcclResult_t result);

/* The last warning of the process, at most 1023 bytes; comm is not looked at.
 * The text stays until the calling thread asks again.
 * Any handle is fine. */
const char *mcclGetLastError(mcclComm_t comm);

/* Deprecated: the log is set up once per process. Does nothing.
 * Always safe. */
void mcclResetDebugInit(void);

/* Makes the name of a new communicator. Call it on one rank and carry the 128 bytes to the others.
 * A name serves for one communicator.
 * Output pointers must be good to write. */
mcclResult_t mcclGetUniqueId(mcclUniqueId *uniqueId);

/* Joins the communicator commId as rank 0 to nranks-1, on the calling thread's current device.
 * Every rank calls it. In a group it takes effect when the group ends.
 * Output pointers must be good to write. In a group, until the group ends. */
mcclResult_t mcclCommInitRank(mcclComm_t *comm, int nranks, mcclUniqueId commId, int rank);

/* Makes a communicator of ndev ranks in this process, rank i on device devlist[i] or, when devlist is NULL, device i.
 * Writes ndev handles.
 * comms must be good to write ndev handles, devlist to read ndev numbers unless it is NULL. */
mcclResult_t mcclCommInitAll(mcclComm_t *comms,
                             int ndev,
                             const int *devlist);

/* mcclCommInitRank with settings; config may be NULL.
 * With config.blocking 0 it may return mcclInProgress; ask mcclCommGetAsyncError before the next call.
 * Output pointers must be good to write. config must be NULL or as large as its size says. */
mcclResult_t mcclCommInitRankConfig(mcclComm_t *comm,
                                    int nranks,
                                    mcclUniqueId commId,
                                    int rank,
                                    mcclConfig_t *config);

/* mcclCommInitRankConfig with nId names, 1 to nranks, the same on every rank, so that nId roots share the work.
 * Output pointers must be good to write. config must be NULL or as large as its size says. commIds must be good to read nId names. */
mcclResult_t mcclCommInitRankScalable(mcclComm_t *newcomm,
                                      int nranks,
                                      int myrank,
                                      int nId,
                                      mcclUniqueId *commIds,
                                      mcclConfig_t *config);

/* Makes a communicator of all ranks that pass the same color, ordered by key and then by rank in comm.
 * Every rank of comm calls it. MCCL_SPLIT_NOCOLOR gets NULL. A NULL config takes over the settings of comm.
 * Output pointers must be good to write. config must be NULL or as large as its size says. */
mcclResult_t mcclCommSplit(mcclComm_t comm, int color, int key, mcclComm_t *newcomm, mcclConfig_t *config);

/* Makes a communicator without the listed ranks. Not supported by this version.
 * Any handle is fine: it is checked. */
mcclResult_t mcclCommShrink(mcclComm_t comm,
                            int *excludeRanksList,
                            int excludeRanksCount,
                            mcclComm_t *newcomm,
                            mcclConfig_t *config,
                            int shrinkFlags);

/* Completes all work of the communicator; no operation may follow. NULL does nothing.
 * Any handle is fine: it is checked. */
mcclResult_t mcclCommFinalize(mcclComm_t comm);

/* Completes all work and frees the communicator; the handle ends. NULL does nothing.
 * Any handle is fine: it is checked. */
mcclResult_t mcclCommDestroy(mcclComm_t comm);

/* Stops all work and frees the communicator; the handle ends. NULL does nothing.
 * Any handle is fine: it is checked. */
mcclResult_t mcclCommAbort(mcclComm_t comm);

/* Stops the work of the communicator on all ranks. Not supported by this version.
 * Any handle is fine: it is checked. */
mcclResult_t mcclCommRevoke(mcclComm_t comm, int revokeFlags);

/* Writes the state of the communicator: mcclSuccess, mcclInProgress or the error that ended it.
 * Output pointers must be good to write. */
mcclResult_t mcclCommGetAsyncError(mcclComm_t comm, mcclResult_t *asyncError);

/* Writes the number of ranks.
 * Output pointers must be good to write. */
mcclResult_t mcclCommCount(mcclComm_t comm, int *count);

/* Writes the device of this rank.
 * Output pointers must be good to write. */
mcclResult_t mcclCommMuDevice(mcclComm_t comm, int *device);

/* Another name of mcclCommMuDevice.
 * Output pointers must be good to write. */
mcclResult_t mcclCommCuDevice(mcclComm_t comm, int *device);

/* Writes the rank of this handle, 0 to count-1.
 * Output pointers must be good to write. */
mcclResult_t mcclCommUserRank(mcclComm_t comm, int *rank);

/* Makes a reduction that multiplies this rank's input by *scalar and then sums, for one datatype and communicator.
 * With mcclScalarHostImmediate the scalar is read now, with mcclScalarDevice when an operation runs.
 * Output pointers must be good to write. The scalar must be good to read, on the device until the last operation has run. */
mcclResult_t mcclRedOpCreatePreMulSum(mcclRedOp_t *op,
                                      void *scalar,
                                      mcclDataType_t datatype,
                                      mcclScalarResidence_t residence,
                                      mcclComm_t comm);

/* Ends a reduction of mcclRedOpCreatePreMulSum; operations that use it may still run.
 * Any handle is fine: it is checked. */
mcclResult_t mcclRedOpDestroy(mcclRedOp_t op, mcclComm_t comm);

/* Reduces count elements of every rank into recvbuff of rank root. In place: sendbuff == recvbuff.
 * recvbuff may be NULL on other ranks.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclReduce(const void *sendbuff,
                        void *recvbuff,
                        size_t count,
                        mcclDataType_t datatype,
                        mcclRedOp_t op,
                        int root,
                        mcclComm_t comm,
                        musaStream_t stream);

/* Copies count elements from buff of rank root to buff of every rank.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclBcast(void *buff,
                       size_t count,
                       mcclDataType_t datatype,
                       int root,
                       mcclComm_t comm,
                       musaStream_t stream);

/* Copies count elements from sendbuff of rank root to recvbuff of every rank. In place: sendbuff == recvbuff.
 * sendbuff may be NULL on other ranks.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclBroadcast(const void *sendbuff,
                           void *recvbuff,
                           size_t count,
                           mcclDataType_t datatype,
                           int root,
                           mcclComm_t comm,
                           musaStream_t stream);

/* Reduces count elements of every rank into recvbuff of every rank. In place: sendbuff == recvbuff.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclAllReduce(const void *sendbuff,
                           void *recvbuff,
                           size_t count,
                           mcclDataType_t datatype,
                           mcclRedOp_t op,
                           mcclComm_t comm,
                           musaStream_t stream);

/* Reduces nranks * recvcount elements and leaves block i, recvcount elements, in recvbuff of rank i.
 * In place: recvbuff == sendbuff + rank * recvcount.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclReduceScatter(const void *sendbuff,
                               void *recvbuff,
                               size_t recvcount,
                               mcclDataType_t datatype,
                               mcclRedOp_t op,
                               mcclComm_t comm,
                               musaStream_t stream);

/* Gathers sendcount elements of every rank, in rank order, into recvbuff (nranks * sendcount) of every rank.
 * In place: sendbuff == recvbuff + rank * sendcount.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclAllGather(const void *sendbuff,
                           void *recvbuff,
                           size_t sendcount,
                           mcclDataType_t datatype,
                           mcclComm_t comm,
                           musaStream_t stream);

/* Sends block i of sendbuff, count elements, to rank i, where it becomes block rank of recvbuff. Not in place.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclAlltoAll(const void *sendbuff,
                          void *recvbuff,
                          size_t count,
                          mcclDataType_t datatype,
                          mcclComm_t comm,
                          musaStream_t stream);

/* Another name of mcclAlltoAll.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclAllToAll(const void *sendbuff,
                          void *recvbuff,
                          size_t count,
                          mcclDataType_t datatype,
                          mcclComm_t comm,
                          musaStream_t stream);

/* Gathers count elements of every rank, in rank order, into recvbuff (nranks * count) of rank root.
 * recvbuff may be NULL on other ranks. In place: sendbuff == recvbuff + root * count on the root.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclGather(const void *sendbuff,
                        void *recvbuff,
                        size_t count,
                        mcclDataType_t datatype,
                        int root,
                        mcclComm_t comm,
                        musaStream_t stream);

/* Sends block i of sendbuff (nranks * count) of rank root to recvbuff of rank i.
 * sendbuff may be NULL on other ranks. In place: recvbuff == sendbuff + root * count on the root.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclScatter(const void *sendbuff,
                         void *recvbuff,
                         size_t count,
                         mcclDataType_t datatype,
                         int root,
                         mcclComm_t comm,
                         musaStream_t stream);

/* Sends sendcounts[i] elements to rank i and receives recvcounts[i] from it, at displacements in elements.
 * sdispls is the matrix of all ranks' send displacements, nranks * nranks, row by rank; only this rank's row is read.
 * The other arrays have nranks values and are read during the call.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. Arrays must be good to read as said. */
mcclResult_t mcclAllToAllv(const void *sendbuff,
                           const size_t *sendcounts,
                           const size_t *sdispls,
                           void *recvbuff,
                           const size_t *recvcounts,
                           const size_t *rdispls,
                           mcclDataType_t datatype,
                           mcclComm_t comm,
                           musaStream_t stream);

/* nbatch times mcclAllToAllv as one group. Buffers and datatypes have nbatch values; entry b of the counts and rdispls
 * begins at b * nranks, its matrix of send displacements at b * nranks * nranks.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. Arrays must be good to read as said. */
mcclResult_t mcclBatchAllToAllv(void **sendbuffs,
                                const size_t *sendcounts,
                                const size_t *sdispls,
                                void **recvbuffs,
                                const size_t *recvcounts,
                                const size_t *rdispls,
                                mcclDataType_t *datatypes,
                                int nbatch,
                                mcclComm_t comm,
                                musaStream_t stream);

/* Sends count elements to rank peer, which calls mcclRecv with the same count and datatype.
 * Sends and receives that wait for each other belong in one group.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclSend(const void *sendbuff,
                      size_t count,
                      mcclDataType_t datatype,
                      int peer,
                      mcclComm_t comm,
                      musaStream_t stream);

/* Receives count elements from rank peer, which calls mcclSend with the same count and datatype.
 * Buffers must stay good for as many elements as the call says until the stream has run the operation. */
mcclResult_t mcclRecv(void *recvbuff,
                      size_t count,
                      mcclDataType_t datatype,
                      int peer,
                      mcclComm_t comm,
                      musaStream_t stream);

/* Makes a window of the buffers of all ranks; every rank calls it, with a buffer at a multiple of 4096.
 * This version offers no windows: it checks the arguments, writes NULL and succeeds, which programs must expect.
 * Output pointers must be good to write. */
mcclResult_t mcclCommWindowRegister(mcclComm_t comm,
                                    void *buff,
                                    size_t size,
                                    mcclWindow_t *win,
                                    int winFlags);

/* Ends a window. NULL does nothing.
 * Any handle is fine: it is checked. */
mcclResult_t mcclCommWindowDeregister(mcclComm_t comm, mcclWindow_t win);

/* Opens a group: calls until the matching mcclGroupEnd take effect together. Groups nest; the outermost counts.
 * Always safe. */
mcclResult_t mcclGroupStart(void);

/* Ends a group and starts what it collected.
 * Pointers passed to calls of the group must still be good. */
mcclResult_t mcclGroupEnd(void);

/* Ends a group without running it and writes how long it would take, in microseconds.
 * simInfo must be as large as its size says. */
mcclResult_t mcclGroupSimulateEnd(mcclSimInfo_t *simInfo);
mcclResult_t pmcclGetVersion(int *version);
mcclResult_t pmcclGetUniqueId(mcclUniqueId *uniqueId);
const char *pmcclGetErrorString(mcclResult_t result);
const char *pmcclGetLastError(mcclComm_t comm);
void pmcclResetDebugInit(void);
mcclResult_t pmcclCommInitRank(mcclComm_t *comm,
                               int nranks,
                               mcclUniqueId commId,
                               int rank);
mcclResult_t pmcclCommInitAll(mcclComm_t *comms, int ndev, const int *devlist);
mcclResult_t pmcclCommInitRankConfig(mcclComm_t *comm,
                                     int nranks,
                                     mcclUniqueId commId,
                                     int rank,
                                     mcclConfig_t *config);
mcclResult_t pmcclCommInitRankScalable(mcclComm_t *newcomm,
                                       int nranks,
                                       int myrank,
                                       int nId,
                                       mcclUniqueId *commIds,
                                       mcclConfig_t *config);
mcclResult_t pmcclCommSplit(mcclComm_t comm, int color, int key, mcclComm_t *newcomm, mcclConfig_t *config);
mcclResult_t pmcclCommShrink(mcclComm_t comm,
                             int *excludeRanksList,
                             int excludeRanksCount,
                             mcclComm_t *newcomm,
                             mcclConfig_t *config,
                             int shrinkFlags);
mcclResult_t pmcclCommFinalize(mcclComm_t comm);
mcclResult_t pmcclCommDestroy(mcclComm_t comm);
mcclResult_t pmcclCommAbort(mcclComm_t comm);
mcclResult_t pmcclCommRevoke(mcclComm_t comm, int revokeFlags);
mcclResult_t pmcclCommGetAsyncError(mcclComm_t comm,
                                    mcclResult_t *asyncError);
mcclResult_t pmcclCommCount(mcclComm_t comm, int *count);
mcclResult_t pmcclCommMuDevice(mcclComm_t comm,
                               int *device);
mcclResult_t pmcclCommCuDevice(mcclComm_t comm,
                               int *device);
mcclResult_t pmcclCommUserRank(mcclComm_t comm,
                               int *rank);
mcclResult_t pmcclMemAlloc(void **ptr, size_t size);
mcclResult_t pmcclMemFree(void *ptr);
mcclResult_t pmcclCommRegister(mcclComm_t comm, void *buff, size_t size, void **handle);
mcclResult_t pmcclCommDeregister(mcclComm_t comm,
                                 void *handle);
mcclResult_t pmcclCommWindowRegister(mcclComm_t comm,
                                     void *buff,
                                     size_t size,
                                     mcclWindow_t *win,
                                     int winFlags);
mcclResult_t pmcclCommWindowDeregister(mcclComm_t comm,
                                       mcclWindow_t win);
mcclResult_t pmcclRedOpCreatePreMulSum(mcclRedOp_t *op,
                                       void *scalar,
                                       mcclDataType_t datatype,
                                       mcclScalarResidence_t residence,
                                       mcclComm_t comm);
mcclResult_t pmcclRedOpDestroy(mcclRedOp_t op,
                               mcclComm_t comm);
mcclResult_t pmcclReduce(const void *sendbuff,
                         void *recvbuff,
                         size_t count,
                         mcclDataType_t datatype,
                         mcclRedOp_t op,
                         int root,
                         mcclComm_t comm,
                         musaStream_t stream);
mcclResult_t pmcclBcast(void *buff,
                        size_t count,
                        mcclDataType_t datatype,
                        int root,
                        mcclComm_t comm,
                        musaStream_t stream);
mcclResult_t pmcclBroadcast(const void *sendbuff,
                            void *recvbuff,
                            size_t count,
                            mcclDataType_t datatype,
                            int root,
                            mcclComm_t comm,
                            musaStream_t stream);
mcclResult_t pmcclAllReduce(const void *sendbuff,
                            void *recvbuff,
                            size_t count,
                            mcclDataType_t datatype,
                            mcclRedOp_t op,
                            mcclComm_t comm,
                            musaStream_t stream);
mcclResult_t pmcclReduceScatter(const void *sendbuff,
                                void *recvbuff,
                                size_t recvcount,
                                mcclDataType_t datatype,
                                mcclRedOp_t op,
                                mcclComm_t comm,
                                musaStream_t stream);
mcclResult_t pmcclAllGather(const void *sendbuff,
                            void *recvbuff,
                            size_t sendcount,
                            mcclDataType_t datatype,
                            mcclComm_t comm,
                            musaStream_t stream);
mcclResult_t pmcclAlltoAll(const void *sendbuff,
                           void *recvbuff,
                           size_t count,
                           mcclDataType_t datatype,
                           mcclComm_t comm,
                           musaStream_t stream);
mcclResult_t pmcclAllToAll(const void *sendbuff,
                           void *recvbuff,
                           size_t count,
                           mcclDataType_t datatype,
                           mcclComm_t comm,
                           musaStream_t stream);
mcclResult_t pmcclGather(const void *sendbuff,
                         void *recvbuff,
                         size_t count,
                         mcclDataType_t datatype,
                         int root,
                         mcclComm_t comm,
                         musaStream_t stream);
mcclResult_t pmcclScatter(const void *sendbuff,
                          void *recvbuff,
                          size_t count,
                          mcclDataType_t datatype,
                          int root,
                          mcclComm_t comm,
                          musaStream_t stream);
mcclResult_t pmcclSend(const void *sendbuff,
                       size_t count,
                       mcclDataType_t datatype,
                       int peer,
                       mcclComm_t comm,
                       musaStream_t stream);
mcclResult_t pmcclRecv(void *recvbuff,
                       size_t count,
                       mcclDataType_t datatype,
                       int peer,
                       mcclComm_t comm,
                       musaStream_t stream);
mcclResult_t pmcclAllToAllv(const void *sendbuff,
                            const size_t *sendcounts,
                            const size_t *sdispls,
                            void *recvbuff,
                            const size_t *recvcounts,
                            const size_t *rdispls,
                            mcclDataType_t datatype,
                            mcclComm_t comm,
                            musaStream_t stream);
mcclResult_t pmcclBatchAllToAllv(void **sendbuffs,
                                 const size_t *sendcounts,
                                 const size_t *sdispls,
                                 void **recvbuffs,
                                 const size_t *recvcounts,
                                 const size_t *rdispls,
                                 mcclDataType_t *datatypes,
                                 int nbatch,
                                 mcclComm_t comm,
                                 musaStream_t stream);
mcclResult_t pmcclGroupStart(void);
mcclResult_t pmcclGroupEnd(void);
mcclResult_t pmcclGroupSimulateEnd(mcclSimInfo_t *simInfo);

#ifdef __cplusplus
}  /* extern "C" */
#endif  /* __cplusplus */

#endif  /* MCCL_H_ */
