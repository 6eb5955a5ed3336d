/**
 * What the document on middleware of NeMo Flow says of levels and order (seed 002), through the loader and the gateway.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calls, gatewayWith, notesIn } from './support.ts'

test('registrations on the scope of a turn apply in this turn only', async (t) => {
  const body = `
    let armed = false
    ctx.registerIntercept('arm', 'model_request', ({ request, scope }) => {
      if (!armed) {
        armed = true
        // An iteration is within its turn.
        scope.parent.registerGuardrail('not-now', 'tool', () => 'not in this turn')
      }
      return { request }
    })`
  const pwd = calls(['terminal', { command: 'pwd' }])
  const gateway = await gatewayWith(t, { local: body }, { replies: [pwd, { text: 'one' }, pwd, { text: 'two' }] })
  await gateway.say('first')
  await gateway.waitForReply('one')
  assert.match(JSON.stringify((await gateway.modelRequest(1)).body), /not in this turn/)
  await gateway.say('second')
  await gateway.waitForReply('two')
  assert.equal(JSON.stringify((await gateway.modelRequest(3)).body).split('not in this turn').length, 2)
})

test('guardrail, rewrite, start, wrapper, call and end run in this order, and sanitizers change only events', async (t) => {
  const body = `
    ctx.registerTool({ name: 'measure', description: 'Measures', parameters: { type: 'object' }, run: ({ at }) => (note('call', at), 'result') })
    ctx.registerGuardrail('g', 'tool', ({ args }) => (note('guardrail', args.at), null))
    ctx.registerIntercept('r', 'tool_request', ({ args }) => (note('rewrite', args.at), { at: 'effective' }))
    ctx.registerIntercept('w', 'tool_execution', async ({ args }, next) => {
      note('wrapper', args.at)
      const result = await next()
      note('wrapper ends', result)
      return result
    })
    ctx.registerSanitizer('in', 'tool_request', () => 'hidden')
    ctx.registerSanitizer('out', 'tool_response', () => 'hidden too')
    ctx.registerSubscriber('s', ({ name, scope_category, data, timestampUs }) => {
      if (name === 'measure') note(scope_category, [data, timestampUs])
    })`
  const gateway = await gatewayWith(
    t,
    { witness: body },
    { replies: [calls(['measure', { at: 'asked' }]), { text: 'done' }] },
  )
  await gateway.say('measure')
  await gateway.waitForReply('done')
  assert.match(
    JSON.stringify((await gateway.modelRequest(1)).body),
    /"content":"<tool_output>\\nresult\\n<\/tool_output>"/,
  )
  await gateway.stop()
  const notes = notesIn(gateway)
  const isEvent = ({ name }: { readonly name: string }) => name === 'start' || name === 'end'
  assert.deepEqual(
    notes.filter((note) => !isEvent(note)),
    [
      { name: 'guardrail', value: 'asked' },
      { name: 'rewrite', value: 'asked' },
      { name: 'guardrail', value: 'effective' },
      { name: 'wrapper', value: 'effective' },
      { name: 'call', value: 'effective' },
      { name: 'wrapper ends', value: 'result' },
    ],
  )
  const [start, end] = notes.filter(isEvent).map(({ name, value }) => [name, ...(Array.isArray(value) ? value : [])])
  assert.deepEqual(
    [start?.slice(0, 2), end?.slice(0, 2)],
    [
      ['start', 'hidden'],
      ['end', 'hidden too'],
    ],
  )
  assert.ok(Number(start?.[2]) < Number(end?.[2]))
})

test('a rejection reaches observers and the model, and the call does not start', async (t) => {
  const body = `
    ctx.registerTool({ name: 'measure', description: 'Measures', parameters: { type: 'object' }, run: () => note('call', null) })
    ctx.registerGuardrail('g', 'tool', () => 'not today')
    ctx.registerIntercept('r', 'tool_request', ({ args }) => (note('rewrite', null), args))
    ctx.registerSubscriber('s', ({ name, kind, data }) => { if (name === 'measure') note(kind, data) })`
  const gateway = await gatewayWith(t, { guard: body }, { replies: [calls(['measure', {}]), { text: 'done' }] })
  await gateway.say('measure')
  await gateway.waitForReply('done')
  assert.match(JSON.stringify((await gateway.modelRequest(1)).body), /not today/)
  await gateway.stop()
  assert.deepEqual(notesIn(gateway), [{ name: 'mark', value: { rejected: true, rejection_reason: 'not today' } }])
})
