// What three.js shows of a GLB with an extension of Dermis, against expected positions; runs in a browser, in three.html. The address
// names the GLB and the arrays: ?glb=/desk/hero.glb&matrices=/desk/m.npy&expected=/desk/e.npy, as in conformance.mjs.
//
// Writes into the root element: data-state (ready or error), data-poses, data-drawn (vertices), data-meshes, data-cpu and data-gpu (the largest distances, metres, of three's own
// getVertexPosition, and of what its vertex shader computes), data-milliseconds (drive, mean), data-moved (the largest change of a weight).
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { DermisExtension, drive, driversOf } from "../dermis.js";
import { parseNpy } from "./npy.mjs";

const root = document.documentElement;

/** Draws every vertex as one pixel that holds its position after three's own morph targets and skinning. */
class Probe {
  constructor(mesh) {
    const count = mesh.geometry.attributes.position.count;
    this.side = Math.ceil(Math.sqrt(count));
    this.renderer = new THREE.WebGLRenderer();
    this.target = new THREE.WebGLRenderTarget(this.side, this.side, { type: THREE.FloatType, format: THREE.RGBAFormat, minFilter: THREE.NearestFilter, magFilter: THREE.NearestFilter });
    this.material = new THREE.ShaderMaterial({
      depthTest: false, blending: THREE.NoBlending,
      vertexShader: `
        #include <common>
        #include <morphtarget_pars_vertex>
        #include <skinning_pars_vertex>
        varying vec3 place;
        void main() {
          #include <begin_vertex>
          #include <morphtarget_vertex>
          #include <skinbase_vertex>
          #include <skinning_vertex>
          place = transformed;
          vec2 pixel = vec2(float(gl_VertexID % ${this.side}), float(gl_VertexID / ${this.side})) + 0.5;
          gl_Position = vec4(2.0 * pixel / ${this.side}.0 - 1.0, 0.0, 1.0);
          gl_PointSize = 1.0;
        }`,
      fragmentShader: "varying vec3 place; void main() { gl_FragColor = vec4(place, 1.0); }",
    });
    // Points in the order of the vertices, with the morph targets and bones of the mesh.
    this.points = mesh.clone();
    this.points.geometry = mesh.geometry.clone().setIndex(null);
    Object.assign(this.points, { isMesh: false, isPoints: true, material: this.material, frustumCulled: false });
    this.points.morphTargetInfluences = mesh.morphTargetInfluences;
    this.camera = new THREE.OrthographicCamera();
    mesh.parent.add(this.points);
  }

  positions(scene, mesh) {
    mesh.visible = false;
    this.renderer.setRenderTarget(this.target);
    this.renderer.clear();
    this.renderer.render(scene, this.camera);
    mesh.visible = true;
    const pixels = new Float32Array(4 * this.side * this.side);
    this.renderer.readRenderTargetPixels(this.target, 0, 0, this.side, this.side, pixels);
    return (v) => pixels.subarray(4 * v, 4 * v + 3);
  }
}

async function run() {
  const query = new URLSearchParams(location.search);
  const bytes = async (name) => new Uint8Array(await (await fetch(query.get(name))).arrayBuffer());
  const [matrices, expected] = [parseNpy(await bytes("matrices"), "matrices"), parseNpy(await bytes("expected"), "expected")];
  const loader = new GLTFLoader().register((parser) => new DermisExtension(parser));
  const gltf = await loader.parseAsync((await bytes("glb")).buffer, "");
  const meshes = [];
  gltf.scene.traverse((object) => { if (object.isSkinnedMesh) meshes.push(object); });
  if (!meshes.length || !meshes.every(driversOf)) throw new Error("the plugin found no drivers");
  // The parts of a mesh have the same vertices: the last is looked at, after all of them were driven.
  const mesh = meshes[meshes.length - 1];
  meshes.forEach((one) => { one.visible = one === mesh; });
  const [poses, bones] = matrices.shape;
  if (bones !== mesh.skeleton.bones.length) throw new Error(`${bones} matrices for ${mesh.skeleton.bones.length} bones`);
  const vertexOf = mesh.geometry.attributes._vertex ?? null; // GLTFLoader writes the names of unknown attributes small
  const count = mesh.geometry.attributes.position.count;
  const probe = new Probe(mesh);
  let [cpu, gpu, milliseconds, moved] = [0, 0, 0, 0];
  const first = [...mesh.morphTargetInfluences];
  for (let pose = 0; pose < poses; pose++) {
    const worlds = new Map(mesh.skeleton.bones.map((bone, k) =>
      [bone, new THREE.Matrix4().set(...matrices.data.subarray(16 * (pose * bones + k), 16 * (pose * bones + k + 1)))]));
    for (const [bone, world] of worlds) {
      bone.matrixAutoUpdate = false;
      bone.matrix.copy(worlds.get(bone.parent) ?? new THREE.Matrix4()).invert().multiply(world);
    }
    const start = performance.now();
    drive(gltf.scene);
    milliseconds += (performance.now() - start) / poses;
    mesh.morphTargetInfluences.forEach((weight, i) => { moved = Math.max(moved, Math.abs(weight - first[i])); });
    const shown = probe.positions(gltf.scene, mesh);
    const place = new THREE.Vector3();
    for (let v = 0; v < count; v++) {
      const at = 3 * (pose * expected.shape[1] + (vertexOf ? vertexOf.getX(v) : v));
      const away = ([x, y, z]) => Math.hypot(x - expected.data[at], y - expected.data[at + 1], z - expected.data[at + 2]);
      mesh.getVertexPosition(v, place);
      cpu = Math.max(cpu, away(place.toArray()));
      gpu = Math.max(gpu, away(shown(v)));
    }
  }
  Object.assign(root.dataset, { poses, drawn: count, meshes: meshes.length, cpu, gpu, moved, milliseconds: milliseconds.toFixed(2), state: "ready" });
}

run().catch((error) => Object.assign(root.dataset, { error: String(error), state: "error" }));
