/**
 * Tools of plugins, as the agent gets them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { builtInTools, loadBuiltInTools } from '../../src/agent/tools/built-in-tools.ts'
import { createToolRegistry } from '../../src/agent/tools/registry.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { PluginTool } from '../../src/plugins/contract.ts'
import { createPluginTools } from '../../src/plugins/plugin-tools.ts'
import { createWorkbench } from '../agent/tools/workbench.ts'
import { createRecordingLog } from '../hosts/support.ts'

function toolsWith(mayOverride = false) {
  const log = createRecordingLog()
  const changes: number[] = []
  const tools = createPluginTools(
    () => mayOverride,
    () => changes.push(tools.list().length),
    log,
  )
  const register = (tool: PluginTool) => tools.register('mine', tool, (args, context) => tool.run(args, context))
  return { list: tools.list, check: tools.check, register, log, changes }
}

/** Offers the tools of plugins to a model and calls one. */
async function called(tools: ReturnType<typeof toolsWith>, name: string, args: Readonly<Record<string, unknown>>) {
  await using bench = await createWorkbench()
  const registry = createToolRegistry({ log: silentLog })
  const box = await registry.load()
  for (const { definition, override } of tools.list()) await registry.register(definition, { override })
  const parsed = box.parse(name, args)
  return parsed.ok ? await parsed.call.run(bench.context) : parsed.error
}

async function isDone(work: Promise<unknown>): Promise<boolean> {
  return Promise.race([work.then(() => true), nextTurn(false)])
}

const base = { description: 'A tool', parameters: { type: 'object' } } as const

test('each tool in the list of the built-in tools has its code', async () => {
  await using bench = await createWorkbench()
  const unused = () => Promise.reject(new Error('the tools are only listed'))
  const maker = { makes: async () => true, maxSpeechChars: () => 100, speak: unused, draw: unused }
  const services = {
    ...bench.services,
    skills: unused,
    media: async () => maker,
    browser: { isOptional: false, open: unused },
  }
  const loaded = await loadBuiltInTools(services, silentLog)
  assert.deepEqual(loaded.map(({ name }) => name).sort(), [...builtInTools.keys()].sort())
})

test('arguments are validated by a zod schema, and the tool receives the parsed values', async () => {
  const tools = toolsWith()
  const parameters = z.object({ of: z.number().describe('what'), more: z.string().default('more') })
  const half: PluginTool<typeof parameters> = {
    name: 'half',
    description: 'Half of it',
    parameters,
    run: ({ of, more }, { toolCallId, sessionId }) => ({ half: of / 2, more, toolCallId, sessionId }),
  }
  tools.register(half)
  assert.equal(
    await called(tools, 'half', { of: 8 }),
    '{"half":4,"more":"more","toolCallId":"call","sessionId":"session"}',
  )
  assert.match(await called(tools, 'half', { of: 'eight' }), /\bhalf\b.*\bof: /)
  const [offered] = tools.list()
  assert.deepEqual([offered?.definition.mode, offered?.definition.toolset], ['effect', 'mine'])
})

test('arguments are validated by a JSON Schema, which is sent to the model unchanged', async () => {
  const tools = toolsWith()
  const parameters = {
    type: 'object',
    properties: { color: { enum: ['red', 'blue'], description: 'Which', examples: ['red'] } },
    required: ['color'],
  }
  tools.register({ name: 'paint', description: 'Paints', parameters, run: ({ color }: { color: string }) => color })
  assert.equal(await called(tools, 'paint', { color: 'red' }), 'red')
  assert.match(await called(tools, 'paint', { color: 'green' }), /\bpaint\b.*\bcolor: .*"green"/)
  assert.deepEqual(tools.list()[0]?.definition.jsonSchema, parameters)
})

test('an unsupported JSON Schema is sent to the model unchanged, and its arguments are not validated, with a warning', async () => {
  const tools = toolsWith()
  const parameters = { type: 'object', properties: { a: { type: 'string' } }, if: { required: ['a'] }, else: false }
  tools.register({ name: 'odd', description: 'Odd', parameters, run: (args: unknown) => args })
  assert.equal(await called(tools, 'odd', { a: 'x', b: 1 }), '{"a":"x"}')
  await tools.log.waitForEvent('plugin.tool_schema_unsupported', { tool: 'odd' })
})

