//! topo.
