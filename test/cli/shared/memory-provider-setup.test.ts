/**
 * `hermes memory setup <provider>` in a terminal: asks what the provider describes, and stores each answer where it belongs.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { type CliContext, createContext } from '../../../src/cli/kit/context.ts'
import { setUpProvider } from '../../../src/cli/shared/memory-provider-setup.ts'
import type { HermesError } from '../../../src/lib/errors.ts'
import { homeWith, quietConfig } from '../support.ts'

const provider = `import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
export function register(ctx) {
  ctx.registerHook('pre_llm_call', () => null)
  ctx.registerMemoryProvider({
    name: 'notebook',
    getConfigSchema: () => [
      7,
      { key: 'api_key', description: 'Key', secret: true, required: true, env_var: 'NOTEBOOK_KEY', url: 'https://example.org' },
      { key: 'mode', description: 'Mode', default: 'fast', choices: ['fast', 'deep'] },
      { key: 'name', description: 'Name' },
    ],
    saveConfig: (values, home) => writeFileSync(join(home, 'notebook.json'), JSON.stringify(values)),
  })
}
`

function terminal(t: TestContext, source: string) {
  const home = homeWith(t, quietConfig)
  const folder = join(home.plugins, 'memory', 'notebook')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'plugin.yaml'), 'name: notebook\nversion: 1.0.0\n')
  writeFileSync(join(folder, 'index.js'), source)
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const output = Object.assign(new PassThrough(), { isTTY: true })
  let shown = ''
  const waiting: { readonly question: string; readonly answer: string }[] = []
  output.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
    const [next] = waiting
    if (next === undefined || !stripVTControlCharacters(shown).endsWith(next.question)) return
    waiting.shift()
    setImmediate(() => input.write(`${next.answer}\n`))
  })
  const context: CliContext = {
    ...createContext('1.0.0', { rootHome: home.root, profile: 'default', home: home.root }),
    environment: {},
    input,
    output,
  }
  return { context, home, waiting, shown: () => shown }
}

const notebook = { id: 'memory/notebook', name: 'notebook' }

test('a secret goes to .env unseen, other answers to the provider, and an empty answer changes nothing', async (t) => {
  const { context, home, waiting, shown } = terminal(t, provider)
  writeFileSync(home.envFile, '# mine\nNOTEBOOK_KEY=old\nOTHER=1\n', { mode: 0o600 })
  waiting.push(
    { question: 'Key (required; https://example.org): ', answer: 'secret word' },
    { question: 'Mode (fast | deep; default fast): ', answer: 'deep' },
    { question: 'Name: ', answer: '' },
  )
  await setUpProvider(context, notebook)
  assert.deepEqual(waiting, [])
  assert.equal(readFileSync(home.envFile, 'utf8'), '# mine\nOTHER=1\nNOTEBOOK_KEY="secret word"\n')
  assert.equal(statSync(home.envFile).mode & 0o077, 0)
  assert.deepEqual(JSON.parse(readFileSync(join(home.root, 'notebook.json'), 'utf8')), { mode: 'deep' })
  assert.ok(!shown().includes('secret word'), shown())
})

test('an answer that is no choice stores nothing', async (t) => {
  const { context, home, waiting } = terminal(t, provider)
  waiting.push(
    { question: 'Key (required; https://example.org): ', answer: 'k' },
    { question: 'Mode (fast | deep; default fast): ', answer: 'slow' },
  )
  await assert.rejects(setUpProvider(context, notebook), (error: HermesError) => error.code === 'cli/failed')
  assert.equal(statSync(home.envFile, { throwIfNoEntry: false }), undefined)
})

test('a plugin that registers no provider, or fails, is named with its reason', async (t) => {
  for (const source of ['export function register() {}', 'export function register() { throw new Error("no luck") }']) {
    const { context } = terminal(t, source)
    await assert.rejects(setUpProvider(context, notebook), (error: HermesError) => {
      assert.equal(error.code, 'cli/failed')
      assert.match(error.message, source.includes('luck') ? /memory\/notebook.*no luck/ : /memory\/notebook/)
      return true
    })
  }
})
