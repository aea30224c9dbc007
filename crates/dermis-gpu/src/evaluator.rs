//! A model on a device, and batches of poses that it evaluates.

use crate::buffers::{self, UPLOADED};
use crate::mesh::{MeshArrays, MeshHeader};
use crate::model::{Arrays, Header};
use crate::shaders::Shader;
use crate::{GpuError, pose};
use dermis_deform::{Baked, Guarded, Scratch};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::Vec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Vertices, or faces, of a workgroup.
const GROUP: u32 = 64;

/// Which normals to compute.
#[derive(Clone, Copy, Debug, Default)]
pub enum Normals<'a> {
    /// None.
    #[default]
    None,
    /// Normals at rest, turned by each vertex's blended matrix (see `dermis_deform::skinned_normal`): for models without a
    /// correction.
    Skinned(&'a [Vec3]),
    /// Normals of the deformed mesh of these triangles, weighted by area (see `dermis_deform::MeshNormals`): for any model.
    Mesh(&'a [[u32; 3]]),
}

/// A model on a device: its arrays, and the pipelines that run it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Evaluator {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    device: wgpu::Device,
    /// What prepares poses.
    model: Baked,
    vertices: u32,
    bones: usize,
    /// One after another: the base with the first correction, then the others.
    passes: Vec<Pass>,
    has_normals: bool,
    mesh: Option<SharedMesh>,
}

/// A dispatch that writes positions.
#[derive(Debug)]
struct Pass {
    header: Header,
    shader: Shader,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    rest: wgpu::Buffer,
    words: wgpu::Buffer,
    coefficients: wgpu::Buffer,
    extras: wgpu::Buffer,
}

#[derive(Debug)]
struct SharedMesh {
    header: MeshHeader,
    faces: wgpu::ComputePipeline,
    normals: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    words: wgpu::Buffer,
}

/// Room for some poses of one model: what is sent for them, and their positions and normals.
#[derive(Debug)]
pub struct Batch {
    shared: Arc<Shared>,
    capacity: usize,
    /// Poses last uploaded.
    poses: usize,
    staging: Vec<[f32; 4]>,
    pose_data: wgpu::Buffer,
    positions: wgpu::Buffer,
    normals: wgpu::Buffer,
    /// Header and bindings of each pass.
    passes: Vec<(wgpu::Buffer, wgpu::BindGroup)>,
    mesh: Option<BatchMesh>,
}

