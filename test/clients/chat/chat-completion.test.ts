import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createChatCompleter } from '../../../src/clients/chat/chat-completion.ts'
import { tempHome } from '../../kit/temp-home.ts'

const commands = [
  { name: 'model', argsHint: '[name]' },
  { name: 'mcp', argsHint: '' },
  { name: 'voice', argsHint: '[on|off|status]' },
]

function completer(t: TestContext, known: () => Promise<typeof commands> = () => Promise.resolve(commands)) {
  const directory = tempHome(t)
  mkdirSync(join(directory, 'src'))
  for (const name of ['notes.md', 'my file.txt', '.hidden', 'bad\u001b[2J.txt', 'src/main.ts'])
    writeFileSync(join(directory, name), '')
  return { directory, complete: createChatCompleter({ directory, userHome: directory, commands: known }) }
}

test('a slash at the beginning completes commands, and a command its choices', async (t) => {
  const { complete } = completer(t)
  assert.deepEqual(await complete('/m'), [['/mcp ', '/model '], '/m'])
  assert.deepEqual(await complete('/voice o'), [['on', 'off'], 'o'])
  assert.deepEqual((await complete('/e'))[0], ['/exit '])
  assert.deepEqual((await complete('say /voi'))[0], [])
})

test('words complete the names of files, also behind @ and ~, and spaces are escaped', async (t) => {
  const { complete, directory } = completer(t)
  assert.deepEqual(await complete('read not'), [['notes.md '], 'not'])
  assert.deepEqual(await complete('read @s'), [['@src/'], '@s'])
  assert.deepEqual(await complete('read src/'), [['src/main.ts '], 'src/'])
  assert.deepEqual(await complete('read ~/n'), [['~/notes.md '], '~/n'])
  assert.deepEqual(await complete('/image my'), [['my\\ file.txt '], 'my'])
  assert.deepEqual(await complete('look at my\\ f'), [['my\\ file.txt '], 'my\\ f'])
  const path = directory.replaceAll(' ', '\\ ')
  assert.deepEqual((await complete(`${path}/src/m`))[0], [`${path}/src/main.ts `])
})

test('hidden files are offered only for a dot, and names with control characters never', async (t) => {
  const { complete } = completer(t)
  assert.deepEqual((await complete('cat @'))[0], ['@my\\ file.txt ', '@notes.md ', '@src/'])
  assert.deepEqual((await complete('cat .h'))[0], ['.hidden '])
  assert.deepEqual((await complete('cat bad'))[0], [])
})

test('without commands of the gateway, and for a folder that does not exist, nothing fails', async (t) => {
  const { complete } = completer(t, () => Promise.reject(new Error('gone')))
  assert.deepEqual(await complete('/mo'), [[], '/mo'])
  assert.deepEqual(await complete('cat nowhere/x'), [[], 'nowhere/x'])
  assert.deepEqual(await complete('hello '), [[], ''])
})
