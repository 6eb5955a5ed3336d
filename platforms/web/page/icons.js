/**
 * The icons, as paths on a 24 by 24 grid.
 */

/** @type {Record<string, readonly string[]>} */
const strokes = {
  wing: ['M3.8 19.8C4 10.6 10.2 4.9 20.8 4.4', 'M3.8 19.8c2-6.2 7.2-9.3 14.6-9.6', 'M3.8 19.8c3-3.8 6.7-4.5 11-4.4'],
  up: ['M12 19V5.5', 'M6 11l6-6 6 6'],
  down: ['M12 5v13.5', 'M6 13l6 6 6-6'],
  right: ['M5 12h13.5', 'M13 6l6 6-6 6'],
  plus: ['M12 5.5v13', 'M5.5 12h13'],
  stop: ['M8 7h8a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1z'],
  copy: [
    'M9.5 8.5h8a1.5 1.5 0 0 1 1.5 1.5v8a1.5 1.5 0 0 1-1.5 1.5h-8A1.5 1.5 0 0 1 8 18v-8a1.5 1.5 0 0 1 1.5-1.5z',
    'M5 15.5V6a1.5 1.5 0 0 1 1.5-1.5H15',
  ],
  check: ['M5.5 12.5l4.5 4.5 8.5-9.5'],
  cross: ['M7 7l10 10', 'M17 7L7 17'],
  file: ['M7 3.8h6.6l4.4 4.4v11a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4.8a1 1 0 0 1 1-1z', 'M13.3 4v4.5h4.5'],
  attach: ['M19 11.6l-7.3 7.3a4.4 4.4 0 0 1-6.2-6.2l7.6-7.6a2.9 2.9 0 0 1 4.1 4.1l-7.4 7.4a1.4 1.4 0 0 1-2-2l6.7-6.7'],
  left: ['M19 12H5.5', 'M11 6l-6 6 6 6'],
  save: ['M12 4.5v10', 'M7.5 10.5l4.5 4.5 4.5-4.5', 'M5 19h14'],
  list: ['M5 7h14', 'M5 12h14', 'M5 17h9'],
  search: ['M10.5 4.5a6 6 0 1 0 0 12a6 6 0 1 0 0-12z', 'M15 15l5 5'],
  more: ['M5.5 12h.01', 'M12 12h.01', 'M18.5 12h.01'],
  pen: ['M5 19l.9-3.9L15.6 5.4a1.9 1.9 0 0 1 2.7 0l.3.3a1.9 1.9 0 0 1 0 2.7L8.9 18.1z', 'M13.8 7.2l3 3'],
  again: ['M18.5 12a6.5 6.5 0 1 1-2-4.7', 'M18.7 4.5v4h-4'],
  quote: ['M6 6v12', 'M10 8.5h8', 'M10 12h8', 'M10 15.5h5'],
  branch: ['M7 4.5v15', 'M7 13c0-4 10-1 10-6', 'M14.5 8.5L17 6l2.5 2.5'],
  route: ['M5 6h8', 'M8 12h9', 'M12 18h7'],
  chevron: ['M9.5 6.5l5.5 5.5-5.5 5.5'],
}

const namespace = 'http://www.w3.org/2000/svg'

/**
 * @param {string} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS(namespace, 'svg')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('aria-hidden', 'true')
  for (const d of strokes[name] ?? []) {
    const path = document.createElementNS(namespace, 'path')
    path.setAttribute('d', d)
    svg.append(path)
  }
  return svg
}
