/**
 * Tells people who write while the gateway finishes its turns before it stops that their message waits for the next start.
 * Loaded with the first such message.
 */
import type { Logger } from '../../lib/log.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { type SessionSource, targetOf } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Store } from '../../store/store.ts'
import type { DisplayConfig } from '../turn/config.ts'
import { isInteractive } from './decide.ts'

export interface DrainNoticesDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  sessionKeyOf(source: SessionSource): SessionKey
  readonly settings: () => DisplayConfig
  readonly clock: () => number
  readonly log: Logger
}

/** Each conversation is told once. Never rejects. */
export function createDrainNotices(deps: DrainNoticesDeps): (event: MessageEvent) => Promise<void> {
  const { store, outbox, settings, clock, log } = deps
  const told = new Set<SessionKey>()

  return async (event) => {
    const target = targetOf(event.source)
    if (!isInteractive(event) || !settings().display.busy_ack_enabled) return
    const key = deps.sessionKeyOf(event.source)
    if (told.has(key)) return
    told.add(key)
    const notice = outbox.prepare({ key: `drain:${clock()}:${key}`, target, kind: 'notice', text: drainText })
    try {
      await store.commit(notice, clock)
    } catch (error) {
      log.error({ event: 'inbox.drain_not_announced', session: key, err: error }, 'a notice could not be stored')
    }
  }
}

const drainText = '⏳ The gateway is about to stop. Your message is stored: I read it when the gateway runs again.'
