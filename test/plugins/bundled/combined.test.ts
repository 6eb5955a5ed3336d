/**
 * All plugins that ship, enabled at once: each does its work, and none undoes another's.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { asArray } from '../../../src/sdk.ts'
import { logRecordsWith, startWithBundledPlugins } from './support.ts'

const token = `ghp_${'a1B2'.repeat(9)}`

test('an uncertain response about a secret is escalated, counted twice and recorded without the secret', async (t) => {
  const gateway = await startWithBundledPlugins(
    t,
    {
      'model-router': { small_models: ['test-model'], large_model: 'large', max_share_per_day: 1 },
      'redact-secrets': {},
      'cost-budget': { budgets: [{ per: 'user', period: 'day', tokens: 100, action: 'block' }] },
      otel: { endpoint: 'http://127.0.0.1:9', timeout_ms: 100 },
      atof: {},
    },
    { replies: [{ text: "I'm not sure whose it is" }, { text: `It is yours, as is ghp_${'Z9y8'.repeat(9)}` }] },
  )
  assert.deepEqual(gateway.current().status().plugins, [])
  await gateway.say(`whose is ${token}?`)
  const { text } = await gateway.waitForReply('It is yours')
  assert.match(text, /^It is yours, as is \[secret:[0-9a-f]{8}\]$/)
  const [small, large] = [(await gateway.modelRequest(0)).body, (await gateway.modelRequest(1)).body]
  assert.deepEqual([small['model'], large['model']], ['test-model', 'large'])
  const before = asArray(small['messages'])
  assert.deepEqual(asArray(large['messages']).slice(0, before.length), before)
  await gateway.say('/budget')
  await gateway.waitForReply('36 of 100 tokens')
  await gateway.waitForLog('model_router.escalated')
  assert.equal(logRecordsWith(gateway, 'escalated_to_large').length, 2)
  await gateway.stop()
  const events = readFileSync(join(gateway.home.root, 'atof/events.jsonl'), 'utf8')
  assert.match(events, /whose is \[secret:[0-9a-f]{8}\]\?/)
  const seen = [JSON.stringify(gateway.model.requests.map(({ body }) => body)), events, gateway.log.join('')]
  for (const one of seen) assert.doesNotMatch(one, /ghp_/)
})
