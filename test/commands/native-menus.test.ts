import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toApplicationCommands } from '../../platforms/discord/connection/commands.ts'
import { withCommandPrefix } from '../../platforms/slack/inbound/message.ts'
import { toBotCommands } from '../../platforms/telegram/connection/commands.ts'
import { describedCommands } from '../../src/app/built-in-commands.ts'
import { createCommandRegistry } from '../../src/commands/registry.ts'
import { validateCommands } from '../kit/servers/discord/validate.ts'

const registry = createCommandRegistry(describedCommands())
const names = registry.list().map(({ name }) => name)

test('the menu of Telegram has every built-in command', () => {
  const menu = toBotCommands(registry.list())
  assert.deepEqual(
    menu.map(({ command }) => command),
    names.map((name) => name.replaceAll('-', '_')),
  )
})

test('the menu of Telegram has a skill under the name that Telegram allows, and stays within its limits', () => {
  const entry = (name: string, aliases: readonly string[] = []) => ({ name, aliases, description: 'x', argsHint: '' })
  const menu = toBotCommands([entry('daily-plan', ['daily_plan']), entry('a.b')])
  assert.deepEqual(menu, [{ command: 'daily_plan', description: 'x' }])
  assert.equal(toBotCommands(Array.from({ length: 150 }, (_, index) => entry(`skill${index}`))).length, 100)
})

test('Discord registers every built-in command, with a list of choices where a command takes nothing else', () => {
  const commands = toApplicationCommands(registry.list())
  assert.equal(validateCommands(commands), undefined)
  assert.deepEqual(
    commands.map(({ name }) => name),
    names,
  )
  const reasoning = commands.find(({ name }) => name === 'reasoning')
  assert.match(JSON.stringify(reasoning), /"choices":\[\{"name":"none","value":"none"\}/)
  for (const { name, choices = [], argsHint } of registry.list())
    for (const choice of choices) assert.ok(argsHint.includes(choice), `${name} ${choice}`)
})

test('Slack understands every name of a command with an exclamation mark, and leaves other texts alone', () => {
  const isCommand = (name: string) => registry.resolve(name) !== undefined
  for (const { name, aliases } of registry.list())
    for (const one of [name, ...aliases]) assert.equal(withCommandPrefix(`!${one} x`, { isCommand }), `/${one} x`)
  for (const text of ['!important', '! new', 'say !new', '!', '!!new'])
    assert.equal(withCommandPrefix(text, { isCommand }), text)
})
