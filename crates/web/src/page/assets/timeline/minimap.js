// The whole board in a strip: what is outside of the view, and where the view is.

import { ALARMS } from './kinds.js';
import { strip } from './data.js';

const HEIGHT = 34;

export class Minimap {
  /** `go` is called with the time and the row that are to be in the middle. */
  constructor(canvas, painter, go) {
    this.canvas = canvas;
    this.painter = painter;
    this.go = go;
    this.image = null;
    this.span = [0, 1];
    this.rows = 1;
    this.asked = 0;
    const move = (event) => {
      const box = canvas.getBoundingClientRect();
      const [from, until] = this.span;
      go(from + ((event.clientX - box.left) / box.width) * (until - from), ((event.clientY - box.top) / box.height) * this.rows);
    };
    canvas.addEventListener('pointerdown', (event) => { canvas.setPointerCapture(event.pointerId); move(event); });
    canvas.addEventListener('pointermove', (event) => { if (canvas.hasPointerCapture(event.pointerId)) move(event); });
  }

  /** Asks for the strip again: after the market's news. */
  async take(frame, choice) {
    const mine = ++this.asked;
    const slack = Math.max((frame.until - frame.from) * 0.02, 30);
    const span = [Math.floor(frame.from - slack), Math.ceil(Math.max(frame.until, frame.now) + slack)];
    if (!frame.rows) return;
    const found = await strip(span, frame.rows, [Math.max(this.canvas.clientWidth, 100), HEIGHT], choice).catch(() => null);
    if (!found || mine !== this.asked) return; // the timeline says what is wrong
    this.found = found;
    this.span = span;
    this.rows = frame.rows;
    this.image = null;
  }

  /** Drawn once for each strip, width and theme. */
  drawn(width) {
    const image = new OffscreenCanvas(width, HEIGHT);
    const pen = image.getContext('2d');
    const { colours } = this.painter;
    const [from, until] = this.span;
    const x = (time) => ((time - from) / (until - from)) * width;
    const y = (row) => (row / this.rows) * HEIGHT;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, HEIGHT);
    const { cells, rectangles } = this.found;
    if (cells) {
      pen.imageSmoothingEnabled = false;
      const [x0, x1] = [x(cells.from), x(cells.from + cells.step * cells.columns)];
      pen.drawImage(this.painter.coloured(cells), x0, 0, x1 - x0, HEIGHT);
      return image;
    }
    const kind = (at) => rectangles.table.kind[rectangles.task[at]] & 15;
    const order = [...rectangles.row.keys()].sort((a, b) => ALARMS.has(kind(a)) - ALARMS.has(kind(b)));
    for (const at of order) {
      const task = rectangles.task[at];
      const left = x(rectangles.table.start[task]);
      pen.fillStyle = colours.kinds[kind(at)];
      pen.fillRect(left, y(rectangles.row[at]), Math.max(x(rectangles.table.end[task]) - left, 1), Math.max(y(rectangles.count[at]), 1));
    }
    return image;
  }

  draw(camera, now) {
    const width = this.canvas.clientWidth;
    if (!this.found || !width) return;
    const ratio = window.devicePixelRatio || 1;
    const pen = this.canvas.getContext('2d');
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(HEIGHT * ratio);
      this.image = null;
    }
    if (!this.image || this.theme !== this.painter.colours) {
      this.image = this.drawn(width);
      this.theme = this.painter.colours;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.drawImage(this.image, 0, 0, width, HEIGHT);
    const [from, until] = this.span;
    const x = (time) => ((time - from) / (until - from)) * width;
    const { colours } = this.painter;
    const at = Math.round(x(now)) + 0.5;
    pen.strokeStyle = colours.bad;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(at, 0);
    pen.lineTo(at, HEIGHT);
    pen.stroke();
    // What is outside of the view is veiled; the view has an edge.
    const [left, right] = [x(camera.from), x(camera.until)].map((it) => Math.min(Math.max(it, 0), width));
    const [top, bottom] = [camera.top, camera.top + camera.rows].map((it) => Math.min(Math.max((it / this.rows) * HEIGHT, 0), HEIGHT));
    pen.fillStyle = colours.panel;
    pen.globalAlpha = 0.65;
    pen.fillRect(0, 0, left, HEIGHT);
    pen.fillRect(right, 0, width - right, HEIGHT);
    pen.fillRect(left, 0, right - left, top);
    pen.fillRect(left, bottom, right - left, HEIGHT - bottom);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    pen.strokeRect(Math.min(left + 1, width - 5), top + 1, Math.max(right - left - 2, 3), Math.max(bottom - top - 2, 3));
    this.canvas.dataset.view = `${Math.round(left)}..${Math.round(right)}`; // for tests
  }
}
