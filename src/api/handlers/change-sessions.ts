/**
 * Changes of stored sessions by the person who holds the token: a title, a copy, a removal.
 */
import type { z } from 'zod'
import { dropSessionGrants } from '../../approvals/queries.ts'
import { toTitle } from '../../commands/built-in/title.ts'
import { HermesError } from '../../lib/errors.ts'
import { brand, sessionIdAt } from '../../lib/ids.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import {
  branchSession,
  copySession,
  findCopyEnd,
  findKeyOfSession,
  pinSession,
  renameSession,
} from '../../sessions/conversation-edits.ts'
import { removeLongTexts, removeMessages, removeSession } from '../../sessions/remove-session.ts'
import { sessionById } from '../../sessions/session-queries.ts'
import { epochOptions, findSessionSource, findSessionState } from '../../sessions/session-state.ts'
import { findOpenTurn } from '../../sessions/turns.ts'
import { afterCommit, row, type Transaction } from '../../store/query.ts'
import type { ApiServices } from '../services.ts'
import type { changeBody, forkBody } from '../shapes/sessions.ts'
import { chatOfOwner } from './chat-of-owner.ts'

/** Rejects `sessions/not-found`. */
export async function changeSession(
  { store }: ApiServices,
  id: string,
  { title, pinned }: z.output<typeof changeBody>,
): Promise<void> {
  await store.run(function* () {
    yield* existing(id)
    if (title !== undefined) yield* renameSession(id, toTitle(title))
    if (pinned !== undefined) yield* pinSession(id, pinned)
  })
}

/**
 * Copies what the model knows of a conversation into a new session, and resolves with its id. The conversation itself goes on as it is.
 * Rejects `sessions/not-found`, and `http/bad-request` for a turn that cannot be the end.
 */
export async function forkSession(
  services: ApiServices,
  id: string,
  { title, into, through, before }: z.output<typeof forkBody>,
): Promise<string> {
  const { store, clock } = services
  const newSessionId = sessionIdAt(clock())
  const end = through !== undefined ? { through } : before !== undefined ? { before } : undefined
  const { parent, stop } = await store.run(function* () {
    const parent = yield* existing(id)
    return { parent, stop: end && (yield* findCopyEnd(id, end)) }
  })
  if (end !== undefined && stop === undefined)
    throw new HermesError('http/bad-request', 'The turn is not in this session, or a summary stands for it.')
  const name = title === undefined ? (parent.title === '' ? '' : `${parent.title} (branch)`) : toTitle(title)
  if (into !== undefined)
    await continueIn(services, chatOfOwner(services, into), { from: id, newSessionId, title: name, stop })
  else {
    const { session_key: key, platform, user_id: userId } = parent
    await store.run(() =>
      copySession({ key, source: '', platform, userId, newSessionId, now: clock() }, id, name, stop),
    )
  }
  return newSessionId
}

interface Copy {
  readonly from: string
  readonly newSessionId: string
  readonly title: string
  /** The first ordinal that is not copied. */
  readonly stop: number | undefined
}

/** The copy is the current session of the chat. What the chat had is an earlier session. */
async function continueIn(
  { store, sessions, accountDirectory, clock }: ApiServices,
  source: SessionSource,
  { from, newSessionId, title, stop }: Copy,
): Promise<void> {
  const sessionKey = accountDirectory.sessionKey(source)
  const change = await sessions.changeConversation(sessionKey, {
    *refusal() {
      yield* existing(from)
      return undefined
    },
    *run(now) {
      const before = yield* findSessionState(sessionKey)
      yield* branchSession(epochOptions(source, sessionKey, newSessionId, now), from, title, stop)
      const oldSessionId = before?.session_id ?? null
      yield* afterCommit(() =>
        sessions.sessionReplaced({ sessionKey, source, oldSessionId, newSessionId, reason: 'branch' }),
      )
      return ''
    },
  })
  await store.commit(change, clock)
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
