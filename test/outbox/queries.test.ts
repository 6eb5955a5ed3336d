import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { dropDeadLetter, listDeadLetters, retryDeadLetter } from '../../src/outbox/dead-letters.ts'

import {
  claimRow,
  deleteDraft,
  findHeadOfChat,
  insertRow,
  pruneOutbox,
  recoverRows,
  storeDeliveryResult,
  storeDraft,
} from '../../src/outbox/queries.ts'
import type { Transaction } from '../../src/store/query.ts'
import type { Database } from '../../src/store/schema.ts'
import { openStore } from '../kit/open-store.ts'

const chat = { platform: 'fake', account: 'default', chatId: 'chat' }
const row = {
  key: 'key',
  platform: 'fake',
  account: 'default',
  chat_id: 'chat',
  thread_id: '',
  session_key: null,
  turn_id: null,
  kind: 'reply',
  op: 'send',
  target: null,
  text: 'hello',
  reply_to: null,
  state: 'queued',
  platform_id: null,
} as const
const deliveryResult = { id: 1, state: 'sent', op: 'send', target: null, doubt: 0, tries: 0, due_at: 0 } as const

test('no statement of a running outbox reads the whole table', (t) => {
  const db = new DatabaseSync(openStore(t).path)
  t.after(() => db.close())
  const builder = new Kysely<Database>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
  const plansOf = (useCase: Transaction<unknown>): string[] => {
    const plans: string[] = []
    for (let step = useCase.next(); !step.done; step = useCase.next([])) {
      assert.ok('query' in step.value)
      const { sql, parameters } = step.value.query.build(builder)
      const plan = db.prepare(`explain query plan ${sql}`).all(...parameters.map(() => 1))
      plans.push(...plan.map(({ detail }) => String(detail)))
    }
    return plans
  }
  const plans = [
    insertRow(row, 0),
    findHeadOfChat(chat),
    claimRow(1, 0),
    storeDeliveryResult({ ...deliveryResult, platform_id: null, error: null }, 0),
    recoverRows(12, 0),
    listDeadLetters(10),
    retryDeadLetter(1, 0),
    dropDeadLetter(1, 0),
    storeDraft({ turn_id: 'turn', part: 0, platform_id: 'm1' }, chat, 0),
    deleteDraft('turn', 0),
  ].flatMap(plansOf)
  assert.ok(plans.some((plan) => plan.includes('outbox_open (platform=? AND account=? AND chat_id=?)')))
  assert.deepEqual(
    plans.filter((plan) => /^SCAN/.test(plan) && !/USING (COVERING )?INDEX outbox_(open|dead)/.test(plan)),
    [],
  )
  assert.deepEqual(
    plansOf(pruneOutbox(0, 10)).filter((plan) => /^SCAN outbox/.test(plan) || /TEMP B-TREE/.test(plan)),
    [],
  )
})
