/**
 * The dialog that lists who asks for access, and lets the owner decide. Loaded when it is opened.
 */
import { byId, h } from '../dom.js'
import { createAttempts } from './attempts.js'

/** @typedef {import('../../protocol.ts').WirePairingRequest} WirePairingRequest */

/** @param {Pick<import('../api.js').Api, 'pairingRequests' | 'approvePerson' | 'denyPerson' | 'clearPairingRequests'>} api */
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
    const { platform, requestId } = request
    const { name, about } = describePerson(request)
    const give = createButton('Give access', name)
    const refuse = createButton('Refuse', name)
    const buttons = [give, refuse]
    const row = h('li', {}, about, h('div', { class: 'choices' }, ...buttons))
    const approve = () => api.approvePerson(platform, requestId)
    const deny = () => api.denyPerson(platform, requestId)
    const gone = `The request of ${name} was refused.`
    give.addEventListener(
      'click',
      () => void decide(approve, row, buttons, 'The person has no access.', `${name} has access now.`),
    )
    refuse.addEventListener('click', () => void decide(deny, row, buttons, 'The request could not be refused.', gone))
    return row
  }

  /**
   * @param {() => Promise<void>} act
   * @param {HTMLElement} row
   * @param {HTMLButtonElement[]} buttons
   * @param {string} trouble said when it failed
   * @param {string} result said when it is done
   */
  async function decide(act, row, buttons, trouble, result) {
    for (const button of buttons) button.disabled = true
    const done = await attempt(act, trouble)
    for (const button of buttons) button.disabled = false
    if (!done) return
    const next = row.nextElementSibling ?? row.previousElementSibling
    row.remove()
    said.textContent = result
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

  /**
   * @param {string} label
   * @param {string} name
   */
  function createButton(label, name) {
    return h('button', { class: 'quiet', type: 'button', 'aria-label': `${label}: ${name}` }, label)
  }

  function showEmpty() {
    empty.hidden = list.childElementCount > 0
    clear.hidden = !empty.hidden
  }
}

/** Names the person who asks. @param {WirePairingRequest} request */
export function describePerson({ platform, userId, userName, createdAt }) {
  const name = userName === '' ? userId : userName
  const since = new Date(createdAt).toLocaleTimeString([], { timeStyle: 'short' })
  // A name may turn the direction of what follows it.
  const person = h('bdi', {}, name)
  const origin = h('span', {}, `${platform}, `, h('bdi', {}, userId), `, since ${since}`)
  return { name, about: h('div', {}, person, origin) }
}
