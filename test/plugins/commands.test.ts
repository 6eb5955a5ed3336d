/**
 * Commands of plugins: whatever they do, the next command is run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommandContext } from '../../src/commands/command.ts'
import { createCommandRegistry } from '../../src/commands/registry.ts'
import { brand } from '../../src/lib/brand.ts'
import { createPluginCommands } from '../../src/plugins/commands.ts'
import type { PluginCommand } from '../../src/plugins/contract.ts'

/** Registers a command whose work is `run`, and calls it. */
function calling(run: (...given: Parameters<PluginCommand['run']>) => unknown, signal = new AbortController().signal) {
  const registry = createCommandRegistry()
  const command = { name: 'odd', description: '', run }
  // Plugins may be written without types.
  const register: unknown = Reflect.apply(createPluginCommands(registry).register, undefined, ['mine', command, run])
  assert.ok(register)
  const definition = registry.resolve('odd')
  assert.ok(definition !== undefined)
  const source = { platform: 'web', account: 'main', chatId: '1', chatType: 'dm' as const, userId: 'ada' }
  const context: CommandContext = {
    source,
    sessionKey: brand('web:dm:1'),
    name: 'odd',
    args: 'x',
    typed: 'odd',
    signal,
  }
  return async () => await Reflect.apply(definition.run, definition, [context, {}])
}

test('a text is the reply, nothing is none, and anything else is an error that names the plugin', async () => {
  assert.equal(await calling((args, { userId }) => `${args} ${userId}`)(), 'x ada')
  for (const nothing of [null, undefined]) assert.equal(await calling(() => nothing)(), '')
  for (const odd of [5, { text: 'hi' }, ['hi'], true])
    await assert.rejects(calling(() => odd)(), /the plugin mine answered with a value of type/)
})

test('a command that never ends is not waited for, and is told so', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let signal: AbortSignal | undefined
  const answer = calling((_args, context) => {
    signal = context.signal
    return new Promise(() => undefined)
  })()
  const refused = assert.rejects(answer, { message: 'the plugin mine did not answer within 60 s.' })
  t.mock.timers.tick(60_000)
  await refused
  assert.equal(signal?.aborted, true)
})

test('a command that is called off ends at once, whatever it does', async () => {
  const stop = new AbortController()
  const answer = calling(() => new Promise(() => undefined), stop.signal)()
  const refused = assert.rejects(answer, { message: 'enough' })
  stop.abort(new Error('enough'))
  await refused
})
