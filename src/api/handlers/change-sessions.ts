/**
 * Changes of stored sessions by the person who holds the token: a title, a copy, a removal.
 */
import { dropSessionGrants } from '../../approvals/queries.ts'
import { toTitle } from '../../commands/built-in/title.ts'
import { HermesError } from '../../lib/errors.ts'
import { brand, sessionIdAt } from '../../lib/ids.ts'
import type { SessionKey } from '../../message/ids.ts'
import { copySession, findKeyOfSession, renameSession } from '../../sessions/conversation-edits.ts'
import { removeLongTexts, removeMessages, removeSession } from '../../sessions/remove-session.ts'
import { sessionById } from '../../sessions/session-queries.ts'
import { findSessionSource } from '../../sessions/session-state.ts'
import { findOpenTurn } from '../../sessions/turns.ts'
import { row, type Transaction } from '../../store/query.ts'
import type { ApiServices } from '../services.ts'

/** Rejects `sessions/not-found`. */
export async function setTitle({ store }: ApiServices, id: string, title: string): Promise<void> {
  await store.run(function* () {
    yield* existing(id)
    yield* renameSession(id, toTitle(title))
  })
}

/**
 * Copies what the model knows of a conversation into a new session, and resolves with its id. No conversation is changed: the copy is
 * an earlier session, which `/resume` opens. Rejects `sessions/not-found`.
 */
export async function forkSession(
  { store, clock }: ApiServices,
  id: string,
  title: string | undefined,
): Promise<string> {
  const now = clock()
  const newSessionId = sessionIdAt(now)
  await store.run(function* () {
    const parent = yield* existing(id)
    const { session_key: key, platform, user_id: userId } = parent
    const name = title === undefined ? (parent.title === '' ? '' : `${parent.title} (branch)`) : toTitle(title)
    yield* copySession({ key, source: '', platform, userId, newSessionId, now }, id, name)
  })
  return newSessionId
}

/** So few that a turn does not wait long for its own write. */
const messagesPerStep = 200

/**
 * Removes a session with its messages. The conversation of a current session begins a new one. Rejects `sessions/not-found`, and
 * `sessions/busy` while a turn of it is open. After an interruption, the same request removes the rest.
 */
export async function deleteSession({ store, sessions }: ApiServices, id: string): Promise<void> {
  const conversation = await store.run(() => findIdleConversation(id))
  if (conversation !== undefined) await sessions.resetSession(conversation.key, conversation.source, '')
  const isUnused = function* () {
    if ((yield* findKeyOfSession(id)) !== undefined) throw new HermesError('sessions/busy', `(${id})`)
  }
  await store.run(function* () {
    yield* isUnused()
    yield* removeLongTexts(id)
  })
  for (let removed = messagesPerStep; removed === messagesPerStep; )
    removed = await store.run(function* () {
      yield* isUnused()
      return yield* removeMessages(id, messagesPerStep)
    })
  await store.run(function* () {
    yield* isUnused()
    yield* dropSessionGrants(id)
    yield* removeSession(id)
  })
}

/** The conversation whose current session this is. */
function* findIdleConversation(id: string) {
  const { session_key } = yield* existing(id)
  // A turn belongs to the conversation; an earlier session has none.
  const current = yield* findKeyOfSession(id)
  if (current === undefined) return undefined
  if ((yield* findOpenTurn(current)) !== undefined) throw new HermesError('sessions/busy', `(${id})`)
  const source = yield* findSessionSource(current)
  if (source === undefined) throw new Error(`the conversation ${session_key} has no source`)
  return { key: brand<SessionKey>(current), source }
}

function* existing(id: string): Transaction<NonNullable<(typeof sessionById)['types']>['row']> {
  const session = yield* row(sessionById, { id })
  if (session === undefined) throw new HermesError('sessions/not-found', `(${JSON.stringify(id.slice(0, 200))})`)
  return session
}
