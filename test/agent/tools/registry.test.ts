import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { createToolRegistry, type ToolRegistryOptions } from '../../../src/agent/tools/registry.ts'
import { defineTool, type ToolDefinition } from '../../../src/agent/tools/tool.ts'
import type { LogFields, Logger } from '../../../src/lib/log.ts'
import { createWorkbench } from './workbench.ts'

const greet = (answer: string, more: Partial<ToolDefinition> = {}) =>
  defineTool({
    name: 'greet',
    toolset: 'extra',
    description: 'Says hello.',
    parameters: z.object({ name: z.string() }),
    mode: 'pure',
    run: async ({ name }) => JSON.stringify({ answer: `${answer} ${name}` }),
    ...more,
  })

function recordingLog() {
  const lines: { level: string; fields: LogFields; message: string }[] = []
  const at = (level: string) => (fields: LogFields, message: string) => {
    lines.push({ level, fields, message })
  }
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return { log, lines }
}

async function registryWith(options: Partial<ToolRegistryOptions> & { readonly builtIn?: boolean }) {
  const bench = await createWorkbench()
  const recorded = recordingLog()
  const registry = createToolRegistry({
    log: recorded.log,
    ...(options.builtIn === true && { services: bench.services }),
    ...options,
  })
  return { bench, registry, lines: recorded.lines, [Symbol.asyncDispose]: bench[Symbol.asyncDispose] }
}

test('the built-in tools are loaded and sorted by name', async () => {
  await using setup = await registryWith({ builtIn: true })
  const loaded = await setup.registry.load()
  assert.deepEqual(
    loaded.schemas().map((schema) => schema.name),
    [
      'clarify',
      'delegate_task',
      'execute_code',
      'memory',
      'patch',
      'process',
      'read_file',
      'search_files',
      'send_message',
      'session_search',
      'terminal',
      'todo',
      'web_extract',
      'write_file',
    ],
  )
  assert.deepEqual(setup.lines, [])
})

test('all tools together take at most 6 kB of every request, always the same bytes', async () => {
  await using setup = await registryWith({ builtIn: true })
  await using other = await registryWith({ builtIn: true })
  const json = JSON.stringify((await setup.registry.load()).schemas())
  assert.ok(Buffer.byteLength(json) <= 6_000, `${Buffer.byteLength(json)} bytes`)
  assert.equal(JSON.stringify((await other.registry.load()).schemas()), json)
  assert.doesNotMatch(json, /\$schema|additionalProperties|9007199254740991/)
})

test('a disabled toolset is neither listed nor callable', async () => {
  await using setup = await registryWith({
    builtIn: true,
    isDisabled: ({ toolset }) => ['clarify', 'terminal', 'todo', 'delegation'].includes(toolset),
  })
  const loaded = await setup.registry.load()
  assert.deepEqual(
    loaded.schemas().map((schema) => schema.name),
    ['memory', 'patch', 'read_file', 'search_files', 'send_message', 'session_search', 'web_extract', 'write_file'],
  )
  const parsed = loaded.parse('terminal', '{"command":"ls"}')
  assert.ok(!parsed.ok)
  assert.equal(parsed.code, 'unknown_tool')
  assert.match(parsed.error, /"terminal".*patch, read_file/)
})

test('the mode of a call is known before it runs', async () => {
  await using setup = await registryWith({ builtIn: true })
  const loaded = await setup.registry.load()
  const modeOf = (name: string, args: Readonly<Record<string, unknown>>) => {
    const parsed = loaded.parse(name, args)
    return parsed.ok ? parsed.call.mode : parsed.error
  }
  assert.equal(modeOf('terminal', { command: 'ls' }), 'effect')
  assert.equal(modeOf('process', { action: 'poll', id: 'x' }), 'pure')
  assert.equal(modeOf('process', { action: 'list' }), 'pure')
  assert.equal(modeOf('process', { action: 'log', id: 'x' }), 'pure')
  assert.equal(modeOf('process', { action: 'kill', id: 'x' }), 'effect')
  assert.equal(modeOf('read_file', { path: 'a' }), 'pure')
  assert.equal(modeOf('search_files', { pattern: 'a' }), 'pure')
  assert.equal(modeOf('write_file', { path: 'a', content: '' }), 'idempotent')
  assert.equal(modeOf('patch', { path: 'a', old_string: 'a', new_string: 'b' }), 'effect')
  assert.equal(modeOf('todo', {}), 'idempotent')
})

test('what a call works on is complete, so that secrets are found in it before it is shortened', async () => {
  await using setup = await registryWith({ builtIn: true })
  const loaded = await setup.registry.load()
  const text = `${'x'.repeat(70)} first\n${'y'.repeat(300)}`
  const calls: readonly [string, Readonly<Record<string, unknown>>][] = [
    ['terminal', { command: text }],
    ['delegate_task', { goal: text }],
    ['clarify', { question: text }],
    ['send_message', { target: text, message: 'hello' }],
    ['search_files', { pattern: text }],
    ['read_file', { path: text }],
  ]
  for (const [name, args] of calls) {
    const parsed = loaded.parse(name, args)
    assert.ok(parsed.ok && parsed.call.label.includes(text), name)
  }
})

