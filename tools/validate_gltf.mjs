// Runs the Khronos glTF validator: node tools/validate_gltf.mjs [--ignore CODE]... FILE...
//
// Prints every issue of every file, but those whose code is to be ignored. Exit 0: no errors, no warnings; 1: some; 2: a file cannot be read; 3: the validator
// is not installed (npm install --prefix target/tools gltf-validator).
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const folders = [process.env.GLTF_VALIDATOR, join(root, 'target/tools'), root].filter(Boolean);
let validator;
for (const folder of folders) {
  try {
    validator = createRequire(join(folder, 'package.json'))('gltf-validator');
    break;
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
  }
}
if (!validator) {
  console.error('NOT VALIDATED: the npm package gltf-validator is missing. Install it with');
  console.error('  npm install --prefix target/tools gltf-validator');
  process.exit(3);
}
const files = process.argv.slice(2);
const ignoredIssues = [];
while (files[0] === '--ignore' && files.length > 1) ignoredIssues.push(files.splice(0, 2)[1]);
if (files.length === 0) {
  console.error('usage: node tools/validate_gltf.mjs [--ignore CODE]... FILE...');
  process.exit(2);
}

const severities = ['error', 'warning', 'info', 'hint'];
let bad = false;
for (const file of files) {
  let bytes;
  try {
    bytes = new Uint8Array(readFileSync(file));
  } catch (error) {
    console.error(`${file}: ${error.message}`);
    process.exit(2);
  }
  const report = await validator.validateBytes(bytes, {
    uri: file,
    maxIssues: 100,
    ignoredIssues,
    externalResourceFunction: async (uri) =>
      new Uint8Array(readFileSync(join(dirname(resolve(file)), decodeURIComponent(uri)))),
  }).catch((error) => ({ issues: { numErrors: 1, numWarnings: 0, messages: [{ severity: 0, code: 'FATAL', message: String(error) }] } }));
  const { numErrors, numWarnings, messages } = report.issues;
  for (const { severity, code, message, pointer } of messages) {
    console.log(`${file}: ${severities[severity]} ${code} ${pointer ?? ''}: ${message}`);
  }
  console.log(`${file}: ${numErrors} errors, ${numWarnings} warnings, ${messages.length} messages`);
  bad ||= numErrors + numWarnings > 0;
}
process.exit(bad ? 1 : 0);
