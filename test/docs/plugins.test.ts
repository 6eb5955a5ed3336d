/**
 * Installs the plugins of the pages into an empty home and runs them.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseYaml } from '../../src/lib/yaml.ts'
import { isRecord } from '../../src/sdk.ts'
import { homeWith, runInProcess } from '../cli/support.ts'
import { python, withoutPython } from '../hosts/support.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { writeFiles } from '../plugins/loader-support.ts'
import { type Page, readPage } from './pages.ts'
import { textOf } from './repository.ts'

const source = new URL('../../src/', import.meta.url)
// Imported by its URL, because a JavaScript module has no types.
const { createResolver } = await import(new URL('packages/resolver.mjs', source).href)

/** Makes `#sdk` and its packages available to modules outside the repository, as `main.mjs` does for a daemon. */
function registerSdk(t: TestContext): void {
  const registration = registerHooks({
    resolve: createResolver(new Map([['zod', import.meta.resolve('zod')]])),
  })
  t.after(() => registration.deregister())
}

/** The files of a page by name, such as `plugins/dice/index.ts`. The last block of a name is used. */
async function filesOf(page: string): Promise<Record<string, string>> {
  const { blocks } = await readPage(page, textOf(page))
  return Object.fromEntries(
    blocks.flatMap(({ file, text }) => (file?.startsWith('plugins/') === true ? [[file, `${text}\n`]] : [])),
  )
}

interface Setup extends TestGatewayOptions {
  readonly entries?: Readonly<Record<string, unknown>>
  /** Additional files of the home. */
  readonly files?: Readonly<Record<string, string>>
}

/** Starts a gateway with enabled plugins of a page. */
async function withPlugins(
  t: TestContext,
  page: string,
  enabled: readonly string[],
  { entries = {}, files: more = {}, ...setup }: Setup = {},
): Promise<TestGateway> {
  registerSdk(t)
  const files = Object.entries(await filesOf(page))
  const manifests = enabled.map((id): [string, string] => [`plugins/${id}/plugin.yaml`, `name: ${id}\n`])
  return await startTestGateway(t, {
    ...setup,
    config: { ...setup.config, plugins: { enabled, entries } },
    prepare: (home) => writeFiles(home.root, { ...Object.fromEntries([...manifests, ...files]), ...more }),
  })
}

/** The blocks of config.yaml on a page, in order. */
function sectionsOf({ blocks }: Page): Readonly<Record<string, unknown>>[] {
  return blocks
    .filter(({ file }) => file === 'config.yaml')
    .map(({ text }) => parseYaml(text, 'config.yaml').value)
    .filter(isRecord)
}

function calls(name: string, args: Readonly<Record<string, unknown>>): ModelReply {
  return { toolCalls: [{ name, arguments: args }] }
}

/** The body of a model request. */
async function requestBody(gateway: TestGateway, number: number): Promise<string> {
  return JSON.stringify((await gateway.modelRequest(number)).body)
}

test('the steps of the plugin tutorial work', async (t) => {
  const page = 'docs/tutorial/your-first-plugin.md'
  const { blocks } = await readPage(page, textOf(page))
  const [refuses = '', breaks = ''] = blocks.filter(({ language }) => language === 'ts').map(({ text }) => text)
  const { root, plugins } = homeWith(t)
  rmSync(join(root, 'config.yaml'))
  const ask = (query: string) => runInProcess(root, ['chat', '--query', query])
  assert.equal((await runInProcess(root, ['plugins', 'new', 'clock'])).code, 0)
  assert.match((await runInProcess(root, ['plugins', 'test', 'clock'])).stdout, /^hook {2}pre_llm_call {2}1 /m)
  assert.equal((await runInProcess(root, ['plugins', 'enable', 'clock'])).code, 0)
  assert.match((await ask('Reply exactly ok')).stdout, /^ok\n\nIt is \d{4}-\S+Z\.\n$/)

  // A new file name, because all commands run in this process, and Node imports a file only once.
  writeFiles(plugins, { 'clock-2/plugin.yaml': 'name: clock-2\n', 'clock-2/index.ts': refuses })
  await runInProcess(root, ['plugins', 'disable', 'clock'])
  await runInProcess(root, ['plugins', 'enable', 'clock-2'])
  assert.match((await ask('Please list the files here.')).stdout, /Commands are closed for today\./)

  writeFiles(plugins, { 'clock-3/plugin.yaml': 'name: clock-3\n', 'clock-3/index.ts': breaks })
  await runInProcess(root, ['plugins', 'disable', 'clock-2'])
  await runInProcess(root, ['plugins', 'enable', 'clock-3'])
  assert.match((await runInProcess(root, ['plugins', 'test', 'clock-3'])).stdout, /index\.ts:3: no time/)
  assert.equal((await ask('Reply exactly ok')).stdout, 'ok\n')
  assert.equal((await runInProcess(root, ['plugins', 'disable', 'clock-3'])).stdout, 'clock-3 is disabled.\n')
})

