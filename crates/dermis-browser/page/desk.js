// The files that a person dropped, and the engine that works on them. The page keeps the files, so that an engine that was stopped, or that
// ended, is opened again without a loss.

class Desk {
  /** Files by the names that recipes have for them. */
  #files = new Map();
  /** Names of files that the engine has without the page. */
  #named = null;
  #make;
  #opening;
  #worker = null;
  #waiting = new Map();
  #next = 1;
  #heard = null;

  /** Threads of the engine. */
  threads = 1;

  /**
   * @param {() => Worker | Socket} make makes what the engine is in
   * @param {ArrayBuffer | null} opening what opens it: the module
   */
  constructor(make, opening) {
    this.#make = make;
    this.#opening = opening;
  }

  /** Names of the files. */
  get names() {
    return [...new Set([...this.#named ?? [], ...this.#files.keys()])];
  }

  /** Another engine with the same files. */
  fork() {
    const desk = new Desk(this.#make, this.#opening);
    desk.#files = new Map(this.#files);
    return desk;
  }

  /** Adds files; one of the same name is replaced. Result: their names. */
  async add(files) {
    const put = [...files].map((file) => [nameOf(file), file]);
    const bytes = await Promise.all(put.map(async ([name, file]) => [name, await file.arrayBuffer()]));
    await this.#ask({ put: bytes }, bytes.map(([, buffer]) => buffer));
    put.forEach(([name, file]) => this.#files.set(name, file));
    return put.map(([name]) => name);
  }

  /** Keeps what a recipe wrote, for this engine and for one that is opened later. */
  async keep(name, bytes) {
    this.#files.set(name, new Blob([bytes]));
    await this.#ask({ put: [[name, bytes]] });
  }

  /** Takes a file away. */
  async remove(name) {
    this.#files.delete(name);
    this.#named?.delete(name);
    if (this.#worker) await this.#ask({ take: name });
  }

  /** Runs a recipe; `heard` hears the step, the part of the whole that is done, and the time left. Result: outcome, seconds, bytes of memory. */
  async run(recipe, heard = null) {
    this.#heard = heard;
    try {
      return await this.#ask({ run: recipe });
    } finally {
      this.#heard = null;
    }
  }

  /** Takes what a recipe wrote. */
  async take(name) {
    return this.#ask({ take: name });
  }

  /** Asks about a session that the engine has open. Result: its facts, and its arrays by their names. */
  async live(question) {
    const told = readTold(await this.#ask({ live: question }));
    if (told.facts?.error) throw Object.assign(new Error(told.facts.error.text), { remedy: told.facts.error.remedy });
    return told;
  }

  /** Keeps what a recipe wrote below a folder, as `keep` does. Files there are named by what they hold, but for those of JSON. */
  async keepFolder(folder) {
    const there = (await this.#ask({ files: true })).filter(([name]) => name.startsWith(`${folder}/`));
    for (const [name] of there) if (!this.#files.has(name) || name.endsWith(".json")) await this.keep(name, await this.take(name));
  }

  /** The files below a folder: [[name, bytes], …]. */
  async folder(folder) {
    const own = [...this.#files].filter(([name]) => name.startsWith(`${folder}/`));
    return Promise.all(own.map(async ([name, file]) => [name, new Uint8Array(await file.arrayBuffer())]));
  }

  /** Ends what runs. Recipes that are waited for fail with `Stopped`. */
  stop() {
    this.#end(new Stopped());
  }

  #end(why) {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    waiting.forEach(({ fail }) => fail(why));
  }

  /** Opens the engine with the files, unless it is open. */
  async open() {
    if (this.#worker) return;
    const worker = this.#make();
    this.#worker = worker;
    worker.onmessage = ({ data }) => this.#hear(data);
    worker.onerror = ({ message }) => this.#end(new Error(message || "the worker ended"));
    const told = await this.#send({ open: this.#opening });
    this.#named ??= new Set(told?.named);
    this.threads = told?.threads ?? 1;
    const files = await Promise.all([...this.#files].map(async ([name, file]) => [name, await file.arrayBuffer()]));
    // Recipes write below a folder that is there, so that no result has the name of an input.
    files.push(["results/.here", new ArrayBuffer(0)]);
    await this.#send({ put: files }, files.map(([, buffer]) => buffer));
  }

  async #ask(job, hand = []) {
    await this.open();
    return this.#send(job, hand);
  }

  #send(job, hand = []) {
    const id = this.#next++;
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail });
      this.#worker.postMessage({ id, ...job }, hand);
    });
  }

  #hear({ id, done, failed, step, fraction, left }) {
    if (id === undefined) return this.#heard?.(step, fraction, left);
    const { done: finish, fail } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    if (!failed) return finish?.(done);
    const error = Object.assign(new Error(failed.text), { remedy: failed.remedy });
    fail?.(error);
    if (failed.ended) this.#end(error);
  }
}

/** What the engine told: facts, and arrays of numbers behind them. */
function readTold(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const { facts, arrays } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const told = { facts };
  let at = bytes.byteOffset + 4 + length;
  for (const { name, kind, count } of arrays) {
    told[name] = kind === "f32" ? new Float32Array(bytes.buffer, at, count) : new Uint32Array(bytes.buffer, at, count);
    at += 4 * count;
  }
  return told;
}

/** A recipe was stopped by the person. */
class Stopped extends Error {
  constructor() {
    super("stopped");
    this.name = "Stopped";
  }
}

/** What a recipe calls a dropped file: its path below the folder that was dropped, else its name. */
function nameOf(file) {
  return (file.path ?? file.webkitRelativePath ?? "") || file.name;
}
