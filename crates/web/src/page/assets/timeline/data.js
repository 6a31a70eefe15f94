// What is asked of the server: the frame, the part that is looked at with one part more on either
// side (so that a small move needs nothing new), what is in a place, and where there is room.

/** Milliseconds. */
const PATIENCE = 15_000;

async function ask(path, query) {
  const answer = await fetch(`/page/board${path}?${new URLSearchParams(query)}`, { signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
  return answer;
}

export const frame = async (choice) => (await ask('', choice)).json();

const MOST = 4096;

/** The picture of all rows in a span of time, as fine as pixels say. */
export async function strip([from, until], rows, [columns, lines], choice) {
  return decoded(await ask('/picture', { from, until, first: 0, rows, columns: Math.min(MOST, columns), lines, ...choice }));
}

/** A line of JSON, and the cells' bytes behind it. */
async function decoded(answer) {
  const body = new Uint8Array(await answer.arrayBuffer());
  const end = body.indexOf(10);
  const part = JSON.parse(new TextDecoder().decode(body.subarray(0, end)));
  if (part.cells) part.cells.bytes = body.subarray(end + 1);
  return part;
}

/** The picture for the camera, and for which part of the board it is good. */
export async function picture(camera, choice) {
  const side = camera.span;
  const from = Math.floor(camera.from - side);
  const until = Math.ceil(camera.until + side);
  const first = Math.max(0, Math.floor(camera.top - camera.rows / 2));
  const last = Math.min(camera.total, Math.ceil(camera.top + camera.rows * 1.5));
  const rows = Math.max(last - first, 1);
  const columns = Math.min(MOST, Math.max(1, Math.round(camera.width * 3)));
  const lines = Math.min(MOST, Math.max(1, Math.round((camera.height * rows) / camera.rows)));
  const part = await decoded(await ask('/picture', { from, until, first, rows, columns, lines, ...choice }));
  return { ...part, part: { from, until, first, rows, span: camera.span, scale: camera.rows } };
}

/** What is in these rows and this time, and at most so many of the tasks. */
export async function digest({ from, until, first, rows }, most, choice) {
  const answer = await ask('/digest', { from: Math.floor(from), until: Math.max(Math.ceil(until), Math.floor(from) + 1), first, rows, most, ...choice });
  return answer.json();
}

/** Free rows for each window: `{lane, nodes, start, end}`. */
export async function places(windows, choice) {
  const text = windows.map((it) => `${it.lane}:${it.nodes}:${it.start}:${it.end}`).join(',');
  return (await (await ask('/places', { windows: text, ...choice })).json()).places;
}

/** Whether the picture has all that the camera looks at, and not much coarser. */
export function covers(shown, camera) {
  if (!shown) return false;
  const { from, until, first, rows, span, scale } = shown.part;
  return camera.from >= from && camera.until <= until && camera.span > span / 6 && camera.rows > scale / 6
    && camera.top >= first && Math.min(camera.top + camera.rows, camera.total) <= first + rows + 1e-6;
}

/** Whether it is as fine as what the camera looks at. */
export function isSharp(shown, camera) {
  const { span, scale } = shown.part;
  return camera.span > span / 1.5 && camera.span < span * 1.5 && camera.rows > scale / 1.5 && camera.rows < scale * 1.5;
}

/** The cell at a time and a row, if something is in it. */
export function cellAt(shown, time, row) {
  const cells = shown && shown.cells;
  if (!cells) return null;
  const { first, rows } = shown.part;
  const column = Math.floor((time - cells.from) / cells.step);
  const group = Math.floor(((row - first) / rows) * cells.groups);
  if (column < 0 || column >= cells.columns || group < 0 || group >= cells.groups) return null;
  if (!cells.bytes[group * cells.columns + column]) return null;
  const edge = (at) => first + Math.floor((rows * at) / cells.groups);
  const from = cells.from + column * cells.step;
  return { from, until: from + cells.step, first: edge(group), rows: edge(group + 1) - edge(group) };
}
