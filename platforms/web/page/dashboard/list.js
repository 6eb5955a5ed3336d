/**
 * The list of the dashboard: rows in pages, with a state while it loads, when it is empty and when it fails. It keeps the focus
 * when it is read again, and the arrow keys move between its rows.
 */
import { h, setText } from '../dom.js'
import { createAttempts } from '../view/attempts.js'
import { confirm } from './dialogs.js'
import { createButton } from './section.js'

/**
 * @typedef {object} RowAction
 * @property {string} label
 * @property {() => Promise<unknown>} act afterwards the list is read again
 * @property {string} problem said before the reason when it fails: `The message could not be dropped.`
 * @property {string} [said] told to screen readers when it is done
 * @property {{ title: string, text?: string }} [confirm] asked before
 * @property {boolean} [isDanger]
 */

/**
 * @typedef {object} Row
 * @property {string} key
 * @property {string | Node} name may turn the direction of text; it is set apart
 * @property {readonly (string | Node | null | undefined | false)[]} [facts] shown smaller; empty ones are left out
 * @property {string} [text] more lines below, as they are
 * @property {'good' | 'bad' | 'warn' | 'busy' | 'off'} [state] colour of the dot
 * @property {string} [stateName] the state as a word
 * @property {string} [href] where the name leads
 * @property {() => unknown} [open] what a click on the name does
 * @property {readonly RowAction[]} [actions]
 */

/** Rows of a page. */
export const pageSize = 50

/**
 * @template Entry
 * @param {object} options
 * @param {string} options.label what is listed, for screen readers
 * @param {(cursor: string | undefined, signal: AbortSignal) => Promise<{ entries: readonly Entry[], next: string | null }>} options.load
 *   one page; `pageOf` makes pages of a complete list
 * @param {(entry: Entry) => Row} options.row
 * @param {string | Node} options.empty says what to do, or that all is well
 * @param {string} [options.problem]
 * @param {AbortSignal} options.signal of the view
 * @param {(text: string) => void} [options.say]
 * @param {(count: number, isAll: boolean) => void} [options.onCount]
 * @param {() => void} [options.onFail]
 */
export function createList({
  label,
  load,
  row,
  empty,
  problem = 'The list could not be loaded.',
  signal,
  say,
  onCount,
  onFail,
}) {
  const list = h('ul', { class: 'rows', 'aria-label': label })
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true })
  const loading = h('p', { class: 'fine', role: 'status' }, 'Loading')
  const nothing = h('p', { class: 'fine nothing', hidden: true }, empty)
  const more = createButton('Show more', () => read(next ?? undefined))
  const again = createButton('Try again', refresh)
  const attempt = createAttempts(trouble)
  more.hidden = true
  again.hidden = true
  /** The pages that are shown. @type {Entry[]} */
  let entries = []
  /** @type {string | null} */
  let next = null
  let request = 0
  /** Rows by key, with what they show. @type {Map<string, { shown: string, element: HTMLElement }>} */
  let drawn = new Map()

  list.addEventListener('keydown', moveByKeys)

  const element = h('div', { class: 'list' }, trouble, again, list, loading, nothing, more)
  /** One reading at a time: what changes meanwhile is read by one more. @type {Promise<void> | undefined} */
  let reading
  let isDue = false
  return { element, refresh }

  function refresh() {
    isDue = true
    reading ??= (async () => {
      while (isDue && !signal.aborted) {
        isDue = false
        await read(undefined)
      }
      reading = undefined
    })()
    return reading
  }

  /** Reads one page, or those that are shown again. @param {string | undefined} cursor */
  async function read(cursor) {
    request += 1
    const mine = request
    const isCurrent = () => mine === request && !signal.aborted
    let failed = false
    const done = await attempt(async () => {
      try {
        const wanted = cursor === undefined ? entries.length : 0
        let page = await load(cursor, signal)
        let loaded = cursor === undefined ? [...page.entries] : [...entries, ...page.entries]
        while (page.next !== null && loaded.length < wanted && isCurrent()) {
          page = await load(page.next, signal)
          loaded = [...loaded, ...page.entries]
        }
        if (!isCurrent()) return
        entries = loaded
        next = page.next
      } catch (error) {
        if (!isCurrent()) return
        failed = true
        throw error
      }
    }, problem)
    if (!isCurrent()) return
    again.hidden = done || !failed
    loading.hidden = true
    if (done) draw()
    else onFail?.()
  }

  function draw() {
    const focused = focusOf(list)
    /** @type {typeof drawn} */
    const rows = new Map()
    for (const entry of entries) {
      const described = row(entry)
      const shown = JSON.stringify([entry, described.facts?.map(textOf), textOf(described.name)])
      const known = drawn.get(described.key)
      rows.set(described.key, known?.shown === shown ? known : { shown, element: createRow(described, act) })
    }
    drawn = rows
    replace(
      list,
      [...rows.values()].map((known) => known.element),
    )
    focusAgain(list, focused)
    more.hidden = next === null
    nothing.hidden = rows.size > 0
    onCount?.(rows.size, next === null)
  }

  /** @param {RowAction} action @param {HTMLButtonElement} button */
  async function act(action, button) {
    if (action.confirm !== undefined && !(await confirm({ ...action.confirm, action: action.label }))) return
    // A disabled button would lose the focus, and with it the place in the list.
    if (button.ariaDisabled === 'true') return
    button.ariaDisabled = 'true'
    const done = await attempt(async () => void (await action.act()), action.problem)
    button.ariaDisabled = null
    if (!done) return
    if (action.said !== undefined) say?.(action.said)
    await refresh()
  }

  /** @param {KeyboardEvent} event */
  function moveByKeys(event) {
    const steps = /** @type {Record<string, number>} */ ({
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 10,
      PageUp: -10,
      Home: -Infinity,
      End: Infinity,
    })
    const step = steps[event.key]
    const focused = focusOf(list)
    if (step === undefined || focused === undefined || event.ctrlKey || event.altKey || event.metaKey) return
    const items = [...list.children].filter((item) => controlsOf(item).length > 0)
    const at = items.findIndex((item) => item.getAttribute('data-key') === focused.key)
    const target = items[Math.min(items.length - 1, Math.max(0, at + step))]
    if (target === undefined) return
    event.preventDefault()
    const controls = controlsOf(target)
    controls[Math.min(focused.index, controls.length - 1)]?.focus()
  }
}

