// Files as three.js shows them, without their pictures, which need a browser.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

globalThis.self ??= globalThis; // GLTFLoader expects a browser
globalThis.ProgressEvent ??= class {};

/// The JSON and the bytes of a file; buffers beside it or within its text are joined. `images` reads the pictures.
export function read(path) {
  const file = readFileSync(path);
  let json, buffers;
  if (file.readUInt32LE(0) === 0x46546c67) {
    const size = file.readUInt32LE(12);
    json = JSON.parse(file.subarray(20, 20 + size));
    buffers = [file.subarray(28 + size)];
  } else {
    json = JSON.parse(file);
    const data = (uri) => (uri.startsWith("data:") ? Buffer.from(uri.split(",")[1], "base64") : readFileSync(join(dirname(path), decodeURI(uri))));
    buffers = json.buffers.map((buffer) => data(buffer.uri));
  }
  const view = (at) => {
    const { buffer, byteOffset = 0, byteLength } = json.bufferViews[at];
    return buffers[buffer].subarray(byteOffset, byteOffset + byteLength);
  };
  const image = ({ uri, bufferView }) => {
    if (bufferView !== undefined) return view(bufferView);
    return uri.startsWith("data:") ? Buffer.from(uri.split(",")[1], "base64") : readFileSync(join(dirname(path), decodeURI(uri)));
  };
  return { json, buffers, images: () => (json.images ?? []).map((one) => image(one).toString("base64")) };
}

/// three.js, from the folder of its npm package.
export class Three {
  static async from(folder) {
    const part = (path) => import(pathToFileURL(resolve(join(folder, path))));
    const three = new Three();
    three.THREE = await part("build/three.module.js");
    three.GLTFLoader = (await part("examples/jsm/loaders/GLTFLoader.js")).GLTFLoader;
    return three;
  }

  /// What three.js makes of a file that `read` took.
  load({ json, buffers }) {
    const bare = structuredClone(json);
    for (const key of ["images", "textures", "samplers", "materials", "extensionsUsed", "extensionsRequired"]) delete bare[key];
    for (const mesh of bare.meshes ?? []) for (const primitive of mesh.primitives) delete primitive.material;
    bare.buffers = buffers.map((bytes) => ({ byteLength: bytes.length, uri: `data:application/octet-stream;base64,${bytes.toString("base64")}` }));
    return new this.GLTFLoader().parseAsync(JSON.stringify(bare), "");
  }

  /// Positions as they are shown, in the world: of the corners of all triangles in the order of the file, or of each vertex of a triangle.
  positions(scene, corners) {
    scene.updateMatrixWorld(true);
    const [points, p] = [[], new this.THREE.Vector3()];
    scene.traverse((mesh) => {
      if (!mesh.isMesh) return;
      mesh.skeleton?.update();
      const { index, attributes } = mesh.geometry;
      const all = index ? Array.from(index.array) : [...Array(attributes.position.count).keys()];
      for (const vertex of corners ? all : new Set(all)) {
        mesh.getVertexPosition(vertex, p).applyMatrix4(mesh.matrixWorld);
        points.push(p.x, p.y, p.z);
      }
    });
    return points;
  }

  /// A mixer that plays a clip of a file once it is told the time.
  player(file, clip) {
    const mixer = new this.THREE.AnimationMixer(file.scene);
    const action = mixer.clipAction(clip);
    // The last moment is the last key, not the first of the next round.
    [action.loop, action.clampWhenFinished] = [this.THREE.LoopOnce, true];
    action.play();
    return mixer;
  }
}
