// What is asked of the server: the frame, and the part that is looked at with one part more on
// either side, so that a small move needs nothing new.

async function ask(path) {
  const answer = await fetch(path);
  if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
  return answer.json();
}

export const frame = () => ask('/page/board');

const MOST = 4096;

/** The picture for the camera, and for which part of the board it is good. */
export async function picture(camera) {
  const side = camera.span;
  const from = Math.floor(camera.from - side);
  const until = Math.ceil(camera.until + side);
  const first = Math.max(0, Math.floor(camera.top - camera.rows / 2));
  const last = Math.min(camera.total, Math.ceil(camera.top + camera.rows * 1.5));
  const rows = Math.max(last - first, 1);
  const columns = Math.min(MOST, Math.max(1, Math.round(camera.width * 3)));
  const lines = Math.min(MOST, Math.max(1, Math.round((camera.height * rows) / camera.rows)));
  const query = new URLSearchParams({ from, until, first, rows, columns, lines });
  const part = await ask(`/page/board/picture?${query}`);
  return { ...part, part: { from, until, first, rows, span: camera.span, scale: camera.rows } };
}

/** Whether the picture is still good for what the camera looks at. */
export function isGood(shown, camera) {
  if (!shown) return false;
  const { from, until, first, rows, span, scale } = shown.part;
  const last = first + rows;
  const inside = camera.from >= from && camera.until <= until
    && camera.top >= first && Math.min(camera.top + camera.rows, camera.total) <= last + 1e-6;
  return inside && camera.span > span / 1.5 && camera.span < span * 1.5
    && camera.rows > scale / 1.5 && camera.rows < scale * 1.5;
}