test('every result of a tool is converted to text', async () => {
  for (const [result, text] of [
    ['plain', 'plain'],
    [undefined, 'null'],
    [null, 'null'],
    [[1, { a: true }], '[1,{"a":true}]'],
    [7, '7'],
  ] as const) {
    const tools = toolsWith()
    tools.register({ ...base, name: 'any', run: () => result })
    assert.equal(await called(tools, 'any', {}), text)
  }
})

test('an invalid tool is rejected at its registration', () => {
  const { register } = toolsWith()
  const circle: { type: string; itself?: unknown } = { type: 'object' }
  circle.itself = circle
  // Plugins may be written without types.
  const bad: unknown[] = [
    { ...base, name: 'no spaces', run: () => '' },
    { ...base, name: '', run: () => '' },
    { ...base, name: 'x', parameters: { type: 'string' }, run: () => '' },
    { ...base, name: 'x', parameters: {}, run: () => '' },
    { ...base, name: 'x', parameters: { type: 'object', default: 5n }, run: () => '' },
    { ...base, name: 'x', parameters: circle, run: () => '' },
    Object.assign({ ...base, name: 'x', run: () => '' }, { mode: 'efect' }),
    Object.assign({ ...base, name: 'x', run: () => '' }, { parameters: null }),
  ]
  for (const tool of bad) {
    assert.throws(
      () => Reflect.apply(register, undefined, [tool]),
      (error) => isHermesError(error, 'plugins/invalid-registration'),
    )
  }
})

test('an existing tool is replaced only with permission, and returns when the replacement is removed', async () => {
  const tools = toolsWith(true)
  const first = tools.register({ ...base, name: 'same', run: () => 'first' })
  const isNameTaken = (error: unknown) => isHermesError(error, 'plugins/tool-taken')
  assert.throws(() => tools.register({ ...base, name: 'same', run: () => 'second' }), isNameTaken)
  assert.throws(() => tools.register({ ...base, name: 'todo', run: () => 'mine' }), isNameTaken)
  const second = tools.register({ ...base, name: 'same', override: true, run: () => 'second' })
  assert.equal(await called(tools, 'same', {}), 'second')
  assert.equal(second.remove(), true)
  assert.equal(second.remove(), false)
  assert.equal(await called(tools, 'same', {}), 'first')
  assert.equal(first.remove(), true)
  assert.deepEqual(tools.changes, [1, 2, 1, 0])
  const forbidden = toolsWith()
  assert.throws(() => forbidden.register({ ...base, name: 'todo', override: true, run: () => '' }), isNameTaken)
})

test('a tool whose check times out is omitted', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const tools = toolsWith()
  tools.register({ ...base, name: 'hangs', check: () => new Promise(() => undefined), run: () => '' })
  tools.register({ ...base, name: 'works', run: () => 'yes' })
  const answer = called(tools, 'works', {})
  while (!(await isDone(answer))) t.mock.timers.tick(10_000)
  assert.equal(await answer, 'yes')
})

test('a later change of a schema object does not change the registered tool', () => {
  const tools = toolsWith()
  const parameters = { type: 'object', properties: { a: { type: 'string' } } }
  tools.register({ ...base, name: 'x', parameters, run: () => '' })
  parameters.properties.a.type = 'number'
  assert.deepEqual(tools.list()[0]?.definition.jsonSchema, {
    type: 'object',
    properties: { a: { type: 'string' } },
  })
})

test('a new version of a plugin may register the tools of its previous version, but no tool of another plugin', () => {
  const tools = toolsWith()
  const tool: PluginTool = { ...base, name: 'clock', run: () => '' }
  tools.register(tool)
  tools.check('mine', tool)
  assert.throws(() => tools.check('other', tool), { code: 'plugins/tool-taken' })
  assert.throws(() => tools.check('mine', { ...tool, name: 'no name' }), { code: 'plugins/invalid-registration' })
})
