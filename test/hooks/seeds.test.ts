/**
 * The hooks that the documentation of Hermes shows, copied as they are written there, and their twins in TypeScript: from
 * a message to the file or the address they write to. What they would post is recorded instead of sent.
 */
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sandboxLanes } from '../agent/sandbox/victim.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { path, python, withoutPython } from './support.ts'

const seeds = fileURLToPath(new URL('./seeds', import.meta.url))
const step = (number: number) => ({ toolCalls: [{ name: 'terminal', arguments: { command: `: ${number}` } }] })

interface PostedRequest {
  readonly url: string
  readonly body: Readonly<Record<string, unknown>>
}

async function runConversation(t: TestContext, language: 'python' | 'typescript', sandbox: string) {
  const gateway = await startTestGateway(t, {
    replies: [...Array.from({ length: 10 }, (_, number) => step(number)), { text: 'done at last' }],
    config: {
      platforms: { telegram: { enabled: false } },
      terminal: { sandbox },
      ...(python === undefined ? {} : { hooks: { python } }),
    },
    startNow: false,
  })
  const { home } = gateway
  // `~/.hermes`, as the hooks have it.
  const user = join(home.root, 'user')
  mkdirSync(user)
  symlinkSync(home.root, join(user, '.hermes'))
  cpSync(join(seeds, language), home.hooks, { recursive: true })
  writeFileSync(home.envFile, 'TELEGRAM_BOT_TOKEN=42:token\nTELEGRAM_HOME_CHANNEL=-1001\n', { mode: 0o600 })
  const record = join(home.root, 'posted.jsonl')
  const environment = {
    PATH: path,
    HOME: user,
    HTTP_RECORD: record,
    PYTHONPATH: join(seeds, 'stand-in'),
    NODE_OPTIONS: `--import=${join(seeds, 'stand-in', 'fetch.mjs')}`,
  }
  const started = await gateway.start({ environment })
  await started.initialConnectsDone()
  await gateway.say('a long task', { user: 'ada' })
  await gateway.waitForReply('done at last')
  await gateway.say('/reset', { user: 'ada' })
  await gateway.waitForReply('New conversation')
  await gateway.say('/status now', { user: 'ada' })
  await gateway.waitForReply('Model')
  await gateway.stop()
  const lines = (file: string) =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
      : []
  return {
    activity: lines(join(home.hooks, 'my-hook', 'activity.log')),
    usage: lines(join(home.logs, 'command_usage.jsonl')),
    posted: lines(record).map(({ url, body }): PostedRequest => ({ url: String(url), body: Object(body) })),
    log: gateway.log,
  }
}

const cases = (await sandboxLanes()).flatMap((lane) => [
  { language: 'python' as const, ...lane, skip: withoutPython || lane.missing },
  { language: 'typescript' as const, ...lane, skip: lane.missing },
])
for (const { language, sandbox, inSandbox, skip } of cases) {
  test(`the hooks of the documentation run unchanged, in ${language}${inSandbox}`, { skip }, async (t) => {
    const { activity, usage, posted, log } = await runConversation(t, language, sandbox)

    assert.deepEqual(
      activity.map(({ event }) => event),
      ['agent:start', ...Array.from({ length: 11 }, () => 'agent:step'), 'agent:end'],
      log.slice(-10).join(''),
    )
    const { timestamp, message, platform, user_id, response } = activity.at(-1) ?? {}
    assert.ok(!Number.isNaN(Date.parse(String(timestamp))))
    assert.deepEqual([message, platform, user_id, response], ['a long task', 'fake', 'ada', 'done at last'])
    assert.deepEqual(
      activity.slice(1, -1).map(({ iteration }) => iteration),
      Array.from({ length: 11 }, (_, index) => index + 1),
    )

    assert.deepEqual(
      usage.map(({ command, args, platform, user }) => ({ command, args, platform, user })),
      [
        { command: 'new', args: '', platform: 'fake', user: 'ada' },
        { command: 'status', args: 'now', platform: 'fake', user: 'ada' },
      ],
    )

    const alert = posted.find(({ url }) => url.includes('telegram'))
    assert.deepEqual(alert, {
      url: 'https://api.telegram.org/bot42:token/sendMessage',
      body: { chat_id: '-1001', text: '⚠️ Agent has been running for 10 steps. Last tools: terminal' },
    })
    const told = posted.filter(({ url }) => url === 'https://your-service.example.com/hermes-events')
    assert.deepEqual(
      told.map(({ body }) => body['event']),
      ['session:start', 'session:reset'],
    )
    assert.deepEqual(Object.keys(told[0]?.body ?? {}).sort(), [
      'event',
      'platform',
      'session_id',
      'session_key',
      'user_id',
    ])
    assert.equal(posted.length, 3)
  })
}
