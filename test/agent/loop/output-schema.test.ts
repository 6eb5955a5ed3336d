/**
 * A task with `output_schema`: the answer of its sub-agent is checked, corrected once, and given to the agent as JSON.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkedResult, createOutputCheck } from '../../../src/agent/loop/output-schema.ts'
import { call, type ScriptStep, usagePerCall } from '../../kit/scripted-provider.ts'
import { asks, delegating } from './delegating.ts'

const schema = {
  type: 'object',
  properties: { count: { type: 'integer' }, names: { type: 'array', items: { type: 'string' } } },
  required: ['count'],
}

const task = asks(call('d', 'delegate_task', { goal: 'count', output_schema: schema }))
const ok: ScriptStep = { chunks: ['ok'] }

test('an answer that matches is given as JSON, also out of a code fence', async () => {
  for (const text of ['{"count":3}', 'Here it is:\n```json\n{"count":3}\n```\nThat is all.', 'It is {"count":3}.']) {
    const { result, reports, provider } = delegating([task, { chunks: [text] }, ok])
    await result
    assert.deepEqual(reports().results, [{ task: 0, status: 'completed', schema_valid: true, output: { count: 3 } }])
    assert.match(provider.requests[1]?.messages[0]?.content ?? '', /"required":\["count"\]/)
  }
})

test('an answer that does not match gets one turn to correct it, in which the sub-agent remembers its work', async () => {
  const { result, reports, provider, received } = delegating(
    [task, asks(call('x', 'look')), { chunks: ['three'] }, { chunks: ['{"count":3}'] }, ok],
    { look: async () => 'a b c' },
  )
  const { usage } = await result
  assert.deepEqual(reports().results, [{ task: 0, status: 'completed', schema_valid: true, output: { count: 3 } }])
  const [question, work, seen, wrong, correction] = provider.requests[3]?.messages ?? []
  assert.deepEqual([question?.role, work?.role, seen?.content, wrong?.content], ['user', 'assistant', 'a b c', 'three'])
  assert.equal(correction?.role, 'user')
  assert.equal(usage.inputTokens, 4 * usagePerCall.inputTokens, 'the rejected answer counts, too')
  assert.equal(received.length, 2, 'it is one sub-agent with one start and one end')
})

test('an answer of the wrong form is corrected also where the schema names no type', async () => {
  const untyped = { properties: schema.properties, required: ['count'] }
  const counting = asks(call('d', 'delegate_task', { goal: 'count', output_schema: untyped }))
  const { result, reports } = delegating([counting, { chunks: ['{"number":3}'] }, { chunks: ['{"count":3}'] }, ok])
  await result
  assert.deepEqual(reports().results, [{ task: 0, status: 'completed', schema_valid: true, output: { count: 3 } }])
})

test('a schema that cannot be met ends with schema_valid false and the text', async () => {
  const { result, reports, provider } = delegating([task, { chunks: ['three'] }, { chunks: ['still three'] }, ok])
  await result
  assert.deepEqual(reports().results, [{ task: 0, status: 'completed', schema_valid: false, summary: 'still three' }])
  assert.equal(provider.requests.length, 4)
})

test('the check reads what JSON Schema says, and refuses what it cannot check', () => {
  const check = createOutputCheck({ enum: ['a', 'b'] })
  assert.deepEqual(checkedResult(check, '"a"'), { schemaValid: true, output: 'a' })
  assert.deepEqual(checkedResult(check, '"c"'), { schemaValid: false })
  const named = createOutputCheck({ type: 'object', properties: { pattern: { type: 'string' } } })
  assert.deepEqual(checkedResult(named, '{"pattern":"x"}').schemaValid, true, 'a key may have the name of a keyword')
  const tree = { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } }
  assert.equal(checkedResult(createOutputCheck(tree), '{"children":[{"children":[]}]}').schemaValid, true)
  assert.equal(checkedResult(createOutputCheck(tree), '{"children":[{"children":3}]}').schemaValid, false)
  for (const broken of [{ type: 'strange' }, { $ref: '#/nowhere' }, { pattern: 'a' }, { items: [{ pattern: 'a' }] }])
    assert.throws(() => createOutputCheck(broken), { name: 'DelegationRefused', code: 'invalid_schema' })
})

test('a schema that leaves its types out is checked as it is meant', () => {
  const integer = { type: 'integer' }
  for (const [broad, wrong, right] of [
    [{ properties: { count: integer }, required: ['count'] }, { count: 'three' }, { count: 3 }],
    [{ properties: { count: integer }, required: ['count'] }, {}, { count: 3 }],
    [{ required: ['count'] }, 'three', { count: null }],
    [{ type: 'object', required: ['count'] }, {}, { count: 3, more: 1 }],
    [{ type: ['object', 'null'], required: ['count'] }, {}, null],
    [{ items: integer }, ['three'], [3]],
    [{ type: 'array', minItems: 2 }, [1], [1, 'a']],
    [{ minimum: 3 }, 1, 3],
    [{ maxLength: 2 }, 'abc', 'ab'],
    [{ type: 'object', properties: { a: { required: ['b'] } } }, { a: {} }, { a: { b: 1 } }],
    [{ type: 'object', allOf: [{ properties: { b: integer }, required: ['b'] }] }, { b: 'x' }, { b: 1 }],
    [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { c: 1 }, { b: 1 }],
    [{ items: { $ref: '#/definitions/n' }, definitions: { n: integer } }, ['a'], [1]],
    [{ items: { $ref: '#/$defs/n' }, $defs: { n: { required: ['a'] } } }, [{}], [{ a: 1 }]],
  ] as const) {
    const check = createOutputCheck(broad)
    assert.ok('problem' in check(JSON.stringify(wrong)), `${JSON.stringify(broad)} ${JSON.stringify(wrong)}`)
    assert.deepEqual(check(JSON.stringify(right)), { output: right }, JSON.stringify(broad))
  }
  assert.throws(() => createOutputCheck({ count: integer }), { code: 'invalid_schema' }, 'it says nothing')
  assert.deepEqual(createOutputCheck({})('3'), { output: 3 })
  assert.deepEqual(createOutputCheck({ description: 'any' })('3'), { output: 3 })
})

test('neither a schema nor an answer makes the check take much longer than it is long', () => {
  const twice = (ref: string) => ({ anyOf: [{ $ref: ref }, { $ref: ref }] })
  const levels = Array.from({ length: 40 }, (_, at) => [`d${at + 1}`, twice(`#/$defs/d${at}`)])
  const nested = (ref: string) => ({ type: 'array', items: { $ref: ref } })
  const risky = { type: 'string', pattern: '^(a+)+$' }
  for (const broken of [
    { $defs: { d0: { type: 'null' }, ...Object.fromEntries(levels) }, $ref: '#/$defs/d40' },
    { anyOf: [nested('#'), nested('#')] },
    { $ref: '#name' },
    { type: 'object', properties: { enum: risky } },
    { $defs: { const: risky }, $ref: '#/$defs/const' },
  ])
    assert.throws(() => createOutputCheck(broken), { code: 'invalid_schema' }, JSON.stringify(broken).slice(0, 100))
  const check = createOutputCheck({ type: 'array', items: { $ref: '#' } })
  for (const answer of [
    `\`\`\`json\n${' \n'.repeat(90_000)}x`,
    '```\n'.repeat(40_000),
    '['.repeat(90_000) + ']'.repeat(90_000),
    `"${'x'.repeat(300_000)}"`,
  ])
    assert.ok('problem' in check(answer), answer.slice(0, 20))
})
