/**
 * Puts two dead letters into a home: a message of the inbox and a reply of the outbox.
 */
import { acceptEvent, markEventDead } from '../../src/inbox/queries.ts'
import type { HomeLayout } from '../../src/lib/home.ts'
import { insertRow } from '../../src/outbox/queries.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'

export interface SeedResult {
  /** The number of the message. */
  readonly seq: number
  /** The number of the reply. */
  readonly id: number
}

/** The caller sets the text of the message. Its chat is `cli:seeded`. */
export async function seedHome(home: HomeLayout, text = 'Reply exactly seeded'): Promise<SeedResult> {
  const store = createSqliteStore({ path: home.databaseFile })
  try {
    return await store.run(() => seeds(text, Date.now()))
  } finally {
    await store.close()
  }
}

const chat = { platform: 'cli', account: 'default', chatId: 'seeded' }

function* seeds(text: string, now: number) {
  const sessionKey = 'agent:main:cli:dm:seeded'
  const source = { ...chat, chatType: 'dm', userId: 'owner' }
  const payload = JSON.stringify({ source, text, messageType: 'text', timestamp: now })
  const event = { sessionKey, lane: 'turn' as const, kind: 'text', ...chat, payload }
  const { seq } = yield* acceptEvent(event, [`seed:${now}`], now)
  const outcome = {
    status: 'failed' as const,
    text: '',
    sessionId: '',
    model: '',
    usage: { inputTokens: 0, outputTokens: 0 },
  }
  yield* markEventDead(seq, 'it failed three times', outcome)
  const letter = {
    key: `seed:${now}`,
    platform: chat.platform,
    account: chat.account,
    chat_id: chat.chatId,
    thread_id: '',
    session_key: sessionKey,
    turn_id: null,
    kind: 'reply' as const,
    op: 'send' as const,
    target: null,
    text: 'an undelivered reply',
    reply_to: null,
    state: 'dead' as const,
    platform_id: null,
  }
  const id = (yield* insertRow(letter, now)) ?? 0
  return { seq, id }
}
