// The viewer: a grid on the ground, which stays where it is while the picture follows the character.

/// A disc of squares at `height`. `size` is that of the character. `at(moved)` gives what a pane draws when the picture has followed by `moved`.
function makeGround(height, size) {
  const MOST = 16, INK = [0.16, 0.2, 0.26, 0.34];
  const power = 10 ** Math.floor(Math.log10(0.3 * size));
  const step = power * [5, 2, 1].find((f) => f * power <= 0.3 * size || f === 1);
  const radius = 1.1 * size;
  const count = Math.min(MOST, Math.floor(radius / step));
  const edges = Uint32Array.from({ length: 4 * (2 * count + 1) }, (_, i) => i);
  return {
    at: (moved) => {
      const points = [];
      for (const along of [0, 2]) {
        const across = 2 - along;
        for (let i = -count; i <= count; i++) {
          const x = i * step - (moved[across] - step * Math.round(moved[across] / step));
          const half = Math.sqrt(Math.max(0, radius * radius - x * x));
          for (const end of [-half, half]) points.push(along === 0 ? end : x, height, along === 0 ? x : end);
        }
      }
      const positions = new Float32Array(points);
      return { shape: { positions, normals: new Float32Array(positions.length), errors: null, missing: 0 }, edges, ink: INK };
    },
  };
}
