/**
 * The dialog that lists what runs without a question, and takes it back. Loaded when it is opened.
 */
import { byId, h } from '../dom.js'
import { createAttempts } from './attempts.js'

/** @typedef {import('../../protocol.ts').WireApproval} WireApproval */

/** @param {Pick<import('../api.js').Api, 'approvals' | 'revoke'>} api */
export async function showRemembered(api) {
  const dialog = byId('remembered', HTMLDialogElement)
  const list = byId('remembered-list', HTMLElement)
  const empty = byId('remembered-empty', HTMLElement)
  const said = byId('remembered-said', HTMLElement)
  const attempt = createAttempts(byId('remembered-trouble', HTMLElement))

  list.replaceChildren()
  empty.hidden = true
  said.textContent = ''
  if (!dialog.open) dialog.showModal()
  await attempt(async () => {
    const approvals = await api.approvals()
    list.replaceChildren(...approvals.map(createRow))
    showEmpty()
  }, 'The list could not be loaded.')

  /** @param {WireApproval} approval */
  function createRow({ id, covers, where, by }) {
    const name = h('code', {}, covers)
    const place = h('span', {}, by === '' ? where : `${where}, allowed by ${by}`)
    const button = h('button', { class: 'quiet', type: 'button', 'aria-label': `Ask again: ${covers}` }, 'Ask again')
    const row = h('li', {}, h('div', {}, name, place), button)
    button.addEventListener('click', () => void revoke(id, covers, row, button))
    return row
  }

  /**
   * @param {string} id
   * @param {string} covers
   * @param {HTMLElement} row
   * @param {HTMLButtonElement} button
   */
  async function revoke(id, covers, row, button) {
    button.disabled = true
    const done = await attempt(() => api.revoke(id), 'It could not be taken back.')
    button.disabled = false
    if (!done) return
    const next = row.nextElementSibling ?? row.previousElementSibling
    row.remove()
    said.textContent = `Asked again from now on: ${covers}`
    showEmpty()
    const focused = next?.querySelector('button') ?? byId('remembered-close', HTMLElement)
    focused.focus()
  }

  function showEmpty() {
    empty.hidden = list.childElementCount > 0
  }
}
