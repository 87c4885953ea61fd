//! Sets a run up: groups, devices, communicators and buffers; and takes it down.

use std::sync::Arc;

use crate::api::{Mccl, UNIQUE_ID_BYTES, UniqueId};
use crate::bench::Seat;
use crate::cli::Options;
use crate::error::{Error, Result};
use crate::launch::World;
use crate::launch::library::CommExchange;
use crate::local::{Buffers, LocalRank};
use crate::musart::Musart;
use crate::settings::Settings;
use crate::{sys, table};

const GIB: usize = 1 << 30;

/// The two libraries of a run.
#[derive(Clone, Copy)]
pub struct Libraries {
    pub library: &'static Mccl,
    pub runtime: &'static Musart,
}

/// The processes whose ranks form one communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The number that the split gave it.
    pub color: i32,
    /// This process's position in it.
    pub rank: usize,
    /// Processes in it.
    pub size: usize,
    /// The world's rank of its first process.
    pub first: usize,
}

impl Group {
    /// Of a process with `rank` among processes of the given colors.
    pub fn of(rank: usize, colors: &[i32]) -> Self {
        let color = colors[rank];
        let same = |ranks: &[i32]| ranks.iter().filter(|c| **c == color).count();
        let first = colors.iter().position(|c| *c == color).unwrap_or(rank);
        Self { color, rank: same(&colors[..rank]), size: same(colors), first }
    }
}

/// Finds this process's group, by exchange if there is a split.
pub fn group(world: &World, settings: &Settings) -> Result<Group> {
    let Some(split) = settings.split else {
        return Ok(Group { color: 0, rank: world.rank, size: world.size, first: 0 });
    };
    if !world.talks_before_init() {
        return Err(Error::usage("MCCL_TESTS_SPLIT: set, needs processes from MPI or --nproc, allowed unset"));
    }
    let all = world.all_gather(&split.group(world.rank).to_le_bytes())?;
    let color = |bytes: &Vec<u8>| i32::from_le_bytes(std::array::from_fn(|i| bytes[i]));
    Ok(Group::of(world.rank, &all.iter().map(color).collect::<Vec<_>>()))
}

/// The id of this process's communicator: made by the first process of the group, or by each where the library has a fixed root.
pub fn unique_id(world: &World, group: &Group, library: &Mccl) -> Result<UniqueId> {
    if world.fixed_root {
        return library.unique_id();
    }
    let mine = if group.first == world.rank { library.unique_id()?.internal } else { [0; UNIQUE_ID_BYTES] };
    let all = world.all_gather(&mine)?;
    Ok(UniqueId { internal: std::array::from_fn(|i| all[group.first][i]) })
}

/// Devices of this process's ranks: its share of the host's, over and over if there are fewer.
pub fn devices(world: &World, options: &Options, settings: &Settings, available: usize) -> Result<Vec<i32>> {
    let ranks = options.threads * options.devices;
    if let Some(first) = settings.device {
        let end = first + ranks;
        return match end <= available {
            true => Ok((first..end).map(|d| d as i32).collect()),
            false => Err(Error::usage(format!(
                "MCCL_TESTS_DEVICE: {first}, {ranks} devices from there on do not exist, allowed 0 to {}",
                available.saturating_sub(ranks)
            ))),
        };
    }
    Ok((0..ranks).map(|i| ((world.local_rank * ranks + i) % available) as i32).collect())
}

/// Makes this process's communicators: all in one group, or each thread its own at once with `-p`.
pub fn init_ranks(
    libraries: Libraries,
    options: &Options,
    devices: &[i32],
    group: &Group,
    id: UniqueId,
) -> Result<Vec<Arc<LocalRank>>> {
    let first = group.rank * devices.len();
    let nranks = group.size * devices.len();
    let places: Vec<(usize, i32)> = devices.iter().enumerate().map(|(i, &d)| (first + i, d)).collect();
    if !options.parallel_init {
        return init_some(libraries, options, &places, nranks, id);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = places
            .chunks(options.devices)
            .map(|places| scope.spawn(move || init_some(libraries, options, places, nranks, id)))
            .collect();
        let mut ranks = Vec::new();
        for thread in threads {
            ranks.extend(thread.join().unwrap_or_else(|_| Err(Error::failed("a thread was lost in init")))?);
        }
        Ok(ranks)
    })
}

fn init_some(
    libraries: Libraries,
    options: &Options,
    places: &[(usize, i32)],
    nranks: usize,
    id: UniqueId,
) -> Result<Vec<Arc<LocalRank>>> {
    let (library, runtime) = (libraries.library, libraries.runtime);
    let policy = options.cta_policy.map(|policy| policy as i32);
    let who = || places.iter().map(|(rank, _)| rank.to_string()).collect::<Vec<_>>().join(",");
    let comms = library
        .init_comms(places, nranks, id, policy, |device| runtime.set_device(device))
        .map_err(|e| e.at(format!("rank {}", who())))?;
    let with_stream = |(comm, &(rank, device)): (_, &(usize, i32))| {
        runtime.set_device(device)?;
        let stream = if options.stream_null { runtime.null_stream() } else { runtime.stream()? };
        Ok(Arc::new(LocalRank { rank, device, stream, comm }))
    };
    comms.into_iter().zip(places).map(with_stream).collect()
}

