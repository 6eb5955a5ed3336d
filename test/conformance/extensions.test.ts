/**
 * What the extensions of Kora promise (seed 003), through the loader and the gateway.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homeWith, runInProcess } from '../cli/support.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { calls, gatewayWith, notesIn } from './support.ts'

const routed = [
  'on_session_start',
  'pre_llm_call',
  'pre_tool_list_finalized',
  'pre_api_request_mutable',
  'pre_api_request',
  'post_api_request',
  'post_llm_call_can_reissue',
  'transform_llm_output',
  'post_llm_call',
  'on_session_end',
]

test('every hook of a turn receives its route', async (t) => {
  const body = routed.map((name) => `ctx.registerHook('${name}', ({ route }) => note('${name}', route))`).join('\n')
  const gateway = await gatewayWith(t, { witness: body })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  await gateway.stop()
  const found = new Map(notesIn(gateway).map(({ name, value }) => [name, value]))
  assert.deepEqual(
    routed.map((name) => [name, found.get(name)]),
    routed.map((name) => [name, 'fake_dm']),
  )
})

test('on the command line the route is an empty string', async (t) => {
  const { root, plugins } = homeWith(t, 'plugins: {enabled: [witness]}\n')
  const body = `ctx.registerHook('transform_llm_output', ({ route, platform }) => JSON.stringify([route, platform]))`
  writeFiles(plugins, pluginFiles('witness', body))
  assert.equal((await runInProcess(root, ['chat', '--query', 'Reply exactly ok'])).stdout, '["","cli"]\n')
})

test('changes of the request are merged from left to right, and observers receive the result', async (t) => {
  const override = (fields: string) => `ctx.registerHook('pre_api_request_mutable', () => ({ override: ${fields} }))`
  const gateway = await gatewayWith(t, {
    a: override(`{ temperature: 0.1, user: 'a' }`),
    b: `${override(`{ user: 'b' }`)}
        ctx.registerHook('pre_api_request', ({ request }) => note('seen', [request.temperature, request.user]))`,
  })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  const { temperature, user } = Object((await gateway.modelRequest(0)).body)
  await gateway.stop()
  assert.deepEqual([temperature, user], [0.1, 'b'])
  assert.deepEqual(notesIn(gateway), [{ name: 'seen', value: [0.1, 'b'] }])
})

test('a filter of tools holds for one call, the first one counts, and one that fails changes nothing', async (t) => {
  const gateway = await gatewayWith(
    t,
    {
      a: `ctx.registerHook('pre_tool_list_finalized', () => { throw new Error('no list') })`,
      b: `let asked = 0
          ctx.registerHook('pre_tool_list_finalized', ({ tools }) => (asked += 1) === 1 ? { override: tools.slice(0, 1) } : null)`,
      c: `let asked = 0
          ctx.registerHook('pre_tool_list_finalized', ({ tools }) => (asked += 1) === 1 ? { override: [] } : null)`,
    },
    { replies: [calls(['terminal', { command: 'pwd' }]), { text: 'done' }] },
  )
  await gateway.say('hello')
  await gateway.waitForReply('done')
  const offered = async (number: number) => Object((await gateway.modelRequest(number)).body).tools.length
  assert.equal(await offered(0), 1)
  assert.ok((await offered(1)) > 1)
})

test('a response is reissued at most once, by the first plugin that requests it, and users receive the second response', async (t) => {
  const gateway = await gatewayWith(
    t,
    {
      a: `ctx.registerHook('post_llm_call_can_reissue', ({ iteration, response }) => {
            note('asked', iteration)
            const [{ message }] = response.choices
            return message.content?.includes('sure') ? { override: { model: 'large' } } : null
          })
          ctx.registerHook('post_api_request', ({ response }) => note('told', response.choices[0].message.content))`,
      b: `ctx.registerHook('post_llm_call_can_reissue', () => ({ override: { model: 'other' } }))`,
    },
    { replies: [{ text: 'not sure' }, { text: 'still not sure' }, { text: 'never asked' }] },
  )
  await gateway.say('is it so?')
  await gateway.waitForReply(/^still not sure$/)
  assert.equal((await gateway.modelRequest(1)).body['model'], 'large')
  await gateway.stop()
  assert.equal(gateway.model.requests.length, 2)
  assert.deepEqual(notesIn(gateway), [
    { name: 'asked', value: 1 },
    { name: 'told', value: 'still not sure' },
  ])
})
