// Prints the weights of every pose: node js/test/weights.mjs TABLE.json POSES.json
import { readFileSync } from "node:fs";
import { Drivers } from "../dermis.js";

const [table, { poses }] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")));
const drivers = new Drivers(table);
const rows = poses.map(({ matrices, channels }) => [...drivers.weights((bone) => matrices[bone], channels)]);
console.log(JSON.stringify(rows));
