/**
 * The last step of connecting a chat: how people reach the bot, and who wrote to it first.
 */
import { createButton } from '../dashboard/section.js'
import { h, setText } from '../dom.js'
import { stateOf } from './connect-steps.js'
import { describePerson } from './pairing.js'
import { createQrCode } from './qr-code.js'

/** @typedef {import('../../protocol.ts').WirePlatform} WirePlatform */
/** @typedef {import('../../protocol.ts').WirePairingRequest} WirePairingRequest */

/** While the person writes to the bot. */
const pollMs = 2_000

/**
 * @param {import('./connect-steps.js').Steps} steps
 * @param {import('../../protocol.ts').WirePlatformForm} platform
 * @param {import('../../protocol.ts').WireTriedPlatform['invitation']} invitation
 * @param {() => unknown} onBack
 */
export function showFirstMessage({ api, attempt, show, close }, platform, invitation, onBack) {
  const { name, label, asks_for_access: asks } = platform
  const state = h('p', { class: 'state', role: 'status' }, `Connecting to ${label}`)
  const people = h('ul', { class: 'people' })
  const done = createButton('Done', close, { isMain: true })
  const content = [...(invitation === undefined ? [] : [createInvitation(invitation)]), state, people]
  let isDecided = false
  const heading = `Write to ${invitation?.name ?? 'the bot'} now`
  void watch(show(heading, content, [createButton('Back', onBack), done]))

  /** @param {AbortSignal} signal */
  async function watch(signal) {
    while (!signal.aborted) {
      if (!document.hidden) await attempt(() => look(signal), 'The gateway could not be asked.')
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }

  /** @param {AbortSignal} signal */
  async function look(signal) {
    /** @type {[{ platforms: readonly WirePlatform[] }, WirePairingRequest[]]} */
    const [{ platforms }, requests] = await Promise.all([api.request('/api/setup/platforms'), api.pairingRequests()])
    const now = platforms.find((candidate) => candidate.name === name)
    if (signal.aborted || now === undefined) return
    for (const request of requests) {
      const id = `person-${request.requestId}`
      if (request.platform === name && document.getElementById(id) === null) people.append(createRow(request, id))
    }
    if (!isDecided) setText(state, now.state === 'connected' ? waitingText() : stateOf(now))
  }

  function waitingText() {
    if (people.childElementCount > 0) return 'Is this you? Compare the name and the id.'
    return asks
      ? 'Connected. Say hello to it: the people who write appear here. If it answers at once, you have access already.'
      : 'Connected. Only people on the allow list get an answer.'
  }

  /** @param {WirePairingRequest} request @param {string} id */
  function createRow(request, id) {
    const { name: person, about } = describePerson(request)
    const { requestId } = request
    const row = h('li', { id }, about)
    /** @param {string} text @param {() => Promise<void>} act @param {string} result @param {boolean} [isMain] */
    const choice = (text, act, result, isMain = false) =>
      createButton(text, () => decide(row, act, result), { name: `${text}: ${person}`, isMain })
    const choices = [
      choice(
        'This is me, the owner',
        () => api.approvePerson(name, requestId, 'owner'),
        `${person} is an owner. Write again: Hermes answers.`,
        true,
      ),
      choice('A member', () => api.approvePerson(name, requestId, 'member'), `${person} has access now, as a member.`),
      choice('Refuse', () => api.denyPerson(name, requestId), `The request of ${person} was refused.`),
    ]
    row.append(h('div', { class: 'choices' }, ...choices))
    return row
  }

  /** @param {HTMLElement} row @param {() => Promise<void>} act @param {string} result */
  async function decide(row, act, result) {
    for (const button of row.querySelectorAll('button')) button.disabled = true
    const isDone = await attempt(act, 'That did not work.')
    for (const button of row.querySelectorAll('button')) button.disabled = false
    if (!isDone) return
    isDecided = true
    row.remove()
    setText(state, result)
    done.focus()
  }
}

/** @param {NonNullable<import('../../protocol.ts').WireTriedPlatform['invitation']>} invitation */
function createInvitation({ name, url, advice }) {
  const link = h('a', { href: url, target: '_blank', rel: 'noreferrer' }, `Open ${name}`)
  return h('div', { class: 'invitation' }, createQrCode(url), h('div', {}, link, h('p', {}, advice)))
}
