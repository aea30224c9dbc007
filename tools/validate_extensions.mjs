// Validates the extensions of Dermis in GLBs by their JSON schemas: node tools/validate_extensions.mjs FILE...
//
// The validator is the npm package ajv. For every extension, it also damages the content in a few ways, which the schema must refuse.
// Exit 0: all are valid, and no damaged one; 1: not; 2: a file cannot be read; 3: ajv is not installed (npm install --prefix target/tools ajv).
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
let Ajv;
try {
  Ajv = createRequire(join(root, 'target/tools/package.json'))('ajv/dist/2020').default;
} catch (error) {
  if (error.code !== 'MODULE_NOT_FOUND') throw error;
  console.error('NOT VALIDATED: the npm package ajv is missing. Install it with\n  npm install --prefix target/tools ajv');
  process.exit(3);
}
const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node tools/validate_extensions.mjs FILE...');
  process.exit(2);
}

const ajv = new Ajv({ strict: true, strictTuples: false, allErrors: true });
const validators = {};
// That of a joint model refers to that of a pose space.
for (const name of ['DERMIS_pose_space', 'DERMIS_joint_drivers']) {
  const path = join(root, `docs/extensions/${name}/schema/node.${name}.schema.json`);
  validators[name] = ajv.compile(JSON.parse(readFileSync(path, 'utf8')));
}

/** What a schema must refuse: each changes the content. Counts that depend on each other are no matter of a schema. */
const damages = {
  'another version': (content) => { content.version = 9; },
  'no offset': (content) => { delete content.offset; },
  'a clamp of one number': (content) => { content.clamp.pop(); },
  'a joint without limit': (content) => { delete content.joints[0].limit; },
  'a number as text': (content) => { content.offset[0] = '0'; },
  'a negative node': (content) => { if (content.joints[0].path) content.joints[0].path[0][0] = -1; else content.joints[0].from = -1; },
  'an axis or centre of two numbers': (content) => { if (content.joints[0].axis) content.joints[0].axis.pop(); else content.joints[0].centre = [0, 0]; },
  'an unknown kernel, or no sigma': (content) => { if (content.kernel) content.kernel.kind = 'cubic'; else delete content.sigma; },
};

let [bad, seen] = [0, 0];
for (const file of files) {
  let json;
  try {
    const bytes = readFileSync(file);
    json = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)).toString('utf8'));
  } catch (error) {
    console.error(`${file}: ${error.message}`);
    process.exit(2);
  }
  for (const [index, node] of json.nodes.entries()) {
    for (const [name, validate] of Object.entries(validators)) {
      const content = node.extensions?.[name];
      if (content === undefined) continue;
      seen += 1;
      if (!validate(content)) {
        bad += 1;
        console.log(`${file}: node ${index}: ${name}: ${ajv.errorsText(validate.errors)}`);
        continue;
      }
      if (!json.extensionsUsed?.includes(name) || json.extensionsRequired?.includes(name)) {
        bad += 1;
        console.log(`${file}: ${name} must be in extensionsUsed and not in extensionsRequired`);
      }
      const accepted = Object.entries(damages).filter(([, damage]) => {
        const damaged = structuredClone(content);
        damage(damaged);
        return validate(damaged);
      });
      bad += accepted.length;
      accepted.forEach(([what]) => console.log(`${file}: ${name}: the schema accepts ${what}`));
      console.log(`${file}: ${name} is valid, and ${Object.keys(damages).length - accepted.length} of ${Object.keys(damages).length} damaged ones are not`);
    }
  }
}
if (seen === 0) console.log('no file has an extension of Dermis');
process.exit(bad > 0 || seen === 0 ? 1 : 0);
