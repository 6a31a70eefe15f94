// What the canvas shows, as a table and in words: for readers who do not see it.

import { short } from '../shell.js';
import { KINDS } from './kinds.js';
import { count, credits, length, title } from './words.js';

const MOST = 200;

/** Tasks that are in view, of those that were sent: their places in the table, the earliest first. */
export function inView(camera, all) {
  const seen = new Map();
  for (let at = 0; at < all.row.length; at += 1) {
    const task = all.task[at];
    const meets = all.table.end[task] > camera.from && all.table.start[task] < camera.until
      && all.row[at] < camera.top + camera.rows && all.row[at] + all.count[at] > camera.top;
    if (meets && !seen.has(task)) seen.set(task, all.row[at]);
  }
  return [...seen].map(([task, row]) => ({ task, row }))
    .sort((a, b) => all.table.start[a.task] - all.table.start[b.task] || a.row - b.row);
}

/** How many of each kind, in words. */
export function census(kinds) {
  return kinds.filter(([, tasks]) => tasks > 0).sort((a, b) => b[1] - a[1])
    .map(([kind, tasks]) => `${tasks.toLocaleString('en')} ${KINDS[kind].name}`).join(', ');
}

export function counted(table, tasks) {
  const kinds = new Map();
  for (const { task } of tasks) {
    const kind = table.kind[task] & 15;
    kinds.set(kind, (kinds.get(kind) || 0) + 1);
  }
  return [...kinds];
}

function line(table, task, place) {
  const row = document.createElement('tr');
  const job = table.job[task];
  if (job) row.dataset.job = job;
  const price = table.price[task];
  const cost = table.cost[task] < 0 ? '–' : credits(table.cost[task]);
  const cells = [place, title(table, task), short(table.start[task]), short(table.end[task]),
    length(table.end[task] - table.start[task]), price < 0 ? '–' : credits(price * 3600), cost];
  cells.forEach((text, column) => {
    const cell = row.appendChild(document.createElement('td'));
    if (column >= 5) cell.className = 'number';
    if (column === 1 && job) {
      const link = cell.appendChild(document.createElement('a'));
      link.href = `/jobs/${job}`;
      link.textContent = text;
    } else cell.textContent = text;
  });
  return row;
}

/** Fills the table with what is in view of what was sent one by one. */
export function fill(element, table, tasks, place) {
  element.tBodies[0].replaceChildren(...tasks.slice(0, MOST).map((it) => line(table, it.task, place(it))));
  const all = count(tasks.length, 'task', 'tasks');
  element.caption.textContent = tasks.length > MOST ? `Showing ${MOST} of ${all}: zoom in for the rest.` : `${all} in view.`;
}

/** The same of a digest: the weightiest of many. */
export function fillDigest(element, told_) {
  const rows = told_.rows.map((_, at) => line(told_.table, at, told_.names[at]));
  element.tBodies[0].replaceChildren(...rows);
  const all = count(told_.tasks, 'task', 'tasks');
  const some = told_.rows.length < told_.tasks;
  element.caption.textContent = some
    ? `Showing ${told_.rows.length} of ${all}: what went wrong first, then what holds most. Zoom in for the rest.`
    : `${all} in view.`;
}

/** Marks the rows of a job. */
export function light(element, job) {
  for (const row of element.tBodies[0].rows) row.classList.toggle('on', job > 0 && row.dataset.job === String(job));
}
