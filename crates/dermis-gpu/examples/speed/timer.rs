//! Time on the device: by its timestamps where it has them, else by the clock over many dispatches.

use dermis_gpu::wgpu;
use dermis_gpu::{Gpu, GpuError};
use std::time::Instant;

/// a = b + 3 c, a vec4 per invocation and step.
const TRIAD: &str = "
@group(0) @binding(0) var<storage, read_write> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> c: array<vec4f>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < arrayLength(&a); i += 256u * groups.x) {
        a[i] = b[i] + 3.0 * c[i];
    }
}";

/// Seconds that a measurement lasts at least.
const LEAST: f64 = 0.05;
/// Measurements; the median counts.
const REPEATS: usize = 5;

pub struct Timer {
    queries: Option<(wgpu::QuerySet, wgpu::Buffer, wgpu::Buffer)>,
}

impl Timer {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let has = gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) && gpu.is_hardware();
        let queries = has.then(|| {
            let set = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            });
            let buffer = |usage| {
                let descriptor = wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false };
                gpu.device.create_buffer(&descriptor)
            };
            let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
            (set, resolved, buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST))
        });
        Ok(Self { queries })
    }

    pub fn how(&self) -> &'static str {
        if self.queries.is_some() { "timestamps of the device" } else { "the clock" }
    }

    /// Seconds that one execution of some dispatches takes, the median of several measurements of many executions.
    pub fn seconds(&self, gpu: &Gpu, work: impl Fn(&mut wgpu::ComputePass)) -> Result<f64, GpuError> {
        let mut times = 1;
        let mut taken = self.once(gpu, &work, 1)?;
        taken = taken.min(self.once(gpu, &work, 1)?);
        while taken < LEAST && times < 1 << 14 {
            times = (times as f64 * (1.3 * LEAST / taken.max(1e-9)).clamp(2.0, 64.0)) as usize;
            taken = self.once(gpu, &work, times)?;
        }
        let mut all = vec![taken];
        for _ in 1..REPEATS {
            all.push(self.once(gpu, &work, times)?);
        }
        all.sort_by(f64::total_cmp);
        Ok(all[REPEATS / 2] / times as f64)
    }

    /// Seconds of `times` executions in one submission.
    fn once(&self, gpu: &Gpu, work: &impl Fn(&mut wgpu::ComputePass), times: usize) -> Result<f64, GpuError> {
        let failed = |error: &dyn std::fmt::Display| GpuError::Failed(error.to_string());
        let wait = || gpu.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| failed(&error));
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            let timestamps = self.queries.as_ref().map(|(query_set, ..)| wgpu::ComputePassTimestampWrites {
                query_set,
                beginning_of_pass_write_index: Some(0),
                end_of_pass_write_index: Some(1),
            });
            let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes: timestamps };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            (0..times).for_each(|_| work(&mut pass));
        }
        if let Some((set, resolved, read)) = &self.queries {
            encoder.resolve_query_set(set, 0..2, resolved, 0);
            encoder.copy_buffer_to_buffer(resolved, 0, read, 0, 16);
        }
        let commands = encoder.finish();
        wait()?;
        let start = Instant::now();
        gpu.queue.submit([commands]);
        wait()?;
        let Some((_, _, read)) = &self.queries else { return Ok(start.elapsed().as_secs_f64()) };
        read.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        wait()?;
        let ticks: Vec<u64> = {
            let view = read.slice(..).get_mapped_range().map_err(|error| failed(&error))?;
            view.chunks_exact(8).map(|b| u64::from_ne_bytes(b.try_into().expect("eight bytes"))).collect()
        };
        read.unmap();
        Ok(ticks[1].saturating_sub(ticks[0]) as f64 * f64::from(gpu.queue.get_timestamp_period()) * 1e-9)
    }

    /// Bytes per second of the triad, three arrays far larger than any cache (on a card).
    pub fn bandwidth(&self, gpu: &Gpu) -> Result<f64, GpuError> {
        let limits = gpu.device.limits();
        let wanted: u64 = if gpu.is_hardware() { 1 << 28 } else { 1 << 25 };
        let size = wanted.min(limits.max_buffer_size).min(limits.max_storage_buffer_binding_size) / 16 * 16;
        let buffers = [0; 3].map(|_| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            })
        });
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("triad"),
            source: wgpu::ShaderSource::Wgsl(TRIAD.into()),
        });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("triad"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let entries: Vec<_> = (0..3)
            .map(|at| wgpu::BindGroupEntry { binding: at as u32, resource: buffers[at].as_entire_binding() })
            .collect();
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let groups = (size / 16).div_ceil(256).min(limits.max_compute_workgroups_per_dimension.into()) as u32;
        let seconds = self.seconds(gpu, |pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(groups, 1, 1);
        })?;
        Ok(3.0 * size as f64 / seconds)
    }
}
