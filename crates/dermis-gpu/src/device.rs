//! Finding a graphics device. Programs that have one already do without this.

use crate::GpuError;

/// Which adapter to open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefer {
    /// A card if there is one, else a software adapter.
    #[default]
    Hardware,
    /// A software adapter, such as Mesa's lavapipe.
    Software,
}

/// An open device.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    /// Name, kind and driver of the adapter.
    pub info: wgpu::AdapterInfo,
}

impl Gpu {
    /// Opens the best adapter of the kind that is preferred, with its own limits, and timestamps where it has them.
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`], [`GpuError::NoDevice`].
    pub fn open(prefer: Prefer) -> Result<Self, GpuError> {
        let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
        // Validation layers are for those who write shaders; not everybody has them.
        description.flags = wgpu::InstanceFlags::empty();
        let instance = wgpu::Instance::new(description);
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let rank = |adapter: &wgpu::Adapter| match (adapter.get_info().device_type, prefer) {
            (wgpu::DeviceType::Cpu, _) => Some(4),
            (_, Prefer::Software) => None,
            (wgpu::DeviceType::DiscreteGpu, _) => Some(0),
            (wgpu::DeviceType::IntegratedGpu, _) => Some(1),
            (wgpu::DeviceType::VirtualGpu, _) => Some(2),
            (wgpu::DeviceType::Other, _) => Some(3),
        };
        let computes = |adapter: &&wgpu::Adapter| {
            adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
                && adapter.limits().max_storage_buffers_per_shader_stage >= crate::STORAGE_BUFFERS
        };
        let best = adapters.iter().filter(computes).filter_map(|a| Some((rank(a)?, a))).min_by_key(|(rank, _)| *rank);
        let Some((_, adapter)) = best else {
            let names: Vec<String> = adapters.iter().map(|a| a.get_info().name).collect();
            return Err(GpuError::NoAdapter {
                wanted: if prefer == Prefer::Software { "software" } else { "usable" },
                found: if names.is_empty() { "none".into() } else { names.join(", ") },
            });
        };
        let wanted = wgpu::Features::TIMESTAMP_QUERY;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("dermis"),
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        }))
        .map_err(|error| GpuError::NoDevice(error.to_string()))?;
        Ok(Self { device, queue, info: adapter.get_info() })
    }

    /// Whether the adapter is a card, and not a program on the processor.
    pub fn is_hardware(&self) -> bool {
        self.info.device_type != wgpu::DeviceType::Cpu
    }
}
