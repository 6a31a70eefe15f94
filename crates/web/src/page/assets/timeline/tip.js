// What is said beside the hand.

import { AXIS } from './draw.js';

export class Tip {
  constructor(element, camera) {
    this.element = element;
    this.camera = camera;
  }

  get isShown() { return !this.element.hidden; }

  hide() { this.element.hidden = true; }

  /** A line for each text, near the point and inside the canvas. */
  show(texts, [x, y]) {
    const { element, camera } = this;
    element.replaceChildren(...texts.map((text) => Object.assign(document.createElement('div'), { textContent: text })));
    element.hidden = false;
    const left = Math.max(Math.min(x + 14, camera.width - element.offsetWidth - 4), 0);
    const below = y + 18 + element.offsetHeight <= camera.height + AXIS;
    element.style.setProperty('left', `${left}px`);
    element.style.setProperty('top', `${below ? y + 18 : Math.max(y - element.offsetHeight - 10, 0)}px`);
  }
}