test('refuse a call: a guardrail refuses tool and model calls; a hook blocks, modifies and asks', async (t) => {
  const page = 'docs/how-to/refuse-a-call.md'
  const gateway = await withPlugins(t, page, ['no-deletes', 'careful'], {
    replies: [
      calls('terminal', { command: 'rm -r old' }),
      calls('terminal', { command: 'git push --force' }),
      calls('terminal', { command: 'ls' }),
      { text: 'done' },
      calls('terminal', { command: 'echo allowed' }),
      { text: 'as you like' },
    ],
    files: { 'plugins/ask-first/plugin.yaml': 'name: ask-first\n', '.seen-with-A': '' },
  })
  await gateway.say('clean up')
  await gateway.waitForReply('done')
  assert.match(await requestBody(gateway, 1), /Nothing is deleted here\./)
  assert.match(await requestBody(gateway, 2), /Without --force, please\./)
  assert.match(await requestBody(gateway, 3), /\.seen-with-A/)
  gateway.configure({ plugins: { enabled: ['ask-first'] } })
  await gateway.post('/api/plugins/reload', {})
  await gateway.say('and now?')
  await gateway.waitForReply(/`terminal`[\s\S]*echo allowed/)
  await gateway.say('/approve')
  await gateway.waitForReply('as you like')
  assert.match(await requestBody(gateway, 5), /allowed\\+n/)
  gateway.configure({
    plugins: { enabled: ['no-deletes'], entries: { 'no-deletes': { settings: { open: false } } } },
  })
  await gateway.post('/api/plugins/reload', {})
  await gateway.say('hello?')
  await gateway.waitForReply(/^The office is closed\.$/)
})

test('rewrite a request: the changes of a plugin are sent', async (t) => {
  const page = 'docs/how-to/rewrite-a-request.md'
  const gateway = await withPlugins(t, page, ['house-style', 'inside-only'], {
    replies: [calls('terminal', { command: 'ls' }), { text: 'done' }],
  })
  await gateway.say('where are you?')
  await gateway.waitForReply('done')
  assert.match(await requestBody(gateway, 0), /"user":"house"/)
  assert.match(await requestBody(gateway, 1), /index\.ts/)
})

test('wrap a call: a repeated read is cached, a busy tool is retried, an unsure answer is reissued', async (t) => {
  const page = 'docs/how-to/wrap-a-call.md'
  const gateway = await withPlugins(t, page, ['stopwatch', 'second-try', 'second-opinion', 'busy'], {
    replies: [
      calls('read_file', { path: 'notes.md' }),
      calls('terminal', { command: 'echo new > notes.md' }),
      calls('read_file', { path: 'notes.md' }),
      calls('web_lookup', {}),
      { text: 'I am not sure.' },
      { text: 'It is seven.' },
    ],
    files: {
      'notes.md': 'old words\n',
      'plugins/busy/index.js': `let asked = 0
        export const register = (ctx) => ctx.registerTool({ name: 'web_lookup', description: 'Looks up', parameters: { type: 'object' },
          run: () => (asked += 1) === 1 ? 'busy' : 'attempt ' + asked })`,
    },
  })
  await gateway.say('how many?')
  await gateway.waitForReply(/^It is seven\.$/)
  assert.equal((await requestBody(gateway, 3)).match(/old words/g)?.length, 2)
  assert.match(await requestBody(gateway, 4), /attempt 2/)
  assert.match(await requestBody(gateway, 5), /"model":"large-model"/)
  await gateway.waitForLog('model.measured')
})

test('work on a stream: users read the output of the intercept, and the hook gets the complete text', async (t) => {
  const page = 'docs/how-to/work-on-a-stream.md'
  const gateway = await withPlugins(t, page, ['no-names', 'first-word'], { replies: [{ text: 'Ada wrote it' }] })
  await gateway.say('who?')
  await gateway.waitForReply(/^a colleague wrote it$/)
  await gateway.waitForLog('"characters":20')
})

