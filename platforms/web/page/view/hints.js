/**
 * The list of commands while the user types one: a listbox that the message field controls.
 */
import { h } from '../dom.js'

/** What every gateway knows, until its own list has arrived. @type {readonly (readonly [string, string])[]} */
const commonCommands = [
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
 * @param {() => Promise<readonly { readonly name: string, readonly description: string }[]>} options.load the commands of the
 *   gateway, asked for when the first one is typed, and again after a failure
 */
export function createHints({ list, field, onChoose, load }) {
  let commands = commonCommands
  let isLoaded = false
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

  async function loadCommands() {
    isLoaded = true
    try {
      const entries = await load()
      commands = entries.map(({ name, description }) => /** @type {const} */ ([`/${name}`, description]))
      if (field.ownerDocument.activeElement === field) update()
    } catch {
      // The common commands stay, and everything can be typed. A lost connection is shown elsewhere.
      isLoaded = false
    }
  }

  function update() {
    const typed = field.value.toLowerCase()
    if (typed.startsWith('/') && !isLoaded) void loadCommands()
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
