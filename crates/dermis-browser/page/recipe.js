// Recipes of the page: what `dermis run` would take for the same files.

const MODEL = "results/model.dermis";
const REPORT = "results/report.html";

/** A refusal before anything is run, with what to do about it. */
class Lacking extends Error {
  constructor(text, remedy) {
    super(text);
    this.remedy = remedy;
  }
}

/** The fit of files with their roles: [{ name, role, at }], in the order of the page. With a bundle of painted `maps` it is multi-weight enveloping. */
function fitRecipe(files, { folds, alsoExamples, maps }) {
  const of = (role) => files.filter((file) => file.role === role);
  const rigs = of("rig");
  if (rigs.length !== 1) {
    const remedy = "give one file the role “rig”: a mesh with a skeleton and weights (GLB, FBX, USD or a bundle)";
    throw new Lacking(rigs.length ? `${rigs.length} files are rigs` : "no file is the rig", remedy);
  }
  const input = ({ name }) => ({ file: name });
  const sculpts = of("sculpt");
  const held = of("held");
  // Poses go before the skins that they belong to, as they stand in the list.
  const learnt = files.filter(({ role }) => role === "examples" || (role === "poses" && !sculpts.length));
  let examples;
  if (sculpts.length) {
    if (of("examples").length) throw new Lacking("sculpts and examples are not learnt together", "give one kind the role “not used”");
    const [poses] = [...of("poses"), ...rigs];
    const missing = sculpts.find(({ at }) => !at);
    if (missing) throw new Lacking(`${missing.name} has no pose`, "say in which frame of the motion it was sculpted");
    examples = { sculpts: { sculpts: sculpts.map(({ name, at }) => ({ file: name, at })), poses: input(poses) } };
  } else {
    const list = alsoExamples ? [...rigs, ...learnt] : learnt;
    if (!list.some(({ role }) => role === "examples" || role === "rig")) {
      throw new Lacking("no file is an example", "drop skins in poses: a bundle, a cache after its motion, a sequence, or sculpts");
    }
    examples = { held: list.map(input) };
  }
  const outputs = { model: MODEL, report: REPORT, existing: "replace" };
  const painted = maps ? { "map-table": { file: maps }, method: { mwe: { maps: "table" } } } : {};
  return { fit: { rig: input(rigs[0]), examples, "hold-out": held.map(input), ...painted, folds: held.length ? 0 : folds, outputs } };
}

/** What is saved beside the model and its report, made when it is asked for: a file name, and the form of the export. */
const EXPORTS = {
  "model.glb": { shapes: { driven: true } },
  "viewer.html": { viewer: {} },
};

/** The export of the model in a form. `motion` is a file that becomes the clip; without one there is none. */
function exportRecipe(name, motion) {
  const form = structuredClone(EXPORTS[name]);
  if (motion) Object.values(form)[0].motion = { file: motion };
  return { export: { model: { file: MODEL }, form, out: `results/${name}`, existing: "replace" } };
}
