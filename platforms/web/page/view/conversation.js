/**
 * The dialog about one conversation: its name, what it has cost, a copy of it as a file, and its removal. Loaded when it is opened.
 */
import { addressOfChat, chatOf, createId } from '../address.js'
import { byId, h } from '../dom.js'
import { exportMarkdown } from '../export.js'
import { createAttempts } from './attempts.js'
import { offerUndo } from './undo.js'

/** @typedef {import('../../protocol.ts').WireSession} WireSession */

/**
 * @param {object} options
 * @param {Pick<import('../api.js').Api, 'changeConversation' | 'continueIn' | 'deleteConversation' | 'messages' | 'message' | 'trajectory'>} options.api
 * @param {WireSession} options.session
 * @param {() => Promise<void>} options.onChanged
 * @param {(session: WireSession, isLeaving: boolean) => void} options.onLeaving it will be removed, or stays after all
 */
export function showConversation({ api, session, onChanged, onLeaving }) {
  const dialog = byId('conversation', HTMLDialogElement)
  const title = byId('conversation-name', HTMLInputElement)
  const attempt = createAttempts(byId('conversation-trouble', HTMLElement))
  byId('conversation-trouble', HTMLElement).hidden = true
  title.value = session.title
  title.placeholder = session.about
  byId('conversation-facts', HTMLElement).replaceChildren(
    ...factsOf(session).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  )
  byId('conversation-form', HTMLFormElement).onsubmit = (event) => {
    event.preventDefault()
    void change({ title: title.value.trim() }, 'It has its old name.')
  }
  byId('conversation-delete', HTMLButtonElement).onclick = remove
  byId('conversation-markdown', HTMLButtonElement).onclick = () =>
    void attempt(async () => save(await exportMarkdown(api, session), 'md'), 'The conversation could not be saved.')
  byId('conversation-json', HTMLButtonElement).onclick = () =>
    void attempt(async () => save(await api.trajectory(session.id), 'json'), 'The conversation could not be saved.')
  const pin = byId('conversation-pin', HTMLButtonElement)
  pin.textContent = session.pinned ? 'Unpin' : 'Pin'
  pin.onclick = () => void change({ pinned: !session.pinned }, 'It stays where it is.')
  byId('conversation-copy', HTMLButtonElement).onclick = () =>
    void attempt(async () => {
      const chat = createId()
      await api.continueIn(session.id, chat)
      location.assign(addressOfChat(chat))
    }, 'It could not be copied.')
  byId('conversation-close', HTMLButtonElement).onclick = () => dialog.close()
  dialog.showModal()

  /** @param {{ title?: string, pinned?: boolean }} wanted @param {string} failure */
  async function change(wanted, failure) {
    const isSame = wanted.title === session.title
    if (!isSame && !(await attempt(() => api.changeConversation(session.id, wanted), failure))) return
    dialog.close()
    await onChanged()
  }

  function remove() {
    dialog.close()
    onLeaving(session, true)
    const isOpen = session.is_current && session.platform === 'web' && session.chat_id === chatOf(location)
    offerUndo({
      text: `Deleted: ${session.title || session.about}`,
      isOpen,
      undo: () => onLeaving(session, false),
      act: async () => {
        await api.deleteConversation(session.id)
        if (isOpen) location.assign(addressOfChat(chatOf(location)))
      },
      failed: () => onLeaving(session, false),
    })
  }

  /** @param {Blob} content @param {string} extension */
  function save(content, extension) {
    const link = h('a', { href: URL.createObjectURL(content), download: `${fileName(session)}.${extension}` })
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }
}

/** @param {WireSession} session @returns {[string, string][]} */
function factsOf({ platform, chat_name, message_count, input_tokens, output_tokens, cost, created_at, id }) {
  const tokens = `${input_tokens.toLocaleString()} read, ${output_tokens.toLocaleString()} written`
  return [
    ['Where', chat_name ? `${platform}, ${chat_name}` : platform],
    ['Since', new Date(created_at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })],
    ['Messages', message_count.toLocaleString()],
    ['Tokens', tokens],
    ...(cost > 0 ? /** @type {[string, string][]} */ ([['Cost', `$${cost.toFixed(cost < 1 ? 4 : 2)}`]]) : []),
    ['Number', id],
  ]
}

/** @param {WireSession} session */
function fileName({ title, about, id }) {
  const name = (title || about)
    .replace(/[^\p{L}\p{N} _-]+/gu, '')
    .trim()
    .slice(0, 60)
  return name || id
}
