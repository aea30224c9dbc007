// The glTF extensions DERMIS_joint_drivers and DERMIS_pose_space, turned into the tables that dermis_drivers.js reads.
// docs/extensions defines both. `json` is the glTF of a file, parsed.

/** The names of the extensions that this file reads. */
export const EXTENSIONS = ["DERMIS_joint_drivers", "DERMIS_pose_space"];

/**
 * The versions that this file knows. A pose space without one is of version 1; version 2 has windows and parts of rotations. Version 2 of
 * joint drivers has sculpts, version 3 other kernels and bones that see down, and may have sculpts; version 4 parts of rotations and products.
 */
const VERSIONS = { DERMIS_joint_drivers: [1, 2, 3, 4], DERMIS_pose_space: [1, 2] };

/**
 * Returns the bones of a node's skin: `node`, `joint` (its number in the skin), `name`, `inverse_bind` (three rows). `matrices` are
 * the inverse bind matrices of the skin, 16 numbers each, column by column; none for identities.
 */
export function skinBones(json, node, matrices) {
  const skin = json.skins?.[json.nodes[node].skin];
  demand(skin, node, "the node has no skin");
  demand(!matrices || matrices.length >= 16 * skin.joints.length, node, "the skin has fewer inverse bind matrices than joints");
  const entry = (joint, row, column) => (matrices ? matrices[16 * joint + 4 * column + row] : Number(row === column));
  return skin.joints.map((index, joint) => ({
    node: index,
    joint,
    name: json.nodes[index]?.name ?? `node ${index}`,
    inverse_bind: [0, 1, 2].map((row) => [0, 1, 2, 3].map((column) => entry(joint, row, column))),
  }));
}

/**
 * Returns the table of a node's extension, for `new Drivers(table)`. `bones` is what `skinBones` returned. Throws an Error if the node
 * has no extension, or one of an unknown version, or one that names a node which is no joint of the skin.
 */
export function extensionTable(json, node, bones) {
  const name = EXTENSIONS.find((known) => json.nodes[node].extensions?.[known] !== undefined);
  demand(name, node, `the node has none of the extensions ${EXTENSIONS.join(", ")}`);
  const content = json.nodes[node].extensions[name];
  demand(content !== null && typeof content === "object", node, `${name} is no object`);
  const { version = 1, ...fields } = content;
  demand(VERSIONS[name].includes(version), node, `${name} is of version ${version}, and this reader knows ${VERSIONS[name].join(" and ")}`);
  demand(Array.isArray(fields.joints), node, `${name}: joints is no list`);
  const mesh = json.meshes?.[json.nodes[node].mesh];
  const count = mesh?.primitives?.[0]?.targets?.length ?? 0;
  demand(count > 0, node, "the mesh of the node has no morph targets");
  // Further targets are the application's own.
  const driven = Array.isArray(fields.offset) ? fields.offset.length : count;
  demand(driven <= count, node, `the mesh has ${count} morph targets, and ${driven} are driven`);
  const shapes = Array.from({ length: driven }, (_, i) => mesh.extras?.targetNames?.[i] ?? String(i));

  const used = new Map();
  /** The number of a node among the bones of the table. */
  const numberOf = (index, joint) => {
    const bone = bones.find((known) => known.node === index);
    demand(bone, node, `joint ${joint} of ${name} names node ${index}, which is no joint of the skin`);
    if (!used.has(bone)) used.set(bone, used.size);
    return used.get(bone);
  };
  const isPoseSpace = name === "DERMIS_pose_space";
  const withPath = (joint, j) => {
    demand(Array.isArray(joint.path) && joint.path.every((pair) => pair?.length === 2), node, `joint ${j} of ${name} has no path of pairs`);
    return { ...joint, path: joint.path.map((pair) => pair.map((index) => numberOf(index, j))) };
  };
  const withEnds = (joint, j) => ({ ...joint, from: numberOf(joint.from, j), to: numberOf(joint.to, j) });
  const joints = fields.joints.map(isPoseSpace ? withPath : withEnds);
  if (!isPoseSpace && (version === 2 || fields.sculpts)) {
    demand(Array.isArray(fields.sculpts?.joints), node, `${name}: sculpts has no list of joints`);
    fields.sculpts = { ...fields.sculpts, joints: fields.sculpts.joints.map(withPath) };
  }
  if (!isPoseSpace && fields.gravity) {
    demand(Array.isArray(fields.gravity.bones), node, `${name}: bones of gravity is no list`);
    const seeing = fields.gravity.bones.map((entry, i) => ({ ...entry, bone: numberOf(entry.bone, i) }));
    fields.gravity = { ...fields.gravity, bones: seeing };
  }
  const kind = isPoseSpace ? { version: version + 1, kind: "pose-space" } : { version: [1, 4, 5, 6][version - 1] };
  return { ...fields, format: "dermis-drivers", ...kind, bones: [...used.keys()], joints, shapes };
}

function demand(isTrue, node, reason) {
  if (!isTrue) throw new Error(`glTF node ${node}: ${reason}`);
}
