// What is said beside the pointer.

export class Tip {
  constructor(element) {
    this.element = element;
  }

  get isShown() { return !this.element.hidden; }

  hide() { this.element.hidden = true; }

  /** A line for each text, near the point. */
  show(texts, [x, y]) {
    const { element } = this;
    element.replaceChildren(...texts.map((text) => Object.assign(document.createElement('div'), { textContent: text })));
    element.hidden = false;
    const surface = element.parentElement;
    const left = Math.max(Math.min(x + 14, surface.clientWidth - element.offsetWidth - 4), 0);
    // It may lie over what is below the canvas, but not outside the window.
    const { top } = surface.getBoundingClientRect();
    const below = top + y + 18 + element.offsetHeight <= window.innerHeight || top + y < element.offsetHeight + 10;
    element.style.setProperty('left', `${left}px`);
    element.style.setProperty('top', `${below ? y + 18 : y - element.offsetHeight - 10}px`);
  }
}
