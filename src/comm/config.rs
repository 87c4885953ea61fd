//! What a caller may set per communicator.

/// Settings of `mcclConfig_t`, already checked; `None` is "choose".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Calls return when done; otherwise they may return `InProgress`.
    pub blocking: bool,
    pub min_ctas: Option<u32>,
    pub max_ctas: Option<u32>,
    pub cga_cluster_size: Option<u32>,
    pub net_name: Option<String>,
    pub split_share: bool,
    pub traffic_class: Option<i32>,
    pub comm_name: Option<String>,
    pub collnet: bool,
    pub cta_policy: u32,
    pub shrink_share: bool,
    pub nvls_ctas: Option<u32>,
    pub channels_per_net_peer: Option<u32>,
    pub nvlink_centric: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            blocking: true,
            min_ctas: None,
            max_ctas: None,
            cga_cluster_size: None,
            net_name: None,
            split_share: false,
            traffic_class: None,
            comm_name: None,
            collnet: false,
            cta_policy: 0,
            shrink_share: false,
            nvls_ctas: None,
            channels_per_net_peer: None,
            nvlink_centric: false,
        }
    }
}
