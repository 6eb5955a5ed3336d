/**
 * Looks up the names of users in the background. A message does not wait for a name; the next one of the same user has it.
 */
import { createLruCache, type Logger } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { recordAt, textAt } from './payload.ts'

export interface UserNames {
  /** `undefined` when the name is unknown. Starts a lookup. */
  get(userId: string): string | undefined
  /** Stores a name from an event. */
  set(userId: string, name: string): void
}

export interface UserNamesDeps {
  readonly call: ApiCall
  readonly log: Logger
  readonly signal: AbortSignal
}

export function createUserNames({ call, log, signal }: UserNamesDeps): UserNames {
  /** '' during a lookup and for users without a name. */
  const names = createLruCache<string>(2_000)
  let isAllowed = true
  let lookups = Promise.resolve()
  let pending = 0

  return {
    get(userId) {
      const name = names.get(userId)
      if (name === undefined) lookUp(userId)
      return name === '' ? undefined : name
    },
    set: (userId, name) => names.set(userId, name),
  }

  /** One lookup at a time and few pending ones, because replies need the rate limit. */
  function lookUp(userId: string): void {
    if (!isAllowed || pending >= 20 || !/^[UW][A-Z0-9]+$/.test(userId)) return
    names.set(userId, '')
    pending += 1
    lookups = lookups
      .then(() => fetchName(userId))
      .finally(() => {
        pending -= 1
      })
  }

  async function fetchName(userId: string): Promise<void> {
    if (!isAllowed || signal.aborted) return
    const result = await call('users.info', { user: userId }, signal)
    if (!result.ok) {
      if (result.failure.code === 'missing_scope') isAllowed = false
      else names.delete(userId)
      log.debug({ event: 'slack.name_lookup_failed', reason: result.failure.error }, 'name of a user is unknown')
      return
    }
    const user = recordAt(result.data, 'user')
    const profile = recordAt(user, 'profile')
    const name = textAt(profile, 'display_name') ?? textAt(profile, 'real_name') ?? textAt(user, 'name')
    if (name !== undefined) names.set(userId, name)
  }
}
