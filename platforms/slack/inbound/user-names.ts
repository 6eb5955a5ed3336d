/**
 * Names of people, looked up behind the scenes: a message never waits for one, the next of the same person has it.
 */
import { createLruCache, type Logger } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { recordAt, textAt } from './payload.ts'

export interface UserNames {
  /** Undefined where it is not known yet; then it is looked up. */
  get(userId: string): string | undefined
  /** Slack has told it with an event. */
  set(userId: string, name: string): void
}

export interface UserNamesDeps {
  readonly call: ApiCall
  readonly log: Logger
  readonly signal: AbortSignal
}

export function createUserNames({ call, log, signal }: UserNamesDeps): UserNames {
  /** '' while it is looked up, and where there is none. */
  const names = createLruCache<string>(2_000)
  let allowed = true
  let lookups = Promise.resolve()
  let waiting = 0

  return {
    get(userId) {
      const name = names.get(userId)
      if (name === undefined) lookUp(userId)
      return name === '' ? undefined : name
    },
    set: (userId, name) => names.set(userId, name),
  }

  /** One at a time, and not many: names are a courtesy, the rate is needed for answers. */
  function lookUp(userId: string): void {
    if (!allowed || waiting >= 20 || !/^[UW][A-Z0-9]+$/.test(userId)) return
    names.set(userId, '')
    waiting += 1
    lookups = lookups
      .then(() => ask(userId))
      .finally(() => {
        waiting -= 1
      })
  }

  async function ask(userId: string): Promise<void> {
    if (!allowed || signal.aborted) return
    const answer = await call('users.info', { user: userId }, signal)
    if (!answer.ok) {
      if (answer.failure.code === 'missing_scope') allowed = false
      else names.delete(userId)
      log.debug({ error: answer.failure.error }, 'the name of a person is not known')
      return
    }
    const user = recordAt(answer.data, 'user')
    const profile = recordAt(user, 'profile')
    const name = textAt(profile, 'display_name') ?? textAt(profile, 'real_name') ?? textAt(user, 'name')
    if (name !== undefined) names.set(userId, name)
  }
}
