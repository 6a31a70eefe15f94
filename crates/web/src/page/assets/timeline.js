// The timeline: who has which node when.

import { told } from './shell.js';
import { KINDS } from './timeline/kinds.js';
import { Camera } from './timeline/camera.js';
import { frame as askFrame, picture as askPicture, isGood } from './timeline/data.js';
import { AXIS, Painter } from './timeline/draw.js';
import { hands } from './timeline/hand.js';

const stage = document.getElementById('stage');
if (stage) start(stage);

function start(surface) {
  const get = (name) => document.getElementById(name);
  const camera = new Camera();
  const painter = new Painter(get('tasks'), get('moving'));
  const [lanes, tip, said, table] = [get('lanes'), get('tip'), get('said'), get('mirror')];
  let frame = { pools: [], rows: 0, now: Number(document.body.dataset.now), from: 0, until: 0 };
  let shown = null;
  let asked = 0;
  let hovered = -1;
  let chosen = -1;
  let drawn = 0;
  let fallBacks = [];
  let clock = { at: Date.now(), now: frame.now };

  const present = () => clock.now + (Date.now() - clock.at) / 1000;
  const height = () => Math.min(Math.max(frame.rows * 22, 120), Math.max(window.innerHeight - 260, 240));

  function fit() {
    const width = Math.max(surface.clientWidth, 100);
    const tall = height();
    if (camera.width !== width || camera.height !== tall) {
      camera.width = width;
      camera.height = tall;
      surface.style.height = `${tall + AXIS}px`;
      painter.size(width, tall);
    }
  }

  function soon() {
    if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; draw(); });
  }

  function draw() {
    fit();
    painter.tasks(camera, shown, frame);
    painter.moving(camera, present(), marks());
    labels();
    if (!isGood(shown, camera)) want();
  }

  const all = () => shown && shown.rectangles;
  const rectangle = (at, strong) => ({ row: all().row[at], count: all().count[at], start: all().start[at], end: all().end[at], strong });

  /** All pieces of the job under the hand, and what was chosen. */
  function marks() {
    if (!all()) return [];
    const found = [];
    const job = hovered >= 0 ? all().job[hovered] : 0;
    if (hovered >= 0) found.push(rectangle(hovered, false));
    if (job) all().job.forEach((it, at) => { if (it === job && at !== hovered) found.push(rectangle(at, false)); });
    if (chosen >= 0 && chosen < all().row.length) found.push(rectangle(chosen, true));
    return found.concat(fallBacks);
  }

  /** Where a job that waits could run as well: its own pool's first rows stand for any of them. */
  async function askFallBacks(job) {
    fallBacks = [];
    try {
      const answer = await fetch(`/v1/jobs/${job}/explain`);
      const told = answer.ok ? await answer.json() : { fall_backs: [] };
      fallBacks = told.fall_backs.flatMap((offer) => offer.nodes.map((nodes) => {
        const pool = frame.pools.find((it) => it.name === nodes.pool);
        return { row: pool ? pool.first : 0, count: nodes.nodes, start: offer.start, end: nodes.end, dashed: true };
      }));
      if (fallBacks.length) get('chosen').textContent += `, ${told.fall_backs.length} other windows`;
    } catch { /* without them, the job's page tells */ }
    soon();
  }

  /** The job that the address names. */
  function choosePart(job) {
    chosen = all() ? all().job.indexOf(job) : -1;
    if (chosen < 0) return;
    hint(chosen);
    if ((all().kind[chosen] & 15) === 3) askFallBacks(job);
  }

  let timer = 0;
  function want() {
    if (!timer) timer = setTimeout(() => { timer = 0; load(); }, 80);
  }

  async function load() {
    const mine = ++asked;
    try {
      const fresh = await askPicture(camera);
      if (mine !== asked) return;
      shown = fresh;
      hovered = -1;
      clock = { at: Date.now(), now: fresh.now };
      tell();
      soon();
    } catch (wrong) {
      said.textContent = `The market is not reached (${wrong.message}); what is shown is from ${told(clock.now)}.`;
    }
  }

  async function reload() {
    try {
      const fresh = await askFrame();
      const first = frame.rows !== fresh.rows;
      frame = fresh;
      clock = { at: Date.now(), now: fresh.now };
      if (first) { camera.fitRows(frame.rows); fit(); camera.fromAddress(); }
      await load();
    } catch (wrong) {
      said.textContent = `The market is not reached (${wrong.message}).`;
    }
  }

  function labels() {
    const tall = camera.rowHeight;
    const parts = [];
    for (const pool of frame.pools) {
      const top = camera.y(pool.first);
      const bottom = camera.y(pool.first + pool.nodes);
      if (bottom < 0 || top > camera.height) continue;
      parts.push({ y: Math.max(top, 0), text: pool.name, strong: true });
    }
    const names = shown && tall >= 15 && shown.names.length ? shown.names : [];
    names.forEach((name, at) => {
      const row = shown.part.first + at;
      const y = camera.y(row);
      const first = frame.pools.some((pool) => pool.first === row);
      if (y >= 0 && y < camera.height && !(first && tall < 30)) parts.push({ y: first ? y + 14 : y, text: name, strong: false });
    });
    lanes.replaceChildren(...parts.map(({ y, text, strong }) => {
      const label = document.createElement(strong ? 'strong' : 'span');
      label.textContent = text;
      label.style.setProperty('top', `${AXIS + y}px`);
      return label;
    }));
  }

  /** In words what is seen, and what is not. */
  function tell() {
    const part = [`${told(camera.from)} to ${told(camera.until)}`, `${Math.round(camera.rows)} of ${frame.rows} nodes`];
    if (shown.cells) part.push(`${shown.cells.rectangles} tasks as cells of ${shown.cells.step} s; failures and dead nodes win over others`);
    else part.push(`${shown.rectangles.row.length} tasks`);
    if (camera.rowHeight < 15) part.push('node names hidden at this zoom');
    if (frame.planned) part.push(`expected starts as of ${told(frame.planned)}, without guarantee`);
    said.textContent = `${part.join(' · ')}.`;
    if (table.closest('details').open) mirror();
  }

  /** The visible tasks as a table. */
  function mirror() {
    const body = table.tBodies[0];
    if (!all()) {
      const row = body.ownerDocument.createElement('tr');
      const cell = row.appendChild(document.createElement('td'));
      cell.colSpan = 5;
      cell.textContent = 'Too many tasks for a table: zoom in.';
      body.replaceChildren(row);
      return;
    }
    const seen = [];
    all().row.forEach((row, at) => {
      const meets = all().end[at] > camera.from && all().start[at] < camera.until
        && row < camera.top + camera.rows && row + all().count[at] > camera.top;
      if (meets) seen.push(at);
    });
    const most = 200;
    const line = (at) => {
      const row = document.createElement('tr');
      const kind = KINDS[all().kind[at] & 15];
      const label = all().labels[all().label[at]] || 'of another user';
      const cells = [place(all().row[at], all().count[at]), kind.name, label, told(all().start[at]), told(all().end[at])];
      cells.forEach((text, column) => {
        const cell = row.appendChild(document.createElement('td'));
        if (column === 2 && all().job[at]) {
          const link = cell.appendChild(document.createElement('a'));
          link.href = `/jobs/${all().job[at]}`;
          link.textContent = text;
        } else cell.textContent = text;
      });
      return row;
    };
    body.replaceChildren(...seen.slice(0, most).map(line));
    table.caption.textContent = seen.length > most ? `Showing ${most} of ${seen.length} tasks: zoom in for the rest.` : `${seen.length} tasks.`;
  }

  function place(row, count) {
    const pool = frame.pools.find((it) => row >= it.first && row < it.first + it.nodes);
    const name = shown.names[row - shown.part.first] || String(row - (pool ? pool.first : 0) + 1);
    return `${pool ? pool.name : ''} ${name}${count > 1 ? ` and ${count - 1} more` : ''}`;
  }

  function under([x, y]) {
    if (!all()) return -1;
    const time = camera.time(x);
    const row = camera.row(y - AXIS);
    const slack = (camera.span * 2) / camera.width;
    for (let at = all().row.length - 1; at >= 0; at -= 1) {
      const inRows = row >= all().row[at] && row < all().row[at] + all().count[at];
      if (inRows && time >= all().start[at] - slack && time < all().end[at] + slack) return at;
    }
    return -1;
  }

  function hint(at, point) {
    if (at < 0) { tip.hidden = true; return; }
    const kind = KINDS[all().kind[at] & 15];
    const label = all().labels[all().label[at]] || 'a job of another user';
    const lines = [`${kind.glyph} ${kind.name}: ${label}`, place(all().row[at], all().count[at]),
      `${told(all().start[at])} to ${told(all().end[at])}`, `${all().end[at] - all().start[at]} s in all`];
    tip.replaceChildren(...lines.map((text) => Object.assign(document.createElement('div'), { textContent: text })));
    tip.hidden = false;
    const [x, y] = point || [Math.max(camera.x(all().start[at]), 0), camera.y(all().row[at]) + AXIS];
    tip.style.setProperty('left', `${Math.min(x + 14, camera.width - tip.offsetWidth - 4)}px`);
    tip.style.setProperty('top', `${y + 18}px`);
  }

  function choose(step) {
    if (!all() || !all().row.length) return;
    const order = all().start.map((_, at) => at).sort((a, b) => all().start[a] - all().start[b] || all().row[a] - all().row[b]);
    const place = order.indexOf(chosen);
    chosen = order[(place + step + order.length) % order.length];
    const [start, end] = [all().start[chosen], all().end[chosen]];
    if (end < camera.from || start > camera.until) { const half = camera.span / 2; camera.look(start - half, start + half); }
    hint(chosen);
    get('chosen').textContent = tip.textContent;
    fallBacks = [];
    if ((all().kind[chosen] & 15) === 3 && all().job[chosen]) askFallBacks(all().job[chosen]);
  }

  function act(wanted) {
    if (wanted.pan) camera.pan(...wanted.pan);
    if (wanted.zoom) camera.zoom(wanted.zoom, wanted.x);
    if (wanted.zoomRows) camera.zoomRows(wanted.zoomRows, wanted.y);
    if ('hover' in wanted) {
      hovered = wanted.hover ? under(wanted.hover) : -1;
      hint(hovered, wanted.hover);
      painter.moving(camera, present(), marks());
      return;
    }
    if (wanted.open) { const at = under(wanted.open); if (at >= 0 && all().job[at]) location.assign(`/jobs/${all().job[at]}`); }
    if (wanted.enter && chosen >= 0 && all() && all().job[chosen]) location.assign(`/jobs/${all().job[chosen]}`);
    if (wanted.step) choose(wanted.step);
    if (wanted.fit) whole();
    if (wanted.now) usual(camera.span);
    if (wanted.help) get('keys').open = !get('keys').open;
    if (wanted.clear) { chosen = -1; fallBacks = []; hint(-1); }
    if (wanted.pan || wanted.zoom || wanted.zoomRows || wanted.fit || wanted.now) { camera.toAddress(); if (shown) tell(); }
    soon();
  }

  /** A tenth of it past, the rest to come. */
  function usual(span) {
    camera.look(present() - span * 0.1, present() + span * 0.9);
  }

  function whole() {
    const slack = Math.max((frame.until - frame.from) * 0.02, 30);
    camera.look(frame.from - slack, Math.max(frame.until, present()) + slack);
    camera.fitRows(frame.rows);
  }

  for (const button of document.querySelectorAll('[data-span]')) {
    button.addEventListener('click', () => { usual(Number(button.dataset.span)); camera.toAddress(); soon(); });
  }
  for (const button of document.querySelectorAll('[data-act]')) {
    button.addEventListener('click', () => act(JSON.parse(button.dataset.act)));
  }
  table.closest('details').addEventListener('toggle', () => { if (shown) mirror(); });
  hands(surface, act);
  document.addEventListener('theme', () => { painter.theme(); soon(); });
  document.addEventListener('clock', () => { soon(); if (shown) tell(); });
  document.addEventListener('refreshed', () => reload());
  new ResizeObserver(() => soon()).observe(surface);
  setInterval(() => painter.moving(camera, present(), marks()), 1000);

  (async () => {
    usual(7200);
    await reload();
    const job = Number(new URL(location.href).searchParams.get('job'));
    if (!camera.fromAddress() && (job || (frame.until > frame.from && frame.until - frame.from < 7200))) whole();
    if (job) { await load(); choosePart(job); }
    soon();
  })();
}