/// Lets ranks from variables exchange data from now on.
pub fn attach(world: &World, libraries: Libraries, ranks: &[Arc<LocalRank>], nranks: usize) -> Result<()> {
    world.attach(|| CommExchange::new(libraries.library, libraries.runtime, ranks, nranks))
}

/// The lines of all ranks of the run, in rank order.
pub fn device_lines(world: &World, runtime: &Musart, devices: &[i32], color: i32) -> Result<String> {
    let mut mine = String::new();
    let (pid, host) = (std::process::id(), sys::host_name());
    for (i, &device) in devices.iter().enumerate() {
        let (bus, name) = runtime.describe(device)?;
        let rank = world.rank * devices.len() + i;
        mine.push_str(&table::device_line(rank, color, pid, &host, device, &bus, &name));
    }
    Ok(world.all_gather_text(&mine)?.concat())
}

/// The largest buffer size that all processes have memory for, at most `-e`.
pub fn max_bytes(world: &World, runtime: &Musart, devices: &[i32], wanted: usize) -> Result<usize> {
    let mut mine = wanted;
    for &device in devices {
        runtime.set_device(device)?;
        let sharing = devices.iter().filter(|d| **d == device).count();
        if let Some((_, total)) = runtime.memory()? {
            mine = mine.min(fitting(total, sharing));
        }
    }
    let all = world.all_gather_numbers(&[mine as f64])?;
    Ok(all.iter().flatten().fold(wanted, |least, &bytes| least.min(bytes as usize)))
}

/// Bytes for each of the two buffers of each of `sharing` ranks on a device of `total` bytes, with room left for the library.
fn fitting(total: usize, sharing: usize) -> usize {
    let reserve = match total {
        small if small < 8 * GIB => small / 8,
        _ => GIB + (total.div_ceil(16 * GIB) * GIB).min(4 * GIB),
    };
    (total - reserve) / (2 * sharing)
}

/// Allocates buffers of `bytes` for every rank, and registers them if asked to.
pub fn seats(libraries: Libraries, options: &Options, ranks: Vec<Arc<LocalRank>>, bytes: usize) -> Result<Vec<Seat>> {
    // Room for `-u` in the largest type.
    let bytes = bytes + 8 * options.unalign;
    let mut seats = Vec::new();
    for local in ranks {
        libraries.runtime.set_device(local.device)?;
        let buffers = Buffers::new(libraries.library, libraries.runtime, bytes)
            .map_err(|e| e.at(format!("rank {}: buffers of {bytes} bytes", local.rank)))?;
        seats.push(Seat { local, buffers });
    }
    if options.register > 0 {
        libraries.library.group(|| {
            seats.iter_mut().try_for_each(|seat| {
                libraries.runtime.set_device(seat.local.device)?;
                seat.buffers.register(&seat.local, options.register == 2)
            })
        })?;
    }
    Ok(seats)
}

/// Deregisters, destroys the communicators (in one group) and frees the buffers.
pub fn release(libraries: Libraries, seats: Vec<Seat>) -> Result<()> {
    for seat in &seats {
        libraries.runtime.set_device(seat.local.device)?;
        seat.buffers.deregister(&seat.local)?;
    }
    let mut buffers = Vec::new();
    let mut streams = Vec::new();
    libraries.library.group(|| {
        for seat in seats {
            buffers.push(seat.buffers);
            // Nobody else holds a rank any more: watchdog and exchange have ended.
            if let Some(local) = Arc::into_inner(seat.local) {
                libraries.runtime.set_device(local.device)?;
                streams.push(local.stream);
                local.comm.destroy()?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn groups_are_counted_by_color() {
        let colors = [0, 1, 0, 1, 1];
        assert_eq!(Group::of(0, &colors), Group { color: 0, rank: 0, size: 2, first: 0 });
        assert_eq!(Group::of(3, &colors), Group { color: 1, rank: 1, size: 3, first: 1 });
        assert_eq!(Group::of(4, &colors), Group { color: 1, rank: 2, size: 3, first: 1 });
    }

    #[test]
    fn ranks_share_devices_when_there_are_more_ranks() {
        let options = Options::parse_from(["x", "-t", "2", "-g", "2"]);
        let mut world = World::alone();
        world.local_rank = 1;
        assert_eq!(devices(&world, &options, &Settings::default(), 8).unwrap(), [4, 5, 6, 7]);
        assert_eq!(devices(&world, &options, &Settings::default(), 3).unwrap(), [1, 2, 0, 1]);
        let fixed = Settings { device: Some(2), ..Settings::default() };
        assert_eq!(devices(&world, &options, &fixed, 8).unwrap(), [2, 3, 4, 5]);
        assert!(devices(&world, &options, &fixed, 5).is_err());
    }

    #[test]
    fn small_devices_keep_an_eighth_and_large_ones_some_gigabytes() {
        assert_eq!(fitting(GIB, 1), GIB / 2 - GIB / 16);
        assert_eq!(fitting(80 * GIB, 1), (80 - 5) * GIB / 2);
        assert_eq!(fitting(16 * GIB, 7), 14 * GIB / 14);
    }
}
