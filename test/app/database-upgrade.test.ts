/**
 * The start of a gateway whose database was written by an older version.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { migrations } from '../../src/store/migrations/index.ts'
import { startTestGateway } from '../kit/start-gateway.ts'

test('the first start with an older database logs the upgrade and where the copy is', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare: ({ databaseFile }) => {
      const db = new DatabaseSync(databaseFile)
      db.exec(`${migrations.slice(0, 6).join('')}; pragma user_version = 6`)
      db.close()
    },
  })
  const line: unknown = JSON.parse(await gateway.waitForLog('store.migrated'))
  assert.partialDeepStrictEqual(line, {
    event: 'store.migrated',
    fromVersion: 6,
    toVersion: migrations.length,
    backup: `${gateway.home.databaseFile}.bak`,
  })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})
