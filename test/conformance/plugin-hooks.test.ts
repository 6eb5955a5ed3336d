/**
 * What the document on event hooks says of plugin hooks (seed 001), through the loader and the gateway.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '../stories/support.ts'
import { calls, gatewayWith, notesIn } from './support.ts'

const sixHooks = [
  'pre_tool_call',
  'post_tool_call',
  'pre_llm_call',
  'post_llm_call',
  'on_session_start',
  'on_session_end',
] as const

const keysOfSeed = {
  pre_tool_call: ['tool_name', 'args', 'task_id'],
  post_tool_call: ['tool_name', 'args', 'result', 'task_id'],
  pre_llm_call: ['session_id', 'user_message', 'conversation_history', 'is_first_turn', 'model', 'platform'],
  post_llm_call: ['session_id', 'user_message', 'assistant_response', 'conversation_history', 'model', 'platform'],
  on_session_start: ['session_id', 'model', 'platform'],
  on_session_end: ['session_id', 'completed', 'interrupted', 'model', 'platform'],
} as const

test('each of the six hooks receives the documented keys', async (t) => {
  const body = sixHooks
    .map((name) => `ctx.registerHook('${name}', (payload) => note('${name}', Object.keys(payload)))`)
    .join('\n')
  const gateway = await gatewayWith(
    t,
    { witness: body },
    { replies: [calls(['terminal', { command: 'pwd' }]), { text: 'done' }] },
  )
  await gateway.say('where?')
  await gateway.waitForReply('done')
  await gateway.stop()
  const notes = notesIn(gateway)
  for (const name of sixHooks) {
    const found = notes.find((note) => note.name === name)?.value
    assert.ok(Array.isArray(found), name)
    assert.deepEqual(
      keysOfSeed[name].filter((key) => !found.includes(key)),
      [],
      name,
    )
  }
})

test('three parallel tool calls are observed three times, including plugin tools and failures', async (t) => {
  const body = `
    ctx.registerTool({ name: 'mine', description: 'Mine', parameters: { type: 'object' }, run: () => ({ ok: true }) })
    ctx.registerTool({ name: 'fails', description: 'Fails', parameters: { type: 'object' }, run: () => { throw new Error('no luck') } })
    ctx.registerHook('pre_tool_call', ({ tool_name }) => note('pre', tool_name))
    ctx.registerHook('post_tool_call', ({ tool_name, result }) => note('post', [tool_name, typeof result, Object.keys(JSON.parse(result))]))`
  const gateway = await gatewayWith(
    t,
    { witness: body },
    { replies: [calls(['terminal', { command: 'pwd' }], ['mine', {}], ['fails', {}]), { text: 'done' }] },
  )
  await gateway.say('all three')
  await gateway.waitForReply('done')
  await gateway.stop()
  const notes = notesIn(gateway)
  const of = (name: string) => notes.flatMap((note) => (note.name === name ? [note.value] : []))
  assert.deepEqual(of('pre').toSorted(), ['fails', 'mine', 'terminal'])
  const after = new Map(of('post').map((value) => [at(value, 0), [at(value, 1), at(value, 2)]]))
  assert.deepEqual(after.get('mine'), ['string', ['ok']])
  assert.deepEqual(after.get('fails'), ['string', ['error']])
  assert.equal(after.get('terminal')?.at(0), 'string')
  assert.equal(of('post').length, 3)
})

test('context is requested once per turn, however many model calls it has, and joined in the order of the folder names', async (t) => {
  const context = (text: string) => `ctx.registerHook('pre_llm_call', () => (note('asked', null), ${text}))`
  const gateway = await gatewayWith(
    t,
    { zebra: context(`{ context: 'striped' }`), ape: context(`'hairy'`), bear: context('null'), cat: context(`''`) },
    {
      // `ape` is loaded last.
      manifests: { ape: 'name: ape\nrequires_plugins: [zebra]\n' },
      replies: [calls(['terminal', { command: 'pwd' }]), { text: 'done' }],
    },
  )
  await gateway.say('who is there?')
  await gateway.waitForReply('done')
  for (const number of [0, 1]) {
    assert.match(JSON.stringify((await gateway.modelRequest(number)).body), /"who is there\?\\n\\nhairy\\n\\nstriped"/)
  }
  assert.equal(notesIn(gateway).length, 4)
})

test('a plugin that fails in every hook breaks no turn, and other plugins are called', async (t) => {
  const broken = sixHooks
    .map((name) => `ctx.registerHook('${name}', () => { throw new Error('broken at ${name}') })`)
    .join('\n')
  const well = sixHooks.map((name) => `ctx.registerHook('${name}', () => note('${name}', null))`).join('\n')
  const gateway = await gatewayWith(
    t,
    { broken, well },
    { replies: [calls(['terminal', { command: 'pwd' }]), { text: 'done' }] },
  )
  await gateway.say('where?')
  await gateway.waitForReply('done')
  await gateway.stop()
  assert.deepEqual(
    notesIn(gateway)
      .map(({ name }) => name)
      .toSorted(),
    [...sixHooks].toSorted(),
  )
  for (const name of sixHooks) await gateway.waitForLog(new RegExp(`plugin\\.callback_failed.*broken at ${name}"`))
})

test('an interrupted turn publishes no response, and its end event reports the interruption', async (t) => {
  const body = `
    ctx.registerHook('post_llm_call', () => note('post_llm_call', null))
    ctx.registerHook('on_session_end', ({ completed, interrupted }) => note('on_session_end', [completed, interrupted]))`
  const gateway = await gatewayWith(
    t,
    { witness: body },
    { replies: [{ text: 'one two three', hang: 'stream', hangAfter: 2 }] },
  )
  await gateway.say('talk')
  await gateway.modelRequest(0)
  await gateway.say('/stop')
  await gateway.until(({ key }) => key.startsWith('command:'))
  await gateway.stop()
  assert.deepEqual(notesIn(gateway), [{ name: 'on_session_end', value: [false, true] }])
})
