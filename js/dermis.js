// Drives the morph targets of a three.js SkinnedMesh from its bones, as Dermis learnt them. An ES module without dependencies:
//
//   import { DermisExtension, drive } from "./js/dermis.js";
//   const loader = new GLTFLoader().register((parser) => new DermisExtension(parser));
//   const gltf = await loader.loadAsync("hero.glb");        // of dermis export shapes hero.dermis --driven -o hero.glb
//   // In every frame, after the animation has moved the bones and before the picture is drawn:
//   drive(gltf.scene);
//
// docs/browser.md is the guide, docs/drivers.md has the equations, docs/extensions the two glTF extensions.

import { Drivers } from "./dermis_drivers.js";
import { EXTENSIONS, extensionTable, skinBones } from "./dermis_extension.js";

export { Drivers, EXTENSIONS, extensionTable };

/** The drivers of meshes. A clone of a mesh has none until `attach` ties it to some. */
const attached = new WeakMap();

/** A plugin of GLTFLoader: ties every mesh whose node has an extension of Dermis to its drivers. */
export class DermisExtension {
  constructor(parser) {
    this.parser = parser;
    this.name = "DERMIS";
  }

  /** Called by GLTFLoader when the scenes are there. Rejects with an Error that names what an extension has wrong. */
  async afterRoot() {
    const { json } = this.parser;
    for (const [index, node] of (json.nodes ?? []).entries()) {
      if (!EXTENSIONS.some((name) => node.extensions?.[name] !== undefined)) continue;
      const bound = json.skins?.[node.skin]?.inverseBindMatrices;
      const matrices = bound === undefined ? null : await this.parser.getDependency("accessor", bound);
      if (json.meshes?.[node.mesh]?.primitives?.some(({ attributes }) => attributes.JOINTS_1 !== undefined)) {
        console.warn("dermis: some vertices have more than four influences, of which three.js reads four: export with --influences 4");
      }
      const drivers = new Drivers(extensionTable(json, index, skinBones(json, index, matrices?.array)));
      const object = await this.parser.getDependency("node", index);
      // A mesh of several primitives is a group of meshes.
      const meshes = [object, ...object.children].filter((child) => child.isSkinnedMesh);
      meshes.forEach((mesh) => attach(mesh, drivers));
    }
    return null;
  }
}

/**
 * Ties a SkinnedMesh to drivers: those of a table of `dermis export drivers`, or those of another mesh for its clone. Returns the
 * drivers. Throws an Error if the mesh lacks a bone or has fewer morph targets. Those behind the driven ones are the application's own.
 */
export function attach(mesh, drivers) {
  const count = mesh.morphTargetInfluences?.length ?? 0;
  if (count < drivers.shapes.length) {
    throw new Error(`dermis: the mesh ${mesh.name} has ${count} morph targets, and ${drivers.shapes.length} are driven`);
  }
  // GLTFLoader replaces some characters of names; userData keeps the name that the file has.
  const named = new Map(mesh.skeleton.bones.map((bone) => [bone.userData.name ?? bone.name, bone]));
  // A bone of an extension is a joint of the skin by its number, so that names need not be unique.
  const bones = drivers.bones.map(({ name, joint }) => (joint === undefined ? named.get(name) : mesh.skeleton.bones[joint]));
  const missing = bones.findIndex((bone) => !bone);
  if (missing >= 0) throw new Error(`dermis: the mesh ${mesh.name} has no bone ${drivers.bones[missing].name}`);
  attached.set(mesh, { drivers, bones: new Map(drivers.bones.map((bone, i) => [bone, bones[i]])) });
  return drivers;
}

/** Returns the drivers that a mesh is tied to, or undefined. */
export function driversOf(mesh) {
  return attached.get(mesh)?.drivers;
}

/**
 * Sets the morph weights of every mesh in `object` (itself included) that is tied to drivers, from the pose of its bones. Brings the
 * world matrices of `object` up to date. `channels` has the values of a pose space's channels by name. Returns the number of meshes;
 * throws an Error if there is none, so that a forgotten plugin does not pass unseen.
 */
export function drive(object, channels = {}) {
  object.updateMatrixWorld(true);
  let count = 0;
  object.traverse((mesh) => {
    const own = attached.get(mesh);
    if (!own) return;
    const weights = own.drivers.weights((_, bone) => own.bones.get(bone).matrixWorld.elements, channels);
    weights.forEach((weight, i) => { mesh.morphTargetInfluences[i] = weight; });
    count += 1;
  });
  if (count === 0) {
    throw new Error("dermis: no mesh is driven. Register DermisExtension with GLTFLoader, or call attach(mesh, drivers)");
  }
  return count;
}
