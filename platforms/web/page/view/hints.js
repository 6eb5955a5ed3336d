/**
 * The list of commands while the user types one: a listbox that the message field controls.
 */
import { h } from '../dom.js'

/** What every gateway knows; `/help` tells the rest. @type {readonly (readonly [string, string])[]} */
const commands = [
  ['/new', 'Start a new conversation'],
  ['/stop', 'Stop the running turn'],
  ['/status', 'Show the session and the gateway'],
  ['/help', 'Show all commands'],
]

/**
 * @param {object} options
 * @param {HTMLElement} options.list
 * @param {HTMLTextAreaElement} options.field
 * @param {(command: string) => void} options.onChoose
 */
export function createHints({ list, field, onChoose }) {
  /** @type {string[]} */
  let shown = []
  let selected = 0

  // Runs before the field loses the focus, which would close the list.
  list.addEventListener('pointerdown', (event) => {
    event.preventDefault()
    const item = event.target instanceof Element ? event.target.closest('[role=option]') : null
    const command = item === null ? undefined : shown[[...list.children].indexOf(item)]
    if (command !== undefined) onChoose(command)
  })

  return { update, close, handle }

  function update() {
    const typed = field.value.toLowerCase()
    const matching = typed.startsWith('/') ? commands.filter(([name]) => name.startsWith(typed)) : []
    shown = matching.map(([name]) => name)
    selected = 0
    list.replaceChildren(
      ...matching.map(([name, meaning]) =>
        h('div', { role: 'option', id: `hint-${name.slice(1)}` }, h('code', {}, name), h('span', {}, meaning)),
      ),
    )
    list.hidden = shown.length === 0
    mark()
  }

  function close() {
    shown = []
    list.hidden = true
    mark()
  }

  /**
   * Whether the list has handled the key.
   *
   * @param {KeyboardEvent} event
   */
  function handle(event) {
    const command = shown[selected]
    if (command === undefined) return false
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      selected = (selected + (event.key === 'ArrowDown' ? 1 : shown.length - 1)) % shown.length
      mark()
    } else if (event.key === 'Tab' && !event.shiftKey) {
      field.value = command
      field.dispatchEvent(new Event('input'))
    } else if (event.key === 'Enter' && !event.shiftKey) {
      onChoose(command)
    } else if (event.key === 'Escape') {
      close()
      event.stopPropagation()
    } else return false
    event.preventDefault()
    return true
  }

  function mark() {
    const active = list.children[selected]
    for (const item of list.children) item.setAttribute('aria-selected', String(item === active))
    if (shown.length > 0 && active !== undefined) field.setAttribute('aria-activedescendant', active.id)
    else field.removeAttribute('aria-activedescendant')
  }
}
