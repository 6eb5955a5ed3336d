/**
 * Secrets in errors: every value of `.env` is driven through each way that an error takes to the log, to a chat and to programs.
 */
import assert from 'node:assert/strict'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { canaries, canaryFile } from './canaries.ts'

const all = canaries.map(({ value }) => value).join('\n')
const error = { message: all, type: 'invalid_request_error', code: all }

/** A hook that prints, logs and throws all of them; a plugin that throws them. */
const extensions: Readonly<Record<string, string>> = {
  'hooks/leaky/HOOK.yaml': 'name: leaky\ndescription: leaks\nevents: ["agent:start"]\n',
  'hooks/leaky/handler.mjs': `export function handle() {
    console.log(${JSON.stringify(all)})
    console.error(${JSON.stringify(all)})
    throw new Error(${JSON.stringify(all)}, { cause: new TypeError(${JSON.stringify(all)}) })
  }`,
  'plugins/leaky/plugin.yaml': 'name: leaky\nversion: 1.0.0\ndescription: leaks\n',
  'plugins/leaky/index.mjs': `export function register(ctx) {
    ctx.registerHook('pre_llm_call', () => { throw Object.assign(new Error(${JSON.stringify(all)}), { code: ${JSON.stringify(all)} }) })
  }`,
}

const replies: readonly ModelReply[] = [
  { error: { status: 400, body: { error } } },
  { streamError: { type: 'invalid_request_error', message: all } },
  {
    toolCalls: [
      { name: 'terminal', arguments: { command: 'cat leaky.txt; cat leaky.txt >&2; exit 3' } },
      { name: 'read_file', arguments: { path: 'leaky.txt' } },
      { name: 'read_file', arguments: `{"path": ${JSON.stringify(all)}` },
      { name: 'read_file', arguments: { path: all } },
    ],
  },
  { text: `Found:\n${all}\nThat was all.` },
]

/** The texts of a canary that must not appear. */
const formsOf = (value: string) => [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)]

function leaksIn(texts: Readonly<Record<string, string>>): string[] {
  return Object.entries(texts).flatMap(([where, text]) =>
    canaries
      .filter(({ value }) => formsOf(value).some((form) => text.includes(form)))
      .map(({ name }) => `${where}: ${name}`),
  )
}

const messagesSchema = z.array(z.looseObject({ role: z.string(), content: z.unknown() }))

/** The results of tools in a request to the model. The model itself has written the arguments of its calls. */
function resultsIn(messages: unknown): unknown[] {
  return messagesSchema
    .parse(messages)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content)
}

/** Sends requests to the API that contain the secrets. A response may repeat what its client has sent; the log may not. */
async function sendRefusedRequests(gateway: TestGateway): Promise<void> {
  const answers = await Promise.all([
    gateway.http(`/${encodeURIComponent(all)}`),
    gateway.http(`/v1/chat/completions?x=${encodeURIComponent(all)}`, { method: 'POST', body: all }),
    gateway.post('/v1/chat/completions', { messages: [{ role: all, content: all }] }),
    gateway.post('/api/hooks/test', { name: all, event: all }),
  ])
  for (const answer of answers) await answer.text()
}

/** Files and directories that other users could use, except the platform of the test, and the program for commands. */
function openFilesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    if (name.startsWith('platforms') || name === 'cache/bin/hermes') return false
    const found = lstatSync(join(folder, name))
    return !found.isSymbolicLink() && (found.mode & 0o077) !== 0
  })
}

test('no error shows a secret in the log, in a chat, in the status or to a program; all files are private', async (t) => {
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
  const gateway = await startTestGateway(t, {
    replies,
    config: {
      agent: { max_retries: 0 },
      plugins: { enabled: ['leaky'] },
      log: { level: 'debug' },
      streaming: { buffer_threshold: 1, edit_interval: 0 },
    },
    capabilities: ['edit'],
    prepare(home) {
      const write = (name: string, text: string) => {
        const path = join(home.root, name)
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        writeFileSync(path, text)
        chmodSync(path, 0o600)
      }
      writeFileSync(home.envFile, canaryFile, { mode: 0o600 })
      write('leaky.txt', all)
      for (const [name, text] of Object.entries(extensions)) write(name, text)
    },
  })
  for (const text of ['one', 'two']) await gateway.say(text)
  await gateway.modelRequest(1)
  await gateway.say('three')
  await gateway.waitForReply('That was all.')
  await gateway.waitForLog(/leaky/)
  await sendRefusedRequests(gateway)
  const texts = {
    status: await (await gateway.http('/api/status')).text(),
    hooks: await (await gateway.http('/api/hooks')).text(),
    plugins: await (await gateway.http('/api/plugins')).text(),
    inbox: await (await gateway.http('/api/inbox')).text(),
    shown: JSON.stringify(gateway.platform.shown()),
    results: JSON.stringify(gateway.model.requests.flatMap(({ body }) => resultsIn(body['messages']))),
  }
  const openFiles = openFilesIn(gateway.home.root)
  await gateway.stop()
  const logFiles = readdirSync(gateway.home.logs).map((name) => readFileSync(join(gateway.home.logs, name), 'utf8'))
  assert.deepEqual(leaksIn({ ...texts, log: gateway.log.join(''), files: logFiles.join('') }), [])
  for (const text of [gateway.log.join(''), texts.results]) assert.match(text, /\[redacted\]/)
  for (const text of [texts.hooks, texts.plugins]) assert.match(text, /leaky/)
  assert.deepEqual(openFiles, [])
})

test('a text with a canary is recognised', () => {
  for (const { name, value } of canaries) assert.ok(leaksIn({ here: `a ${value} b` }).includes(`here: ${name}`))
})
