// The engine in a worker: one job at a time, and a file stays until it is dropped. A job is stopped by ending the worker.
//
// In: {id, open: bytes of the module} | {id, put: [[name, bytes], …]} | {id, run: recipe} | {id, take: name} |
//     {id, live: question} | {id, files: true}.
// Out: {id, done} | {id, failed: {text, remedy, ended}}; meanwhile {step, fraction, left}.

let engine;
let told = { step: "", at: 0 };

/** Tells the page how far a recipe is, at most twenty times a second. */
function tell(step, fraction, left) {
  const now = performance.now();
  if (step === told.step && now - told.at < 50) return;
  told = { step, at: now };
  postMessage({ step, fraction, left });
}

const jobs = {
  open: async (wasm) => {
    try {
      engine = await Engine.open(wasm, tell);
    } catch (error) {
      if (!/Content Security Policy|unsafe-eval/i.test(error.message)) throw error;
      const remedy = "Save the page and open the file, or ask the host to allow 'wasm-unsafe-eval' for scripts.";
      throw Object.assign(new Error("The host of this page forbids WebAssembly."), { remedy });
    }
  },
  put: (files) => files.forEach(([name, bytes]) => engine.put(name, bytes)),
  run: (recipe) => {
    const start = performance.now();
    const outcome = engine.run(recipe);
    return { outcome, seconds: (performance.now() - start) / 1e3, memory: engine.memory };
  },
  take: (name) => engine.take(name),
  live: (question) => engine.live(question),
  files: () => engine.files(),
};

onmessage = async ({ data: { id, ...job } }) => {
  const [kind, given] = Object.entries(job)[0];
  try {
    const done = await jobs[kind](given);
    postMessage({ id, done }, done?.buffer ? [done.buffer] : []);
  } catch (error) {
    postMessage({ id, failed: { text: String(error.message ?? error), remedy: error.remedy, ended: error instanceof EngineEnded } });
  }
};
