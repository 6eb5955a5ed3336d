/**
 * The parts that every view is made of: sections with a heading, and styles that come with a view.
 */
import { h } from '../dom.js'

let lastId = 0

/**
 * A part of a view with a heading. The element is a region with this name.
 *
 * @param {string} title
 * @param {...(Node | string)} children
 */
export function createSection(title, ...children) {
  lastId += 1
  const id = `section-${lastId}`
  return h('section', { class: 'section', 'aria-labelledby': id }, h('h3', { id }, title), ...children)
}

/**
 * Resolves when the styles apply.
 *
 * @param {string} name such as `dashboard` for /assets/styles/dashboard.css
 * @returns {Promise<void>}
 */
export function loadStyle(name) {
  const href = `/assets/styles/${name}.css`
  if (document.querySelector(`link[href="${href}"]`) !== null) return Promise.resolve()
  const link = h('link', { rel: 'stylesheet', href })
  const loaded = new Promise((resolve) => {
    link.onload = resolve
    // A view without its styles can still be read.
    link.onerror = resolve
  })
  document.head.append(link)
  return loaded.then(() => undefined)
}

/**
 * @param {string} label
 * @param {() => unknown} act
 * @param {{ name?: string, isDanger?: boolean, isMain?: boolean }} [options] `name`: for screen readers, begins with the label
 */
export function createButton(label, act, { name, isDanger = false, isMain = false } = {}) {
  const kind = `quiet${isDanger ? ' danger' : ''}${isMain ? ' main' : ''}`
  const button = h('button', { class: kind, type: 'button', 'aria-label': name }, label)
  button.addEventListener('click', () => void act())
  return button
}
