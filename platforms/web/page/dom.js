/**
 * Creates and finds elements. The page creates no HTML from strings.
 */
import { icon } from './icons.js'

/**
 * Creates an element. `false` and `undefined` omit an attribute, `true` sets it to ''.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | boolean | undefined>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, '')
    else if (typeof value === 'string') element.setAttribute(name, value)
  }
  element.append(...children)
  return element
}

/**
 * The element of index.html with this id. Throws when it is missing or of another type.
 *
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function byId(id, kind) {
  const element = document.getElementById(id)
  if (!(element instanceof kind)) throw new Error(`index.html has no ${kind.name} with the id ${id}`)
  return element
}

/** Inserts the icons into the elements with `data-icon`. */
export function drawIcons() {
  for (const place of document.querySelectorAll('[data-icon]')) {
    if (place instanceof HTMLElement && place.firstChild === null) place.append(icon(place.dataset['icon'] ?? ''))
  }
}

/**
 * Sets a text only when it differs, to keep selections and not to trigger screen readers.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}
