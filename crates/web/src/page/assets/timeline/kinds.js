// What holds nodes: number, name, glyph and pattern. Colour is never the only cue.

export const KINDS = [
  null,
  { name: 'owner’s own load', short: 'owner', css: '--local', glyph: 'O', pattern: 'solid', dark: true },
  { name: 'not offered', short: 'not offered', css: '--withheld', glyph: '–', pattern: 'slash' },
  { name: 'expected', short: 'expected', css: '--expected', glyph: '?', pattern: 'dots' },
  { name: 'booked', short: 'booked', css: '--booked', glyph: 'B', pattern: 'back' },
  { name: 'starting', short: 'starting', css: '--starting', glyph: '›', pattern: 'solid' },
  { name: 'running', short: 'running', css: '--running', glyph: '▸', pattern: 'solid', dark: true },
  { name: 'completed', short: 'completed', css: '--done', glyph: '✓', pattern: 'solid', dark: true },
  { name: 'cancelled', short: 'cancelled', css: '--cancelled', glyph: '×', pattern: 'slash' },
  { name: 'failed', short: 'failed', css: '--failed', glyph: '!', pattern: 'cross' },
  { name: 'down', short: 'down', css: '--down', glyph: '✕', pattern: 'cross', dark: true },
];

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

/** A repeating picture of the kind's pattern, or null where it is solid. */
export function patterns(context, colours) {
  return KINDS.map((kind, number) => {
    if (!kind || kind.pattern === 'solid') return null;
    const tile = new OffscreenCanvas(8, 8);
    const pen = tile.getContext('2d');
    pen.fillStyle = colours.kinds[number];
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = colours.edge;
    pen.fillStyle = colours.edge;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1;
    const line = (x0, y0, x1, y1) => { pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke(); };
    if (kind.pattern === 'slash' || kind.pattern === 'cross') { line(0, 8, 8, 0); line(-1, 1, 1, -1); line(7, 9, 9, 7); }
    if (kind.pattern === 'back' || kind.pattern === 'cross') { line(0, 0, 8, 8); line(-1, 7, 1, 9); line(7, -1, 9, 1); }
    if (kind.pattern === 'dots') { pen.fillRect(1, 1, 2, 2); pen.fillRect(5, 5, 2, 2); }
    return context.createPattern(tile, 'repeat');
  });
}

export function rgb(css) {
  const text = css.replace('#', '');
  const full = text.length === 3 ? [...text].map((it) => it + it).join('') : text;
  return [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16));
}
