/**
 * The dialog that lists who asks for access, and lets the owner decide. Loaded when it is opened.
 */
import { byId, h } from '../dom.js'
import { createAttempts } from './attempts.js'

/** @typedef {import('../../protocol.ts').WirePairingRequest} WirePairingRequest */

/** @param {Pick<import('../api.js').Api, 'pairingRequests' | 'approvePerson' | 'clearPairingRequests'>} api */
export async function showPairing(api) {
  const dialog = byId('pairing', HTMLDialogElement)
  const list = byId('pairing-list', HTMLElement)
  const empty = byId('pairing-empty', HTMLElement)
  const said = byId('pairing-said', HTMLElement)
  const close = byId('pairing-close', HTMLElement)
  const clear = byId('pairing-clear', HTMLButtonElement)
  const attempt = createAttempts(byId('pairing-trouble', HTMLElement))

  list.replaceChildren()
  empty.hidden = true
  clear.hidden = true
  clear.onclick = () => void clearAll()
  said.textContent = ''
  if (!dialog.open) dialog.showModal()
  await attempt(async () => {
    const requests = await api.pairingRequests()
    list.replaceChildren(...requests.map(createRow))
    showEmpty()
  }, 'The list could not be loaded.')

  /** @param {WirePairingRequest} request */
  function createRow(request) {
    const { platform, userId, userName, createdAt } = request
    const name = userName === '' ? userId : userName
    const since = new Date(createdAt).toLocaleTimeString([], { timeStyle: 'short' })
    // A name may turn the direction of what follows it.
    const person = h('bdi', {}, name)
    const origin = h('span', {}, `${platform}, `, h('bdi', {}, userId), `, since ${since}`)
    const button = h('button', { class: 'quiet', type: 'button', 'aria-label': `Give access: ${name}` }, 'Give access')
    const row = h('li', {}, h('div', {}, person, origin), button)
    button.addEventListener('click', () => void approve(request, name, row, button))
    return row
  }

  /**
   * @param {WirePairingRequest} request
   * @param {string} name
   * @param {HTMLElement} row
   * @param {HTMLButtonElement} button
   */
  async function approve({ platform, requestId }, name, row, button) {
    button.disabled = true
    const done = await attempt(() => api.approvePerson(platform, requestId), 'The person has no access.')
    button.disabled = false
    if (!done) return
    const next = row.nextElementSibling ?? row.previousElementSibling
    row.remove()
    said.textContent = `${name} has access now.`
    showEmpty()
    const focused = next?.querySelector('button') ?? close
    focused.focus()
  }

  async function clearAll() {
    clear.disabled = true
    const done = await attempt(() => api.clearPairingRequests(), 'The requests could not be refused.')
    clear.disabled = false
    if (!done) return
    list.replaceChildren()
    said.textContent = 'All requests were refused.'
    showEmpty()
    close.focus()
  }

  function showEmpty() {
    empty.hidden = list.childElementCount > 0
    clear.hidden = !empty.hidden
  }
}
