/* First part of mccl.h: what a generator cannot derive from Rust, namely macros, enums with several names for one
 * value, and opaque handles. The tests compare every value here with the one in the library. */

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
