// Tasks that are drawn one by one: which is under the pointer, which belong together. `all` is the
// picture's rectangles: a table of tasks, and pieces of rows that each of them has.

import { ALARMS } from './kinds.js';

/** Alarms are drawn last, and pieces know their task's first. */
export function prepare(all) {
  if (!all) return;
  all.first = [];
  all.task.forEach((task, at) => { if (all.first[task] === undefined) all.first[task] = at; });
  const rank = (at) => { const kind = all.table.kind[all.task[at]] & 15; return (ALARMS.has(kind) ? 100 : 0) + kind; };
  all.names = names(all);
  all.order = all.row.map((_, at) => at).sort((a, b) => rank(a) - rank(b));
}

/** A name for each task that stays when the picture is updated; parts that start together are numbered. */
function names(all) {
  const { job, start } = all.table;
  const parts = new Map();
  return job.map((number, at) => {
    if (!number) return `r${all.row[all.first[at]]}.${start[at]}`;
    const name = `j${number}.${start[at]}`;
    const part = parts.get(name) || 0;
    parts.set(name, part + 1);
    return part ? `${name}.${part}` : name;
  });
}

/** The name of a task. */
export const key = (all, at) => all.names[at];

/** The job in such a name; 0: none. */
export const jobOf = (name) => Number((/^j(\d+)/.exec(name) || [0, 0])[1]);

/** The place of what is called so in the table; a job's other piece if that one is gone. */
export function find(all, name) {
  if (!name || !all) return -1;
  const { job } = all.table;
  const same = all.names.indexOf(name);
  return same >= 0 ? same : jobOf(name) ? job.indexOf(jobOf(name)) : -1;
}

/** What is drawn of a task, as marks of a style. */
export function pieces(all, at, style) {
  const { table: it, row, count, task } = all;
  const found = [];
  task.forEach((of, place) => { if (of === at) found.push({ row: row[place], count: count[place], start: it.start[at], end: it.end[at], style }); });
  return found;
}

/** All tasks of the same job, in the order of time. */
export function together(all, at) {
  if (!all || at < 0) return [];
  const { job, start } = all.table;
  if (!job[at]) return [at];
  const found = [];
  job.forEach((it, place) => { if (it === job[at]) found.push(place); });
  return found.sort((a, b) => start[a] - start[b]);
}

/** From the end of a job's run to the beginning of its next one. */
export function joins(all, runs) {
  const found = [];
  const middle = (at) => { const place = all.first[at]; return all.row[place] + all.count[place] / 2; };
  for (let at = 1; at < runs.length; at += 1) {
    const [end, start] = [all.table.end[runs[at - 1]], all.table.start[runs[at]]];
    if (end <= start) found.push([end, middle(runs[at - 1]), start, middle(runs[at])]);
  }
  return found;
}

/** The task on top at a time and a row; -1: none. Times within `slack` count. */
export function under(all, time, row, slack) {
  if (!all) return -1;
  const { table: it, order, task } = all;
  for (let place = order.length - 1; place >= 0; place -= 1) {
    const at = order[place];
    const inRows = row >= all.row[at] && row < all.row[at] + all.count[at];
    if (inRows && time >= it.start[task[at]] - slack && time < it.end[task[at]] + slack) return task[at];
  }
  return -1;
}
