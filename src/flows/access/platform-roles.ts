/**
 * The roles that people hold on their platform: looked up at the adapter when a person's role depends on them, and kept for
 * a limited time. What cannot be looked up is unknown, and the person gets the lower role. Loaded with the first lookup.
 */

import { createLruCache } from '../../lib/cache.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { linkAbortSignal, withTimeout } from '../../lib/timers.ts'
import type { SessionSource } from '../../message/source.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'

export interface PlatformRoles {
  /** Undefined if it is not known, or no longer. */
  holds(source: SessionSource, name: string): boolean | undefined
  /** Resolves when the roles are known, or cannot be looked up in time. Never rejects. */
  lookUp(source: SessionSource, names: readonly string[]): Promise<void>
}

const maxKnown = 5_000
/** How long a role that was taken away on the platform still counts. */
const knownMs = 300_000
/** After a failure, a platform is not asked about the same person again for this time. */
const failedMs = 15_000
const timeoutMs = 2_000
/** Lookups at the same time. More than that are refused, so that a flood of messages does not use up the rate limit. */
const maxPending = 32

interface Known {
  readonly held: boolean | undefined
  readonly until: number
}

export function createPlatformRoles({
  adapter,
  clock,
  log,
}: {
  adapter(of: Pick<SessionSource, 'platform' | 'account'>): Pick<PlatformAdapter, 'heldRoles'> | undefined
  readonly clock: () => number
  readonly log: Logger
}): PlatformRoles {
  const known = createLruCache<Known>(maxKnown)
  const pending = new Map<string, Promise<void>>()

  function current(source: SessionSource, name: string): Known | undefined {
    const entry = known.get(keyOf(source, name))
    return entry !== undefined && entry.until > clock() ? entry : undefined
  }

  async function ask(source: SessionSource, names: readonly string[]): Promise<void> {
    const { platform, account, userId } = source
    const remember = (held: (name: string) => boolean | undefined, ms: number) => {
      for (const name of names) known.set(keyOf(source, name), { held: held(name), until: clock() + ms })
    }
    const limit = linkAbortSignal()
    try {
      const connected = adapter(source)
      if (connected === undefined) throw new Error('the account is not connected')
      if (connected.heldRoles === undefined) throw new Error('the adapter cannot look up roles')
      const answer = await withTimeout(connected.heldRoles(source, names, limit.signal), timeoutMs)
      if (!answer.done) throw new Error(`no response within ${timeoutMs / 1_000} s`)
      remember((name) => answer.value.includes(name), knownMs)
    } catch (error) {
      remember(() => undefined, failedMs)
      log.warn(
        { event: 'roles.lookup_failed', err: error, platform, account, user: userId },
        `roles on the platform cannot be looked up, so the person gets the lower role: ${messageOf(error)}`,
      )
    } finally {
      limit.abort()
    }
  }

  return {
    holds: (source, name) => current(source, name)?.held,
    async lookUp(source, names) {
      const due = names.filter((name) => current(source, name) === undefined)
      if (due.length === 0) return
      const key = keyOf(source, due.join(' '))
      const running = pending.get(key)
      if (running !== undefined) return await running
      if (pending.size >= maxPending) {
        const { platform, account } = source
        log.warn({ event: 'roles.lookup_refused', platform, account, limit: maxPending }, 'too many lookups of roles')
        return
      }
      const work = ask(source, due).finally(() => pending.delete(key))
      pending.set(key, work)
      await work
    },
  }
}

/** A role is held in a server, a workspace or a chat. */
function keyOf({ platform, account, userId, scopeId, parentChatId, chatId }: SessionSource, name: string): string {
  return JSON.stringify([platform, account, userId, scopeId ?? parentChatId ?? chatId, name])
}
