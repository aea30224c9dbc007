// The engine of `dermis studio` in the place of a worker: the program serves this page, and one WebSocket joins them as long as the page is
// open. In a notebook, whose widget holds the page in a frame, the notebook passes on what they say.
//
// A message is a text, JSON, with the lengths of its byte strings in `parts`. In it a byte string stands as {"$bytes": its number}; the bytes
// follow, in frames that belong to one string each. A stopped worker is the text {"stop": true}: the program ends what runs.

/** What can be used as a Worker is. */
class Socket {
  /** The connection, when it is open. */
  static #link = null;
  /** The last that was made: what the program says is for it. */
  static #last = null;
  /** A message whose bytes are still under way: its text, its byte strings, and how much of the first that is not full is there. */
  static #under = null;

  onmessage = null;
  onerror = null;

  constructor() {
    Socket.#last = this;
    Socket.#link ??= Socket.#connect();
  }

  postMessage(message) {
    const parts = [];
    const text = JSON.stringify(message, (_, value) => {
      if (value instanceof ArrayBuffer) parts.push(new Uint8Array(value));
      else if (ArrayBuffer.isView(value)) parts.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
      else return value;
      return { $bytes: parts.length - 1 };
    });
    const whole = parts.length ? `${text.slice(0, -1)},"parts":${JSON.stringify(parts.map(({ length }) => length))}}` : text;
    Socket.#link?.then((link) => {
      link.send(whole);
      for (const part of parts) {
        for (let at = 0; at < part.length; at += FRAME) link.send(part.subarray(at, at + FRAME));
      }
    }, (error) => this.onerror?.(error));
  }

  terminate() {
    if (Socket.#last === this) Socket.#last = null;
    Socket.#link?.then((link) => link.send(JSON.stringify({ stop: true })), () => {});
  }

  /** Connects; a program that begins anew after a fault is waited for. */
  static async #connect() {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const link = await Socket.#open();
      if (link) return link;
      await new Promise((done) => { setTimeout(done, 250); });
    }
    Socket.#link = null;
    throw new Error("The program has ended. Start dermis studio again.");
  }

  static #open() {
    return new Promise((done) => {
      const link = isFramed() ? new Relay() : new WebSocket(`ws://${location.host}/${location.search}`);
      link.binaryType = "arraybuffer";
      let isOpen = false;
      link.onopen = () => {
        isOpen = true;
        done(link);
      };
      link.onmessage = ({ data }) => Socket.#hear(data);
      link.onclose = ({ reason }) => {
        if (!isOpen) return done(null);
        Socket.#under = null;
        // A program that gives no reason did not mean to go; one that gives a reason wants no other try.
        Socket.#link = reason ? null : Socket.#connect();
        Socket.#link?.catch(() => {});
        Socket.#last?.onerror?.({ message: reason || "The program did not go on. Try again." });
      };
    });
  }

  static #hear(data) {
    if (typeof data === "string") Socket.#under = { text: data, parts: (JSON.parse(data).parts ?? []).map((length) => new Uint8Array(length)), at: 0, filled: 0 };
    const under = Socket.#under;
    if (typeof data !== "string") {
      under.parts[under.at].set(new Uint8Array(data), under.filled);
      under.filled += data.byteLength;
    }
    while (under.at < under.parts.length && under.filled === under.parts[under.at].length) {
      under.at += 1;
      under.filled = 0;
    }
    if (under.at < under.parts.length) return;
    Socket.#under = null;
    const message = JSON.parse(under.text, (_, value) => (Number.isInteger(value?.$bytes) ? under.parts[value.$bytes] : value));
    Socket.#last?.onmessage?.({ data: message });
  }
}

/** Whether the page is in a frame of a notebook. */
function isFramed() {
  return parent !== window;
}

/** A connection through the notebook around the page. It is used as a WebSocket is. */
class Relay {
  onopen = null;
  onmessage = null;
  onclose = null;
  #port;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }) => {
      if (data.open) this.onopen?.();
      else if (data.closed !== undefined) this.onclose?.({ reason: data.closed });
      else this.onmessage?.({ data });
    };
    parent.postMessage({ connect: true }, "*", [port2]);
  }

  send(data) {
    if (typeof data === "string") return this.#port.postMessage(data);
    const { buffer } = data.slice(); // a part of a buffer would take all of it along
    this.#port.postMessage(buffer, [buffer]);
  }
}

/** The longest frame of bytes, far below what the program takes. */
const FRAME = 4 << 20;
/** How often a connection is tried: five seconds. */
const TRIES = 20;
