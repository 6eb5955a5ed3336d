import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describedCommands } from '../../src/app/built-in-commands.ts'
import { createCommandRegistry } from '../../src/commands/registry.ts'
import { createPluginCommands } from '../../src/plugins/plugin-commands.ts'

const command = (name: string) => ({ name, description: '', run: () => null })

test('a command name in use is rejected with its owner and is free after its removal', () => {
  const commands = createPluginCommands(createCommandRegistry(describedCommands()))
  const register = (owner: string, name: string) => commands.register(owner, command(name), () => null)
  assert.throws(() => register('dice', 'stop'), { code: 'plugins/command-taken', detail: /\/stop\b.*\bdice\b/ })
  const roll = register('dice', 'roll')
  assert.throws(() => register('poker', 'roll'), {
    code: 'plugins/command-taken',
    detail: /\/roll\b.*\bdice\b.*\bpoker\b/,
  })
  commands.check('dice', command('roll'))
  assert.throws(() => commands.check('poker', command('roll')), { code: 'plugins/command-taken' })
  roll.remove()
  assert.equal(register('poker', 'roll').name, 'roll')
})