/** @param {Row} described @param {(action: RowAction, button: HTMLButtonElement) => Promise<void>} act */
function createRow({ key, name, facts = [], text, state, stateName, href, open, actions = [] }, act) {
  const label = h('bdi', {}, name)
  const title =
    href !== undefined
      ? h('a', { class: 'row-name', href }, label)
      : open !== undefined
        ? h('button', { class: 'row-name', type: 'button' }, label)
        : h('span', { class: 'row-name' }, label)
  if (open !== undefined) title.addEventListener('click', () => void open())
  const body = h('div', { class: 'row-about' }, title)
  if (stateName !== undefined) body.append(h('span', { class: 'unseen' }, stateName))
  const shown = facts.flatMap((fact) =>
    fact === '' || fact === null || fact === undefined || fact === false ? [] : [fact],
  )
  body.append(h('span', { class: 'row-facts' }, ...shown.map((fact) => h('bdi', {}, fact))))
  if (text !== undefined && text !== '') body.append(h('p', { class: 'row-text' }, text))
  const row = h('li', { 'data-key': key })
  if (state !== undefined) row.append(h('span', { class: 'dot', 'data-state': state, 'aria-hidden': 'true' }))
  row.append(body)
  const buttons = actions.map((action) => {
    const button = createButton(action.label, () => act(action, button), {
      name: `${action.label}: ${label.textContent}`,
      isDanger: action.isDanger === true,
    })
    return button
  })
  if (buttons.length > 0) row.append(h('div', { class: 'row-actions' }, ...buttons))
  return row
}

/**
 * Pages of a list that a route returns whole.
 *
 * @template Entry
 * @param {(signal: AbortSignal) => Promise<readonly Entry[]>} read
 * @returns {(cursor: string | undefined, signal: AbortSignal) => Promise<{ entries: readonly Entry[], next: string | null }>}
 */
export function pageOf(read) {
  /** @type {readonly Entry[]} */
  let all = []
  return async (cursor, signal) => {
    if (cursor === undefined) all = await read(signal)
    const from = Number(cursor ?? 0)
    const end = from + pageSize
    return { entries: all.slice(from, end), next: end < all.length ? String(end) : null }
  }
}

/** @param {unknown} part */
function textOf(part) {
  return part instanceof Node ? part.textContent : part
}

/** @param {Element} item @returns {HTMLElement[]} */
function controlsOf(item) {
  return [.../** @type {NodeListOf<HTMLElement>} */ (item.querySelectorAll('a, button'))]
}

/** @param {Element} list */
function focusOf(list) {
  const active = document.activeElement
  const item = active?.closest('li[data-key]')
  if (!(active instanceof HTMLElement) || item == null || !list.contains(item)) return undefined
  const place = [...list.children].indexOf(item)
  return { key: item.getAttribute('data-key'), index: controlsOf(item).indexOf(active), place }
}

/** A row that has gone gives the focus to the next one. @param {Element} list @param {ReturnType<typeof focusOf>} focused */
function focusAgain(list, focused) {
  if (focused === undefined) return
  const items = [...list.children]
  const item =
    items.find((each) => each.getAttribute('data-key') === focused.key) ??
    items[Math.min(focused.place, items.length - 1)]
  if (item === undefined || item.contains(document.activeElement)) return
  const controls = controlsOf(item)
  controls[Math.min(focused.index, controls.length - 1)]?.focus()
}

/** Leaves the rows in the page that stay, so that they keep the focus. @param {Element} list @param {readonly Element[]} rows */
function replace(list, rows) {
  const staying = new Set(rows)
  for (const child of [...list.children]) if (!staying.has(child)) child.remove()
  rows.forEach((row, index) => {
    const at = list.children[index]
    if (at !== row) list.insertBefore(row, at ?? null)
  })
}

/** A count beside the heading of a section. @param {HTMLElement} section */
export function createCounter(section) {
  const place = h('span', { class: 'count' })
  section.querySelector('h3')?.append(' ', place)
  return (/** @type {number} */ count, /** @type {boolean} */ isAll) =>
    setText(place, count === 0 ? '' : `${count}${isAll ? '' : '+'}`)
}
