//! Buffers whose sizes are checked before they are made.

use crate::GpuError;
use dermis_rig::glam::Vec4;
use wgpu::util::DeviceExt;

/// Read by shaders, filled by the processor.
pub(crate) const UPLOADED: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST);

/// A binding must not be empty; this is one vec4.
const LEAST: u64 = 16;

/// Whether a size is within a limit.
pub(crate) fn fits(what: &'static str, size: u64, most: u64) -> Result<(), GpuError> {
    if size <= most { Ok(()) } else { Err(GpuError::TooLarge { what, size, most }) }
}

fn binds(device: &wgpu::Device, what: &'static str, size: u64) -> Result<(), GpuError> {
    let limits = device.limits();
    fits(what, size, limits.max_buffer_size.min(limits.max_storage_buffer_binding_size))
}

/// A buffer with contents.
pub(crate) fn filled(device: &wgpu::Device, what: &'static str, contents: &[u8]) -> Result<wgpu::Buffer, GpuError> {
    if contents.is_empty() {
        return empty(device, what, 0, UPLOADED);
    }
    binds(device, what, contents.len() as u64)?;
    Ok(device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some(what), contents, usage: UPLOADED }))
}

/// A buffer of zeros.
pub(crate) fn empty(
    device: &wgpu::Device,
    what: &'static str,
    size: u64,
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, GpuError> {
    let size = size.max(LEAST);
    binds(device, what, size)?;
    Ok(device.create_buffer(&wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false }))
}

/// The bytes of vec4.
pub(crate) fn bytes(all: &[Vec4]) -> Vec<u8> {
    all.iter().flat_map(|v| v.to_array()).flat_map(f32::to_ne_bytes).collect()
}

/// Buffers as bindings 0, 1, 2 and so on.
pub(crate) fn group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: &[&wgpu::Buffer],
) -> wgpu::BindGroup {
    let numbered = buffers.iter().enumerate();
    let entries: Vec<_> = numbered
        .map(|(at, buffer)| wgpu::BindGroupEntry { binding: at as u32, resource: buffer.as_entire_binding() })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("dermis"), layout, entries: &entries })
}

/// Runs what makes resources; what the device then complains of is an error.
pub(crate) fn checked<T>(device: &wgpu::Device, make: impl FnOnce() -> Result<T, GpuError>) -> Result<T, GpuError> {
    let invalid = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let made = make();
    let full = pollster::block_on(memory.pop());
    let failed = pollster::block_on(internal.pop());
    let refused = pollster::block_on(invalid.pop());
    if let Some(error) = full {
        return Err(GpuError::OutOfMemory(error.to_string()));
    }
    match refused.or(failed) {
        Some(error) => Err(GpuError::Failed(error.to_string())),
        None => made,
    }
}

/// The first `size` bytes of a buffer as numbers; waits for the device.
pub(crate) fn read(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
    size: u64,
) -> Result<Vec<f32>, GpuError> {
    if size == 0 {
        return Ok(vec![]);
    }
    let failed = |error: &dyn std::fmt::Display| GpuError::Failed(error.to_string());
    let copy = checked(device, || {
        fits("what is read back", size, device.limits().max_buffer_size)?;
        Ok(device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read back"),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        }))
    })?;
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, size);
    queue.submit([encoder.finish()]);
    let (sender, mapped) = std::sync::mpsc::channel();
    copy.slice(..).map_async(wgpu::MapMode::Read, move |result| {
        // The receiver lives as long as the call that waits below.
        let _ = sender.send(result);
    });
    device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| failed(&error))?;
    mapped.recv().map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let view = copy.slice(..).get_mapped_range().map_err(|error| failed(&error))?;
    Ok(view.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect())
}
