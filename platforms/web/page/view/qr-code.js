/**
 * A QR code as a picture, dark on light in both schemes, because cameras need that.
 */
import { encode } from '../uqr.js'

const namespace = 'http://www.w3.org/2000/svg'
/** The quiet zone, in modules. */
const border = 3

/** @param {string} text */
export function createQrCode(text) {
  const { data, size } = encode(text)
  const side = size + 2 * border
  const svg = create('svg', {
    class: 'qr',
    viewBox: `0 0 ${side} ${side}`,
    role: 'img',
    'aria-label': `QR code of ${text}`,
  })
  const dark = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? `M${x + border} ${y + border}h1v1h-1z` : [])),
  )
  svg.append(
    create('rect', { width: `${side}`, height: `${side}`, fill: '#fff' }),
    create('path', { d: dark.join(''), fill: '#000' }),
  )
  return svg
}

/** @param {string} name @param {Record<string, string>} attributes */
function create(name, attributes) {
  const element = document.createElementNS(namespace, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}
