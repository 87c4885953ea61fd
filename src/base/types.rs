//! Element types, reductions and collectives, as the engine knows them (no C values here).

/// Position of a process in a communicator, `0..nranks`.
pub type Rank = usize;

/// The twelve element types. The discriminant is the C value of `mcclDataType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DataType {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Bfloat16 = 9,
    Fp8E4M3 = 10,
    Fp8E5M2 = 11,
}

impl DataType {
    pub const ALL: [DataType; 12] = [
        Self::Int8,
        Self::Uint8,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Uint64,
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::Bfloat16,
        Self::Fp8E4M3,
        Self::Fp8E5M2,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Fp8E4M3 | Self::Fp8E5M2 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }

    pub const fn is_float(self) -> bool {
        !matches!(self, Self::Int8 | Self::Uint8 | Self::Int32 | Self::Uint32 | Self::Int64 | Self::Uint64)
    }
}

/// How a message travels through shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Protocol {
    /// Words of four bytes of data and four of flag.
    Ll = 0,
    /// Cache lines that end in a flag.
    Ll128 = 1,
    /// Data, then one flag for all of it.
    Simple = 2,
}

impl Protocol {
    pub const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ll => "LL",
            Self::Ll128 => "LL128",
            Self::Simple => "Simple",
        }
    }
}

/// How two elements are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReduceFn {
    Sum,
    Prod,
    Max,
    Min,
}

/// The bits of one element, little end first; only the low `DataType::size` bytes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar(pub u64);

/// A reduction operation as the caller named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedOp {
    Sum,
    Prod,
    Max,
    Min,
    /// Integers: sum, then integer division by the number of ranks.
    /// Floats: each input times 1/nranks (rounded to the element type), then sum.
    Avg,
    /// Each rank's input times that rank's scalar, then sum.
    PreMulSum(Scalar),
    /// The same with the scalar at this device address, read when the operation runs.
    PreMulSumAt(usize),
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Collective {
    Broadcast = 0,
    Reduce = 1,
    AllGather = 2,
    ReduceScatter = 3,
    AllReduce = 4,
    AlltoAll = 8,
    Scatter = 9,
    Gather = 10,
    AlltoAllv = 15,
    Send = 6,
    Recv = 7,
}

impl Collective {
    pub const ALL: [Self; 11] = [
        Self::Broadcast,
        Self::Reduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllReduce,
        Self::AlltoAll,
        Self::Scatter,
        Self::Gather,
        Self::AlltoAllv,
        Self::Send,
        Self::Recv,
    ];

    /// The collective of that name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|coll| coll.name().eq_ignore_ascii_case(name))
    }

    /// The name in logs and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "Broadcast",
            Self::Reduce => "Reduce",
            Self::AllGather => "AllGather",
            Self::ReduceScatter => "ReduceScatter",
            Self::AllReduce => "AllReduce",
            Self::AlltoAll => "AlltoAll",
            Self::AlltoAllv => "AllToAllv",
            Self::Scatter => "Scatter",
            Self::Gather => "Gather",
            Self::Send => "Send",
            Self::Recv => "Recv",
        }
    }

    pub const fn reduces(self) -> bool {
        matches!(self, Self::Reduce | Self::ReduceScatter | Self::AllReduce)
    }
}
