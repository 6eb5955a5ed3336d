/**
 * `hermes tools` edits config.yaml, `hermes chat --toolsets` limits one conversation, and `hermes prompt show` prints what a
 * new conversation would be given.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { assertFailed, homeWith, runInProcess } from './support.ts'

interface Row {
  readonly name: string
  readonly state: string
}

async function statesIn(root: string, ...args: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { stdout, stderr } = await runInProcess(root, ['tools', 'list', '--json', ...args])
  assert.equal(stderr, '')
  const rows: readonly Row[] = JSON.parse(stdout)
  return new Map(rows.map(({ name, state }) => [name, state]))
}

test('a toolset is taken away on all platforms or on one, and given back', async (t) => {
  const { root } = homeWith(t, '# mine\nlog: {level: info}\n')
  const config = () => readFileSync(join(root, 'config.yaml'), 'utf8')
  assert.equal((await statesIn(root)).get('terminal'), 'on')

  const off = await runInProcess(root, ['tools', 'disable', 'terminal', '--platform', 'telegram'])
  assert.deepEqual([off.code, off.stderr], [0, ''])
  assert.deepEqual(
    [(await statesIn(root)).get('terminal'), (await statesIn(root, '--platform', 'telegram')).get('terminal')],
    ['on', 'off'],
  )
  assert.equal(config(), '# mine\nlog: {level: info}\nplatform_toolsets:\n  telegram:\n    - all\n    - -terminal\n')
  await runInProcess(root, ['tools', 'disable', 'file', 'todo'])
  await runInProcess(root, ['tools', 'enable', 'todo'])
  const states = await statesIn(root, '--platform', 'telegram')
  assert.deepEqual([states.get('file'), states.get('todo')], ['off', 'on'])
  const on = await runInProcess(root, ['tools', 'enable', 'terminal', 'file', '--platform', 'telegram'])
  assert.match(on.stderr, /agent\.disabled_toolsets .*read_file/)
  assert.equal((await statesIn(root, '--platform', 'telegram')).get('terminal'), 'on')
})

test('the list says of tools that cannot be offered what is missing', async (t) => {
  const { root } = homeWith(t, 'terminal: {backend: none}\n')
  const { stdout } = await runInProcess(root, ['tools', 'list', '--json'])
  const rows: readonly (Row & { readonly reason?: string })[] = JSON.parse(stdout)
  const shown = new Map(rows.map(({ name, state, reason = '' }) => [name, `${state} ${reason}`]))
  for (const name of ['terminal', 'file', 'code_execution'])
    assert.equal(shown.get(name), 'off terminal.backend is none', name)
  assert.match(shown.get('web') ?? '', /^partly .*key/)
  for (const name of ['vision', 'tts', 'image_gen']) assert.match(shown.get(name) ?? '', /^off .+/, name)
  assert.equal(shown.get('todo'), 'on ')
})

test('without commands there are no scripts', async (t) => {
  const { root } = homeWith(t, 'agent: {disabled_toolsets: [terminal]}\n')
  assert.equal((await statesIn(root)).get('code_execution'), 'off')
})

test('a toolset that a platform has needs no list of its own', async (t) => {
  const { root } = homeWith(t, '')
  const on = await runInProcess(root, ['tools', 'enable', 'terminal', '--platform', 'telegram'])
  assert.deepEqual([on.code, readFileSync(join(root, 'config.yaml'), 'utf8')], [0, ''])
})

test('a composite toolset and a list of single toolsets are edited so that the rest stays', async (t) => {
  const { root } = homeWith(
    t,
    'platform_toolsets: {discord: [debugging, desk]}\ncustom_toolsets: {desk: [todo, clarify]}\n',
  )
  await runInProcess(root, ['tools', 'disable', 'terminal', 'desk', '--platform', 'discord'])
  await runInProcess(root, ['tools', 'enable', 'messaging', '--platform', 'discord'])
  const states = await statesIn(root, '--platform', 'discord')
  assert.deepEqual(
    ['file', 'terminal', 'desk', 'messaging'].map((name) => states.get(name)),
    ['on', 'off', 'off', 'on'],
  )
})

test('names of Hermes and of plugins that are not loaded may stand in lists', async (t) => {
  const { root } = homeWith(t, '')
  const { code, stderr } = await runInProcess(root, ['tools', 'disable', 'ha_call_service', 'mixture_of_agents'])
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(readFileSync(join(root, 'config.yaml'), 'utf8'), /ha_call_service[\s\S]*mixture_of_agents/)
})

test('a mistyped toolset or platform is refused with the most similar name', async (t) => {
  const { root } = homeWith(t, '')
  const before = readFileSync(join(root, 'config.yaml'), 'utf8')
  assertFailed(await runInProcess(root, ['tools', 'disable', 'termnal']), 'cli/not-found', 'terminal')
  assertFailed(
    await runInProcess(root, ['tools', 'enable', 'file', '--platform', 'telegrm']),
    'cli/not-found',
    'telegram',
  )
  assertFailed(await runInProcess(root, ['chat', '-q', 'hi', '--toolsets', 'fil']), 'cli/not-found', 'file')
  assertFailed(await runInProcess(root, ['chat', '-q', 'hi', '--toolsets', ',']), 'cli/usage')
  assert.equal(readFileSync(join(root, 'config.yaml'), 'utf8'), before)
})

test('hermes chat refuses a list of toolsets for a conversation that began with more tools', async (t) => {
  const { root } = homeWith(t)
  const ask = (text: string, ...more: readonly string[]) =>
    runInProcess(root, ['chat', '-q', text, '--session', 'desk', '--toolsets', ...more])
  assert.equal((await ask('Reply exactly ok', 'todo,file')).code, 0)
  assertFailed(await ask('Reply exactly ok', 'todo'), 'cli/usage', 'read_file', '/new')
  const more = await ask('/new', 'file,todo,terminal')
  assert.deepEqual([more.code, more.stderr.includes(': process, terminal\n')], [0, true])
  assert.equal((await ask('Reply exactly ok', 'todo')).code, 0)
})

test('a conversation keeps the tools with which it began, also after a change of the configuration and a restart', async (t) => {
  const offeredOnFake = (...list: readonly string[]) => ({ platform_toolsets: { fake: list } })
  const gateway = await startTestGateway(t, { config: offeredOnFake('todo', 'file', '-patch', 'nonsense') })
  const offered = async (index: number) => {
    const { tools = [] }: { tools?: readonly { function: { name: string } }[] } = (await gateway.modelRequest(index))
      .body
    return tools.map(({ function: { name } }) => name)
  }
  const expected = ['read_file', 'search_files', 'todo', 'write_file']
  await gateway.say('one')
  await gateway.waitForReply('You said')
  assert.deepEqual(await offered(0), expected)
  await gateway.stop()
  gateway.configure(offeredOnFake('terminal'))
  await gateway.start()
  await gateway.say('two')
  assert.deepEqual(await offered(1), expected)
  await gateway.say('/new')
  await gateway.say('three')
  assert.deepEqual(await offered(2), ['process', 'terminal'])
  await gateway.stop()
})

/** A program of this name is enough: nothing starts it. */
function installChromium(directory: string): string {
  writeFileSync(join(directory, 'chromium'), '', { mode: 0o755 })
  return directory
}

