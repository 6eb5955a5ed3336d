/**
 * A menu at a button. The arrow keys move in it, Escape and a click elsewhere close it.
 */
import { loadStyle } from '../dashboard/section.js'
import { h } from '../dom.js'
import { icon } from '../icons.js'

/** @typedef {{ label: string, icon: string, href?: string, act?: () => unknown }} MenuEntry */

/** The distance to the button and to the edge of the screen, px. */
const gap = 6

/** @param {HTMLElement} anchor gets the focus back @param {readonly MenuEntry[]} entries */
export async function openMenu(anchor, entries) {
  await loadStyle('menu')
  const menu = h('div', { class: 'menu', role: 'menu', popover: 'auto' }, ...entries.map(createItem))
  const items = [...menu.children].filter((item) => item instanceof HTMLElement)
  anchor.after(menu)
  menu.showPopover()
  anchor.setAttribute('aria-expanded', 'true')
  place(menu, anchor.getBoundingClientRect())
  items[0]?.focus()

  menu.addEventListener('keydown', (event) => {
    const at = items.findIndex((item) => item.matches(':focus'))
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key]
    if (event.key === 'Tab') menu.hidePopover()
    if (to === undefined) return
    event.preventDefault()
    items.at(to % items.length)?.focus()
  })
  menu.addEventListener('click', () => menu.hidePopover())
  menu.addEventListener('toggle', ({ newState }) => {
    if (newState !== 'closed') return
    anchor.setAttribute('aria-expanded', 'false')
    menu.remove()
  })
}

/** @param {MenuEntry} entry */
function createItem({ label, icon: name, href, act }) {
  const item =
    href === undefined
      ? h('button', { type: 'button', role: 'menuitem', tabindex: '-1' }, icon(name), label)
      : h('a', { href, role: 'menuitem', tabindex: '-1' }, icon(name), label)
  if (act !== undefined) item.addEventListener('click', () => void act())
  return item
}

/** Below the button, or above it where there is no room. @param {HTMLElement} menu @param {DOMRect} at */
function place(menu, at) {
  const { width, height } = menu.getBoundingClientRect()
  const below = at.bottom + gap
  const top = below + height > innerHeight - gap ? Math.max(gap, at.top - gap - height) : below
  menu.style.top = `${top}px`
  menu.style.left = `${Math.max(gap, Math.min(at.left, innerWidth - width - gap))}px`
}