test('watch calls and hide from observers: recorded events do not contain hidden data', async (t) => {
  registerSdk(t)
  const files = {
    ...(await filesOf('docs/how-to/watch-calls.md')),
    ...(await filesOf('docs/how-to/hide-from-observers.md')),
  }
  const enabled = ['black-box', 'audit', 'discreet']
  const manifests = enabled.map((id): [string, string] => [`plugins/${id}/plugin.yaml`, `name: ${id}\n`])
  const gateway = await startTestGateway(t, {
    config: { plugins: { enabled } },
    replies: [calls('terminal', { command: 'echo secret-word' }), { text: 'quiet-words' }],
    prepare: (home) => writeFiles(home.root, { ...files, ...Object.fromEntries(manifests) }),
  })
  await gateway.say('hello')
  await gateway.waitForReply('quiet-words')
  await gateway.waitForLog('audit.tool')
  await gateway.waitForLog('audit.model')
  await gateway.stop()
  const lines = readFileSync(join(gateway.home.plugins, 'black-box/events.jsonl'), 'utf8').trim().split('\n')
  const events = lines.map((line): Record<string, unknown> => JSON.parse(line))
  const terminal = events.filter(({ name }) => name === 'terminal')
  assert.deepEqual(
    terminal.map(({ scope_category, data }) => [scope_category, data]),
    [
      ['start', { command: '[hidden]' }],
      ['end', null],
    ],
  )
  assert.equal(new Set(terminal.map(({ uuid }) => uuid)).size, 1)
  const ends = events.filter(({ category, scope_category }) => category === 'llm' && scope_category === 'end')
  assert.deepEqual(
    ends.map(({ data }) => data),
    [null, null],
  )
})

test('watch calls: the file contains calls without user content, and the page names the packages of otel', async (t) => {
  registerSdk(t)
  const page = await readPage('docs/how-to/watch-calls.md', textOf('docs/how-to/watch-calls.md'))
  const gateway = await startTestGateway(t, {
    config: sectionsOf(page)[0] ?? {},
    replies: [calls('terminal', { command: 'echo secret-word' }), { text: 'quiet-words' }],
  })
  await gateway.say('private-words')
  await gateway.waitForReply('quiet-words')
  await gateway.stop()
  const text = readFileSync(join(gateway.home.root, 'atof/events.jsonl'), 'utf8')
  const events = text
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line))
  assert.ok(events.some(({ category, name }) => category === 'tool' && name === 'terminal'))
  assert.match(text, /"model_name":"test-model"/)
  assert.doesNotMatch(text, /secret-word|quiet-words|private-words/)

  const install = page.blocks.find((block) => block.text.startsWith('npm install'))?.text ?? ''
  for (const path of ['plugins/otel/load-tracing.ts', 'plugins/otel/README.md'])
    assert.ok(textOf(path).includes(install) && install !== '', path)
})

test('add a tool: the model and users can use it, and it reads its settings', async (t) => {
  const gateway = await withPlugins(t, 'docs/how-to/add-a-tool.md', ['dice'], {
    entries: { dice: { settings: { sides: 1 } } },
    replies: [calls('roll_dice', { count: 11 }), calls('roll_dice', { count: 2 }), { text: 'done' }],
  })
  await gateway.say('throw')
  await gateway.waitForReply('done')
  assert.match(await requestBody(gateway, 1), /Wrong arguments for roll_dice/)
  assert.match(await requestBody(gateway, 2), /shown.{1,6}\[1,1\]/)
  await gateway.say('/roll 3')
  await gateway.waitForReply('{"shown":[1,1,1]}')
})

test('give the agent memory: a note outlasts its conversation and reaches a summary; rules stay in the prompt of a session', async (t) => {
  const page = 'docs/how-to/write-a-memory-provider.md'
  const long = 'and more words of it '.repeat(200)
  const gateway = await withPlugins(t, page, ['house-rules'], {
    config: {
      ...sectionsOf(await readPage(page, textOf(page)))[0],
      roles: { owners: ['fake:user'] },
      compression: { protect_last_n: 1 },
      context_length: 16_000,
    },
    files: { ...(await filesOf('docs/how-to/give-the-agent-memory.md')), 'team.md': 'Ada is on duty.' },
  })
  await gateway.say('remember: I like tea')
  await gateway.waitForReply('You said: remember')
  writeFiles(gateway.home.root, { 'team.md': 'Bob is on duty.' })
  // The stop waits for `syncTurn`.
  await gateway.stop()
  await gateway.start()
  await gateway.say('/new')
  await gateway.waitForReply(/new|fresh/i)
  for (const word of ['one', 'two', 'three', 'four']) {
    await gateway.say(`${word} ${long}`)
    await gateway.waitForReply(`You said: ${word}`)
  }
  assert.match(await requestBody(gateway, 0), /begins with .{1,3}remember.*Prices are in euros.*Ada is on duty\./)
  assert.doesNotMatch(await requestBody(gateway, 0), /Notes about/)
  assert.match(await requestBody(gateway, 1), /Notes about this person: I like tea/)
  assert.match(await requestBody(gateway, 4), /Bob is on duty\./)
  await gateway.say('/compress')
  assert.match(await requestBody(gateway, 5), /What the long-term memory adds.*I like tea/)
})

