/**
 * Sets formulas with KaTeX, which is loaded with the first one. It builds nodes, so that no text becomes HTML. A formula that it
 * does not know stays as it was written.
 */
import { h } from './dom.js'

const maxSetFormulas = 200

/** @type {import('./katex.js').Katex | undefined} */
let katex
let isLoading = false
/** Formulas that are set, because a text that grows shows them again and again. @type {Map<string, HTMLElement>} */
const setFormulas = new Map()

/** The formula of a token without its delimiters; undefined for another text. @param {string} text */
export function formulaOf(text) {
  const [, dollars, dollar, bracket, paren] =
    /^\s*(?:\$\$(.+)\$\$|\$(.+)\$|\\\[(.+)\\\]|\\\((.+)\\\))[.,;]?\s*$/s.exec(text) ?? []
  const source = dollars ?? dollar ?? bracket ?? paren
  return source === undefined ? undefined : { source, isDisplay: dollars !== undefined || bracket !== undefined }
}

/** @param {string} text as it is written, with its delimiters @param {{ source: string, isDisplay: boolean }} formula */
export function renderFormula(text, { source, isDisplay }) {
  const shown = setFormulas.get(text)?.cloneNode(true)
  if (shown !== undefined) return shown
  const element = h('span', { class: 'math', 'data-display': isDisplay }, text)
  if (katex === undefined) {
    if (!isLoading) void load()
    return element
  }
  set(element, text, source, isDisplay)
  return element
}

async function load() {
  isLoading = true
  try {
    const { loadStyle } = await import('./dashboard/section.js')
    // A classic script that a module may import.
    await Promise.all([import('./katex.js'), loadStyle('katex')])
    katex = window.katex
  } catch {
    // The next formula tries again.
    isLoading = false
    return
  }
  for (const element of document.querySelectorAll('.math')) {
    const text = element.textContent
    const formula = formulaOf(text)
    if (formula !== undefined && element instanceof HTMLElement) set(element, text, formula.source, formula.isDisplay)
  }
}

/** @param {HTMLElement} element @param {string} text @param {string} source @param {boolean} isDisplay */
function set(element, text, source, isDisplay) {
  const place = h('span')
  try {
    const limits = { maxSize: 20, maxExpand: 500, strict: 'ignore', trust: false }
    katex?.render(source, place, { displayMode: isDisplay, throwOnError: true, ...limits })
  } catch {
    return
  }
  element.replaceChildren(...place.childNodes)
  for (const key of setFormulas.keys()) if (setFormulas.size >= maxSetFormulas) setFormulas.delete(key)
  setFormulas.set(text, /** @type {HTMLElement} */ (element.cloneNode(true)))
}
