/**
 * Goes on from an earlier message in a chat of its own. The conversation itself stays as it is.
 */
import { addressOfChat, createId } from './address.js'
import { ApiError } from './api.js'

/** @typedef {import('./items.js').UserItem | import('./items.js').AgentItem} MessageItem */

/** What `GET /api/trace` calls the message: its turn, or its number in the inbox. @param {MessageItem} item */
export function subjectOf({ turnId, entryId = '' }) {
  return turnId || String(Number(/-i(\d+)$/.exec(entryId)?.[1] ?? Number.NaN))
}

/**
 * Copies what was said up to a message into a new chat, and resolves with the chat.
 *
 * @param {Pick<import('./api.js').Api, 'trace' | 'continueIn'>} api
 * @param {MessageItem} item
 * @param {'through' | 'before'} end whether the copy has the turn of the message
 */
export async function branchFrom(api, item, end) {
  const chat = createId()
  const turn =
    item.session === undefined ? (await api.trace(subjectOf(item))).turn : { id: item.turnId, sessionId: item.session }
  if (turn === null || turn.id === '')
    throw new ApiError(409, 'The message has no turn.', 'Commands and messages that wait cannot begin a branch.')
  await api.continueIn(turn.sessionId, chat, { [end]: turn.id })
  return chat
}

/**
 * A changed message is sent in a branch that has what came before it.
 *
 * @param {object} options
 * @param {Pick<import('./api.js').Api, 'trace' | 'continueIn'>} options.api
 * @param {MessageItem} options.item
 * @param {string} options.text
 * @param {readonly import('./uploads.js').LocalFile[]} options.files
 * @param {import('./storage.js').Store} options.storage
 */
export async function sendInBranch({ api, item, text, files, storage }) {
  const chat = await branchFrom(api, item, 'before')
  // The page of the new chat sends what it finds there.
  storage.set(`unsent.${chat}`, JSON.stringify([{ id: createId(), text, at: Date.now(), files }]))
  location.assign(addressOfChat(chat))
}