test('write a memory provider: one in Python recalls what was said before', { skip: withoutPython }, async (t) => {
  const gateway = await withPlugins(t, 'docs/how-to/write-a-memory-provider.md', [], {
    config: {
      memory: { provider: 'jotter' },
      roles: { owners: ['fake:user'] },
      ...(python === undefined ? {} : { hooks: { python } }),
    },
  })
  await gateway.say('I like green tea')
  await gateway.waitForReply('You said: I like green tea')
  await gateway.say('/new')
  await gateway.say('What do I like?')
  await gateway.waitForReply('You said: What do I like?')
  assert.match(await requestBody(gateway, 1), /<memory-context>.*Earlier messages: I like green tea/)
})

test('use sub-agents: a plugin applies rules only to sub-agents, and observes their start and end', async (t) => {
  const page = 'docs/how-to/use-sub-agents.md'
  const delegates = (...goals: string[]) => calls('delegate_task', { tasks: goals.map((goal) => ({ goal })) })
  const gateway = await withPlugins(t, page, ['apprentices'], {
    config: sectionsOf(await readPage(page, textOf(page)))[0] ?? {},
    replies: [
      delegates('a', 'b', 'c'),
      delegates('look around'),
      calls('write_file', { path: 'by-the-child', content: 'x' }),
      { text: 'I have looked' },
      calls('write_file', { path: 'by-the-agent', content: 'x' }),
      { text: 'done' },
    ],
  })
  await gateway.say('work')
  await gateway.waitForReply('done')
  assert.match(await requestBody(gateway, 1), /\b2 tasks\b/)
  assert.match(await requestBody(gateway, 2), /look around\\n\\nYou may look, and change nothing\./)
  assert.match(await requestBody(gateway, 3), /Look only\./)
  assert.match(await requestBody(gateway, 4), /completed.*I have looked/)
  await gateway.waitForLog(/apprentice\.started.*look around/)
  await gateway.waitForLog(/apprentice\.ended.*"calls":1/)
  assert.deepEqual(
    ['by-the-child', 'by-the-agent'].map((name) => existsSync(join(gateway.home.root, name))),
    [false, true],
  )
})

test('run a daemon: it starts with the gateway, runs its task, and stops with the gateway', async (t) => {
  const gateway = await withPlugins(t, 'docs/how-to/run-a-daemon.md', ['heartbeat'])
  await gateway.waitForLog('heartbeat.started')
  await gateway.waitForLog('"beats":1')
  const [daemon] = gateway.current().status().daemons
  assert.deepEqual([daemon?.name, daemon?.state], ['heartbeat', 'running'])
  await gateway.stop()
  await gateway.waitForLog('heartbeat.stopped')
})

test('write a plugin in Python: it adds context, counts, rewrites and wraps', { skip: withoutPython }, async (t) => {
  const gateway = await withPlugins(t, 'docs/how-to/write-a-plugin-in-python.md', ['snake'], {
    config: python === undefined ? {} : { hooks: { python } },
    replies: [calls('terminal', { command: 'echo quiet' }), { text: 'done' }],
  })
  await gateway.say('hello')
  await gateway.waitForReply('done')
  assert.match(await requestBody(gateway, 0), /The message has 5 characters\./)
  assert.match(await requestBody(gateway, 1), /QUIET/)
  await gateway.waitForLog('terminal ended: ok')
  await gateway.say('/used')
  await gateway.waitForReply("{'terminal': 1}")
})

test('the bundled plugins load with the settings of the pages', async (t) => {
  registerSdk(t)
  const pages = await Promise.all(
    ['docs/how-to/spend-limits-and-routing.md', 'docs/how-to/watch-calls.md'].map((path) =>
      readPage(path, textOf(path)),
    ),
  )
  const gateway = await startTestGateway(t)
  for (const section of pages.flatMap(sectionsOf)) {
    gateway.configure(section)
    await gateway.post('/api/plugins/reload', {})
    const loaded = (await gateway.current().plugins()).filter(({ state }) => state !== 'off')
    assert.deepEqual(
      loaded.map(({ state, reason, warnings }) => [state, reason, warnings]),
      [['loaded', '', []]],
    )
  }
  assert.deepEqual(
    pages.map((page) => sectionsOf(page).length),
    [3, 2],
  )
})
