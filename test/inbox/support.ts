/**
 * An inbox on a new database, and the messages of users.
 */
import type { TestContext } from 'node:test'
import { listUnfinishedEvents } from '../../src/inbox/dead-letters.ts'
import { createInbox, type InboxDeps } from '../../src/inbox/inbox.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { EventKey } from '../../src/message/ids.ts'
import { openReader } from '../../src/store/sqlite/reader.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { openStore } from '../kit/open-store.ts'

export type InboxChanges = Partial<InboxDeps & InboxDeps['accounts']>

export function inboxFor(t: TestContext, changes: InboxChanges = {}) {
  const {
    access = () => ({ allowed: true, reason: 'everybody' }),
    lookUpAuthority = ({ platform, chatType }) => ({ role: 'member', platform, chatType }),
    editPolicyOf = () => 'amend',
    sessionKey = ({ chatId }) => brand(`key:${chatId}`),
    ...overrides
  } = changes
  const { store, path } = openStore(t)
  const reader = openReader(path)
  t.after(() => reader.close())
  const stored = () => reader.rows(listUnfinishedEvents, { limit: 100 })
  const woken: string[] = []
  const settled: string[] = []
  /** Without the trace entries of accepted and refused messages. */
  const emitted: { name: string; context: unknown }[] = []
  const received: { name: string; context: unknown }[] = []
  const inbox = createInbox({
    store,
    clock: createManualClock().now,
    log: silentLog,
    settings: () => ({ inbox: { max_message_kb: 10 }, reset_triggers: [] }),
    lifecycle: { phase: 'ready' },
    storesForNextStart: () => false,
    accounts: { access, lookUpAuthority, editPolicyOf, sessionKey },
    emitsMessageEvents: () => true,
    commands: {
      resolve: (name) => ({ queue: 'control', bypassesHooks: name === 'stop' }),
      bypassesHooks: ({ text }) => text === '/stop',
    },
    questions: { open: { size: 0 }, isPlainAnswer: () => false, isAsking: () => false },
    engine: { isBusy: () => false, wake: (key, lane) => woken.push(`${key} ${lane} ${stored().length}`) },
    running: { paused: () => null },
    stopEvent: async (seq) => void settled.push(`${seq} stop`),
    onWithdrawn: (seq, { status }) => settled.push(`${seq} ${status}`),
    emit: (name, context) => (name.startsWith('message:') ? received : emitted).push({ name, context }),
    failpoint: () => undefined,
    ...overrides,
  })
  return { inbox, stored, woken, settled, emitted, received, store, path }
}

export function message(text: string, more: Partial<MessageEvent> = {}): MessageEvent {
  const source = { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm', userId: 'u' } as const
  return { source, text, messageType: text.startsWith('/') ? 'command' : 'text', timestamp: 1, ...more }
}

export function keys(first: string, ...aliases: string[]): [EventKey, ...EventKey[]] {
  return [brand(first), ...aliases.map((alias) => brand<EventKey>(alias))]
}
