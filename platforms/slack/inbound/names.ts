/**
 * Looks up the names of users and channels. The author of a message is looked up in the background: the next message of the
 * same user has the name. A message waits a moment for the users and channels that its text mentions.
 */
import { createLruCache, type Logger, withTimeout } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { asRecord, recordAt, textAt } from './payload.ts'

export interface Names {
  /** The name of a user or channel; `undefined` when it is unknown. Starts a lookup. */
  get(id: string): string | undefined
  /** Stores a name from an event. */
  set(id: string, name: string): void
  /** Resolves when the names that a payload mentions are known, or cannot be looked up in time. Never rejects. */
  resolveMentions(payload: unknown): Promise<void>
}

const maxNames = 2_000
/** Replies need the rate limit, too. */
const maxPendingLookups = 20
/** Slack expects the acknowledgement of an event within three seconds. */
const resolveTimeoutMs = 1_000

export function createNames(call: ApiCall, log: Logger, signal: AbortSignal): Names {
  /** '' during a lookup, and for ids without a name. */
  const names = createLruCache<string>(maxNames)
  let isUsersScopeMissing = false
  let lookups = Promise.resolve()
  let pending = 0

  return {
    get(id) {
      const name = names.get(id)
      if (name === undefined) lookUp(id)
      return name === '' ? undefined : name
    },
    set: (id, name) => names.set(id, name),
    async resolveMentions(payload) {
      const unknown = mentionedIds(payload).filter((id) => !names.has(id))
      for (const id of unknown) lookUp(id)
      if (unknown.length > 0) await withTimeout(lookups, resolveTimeoutMs, signal)
    },
  }

  /** One lookup at a time. Never rejects. */
  function lookUp(id: string): void {
    if (pending >= maxPendingLookups || !isUserId.test(id) === !isChannelId.test(id)) return
    if (isUsersScopeMissing && isUserId.test(id)) return
    names.set(id, '')
    pending += 1
    lookups = lookups
      .then(() => fetchName(id))
      .finally(() => {
        pending -= 1
      })
  }

  async function fetchName(id: string): Promise<void> {
    if (signal.aborted || (isUsersScopeMissing && isUserId.test(id))) return
    const isUser = isUserId.test(id)
    const result = await (isUser
      ? call('users.info', { user: id }, signal)
      : call('conversations.info', { channel: id }, signal))
    if (!result.ok) {
      const { problem, code, error: reason } = result.failure
      if (isUser && code === 'missing_scope') isUsersScopeMissing = true
      // A refused lookup would fail again.
      else if (problem !== 'rejected') names.delete(id)
      log.debug({ event: 'slack.name_lookup_failed', id, reason }, 'name of a user or channel is unknown')
      return
    }
    const user = recordAt(result.data, 'user')
    const profile = recordAt(user, 'profile')
    const name = isUser
      ? (textAt(profile, 'display_name') ?? textAt(profile, 'real_name') ?? textAt(user, 'name'))
      : textAt(recordAt(result.data, 'channel'), 'name')
    if (name !== undefined) names.set(id, name)
  }
}

const isUserId = /^[UW][A-Z0-9]+$/
const isChannelId = /^[CG][A-Z0-9]+$/

/** The ids without a label in the texts of an event or a slash command. Runs in linear time. */
function mentionedIds(payload: unknown): string[] {
  const body = asRecord(payload)
  const text = JSON.stringify([recordAt(body, 'event'), textAt(body, 'text')])
  const inText = [...text.matchAll(/<[@#]([A-Z0-9]{2,30})\|?>/g)]
  const inBlocks = [...text.matchAll(/"(?:user|channel)_id":"([A-Z0-9]{2,30})"/g)]
  return [...new Set([...inText, ...inBlocks].map(([, id = '']) => id))]
}
