// Methods are compared, each by an engine of its own where the page has several processors.

/** The methods, and what a person calls them. */
const METHODS = {
  joint: "joint model",
  "own-weights": "the rig's own weights",
  lbs: "linear blending, new weights",
  mwe: "multi-weight enveloping",
  psd: "pose space",
  "pose-blendshapes": "shapes driven by rotations",
};

/** More engines than this would take more memory than they save time. */
const MOST_ENGINES = 4;

/** The comparison of some methods on the files of a fit. */
function compareRecipe(files, alsoExamples, methods) {
  const { fit } = fitRecipe(files, { folds: 5, alsoExamples });
  if (!fit.examples.held) throw new Lacking("sculpts are not compared", "give whole skins the role “examples”");
  return { compare: { rig: fit.rig, examples: fit.examples.held, "hold-out": fit["hold-out"], ...(fit.folds ? { folds: fit.folds } : {}), methods } };
}

/**
 * Compares the methods; those that wait are taken up by the next engine that is free.
 *
 * @param {Desk[]} desks engines with the files
 * @param {(methods: string[]) => object} recipe
 * @param {(outcome: object) => void} heard hears the outcome of each
 */
async function compareOn(desks, recipe, heard, progress) {
  const waiting = Object.keys(METHODS);
  // An engine that has all processors takes all methods at once.
  const share = desks.length === 1 && desks[0].threads > 1 ? waiting.length : 1;
  const parts = desks.map(() => 0);
  const whole = Math.ceil(waiting.length / share);
  let done = 0;
  await Promise.all(desks.map(async (desk, at) => {
    while (waiting.length) {
      const methods = waiting.splice(0, share);
      const tell = (step, part) => {
        parts[at] = part;
        progress(`${methods.map((method) => METHODS[method]).join(", ")}: ${step}`, (done + parts.reduce((sum, one) => sum + one, 0)) / whole, "");
      };
      const { outcome } = await desk.run(recipe(methods), tell);
      parts[at] = 0;
      done += 1;
      heard(outcome);
    }
  }));
}

/** Rows of a table: the best first. `outcomes` are those of single methods or of several. */
function comparedRows(outcomes) {
  const rows = outcomes.flatMap(({ rows }) => rows);
  const own = rows.find(({ method }) => method === "own-weights");
  const rms = (row) => (row.held_out ?? row.cross_validated ?? {}).rms ?? NaN;
  return rows.map((row) => ({ ...row, rms: rms(row), ratio: own ? rms(row) / rms(own) : NaN })).sort((a, b) => a.rms - b.rms);
}
