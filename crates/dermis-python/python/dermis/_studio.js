// The page of `dermis studio` in a notebook: a frame with the page, and a way for it to the kernel, where the program is.
//
// To the kernel: {page: true}, which asks for the page; {connect: link}, {link, text}, {link} with bytes, {leave: link};
// {save: name, length}, then {saving: name} with bytes. From it: {page: text}, {link, open | text | closed}, {link} with bytes, {saved: text}.

/** The longest message of bytes: servers of notebooks refuse longer ones than 10 MB. */
const PIECE = 4 << 20;

function render({ model, el }) {
  const frame = document.createElement("iframe");
  // The page runs apart from the notebook: it sees nothing of it.
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.title = "Dermis studio";
  frame.style.cssText = `display:block;width:100%;height:${model.get("height")}px;border:1px solid #8884`;
  const told = document.createElement("div");
  told.setAttribute("role", "status");
  el.append(frame, told);

  /** The ports of the page's connections, by their names. */
  const ports = new Map();
  const say = (message, bytes = null) => model.send(message, undefined, bytes ? [bytes] : []);

  async function save(name, blob) {
    say({ save: name, length: blob.size });
    for (let at = 0; at < blob.size; at += PIECE) say({ saving: name }, await blob.slice(at, at + PIECE).arrayBuffer());
  }

  function fromPage({ source, data, ports: [port] }) {
    if (source !== frame.contentWindow) return;
    if (data?.save !== undefined) return save(String(data.save), data.blob);
    if (!data?.connect || !port) return;
    const link = `${Date.now()}-${Math.random()}`;
    ports.set(link, port);
    port.onmessage = ({ data }) => (typeof data === "string" ? say({ link, text: data }) : say({ link }, data));
    say({ connect: link });
  }

  function fromKernel(message, buffers) {
    if (message.page !== undefined) frame.srcdoc = message.page;
    if (message.saved !== undefined) told.textContent = message.saved;
    const port = ports.get(message.link);
    if (!port) return;
    if (message.open) port.postMessage({ open: true });
    else if (message.closed !== undefined) {
      port.postMessage({ closed: message.closed });
      ports.delete(message.link);
    } else if (message.text !== undefined) port.postMessage(message.text);
    else {
      const { buffer, byteOffset, byteLength } = buffers[0];
      port.postMessage(buffer.slice(byteOffset, byteOffset + byteLength));
    }
  }

  addEventListener("message", fromPage);
  model.on("msg:custom", fromKernel);
  say({ page: true });
  return () => {
    removeEventListener("message", fromPage);
    model.off("msg:custom", fromKernel);
    for (const link of ports.keys()) say({ leave: link });
  };
}

export default { render };
