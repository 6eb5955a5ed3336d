/**
 * What can be done on the page: found with Ctrl-K, and run by its key. The parts of the page add their actions here.
 */

/**
 * @typedef {object} Action
 * @property {string} label begins with a verb
 * @property {string} [keys] as `?` lists them: `Ctrl K`, `1`, `?`. Keys without Ctrl do nothing while a person types
 * @property {() => unknown} [run] missing for a key that another part of the page listens to
 */

/** @type {Set<Action>} */
const actions = new Set()

/** @param {readonly Action[]} added @param {AbortSignal} [signal] takes them away again */
export function addActions(added, signal) {
  for (const action of added) actions.add(action)
  signal?.addEventListener('abort', () => {
    for (const action of added) actions.delete(action)
  })
}

/** @returns {readonly Action[]} */
export function listActions() {
  return [...actions]
}

export function listenToActionKeys() {
  document.addEventListener('keydown', (event) => {
    const { target, key, altKey, isComposing } = event
    const isCtrl = event.ctrlKey || event.metaKey
    if (altKey || isComposing || event.defaultPrevented) return
    const isBusy =
      (target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')) ||
      document.querySelector('dialog[open]') !== null
    if (isBusy && !isCtrl) return
    const pressed = `${isCtrl ? 'Ctrl ' : ''}${key.length === 1 ? key.toUpperCase() : key}`
    const action = listActions().find(({ keys, run }) => keys === pressed && run !== undefined)
    if (action?.run === undefined) return
    event.preventDefault()
    void action.run()
  })
}
