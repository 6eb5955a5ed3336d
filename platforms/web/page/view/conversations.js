/**
 * The list of conversations beside the chat: all platforms, the one that was used last first, with a search in their texts.
 */
import { addressOf } from '../address.js'
import { byId, h, setText } from '../dom.js'
import { icon } from '../icons.js'
import { clockTime, dayName, dayNumber } from '../time.js'
import { createAttempts } from './attempts.js'

/** @typedef {import('../../protocol.ts').WireSession} WireSession */

/** A pause in typing after which the search begins, ms. */
const searchPauseMs = 200

/**
 * @param {object} options
 * @param {Pick<import('../api.js').Api, 'conversations' | 'changeConversation' | 'continueIn' | 'deleteConversation' | 'messages' | 'message' | 'trajectory'>} options.api
 * @param {(session: WireSession) => boolean} options.isOpen whether this page shows it
 * @param {() => number} options.now
 * @param {(session: WireSession) => void} options.onOpen tells what is known of it
 */
export function createConversations({ api, isOpen, now, onOpen }) {
  const list = byId('conversations-list', HTMLElement)
  const search = byId('conversations-search', HTMLInputElement)
  const more = byId('conversations-more', HTMLButtonElement)
  const empty = byId('conversations-empty', HTMLElement)
  const attempt = createAttempts(byId('conversations-trouble', HTMLElement))
  /** @type {Map<string, WireSession>} */
  let sessions = new Map()
  /** @type {readonly WireSession[]} */
  let pinned = []
  /** @type {string | null} */
  let next = null
  /** Sessions that are removed when the person does not take it back. @type {Set<string>} */
  const leaving = new Set()
  let request = 0
  /** The words of the search that the list answers. */
  let listed = ''
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing

  search.addEventListener('input', () => {
    clearTimeout(typing)
    typing = setTimeout(() => void refresh(), searchPauseMs)
  })
  more.addEventListener('click', () => void load(next ?? undefined))
  list.addEventListener('keydown', moveByArrows)

  return { refresh }

  /** Reads the first page again. */
  async function refresh() {
    await load(undefined)
  }

  /** @param {string | undefined} cursor */
  async function load(cursor) {
    request += 1
    const mine = request
    await attempt(async () => {
      const words = search.value.trim()
      const { page, top } = await readPage(api, words, cursor)
      // A later request answers a newer question.
      if (mine !== request) return
      pinned = top ?? pinned
      // A first page that is read again comes before the pages that were loaded.
      const isAgain = cursor === undefined && words === listed && sessions.size > page.sessions.length
      const shown = new Set([...pinned, ...page.sessions].map(({ id }) => id))
      const others = [...sessions.values()].filter(({ id }) => !shown.has(id))
      const earlier = cursor === undefined && !isAgain ? [] : others
      const rows = cursor === undefined ? [...page.sessions, ...earlier] : [...earlier, ...page.sessions]
      sessions = new Map(rows.map((session) => [session.id, session]))
      if (!isAgain) next = page.next_cursor
      listed = words
      render()
      const open = [...pinned, ...sessions.values()].find(isOpen)
      if (open !== undefined) onOpen(open)
    }, 'The conversations could not be loaded.')
  }

  function render() {
    const today = now()
    let day = ''
    /** @type {HTMLElement[]} */
    const rows = []
    for (const session of [...pinned, ...sessions.values()]) {
      if (session.message_count === 0 || leaving.has(session.id)) continue
      const at = Date.parse(session.updated_at)
      const isTop = pinned.includes(session)
      const named = isTop ? 'Pinned' : dayNumber(today) - dayNumber(at) < 7 ? dayName(at, today) : monthName(at)
      if (named !== day) rows.push(h('li', { class: 'group' }, named))
      day = named
      rows.push(createRow(session, isOpen(session), showAbout))
    }
    const focused = document.activeElement?.closest('#conversations-list li')?.getAttribute('data-id')
    list.replaceChildren(...rows)
    if (focused != null) findRow(focused)?.focus()
    more.hidden = next === null
    empty.hidden = rows.length > 0
    setText(
      empty,
      search.value.trim() === ''
        ? 'Your conversations appear here, from all platforms.'
        : 'No conversation contains these words.',
    )
  }

  /** @param {string} id */
  function findRow(id) {
    const link = list.querySelector(`li[data-id="${CSS.escape(id)}"] a`)
    return link instanceof HTMLElement ? link : undefined
  }

  /** @param {WireSession} session */
  async function showAbout(session) {
    const { showConversation } = await import('./conversation.js')
    showConversation({ api, session, onChanged: refresh, onLeaving })
  }

  /** @param {WireSession} session @param {boolean} isLeaving */
  function onLeaving(session, isLeaving) {
    if (isLeaving) leaving.add(session.id)
    else leaving.delete(session.id)
    render()
  }

  /** @param {KeyboardEvent} event */
  function moveByArrows(event) {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    const links = [...list.querySelectorAll('a')]
    const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement))
    const target = links[at + step]
    if (at === -1 || target === undefined) return
    event.preventDefault()
    target.focus()
  }
}

/**
 * @param {Pick<import('../api.js').Api, 'conversations'>} api
 * @param {string} words
 * @param {string | undefined} cursor
 * @returns {Promise<{ page: Awaited<ReturnType<import('../api.js').Api['conversations']>>, top?: readonly WireSession[] }>}
 */
async function readPage(api, words, cursor) {
  // A search finds pinned conversations among the others.
  if (words !== '') return { page: await api.conversations(words, cursor), top: [] }
  if (cursor !== undefined) return { page: await api.conversations('', cursor, false) }
  const [page, { sessions: top }] = await Promise.all([
    api.conversations('', undefined, false),
    api.conversations('', undefined, true),
  ])
  return { page, top }
}

/**
 * @param {WireSession} session
 * @param {boolean} isOpen
 * @param {(session: WireSession) => Promise<void>} showAbout
 */
function createRow(session, isOpen, showAbout) {
  const name = h('bdi', { class: 'name' }, session.title || session.about || 'Without words')
  const origin =
    session.platform === 'web' ? '' : `${session.platform}${session.chat_name ? ` · ${session.chat_name}` : ''} · `
  const facts = h('span', { class: 'facts' }, origin, clockTime(Date.parse(session.updated_at)))
  const link = h('a', { href: addressOf(session), 'aria-current': isOpen && 'page' }, name, facts)
  if (session.match) link.append(h('span', { class: 'excerpt' }, ...marked(session.match.excerpt)))
  const button = h(
    'button',
    { class: 'quiet', type: 'button', 'aria-label': `About ${name.textContent}` },
    icon('more'),
  )
  button.addEventListener('click', () => void showAbout(session))
  return h('li', { 'data-id': session.id }, link, button)
}

const months = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' })

/** @param {number} at */
function monthName(at) {
  return months.format(at)
}

/** The words between « and » are marked. @param {string} excerpt */
function marked(excerpt) {
  return excerpt.split(/«([^»]*)»/).map((part, index) => (index % 2 === 0 ? part : h('mark', {}, part)))
}