test('an installed browser is offered where a list or the configuration names it, and nowhere else', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  const { root } = gateway.home
  const environment = { PATH: installChromium(root), HOME: root }
  const isOffered = async (changes: Readonly<Record<string, unknown>>) => {
    gateway.configure(changes)
    await gateway.start({ environment })
    const first = gateway.model.requests.length
    await gateway.say('/new')
    await gateway.say('hi')
    const { tools = [] }: { tools?: readonly { function: { name: string } }[] } = (await gateway.modelRequest(first))
      .body
    await gateway.stop()
    return tools.some(({ function: { name } }) => name === 'browser_navigate')
  }
  assert.equal(await isOffered({}), false)
  assert.equal(await isOffered({ platform_toolsets: { fake: ['hermes-fake'] } }), false)
  assert.equal(await isOffered({ platform_toolsets: { fake: ['file', 'browser'] } }), true)
  assert.equal(await isOffered({ browser: { enabled: true } }), true)
  assert.equal(await isOffered({ browser: { enabled: false }, toolsets: ['all', 'browser'] }), false)
  assert.equal(await isOffered({ browser: { cdp_url: 'http://127.0.0.1:9' } }), true)
})

test('the doctor proposes an installed browser until it is enabled', async (t) => {
  const { root } = homeWith(t)
  const environment = { PATH: installChromium(root) }
  const browserLine = async () =>
    /^. Browser: .*\n(?: {4}.*)?/m.exec((await runInProcess(root, ['doctor'], { environment })).stdout)?.[0]
  assert.match((await browserLine()) ?? '', /^!.*\n.*hermes tools enable browser/)
  const states = async () => {
    const { stdout } = await runInProcess(root, ['tools', 'list', '--json'], { environment })
    const rows: readonly Row[] = JSON.parse(stdout)
    return rows.find(({ name }) => name === 'browser')?.state
  }
  assert.equal(await states(), 'off')
  await runInProcess(root, ['tools', 'enable', 'browser'], { environment })
  assert.equal(await states(), 'on')
  assert.doesNotMatch((await browserLine()) ?? '', /tools enable/)
  await runInProcess(root, ['tools', 'disable', 'browser'], { environment })
  assert.equal(await states(), 'off')
})

test('the prompt of a new conversation is shown layer by layer, and nothing is stored', async (t) => {
  const { root } = homeWith(t, 'agent: {disabled_toolsets: [terminal]}\n')
  writeFileSync(join(root, 'SOUL.md'), 'You are a pirate.\n')
  const shown = await runInProcess(root, ['prompt', 'show', '--json'])
  assert.equal(shown.code, 0, shown.stderr)
  const { layers, prompt, tools } = JSON.parse(shown.stdout)
  const [identity] = layers
  assert.deepEqual([identity.name, identity.text, identity.bytes], ['identity', 'You are a pirate.', 17])
  assert.ok(prompt.bytes > identity.bytes && prompt.tokens > 0)
  const names: readonly string[] = tools.map(({ name }: Row) => name)
  assert.ok(names.includes('read_file') && !names.includes('terminal'))
  const listed = await runInProcess(root, ['sessions', 'list', '--json'])
  assert.deepEqual(JSON.parse(listed.stdout), [])
  assertFailed(await runInProcess(root, ['prompt', 'show', '--platform', 'telegrm']), 'cli/not-found', 'telegram')
  assert.match((await runInProcess(root, ['prompt', 'show'])).stdout, /^── identity: 17 bytes.*\nYou are a pirate\.$/m)
})
