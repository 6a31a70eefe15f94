// Mouse, fingers and keys.

/**
 * Calls `act` with what is wanted: {pan:[dx,dy]}, {zoom:factor,x}, {zoomRows:factor,y}, {hover:[x,y]|null},
 * {open:[x,y]}, {step:±1}, {offer:±1}, {enter:true}, {fit:true}, {focus:true}, {now:true}, {help:true}, {clear:true}.
 */
export function pointer(surface, act) {
  const place = (event) => {
    const box = surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const fingers = new Map();
  let moved = 0;

  surface.addEventListener('wheel', (event) => {
    const [x, y] = place(event);
    if (event.ctrlKey || event.metaKey) act({ zoom: Math.exp(event.deltaY / 300), x });
    else if (event.altKey) act({ zoomRows: Math.exp(event.deltaY / 300), y });
    else if (event.shiftKey) act({ pan: [-event.deltaY, 0] });
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) act({ pan: [-event.deltaX, 0] });
    else return; // the page scrolls
    event.preventDefault();
  }, { passive: false });

  surface.addEventListener('pointerdown', (event) => {
    surface.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    moved = 0;
  });
  surface.addEventListener('pointermove', (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) { act({ hover: now }); return; }
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const far = (point) => Math.max(Math.abs(point[0] - other[0]), 20);
      act({ zoom: far(before) / far(now), x: (now[0] + other[0]) / 2 });
    } else {
      act({ pan: [now[0] - before[0], now[1] - before[1]] });
    }
    moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    fingers.set(event.pointerId, now);
  });
  const up = (event) => {
    const known = fingers.delete(event.pointerId);
    if (known && event.type === 'pointerup' && moved < 5) act({ open: place(event) });
  };
  surface.addEventListener('pointerup', up);
  surface.addEventListener('pointercancel', up);
  surface.addEventListener('pointerleave', () => act({ hover: null }));

  surface.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const wanted = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!wanted) return;
    event.preventDefault();
    act(wanted);
  });
}

const KEYS = {
  w: { zoom: 0.7 }, s: { zoom: 1.4 }, a: { pan: [120, 0] }, d: { pan: [-120, 0] },
  '+': { zoom: 0.7 }, '-': { zoom: 1.4 },
  ArrowLeft: { pan: [80, 0] }, ArrowRight: { pan: [-80, 0] }, ArrowUp: { pan: [0, 60] }, ArrowDown: { pan: [0, -60] },
  e: { zoomRows: 0.7 }, q: { zoomRows: 1.4 },
  ']': { offer: 1 }, '[': { offer: -1 },
  '.': { step: 1 }, ',': { step: -1 }, Enter: { enter: true }, f: { focus: true }, n: { now: true },
  '?': { help: true }, Escape: { clear: true },
};