#[derive(Debug)]
struct BatchMesh {
    header: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl Evaluator {
    /// Puts a model on a device.
    ///
    /// - `bones`: number of bones of every pose
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] for forms without a shader; [`GpuError::Mismatch`] and [`GpuError::Mesh`] for parts that
    /// do not go together; [`GpuError::TooLarge`], [`GpuError::OutOfMemory`] and [`GpuError::Failed`] of the device.
    pub fn new(device: &wgpu::Device, model: &Baked, bones: usize, normals: Normals) -> Result<Self, GpuError> {
        let vertices = model.vertices();
        // Three times a vertex's number must be an index.
        buffers::fits("vertices", vertices as u64, u64::from(u32::MAX) / 3)?;
        let at_rest = if let Normals::Skinned(normals) = normals { Some(normals) } else { None };
        let passes = Arrays::passes(model, bones, at_rest)?;
        let mesh = match normals {
            Normals::Mesh(triangles) => Some(MeshArrays::new(triangles, vertices)?),
            Normals::None | Normals::Skinned(_) => None,
        };
        let shared = buffers::checked(device, || {
            let mesh = mesh.map(|mesh| -> Result<_, GpuError> {
                let (layout, faces) = pipeline(device, Shader::FACES, 2, 2);
                let (_, normals) = pipeline_with(device, Shader::NORMALS, &layout);
                let words = buffers::filled(device, "mesh words", bytemuck::cast_slice(&mesh.words))?;
                Ok(SharedMesh { header: mesh.header, faces, normals, layout, words })
            });
            Ok(Shared {
                device: device.clone(),
                model: model.without_vertices(),
                vertices: vertices as u32,
                bones,
                passes: passes.iter().map(|arrays| Pass::new(device, arrays)).collect::<Result<_, _>>()?,
                has_normals: !matches!(normals, Normals::None),
                mesh: mesh.transpose()?,
            })
        })?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The names of the shaders of positions, such as `lbs_joints`, one for each correction, in the order of their dispatches.
    pub fn shaders(&self) -> impl Iterator<Item = String> {
        self.shared.passes.iter().map(|pass| pass.shader.to_string())
    }

    /// Bytes of the model's buffers on the device, those of batches apart.
    pub fn bytes(&self) -> u64 {
        let of_pass = |pass: &Pass| {
            let Pass { rest, words, coefficients, extras, .. } = pass;
            [rest, words, coefficients, extras].map(wgpu::Buffer::size).iter().sum::<u64>()
        };
        let mesh = self.shared.mesh.as_ref().map_or(0, |mesh| mesh.words.size());
        self.shared.passes.iter().map(of_pass).sum::<u64>() + mesh
    }

    /// Bytes that are sent to the device for every pose.
    pub fn bytes_per_pose(&self) -> u64 {
        16 * u64::from(self.shared.stride())
    }

    /// Room for up to `capacity` poses at a time, at least one.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`], [`GpuError::OutOfMemory`] and [`GpuError::Failed`] of the device.
    pub fn batch(&self, capacity: usize) -> Result<Batch, GpuError> {
        let shared = Arc::clone(&self.shared);
        let (device, capacity) = (&self.shared.device, capacity.max(1));
        let (vertices, poses) = (u64::from(shared.vertices), capacity as u64);
        let index = u64::from(u32::MAX);
        let places = |what, count: u64| match count.checked_mul(3).and_then(|c| c.checked_mul(poses)) {
            Some(size) => buffers::fits(what, size, index).map(|()| 4 * size),
            None => Err(GpuError::TooLarge { what, size: u64::MAX, most: index }),
        };
        let written = places("coordinates of all poses", vertices)?;
        let sent = u64::from(shared.stride()).saturating_mul(poses);
        buffers::fits("numbers of all poses", sent, index)?;
        let faces = match &shared.mesh {
            Some(mesh) => places("face normals of all poses", u64::from(mesh.header.faces))?,
            None => 0,
        };
        let most = shared.mesh.as_ref().map_or(vertices, |mesh| vertices.max(u64::from(mesh.header.faces)));
        rows(device, most, poses)?;
        buffers::checked(device, || {
            let output = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_SRC;
            let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            let pose_data = buffers::empty(device, "poses", 16 * sent, UPLOADED)?;
            let positions = buffers::empty(device, "positions", written, output)?;
            let size = if shared.has_normals { written } else { 0 };
            let normals = buffers::empty(device, "normals", size, output)?;
            let of_pass = |pass: &Pass| {
                let Pass { rest, words, coefficients, extras, layout, .. } = pass;
                let header = buffers::empty(device, "header", size_of::<Header>() as u64, uniform)?;
                let bound = [&header, &pose_data, rest, words, coefficients, extras, &positions, &normals];
                let group = buffers::group(device, layout, &bound);
                Ok((header, group))
            };
            let passes = shared.passes.iter().map(of_pass).collect::<Result<_, GpuError>>()?;
            let mesh = shared.mesh.as_ref().map(|mesh| -> Result<_, GpuError> {
                let header = buffers::empty(device, "mesh header", size_of::<MeshHeader>() as u64, uniform)?;
                let faces = buffers::empty(device, "faces", faces, wgpu::BufferUsages::STORAGE)?;
                let group = buffers::group(device, &mesh.layout, &[&header, &positions, &mesh.words, &faces, &normals]);
                Ok(BatchMesh { header, group })
            });
            let mesh = mesh.transpose()?;
            let staging = vec![];
            Ok(Batch {
                shared: Arc::clone(&shared),
                capacity,
                poses: 0,
                staging,
                pose_data,
                positions,
                normals,
                passes,
                mesh,
            })
        })
    }
}

impl Shared {
    /// vec4 per pose.
    fn stride(&self) -> u32 {
        self.passes.first().map_or(1, |pass| pass.header.stride)
    }
}

impl Pass {
    fn new(device: &wgpu::Device, arrays: &Arrays) -> Result<Self, GpuError> {
        let shader = Shader::positions(arrays.base, arrays.correction);
        // Buffers 0 to 7 of the shaders of positions: one uniform, five read, two written.
        let (layout, pipeline) = pipeline(device, shader, 5, 2);
        Ok(Self {
            header: arrays.header,
            shader,
            pipeline,
            layout,
            rest: buffers::filled(device, "rest", &buffers::bytes(&arrays.rest))?,
            words: buffers::filled(device, "words", bytemuck::cast_slice(&arrays.words))?,
            coefficients: buffers::filled(device, "coefficients", &buffers::bytes(&arrays.coefficients))?,
            extras: buffers::filled(device, "extras", &buffers::bytes(&arrays.extras))?,
        })
    }
}

impl Batch {
    /// Prepares poses on the processor, in parallel, and sends them. What [`encode`](Self::encode) adds runs on them.
    ///
    /// The result counts the features whose limit acted over all poses. Vertices that the ball holds back are not counted:
    /// that happens on the device.
    ///
    /// # Errors
    /// [`GpuError::Mismatch`] for more poses than there is room for, or a pose with another number of bones.
    pub fn upload(&mut self, queue: &wgpu::Queue, poses: &[BoneTransforms]) -> Result<Guarded, GpuError> {
        if poses.len() > self.capacity {
            return Err(GpuError::Mismatch { what: "poses", found: poses.len(), needed: self.capacity });
        }
        let shared = &*self.shared;
        if let Some(pose) = poses.iter().find(|pose| pose.len() != shared.bones) {
            return Err(GpuError::Mismatch { what: "bones of a pose", found: pose.len(), needed: shared.bones });
        }
        let stride = shared.stride() as usize;
        self.staging.resize(poses.len() * stride, [0.0; 4]);
        let guarded = self
            .staging
            .par_chunks_mut(stride)
            .zip(poses)
            .map_init(Scratch::default, |scratch, (out, transforms)| {
                let pose = shared.model.pose(transforms, scratch).expect("the bones were counted above");
                pose::write(&pose, shared.passes.iter().map(|pass| &pass.header), out);
                pose.guarded
            })
            .reduce(Guarded::default, |a, b| Guarded {
                held: a.held + b.held,
                limited: a.limited + b.limited,
                features: a.features + b.features,
            });
        self.poses = poses.len();
        let device = &shared.device;
        let count = poses.len() as u32;
        let row = self.rows(device, shared.vertices)?.0;
        for (pass, (buffer, _)) in shared.passes.iter().zip(&self.passes) {
            let mut header = pass.header;
            (header.poses, header.row) = (count, row);
            queue.write_buffer(buffer, 0, bytemuck::bytes_of(&header));
        }
        queue.write_buffer(&self.pose_data, 0, bytemuck::cast_slice(&self.staging));
        if let (Some(mesh), Some(batch)) = (&shared.mesh, &self.mesh) {
            let mut of_mesh = mesh.header;
            (of_mesh.poses, of_mesh.row) = (count, row);
            of_mesh.row_of_faces = self.rows(device, of_mesh.faces)?.0;
            queue.write_buffer(&batch.header, 0, bytemuck::bytes_of(&of_mesh));
        }
        Ok(guarded)
    }

