// Which part of the board is looked at: a span of time and a span of rows. It stands in the
// address, so that a view can be shared.

const MIN_SPAN = 10;
const MAX_SPAN = 10 * 365 * 86400;

export class Camera {
  constructor() {
    this.from = 0;
    this.until = 1;
    this.top = 0;
    this.rows = 1;
    this.width = 1;
    this.height = 1;
    this.total = 1;
  }

  get span() { return this.until - this.from; }
  x(time) { return ((time - this.from) / this.span) * this.width; }
  time(x) { return this.from + (x / this.width) * this.span; }
  y(row) { return ((row - this.top) / this.rows) * this.height; }
  row(y) { return this.top + (y / this.height) * this.rows; }
  get rowHeight() { return this.height / this.rows; }

  look(from, until) {
    const span = Math.min(Math.max(until - from, MIN_SPAN), MAX_SPAN);
    const middle = (from + until) / 2;
    this.from = middle - span / 2;
    this.until = middle + span / 2;
  }

  /** All rows: as thin as that makes them, for zooming out hides nothing. */
  fitRows(total) {
    this.total = Math.max(total, 1);
    this.rows = this.total;
    this.top = 0;
  }

  pan(dx, dy) {
    const time = (dx / this.width) * this.span;
    this.from -= time;
    this.until -= time;
    this.top -= (dy / this.height) * this.rows;
    this.clamp();
  }

  /** Times as far away by `factor`; what is under x stays there. */
  zoom(factor, x = this.width / 2) {
    const at = this.time(x);
    const span = Math.min(Math.max(this.span * factor, MIN_SPAN), MAX_SPAN);
    const part = (at - this.from) / this.span;
    this.from = at - part * span;
    this.until = this.from + span;
  }

  zoomRows(factor, y = this.height / 2) {
    const at = this.row(y);
    const part = (at - this.top) / this.rows;
    this.rows = Math.min(Math.max(this.rows * factor, Math.min(4, this.total)), this.total);
    this.top = at - part * this.rows;
    this.clamp();
  }

  clamp() {
    this.top = Math.min(Math.max(this.top, 0), Math.max(this.total - this.rows, 0));
  }

  /** The view as the address has it. */
  told() {
    const times = `${Math.round(this.from)}..${Math.round(this.until)}`;
    const rows = this.rows < this.total ? `${this.top.toFixed(1)}+${this.rows.toFixed(1)}` : null;
    return { t: times, rows };
  }

  /** Whether the address says where to look. */
  fromAddress() {
    const search = new URL(location.href).searchParams;
    const rows = /^(\d+(?:\.\d+)?)\+(\d+(?:\.\d+)?)$/.exec(search.get('rows') || '');
    if (rows) {
      this.rows = Math.min(Math.max(Number(rows[2]), 1), this.total);
      this.top = Number(rows[1]);
      this.clamp();
    }
    const times = /^(-?\d+)\.\.(-?\d+)$/.exec(search.get('t') || '');
    if (!times || Number(times[1]) >= Number(times[2])) return false;
    this.look(Number(times[1]), Number(times[2]));
    return true;
  }
}

/** Puts what is looked at into the address; what is as usual is left out. */
export function address(parts) {
  const usual = { order: 'site', whose: 'all' };
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(parts)) {
    if (value && value !== usual[name]) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  if (url.href !== location.href) history.replaceState(null, '', url);
}