test('ignored arguments are logged once, and the call still runs', async () => {
  await using setup = await registryWith({ definitions: [greet('hello')] })
  const parsed = (await setup.registry.load()).parse('greet', '{"name":"Ann","loud":true}')
  assert.ok(parsed.ok)
  assert.equal(await parsed.call.run(setup.bench.context), '{"answer":"hello Ann"}')
  assert.deepEqual(
    setup.lines.map(({ level, fields }) => [level, fields['event']]),
    [['warn', 'tool.argument_ignored']],
  )
})

test('a tool that is not available, or whose check fails, is skipped; the others stay', async () => {
  await using setup = await registryWith({
    definitions: [
      greet('yes'),
      greet('no', { name: 'absent', check: () => false }),
      greet('broken', { name: 'broken', check: () => Promise.reject(new Error('no key')) }),
    ],
  })
  const loaded = await setup.registry.load()
  assert.deepEqual(
    loaded.schemas().map((schema) => schema.name),
    ['greet'],
  )
  assert.equal(setup.lines[0]?.fields['event'], 'tool.check_failed')
})

test('a tool registered later is available at once until it is removed', async () => {
  await using setup = await registryWith({})
  const loaded = await setup.registry.load()
  const remove = await setup.registry.register(greet('hello'))
  assert.equal(loaded.schemas().length, 1)
  remove()
  remove()
  assert.equal(loaded.schemas().length, 0)
  assert.equal(loaded.resolve('greet'), undefined)
})

test('a tool is replaced only with override, and is restored when the replacement is removed', async () => {
  await using setup = await registryWith({ definitions: [greet('first')] })
  const loaded = await setup.registry.load()
  const answer = async () => {
    const parsed = loaded.parse('greet', { name: 'Ann' })
    return parsed.ok ? await parsed.call.run(setup.bench.context) : parsed.error
  }
  await assert.rejects(setup.registry.register(greet('second')), { code: 'plugins/tool-taken' })
  const removeSecond = await setup.registry.register(greet('second'), { override: true })
  const removeThird = await setup.registry.register(greet('third'), { override: true })
  assert.equal(await answer(), '{"answer":"third Ann"}')
  removeSecond()
  assert.equal(await answer(), '{"answer":"third Ann"}')
  removeThird()
  assert.equal(await answer(), '{"answer":"first Ann"}')
})

test('a tool registered before loading replaces a built-in tool only with override', async () => {
  await using setup = await registryWith({ builtIn: true })
  await setup.registry.register(greet('mine', { name: 'todo' }))
  await setup.registry.register(greet('mine', { name: 'patch' }), { override: true })
  const loaded = await setup.registry.load()
  assert.notEqual(loaded.resolve('todo')?.schema.description, 'Says hello.')
  assert.equal(loaded.resolve('patch')?.schema.description, 'Says hello.')
})

test('a result longer than the limit is truncated in the middle with a note', async () => {
  await using setup = await registryWith({ definitions: [greet('a secret-word '.repeat(500))] })
  const parsed = (await setup.registry.load()).parse('greet', { name: 'Ann' })
  assert.ok(parsed.ok)
  const result = await parsed.call.run({ ...setup.bench.context, limits: { maxResultChars: 1_000 } })
  assert.ok(result.length <= 1_000)
  assert.match(result, /^\{"answer":"(a|secret-word|\s)+\[… \d+ [a-z ]+ …\](a|secret-word|\s)+Ann"\}$/)
})

test('a built-in tool that cannot be loaded is logged, and the others stay', async () => {
  await using bench = await createWorkbench()
  const recorded = recordingLog()
  const media = () => Promise.reject(new Error('no maker'))
  const registry = createToolRegistry({ log: recorded.log, services: { ...bench.services, media } })
  const loaded = await registry.load()
  assert.ok(loaded.resolve('todo') !== undefined && loaded.resolve('image_generate') === undefined)
  assert.deepEqual(
    recorded.lines.map(({ fields }) => [fields['event'], fields['tool']]),
    [['tool.load_failed', 'text_to_speech, image_generate']],
  )
})

test('a tool that replaces a built-in one keeps what is known of it, unless it says otherwise', async () => {
  await using setup = await registryWith({ builtIn: true })
  const loaded = await setup.registry.load()
  await setup.registry.register(greet('mine', { name: 'memory' }), { override: true })
  await setup.registry.register(greet('mine', { name: 'web_search', runsInParallel: false }), { override: true })
  assert.equal(loaded.resolve('memory')?.facts.isWithheldFromSubagents, true)
  assert.equal(loaded.resolve('memory')?.facts.toolset, 'extra')
  assert.equal(loaded.resolve('web_search')?.facts.runsInParallel, false)
})

test('the list of steps is replaced as a whole, read back and counted', async () => {
  await using bench = await createWorkbench()
  const todos = [
    { id: '1', content: 'look', status: 'completed' },
    { id: '2', content: 'do', status: 'in_progress' },
  ]
  assert.deepEqual(await bench.run('todo', { todos }), { todos, summary: '1 of 2 done' })
  assert.deepEqual(await bench.run('todo', {}), { todos, summary: '1 of 2 done' })
  const twice = await bench.run('todo', { todos: [todos[0], todos[0]] })
  assert.equal(twice['code'], 'duplicate_id')
  assert.match(String(twice['error']), /"1"/)
  assert.deepEqual((await bench.run('todo', {}))['todos'], todos)
  assert.match(
    String((await bench.run('todo', { todos: [{ id: '1', content: 'x', status: 'maybe' }] }))['error']),
    /status/,
  )
})