    /// Adds the evaluation of the poses last uploaded to a command buffer, as a compute pass. Nothing is read back.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        self.dispatch(&mut pass);
    }

    /// The dispatches of [`encode`](Self::encode), into a pass of the caller's. Sets pipelines and bind group 0.
    pub fn dispatch(&self, pass: &mut wgpu::ComputePass) {
        let shared = &*self.shared;
        let mut run = |pipeline, group, items| {
            // Checked when the batch was made.
            let Ok((x, y)) = self.rows(&shared.device, items) else { return };
            if x > 0 {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[]);
                pass.dispatch_workgroups(x, y, 1);
            }
        };
        for (pass, (_, group)) in shared.passes.iter().zip(&self.passes) {
            run(&pass.pipeline, group, shared.vertices);
        }
        if let (Some(mesh), Some(batch)) = (&shared.mesh, &self.mesh) {
            run(&mesh.faces, &batch.group, mesh.header.faces);
            run(&mesh.normals, &batch.group, mesh.header.vertices);
        }
    }

    fn rows(&self, device: &wgpu::Device, items: u32) -> Result<(u32, u32), GpuError> {
        rows(device, items.into(), self.poses as u64)
    }

    /// Poses last uploaded.
    pub fn poses(&self) -> usize {
        self.poses
    }

    /// Positions: three `f32` a vertex, vertex after vertex, pose after pose; metres, posed world. Usable as a vertex buffer.
    pub fn positions(&self) -> &wgpu::Buffer {
        &self.positions
    }

    /// Unit normals in the layout of [`positions`](Self::positions), where normals were asked for.
    pub fn normals(&self) -> Option<&wgpu::Buffer> {
        self.shared.has_normals.then_some(&self.normals)
    }

    /// Reads positions back; waits for the device. As many as vertices times poses.
    ///
    /// # Errors
    /// [`GpuError::Failed`], [`GpuError::OutOfMemory`].
    pub fn read_positions(&self, queue: &wgpu::Queue) -> Result<Vec<Vec3>, GpuError> {
        self.read(queue, &self.positions)
    }

    /// Reads normals back; waits for the device. Empty where none were asked for.
    ///
    /// # Errors
    /// [`GpuError::Failed`], [`GpuError::OutOfMemory`].
    pub fn read_normals(&self, queue: &wgpu::Queue) -> Result<Vec<Vec3>, GpuError> {
        match self.normals() {
            Some(normals) => self.read(queue, normals),
            None => Ok(vec![]),
        }
    }

    fn read(&self, queue: &wgpu::Queue, buffer: &wgpu::Buffer) -> Result<Vec<Vec3>, GpuError> {
        let size = 12 * u64::from(self.shared.vertices) * self.poses as u64;
        let numbers = buffers::read(&self.shared.device, queue, buffer, size)?;
        Ok(numbers.chunks_exact(3).map(Vec3::from_slice).collect())
    }
}

