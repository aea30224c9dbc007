// The 3D view: the same panes drawn without WebGL.

/// Depth-buffered triangles with colours interpolated between vertices, on a plain 2D canvas.
function softwareRenderer(canvas) {
  const context = canvas.getContext("2d");
  if (!context) return null;
  const drawPane = (pane, top, image, depth) => {
    const { positions, normals, errors, tints, triangles } = pane.shape;
    const [m, r, width, height] = [pane.clip, pane.rotation, pane.width, image.height];
    const count = positions.length / 3;
    const onScreen = (positions) => {
      const screen = new Float32Array(positions.length);
      for (let v = 0; v < positions.length; v += 3) {
        const [x, y, z] = [positions[v], positions[v + 1], positions[v + 2]];
        const w = m[3] * x + m[7] * y + m[11] * z + m[15];
        screen[v] = w > 0 ? pane.x + (0.5 + (0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12])) / w) * width : NaN;
        screen[v + 1] = (0.5 - (0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13])) / w) * height;
        screen[v + 2] = (m[2] * x + m[6] * y + m[10] * z + m[14]) / w;
      }
      return screen;
    };
    const screen = onScreen(positions), colour = new Float32Array(3 * count);
    for (let v = 0; v < count; v++) {
      const [a, b, c] = [normals[3 * v], normals[3 * v + 1], normals[3 * v + 2]];
      let light = brightness(r[0] * a + r[1] * b + r[2] * c, r[3] * a + r[4] * b + r[5] * c, r[6] * a + r[7] * b + r[8] * c);
      let base = CLAY;
      if (pane.coloured) {
        base = tints ? tints.subarray(3 * v, 3 * v + 3) : !Number.isFinite(errors[v]) ? NOT_FINITE : magma(errors[v] / top);
        light = 0.25 + 0.75 * light;
      }
      for (let i = 0; i < 3; i++) colour[3 * v + i] = 255 * base[i] * light;
    }
    for (let t = 0; t < triangles.length; t += 3) {
      const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
      const [ax, ay, bx, by, cx, cy] = [screen[a], screen[a + 1], screen[b], screen[b + 1], screen[c], screen[c + 1]];
      const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
      if (!area) continue; // seen edge on; NaN fails the loops below
      const shade = area < 0 ? 1 : 0.6; // screen y points down: the front is clockwise
      const y0 = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5)), y1 = Math.min(height - 1, Math.floor(Math.max(ay, by, cy) - 0.5));
      const x0 = Math.max(pane.from, Math.ceil(Math.min(ax, bx, cx) - 0.5)), x1 = Math.min(pane.to - 1, Math.floor(Math.max(ax, bx, cx) - 0.5));
      for (let y = y0; y <= y1; y++) {
        for (let x = x0; x <= x1; x++) {
          const px = x + 0.5, py = y + 0.5;
          const wa = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area;
          const wb = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area;
          const wc = 1 - wa - wb;
          if (wa < -1e-6 || wb < -1e-6 || wc < -1e-6) continue;
          const z = wa * screen[a + 2] + wb * screen[b + 2] + wc * screen[c + 2];
          const at = y * image.width + x;
          if (!(z < depth[at]) || z < -1) continue;
          depth[at] = z;
          for (let i = 0; i < 3; i++) image.data[4 * at + i] = shade * (wa * colour[a + i] + wb * colour[b + i] + wc * colour[c + i]);
          image.data[4 * at + 3] = 255;
        }
      }
    }
    if (pane.wire) drawEdges(pane, edgesOf(triangles), WIRE, screen, image, depth);
    for (const [edges, ink] of pane.strokes ?? []) drawEdges(pane, edges, ink, screen, image, depth);
    if (pane.ground) drawEdges(pane, pane.ground.edges, pane.ground.ink, onScreen(pane.ground.shape.positions), image, depth);
  };
  /// Edges a little in front of the triangles that they bound; `ink` is colour and opacity.
  const drawEdges = (pane, edges, ink, screen, image, depth) => {
    for (let e = 0; e < edges.length; e += 2) {
      const [a, b] = [3 * edges[e], 3 * edges[e + 1]];
      const [dx, dy, dz] = [0, 1, 2].map((i) => screen[b + i] - screen[a + i]);
      const steps = Math.ceil(Math.max(Math.abs(dx), Math.abs(dy)));
      if (!(steps < 4 * (image.width + image.height))) continue;
      for (let i = 0; i <= steps; i++) {
        const t = steps ? i / steps : 0;
        const x = Math.floor(screen[a] + t * dx), y = Math.floor(screen[a + 1] + t * dy);
        if (x < pane.from || x >= pane.to || y < 0 || y >= image.height) continue;
        const at = y * image.width + x;
        if (!(screen[a + 2] + t * dz < depth[at] + 2e-5)) continue;
        // Over nothing, a line is as transparent as its ink.
        const under = image.data[4 * at + 3] / 255, alpha = ink[3] + (1 - ink[3]) * under;
        for (let c = 0; c < 3; c++) image.data[4 * at + c] = ((1 - ink[3]) * under * image.data[4 * at + c] + 255 * ink[3] * ink[c]) / alpha;
        image.data[4 * at + 3] = 255 * alpha;
      }
    }
  };
  return {
    name: "software",
    textures: false,
    ratio: () => 1,
    restored: () => {},
    forget: () => {},
    draw: (panes, top) => {
      const image = context.createImageData(canvas.width, canvas.height);
      const depth = new Float32Array(canvas.width * canvas.height).fill(1);
      for (const pane of panes) drawPane(pane, top, image, depth);
      context.putImageData(image, 0, 0);
    },
  };
}
