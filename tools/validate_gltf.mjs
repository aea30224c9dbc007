#!/usr/bin/env node
// validate_gltf.mjs [--ignore CODE]... FILE...: the Khronos validator's verdict on .glb and .gltf files.
// Exit 0 when no file has an issue of any severity, 1 when one has, 3 when the validator is not here.
// It is the npm package gltf-validator, below target/tools (cargo xtask test --install-tools puts it there) or in the
// folder that $GLTF_VALIDATOR names.
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ours = join(dirname(fileURLToPath(import.meta.url)), "../target/tools/node_modules/gltf-validator");
let validator;
try {
    validator = createRequire(import.meta.url)(process.env.GLTF_VALIDATOR ?? ours);
} catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") throw error;
    console.error("SKIPPED: no gltf-validator; npm install --prefix target/tools gltf-validator, or set GLTF_VALIDATOR");
    process.exit(3);
}
const files = process.argv.slice(2);
const ignoredIssues = [];
while (files[0] === "--ignore" && files.length > 1) ignoredIssues.push(...files.splice(0, 2).slice(1));
if (files.length === 0) {
    console.error("usage: validate_gltf.mjs [--ignore CODE]... FILE...");
    process.exit(2);
}

const severities = ["error", "warning", "information", "hint"];
let failed = false;
for (const file of files) {
    let report;
    try {
        report = await validator.validateBytes(new Uint8Array(await readFile(file)), {
            uri: file,
            maxIssues: 20,
            ignoredIssues,
            externalResourceFunction: async (uri) =>
                new Uint8Array(await readFile(join(dirname(file), decodeURIComponent(uri)))),
        });
    } catch (error) {
        console.error(`${file}: ${error.message ?? error}`);
        failed = true;
        continue;
    }
    const { numErrors, numWarnings, numInfos, numHints, messages } = report.issues;
    console.log(`${file}: ${numErrors} errors, ${numWarnings} warnings, ${numInfos} notes, ${numHints} hints`);
    for (const issue of messages) {
        console.log(`  ${severities[issue.severity]} ${issue.code} ${issue.pointer ?? ""}: ${issue.message}`);
    }
    failed ||= numErrors + numWarnings + numInfos + numHints > 0;
}
process.exit(failed ? 1 : 0);
