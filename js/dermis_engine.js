/**
 * The engine of Dermis in a browser, a worker or Node: files in, recipes, files out.
 *
 *     const engine = await Engine.open(await (await fetch("dermis_browser.wasm")).arrayBuffer());
 *     engine.put("body.npz", bytes);
 *     const outcome = engine.run({ fit: { … } });   // what `dermis run` takes
 *     const model = engine.take("body.dermis");
 *
 * `cargo xtask browser` builds the module. A recipe runs to its end within `run`, so a page runs the engine in a worker.
 */

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** Why a recipe stopped, in the words of Dermis; `remedy` says what to do about it, where there is something to say. The engine goes on. */
export class RecipeError extends Error {
  constructor({ text, remedy }) {
    super(text);
    this.name = "RecipeError";
    this.remedy = remedy;
  }
}

/** The module ended: a fault of Dermis, or more memory than it can have. Its files are gone; open another engine. */
export class EngineEnded extends Error {
  constructor(why) {
    super(why);
    this.name = "EngineEnded";
  }
}

export class Engine {
  #calls;
  #lastWords;
  #ended;
  #progress;
  #thrown;

  /**
   * Opens the engine.
   *
   * @param {BufferSource | WebAssembly.Module} wasm the module, or its bytes
   * @param {(step: string, fraction: number, left: string) => unknown} [progress] hears how far a recipe is, thousands of times in a fit: the
   *   step, the part of the whole that is done, and the time left, or nothing; what is true stops it
   */
  static async open(wasm, progress) {
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const engine = new Engine();
    const string = (at, length) => text.decode(new Uint8Array(engine.#calls.memory.buffer, at >>> 0, length >>> 0));
    const dermis = {
      now: () => performance.now(),
      // What is thrown must not pass through the module, which would not clean up: it stops the recipe first.
      progress: (at, length, leftAt, leftLength, fraction) => {
        try {
          return engine.#progress?.(string(at, length), fraction, string(leftAt, leftLength)) ? 1 : 0;
        } catch (error) {
          engine.#thrown = { error };
          return 1;
        }
      },
      panicked: (at, length) => { engine.#lastWords = string(at, length); },
    };
    engine.#progress = progress;
    // The library of archives can extract and encrypt them with random numbers of the host, which nobody asks of it. Nothing else is imported.
    const imports = {};
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      if (kind === "function") (imports[from] ??= {})[name] = () => { throw new Error(`${from}.${name} is not offered`); };
    }
    engine.#calls = (await WebAssembly.instantiate(module, { ...imports, dermis })).exports;
    engine.#calls.dermis_start();
    return engine;
  }

  /** Puts a file, in place of one of that name. */
  put(name, bytes) {
    const error = this.#answer(() => this.#calls.dermis_put(...this.#hand(utf8.encode(name)), ...this.#hand(bytes)));
    if (error.length) throw new Error(`"${name}": ${text.decode(error)}`);
  }

  /** Takes a file off the shelf; undefined if there is none of that name. */
  take(name) {
    return this.#answer(() => this.#calls.dermis_take(...this.#hand(utf8.encode(name))));
  }

  /** Names and lengths of all files. */
  files() {
    return JSON.parse(text.decode(this.#answer(() => this.#calls.dermis_files())));
  }

  /** Runs a recipe and returns its outcome, as `dermis run --json` prints it. */
  run(recipe) {
    const json = typeof recipe === "string" ? recipe : JSON.stringify(recipe);
    const answer = JSON.parse(text.decode(this.#answer(() => this.#calls.dermis_run(...this.#hand(utf8.encode(json))))));
    const thrown = this.#thrown;
    this.#thrown = undefined;
    if (thrown) throw thrown.error;
    if (answer.error) throw new RecipeError(answer.error);
    return answer.outcome;
  }

  /** Answers a question about a session: the bytes of facts and arrays, as `dermis_workflow::verbs::session::live` describes them. */
  live(question) {
    return this.#answer(() => this.#calls.dermis_live(...this.#hand(utf8.encode(JSON.stringify(question)))));
  }

  /** Bytes of memory that the engine has taken. They never become fewer: open another engine after a large fit. */
  get memory() {
    return this.#calls.memory.buffer.byteLength;
  }

  /** Copies bytes into the module, which takes them over. */
  #hand(source) {
    const bytes = ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
    const at = this.#calls.dermis_alloc(bytes.length) >>> 0;
    new Uint8Array(this.#calls.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  }

  /** Calls a function, and copies what it answers. */
  #answer(call) {
    if (this.#ended) throw this.#ended;
    try {
      const length = call();
      if (length === -1) return undefined;
      const at = this.#calls.dermis_given() >>> 0;
      return new Uint8Array(this.#calls.memory.buffer, at, length >>> 0).slice();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error;
      this.#ended = new EngineEnded(this.#lastWords ?? `this takes more memory than a browser gives (${error.message})`);
      throw this.#ended;
    }
  }
}