/// Workgroups for every item in every pose: per row, and rows. A row may be limited to 65535.
fn rows(device: &wgpu::Device, items: u64, poses: u64) -> Result<(u32, u32), GpuError> {
    let groups = items.div_ceil(GROUP.into()).saturating_mul(poses);
    let most = u64::from(device.limits().max_compute_workgroups_per_dimension);
    // Numbers of workgroups are of 32 bits in the shaders, the empty ones of the last row included.
    buffers::fits("workgroups", groups, (most * most).min(u64::from(u32::MAX) - most))?;
    let rows = groups.div_ceil(most);
    Ok((groups.div_ceil(rows.max(1)) as u32, rows as u32))
}

/// The pipeline of a shader with one uniform buffer, then some that it reads, then some that it writes.
fn pipeline(
    device: &wgpu::Device,
    shader: Shader,
    read: u32,
    written: u32,
) -> (wgpu::BindGroupLayout, wgpu::ComputePipeline) {
    let entry = |binding| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: match binding {
                0 => wgpu::BufferBindingType::Uniform,
                _ => wgpu::BufferBindingType::Storage { read_only: binding <= read },
            },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    let entries: Vec<_> = (0..=read + written).map(entry).collect();
    let descriptor = wgpu::BindGroupLayoutDescriptor { label: Some("dermis"), entries: &entries };
    pipeline_with(device, shader, &device.create_bind_group_layout(&descriptor))
}

/// The pipeline of a shader with a known layout.
fn pipeline_with(
    device: &wgpu::Device,
    shader: Shader,
    layout: &wgpu::BindGroupLayout,
) -> (wgpu::BindGroupLayout, wgpu::ComputePipeline) {
    let name = shader.to_string();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(&name),
        source: wgpu::ShaderSource::Wgsl(shader.source().into()),
    });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(&name),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&name),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    (layout.clone(), pipeline)
}
