// What holds nodes: number, name, glyph and pattern. Colour is never the only cue.

export const KINDS = [
  null,
  { name: 'owner’s own task', short: 'owner', css: '--local', glyph: 'O', pattern: 'rows' },
  { name: 'not offered', short: 'not offered', css: '--withheld', glyph: '–', pattern: 'slash' },
  { name: 'expected', short: 'expected', css: '--expected', glyph: '?', pattern: 'dots', cost: 'expected' },
  { name: 'booked', short: 'booked', css: '--booked', glyph: 'B', pattern: 'back', cost: 'at most' },
  { name: 'starting', more: ' (allocated, idle)', short: 'starting', css: '--starting', glyph: '›', pattern: 'bars', cost: 'at most' },
  { name: 'running', short: 'running', css: '--running', glyph: '▸', pattern: 'solid', cost: 'at most' },
  { name: 'completed', short: 'completed', css: '--done', glyph: '✓', pattern: 'specks', cost: 'in all' },
  { name: 'cancelled', short: 'cancelled', css: '--cancelled', glyph: '×', pattern: 'slash', cost: 'in all' },
  { name: 'failed', short: 'failed', css: '--failed', glyph: '!', pattern: 'cross', cost: 'in all' },
  { name: 'down', short: 'down', css: '--down', glyph: '✕', pattern: 'grid' },
  { name: 'lost its nodes', short: 'lost', css: '--setback', glyph: '↺', pattern: 'beams' },
  { name: 'at a peer', short: 'at a peer', css: '--away', glyph: '↗', pattern: 'plus' },
];

/** What must be seen however small it is. */
export const ALARMS = new Set([9, 10, 11]);
/** Kinds that are no job's. */
export const OF_OWNERS = new Set([1, 2, 10]);
/** The order of the legend: what one looks for first. */
const LEGEND = [6, 5, 3, 4, 7, 8, 9, 11, 12, 1, 2, 10];

/** Colours of the present theme: CSS text by kind, and the page's own. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    kinds: KINDS.map((kind) => (kind ? of(kind.css) : '')),
    paper: of('--paper'), panel: of('--panel'), ink: of('--ink'), soft: of('--soft'), line: of('--line'),
    accent: of('--accent'), edge: of('--edge'), bad: of('--bad'),
  };
}

function tile(colours, number) {
  const canvas = new OffscreenCanvas(8, 8);
  const pen = canvas.getContext('2d');
  pen.fillStyle = colours.kinds[number];
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = colours.edge;
  pen.fillStyle = colours.edge;
  // Large areas are down: they are seen, and what runs beside them is seen first.
  pen.globalAlpha = KINDS[number].pattern === 'grid' ? 0.25 : 0.55;
  pen.lineWidth = 1;
  const { pattern } = KINDS[number];
  const line = (x0, y0, x1, y1) => { pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke(); };
  if (pattern === 'slash' || pattern === 'cross') { line(0, 8, 8, 0); line(-1, 1, 1, -1); line(7, 9, 9, 7); }
  if (pattern === 'back' || pattern === 'cross') { line(0, 0, 8, 8); line(-1, 7, 1, 9); line(7, -1, 9, 1); }
  if (pattern === 'dots') { pen.fillRect(1, 1, 2, 2); pen.fillRect(5, 5, 2, 2); }
  if (pattern === 'bars') pen.fillRect(2, 0, 2, 8);
  if (pattern === 'beams') pen.fillRect(0, 2, 8, 3);
  if (pattern === 'specks') pen.fillRect(3, 3, 1, 1);
  if (pattern === 'rows' || pattern === 'grid') line(0, 4.5, 8, 4.5);
  if (pattern === 'grid') line(4.5, 0, 4.5, 8);
  if (pattern === 'plus') { line(4.5, 2, 4.5, 7); line(2, 4.5, 7, 4.5); }
  return canvas;
}

/** By kind: a repeating picture of its pattern, or null where it is solid. */
export function patterns(context, colours) {
  return KINDS.map((kind, number) => {
    if (!kind || kind.pattern === 'solid') return null;
    return context.createPattern(tile(colours, number), 'repeat');
  });
}

/** What was in view last; null: not known yet. */
let inView = null;

/** The legend, drawn as the canvas draws. */
export function legend(list, colours) {
  const items = LEGEND.map((number) => {
    const item = document.createElement('li');
    const mark = item.appendChild(document.createElement('canvas'));
    mark.width = 22;
    mark.height = 14;
    mark.setAttribute('aria-hidden', 'true');
    const pen = mark.getContext('2d');
    pen.fillStyle = pen.createPattern(tile(colours, number), 'repeat');
    pen.fillRect(0, 0, 22, 14);
    pen.strokeStyle = colours.edge;
    pen.strokeRect(0.5, 0.5, 21, 13);
    item.dataset.kind = number;
    item.append(`${KINDS[number].glyph} ${KINDS[number].name}${KINDS[number].more || ''}`);
    return item;
  });
  const quiet = document.createElement('li');
  quiet.textContent = 'pale: other users’ jobs';
  list.replaceChildren(...items, quiet);
  if (inView) thin(list, inView);
}

/** Marks what is not in view: where room is scarce, it is left out. */
export function thin(list, kinds) {
  inView = kinds;
  for (const item of list.querySelectorAll('[data-kind]')) item.classList.toggle('absent', !kinds.has(Number(item.dataset.kind)));
}

export function rgb(css) {
  const text = css.replace('#', '');
  const full = text.length === 3 ? [...text].map((it) => it + it).join('') : text;
  return [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16));
}
