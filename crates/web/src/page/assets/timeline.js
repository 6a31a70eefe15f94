// The timeline: who has which node when.

import { isOut } from './reach.js';
import { clockName, short, told } from './shell.js';
import { legend, thin } from './timeline/kinds.js';
import { address, Camera } from './timeline/camera.js';
import { cellAt, covers, digest, frame as askFrame, isSharp, picture as askPicture } from './timeline/data.js';
import { AXIS, Painter } from './timeline/draw.js';
import { pointer } from './timeline/pointer.js';
import { Lanes } from './timeline/lanes.js';
import { census, counted, fill, fillDigest, inView, light } from './timeline/mirror.js';
import { fallBacks, listed, named, placed } from './timeline/windows.js';
import { Minimap } from './timeline/minimap.js';
import { find, jobOf, joins, key, pieces, prepare, together, under } from './timeline/tasks.js';
import { Tip } from './timeline/tip.js';
import { count, length, lines, unreachedPools, whyEmpty } from './timeline/words.js';

/** Until a market that did not answer is asked again, milliseconds. */
const AGAIN = 3000;
const stage = document.getElementById('stage');
if (stage) start(stage);

function start(surface) {
  const get = (name) => document.getElementById(name);
  const camera = new Camera();
  const painter = new Painter(get('tasks'), get('moving'));
  const lanes = new Lanes(get('lanes'));
  const [said, table, nothing, chosenLine] = [get('said'), get('mirror'), get('nothing'), get('chosen')];
  const tip = new Tip(get('tip'));
  const map = new Minimap(get('map'), painter, (time, row) => {
    camera.look(time - camera.span / 2, time + camera.span / 2);
    camera.top = row - camera.rows / 2;
    camera.clamp();
    tip.hide();
    settled();
    soon();
  });
  const search = new URL(location.href).searchParams;
  // Which rows: as the page says, or as the address does.
  const choice = { pools: surface.dataset.pools || '', find: search.get('find') || '', order: search.get('order') || 'site', whose: search.get('whose') || 'all' };
  let frame = { pools: [], rows: 0, all: [0, 0, 0], now: Number(document.body.dataset.now), from: 0, until: 0 };
  let shown = null;
  let asked = 0;
  let hovered = -1; // a place in the table
  let cell = null; // the cell under the pointer: {from, until, first, rows}
  let chosen = ''; // what `key` says
  let windows = []; // as they are drawn
  let extra = []; // other windows of the job that is chosen
  let picked = named();
  let hidden = 0;
  let drawn = 0;
  let pictures = 0;
  let lost = false; // what is shown is not of now
  let clock = { at: Date.now(), now: frame.now };

  const all = () => shown && shown.rectangles;
  const present = () => clock.now + (Date.now() - clock.at) / 1000;
  const most = Number(surface.dataset.height) || Infinity;
  const reserved = surface.clientHeight - AXIS;
  const height = () => (frame.rows ? Math.min(Math.max(frame.rows * 24, 120), Math.max(window.innerHeight - 260, 240), most) : reserved);

  const chosenAt = () => find(all(), chosen);
  /** The runs of the job under the pointer or chosen. */
  const runs = () => together(all(), hovered >= 0 ? hovered : chosenAt());

  function fit() {
    const width = Math.max(surface.clientWidth, 100);
    const tall = height();
    if (camera.width !== width || camera.height !== tall) {
      camera.width = width;
      camera.height = tall;
      painter.size(width, tall);
    }
  }

  function soon() {
    if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; draw(); });
  }

  function draw() {
    fit();
    painter.tasks(camera, shown, frame);
    over();
    hidden = lanes.show(camera, shown, frame);
    clearTimeout(sharpening);
    if (!covers(shown, camera)) want(); else if (!isSharp(shown, camera)) sharpening = setTimeout(want, 120);
  }

  const over = () => { painter.moving(camera, present(), marks(), joins(all(), runs())); map.draw(camera, present()); };

  function marks() {
    const found = windows.concat(extra).map((it) => ({ ...it, style: it.key === picked ? 'picked' : 'window' }));
    // The one that is picked lies on top.
    found.sort((a, b) => (a.style === 'picked') - (b.style === 'picked'));
    if (cell) found.push({ row: cell.first, count: cell.rows, start: cell.from, end: cell.until, style: 'hover' });
    for (const at of runs()) found.push(...pieces(all(), at, 'hover'));
    const at = chosenAt();
    if (at >= 0) found.push(...pieces(all(), at, 'chosen'));
    return found;
  }

  let timer = 0;
  let loading = 0;
  /** Until the view has rested so long, a picture that is too coarse or too fine is only stretched. */
  let sharpening = 0;
  /** While a picture is awaited none is asked for: it is looked at again when that one is there. */
  function want() {
    if (!timer && !loading) timer = setTimeout(() => { timer = 0; load(); }, 60);
  }

  let latest = null;
  /** Comes back when the picture that was asked for last is there, whichever call asked for it. */
  async function load() {
    latest = take(++asked);
    for (let awaited = null; awaited !== latest;) { awaited = latest; await awaited; }
  }

  async function take(mine) {
    loading += 1;
    try {
      const fresh = await askPicture(camera, choice).finally(() => { loading -= 1; });
      if (mine !== asked) return;
      const name = hovered >= 0 && all() ? key(all(), hovered) : '';
      prepare(fresh.rectangles);
      shown = fresh;
      hovered = name && all() ? all().names.indexOf(name) : -1;
      reached(fresh.now);
      settled();
      // For measurements.
      requestAnimationFrame(() => {
        draw();
        pictures += 1;
        surface.dataset.pictures = pictures;
        if (pictures === 1) performance.mark('board');
      });
    } catch (wrong) {
      unreached(wrong);
    }
  }

  function reached(now) {
    clock = { at: Date.now(), now };
    lost = false;
    surface.parentElement.classList.remove('old');
  }

  function outdated() {
    lost = true;
    surface.parentElement.classList.add('old');
  }

  function unreached(wrong) {
    outdated();
    const text = `The nodes are shown as they were at ${told(clock.now)}: ${wrong.message}.`;
    if (said.textContent !== text) said.textContent = text;
  }

  /** A market that is slow now is asked again, and not only when it has news. */
  let again = 0;
  async function reload() {
    clearTimeout(again);
    try {
      const fresh = await askFrame(choice);
      const first = frame.rows !== fresh.rows;
      frame = fresh;
      reached(fresh.now);
      if (first) { camera.fitRows(frame.rows); fit(); camera.fromAddress(); }
      await load();
      map.take(frame, choice).then(soon);
      await place();
    } catch (wrong) {
      unreached(wrong);
      if (!isOut()) again = setTimeout(reload, AGAIN);
    }
  }

  /** The page's windows, and those of the chosen job, on rows that are free. */
  async function place() {
    try { windows = await placed(listed(), frame, choice); } catch { windows = []; }
    soon();
  }

  /** After the view came to rest: the address, and in words what is seen, and what is not. */
  let resting = 0;
  function settled() {
    clearTimeout(resting);
    surface.dataset.view = 'moves'; // for scripts that wait for the address
    resting = setTimeout(tell, 250);
  }

  let telling = 0;
  async function tell() {
    toAddress();
    surface.dataset.view = 'rests';
    if (!shown || lost) return;
    const mine = ++telling;
    const open = table.closest('details').open;
    const part = [`${short(camera.from)} to ${short(camera.until)} ${clockName()}`,
      `${Math.round(camera.rows).toLocaleString('en')} of ${count(frame.all[0], 'node', 'nodes')}`];
    let seen = 0;
    let kinds = [];
    if (shown.cells) {
      const area = { from: camera.from, until: camera.until, first: Math.max(Math.floor(camera.top), 0), rows: Math.max(Math.ceil(camera.rows), 1) };
      const found = await digest(area, open ? 200 : 0, choice).catch(() => null);
      if (!found || mine !== telling) return;
      seen = found.tasks;
      kinds = found.kinds.map(([kind, tasks]) => [kind, tasks]);
      part.push(`${count(seen, 'task', 'tasks')}${seen ? ` (${census(kinds)})` : ''}`);
      part.push(`as cells of ${length(shown.cells.step)}: failures, lost and dead nodes win over others, however small`);
      if (open) fillDigest(table, found);
    } else {
      const tasks = inView(camera, all());
      seen = tasks.length;
      kinds = [...counted(all().table, tasks)];
      part.push(`${count(seen, 'task', 'tasks')}${seen ? ` (${census(kinds)})` : ''}`);
      if (open) fill(table, all().table, tasks, (it) => place_(it.row, all().table.nodes[it.task]));
    }
    part.push(...unreachedPools(frame));
    if (camera.rowHeight < 15) part.push('node names hidden at this zoom');
    if (hidden) part.push(`${count(hidden, 'pool’s name', 'pools’ names')} hidden at this zoom`);
    if (choice.whose === 'mine') part.push('other users’ jobs are left out');
    if (frame.planned) part.push(`expected windows as of ${short(frame.planned)}, without guarantee`);
    said.textContent = `${part.join(' · ')}.`;
    thin(get('legend'), new Set(kinds.map(([kind]) => Number(kind))));
    light(table, runs().map((at) => all().table.job[at])[0] || 0);
    nothing.textContent = windows.length ? '' : whyEmpty(frame, choice, seen);
    nothing.hidden = !nothing.textContent;
  }

  function place_(row, nodes) {
    const pool = frame.pools.find((it) => row >= it.first && row < it.first + it.nodes);
    if (!pool) return '';
    const name = shown.names[row - shown.part.first];
    if (pool.price < 0) return `${count(nodes, 'node', 'nodes')} ${pool.name}`;
    if (!name) return `${count(nodes, 'node', 'nodes')} of ${pool.name}`;
    return nodes === 1 ? `${pool.name}, node ${name}` : `${count(nodes, 'node', 'nodes')} of ${pool.name}, from ${name} on`;
  }

  const hit = ([x, y]) => under(all(), camera.time(x), camera.row(y - AXIS), (camera.span * 2) / camera.width);
  const linesOf = (at) => lines(all().table, at, place_(all().row[all().first[at]], all().table.nodes[at]));

  function hint(at, point) {
    if (at < 0) tip.hide(); else tip.show(linesOf(at), point);
  }

  let peek = 0;
  function hover(point) {
    clearTimeout(peek);
    hovered = point ? hit(point) : -1;
    const before = cell;
    cell = point && point[1] >= AXIS ? cellAt(shown, camera.time(point[0]), camera.row(point[1] - AXIS)) : null;
    if (cell && before && cell.from === before.from && cell.first === before.first && tip.isShown) { over(); return; }
    hint(hovered, point);
    light(table, runs().map((at) => all().table.job[at])[0] || 0);
    over();
    if (!cell) return;
    const here = cell;
    peek = setTimeout(async () => {
      const found = await digest(here, 1, choice).catch(() => null);
      if (!found || cell !== here) return;
      here.job = found.table.job[0] || 0;
      here.tasks = found.tasks;
      const place = found.rows.length ? `${found.names[0]}${found.table.nodes[0] > 1 ? ` and ${found.table.nodes[0] - 1} more` : ''}` : '';
      tip.show([`${count(found.tasks, 'task', 'tasks')} in this cell: ${length(here.until - here.from)} of ${count(here.rows, 'node', 'nodes')}`,
        ...(found.rows.length ? lines(found.table, 0, place) : [])], point);
    }, 60);
  }

  /** Chooses a task, describes it, and shows where its job could run as well. */
  function choose(at, move) {
    chosen = at >= 0 ? key(all(), at) : '';
    extra = [];
    if (at < 0) { chosenLine.replaceChildren(); hint(-1); toAddress(); soon(); return; }
    const { table: it } = all();
    if (move) reveal(at);
    hint(-1);
    const job = it.job[at];
    chosenLine.textContent = `${linesOf(at).join(' · ')}. `;
    if (job) {
      const link = chosenLine.appendChild(document.createElement('a'));
      link.href = `/jobs/${job}`;
      link.textContent = `Open job ${job}`;
    }
    settled();
    soon();
    if (job && (it.kind[at] & 15) === 3 && !surface.dataset.pools) others(job);
  }

  async function others(job) {
    try {
      const found = await fallBacks(job);
      const there = await placed(found, frame, choice);
      if (jobOf(chosen) !== job) return;
      extra = there;
      if (found.length) chosenLine.append(`, ${count(found.length, 'other window', 'other windows')} that it could have`);
      soon();
    } catch { /* without them, the job's page tells */ }
  }

  function reveal(at) {
    const { table: it } = all();
    const [start, end, row] = [it.start[at], it.end[at], all().row[all().first[at]]];
    if (end < camera.from || start > camera.until) { const half = camera.span / 2; camera.look((start + end) / 2 - half, (start + end) / 2 + half); }
    if (row < camera.top || row >= camera.top + camera.rows) { camera.top = row - camera.rows / 2; camera.clamp(); }
  }

  function step(by) {
    if (!all()) { chosenLine.textContent = 'Too many tasks to go from one to the next: zoom in.'; return; }
    const order = inView(camera, all()).map((it) => it.task);
    if (!order.length) return;
    const at = order.indexOf(chosenAt());
    choose(order[at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length], true);
  }

  /** First into the middle, then as large as the view; without a choice, all. */
  function focus() {
    const at = chosenAt();
    if (at < 0) { whole(); return; }
    const [from, until] = [all().table.start[at], all().table.end[at]];
    const middle = Math.abs((camera.from + camera.until) / 2 - (from + until) / 2) < camera.span * 0.01;
    const half = middle ? (until - from) * 0.6 : camera.span / 2;
    camera.look((from + until) / 2 - half, (from + until) / 2 + half);
  }

  const open = (job) => location.assign(`/jobs/${job}`);

  function click(point) {
    const time = camera.time(point[0]);
    const row = camera.row(point[1] - AXIS);
    const hits = windows.filter((it) => row >= it.row && row < it.row + it.count && time >= it.start && time < it.end);
    if (hits.length) {
      const next = hits[(hits.findIndex((it) => it.key === picked) + 1) % hits.length];
      document.dispatchEvent(new CustomEvent('pick', { detail: next.key }));
      return;
    }
    const at = hit(point);
    if (at >= 0 && all().table.job[at]) open(all().table.job[at]);
    else if (at >= 0) choose(at, false);
    else if (cell && cell.tasks === 1 && cell.job) open(cell.job);
    else if (cell) { camera.zoom(0.25, point[0]); camera.zoomRows(0.25, point[1] - AXIS); settled(); soon(); }
  }

  function offer(by) {
    const keys = [...new Set(windows.map((it) => it.key))];
    if (keys.length) document.dispatchEvent(new CustomEvent('pick', { detail: keys[(keys.indexOf(picked) + by + keys.length) % keys.length] }));
  }

  function act(wanted) {
    if ('hover' in wanted) { hover(wanted.hover); return; }
    if (wanted.pan) camera.pan(...wanted.pan);
    if (wanted.zoom) camera.zoom(wanted.zoom, wanted.x);
    if (wanted.zoomRows) camera.zoomRows(wanted.zoomRows, wanted.y);
    if (wanted.open) click(wanted.open);
    if (wanted.enter && jobOf(chosen)) open(jobOf(chosen));
    if (wanted.step) step(wanted.step);
    if (wanted.offer) offer(wanted.offer);
    if (wanted.fit) whole();
    if (wanted.focus) focus();
    if (wanted.now) usual(camera.span);
    if (wanted.help) get('keys').showModal();
    if (wanted.clear) choose(-1);
    if (wanted.pan || wanted.zoom || wanted.zoomRows || wanted.fit || wanted.focus || wanted.now) { tip.hide(); cell = null; settled(); }
    soon();
  }

  /** A tenth of it past, the rest to come. */
  function usual(span) {
    camera.look(present() - span * 0.1, present() + span * 0.9);
  }

  function whole() {
    const ends = windows.map((it) => it.end);
    const slack = Math.max((frame.until - frame.from) * 0.02, 30);
    camera.look(frame.from - slack, Math.max(frame.until, present(), ...ends) + slack);
    camera.fitRows(frame.rows);
  }

  /** View, rows and choice, so that the page can be shared. */
  const toAddress = () => address({ ...camera.told(), find: choice.find, order: choice.order, whose: choice.whose, job: jobOf(chosen), at: chosen });

  for (const button of document.querySelectorAll('[data-span]')) {
    button.addEventListener('click', () => { usual(Number(button.dataset.span)); settled(); soon(); });
  }
  for (const button of document.querySelectorAll('[data-act]')) {
    button.addEventListener('click', () => act(JSON.parse(button.dataset.act)));
  }
  let typing = 0;
  for (const name of ['find', 'order', 'whose']) {
    const field = get(`rows-${name}`);
    if (!field) continue;
    if (field.type === 'checkbox') field.checked = choice[name] === 'mine'; else field.value = choice[name];
    field.addEventListener('input', () => {
      choice[name] = field.type === 'checkbox' ? (field.checked ? 'mine' : 'all') : field.value.trim();
      clearTimeout(typing);
      typing = setTimeout(reload, 200);
    });
  }
  table.closest('details').addEventListener('toggle', () => tell());
  table.tBodies[0].addEventListener('pointerover', (event) => {
    const row = event.target.closest('tr');
    hovered = row && row.dataset.job && all() ? all().table.job.indexOf(Number(row.dataset.job)) : -1;
    over();
  });
  table.tBodies[0].addEventListener('pointerleave', () => { hovered = -1; over(); });
  pointer(surface, act);
  const themed = () => { painter.theme(); legend(get('legend'), painter.colours); soon(); };
  document.addEventListener('theme', themed);
  document.addEventListener('clock', () => { soon(); tell(); });
  document.addEventListener('looks', () => reload());
  document.addEventListener('pick', (event) => { picked = event.detail; soon(); });
  document.addEventListener('windows', () => place());
  new ResizeObserver(() => { tip.hide(); soon(); }).observe(surface);
  document.addEventListener('lost', outdated);
  setInterval(over, 1000);
  themed();

  (async () => {
    usual(7200);
    await reload();
    while (!frame.rows && lost) await new Promise((done) => setTimeout(done, 100));
    const ofPage = surface.closest('[data-job]');
    const job = Number(search.get('job') || (ofPage ? ofPage.dataset.job : 0));
    // A link to windows stays when they are gone: a view of none is useless.
    const isSeen = (it) => it.start < camera.until && it.end > camera.from;
    const given = camera.fromAddress() && (!windows.length || windows.some(isSeen));
    if (!given && windows.length) {
      const [from, until] = [present(), Math.max(...windows.map((it) => it.end))];
      camera.look(from - (until - from) * 0.1, until + (until - from) * 0.1);
    } else if (!given && (job || (frame.until > frame.from && frame.until - frame.from < 7200))) whole();
    chosen = search.get('at') || (job ? `j${job}` : '');
    if (chosen) { await load(); choose(chosenAt(), !given); }
    settled();
    soon();
    document.body.dataset.timeline = 'ready';
  })();
}
