//! Log lines in the shape users of this API family know: `host:pid:tid [dev] MCCL INFO text`.

/// Subsystems that `MCCL_DEBUG_SUBSYS` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Subsys {
    Init,
    Coll,
    P2p,
    Shm,
    Net,
    Graph,
    Tuning,
    Env,
    Alloc,
    Call,
    Proxy,
    Bootstrap,
    Reg,
}
