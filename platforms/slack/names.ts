/**
 * Names of people, looked up behind the scenes: a message never waits for one, the next of the same person has it.
 */
import { createRecent, type Logger } from '#sdk'
import { fieldsIn, textIn } from './payload.ts'
import type { SlackCall } from './web.ts'

export interface Names {
  /** Undefined where it is not known yet; then it is looked up. */
  of(userId: string): string | undefined
  /** Slack has told it with an event. */
  learn(userId: string, name: string): void
}

export interface NamesDeps {
  readonly call: SlackCall
  readonly log: Logger
  readonly signal: AbortSignal
}

export function createNames({ call, log, signal }: NamesDeps): Names {
  /** '' while it is looked up, and where there is none. */
  const names = createRecent<string>(2_000)
  let allowed = true
  let lookups = Promise.resolve()
  let waiting = 0

  return {
    of(userId) {
      const name = names.get(userId)
      if (name === undefined) lookUp(userId)
      return name === '' ? undefined : name
    },
    learn: (userId, name) => names.set(userId, name),
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
    const user = fieldsIn(answer.data, 'user')
    const profile = fieldsIn(user, 'profile')
    const name = textIn(profile, 'display_name') ?? textIn(profile, 'real_name') ?? textIn(user, 'name')
    if (name !== undefined) names.set(userId, name)
  }
}
